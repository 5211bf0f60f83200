/**
 * Promise: an export has every row of D1 and the archive once, and the costs of FOCUS equal the sums of reports and the
 * ledger, to the nano-dollar.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { parseUsd } from '../../src/domain/money.ts';
import { FOCUS_COLUMNS } from '../../src/history/archive/focus.ts';
import { runArchive } from '../../src/history/archive/run.ts';
import { deleteExpired } from '../../src/history/housekeeping.ts';
import { createTenant, OPERATOR_TOKEN, type Tenant } from '../support/api.ts';
import { daysLater } from '../support/archive.ts';
import { type FundedCustomer, fundedCustomer } from '../support/customer.ts';
import { bindings, operator, worker } from '../support/worker.ts';

const DAY_MS = 86_400_000;
const PLAN = {
  name: 'P',
  limitType: 'BLOCK',
  limits: { standardCalls: 2, premiumCalls: 0 },
  payg: { enabled: true, markupPercent: 7.5 },
  customMeters: {
    CUSTOM1: { label: 'units', included: 3, overage: { model: 'SINGLE', priceUsd: '0.000000007', per: '3' } },
  },
};
const day = (offset: number) => new Date(Date.now() + offset * DAY_MS).toISOString().slice(0, 10);
const PERIOD = { from: day(0), to: day(1) };

let tenant: Tenant;
let ann: FundedCustomer;

beforeAll(async () => {
  tenant = await createTenant(operator, PLAN);
  ann = await fundedCustomer(tenant, 'ann, "A"', { usd: '5' });
  const calls = [
    { modelUsed: 'gpt-4o-mini', inputTokens: 1_003, cachedInputTokens: 7, responseTokens: 501 },
    { modelUsed: 'gpt-4o-mini', inputTokens: 1, responseTokens: 1, pricingMode: 'batch' },
    { modelUsed: 'gpt-4o', inputTokens: 77, responseTokens: 3 },
    { modelUsed: 'gpt-4o', inputTokens: 333_333, responseTokens: 11, pricingMode: 'batch' },
    { modelUsed: 'unknown-model', inputTokens: 5, responseTokens: 5 },
    { modelUsed: 'gpt-4o-mini', inputTokens: 0, responseTokens: 0, errorCode: 'X', errorMessage: 'failed' },
  ];
  for (const [index, usage] of calls.entries()) {
    const body = { customerId: 'ann, "A"', feature: 'chat', tags: ['a"b', 'c'] };
    const headers = { 'Idempotency-Key': `call-${index}` };
    const begun = await tenant.api.send('beginCall', { body, headers });
    expect((await tenant.api.send('endCall', { body: { callId: begun.data.callId, ...usage } })).status).toBe(200);
  }
  for (const amount of [2, 4, 9]) {
    await tenant.api.send('incrementMeter', { body: { customerId: 'ann, "A"', meterSlot: 'CUSTOM1', amount } });
  }
  await ann.settle();
});

/** The text of an export. */
async function exported(query: Record<string, string>): Promise<string> {
  const url = `https://callmeter.test/operator/organizations/${tenant.organizationId}/export?${new URLSearchParams(query)}`;
  const headers = { Authorization: `Bearer ${OPERATOR_TOKEN}`, Accept: MEDIA_TYPE };
  const response = await worker.fetch(url, { headers });
  expect(response.status).toBe(200);
  return response.text();
}

/** The rows of a CSV (RFC 4180), by column. */
function parseCsv(text: string): Record<string, string>[] {
  const lines = text
    .split('\r\n')
    .slice(0, -1)
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)].map(
        ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
      ),
    );
  const [columns = [], ...rows] = lines;
  return rows.map((row) => {
    expect(row).toHaveLength(columns.length);
    return Object.fromEntries(columns.map((column, index) => [column, row[index] ?? '']));
  });
}

const sum = (rows: Record<string, string>[], column: string) =>
  rows.reduce((all, row) => all + (parseUsd(row[column] ?? '') ?? 0n), 0n);

