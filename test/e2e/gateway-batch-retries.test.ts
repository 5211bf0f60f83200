/**
 * Promise: a batch is begun once under its key, whichever answer is lost, and each of its lines is metered.
 */
import OpenAI, { ConflictError, toFile } from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { OperatorCustomer } from '../../src/contract/operator-customers.ts';
import { createTenant } from '../support/api.ts';
import { type BatchVendor, startBatchVendor } from '../vendors/batch-proxy.ts';
import { type FakeVendor, startVendor } from '../vendors/vendor.ts';
import { type LocalServer, type PreparedState, preparedState, startPrepared, until } from './local-server.ts';

let state: PreparedState;
let server: LocalServer;
let model: FakeVendor;
let vendor: BatchVendor;
let tenant: Tenant;
beforeAll(async () => {
  [state, model] = await Promise.all([preparedState({ GATEWAY_TIMEOUT_MS: '5000' }), startVendor()]);
  [server, vendor] = await Promise.all([startPrepared(state), startBatchVendor(model.url)]);
  tenant = await newTenant();
});
afterEach(() => {
  vendor.lists = true;
  vendor.next.length = 0;
});
afterAll(async () => {
  await server.stop();
  await vendor.close();
  await model.close();
});

type Tenant = Awaited<ReturnType<typeof newTenant>>;

async function newTenant(plan: object = { name: 'Free', limitType: 'NONE' }) {
  const { organizationId } = await createTenant(server.operator, plan);
  const params = { org: organizationId };
  const body = { apiKey: `sk-${'k'.repeat(20)}`, baseUrl: `${vendor.url}/v1` };
  expect((await server.operator.send('setVendor', { params: { ...params, provider: 'openai' }, body })).status).toBe(
    200,
  );
  const { key } = (await server.operator.send('createKey', { params, body: { name: 'gateway' } })).data;
  return {
    sdk: (maxRetries = 0) => new OpenAI({ apiKey: key, baseURL: `${server.url}/v1`, maxRetries }),
    async customer(customerId: string): Promise<OperatorCustomer | null> {
      const reply = await server.operator.send('readCustomer', { params: { ...params, customerId } });
      return reply.status === 200 ? reply.data : null;
    },
    grant: (customerId: string) =>
      server.operator.send('grantCredit', {
        params: { ...params, customerId },
        body: { kind: 'USD', amountUsd: '10' },
      }),
  };
}

let serial = 0;
const newKey = () => `batch-key-${++serial}`;

async function input(lines = 2, from = tenant): Promise<string> {
  const body = { model: 'gpt-5.2', messages: [{ role: 'user', content: 'hi [reply:3]' }] };
  const all = Array.from({ length: lines }, (_, index) => ({
    custom_id: `line-${index}`,
    method: 'POST',
    url: '/v1/chat/completions',
    body,
  }));
  const file = await toFile(Buffer.from(all.map((line) => JSON.stringify(line)).join('\n')), 'input.jsonl');
  return (await from.sdk().files.create({ file, purpose: 'batch' })).id;
}

interface Sent {
  input_file_id: string;
  key?: string;
  customer?: string;
  maxRetries?: number;
  from?: Tenant;
  more?: object;
  signal?: AbortSignal;
}

async function create({ input_file_id, key, customer = 'default', maxRetries, from = tenant, more, signal }: Sent) {
  const batch = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h', customer, ...more };
  const headers = key === undefined ? {} : { 'Idempotency-Key': key };
  const { data, response } = await from
    .sdk(maxRetries)
    .batches.create(batch as never, { headers, ...(signal && { signal }) })
    .withResponse();
  return { id: data.id, batch: data, replayed: response.headers.get('Idempotency-Replayed') === 'true' };
}

async function metered(customerId: string, id: string, lines: number, from = tenant): Promise<void> {
  await until(async () => {
    await from.sdk().batches.retrieve(id);
    return (await from.customer(customerId))?.recentCalls.length === lines;
  });
  expect((await from.customer(customerId))?.meters.premiumCalls?.used).toBe(lines);
}

