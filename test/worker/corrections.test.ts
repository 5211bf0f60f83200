/**
 * Corrections over HTTP: what was recorded by mistake is taken back once, by the organization or the operator, and is
 * told wherever the record is read.
 */
import { runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { fundedCustomer } from '../support/customer.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';

const TIERS = [
  { upTo: '5', priceUsd: '0.20', per: '1' },
  { upTo: null, priceUsd: '0.10', per: '1' },
];
const PLAN = {
  name: 'As you go',
  limitType: 'BLOCK',
  limits: { standardCalls: 1, premiumCalls: 1 },
  payg: { enabled: true, markupPercent: 20 },
  customMeters: {
    CUSTOM1: {
      label: 'Pages',
      included: 10,
      funding: { credits: true, payg: true },
      overage: { model: 'GRADUATED', tiers: TIERS },
    },
  },
};

let tenant: Tenant;
let org: string;
beforeAll(async () => {
  tenant = await createTenant(operator, PLAN);
  org = tenant.organizationId;
});

async function customer(funds: { usd?: string; units?: number } = { usd: '10', units: 5 }) {
  const customerId = `corrected-${crypto.randomUUID()}`;
  const increment = async (amount: number) =>
    (await tenant.api.send('incrementMeter', { body: { customerId, meterSlot: 'CUSTOM1', amount } })).data.eventId;
  return { ...(await fundedCustomer(tenant, customerId, funds)), customerId, increment };
}
const events = async (customerId: string) => {
  const { items } = (await operator.send('listEvents', { query: { organizationId: org, limit: '200' } })).data;
  return items.filter(({ subject }) => subject === customerId);
};

describe('a reversed increment', () => {
  const reverse = (eventId: string, body: object = { reason: 'sent twice' }) =>
    tenant.api.send('reverseMeterEvent', { params: { eventId }, body });

  test('gives back from the margin: overage at its tiers, then credits, then included units', async () => {
    const { customerId, increment, inspect, settle, wallet } = await customer();
    const mistake = await increment(13);
    await increment(10);
    await settle();
    // 10 included, 5 from credits, 5 at 0.20 and 3 at 0.10.
    expect(await wallet()).toMatchObject({ balanceUsd: '8.7', units: { CUSTOM1: 0 } });

    const { data } = await reverse(mistake);
    expect(data).toEqual({
      eventId: mistake,
      customerId,
      meterSlot: 'CUSTOM1',
      amount: 13,
      reversedAt: expect.any(String),
      reason: 'sent twice',
      by: 'api',
      returned: { included: 0, credits: 5, overage: 8, unfunded: 0 },
      refundUsd: 1.3,
      refundNanoUsd: '1300000000',
    });
    expect(await wallet()).toMatchObject({ availableUsd: '10', units: { CUSTOM1: 5 } });
    await settle();
    expect(await wallet()).toMatchObject({ balanceUsd: '10', unsettledUsd: '0', units: { CUSTOM1: 5 } });
    const { ledger, meters } = await inspect();
    expect(meters.customMeter1).toMatchObject({ used: 10, remaining: 0 });
    expect(ledger.filter(({ cause }) => cause === 'RETURN').map(({ unit, amount }) => [unit, amount])).toEqual([
      ['USD', '1.3'],
      ['CUSTOM1', '5'],
    ]);
    // The next unit is the first that is not included.
    const next = await tenant.api.send('incrementMeter', { body: { customerId, meterSlot: 'CUSTOM1', amount: 6 } });
    expect(next.data.meter).toMatchObject({ periodUsageBefore: '10', periodUsageAfter: '16' });
    expect(next.data.meter.overagePricingComponents).toMatchObject([{ tierIndex: 0, unitsExact: '1' }]);
  });

  test('is reversed once: a second reversal gets the first answer, also after the object has removed it', async () => {
    const { customerId, increment, inspect, settle } = await customer();
    const eventId = await increment(20);
    await settle();
    const first = await reverse(eventId);
    await settle();
    const before = (await inspect()).ledger.length;
    const again = await reverse(eventId, { reason: 'another reason' });
    expect(again.headers.get('Idempotency-Replayed')).toBe('true');
    expect([again.body.result, again.data]).toEqual([first.body.result, first.data]);
    await runInDurableObject(customerStub(org, customerId), (_, state) => {
      state.storage.sql.exec('DELETE FROM meter_events');
    });
    expect((await reverse(eventId)).data).toEqual(first.data);
    expect((await inspect()).ledger).toHaveLength(before);
  });

  test('is found with its customer at once, in D1 later, and corrected there', async () => {
    const { customerId, increment, settle, wallet } = await customer();
    const [early, late] = [await increment(1), await increment(20)];
    expect((await reverse(early)).refusal.code).toBe('NOT_FOUND');
    expect((await reverse(early, { reason: 'r', customerId: 'nobody' })).refusal.code).toBe('NOT_FOUND');
    expect((await reverse(early, { reason: 'r', customerId })).data).toMatchObject({ eventId: early });
    await settle();
    await runInDurableObject(customerStub(org, customerId), (_, state) => {
      state.storage.sql.exec('DELETE FROM meter_events');
    });
    expect((await reverse(late)).data).toMatchObject({ returned: { included: 10, credits: 5, overage: 5 } });
    await settle();
    expect((await wallet()).balanceUsd).toBe('10');
    const { results } = await bindings.DB.prepare(
      'SELECT event_id, reversed_at_ms, settlement_status FROM meter_events WHERE customer_id = ?',
    )
      .bind(customerId)
      .all();
    expect(results).toHaveLength(2);
    for (const row of results) expect(row.reversed_at_ms).toBeGreaterThan(0);
  });

  test('is not taken from a history that lacks an earlier correction', async () => {
    const { customerId, increment, settle } = await customer();
    const eventId = await increment(20);
    await settle();
    await reverse(eventId);
    // D1 has the event as it was; the object has removed it.
    await runInDurableObject(customerStub(org, customerId), (_, state) => {
      state.storage.sql.exec('DELETE FROM meter_events');
    });
    expect(await reverse(eventId)).toMatchObject({ status: 503, refusal: { code: 'SERVICE_UNAVAILABLE' } });
    await settle();
  });

  test('of another organization is 404, and a reason is asked for', async () => {
    const { customerId, increment, settle, wallet } = await customer();
    const eventId = await increment(20);
    await settle();
    const other = await createTenant(operator, PLAN);
    for (const body of [{ reason: 'r' }, { reason: 'r', customerId }]) {
      const { status, refusal } = await other.api.send('reverseMeterEvent', { params: { eventId }, body });
      expect([status, refusal.code]).toEqual([404, 'NOT_FOUND']);
    }
    const { refusal } = await reverse(eventId, {});
    expect([refusal.code, (refusal.details as { path: string }[])[0]?.path]).toEqual(['BAD_REQUEST', 'reason']);
    expect((await wallet()).balanceUsd).toBe('9');
  });

  test('by the operator is in the event log, once', async () => {
    const { customerId, increment } = await customer();
    const params = { org, eventId: await increment(20) };
    const body = { reason: 'a support case', customerId };
    for (let sent = 0; sent < 2; sent += 1)
      expect((await operator.send('operatorReverseMeterEvent', { params, body })).data.by).toBe('operator');
    expect((await events(customerId)).filter(({ action }) => action === 'meter_event.reverse')).toHaveLength(1);
  });
});
