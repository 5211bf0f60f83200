/**
 * Promise: whatever the service needs is away, each kind of request is answered as the table of outages says, nothing is decided
 * by a default, and D1 has all that was answered, once, by the time that the table says.
 */
import {
  createExecutionContext,
  runDurableObjectAlarm,
  runInDurableObject,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Env } from '../../src/env.ts';
import service from '../../src/index.ts';
import { listProjectors } from '../../src/objects/projectors.ts';
import { webhookEndpoint } from '../../src/objects/webhook-endpoints.ts';
import { forgetAll } from '../../src/platform/isolate-memory.ts';
import { Api } from '../support/api.ts';
import { answers, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { expectedOutcome, type Kind, OUTAGES, type Outage, type OutageName } from '../support/outages.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';
import { ORIGIN, Visitor } from '../worker/console-visitor.ts';
import { type Binding, faultyEnv } from './faulty-bindings.ts';

mockVendor();

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The days of calls are closed by then. */
const CLOSED_AFTER_MS = 12 * 24 * HOUR_MS;
/** Longer than the configuration of these tests is used without a read. */
const STALE_MS = 200;
const PLAN = {
  name: 'P',
  limitType: 'BLOCK',
  limits: { standardCalls: 0, premiumCalls: 0 },
  payg: { enabled: true },
  customMeters: { CUSTOM1: { label: 'units', included: 1_000 } },
};
/** The customer of a gateway call that names none. */
const CUSTOMERS = ['ann', 'default'];
const STRIPE = 'https://stripe.example.com';
const RECEIVER = 'https://receiver.example.dev';

/** The bindings of what is away; other outages are of hosts. */
const BINDINGS: Partial<Record<OutageName, Binding>> = {
  configuration: 'DB',
  history: 'DB_2',
  kv: 'KV',
  r2: 'ARCHIVE',
  projector: 'PROJECTORS',
  directory: 'CALL_DIRECTORY',
  watch: 'ORGANIZATION_WATCHES',
};
/** The kinds that write history. */
const WRITING: readonly Kind[] = ['begin', 'beginCold', 'beginKeyed', 'end', 'increment', 'gateway', 'changePlan'];
/** No address includes it. */
const NOWHERE = ' ';
const HOSTS: Partial<Record<OutageName, string>> = { vendor: 'vendor.example.com', stripe: STRIPE, webhook: RECEIVER };

let away: OutageName | null;
/** The service with two databases: one with the configuration, the other with the history. */
const env: Env = {
  ...faultyEnv((binding) => (away !== null && BINDINGS[away] === binding ? 'throws' : null), {
    ...bindings,
    DB_2: bindings.DB,
  } as Env),
  STRIPE_SECRET_KEY: 'sk_test',
  STRIPE_API_BASE: STRIPE,
};

interface Answered {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the answers of many routes
  body: any;
  headers: Headers;
}

let tenant: Awaited<ReturnType<typeof newTenant>>;
let api: Api;
let cookie: string;
/** A call that is open. */
let openCallId: string;
/** The calls that were begun. */
let callIds: Set<string>;
/** Requests to a host that was away. */
let refused: number;

async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const context = createExecutionContext();
  const request = new Request(path.startsWith('/') ? ORIGIN + path : path, { redirect: 'manual', ...init });
  const response = (await service.fetch(request as never, env, context)) as unknown as Response;
  const text = await response.text();
  await waitOnExecutionContext(context);
  return new Response(text, response);
}

async function ask(path: string, init: RequestInit = {}): Promise<Answered> {
  const response = await send(path, init);
  const text = await response.text();
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text, headers: response.headers };
}

