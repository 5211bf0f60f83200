/**
 * Promise: if too many begins wait for an object, it refuses further ones at once, and nothing is left of them: no
 * reservation, no claim of the key. Ends and increments are never refused, and other customers notice nothing.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Api } from '../support/api.ts';
import { ask, BASE_URL, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { bindings, operator } from '../support/worker.ts';
import { type Faults, faultyApi } from './faulty-bindings.ts';

/** The most begins that wait for one object in an isolate. */
const WAITING_MAX = 1_024;
const SATURATED_MS_MAX = 60_000;
const PLAN = {
  name: 'P',
  limitType: 'BLOCK',
  limits: { standardCalls: 10_000, premiumCalls: 10_000 },
  customMeters: { CUSTOM1: { included: 1_000 } },
};

mockVendor();

let tenant: Awaited<ReturnType<typeof newTenant>>;
/** Lets the object answer the begins that wait for it. */
let release: () => void;
let begun: Promise<{ status: number }[]>;
let openCallId: string;

const begin = (api: Api, customerId: string, key: string) =>
  api.send('beginCall', { body: { customerId }, headers: { 'Idempotency-Key': key } });
const used = async (customerId: string) =>
  (await tenant.api.send('readUsage', { params: { customerId } })).data.meters.standardCalls?.used;

beforeAll(async () => {
  tenant = await newTenant(PLAN);
  for (const provider of ['anthropic', 'google'])
    await operator.send('setVendor', {
      params: { org: tenant.organizationId, provider },
      body: { apiKey: 'sk-test', baseUrl: BASE_URL },
    });
  openCallId = (await begin(tenant.api, 'busy', crypto.randomUUID())).data.callId;
  const gate = Promise.withResolvers<void>();
  release = gate.resolve;
  const faults: Faults = (binding, operation) =>
    binding === 'CUSTOMERS' && operation === 'begin' ? gate.promise : null;
  const saturated = faultyApi(faults, tenant.key);
  begun = Promise.all(Array.from({ length: WAITING_MAX }, () => begin(saturated, 'busy', crypto.randomUUID())));
  const health = () => operator.send('readHealth').then(({ data }) => data.beginQueue);
  await vi.waitFor(async () => expect((await health()).waiting).toBe(WAITING_MAX), SATURATED_MS_MAX);
});
afterAll(async () => {
  release();
  await begun;
});

describe('while too many begins wait for the object of a customer', () => {
  test('the key of a refused begin is free for another customer', async () => {
    expect((await begin(tenant.api, 'busy', 'free')).status).toBe(503);
    expect((await begin(tenant.api, 'other', 'free')).status).toBe(200);
  });

  test('ends and increments are taken, and other customers begin', async () => {
    const end = { callId: openCallId, modelUsed: 'gpt-4o-mini', inputTokens: 10, responseTokens: 5 };
    expect(await tenant.api.send('endCall', { body: end })).toMatchObject({ status: 200 });
    const increment = { customerId: 'busy', meterSlot: 'CUSTOM1', amount: 1 };
    expect(await tenant.api.send('incrementMeter', { body: increment })).toMatchObject({ status: 200 });
    expect(await begin(tenant.api, 'other', crypto.randomUUID())).toMatchObject({ status: 200 });
  });

  test('health says how many wait and for how long, and is degraded after a refusal', async () => {
    await begin(tenant.api, 'busy', crypto.randomUUID());
    const { data } = await operator.send('readHealth');
    expect(data.status).toBe('degraded');
    expect(data.problems).toContain('Begins of calls are refused, because more wait than can be served');
    expect(data.beginQueue).toEqual({
      waiting: WAITING_MAX,
      oldestMs: expect.any(Number),
      refusedAt: expect.any(String),
    });
  });

  test.each([
    [
      '/v1/chat/completions',
      'openai/gpt-5.2',
      { messages: [{ role: 'user', content: 'hi' }] },
      { error: { type: 'server_error', code: 'SERVICE_UNAVAILABLE' } },
    ],
    [
      '/v1/messages',
      'anthropic/claude-sonnet-4-5',
      { max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] },
      { type: 'error', error: { type: 'overloaded_error' } },
    ],
    [
      '/v1beta/models/google/gemini-2.5-flash:generateContent',
      undefined,
      { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], messages: undefined },
      { error: { code: 503, status: 'UNAVAILABLE' } },
    ],
  ])('a request to %s gets the error of its form, and reaches no vendor', async (path, model, body, error) => {
    let asked = 0;
    vendor.answers = () => {
      asked += 1;
      return new Response();
    };
    const headers = { 'x-usage-customer-id': 'busy' };
    const { response } = await ask(tenant.key, { ...body, model }, bindings, path, headers);
    expect(await response.json()).toMatchObject(error);
    expect(response.status).toBe(503);
    expect(response.headers.get('Retry-After')).toBe('1');
    expect(response.headers.get('x-should-retry')).toBe('true');
    expect(asked).toBe(0);
  });

  test('a begin is 503 with Retry-After, leaves nothing, and later begins anew under the same key', async () => {
    const refused = await begin(tenant.api, 'busy', 'once');
    expect(refused).toMatchObject({ status: 503, refusal: { code: 'SERVICE_UNAVAILABLE' } });
    expect(refused.headers.get('Retry-After')).toBe('1');
    release();
    expect((await begun).every(({ status }) => status === 200)).toBe(true);
    expect(await used('busy')).toBe(WAITING_MAX + 1);
    const again = await begin(tenant.api, 'busy', 'once');
    expect(again.status).toBe(200);
    expect(again.headers.get('Idempotency-Replayed')).toBeNull();
    expect(await used('busy')).toBe(WAITING_MAX + 2);
  });
});
