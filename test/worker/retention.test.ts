/**
 * Promise: history that is older than its organization keeps is deleted, and reports over the days that are kept stay
 * as they were.
 */
import { describe, expect, test } from 'vitest';
import { RETENTION_DEFAULTS } from '../../src/contract/operator.ts';
import type { Env } from '../../src/env.ts';
import { deleteExpired } from '../../src/history/housekeeping.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, deliverToD1, operator } from '../support/worker.ts';

const DAY_MS = 86_400_000;
/** archive.test.ts tests the part that is archived first. */
const { ARCHIVE: _, ...withoutArchive } = bindings;
const CUSTOMER = 'ann';
const PLAN = {
  name: 'P',
  limitType: 'NONE',
  customMeters: { CUSTOM1: { label: 'units', included: 5, overage: { model: 'SINGLE', priceUsd: '0.02', per: '10' } } },
};
const TABLES = {
  calls: 'started_at_ms',
  meter_events: 'at_ms',
  credit_entries: 'at_ms',
  usage_hours: 'hour_ms',
  organization_days: 'day_ms',
};

/** A tenant with a call, an increment, a credit and their usage in D1. */
async function used(): Promise<Tenant> {
  const tenant = await createTenant(operator, PLAN);
  const { callId } = (await tenant.api.send('beginCall', { body: { customerId: CUSTOMER } })).data;
  const usage = { modelUsed: 'gpt-4o-mini', inputTokens: 10, responseTokens: 5 };
  expect((await tenant.api.send('endCall', { body: { callId, ...usage } })).status).toBe(200);
  await tenant.api.send('incrementMeter', { body: { customerId: CUSTOMER, meterSlot: 'CUSTOM1', amount: 2 } });
  const params = { org: tenant.organizationId, customerId: CUSTOMER };
  await operator.send('grantCredit', { params, body: { kind: 'USD', amountUsd: '1' } });
  await deliverToD1(tenant.organizationId, CUSTOMER);
  expect(await rows(tenant)).toEqual({
    calls: 1,
    meter_events: 1,
    credit_entries: 1,
    usage_hours: 1,
    organization_days: 4,
  });
  return tenant;
}

async function rows({ organizationId }: Tenant): Promise<Record<string, number>> {
  const counted = Object.keys(TABLES).map(async (table): Promise<[string, number]> => {
    const sql = `SELECT COUNT(*) AS n FROM ${table} WHERE organization_id = ?`;
    return [table, (await bindings.DB.prepare(sql).bind(organizationId).first<{ n: number }>())?.n ?? 0];
  });
  return Object.fromEntries(await Promise.all(counted));
}

const keep = (tenant: Tenant, days: Record<string, number>) =>
  operator.send('updateOrganization', { params: { org: tenant.organizationId }, body: days });

describe('an organization', () => {
  test('keeps calls and increments for 400 days, the ledger and usage for seven years, unless it says otherwise', async () => {
    const tenant = await createTenant(operator);
    const params = { org: tenant.organizationId };
    expect((await operator.send('readOrganization', { params })).data).toMatchObject(RETENTION_DEFAULTS);
    expect((await keep(tenant, { callRetentionDays: 30 })).data).toMatchObject({
      ...RETENTION_DEFAULTS,
      callRetentionDays: 30,
    });
    expect((await keep(tenant, { ledgerRetentionDays: 3_650 })).data).toMatchObject({
      callRetentionDays: 30,
      ledgerRetentionDays: 3_650,
    });
  });

  test.each(['callRetentionDays', 'meterEventRetentionDays', 'ledgerRetentionDays', 'usageRetentionDays'])(
    'cannot keep history for no day, or for more than ten years: %s',
    async (name) => {
      const tenant = await createTenant(operator);
      for (const wrong of [0, 3_651, 1.5]) {
        const { status, refusal } = await keep(tenant, { [name]: wrong });
        expect([status, (refusal.details as { path: string }[])[0]?.path]).toEqual([400, name]);
      }
    },
  );
});

describe('each kind of history', () => {
  test('is deleted after its own retention, for each organization by its own', async () => {
    const [short, usual] = [await used(), await used()];
    const days = {
      callRetentionDays: 10,
      meterEventRetentionDays: 20,
      ledgerRetentionDays: 30,
      usageRetentionDays: 40,
    };
    await keep(short, days);
    const all = await rows(usual);
    const nowMs = Date.now();
    const left = async (afterDays: number) => {
      await deleteExpired(withoutArchive as Env, nowMs + afterDays * DAY_MS);
      return rows(short);
    };
    expect(await left(9)).toEqual(all);
    expect(await left(11)).toEqual({ ...all, calls: 0 });
    expect(await left(21)).toEqual({ ...all, calls: 0, meter_events: 0 });
    expect(await left(31)).toEqual({ ...all, calls: 0, meter_events: 0, credit_entries: 0 });
    expect(await left(42)).toEqual(Object.fromEntries(Object.keys(TABLES).map((table) => [table, 0])));
    expect(await rows(usual)).toEqual(all);
    await deleteExpired(withoutArchive as Env, nowMs + 401 * DAY_MS);
    expect(await rows(usual)).toEqual({
      ...all,
      calls: 0,
      meter_events: 0,
    });
  });
});
