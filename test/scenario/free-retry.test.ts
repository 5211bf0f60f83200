/**
 * Promise: a retry is free. Same key and same payload replay the stored answer; nothing is counted or charged twice.
 */

import { evictDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { customerStub, operator } from '../support/worker.ts';

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator, {
    name: 'Pro',
    limitType: 'BLOCK',
    limits: { premiumCalls: 100, standardCalls: 100 },
  });
});

const begin = (key: string, body: object = {}) =>
  tenant.api.send('beginCall', {
    body: { customerId: 'r', requested: { premium: true }, ...body },
    headers: { 'Idempotency-Key': key },
  });

describe('begin', () => {
  test('a retry gets the same result and data, with the replay header and its own correlation id', async () => {
    const first = await begin('b1');
    await evictDurableObject(customerStub(tenant.organizationId, 'r'));
    const again = await begin('b1');
    expect(again.body).toEqual({ ...first.body, correlationId: again.body.correlationId });
    expect(again.body.correlationId).not.toBe(first.body.correlationId);
    expect(first.headers.get('Idempotency-Replayed')).toBeNull();
    expect(again.headers.get('Idempotency-Replayed')).toBe('true');
  });

  test('200 concurrent begins with one key are one call', async () => {
    const before =
      (await tenant.api.send('readUsage', { params: { customerId: 'r' } })).data.meters.premiumCalls?.used ?? 0;
    const replies = await Promise.all(Array.from({ length: 200 }, () => begin('b2')));
    expect(new Set(replies.map(({ body }) => JSON.stringify(body.data))).size).toBe(1);
    expect(replies.filter(({ headers }) => !headers.has('Idempotency-Replayed'))).toHaveLength(1);
    const after = (await tenant.api.send('readUsage', { params: { customerId: 'r' } })).data.meters.premiumCalls?.used;
    expect(after).toBe(before + 1);
  });

  test('the order of members, a spelled-out default and another spelling of the customer are the same payload', async () => {
    await begin('b3', { feature: 'f', tags: ['t'] });
    const headers = { 'Idempotency-Key': 'b3' };
    const body = {
      tags: ['t'],
      feature: 'f',
      requested: { premium: true },
      customer: { id: 'r' },
      pricingMode: 'standard',
      batch: false,
    };
    expect((await tenant.api.send('beginCall', { body, headers })).headers.get('Idempotency-Replayed')).toBe('true');
  });

  test('another payload, or another customer, under the same key is 409', async () => {
    await begin('b4');
    expect((await begin('b4', { feature: 'other' })).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    expect((await begin('b4', { customerId: 'someone-else' })).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    expect((await tenant.api.send('readUsage', { params: { customerId: 'someone-else' } })).refusal.code).toBe(
      'SUBSCRIPTION_NOT_FOUND',
    );
  });

  test('the header takes precedence over idempotencyKey, and that over idempotency', async () => {
    const body = { customerId: 'r', idempotencyKey: 'from-body', idempotency: 'from-legacy' };
    const beginId = async (sent: object, headers: Record<string, string> = {}) =>
      (await tenant.api.send('beginCall', { body: sent, headers })).data.idempotency;
    expect(await beginId(body, { 'Idempotency-Key': 'from-header' })).toEqual({
      key: 'from-header',
      source: 'explicit',
    });
    expect(await beginId(body)).toEqual({ key: 'from-body', source: 'explicit' });
    expect(await beginId({ ...body, idempotencyKey: undefined })).toEqual({ key: 'from-legacy', source: 'explicit' });
  });

  test('without a key, the same request replays while its call is in progress, and begins a new call after its end', async () => {
    const body = { customerId: 'keyless', feature: 'chat' };
    const first = (await tenant.api.send('beginCall', { body })).data;
    expect(first.idempotency).toEqual({ key: first.callId, source: 'derived' });
    expect((await tenant.api.send('beginCall', { body })).data.callId).toBe(first.callId);
    const other = (await tenant.api.send('beginCall', { body: { ...body, tags: ['other'] } })).data;
    expect(other.callId).not.toBe(first.callId);
    expect((await tenant.api.send('beginCall', { body })).data.callId).toBe(first.callId);
    expect((await tenant.api.send('beginCall', { body: { ...body, tags: ['other'] } })).data.callId).toBe(other.callId);
    await tenant.api.send('endCall', { body: { callId: first.callId } });
    expect((await tenant.api.send('beginCall', { body })).data.callId).not.toBe(first.callId);
  });

  test('an explicit key may not look like a derived one', async () => {
    expect((await begin('dk-mine')).refusal).toMatchObject({
      code: 'BAD_REQUEST',
      details: [{ path: 'Idempotency-Key' }],
    });
  });
});

describe('end', () => {
  test('200 concurrent retries of one end with one key record it once', async () => {
    await begin('e1', { customerId: 'ender' });
    const body = { callId: 'e1', modelUsed: 'gpt-4o', inputTokens: 10, responseTokens: 7 };
    const replies = await Promise.all(
      Array.from({ length: 200 }, () =>
        tenant.api.send('endCall', { body, headers: { 'Idempotency-Key': 'end-key' } }),
      ),
    );
    expect(new Set(replies.map(({ body: answer }) => JSON.stringify([answer.result, answer.data]))).size).toBe(1);
    const usage = (await tenant.api.send('readUsage', { params: { customerId: 'ender' } })).data;
    expect(usage.meters.premiumCalls?.used).toBe(1);
    expect(usage.meters.premiumTokens?.used).toBe(7);
  });

  test('the same payload replays without a key, another payload is CALL_ALREADY_FINALIZED with the status', async () => {
    await begin('e2');
    const body = { callId: 'e2', modelUsed: 'gpt-4o', responseTokens: 7 };
    const first = await tenant.api.send('endCall', { body });
    const again = await tenant.api.send('endCall', { body });
    expect(again.body.data).toEqual(first.body.data);
    expect(again.headers.get('Idempotency-Replayed')).toBe('true');
    const other = await tenant.api.send('endCall', { body: { ...body, responseTokens: 8 } });
    expect(other.refusal).toMatchObject({ code: 'CALL_ALREADY_FINALIZED', status: 'COMPLETED' });
  });

  test('the second end of two concurrent calls without a key is told why they are one call', async () => {
    const body = { customerId: 'hinted', feature: 'chat' };
    const [first, second] = await Promise.all([1, 2].map(() => tenant.api.send('beginCall', { body })));
    expect(second?.data.callId).toBe(first?.data.callId);
    const end = (responseTokens: number) =>
      tenant.api.send('endCall', { body: { callId: first?.data.callId, modelUsed: 'gpt-4o', responseTokens } });
    expect((await end(7)).status).toBe(200);
    const { status, refusal } = await end(8);
    expect([status, refusal]).toMatchObject([409, { code: 'CALL_ALREADY_FINALIZED', status: 'COMPLETED' }]);
    expect(refusal.hint).toMatch(/without an idempotency key.*send an Idempotency-Key/);
    // With a key of its own, a call is nobody else's.
    await begin('hinted-1', { customerId: 'hinted' });
    await tenant.api.send('endCall', { body: { callId: 'hinted-1', responseTokens: 7 } });
    const keyed = await tenant.api.send('endCall', { body: { callId: 'hinted-1', responseTokens: 8 } });
    expect([keyed.refusal.code, keyed.refusal.hint]).toEqual(['CALL_ALREADY_FINALIZED', undefined]);
  });

  test('the mode of begin spelled out is the same payload', async () => {
    await begin('e8', { batch: true });
    const body = { callId: 'e8', modelUsed: 'gpt-4o', inputTokens: 3 };
    const first = await tenant.api.send('endCall', { body });
    const again = await tenant.api.send('endCall', { body: { ...body, pricingMode: 'batch' } });
    expect(again.body.data).toEqual(first.body.data);
    const other = await tenant.api.send('endCall', { body: { ...body, pricingMode: 'standard' } });
    expect(other.refusal.code).toBe('CALL_ALREADY_FINALIZED');
  });

  test('an end key with another payload is 409, and the other call stays open', async () => {
    await Promise.all([begin('e3'), begin('e4')]);
    const headers = { 'Idempotency-Key': 'one-end' };
    await tenant.api.send('endCall', { body: { callId: 'e3' }, headers });
    expect((await tenant.api.send('endCall', { body: { callId: 'e4' }, headers })).refusal.code).toBe(
      'IDEMPOTENCY_KEY_CONFLICT',
    );
    expect((await tenant.api.send('readCall', { params: { callId: 'e4' } })).data.status).toBe('IN_PROGRESS');
  });

  test('begin and end may use the same key', async () => {
    await begin('e5');
    const ended = await tenant.api.send('endCall', { body: { callId: 'e5' }, headers: { 'Idempotency-Key': 'e5' } });
    expect(ended.data.status).toBe('COMPLETED');
  });

  test('a call that was not allowed cannot be ended', async () => {
    await operator.send('cancelCustomer', { params: { org: tenant.organizationId, customerId: 'r' } });
    const canceled = (await begin('e6')).data;
    expect(canceled).toMatchObject({
      canceled: true,
      allowed: { standard: false, premium: false, reasoningLevel: 'NONE' },
    });
    expect((await tenant.api.send('endCall', { body: { callId: 'e6' } })).refusal).toMatchObject({
      code: 'CALL_ALREADY_FINALIZED',
      status: 'NOT_ALLOWED',
    });
    await operator.send('reactivateCustomer', { params: { org: tenant.organizationId, customerId: 'r' } });
    expect((await begin('e7')).data.allowed.premium).toBe(true);
  });
});

describe('customers and operators', () => {
  test('provisioning again gives the same subscription, and newCustomer only once', async () => {
    const body = { customerId: 'p1', customerName: 'Ada' };
    const first = (await tenant.api.send('provisionCustomer', { body })).data;
    const again = (await tenant.api.send('provisionCustomer', { body })).data;
    expect([first.newCustomer, again.newCustomer]).toEqual([true, false]);
    expect(again.subscription).toEqual(first.subscription);
    expect(again.subscription.customerFriendlyName).toBe('Ada');
  });

  test('a provisioning key replays the first answer and refuses another payload', async () => {
    const headers = { 'Idempotency-Key': 'prov' };
    const first = await tenant.api.send('provisionCustomer', { body: { customerId: 'p2' }, headers });
    const again = await tenant.api.send('provisionCustomer', { body: { customerId: 'p2' }, headers });
    expect(again.body.data).toEqual(first.body.data);
    for (const body of [{ customerId: 'p2', customerEmail: 'a@b.c' }, { customerId: 'p3' }]) {
      const other = await tenant.api.send('provisionCustomer', { body, headers });
      expect(other.refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    }
    expect((await tenant.api.send('readUsage', { params: { customerId: 'p3' } })).refusal.code).toBe(
      'SUBSCRIPTION_NOT_FOUND',
    );
  });

  test('a retried key creation returns the same key, and the key is stored nowhere in clear text', async () => {
    const params = { org: tenant.organizationId };
    const sent = { params, body: { name: 'retry' }, headers: { 'Idempotency-Key': 'new-key' } };
    const [first, again] = await Promise.all([operator.send('createKey', sent), operator.send('createKey', sent)]);
    expect(again.data).toEqual(first.data);
    const keys = (await operator.send('listKeys', { params })).data.items.filter(({ name }) => name === 'retry');
    expect(keys).toHaveLength(1);
    expect((await operator.send('createKey', { ...sent, body: { name: 'other' } })).refusal.code).toBe(
      'IDEMPOTENCY_KEY_CONFLICT',
    );
  });
});

describe('a key under which nothing was recorded', () => {
  test('stays free: after a 429, and after a 404', async () => {
    const limited = await createTenant(operator, {
      name: 'L',
      limitType: 'NONE',
      rollingCalls: { limit: 1, windowSeconds: 3_600 },
    });
    const send = (api: Tenant, customerId: string, key: string) =>
      api.api.send('beginCall', { body: { customerId }, headers: { 'Idempotency-Key': key } });
    expect((await send(limited, 'a', 'first')).data.rateLimits?.rollingCalls).toMatchObject({ used: 1, remaining: 0 });
    const refused = await send(limited, 'a', 'K');
    expect(refused.refusal.code).toBe('RATE_LIMITED');
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(3_500);
    expect((await send(limited, 'b', 'K')).data).toMatchObject({ callId: 'K', newCustomer: true });
    expect((await send(limited, 'a', 'K')).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');

    await operator.send('updateOrganization', {
      params: { org: limited.organizationId },
      body: { defaultPlanId: null },
    });
    expect((await send(limited, 'c', 'N')).refusal.code).toBe('SUBSCRIPTION_NOT_FOUND');
    await operator.send('updateOrganization', {
      params: { org: limited.organizationId },
      body: { defaultPlanId: 'test' },
    });
    expect((await send(limited, 'd', 'N')).data.callId).toBe('N');
  });

  test('belongs to one customer after 60 customers raced for it', async () => {
    const replies = await Promise.all(
      Array.from({ length: 60 }, (_, n) => begin('raced', { customerId: `racer-${n}` })),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ status }) => status === 409)).toHaveLength(59);
  });
});
