/**
 * Promise: concurrent increments of a custom meter are funded exactly as far as allowance, credits and balance reach.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { fundedCustomer } from '../support/customer.ts';
import { bindings, operator } from '../support/worker.ts';

const INCLUDED = 100;
const CREDITS = 50;
const INCREMENTS = 400;

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator, {
    name: 'Funded',
    limitType: 'BLOCK',
    payg: { enabled: true },
    customMeters: {
      CUSTOM1: { label: 'Pages', included: INCLUDED, funding: { credits: true } },
      CUSTOM2: {
        label: 'Images',
        included: INCLUDED,
        funding: { payg: true },
        overage: { model: 'SINGLE', priceUsd: '0.01', per: '1' },
      },
    },
  });
});

/** All at once, each with a key of its own that is sent `times` times. */
async function crowd(customerId: string, meterSlot: string, increments = INCREMENTS, times = 1) {
  const replies = await Promise.all(
    Array.from({ length: increments * times }, (_, n) =>
      tenant.api.send('incrementMeter', {
        body: { customerId, meterSlot, amount: 1 },
        headers: { 'Idempotency-Key': `${customerId}-${n % increments}` },
      }),
    ),
  );
  return replies.map(({ data }) => data);
}
const count = (numbers: string[]) => new Set(numbers).size;

describe('concurrent increments of 1', () => {
  test(`${INCREMENTS} on ${INCLUDED} included units and ${CREDITS} credits: exactly ${INCLUDED + CREDITS} are funded`, async () => {
    const { wallet, inspect, settle, params } = await fundedCustomer(tenant, 'credits', { units: CREDITS });
    const events = await crowd('credits', 'CUSTOM1');
    expect(events.filter(({ blocked }) => !blocked)).toHaveLength(INCLUDED + CREDITS);
    expect(events.filter(({ blocked }) => blocked)).toHaveLength(INCREMENTS - INCLUDED - CREDITS);
    // Each saw a period of its own: nobody read a value that another one was about to change.
    expect(count(events.map(({ meter }) => meter.periodUsageAfter))).toBe(INCREMENTS);
    expect(Math.max(...events.map(({ meter }) => Number(meter.periodUsageAfter)))).toBe(INCREMENTS);

    const { meters } = (await tenant.api.send('readUsage', { params: { customerId: 'credits' } })).data;
    expect(meters.customMeter1).toEqual({ remaining: 0, limit: INCLUDED, used: INCLUDED, unlimited: false, ratio: 0 });
    expect((await wallet()).units.CUSTOM1).toBe(0);
    expect((await inspect()).credits).toEqual([]);

    await settle();
    const sums = await bindings.DB.prepare(
      `SELECT COUNT(*) AS events, SUM(included) AS included, SUM(credits) AS credits, SUM(overage) AS overage, SUM(unfunded) AS unfunded
       FROM meter_events WHERE organization_id = ? AND customer_id = ?`,
    )
      .bind(params.org, params.customerId)
      .first();
    const unfunded = INCREMENTS - INCLUDED - CREDITS;
    expect(sums).toEqual({ events: INCREMENTS, included: INCLUDED, credits: CREDITS, overage: 0, unfunded });
  });

  test('200 increments that are each sent twice are counted once', async () => {
    const { wallet } = await fundedCustomer(tenant, 'twice', { units: CREDITS });
    const events = await crowd('twice', 'CUSTOM1', 200, 2);
    expect(count(events.map(({ eventId }) => eventId))).toBe(200);
    expect(events.filter(({ blocked }) => !blocked)).toHaveLength(2 * (INCLUDED + CREDITS));
    expect((await wallet()).units.CUSTOM1).toBe(0);
  });

  test(`${INCREMENTS} on a balance of 1 USD at a cent each: 100 included, 100 paid, the rest blocked, and the balance is 0`, async () => {
    const { wallet, settle } = await fundedCustomer(tenant, 'balance', { usd: '1' });
    const events = await crowd('balance', 'CUSTOM2');
    expect(events.filter(({ blocked }) => !blocked)).toHaveLength(INCLUDED + 100);
    expect(events.flatMap(({ meter }) => meter.overagePricingComponents).map(({ unitsExact }) => unitsExact)).toEqual(
      Array(100).fill('1'),
    );
    await settle();
    expect(await wallet()).toMatchObject({ balanceUsd: '0', unsettledUsd: '0', openCharges: 0 });
  });
});
