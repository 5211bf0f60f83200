/**
 * Promise: while D1 is unavailable, every operation and every page of the console is answered from other data, or with
 * 503 and `Retry-After`: never with 500. A fault of the service stays 500. Either way, no line of the log has a value
 * of a query.
 *
 * The tables come from the operations and from the console's routes, so a new one is included by itself.
 */

import { createExecutionContext, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { type Operation, type OperationId, operations } from '../../src/contract/operations.ts';
import type { OrganizationId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import { EXAMPLES, type Example, VALUES } from '../../src/http/openapi/examples.ts';
import service from '../../src/index.ts';
import { errorText } from '../../src/platform/log.ts';
import { unavailableReason } from '../../src/platform/unavailable.ts';
import { createTenant, OPERATOR_TOKEN } from '../support/api.ts';
import { bindings, operator } from '../support/worker.ts';
import { Visitor } from '../worker/console-visitor.ts';

/** A customer's id, a searched text, a name of everything: no line may contain it. */
const MARK = 'marked-7f3a';
const ORIGIN = 'https://callmeter.test';

const away = {
  'a connection that breaks': () => Object.assign(new Error('the connection broke'), { retryable: true }),
  'a D1 that is overloaded': () => fromD1('D1 DB is overloaded. Too many requests queued.'),
  'a D1 that lost its network': () => fromD1('Network connection lost.'),
};
const fault = () => fromD1('no such column: x at offset 7: SQLITE_ERROR');

function fromD1(said: string): Error {
  return new Error(`D1_ERROR: ${said}`, { cause: new Error(said) });
}

/** How many queries had the mark among their values. */
let markedQueries = 0;

/** The query that the console runs before any page of an organization, so that the page's own queries are reached. */
const READS_ORGANIZATION = /^select (?:(?!join).)* from "organizations" where/i;

/** Bindings whose D1 answers every statement with the error, except those that still `work`. */
function envWith(error: () => Error, works?: RegExp): Env {
  const fail = () => Promise.reject(error());
  const failing: object = {
    bind: (...values: unknown[]) => {
      if (String(values).includes(MARK)) markedQueries += 1;
      return failing;
    },
    all: fail,
    run: fail,
    first: fail,
    raw: fail,
  };
  const prepare = (sql: string) => (works?.test(sql) ? bindings.DB.prepare(sql) : failing);
  return { ...bindings, DB: { prepare, batch: fail, exec: fail } as unknown as D1Database };
}

const fetchWith = (env: Env) => (url: string, init?: RequestInit) =>
  Promise.resolve(
    service.fetch(new Request(url, { redirect: 'manual', ...init }) as never, env, createExecutionContext()),
  );

let organizationId: OrganizationId;
/** Keys by their kind. */
let keys: { server: string; embed: string };
/** The token of a session, which is looked up by its key's id: this isolate knows the key only by its value. */
let widgetToken: string;
let visitor: Visitor;
let lines: string[];

beforeAll(async () => {
  const tenant = await createTenant(operator, { name: 'Any', limitType: 'NONE' });
  organizationId = tenant.organizationId;
  const create = async (body: object) =>
    (await operator.send('createKey', { params: { org: organizationId }, body })).data.key;
  keys = { server: await create({ name: 'backend' }), embed: await create({ name: 'widget', prefix: 'ek-' }) };
  expect((await tenant.api.send('provisionCustomer', { body: { customerId: MARK } })).status).toBe(200);
  // From here on this isolate knows both keys.
  for (const id of ['readSamplingSettings', 'createEmbedSession'] as const)
    expect((await send(id, bindings)).status).toBe(200);
  const session = (await (await send('createEmbedSession', bindings)).json()) as { data: { token: string } };
  widgetToken = session.data.token;
  visitor = new Visitor();
  expect((await visitor.signIn()).status).toBe(303);
});

beforeEach(() => {
  lines = [];
  for (const level of ['log', 'info', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation((...said: unknown[]) => void lines.push(said.map(String).join(' ')));
});
afterEach(() => vi.restoreAllMocks());

/** Sends the operation's example, for the marked customer. */
async function send(id: OperationId, env: Env): Promise<Response> {
  const { method, path, security }: Operation = operations[id];
  const { params = {}, query = {}, body, credential } = marked(EXAMPLES[id]);
  const values: Record<string, string> = { ...params, org: organizationId };
  const search = new URLSearchParams(id === 'listCustomers' ? { ...query, search: MARK } : query);
  const key = security.kind === 'operator' ? OPERATOR_TOKEN : credential === undefined ? keys.server : keys.embed;
  const url =
    ORIGIN +
    path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? '')) +
    (search.size > 0 ? `?${search}` : '');
  const headers = {
    Authorization: `Bearer ${key}`,
    Accept: MEDIA_TYPE,
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
  };
  return fetchWith(env)(url, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

function marked(example: Example): Example {
  const text = JSON.stringify(example)
    .replaceAll(/\$([A-Z_]+)/g, (all, name: string) => VALUES[name as keyof typeof VALUES]?.sample ?? all)
    .replaceAll(/"(?:alice|carol|dave|erin)"/g, `"${MARK}"`);
  return JSON.parse(text) as Example;
}

/** Every page of the console behind the sign-in, with the mark for everything that its path and its query name. */
const pages = [
  ...new Set(
    createApp()
      .routes.filter(({ method, path }) => method === 'GET' && /^\/console(?:\/(?!sign-in|.*[*.])|$)/.test(path))
      .map(({ path }) => path),
  ),
];

const openPage = (path: string, env: Env) => {
  const filled = path.replace(/:org\b/, organizationId).replaceAll(/:\w+(?:\{[^}]*\})?/g, MARK);
  return fetchWith(env)(`${ORIGIN}${filled}?${QUERY}`, { headers: { Cookie: visitor.cookie } });
};
const QUERY = new URLSearchParams(
  Object.fromEntries(['search', 'q', 'customerId', 'feature', 'subject', 'to'].map((name) => [name, MARK])),
);

type Ask = (env: Env) => Promise<Response>;
const asked: [string, Ask][] = [
  ...(Object.keys(operations) as OperationId[]).map((id): [string, Ask] => [id, (env) => send(id, env)]),
  ...pages.map((path): [string, Ask] => [`the page ${path}`, (env) => openPage(path, env)]),
];

/** The statuses of everything that can be asked; each answer and each line is looked at. */
async function statuses(error: () => Error, works?: RegExp): Promise<number[]> {
  const found: number[] = [];
  for (const [name, ask] of asked) {
    const response = await ask(envWith(error, works));
    await response.text();
    found.push(response.status);
    expect([name, response.status, response.status === 503 ? response.headers.get('Retry-After') : '1']).toEqual([
      name,
      response.status,
      '1',
    ]);
    // Neither a value nor a statement, which may be so long that its values are cut off.
    expect([name, ...lines.filter((line) => line.includes(MARK) || /Failed query|params:/.test(line))]).toEqual([name]);
  }
  return found;
}

test('the tables have every operation and every page', () => {
  expect(pages.length).toBeGreaterThan(30);
  expect(asked.length).toBeGreaterThan(90);
});

describe.each(Object.entries(away))('%s', (_, error) => {
  test.each([
    ['from the beginning', undefined],
    ['once the organization was read', READS_ORGANIZATION],
  ])('is 503, or works without D1, %s', async (__, works) => {
    markedQueries = 0;
    const found = await statuses(error, works);
    expect(
      asked.filter((___, index) => (found[index] ?? 0) >= 500 && found[index] !== 503).map(([name]) => name),
    ).toEqual([]);
    // It was an outage, and there was something to be leaked.
    expect(found.filter((status) => status === 503).length).toBeGreaterThan(50);
    if (works) expect(markedQueries).toBeGreaterThan(10);
    expect(lines.length).toBeGreaterThan(50);
  });

  test('is 503 for a key that this isolate has not cached, on every interface', async () => {
    const fetch = fetchWith(envWith(error));
    const headers = { Authorization: `Bearer utk-${'A'.repeat(43)}`, Accept: MEDIA_TYPE };
    for (const path of ['/usage/summary', '/v1/models']) {
      const response = await fetch(ORIGIN + path, { headers });
      const { error: said } = (await response.json()) as { error: { code: string; message: string } };
      expect([path, response.status, said.code, response.headers.get('Retry-After')]).toEqual([
        path,
        503,
        'SERVICE_UNAVAILABLE',
        '1',
      ]);
      expect(said.message).toBe('the database cannot be reached for the moment');
    }
    const widget = await fetch(`${ORIGIN}/embed`, {
      method: 'POST',
      body: new URLSearchParams({ token: widgetToken }).toString(),
    });
    expect([widget.status, widget.headers.get('Retry-After')]).toEqual([503, '1']);
    expect(lines.filter((line) => line.includes(widgetToken))).toEqual([]);
  });
});

test('an object that cannot reach D1 reports that to its caller, without values of the query', async () => {
  const params = { organizationId, jobId: 'job-of-an-outage', when: 'NOW' as const };
  const target = { planId: MARK, usagePlanVersionId: 'v', version: 2, plan: {} as never };
  const migration = bindings.PLAN_MIGRATIONS.getByName('of an outage');
  const error = Object.values(away)[2] ?? fault;
  const setDatabase = (env: Env) => runInDurableObject(migration, (object) => void Object.assign(object, { env }));
  await setDatabase(envWith(error));
  const thrown = await migration.start({ ...params, target }).catch((reason: unknown) => reason);
  expect(unavailableReason(thrown)).toBe('the database cannot be reached for the moment');
  expect(errorText(thrown)).not.toContain(MARK);
  await setDatabase(bindings);
  await migration.start({ ...params, target });
  await setDatabase(envWith(error));
  await runDurableObjectAlarm(migration);
  expect(await migration.read(organizationId)).toMatchObject({
    failures: 1,
    lastError: 'Error: D1_ERROR: Network connection lost.',
  });
});

test('a bug of ours is 500 while an outage is 503, and reveals as little', async () => {
  const outage = await statuses(Object.values(away)[0] ?? fault, READS_ORGANIZATION);
  lines = [];
  const faults = await statuses(fault, READS_ORGANIZATION);
  expect(faults).toEqual(outage.map((status) => (status === 503 ? 500 : status)));
  expect(lines.some((line) => line.includes('no such column: x'))).toBe(true);
});

test('the public lookup and the public pages work without D1', async () => {
  const fetch = fetchWith(envWith(fault));
  for (const path of ['/models', '/docs', '/v1/model-alternatives', '/embed'])
    expect([path, (await fetch(ORIGIN + path)).status]).toEqual([path, 200]);
});
