/**
 * Promise: a revoked key stops working when the revocation is acknowledged, and so does every replaced configuration.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { LOOKUP_PATH } from '../../src/contract/model-lookup.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { operator, worker } from '../support/worker.ts';

let tenant: Tenant;
let params: { org: string };
beforeAll(async () => {
  tenant = await createTenant(operator);
  params = { org: tenant.organizationId };
});

const usable = (key: string) => tenant.api.with(key).send('provisionCustomer', { body: { customerId: 'c' } });

describe('in force at once', () => {
  test('a new key works at once, and a revoked one stops at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { key, keyId } = (await operator.send('createKey', { params, body: { name: 'short-lived' } })).data;
      expect((await usable(key)).status).toBe(200);
      const keepUsing = Promise.all(Array.from({ length: 10 }, () => usable(key)));
      await operator.send('revokeKey', { params: { ...params, keyId } });
      expect((await usable(key)).refusal.code).toBe('UNAUTHORIZED');
      await keepUsing;
    }
  });

  test('changed scopes apply at once, without a new key', async () => {
    const { key, keyId } = (
      await operator.send('createKey', { params, body: { name: 'edited', scopes: ['usage:read'] } })
    ).data;
    expect((await usable(key)).refusal).toMatchObject({
      code: 'API_KEY_SCOPE_REQUIRED',
      requiredScope: 'customers:write',
    });
    await operator.send('updateKey', { params: { ...params, keyId }, body: { scopes: ['customers:write'] } });
    expect((await usable(key)).status).toBe(200);
    await operator.send('updateKey', { params: { ...params, keyId }, body: { scopes: ['usage:read'] } });
    expect((await usable(key)).status).toBe(403);
  });

  test('reviews of a model reach the public lookup while others ask, whether set, changed or taken back', async () => {
    const params = { modelKey: 'openai/gpt-5.1' };
    const ask = async () => {
      const response = await worker.fetch(`https://callmeter.test${LOOKUP_PATH}/openai/gpt-5.1?response=light`);
      return ((await response.json()) as { recommendedModelKey: string }).recommendedModelKey;
    };
    const computed = await ask();
    for (const replacementModelKey of ['openai/gpt-6-sol', 'anthropic/claude-sonnet-5', 'google/gemini-4-argon']) {
      const keepAsking = Promise.all(Array.from({ length: 10 }, ask));
      await operator.send('putReview', { params, body: { replacementModelKey, reason: 'Measured.' } });
      expect(await ask()).toBe(replacementModelKey);
      await keepAsking;
    }
    await operator.send('deleteReview', { params });
    expect(await ask()).toBe(computed);
  });

  test('a new default plan and new model mappings reach the next customer', async () => {
    await usable((await operator.send('createKey', { params, body: { name: 'warm' } })).data.key);
    await operator.send('putPlan', {
      params: { ...params, planId: 'gold' },
      body: { name: 'Gold', limitType: 'NONE' },
    });
    await operator.send('updateOrganization', { params, body: { defaultPlanId: 'gold' } });
    await operator.send('setModels', { params, body: { standard: ['openai/gpt-4o-mini'], premium: [] } });
    const customer = (await tenant.api.send('provisionCustomer', { body: { customerId: 'golden' } })).data;
    expect(customer).toMatchObject({ policy: 'NONE', models: { standard: ['openai/gpt-4o-mini'], premium: [] } });
    await operator.send('putPlan', {
      params: { ...params, planId: 'gold' },
      body: { name: 'Gold', limitType: 'BLOCK' },
    });
    const next = (await tenant.api.send('provisionCustomer', { body: { customerId: 'golden-2' } })).data;
    expect(next.subscription).toMatchObject({ planVersion: '2', limitType: 'BLOCK' });
    expect(
      (await tenant.api.send('readUsage', { params: { customerId: 'golden' } })).data.subscription.planVersion,
    ).toBe('1');
  });
});