beforeEach(async () => {
  away = null;
  callIds = new Set();
  refused = 0;
  for (const level of ['info', 'warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
  vendor.answers = answers;
  const network = vi.mocked(globalThis.fetch);
  const askVendor = network.getMockImplementation();
  network.mockImplementation(async (url, init) => {
    if (away !== null && String(url).includes(HOSTS[away] ?? NOWHERE)) {
      refused += 1;
      throw new Error('connection refused');
    }
    return /stripe|receiver/.test(String(url)) ? Response.json({}) : (askVendor as typeof fetch)(url, init);
  });
  tenant = await newTenant(PLAN);
  const params = { org: tenant.organizationId };
  await operator.send('putPlan', { params: { ...params, planId: 'other' }, body: { ...PLAN, name: 'Other' } });
  const put = await operator.send('putWebhook', { params: { ...params, webhookId: 'w' }, body: { url: RECEIVER } });
  expect(put.status).toBe(200);
  await bindings.DB.prepare("UPDATE organizations SET database = 'DB_2' WHERE organization_id = ?")
    .bind(tenant.organizationId)
    .run();
  forgetAll();
  api = new Api(send, ORIGIN, tenant.key);
  const visitor = new Visitor();
  await visitor.signIn();
  ({ cookie } = visitor);
  for (const customerId of CUSTOMERS) {
    const contact = { stripeCustomerId: `cus_${customerId}_${tenant.organizationId}` };
    expect((await api.send('provisionCustomer', { body: { customerId, ...contact } })).status).toBe(200);
    const grant = { params: { ...params, customerId }, body: { kind: 'USD', amountUsd: '10' } };
    expect((await operator.send('grantCredit', grant)).status).toBe(200);
  }
  openCallId = await beginNow();
  expect((await lookUp()).status).toBe(200);
  await useInObjects();
  await deliverAll();
  // The configuration is stale, and may have changed.
  await scheduler.wait(STALE_MS);
});
afterEach(() => vi.useRealTimers());

/** Under load, customers use all of them. */
const projectors = listProjectors(bindings, 'DB_2');

/** The objects that a request does not reach through the Worker's bindings have the same ones. */
async function useInObjects(): Promise<void> {
  const { organizationId } = tenant;
  for (const customerId of CUSTOMERS) {
    await runInDurableObject(customerStub(organizationId, customerId), (object) => void Object.assign(object, { env }));
  }
  for (const projector of projectors)
    await runInDurableObject(projector(), (object) => void Object.assign(object, { env }));
  await runInDurableObject(webhookStub(), (object) => void Object.assign(object, { env }));
}

const webhookStub = () => webhookEndpoint(bindings, { organizationId: tenant.organizationId, webhookId: 'w' })();

async function beginNow(): Promise<string> {
  const { data } = await begin();
  callIds.add(data.callId);
  return data.callId;
}

async function deliverAll(): Promise<void> {
  for (const customerId of CUSTOMERS) await runDurableObjectAlarm(customerStub(tenant.organizationId, customerId));
  for (const projector of projectors) await runDurableObjectAlarm(projector());
  await runDurableObjectAlarm(webhookStub());
}

/** The calls of the organization in D1, which bears an outage of its bindings. */
async function callsInD1(): Promise<string[]> {
  const sql = 'SELECT call_id FROM calls WHERE organization_id = ? ORDER BY call_id';
  const { results } = await bindings.DB.prepare(sql).bind(tenant.organizationId).all<{ call_id: string }>();
  return results.map(({ call_id }) => call_id);
}

async function everyCallArrives(): Promise<void> {
  const arrived = async () => {
    await deliverAll();
    return callsInD1();
  };
  await expect.poll(arrived).toEqual([...callIds].sort());
}

/** How often a host that is away was asked. */
async function refusedByHost(): Promise<number> {
  await deliverAll();
  return refused;
}

const openAi = (model: string) => ({
  method: 'POST',
  headers: { Authorization: `Bearer ${tenant.key}`, 'Content-Type': 'application/json' },
  body: JSON.stringify({ model, messages: [{ role: 'user', content: 'x' }] }),
});
const begin = (more: object = {}) => api.send('beginCall', { body: { customerId: 'ann', ...more } });
const lookUp = () => ask('/v1/model-alternatives/openai/gpt-4o');
const end = (callId: string) =>
  api.send('endCall', { body: { callId, modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 100 } });

const REQUESTS: Record<Exclude<Kind, 'retention'>, () => Promise<Answered>> = {
  begin: () => begin(),
  beginKeyed: () => begin({ idempotencyKey: crypto.randomUUID() }),
  end: () => end(openCallId),
  increment: () => api.send('incrementMeter', { body: { customerId: 'ann', meterSlot: 'CUSTOM1', amount: 1 } }),
  gateway: () => ask('/v1/chat/completions', openAi('gpt-5.2')),
  changePlan: () =>
    api.send('changePlan', {
      params: { customerId: 'ann' },
      body: { planId: 'other', strategy: 'IMMEDIATE_PRORATED' },
    }),
  readings: () => api.send('readUsageSummary'),
  lookup: () => lookUp(),
  console: () => ask(`/console/organizations/${tenant.organizationId}`, { headers: { Cookie: cookie } }),
  lookupCold: () => {
    forgetAll();
    return lookUp();
  },
  beginCold: () => {
    forgetAll();
    return begin();
  },
};

/** What an answer amounts to: an `Outcome`, or a status that the table does not have. */
function readOutcome({ status, body, headers }: Answered): string {
  const callId = body?.data?.callId ?? headers.get('x-service-call-id');
  if (callId) callIds.add(callId);
  if (status === 503) expect(headers.get('Retry-After')).toBe('1');
  if (status !== 200) return String(status);
  return body?.data?.degraded === true || body?.degraded === true ? 'degraded' : 'yes';
}

describe.each(Object.entries(OUTAGES) as [OutageName, Outage][])('without %s', (name, outage) => {
  test('each request is answered as the table says, and D1 has every call once', async () => {
    const before = await callsInD1();
    expect(before).toEqual([...callIds].sort());
    away = name;
    const found = new Map<Kind, string>();
    for (const [kind, request] of Object.entries(REQUESTS) as [keyof typeof REQUESTS, () => Promise<Answered>][]) {
      const answered = await request();
      found.set(kind, readOutcome(answered));
      if (kind !== 'beginCold' || name !== 'kv') continue;
      const { costBreakdown } = (await end(answered.body.data.callId)).data;
      if (costBreakdown?.assumptions.some((one) => one.startsWith('the published catalog could not be read')))
        found.set(kind, 'stand-in');
    }
    // While the outage lasts, D1 gets what the table does not put off.
    const isLater = expectedOutcome(outage, 'begin') === 'later';
    if (isLater) {
      await deliverAll();
      expect(await callsInD1()).toEqual(before);
      for (const kind of WRITING) if (found.get(kind) === 'yes') found.set(kind, 'later');
    } else await everyCallArrives();
    const kinds = [...found.keys()];
    expect(kinds.map((kind) => `${kind}: ${found.get(kind)}`)).toEqual(
      kinds.map((kind) => `${kind}: ${expectedOutcome(outage, kind)}`),
    );
    if (HOSTS[name]) await expect.poll(refusedByHost).toBeGreaterThan(0);
    away = null;
    await everyCallArrives();
  });

  test('the hourly run deletes no call, and says so if it failed', async () => {
    const calls = await callsInD1();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + CLOSED_AFTER_MS });
    away = name;
    const run = service.scheduled({ cron: '17 * * * *' } as never, env, createExecutionContext());
    const outcome = await run.then(
      () => 'yes',
      () => 'fails',
    );
    expect(outcome).toBe(expectedOutcome(outage, 'retention'));
    expect(await callsInD1()).toEqual(calls);
    expect(calls).not.toEqual([]);
  });
});

