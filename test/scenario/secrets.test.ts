/**
 * Promise: secrets are written nowhere: no key, token, vendor header or prompt in a log, in D1, in KV, in an object, in
 * an event, or in the answer to anybody but its owner. Also not when something breaks.
 *
 * Every secret of a run carries a mark; afterwards every place is searched for it.
 */
import { listDurableObjectIds, runInDurableObject } from 'cloudflare:test';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Api, createTenant, OPERATOR_TOKEN, type Tenant } from '../support/api.ts';
import { bindings, operator, worker } from '../support/worker.ts';
import { type Faults, faultyApi } from './faulty-bindings.ts';

const PROMPT = 'marked prompt about a merger nobody knows of';
const ANSWER = 'marked answer of the model';
const VENDOR_KEY = 'sk-marked-vendor-key-0123456789abcdef';
const VENDOR_HEADER = 'marked-vendor-header-0123456789abcdef';
const VENDOR_URL = 'https://vendor.example.com/v1';
const CUSTOMER = 'secretive';
const SEARCHED = 'marked-person@example.com';

const logged: string[] = [];
const answered: string[] = [];
const secrets = new Map([
  ['operator token', OPERATOR_TOKEN],
  ['vendor key', VENDOR_KEY],
  ['vendor header', VENDOR_HEADER],
  ['prompt', PROMPT],
  ['search', SEARCHED],
]);

let tenant: Tenant;
let key: string;
beforeAll(async () => {
  for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const) {
    vi.spyOn(console, level).mockImplementation((...parts) => void logged.push(parts.map(String).join(' ')));
  }
  tenant = await createTenant(operator, { name: 'Secrets', limitType: 'NONE' });
  const params = { org: tenant.organizationId };
  ({ key } = (
    await operator.send('createKey', { params, body: { name: 'all' }, headers: { 'Idempotency-Key': 'keep-me' } })
  ).data);
  secrets.set('API key', key);
  for (const provider of ['openai', 'google', 'anthropic']) {
    await operator.send('setVendor', {
      params: { ...params, provider },
      body: { apiKey: VENDOR_KEY, baseUrl: VENDOR_URL },
    });
  }
});
afterAll(() => {
  vi.restoreAllMocks();
});

/** A vendor that tells everything that it was told, as some do in their errors. */
function vendorAnswers(status: number): void {
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (_, init) => {
    const headers = JSON.stringify([...new Headers(init?.headers as HeadersInit)]);
    if (status === 0) throw new TypeError(`connect failed: ${headers} ${init?.body}`);
    const error = { error: { message: `refused: ${headers} ${init?.body}`, type: 'x', code: 'x' } };
    const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
    const choices = [{ index: 0, message: { role: 'assistant', content: ANSWER }, finish_reason: 'stop' }];
    return Response.json(
      status === 200 ? { id: 'x', object: 'chat.completion', model: 'gpt-4o-mini', choices, usage } : error,
      { status },
    );
  });
}

const messages = [{ role: 'user', content: PROMPT }];
const everyStatus = [200, 400, 401, 429, 500, 0];

async function use(api: Api, name: string): Promise<void> {
  const body = { model: 'gpt-4o-mini', messages };
  for (const status of everyStatus) {
    vendorAnswers(status);
    const vendor = {
      url: `${VENDOR_URL}/chat/completions`,
      body,
      headers: { Authorization: `Bearer ${VENDOR_HEADER}`, 'x-api-key': VENDOR_HEADER },
    };
    await api.send('makeCall', {
      body: { customerId: CUSTOMER, vendor },
      headers: { 'Idempotency-Key': `${name}-${status}` },
    });
  }
}

/** A request through the gateway; its answer is between the caller and the vendor. */
async function gateway(headers: Record<string, string>, status: number): Promise<void> {
  vendorAnswers(status);
  const body = JSON.stringify({ model: 'openai/gpt-4o-mini', messages, customer: CUSTOMER });
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body };
  const response = await worker.fetch('https://callmeter.test/v1/chat/completions', init as never);
  answered.push(await response.text());
}

/** The places that contain each secret, among all places that can. */
async function found(): Promise<string[]> {
  const places = new Map([['the logs', logged.join('\n')]]);
  const { results: tables } = await bindings.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'`,
  ).all<{ name: string }>();
  for (const { name } of tables) {
    const { results } = await bindings.DB.prepare(`SELECT * FROM "${name}"`).all();
    places.set(`the table ${name} of D1`, JSON.stringify(results));
  }
  for (const { name } of (await bindings.KV.list()).keys) places.set(`KV ${name}`, (await bindings.KV.get(name)) ?? '');
  const { CUSTOMERS, CALL_DIRECTORY, PLAN_MIGRATIONS, GATEWAY_BATCHES, CUSTOMER_BATCHES, COMPRESSION_JOBS } = bindings;
  for (const namespace of [
    CUSTOMERS,
    CALL_DIRECTORY,
    PLAN_MIGRATIONS,
    GATEWAY_BATCHES,
    CUSTOMER_BATCHES,
    COMPRESSION_JOBS,
  ] as DurableObjectNamespace[]) {
    for (const id of await listDurableObjectIds(namespace)) {
      const tables = await runInDurableObject(namespace.get(id), (_, state) => dump(state.storage));
      for (const [table, text] of tables) places.set(`the table ${table} of the object ${id}`, text);
    }
  }
  return [...secrets].flatMap(([name, secret]) =>
    [...places].flatMap(([place, text]) => (holds(text, secret) ? [`the ${name} in ${place}`] : [])),
  );
}

