/**
 * Promise: a batch is begun once and each of its lines is metered once, even if the object that meters it stops in the
 * middle; and nothing of it remains of an erased customer.
 */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test, vi } from 'vitest';
import { asCallId } from '../../src/domain/ids.ts';
import type { EndBatchCommand, HoldBatchCommand } from '../../src/objects/batch-commands.ts';
import { claimKey } from '../../src/objects/claims.ts';
import type { CustomerBatchesRpc, GatewayBatchRpc } from '../../src/objects/rpc.ts';
import { sha256Hex } from '../../src/platform/hash.ts';
import type { Tenant } from '../support/api.ts';
import {
  accountOf,
  ask,
  BASE_URL,
  completion,
  mockVendor,
  newTenant,
  readStoredCall,
  vendor,
} from '../support/gateway.ts';
import { customerKey } from '../support/ids.ts';
import { bindings, operator } from '../support/worker.ts';

mockVendor();

test('metering that breaks off continues where it stopped, and no line counts twice', async () => {
  const tenant = await newTenant();
  const lines = Array.from({ length: 60 }, (_, index) => {
    const body = completion('gpt-5.2');
    return JSON.stringify({ custom_id: `line-${index}`, response: { status_code: 200, body }, error: null });
  });
  let finished = false;
  let breaksAfter: number | null = 45;
  const reads: string[] = [];
  let requestName = '';
  vendor.answers = (url, { metadata }) => {
    if (url.endsWith('/files/file_in/content'))
      return new Response(`${JSON.stringify({ body: { model: 'gpt-5.2' } })}\n`.repeat(lines.length));
    if (metadata) {
      requestName = (metadata as { service_request_id: string }).service_request_id;
      return Response.json({ id: 'batch_1', status: 'validating', metadata });
    }
    reads.push(url.slice(BASE_URL.length));
    if (url.endsWith('/batches/batch_1'))
      return Response.json({
        id: 'batch_1',
        status: finished ? 'completed' : 'in_progress',
        output_file_id: 'file_out',
      });
    if (breaksAfter === null) return new Response(lines.join('\n'));
    const some = new TextEncoder().encode(`${lines.slice(0, breaksAfter).join('\n')}\n`);
    let sent = false;
    // The lines are taken before the connection breaks.
    return new Response(
      new ReadableStream({
        type: 'bytes',
        pull(controller) {
          if (sent) controller.error(new Error('connection lost'));
          else controller.enqueue(some);
          sent = true;
        },
      }),
    );
  };
  const body = { input_file_id: 'file_in', endpoint: '/v1/chat/completions', feature: 'nightly' };
  expect((await ask(tenant.key, body, bindings, '/v1/batches')).response.status).toBe(200);
  const address = () => bindings.GATEWAY_BATCHES.getByName(`${tenant.organizationId}:${requestName}`);
  const calls = async () => {
    const { consumed, reserved } = await accountOf(tenant);
    // Each line is either held or recorded.
    expect((consumed.premiumCalls ?? 0) + (reserved.premiumCalls ?? 0)).toBe(lines.length);
    return consumed.premiumCalls ?? 0;
  };

  expect(await runDurableObjectAlarm(address())).toBe(true);
  expect([reads, await calls()]).toEqual([['/batches/batch_1'], 0]);

  finished = true;
  await address().pollNow();
  await runDurableObjectAlarm(address());
  expect(await calls()).toBe(40);

  breaksAfter = null;
  await evictDurableObject(address());
  await address().pollNow();
  await runDurableObjectAlarm(address());
  expect(await calls()).toBe(lines.length);
  const call = await readStoredCall(tenant, 'batch:batch_1:line-0');
  expect(call).toMatchObject({
    status: 'COMPLETED',
    feature: 'nightly',
    pricingMode: 'batch',
    outcome: { providerUsed: 'openai' },
  });

  // Finished is finished: nobody asks the vendor again.
  const asked = reads.length;
  await address().pollNow();
  await runDurableObjectAlarm(address());
  expect([reads.length, await calls()]).toEqual([asked, lines.length]);
});