test('without KV, pages of the console can be read, and nothing can be changed there', async () => {
  away = 'kv';
  const headers = { Cookie: cookie };
  expect((await ask('/console/health', { headers })).status).toBe(200);
  expect((await ask('/console/sign-out', { method: 'POST', headers: { ...headers, Origin: ORIGIN } })).status).toBe(
    503,
  );
});

describe('an hour without the configuration', () => {
  const setClock = (ms: number) => vi.useFakeTimers({ toFake: ['Date'], now: startMs + ms });
  let startMs: number;
  beforeEach(() => {
    startMs = Date.now();
    away = 'configuration';
  });

  test('calls go on, and are 503 after it', async () => {
    setClock(HOUR_MS - MINUTE_MS);
    expect((await begin()).status).toBe(200);
    setClock(HOUR_MS);
    expect((await begin()).refusal.code).toBe('SERVICE_UNAVAILABLE');
    away = null;
    expect((await begin()).status).toBe(200);
  });

  test('a key that was revoked through another isolate is 503, whatever this one remembers', async () => {
    expect((await begin()).status).toBe(200);
    const params = { org: tenant.organizationId };
    const [key] = (await operator.send('listKeys', { params })).data.items;
    expect((await operator.send('revokeKey', { params: { ...params, keyId: key?.keyId ?? '' } })).status).toBe(200);
    setClock(MINUTE_MS);
    expect((await begin()).refusal.code).toBe('SERVICE_UNAVAILABLE');
    away = null;
    expect((await begin()).refusal.code).toBe('UNAUTHORIZED');
  });
});