/** The amount that the customer's USD balance has paid, by the ledger. */
const spent = async () =>
  (await ann.inspect()).ledger
    .filter(({ unit, cause }) => unit === 'USD' && cause === 'SPEND')
    .reduce((all, { amount }) => all + (parseUsd(amount.replace('-', '')) ?? 0n), 0n);

async function agrees(): Promise<string> {
  const csv = await exported({ format: 'focus', ...PERIOD });
  const rows = parseCsv(csv);
  const { data } = await tenant.api.send('readUsageSummary', { query: { from: PERIOD.from, to: PERIOD.to } });
  expect(sum(rows, 'BilledCost')).toBe(BigInt(data.totals.costUsdNano));
  expect(sum(rows, 'EffectiveCost')).toBe(BigInt(data.totals.costUsdNano));
  expect(sum(rows, 'BilledCost')).toBeGreaterThan(0n);
  expect(sum(rows, 'x_CustomerCharge')).toBe(await spent());
  expect(await spent()).toBeGreaterThan(0n);
  return csv;
}

describe('FOCUS', () => {
  test('has the mandatory columns of 1.3, one row for each cost line, and no empty value that must not be', async () => {
    const rows = parseCsv(await exported({ format: 'focus', ...PERIOD }));
    expect(Object.keys(rows[0] ?? {})).toEqual([...FOCUS_COLUMNS]);
    const nullable = ['ChargeClass', 'HostProviderName', 'Tags', 'x_CallId'];
    for (const row of rows) {
      const empty = Object.keys(row).filter((column) => row[column] === '');
      expect(empty.filter((column) => !nullable.includes(column))).toEqual([]);
      expect([row.ChargeCategory, row.BillingCurrency, row.SubAccountId]).toEqual(['Usage', 'USD', 'ann, "A"']);
    }
    const lines = rows
      .filter(({ x_CallId }) => x_CallId !== '')
      .map(({ x_CallId, SkuMeter }) => `${x_CallId} ${SkuMeter}`);
    expect(lines).toContain('call-0 cachedInput');
    expect(new Set(lines).size).toBe(lines.length);
    expect(lines.some((line) => line.startsWith('call-4'))).toBe(false);
    expect(JSON.parse(rows[0]?.Tags ?? '')).toEqual({ 'a"b': true, c: true, feature: 'chat' });
    expect(sum(rows, 'ListCost')).toBeGreaterThan(sum(rows, 'BilledCost'));
  });

  test('sums to the usage summary and the ledger, out of D1, the archive, and both', async () => {
    const before = await agrees();
    await runArchive(bindings, daysLater(12));
    expect(await agrees()).toBe(before);
    await deleteExpired(bindings, daysLater(402));
    expect(await agrees()).toBe(before);
  });

  test('counts a call in the period in which it ended', async () => {
    expect(parseCsv(await exported({ format: 'focus', from: day(-3), to: day(0) }))).toEqual([]);
    expect(parseCsv(await exported({ format: 'focus', from: day(1), to: day(2) }))).toEqual([]);
  });
});

describe('JSON Lines', () => {
  test('have every call, increment and ledger entry once', async () => {
    const rows = (await exported({ ...PERIOD }))
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    const count = (kind: string) => rows.filter((row) => row.kind === kind).length;
    expect([count('call'), count('meter_event')]).toEqual([6, 3]);
    expect(count('credit_entry')).toBe((await ann.inspect()).ledger.length);
    expect(new Set(rows.map(({ kind, id }) => `${kind} ${id}`)).size).toBe(rows.length);
  });
});

test.each([
  [{ from: '2026-01-02', to: '2026-01-02' }, 'to'],
  [{ from: '2026-01-02', to: '2027-02-02' }, 'to'],
  [{ from: '2026-01-02' }, 'to'],
  [{ from: 'x', to: '2026-01-02' }, 'from'],
  [{ from: '2026-01-02', to: '2026-01-03', format: 'xml' }, 'format'],
])('%j is refused: %s', async (query, path) => {
  const { status, refusal } = await operator.send('exportHistory', {
    params: { org: tenant.organizationId },
    query: query as never,
  });
  expect([status, (refusal.details as { path: string }[])[0]?.path]).toEqual([400, path]);
});