test('each line has the price of the name that it asked for, and names what its cost does not include', async () => {
  const tenant = await newTenant();
  const params = { org: tenant.organizationId, modelKey: 'openai/house-blend' };
  const components = ['input', 'output'].map((component) => ({ component, per: 1_000_000, usd: '4' }));
  expect((await operator.send('setPrice', { params, body: { components } })).status).toBe(200);
  const asked = [
    { model: 'gpt-5.2' },
    { model: 'house-blend' },
    { model: 'house-blend', moderation: { model: 'omni-moderation-latest' } },
  ];
  const body = completion('gpt-5.2');
  const output = asked.map((_, index) =>
    JSON.stringify({ custom_id: `line-${index}`, response: { status_code: 200, body }, error: null }),
  );
  let requestName = '';
  vendor.answers = (url, { metadata }) => {
    if (url.endsWith('/files/file_in/content'))
      return new Response(
        asked
          .map((line, index) => JSON.stringify({ custom_id: `line-${index}`, url: '/v1/chat/completions', body: line }))
          .join('\n'),
      );
    if (metadata) {
      requestName = (metadata as { service_request_id: string }).service_request_id;
      return Response.json({ id: 'batch_3', status: 'validating', metadata });
    }
    return url.endsWith('/batches/batch_3')
      ? Response.json({ id: 'batch_3', status: 'completed', output_file_id: 'file_out' })
      : new Response(output.reverse().join('\n'));
  };
  const batch = { input_file_id: 'file_in', endpoint: '/v1/chat/completions' };
  expect((await ask(tenant.key, batch, bindings, '/v1/batches')).response.status).toBe(200);
  await runDurableObjectAlarm(batchStub(tenant, requestName));
  const read = async (line: number) =>
    (await tenant.api.send('readCall', { params: { callId: `batch:batch_3:line-${line}` } })).data as {
      modelUsed: string;
      costBreakdown: { assumptions?: string[] };
    };
  const [known, blend, moderated] = [await read(0), await read(1), await read(2)];
  expect([known.modelUsed, blend.modelUsed, moderated.modelUsed]).toEqual(['gpt-5.2', 'house-blend', 'house-blend']);
  expect(moderated.costBreakdown.assumptions).toContainEqual(expect.stringMatching(/^otherModel: .*not included/));
  expect(blend.costBreakdown.assumptions ?? []).not.toContainEqual(expect.stringMatching(/^otherModel/));
});

test('a batch that the vendor did not create: after a minute its key is free and its holds are released', async () => {
  const tenant = await newTenant();
  const line = `${JSON.stringify({ body: { model: 'gpt-5.2' } })}\n`;
  let reachable = false;
  const names: string[] = [];
  vendor.answers = (url, { metadata }) => {
    if (url.endsWith('/content')) return new Response(line.repeat(600));
    if (url.includes('/batches?')) return Response.json({ object: 'list', data: [], has_more: false });
    names.push((metadata as { service_request_id: string }).service_request_id);
    if (!reachable) throw new TypeError('connection lost');
    return Response.json({ id: `batch_of_${names.length}`, status: 'validating', metadata });
  };
  const create = async (key?: string) => {
    const headers: Record<string, string> = key === undefined ? {} : { 'Idempotency-Key': key };
    const body = { input_file_id: 'file_in', endpoint: '/v1/chat/completions' };
    const { response } = await ask(tenant.key, body, bindings, '/v1/batches', headers);
    return [response.status, ((await response.json()) as { error?: { code: string } }).error?.code];
  };
  expect(await create('once')).toEqual([502, 'VENDOR_UNREACHABLE']);
  const address = () => bindings.GATEWAY_BATCHES.getByName(`${tenant.organizationId}:${names[0]}`);
  reachable = true;
  expect(await runDurableObjectAlarm(address())).toBe(true);
  // 600 of 1,000 are held: nobody knows yet.
  expect(await create()).toEqual([403, 'ENTITLEMENT_DENIED']);
  expect(await create('once')).toEqual([409, 'CALL_IN_FLIGHT']);
  expect(names).toHaveLength(1);

  const later = Date.now() + 61_000;
  vi.spyOn(Date, 'now').mockImplementation(() => later);
  expect(await runDurableObjectAlarm(address())).toBe(true);
  expect(await runInDurableObject(address(), (_, { storage }) => storage.list().then(({ size }) => size))).toBe(0);
  expect(await create('once')).toEqual([200, undefined]);
  expect(names).toEqual([names[0], names[0]]);
  expect(await create()).toEqual([403, 'ENTITLEMENT_DENIED']);
});

