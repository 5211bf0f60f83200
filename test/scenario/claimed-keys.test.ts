/**
 * Promise: an idempotency key belongs to the customer whose call was acknowledged under it, in whatever order the
 * messages of requests that use the key at the same time arrive; and a key under which nothing was recorded is free.
 */

import { runDurableObjectAlarm } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { asCallId, asCustomerId } from '../../src/domain/ids.ts';
import { askDirectory, forgetOwner } from '../../src/objects/addresses.ts';
import { claimKey } from '../../src/objects/claims.ts';
import { type Api, createTenant, type Tenant } from '../support/api.ts';
import * as gateway from '../support/gateway.ts';
import { bindings, operator } from '../support/worker.ts';
import { faultyApi } from './faulty-bindings.ts';

gateway.mockVendor();

const LIMITED = {
  name: 'Limited',
  limitType: 'BLOCK',
  limits: { premiumCalls: 10 },
  rollingCalls: { limit: 1, windowSeconds: 3_600 },
};

let tenant: Tenant;
let key: string;
beforeAll(async () => {
  tenant = await createTenant(operator, LIMITED);
  const params = { org: tenant.organizationId };
  const { rollingCalls: _none, ...free } = LIMITED;
  expect((await operator.send('putPlan', { params: { ...params, planId: 'free' }, body: free })).status).toBe(200);
  key = (await operator.send('createKey', { params, body: { name: 'stepwise' } })).data.key;
});

/** A request whose operation on a binding waits until it is released. */
function held(operation: string) {
  const reached = Promise.withResolvers<void>();
  const letGo = Promise.withResolvers<void>();
  let first = true;
  const api = faultyApi((_, name) => {
    if (name !== operation || !first) return null;
    first = false;
    reached.resolve();
    return letGo.promise;
  }, key);
  return { api, reached: reached.promise, go: () => letGo.resolve() };
}

const begin = (api: Api, customerId: string, callId: string, feature = 'chat') =>
  api.send('beginCall', {
    body: { customerId, feature, requested: { premium: true } },
    headers: { 'Idempotency-Key': callId },
  });

/** By who asks the directory, and does not remember. */
const end = (callId: string) => {
  forgetOwner(tenant.organizationId, asCallId(callId));
  return tenant.api.send('endCall', { body: { callId, modelUsed: 'gpt-5.2', responseTokens: 3 } });
};

const used = async (customerId: string) =>
  (await tenant.api.send('readUsage', { params: { customerId } })).data.meters.premiumCalls?.used;