describe('under a key', () => {
  test('a repeated request gets the stored answer, and the vendor has one batch', async () => {
    const sent = { input_file_id: await input(), key: newKey(), customer: 'again' };
    const before = vendor.created.length;
    const first = await create(sent);
    expect(first.replayed).toBe(false);
    await metered('again', first.id, 2);
    for (let retry = 0; retry < 3; retry += 1) expect(await create(sent)).toEqual({ ...first, replayed: true });
    expect(vendor.created.length - before).toBe(1);
    expect((await tenant.customer('again'))?.recentCalls).toHaveLength(2);
  });

  test.each<[string, Partial<Sent>]>([
    ['another body', { more: { metadata: { k: 'v' } } }],
    ['another customer', { customer: 'somebody-else' }],
    ['another feature', { more: { feature: 'x' } }],
  ])('%s is a conflict, which the SDK does not repeat', async (_, change) => {
    const sent = { input_file_id: await input(), key: newKey() };
    await create(sent);
    const before = [vendor.created.length, model.requests.length];
    const error = await create({ ...sent, ...change, maxRetries: 2 }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ConflictError);
    expect([error.code, error.headers.get('x-should-retry')]).toEqual(['IDEMPOTENCY_KEY_CONFLICT', 'false']);
    expect([vendor.created.length, model.requests.length]).toEqual(before);
  });

  test('a parallel request is 409 with Retry-After, and the SDK comes back for the answer', async () => {
    const sent = { input_file_id: await input(), key: newKey() };
    const before = vendor.created.length;
    const release = vendor.hold();
    const first = create(sent);
    await until(() => vendor.created.length > before);
    const error = await create(sent).catch((thrown) => thrown);
    expect([error.status, error.code, error.headers.get('Retry-After')]).toEqual([409, 'CALL_IN_FLIGHT', '2']);
    const again = create({ ...sent, maxRetries: 2 });
    release();
    const { id } = await first;
    expect(await again).toMatchObject({ id, replayed: true });
    expect(vendor.created.length - before).toBe(1);
  });

  test('a caller that disconnected finds its batch later', async () => {
    const sent = { input_file_id: await input(), key: newKey() };
    const before = vendor.created.length;
    const release = vendor.hold();
    const controller = new AbortController();
    const left = create({ ...sent, signal: controller.signal }).catch(() => 'left');
    await until(() => vendor.created.length > before);
    controller.abort();
    expect(await left).toBe('left');
    release();
    expect(await create({ ...sent, maxRetries: 3 })).toMatchObject({ id: vendor.created.at(-1), replayed: true });
    expect(vendor.created.length - before).toBe(1);
  });

  test.each(['lose', 'page'] as const)("if the vendor's answer is lost (%s), the batch is found", async (fate) => {
    const customer = `found-${fate}`;
    const sent = { input_file_id: await input(), key: newKey(), customer };
    const before = vendor.created.length;
    vendor.next.push(fate);
    const { id, batch } = await create(sent);
    expect([id, batch.input_file_id]).toEqual([vendor.created.at(-1), sent.input_file_id]);
    expect(await create(sent)).toMatchObject({ id, replayed: true });
    expect(vendor.created.length - before).toBe(1);
    await metered(customer, id, 2);
  });

  test('if it is not found at once, retries wait and get it as soon as the vendor lists it', async () => {
    const sent = { input_file_id: await input(), key: newKey() };
    const before = vendor.created.length;
    vendor.next.push('lose');
    vendor.lists = false;
    expect(await create(sent).catch(({ status }) => status)).toBe(502);
    expect(await create(sent).catch(({ status, code }) => [status, code])).toEqual([409, 'CALL_IN_FLIGHT']);
    vendor.lists = true;
    expect(await create(sent)).toMatchObject({ id: vendor.created.at(-1), replayed: true });
    expect(vendor.created.length - before).toBe(1);
  });

  test('kill -9 while the vendor begins: the retry finds the batch', async () => {
    const sent = { input_file_id: await input(), key: newKey(), customer: 'killed' };
    const before = vendor.created.length;
    const release = vendor.hold();
    const lost = create(sent).catch(() => 'lost');
    await until(() => vendor.created.length > before);
    await server.kill();
    expect(await lost).toBe('lost');
    release();
    server = await startPrepared(state);
    const { id, replayed } = await create(sent);
    expect([id, replayed]).toEqual([vendor.created.at(-1), true]);
    expect(vendor.created.length - before).toBe(1);
    await metered('killed', id, 2);
  });

  test('a batch that the vendor refused may be sent again', async () => {
    const sent = { input_file_id: await input(), key: newKey() };
    const before = vendor.created.length;
    vendor.next.push('refuse');
    expect(await create(sent).catch(({ status, code }) => [status, code])).toEqual([400, 'batch_limit']);
    expect(await create(sent)).toMatchObject({ replayed: false });
    expect(vendor.created.length - before).toBe(1);
  });

  test("metadata is the caller's own plus one entry", async () => {
    const input_file_id = await input();
    const { batch } = await create({ input_file_id, more: { metadata: { k: 'v' } } });
    expect(batch.metadata).toEqual({ k: 'v', service_request_id: expect.stringMatching(/^once-/) });
    const full = Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`k${index}`, 'v']));
    const error = await create({ input_file_id, more: { metadata: full } }).catch((thrown) => thrown);
    expect([error.status, error.param]).toEqual([400, 'metadata']);
  });
});

describe('without a key', () => {
  test('every request is a batch of its own', async () => {
    const input_file_id = await input();
    const ids = [(await create({ input_file_id })).id, (await create({ input_file_id })).id];
    expect(new Set(ids).size).toBe(2);
  });

  test('a lost answer does not make the SDK begin a second batch, and the first one is metered', async () => {
    const sent = { input_file_id: await input(), customer: 'unknown' };
    const before = vendor.created.length;
    vendor.next.push('lose');
    vendor.lists = false;
    expect(await create({ ...sent, maxRetries: 2 }).catch(({ status }) => status)).toBe(502);
    vendor.lists = true;
    expect(vendor.created.length - before).toBe(1);
    await until(async () => (await tenant.customer('unknown'))?.recentCalls.length === 2);
  });
});

describe('batches at the same time', () => {
  const limited = (premiumCalls: number, more: object = {}) =>
    newTenant({ name: 'P', limitType: 'BLOCK', limits: { premiumCalls }, ...more });
  const outcomes = (all: Promise<unknown>[]) =>
    Promise.all(all.map((one) => one.then(() => 200).catch(({ status }) => status as number)));

  test('hold only what is not recorded yet, and nothing if the vendor refused them', async () => {
    const from = await limited(10);
    const [six, four, five] = [await input(6, from), await input(4, from), await input(5, from)];
    vendor.next.push('refuse');
    expect(await outcomes([create({ input_file_id: six, from })])).toEqual([400]);
    const { id } = await create({ input_file_id: six, from });
    expect(await outcomes([create({ input_file_id: five, from })])).toEqual([403]);
    await metered('default', id, 6, from);
    expect(await outcomes([create({ input_file_id: five, from })])).toEqual([403]);
    expect(await outcomes([create({ input_file_id: four, from })])).toEqual([200]);
    expect(await outcomes([create({ input_file_id: await input(1, from), from })])).toEqual([403]);
  });
});