/** A vendor's answer is kept for retries for 48 hours, whatever its content: here it repeats its request. */
function isKeptAnswer(place: string): boolean {
  return /^the (prompt|vendor header) in the table call_answers of the object/.test(place);
}

function holds(text: string, secret: string): boolean {
  return text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1));
}

/** The rows of each table, and the key-value data. */
async function dump(storage: DurableObjectStorage): Promise<[string, string][]> {
  const names = storage.sql.exec<{ name: string }>(`SELECT name FROM sqlite_master WHERE type = 'table'`).toArray();
  const own = names.filter(({ name }) => !name.startsWith('_cf_') && !name.startsWith('sqlite_'));
  const rows = own.map(({ name }): [string, string] => [
    name,
    JSON.stringify(storage.sql.exec(`SELECT * FROM "${name}"`).toArray()),
  ]);
  return [
    ...rows,
    [
      'of keys and values',
      JSON.stringify([...(await storage.list())], (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
    ],
  ];
}

describe('after calls through vendors that repeat their request', () => {
  test('no secret is stored, except in responses stored for their owner', async () => {
    await use(
      faultyApi(() => null, key),
      'plain',
    );
    const session = (await tenant.api.send('createClientSession', { body: { customerId: CUSTOMER } })).data.token;
    secrets.set('session token', session);
    for (const status of everyStatus) {
      await gateway({ Authorization: `Bearer ${key}` }, status);
      await gateway({ Authorization: `Bearer ${session}` }, status);
    }
    expect((await found()).filter((place) => !isKeptAnswer(place))).toEqual([]);
  });

  test('no response contains the vendor key of the organization', () => {
    expect(answered.length).toBeGreaterThan(0);
    expect(answered.filter((text) => text.includes(VENDOR_KEY))).toEqual([]);
  });
});

describe('after requests that were refused', () => {
  test('no secret is stored', async () => {
    const attempts: [string, RequestInit][] = [
      ['/call_begin', { method: 'POST', body: `{"customerId": "${PROMPT}` }],
      ['/call_begin', { method: 'POST', body: JSON.stringify({ customerId: [PROMPT], feature: { PROMPT } }) }],
      [
        '/call',
        {
          method: 'POST',
          body: JSON.stringify({ vendor: { url: VENDOR_URL, headers: { a: VENDOR_HEADER }, body: PROMPT } }),
        },
      ],
      ['/v1/chat/completions', { method: 'POST', body: JSON.stringify({ model: 7, messages: PROMPT }) }],
      [
        `/operator/organizations/${tenant.organizationId}/vendors/openai`,
        { method: 'PUT', body: JSON.stringify({ apiKey: [VENDOR_KEY] }) },
      ],
      [`/calls/${encodeURIComponent(key)}x`, {}],
      ['/samples', { method: 'POST', body: JSON.stringify({ input: PROMPT }) }],
    ];
    for (const [path, init] of attempts) {
      for (const credential of [key, OPERATOR_TOKEN, `${key}x`, `${OPERATOR_TOKEN}x`]) {
        const headers = {
          Authorization: `Bearer ${credential}`,
          Accept: 'application/vnd.service.v1+json',
          'Content-Type': 'application/json',
        };
        await worker.fetch(`https://callmeter.test${path}`, { ...init, headers } as never);
      }
    }
    expect((await found()).filter((place) => !isKeptAnswer(place))).toEqual([]);
  });
});

describe('after requests during which D1, KV or an object failed', () => {
  test('no secret is stored', async () => {
    let count = 0;
    const faults: Faults = (binding) => {
      count += 1;
      return count % 2 === 0 && binding !== 'KV' ? 'throws' : null;
    };
    const params = { org: tenant.organizationId };
    const broken = [faultyApi(faults, key), faultyApi((binding) => (binding === 'DB' ? 'throws' : null), key)];
    const brokenOperator = faultyApi(faults, OPERATOR_TOKEN);
    vendorAnswers(500);
    for (let round = 0; round < 6; round += 1) {
      for (const api of broken) {
        await api.send('storeSample', { body: { provider: 'openai', input: PROMPT, sampleId: `broken-${round}` } });
        const vendor = {
          url: `${VENDOR_URL}/chat/completions`,
          body: { messages },
          headers: { 'x-api-key': VENDOR_HEADER },
        };
        await api.send('makeCall', { body: { customerId: CUSTOMER, vendor } });
        await api.send('listCustomers', { query: { search: SEARCHED } });
      }
      await brokenOperator.send('setVendor', {
        params: { ...params, provider: 'acme' },
        body: { apiKey: VENDOR_KEY, baseUrl: VENDOR_URL },
      });
      const created = await brokenOperator.send('createKey', { params, body: { name: `broken-${round}` } });
      if (created.status === 200) secrets.set(`API key of round ${round}`, created.data.key);
    }
    expect(logged.some((line) => line.includes('request_failed'))).toBe(true);
    // A sample that got through is kept as it is, and a keyed answer for its owner.
    const meant = (place: string) => /^the prompt in the table samples/.test(place) || isKeptAnswer(place);
    expect((await found()).filter((place) => !meant(place))).toEqual([]);
  });
});