/** Neither is the key another customer's, nor is the call lost. */
async function expectKept(callId: string) {
  expect((await begin(tenant.api, 'stranger', callId)).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
  expect((await end(callId)).data.status).toBe('COMPLETED');
}

test('a request that claimed a key and is refused because the key has another payload does not free it', async () => {
  const a = held('begin');
  const refused = begin(a.api, 'conflict', 'K1', 'other');
  await a.reached;
  expect((await begin(tenant.api, 'conflict', 'K1')).status).toBe(200);
  a.go();
  expect((await refused).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
  await expectKept('K1');
});

test('nor does it while the call that began under the key has not confirmed it yet', async () => {
  const a = held('begin');
  const refused = begin(a.api, 'hasty', 'K0', 'other');
  await a.reached;
  const b = held('confirm');
  const begun = begin(b.api, 'hasty', 'K0');
  await b.reached;
  a.go();
  expect((await refused).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
  expect((await begin(tenant.api, 'stranger', 'K0')).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
  b.go();
  expect((await begun).status).toBe(200);
  await expectKept('K0');
});

describe('a request that claimed the key and meets a 429 frees it', () => {
  /** A claimed the key and is refused, and has not released it yet; B begins, up to the operation. */
  async function refusedBeside(customerId: string, callId: string, operation: string) {
    expect((await begin(tenant.api, customerId, `${callId}-first`)).status).toBe(200);
    const a = held('release');
    const refused = begin(a.api, customerId, callId);
    await a.reached;
    await tenant.api.send('changePlan', { params: { customerId }, body: { planId: 'free' } });
    const b = held(operation);
    const begun = begin(b.api, customerId, callId);
    const release = async () => {
      a.go();
      expect((await refused).refusal.code).toBe('RATE_LIMITED');
    };
    return { b, begun, release };
  }

  test('but not after another request has begun a call under it', async () => {
    const { begun, release } = await refusedBeside('after', 'K2', 'none');
    expect((await begun).status).toBe(200);
    await release();
    await expectKept('K2');
  });

  test('if it is freed before another request that began under it confirms it, that one claims it again', async () => {
    const { b, begun, release } = await refusedBeside('before', 'K3', 'confirm');
    await b.reached;
    await release();
    b.go();
    expect((await begun).status).toBe(200);
    await expectKept('K3');
  });

  test('and if another customer claims it first, the begin is withdrawn and refused', async () => {
    const { b, begun, release } = await refusedBeside('overtaken', 'K4', 'confirm');
    await b.reached;
    await release();
    expect((await begin(tenant.api, 'heir', 'K4')).status).toBe(200);
    b.go();
    expect((await begun).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    // The first call of the customer, and not the one that was taken back.
    expect([await used('overtaken'), await used('heir')]).toEqual([1, 1]);
    expect((await end('K4')).data.status).toBe('COMPLETED');
    expect((await begin(tenant.api, 'overtaken', 'K4')).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
  });

  test('but not after a retry was answered that the call has begun', async () => {
    const { b, begun, release } = await refusedBeside('retried', 'K5', 'confirm');
    await b.reached;
    const retry = await begin(tenant.api, 'retried', 'K5');
    expect([retry.status, retry.headers.get('Idempotency-Replayed')]).toEqual([200, 'true']);
    await release();
    expect((await begin(tenant.api, 'stranger', 'K5')).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    b.go();
    expect((await begun).status).toBe(200);
    await expectKept('K5');
  });

  test('also if the answer to its claim was lost, and it claimed twice', async () => {
    expect((await begin(tenant.api, 'twice', 'K6-first')).status).toBe(200);
    let lost = 0;
    const api = faultyApi((_, name) => (name === 'claim' && lost++ === 0 ? 'commits and throws' : null), key);
    expect((await begin(api, 'twice', 'K6')).refusal.code).toBe('RATE_LIMITED');
    expect(lost).toBe(2);
    expect((await begin(tenant.api, 'stranger-to-K6', 'K6')).status).toBe(200);
  });
});

test('the key of a customer that was provisioned is not freed by a request with another payload', async () => {
  const provision = (api: Api, customerId: string, customerName: string) =>
    api.send('provisionCustomer', { body: { customerId, customerName }, headers: { 'Idempotency-Key': 'P' } });
  const a = held('provision');
  const refused = provision(a.api, 'provisioned', 'Ada');
  await a.reached;
  expect((await provision(tenant.api, 'provisioned', 'Bob')).status).toBe(200);
  a.go();
  expect((await refused).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
  expect((await provision(tenant.api, 'another', 'Bob')).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
  expect((await provision(tenant.api, 'provisioned', 'Bob')).headers.get('Idempotency-Replayed')).toBe('true');
});

test("a line of a batch that was recorded under another request's claim keeps its id", async () => {
  const own = await gateway.newTenant();
  const { organizationId } = own;
  let name = '';
  gateway.vendor.answers = (url, { metadata }) => {
    if (url.endsWith('/files/file_in/content')) return new Response(JSON.stringify({ body: { model: 'gpt-5.2' } }));
    if (metadata) name = (metadata as { service_request_id: string }).service_request_id;
    const line = { custom_id: 'line', response: { status_code: 200, body: gateway.completion('gpt-5.2') } };
    if (url.endsWith('/files/file_out/content')) return new Response(JSON.stringify(line));
    return Response.json({ id: 'batch_1', metadata, status: 'completed', output_file_id: 'file_out' });
  };
  const toClaim = { organizationId, key: asCallId('batch:batch_1:line'), customerId: asCustomerId('default') };
  expect((await claimKey(bindings, toClaim, 'somebody')).fresh).toBe(true);
  const body = { input_file_id: 'file_in', endpoint: '/v1/chat/completions' };
  expect((await gateway.ask(own.key, body, bindings, '/v1/batches')).response.status).toBe(200);
  await runDurableObjectAlarm(bindings.GATEWAY_BATCHES.getByName(`${organizationId}:${name}`));
  await askDirectory(bindings, organizationId, toClaim.key, (shard) => shard.release(toClaim.key, 'somebody'));
  expect(await claimKey(bindings, { ...toClaim, customerId: asCustomerId('another') }, 'another')).toMatchObject({
    customerId: 'default',
    final: true,
  });
});
