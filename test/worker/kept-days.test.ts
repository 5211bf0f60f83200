/**
 * Promise: a report that begins before the kept days has only the usage of those days, whatever its subject, and says
 * from when it is complete.
 */

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { RETENTION_DEFAULTS } from '../../src/contract/operator.ts';
import { asCustomerId, asOrganizationId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import { deleteExpired } from '../../src/history/housekeeping.ts';
import { readCustomerFigures } from '../../src/readings/customer-list/figures.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { writeReportHours } from '../support/history.ts';
import { bindings, deliverToD1, operator } from '../support/worker.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2033, 4, 20, 15, 30);
const TODAY = Date.UTC(2033, 4, 20);
const KEPT_DAYS = 7;
const CUSTOMER = asCustomerId('ann');
const FEATURE = 'chat';
const USD = 1_000_000_000;
/** Calls by the days that have passed since; those of the last week are kept. */
const CALLS = { 60: 5, 20: 3, 10: 2, 1: 1 };
const { ARCHIVE: _, ...withoutArchive } = bindings;
const iso = (atMs: number) => new Date(atMs).toISOString();

let tenant: Tenant;
let params: { org: string; customerId: string };

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW - 70 * DAY });
  tenant = await createTenant(operator, {
    name: 'P',
    limitType: 'NONE',
    payg: { enabled: true, markupPercent: 0 },
    customMeters: {
      CUSTOM1: { included: 0, funding: { payg: true }, overage: { model: 'SINGLE', priceUsd: '7' } },
    },
  });
  const org = tenant.organizationId;
  params = { org, customerId: CUSTOMER };
  await tenant.api.send('provisionCustomer', { body: { customerId: CUSTOMER } });
  await operator.send('grantCredit', { params, body: { kind: 'USD', amountUsd: '100' } });
  vi.setSystemTime(NOW);
  await deliverToD1(org, CUSTOMER);
  await writeReportHours(
    org,
    Object.entries(CALLS).map(([days, calls]) => ({
      customerId: CUSTOMER,
      atMs: TODAY - Number(days) * DAY,
      feature: FEATURE,
      calls,
      costNanoUsd: calls * USD,
    })),
  );
  await operator.send('updateOrganization', { params: { org: params.org }, body: { usageRetentionDays: KEPT_DAYS } });
});
afterAll(() => {
  vi.useRealTimers();
});

const QUERIES = [
  {},
  { from: iso(TODAY - 15 * DAY).slice(0, 10) },
  { from: iso(TODAY - 90 * DAY).slice(0, 10) },
  { from: iso(TODAY - 90 * DAY).slice(0, 10), timezone: 'Asia/Kathmandu' },
];
const FILTERS = [{}, { customerId: CUSTOMER }, { feature: FEATURE }, { customerId: CUSTOMER, feature: FEATURE }];

describe.each([
  ['before the cron has deleted the others', false],
  ['after it', true],
])('the kept days alone count %s', (__, deleted) => {
  beforeAll(async () => {
    if (deleted) await deleteExpired(withoutArchive as Env, NOW);
  });

  test.each(QUERIES)('in a summary of %j, of everybody, a customer, a feature, or both', async (period) => {
    for (const filter of FILTERS) {
      const { data } = await tenant.api.send('readUsageSummary', { query: { ...period, ...filter } });
      expect([filter, data.totals.calls, data.totals.costUsdNano]).toEqual([filter, 1, String(USD)]);
      expect(data.byDay.filter(({ calls }) => calls > 0)).toHaveLength(1);
      expect(data.byOutcome.map(({ outcome, calls }) => [outcome, calls])).toEqual([['COMPLETED', 1]]);
      expect(data.completeSince).toBe(iso(TODAY - KEPT_DAYS * DAY));
    }
  });

  test.each(QUERIES)('in a margin of %j', async (query) => {
    const [whole, own] = [
      await operator.send('readOrganizationMargin', { params, query }),
      await operator.send('readCustomerMargin', { params, query }),
    ];
    for (const { data } of [whole, own]) {
      expect([data.totals.calls, data.totals.costUsdNano]).toEqual([1, String(USD)]);
      expect(data.completeSince).toBe(iso(TODAY - KEPT_DAYS * DAY));
    }
    expect(whole.data.period).toEqual(own.data.period);
  });

  test('in the figures of the list of customers', async () => {
    const retention = { ...RETENTION_DEFAULTS, usageRetentionDays: KEPT_DAYS };
    const scope = {
      env: bindings,
      organization: { organizationId: asOrganizationId(params.org), retention },
      defer: () => undefined,
    };
    const figures = (await readCustomerFigures(scope, [CUSTOMER], new Map(), NOW)).get(CUSTOMER);
    expect(figures).toMatchObject({ calls: 1, costNanoUsd: BigInt(USD), costBeforeNanoUsd: null });
    expect(figures?.earnings).toMatchObject({ calls: 1, costNanoUsd: BigInt(USD) });
  });
});

test('a report of kept days is complete from its start', async () => {
  const query = { from: iso(TODAY - 3 * DAY).slice(0, 10) };
  const { data } = await tenant.api.send('readUsageSummary', { query });
  expect([data.completeSince, data.totals.calls]).toEqual([data.period.startedAt, 1]);
});

test('a margin says from when on charges of increments are kept', async () => {
  await operator.send('updateOrganization', {
    params: { org: params.org },
    body: { usageRetentionDays: 90, meterEventRetentionDays: 2 },
  });
  vi.setSystemTime(NOW - 3 * DAY);
  const increment = { customerId: CUSTOMER, meterSlot: 'CUSTOM1', amount: 1 };
  expect((await tenant.api.send('incrementMeter', { body: increment })).status).toBe(200);
  await deliverToD1(tenant.organizationId, CUSTOMER);
  vi.setSystemTime(NOW);
  for (const charged of [7, 0]) {
    const { data } = await operator.send('readOrganizationMargin', { params });
    expect([data.totals.chargedUSD, data.completeSince]).toEqual([charged, iso(NOW - 2 * DAY)]);
    await deleteExpired(withoutArchive as Env, NOW);
  }
});