type BatchRequest = DurableObjectStub<GatewayBatchRpc>;
type Holder = DurableObjectStub<CustomerBatchesRpc>;

/** How many entries an object holds, with its alarm. */
const countEntries = (stub: BatchRequest | Holder) =>
  runInDurableObject(
    stub,
    async (_, { storage }) => (await storage.list()).size + ((await storage.getAlarm()) === null ? 0 : 1),
  );
const batchStub = ({ organizationId }: Tenant, name: string) =>
  bindings.GATEWAY_BATCHES.getByName(`${organizationId}:${name}`);
const batchesOf = ({ organizationId }: Tenant, customerId: string) =>
  bindings.CUSTOMER_BATCHES.getByName(`${organizationId}:${customerId}`);

describe('an erasure of a customer with batches', () => {
  const input = () => new Response(JSON.stringify({ body: { model: 'gpt-5.2' } }));
  const output = JSON.stringify({
    custom_id: 'line',
    response: { status_code: 200, body: completion('gpt-5.2') },
    error: null,
  });
  const erase = async ({ organizationId: org }: Tenant, customerId: string) =>
    (await operator.send('eraseCustomer', { params: { org, customerId } })).data.erased;
  const begin = (tenant: Tenant & { key: string }, customerId: string, headers: Record<string, string> = {}) => {
    const customer = { customerId, customerEmail: `${customerId}@example.com` };
    return ask(
      tenant.key,
      { input_file_id: 'file_in', endpoint: '/v1/chat/completions', customer },
      bindings,
      '/v1/batches',
      headers,
    );
  };
  const readUsage = (tenant: Tenant, customerId: string) => tenant.api.send('readUsage', { params: { customerId } });

  test('removes finished and running batches, and later lines of a running one do not create the customer again', async () => {
    const tenant = await newTenant();
    const names: string[] = [];
    vendor.answers = (url, { metadata }) => {
      if (url.endsWith('/files/file_in/content')) return input();
      if (url.endsWith('/files/file_out/content')) return new Response(output);
      if (metadata) names.push((metadata as { service_request_id: string }).service_request_id);
      const id = metadata ? `batch_${names.length}` : url.split('/').at(-1);
      return Response.json({
        id,
        metadata,
        status: id === 'batch_1' ? 'completed' : 'in_progress',
        output_file_id: 'file_out',
      });
    };
    for (const customerId of ['gone', 'gone', 'stays'])
      expect((await begin(tenant, customerId)).response.status).toBe(200);
    const [finished, running, other] = names.map((name) => batchStub(tenant, name)) as [
      BatchRequest,
      BatchRequest,
      BatchRequest,
    ];
    await runDurableObjectAlarm(finished);
    expect(await accountOf(tenant, 'gone')).toMatchObject({
      consumed: { premiumCalls: 1 },
      reserved: { premiumCalls: 1 },
    });

    expect(await erase(tenant, 'gone')).toMatchObject({ object: true, batches: 2 });
    for (const stub of [finished, running, batchesOf(tenant, 'gone')]) expect(await countEntries(stub)).toBe(0);
    for (const stub of [other, batchesOf(tenant, 'stays')]) expect(await countEntries(stub)).toBeGreaterThan(0);
    expect((await readUsage(tenant, 'gone')).refusal.code).toBe('SUBSCRIPTION_NOT_FOUND');
    expect(await runDurableObjectAlarm(running)).toBe(false);
    expect((await readUsage(tenant, 'stays')).data.customerId).toBe('stays');
  });

  test('while lines are metered: no further line is recorded, and nothing is written again', async () => {
    const tenant = await newTenant();
    const lines = Promise.withResolvers<void>();
    const read = Promise.withResolvers<void>();
    let name = '';
    vendor.answers = async (url, { metadata }) => {
      if (url.endsWith('/files/file_in/content')) return input();
      if (metadata) name = (metadata as { service_request_id: string }).service_request_id;
      if (!url.endsWith('/files/file_out/content'))
        return Response.json({ id: 'batch_1', metadata, status: 'completed', output_file_id: 'file_out' });
      read.resolve();
      await lines.promise;
      return new Response(output);
    };
    expect((await begin(tenant, 'metered')).response.status).toBe(200);
    const metering = runDurableObjectAlarm(batchStub(tenant, name));
    await read.promise;
    expect(await erase(tenant, 'metered')).toMatchObject({ batches: 1 });
    lines.resolve();
    await metering;
    expect((await readUsage(tenant, 'metered')).refusal.code).toBe('SUBSCRIPTION_NOT_FOUND');
    for (const stub of [batchStub(tenant, name), batchesOf(tenant, 'metered')])
      expect(await countEntries(stub)).toBe(0);
    // The line's id is not claimed either: the next request may have it.
    const key = asCallId('batch:batch_1:line');
    const toClaim = { ...customerKey(tenant.organizationId, 'another'), key };
    const claim = await claimKey(bindings, toClaim, 'token');
    expect(claim).toMatchObject({ customerId: 'another', fresh: true });
  });

  test('while the vendor is asked: the caller gets the batch, and its customer is not stored', async () => {
    const tenant = await newTenant();
    const answered = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<string>();
    vendor.answers = async (url, { metadata }) => {
      if (url.endsWith('/files/file_in/content')) return input();
      asked.resolve((metadata as { service_request_id: string }).service_request_id);
      await answered.promise;
      return Response.json({ id: 'batch_1', metadata, status: 'validating' });
    };
    const begun = begin(tenant, 'hasty');
    const name = await asked.promise;
    expect(await erase(tenant, 'hasty')).toMatchObject({ batches: 1 });
    answered.resolve();
    expect((await begun).response.status).toBe(200);
    for (const stub of [batchStub(tenant, name), batchesOf(tenant, 'hasty')]) expect(await countEntries(stub)).toBe(0);
  });

  test('before the vendor is asked: the vendor is not asked, and the request may be sent again', async () => {
    const tenant = await newTenant();
    const names: string[] = [];
    vendor.answers = (url, { metadata }) => {
      if (url.endsWith('/files/file_in/content')) return input();
      names.push((metadata as { service_request_id: string }).service_request_id);
      return Response.json({ id: 'batch_1', metadata, status: 'validating' });
    };
    const name = `key-${await sha256Hex('nightly')}`;
    const erasing = {
      getByName(of: string) {
        const stub = bindings.CUSTOMERS.getByName(of);
        return {
          holdBatch: async (command: HoldBatchCommand) => {
            const admission = await stub.holdBatch(command);
            await erase(tenant, 'early');
            return admission;
          },
          endBatch: (command: EndBatchCommand) => stub.endBatch(command),
        };
      },
    };
    const setCustomers = (CUSTOMERS: unknown) =>
      runInDurableObject(
        batchStub(tenant, name),
        (batch) => void Object.assign(batch, { env: { ...bindings, CUSTOMERS } }),
      );
    await setCustomers(erasing);
    const headers = { 'Idempotency-Key': 'nightly' };
    const { response } = await begin(tenant, 'early', headers);
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
      409,
      'CONFLICT',
    ]);
    expect(names).toEqual([]);
    for (const stub of [batchStub(tenant, name), batchesOf(tenant, 'early')]) expect(await countEntries(stub)).toBe(0);

    await setCustomers(bindings.CUSTOMERS);
    expect((await begin(tenant, 'early', headers)).response.status).toBe(200);
    expect(names).toEqual([name]);
  });

  test('reaches all batches, however many there are', async () => {
    const tenant = await newTenant();
    await tenant.api.send('provisionCustomer', { body: { customerId: 'busy' } });
    const names = Array.from({ length: 130 }, (_, index) => `once-${index}`);
    await runInDurableObject(batchesOf(tenant, 'busy'), async (_, { storage }) => {
      for (const name of names) await storage.put(`request:${name}`, true);
    });
    await Promise.all(
      names.map((name) =>
        runInDurableObject(batchStub(tenant, name), (_, { storage }) => storage.put('asked', 'something')),
      ),
    );
    expect(await erase(tenant, 'busy')).toMatchObject({ batches: 130 });
    for (const name of names) expect(await countEntries(batchStub(tenant, name))).toBe(0);
    expect(await countEntries(batchesOf(tenant, 'busy'))).toBe(0);
  });

  test('reaches batches that were listed when holds stood beside them, which an alarm removes', async () => {
    const tenant = await newTenant();
    await tenant.api.send('provisionCustomer', { body: { customerId: 'early' } });
    const stub = batchesOf(tenant, 'early');
    await runInDurableObject(stub, async (_, { storage }) => {
      await storage.put({ holds: { 'once-1': { lines: { premium: 3 }, expiresAtMs: 1 } }, 'request:once-1': true });
      await storage.setAlarm(Date.now() + 60_000);
    });
    await runDurableObjectAlarm(stub);
    expect(await countEntries(stub)).toBe(1);
    await runInDurableObject(batchStub(tenant, 'once-1'), (_, { storage }) => storage.put('asked', 'something'));
    expect(await erase(tenant, 'early')).toMatchObject({ batches: 1 });
    for (const left of [batchStub(tenant, 'once-1'), stub]) expect(await countEntries(left)).toBe(0);
  });

  test('finds nothing 30 days after a batch has ended', async () => {
    const tenant = await newTenant();
    let name = '';
    vendor.answers = (url, { metadata }) => {
      if (url.endsWith('/files/file_in/content')) return input();
      if (metadata) name = (metadata as { service_request_id: string }).service_request_id;
      return url.endsWith('/files/file_out/content')
        ? new Response(output)
        : Response.json({ id: 'batch_1', metadata, status: 'completed', output_file_id: 'file_out' });
    };
    expect((await begin(tenant, 'old')).response.status).toBe(200);
    await runDurableObjectAlarm(batchStub(tenant, name));
    expect(await countEntries(batchesOf(tenant, 'old'))).toBe(1);
    const later = Date.now() + 30 * 24 * 3_600_000 + 1;
    vi.spyOn(Date, 'now').mockImplementation(() => later);
    await runDurableObjectAlarm(batchStub(tenant, name));
    for (const stub of [batchStub(tenant, name), batchesOf(tenant, 'old')]) expect(await countEntries(stub)).toBe(0);
  });
});

test('while D1 is away a batch is refused with 503, the vendor is not asked, and the same request works later', async () => {
  const tenant = await newTenant();
  let asked = 0;
  vendor.answers = (url, { metadata }) => {
    asked += 1;
    if (url.endsWith('/content')) return new Response(JSON.stringify({ body: { model: 'gpt-5.2' } }));
    return Response.json({ id: 'batch_1', status: 'validating', metadata });
  };
  const object = batchStub(tenant, `key-${await sha256Hex('nightly')}`);
  const setDatabase = (DB: unknown) =>
    runInDurableObject(object, (batch) => void Object.assign(batch, { env: { ...bindings, DB } }));
  const create = () =>
    ask(tenant.key, { input_file_id: 'file_in', endpoint: '/v1/chat/completions' }, bindings, '/v1/batches', {
      'Idempotency-Key': 'nightly',
    });

  await setDatabase({
    prepare() {
      throw new Error('D1 is away');
    },
  });
  const { response } = await create();
  expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
    503,
    'SERVICE_UNAVAILABLE',
  ]);
  expect([response.headers.get('Retry-After'), asked]).toEqual(['1', 0]);

  await setDatabase(bindings.DB);
  expect((await create()).response.status).toBe(200);
  expect(asked).toBe(2);
});
