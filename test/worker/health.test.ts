/**
 * Health describes the catalog in use, whatever is wrong with it, to the operator, on the console, and without an
 * error's secrets.
 */
import { createExecutionContext } from 'cloudflare:test';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { currentCatalog } from '../../src/config/catalog.ts';
import type { Env } from '../../src/env.ts';
import { sha256Hex } from '../../src/platform/hash.ts';
import { Api, OPERATOR_TOKEN } from '../support/api.ts';
import { bindings } from '../support/worker.ts';
import { ORIGIN, Visitor } from './console-visitor.ts';

const DAY_MS = 86_400_000;
const VERSION = '2027-05-05';
const MODELS = BUILT_IN_CATALOG.models.slice(0, 7);
const PRICED = MODELS.filter(({ pricing }) => pricing !== undefined).length;
const DOCUMENT = JSON.stringify({ version: VERSION, models: MODELS, transitions: [] });

const app = createApp();
let cookie: string;

beforeAll(async () => {
  const visitor = new Visitor();
  await visitor.signIn();
  cookie = visitor.cookie;
});

/** A KV of its own, with these values; everything else is as usual. */
function envOf(values: Record<string, string> | Error): Env {
  const get = async (key: string, type?: string) => {
    if (values instanceof Error) throw values;
    const text = values[key] ?? null;
    return text !== null && type === 'json' ? JSON.parse(text) : text;
  };
  const KV = { get, list: bindings.KV.list.bind(bindings.KV) } as unknown as KVNamespace;
  return { ...bindings, KV };
}

async function published({ ageDays = 0, document = DOCUMENT as string | null, text = DOCUMENT } = {}): Promise<Env> {
  const pointer = { version: VERSION, hash: await sha256Hex(text), publishedAtMs: Date.now() - ageDays * DAY_MS };
  return envOf({
    'catalog:current': JSON.stringify(pointer),
    ...(document !== null && { [`catalog:${VERSION}`]: document }),
  });
}

const fetchWith = (env: Env) => (url: string, init?: RequestInit) =>
  Promise.resolve(app.fetch(new Request(url, init), env, createExecutionContext()));

async function health(env: Env) {
  return (await new Api(fetchWith(env), ORIGIN, OPERATOR_TOKEN).send('readHealth')).data;
}

test('the built-in catalog is described if none was published', async () => {
  const { status, catalog } = await health(envOf({}));
  expect([status, catalog.warnings]).toEqual(['ok', []]);
  expect(catalog).toMatchObject({
    source: 'built-in',
    version: BUILT_IN_CATALOG.version,
    models: BUILT_IN_CATALOG.models.length,
  });
});

test('the published catalog is described if there is one', async () => {
  const { status, catalog } = await health(await published({ ageDays: 3 }));
  expect(status).toBe('ok');
  expect(catalog).toEqual({
    version: VERSION,
    source: 'published',
    ageDays: 3,
    models: MODELS.length,
    prices: PRICED,
    warnings: [],
  });
});

describe('health is degraded, with the reason, if the published catalog', () => {
  const cases: [string, () => Promise<Env> | Env, string, RegExp][] = [
    [
      'does not match its hash',
      () => published({ document: `${DOCUMENT} ` }),
      'built-in',
      /2027-05-05 does not match its hash/,
    ],
    ['is missing', () => published({ document: null }), 'built-in', /2027-05-05 is missing/],
    ['is not JSON', () => published({ document: 'x', text: 'x' }), 'built-in', /could not be read/],
    ['has a pointer that is not JSON', () => envOf({ 'catalog:current': '{' }), 'built-in', /could not be read/],
    [
      'cannot be read',
      () => envOf(new Error('KV GET failed: 500 Internal Server Error')),
      'built-in',
      /could not be read/,
    ],
    ['is older than 90 days', () => published({ ageDays: 91 }), 'published', /91 days old/],
  ];

  test.each(cases)('%s', async (_, made, source, warning) => {
    const env = await made();
    const { status, problems, catalog } = await health(env);
    expect([status, catalog.source, catalog.warnings.length]).toEqual(['degraded', source, 1]);
    expect(problems).toContain(catalog.warnings[0]);
    expect(catalog.warnings[0]).toMatch(warning);
    for (const path of ['/console', '/console/health']) {
      const page = await (await fetchWith(env)(ORIGIN + path, { headers: { Cookie: cookie } })).text();
      expect(page.replaceAll('&#39;', "'")).toContain(catalog.warnings[0]);
      expect(page).toContain('degraded');
    }
  });

  test('became unreadable after it was loaded: it stays in use, with a warning', async () => {
    const env = await published();
    const good = env.KV.get.bind(env.KV);
    let broken = false;
    const get = (async (key: string, type?: 'json') =>
      broken ? JSON.parse('{') : type ? good(key, type) : good(key)) as unknown as KVNamespace['get'];
    const KV = { get, list: env.KV.list } as unknown as KVNamespace;
    expect((await health({ ...env, KV })).catalog).toMatchObject({ source: 'published', warnings: [] });
    broken = true;
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 11_000 });
    try {
      const work: Promise<unknown>[] = [];
      await currentCatalog({ ...env, KV }, (each) => work.push(each));
      await Promise.all(work);
      const { status, catalog } = await health({ ...env, KV });
      expect([status, catalog.source, catalog.version]).toEqual(['degraded', 'published', VERSION]);
      expect(catalog.warnings).toEqual(['what KV has of the published catalog is not valid JSON']);
    } finally {
      vi.useRealTimers();
    }
  });
});

test('the message about a binding that does not answer contains nothing of the query', async () => {
  const fail = () => Promise.reject(new Error('D1_ERROR: Network connection lost.'));
  const statement: object = { bind: () => statement, all: fail, raw: fail, run: fail, first: fail };
  const { status, problems, checks } = await health({
    ...envOf({}),
    DB: { prepare: () => statement } as unknown as D1Database,
  });
  expect(status).toBe('degraded');
  expect(problems).toContain('DB does not answer: Error: D1_ERROR: Network connection lost.');
  expect(checks.find(({ name }) => name === 'DB')).toMatchObject({
    ok: false,
    message: 'Error: D1_ERROR: Network connection lost.',
  });
});
