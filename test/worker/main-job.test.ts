import { runDurableObjectAlarm } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator, { name: 'Pro', limitType: 'DOWNGRADE', limits: { premiumCalls: 2, standardCalls: 10 } });
});

describe('the main job', () => {
  test('a call is begun, ended, priced to the nano-USD, and read back', async () => {
    const { api, organizationId } = tenant;
    const begun = (
      await api.send('beginCall', {
        body: { customerId: 'a', requested: { premium: true }, tags: ['x'] },
        headers: { 'Idempotency-Key': 'm1' },
      })
    ).data;
    expect(begun).toMatchObject({ callId: 'm1', newCustomer: true, allowed: { premium: true, standard: false }, tags: ['x'] });
    const ended = (await api.send('endCall', { body: { callId: 'm1', modelUsed: 'gpt-4o', inputTokens: 1000, responseTokens: 500 } })).data;
    expect(ended).toMatchObject({ status: 'COMPLETED', costUsdNano: '7500000', costUSD: 0.0075, metered: { calls: 1, tokens: 500 } });
    const read = (await api.send('readCall', { params: { callId: 'm1' } })).data;
    expect(read).toMatchObject({ pricingStatus: 'FINAL', costUsdNano: '7500000', customerId: 'a' });
    const usage = (await api.send('readUsage', { params: { customerId: 'a' } })).data;
    expect(usage.meters.premiumCalls).toEqual({ remaining: 1, limit: 2, used: 1, unlimited: false, ratio: 0.5 });

    await runDurableObjectAlarm(customerStub(organizationId, 'a'));
    const { results } = await bindings.DB.prepare('SELECT call_id, status, cost_nano_usd FROM calls WHERE organization_id = ?')
      .bind(organizationId)
      .all();
    expect(results).toEqual([{ call_id: 'm1', status: 'COMPLETED', cost_nano_usd: 7_500_000 }]);
  });
});
