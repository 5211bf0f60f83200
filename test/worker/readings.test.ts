/**
 * Readings of a customer over HTTP: usage context and forecast, on a clock of the test's own and hours with known truth
 * (contract 4.7, 4.8).
 */
import { runDurableObjectAlarm } from 'cloudflare:test';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ForecastMetric } from '../../src/contract/readings.ts';
import type { SCOPES } from '../../src/contract/scopes.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { type ObjectHour, writeObjectHours } from '../support/history.ts';
import { customerStub, operator } from '../support/worker.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** A Wednesday. Clocks in Europe went forward on the Sunday before, those in America two weeks earlier. */
const NOW = Date.UTC(2027, 2, 31, 15, 30);
const PRESENT_HOUR = NOW - HOUR / 2;
const TODAY = Date.UTC(2027, 2, 31);
const CREATED = NOW - 40 * DAY;
const PERIOD_START = '2027-03-19T15:30:00.000Z';
const PERIOD_END = '2027-04-19T15:30:00.000Z';
const HOURS_AHEAD = (Date.parse(PERIOD_END) - PRESENT_HOUR) / HOUR;

const PLAN = {
  name: 'Pro',
  limitType: 'BLOCK',
  limits: { premiumCalls: 100 },
  payg: { enabled: true, markupPercent: 20 },
  customMeters: {
    CUSTOM1: { label: 'Pages', included: 5_000, funding: { credits: true } },
    CUSTOM2: { label: 'Images', included: 10 },
    AGENTIC_API: { label: 'Requests', unlimited: true },
  },
};
const OWN_METERS = ['agenticApi', 'customMeter1', 'customMeter2'];
const iso = (atMs: number) => new Date(atMs).toISOString();
const secondsTo = (at: string | null | undefined, expectedMs: number) => Math.abs(Date.parse(at ?? '') - expectedMs) / 1_000;

let tenant: Tenant;
beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: CREATED });
  tenant = await createTenant(operator, PLAN);
});
afterAll(() => {
  vi.useRealTimers();
});

let serial = 0;
interface Options {
  hours?: ObjectHour[];
  createdMs?: number;
  of?: Tenant;
}
/** A customer with a past, seen from NOW. */
async function customer({ hours = [], createdMs = CREATED, of = tenant }: Options = {}) {
  serial += 1;
  const customerId = `reader-${serial}`;
  const { organizationId, api } = of;
  vi.setSystemTime(createdMs);
  expect((await api.send('provisionCustomer', { body: { customerId } })).data.newCustomer).toBe(true);
  await writeObjectHours(organizationId, customerId, hours);
  vi.setSystemTime(NOW);
  const params = { customerId };
  return {
    customerId,
    stub: customerStub(organizationId, customerId),
    context: async (query: Record<string, string> = {}) => (await api.send('readUsageContext', { params, query })).data,
    forecast: async (metric: string, query: Record<string, string> = {}) =>
      (await api.send('readForecast', { params, query: { metric, ...query } })).data,
    call: async (end: object, begin: object = { requested: { premium: true } }) => {
      serial += 1;
      const headers = { 'Idempotency-Key': `reading-${serial}` };
      const { callId } = (await api.send('beginCall', { body: { customerId, ...begin }, headers })).data;
      expect((await api.send('endCall', { body: { callId, ...end } })).status).toBe(200);
    },
    use: async (meterSlot: string, amount: number) =>
      expect((await api.send('incrementMeter', { body: { customerId, meterSlot, amount } })).status).toBe(200),
    grant: (body: object) => operator.send('grantCredit', { params: { org: organizationId, customerId }, body }),
    cancel: () => operator.send('cancelCustomer', { params: { org: organizationId, customerId } }),
  };
}

/** The same in every hour of the last `days` days, up to the present hour. */
function everyHour(days: number, hour: Omit<ObjectHour, 'atMs'>): ObjectHour[] {
  return Array.from({ length: days * 24 }, (_, ago) => ({ ...hour, atMs: PRESENT_HOUR - (ago + 1) * HOUR }));
}
/** At noon of the day so many days ago. */
const onDay = (ago: number, hour: Omit<ObjectHour, 'atMs'>): ObjectHour => ({ ...hour, atMs: TODAY - ago * DAY + 12 * HOUR });

const READINGS = [
  ['readUsageContext', {}],
  ['readForecast', { metric: 'calls' }],
] as const;

describe.each(READINGS)('%s', (id, query) => {
  test('needs both of its scopes', async () => {
    const { customerId } = await customer();
    const statuses: unknown[] = [];
    for (const scopes of [['customers:read'], ['usage:read'], ['customers:read', 'usage:read']] as (typeof SCOPES)[number][][]) {
      const { key } = (await operator.send('createKey', { params: { org: tenant.organizationId }, body: { name: 'k', scopes } })).data;
      const { status, body } = await tenant.api.with(key).send(id, { params: { customerId }, query });
      statuses.push([status, body.error?.requiredScope]);
    }
    expect(statuses).toEqual([
      [403, 'usage:read'],
      [403, 'customers:read'],
      [200, undefined],
    ]);
  });

  test('is the same 404 for a missing customer and for one of another tenant', async () => {
    const { customerId } = await customer();
    const other = await createTenant(operator, PLAN);
    const headers = { 'x-usage-correlation-id': 'same' };
    const ids = [customerId, 'nobody', 'a/b c', 'x'.repeat(255)];
    const replies = await Promise.all(ids.map((name) => other.api.send(id, { params: { customerId: name }, query, headers })));
    for (const { status, refusal } of replies) expect([status, refusal.code]).toEqual([404, 'CUSTOMER_NOT_FOUND']);
    // The clock stands still, so that nothing at all may differ.
    expect(new Set(replies.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    const described = replies.map((reply) => [...reply.headers].sort());
    expect(new Set(described.map((list) => JSON.stringify(list))).size).toBe(1);
    expect((await other.api.send('readUsage', { params: { customerId } })).status).toBe(404);
  });

  test('is never stored by a cache, found or not', async () => {
    const { customerId } = await customer();
    for (const name of [customerId, 'nobody']) {
      const { headers } = await tenant.api.send(id, { params: { customerId: name }, query });
      expect(headers.get('Cache-Control')).toBe('private, no-store');
    }
  });

  test.each(['Mars/Olympus', '+02:00', 'GMT+25', 'Europe/Berlin ', '', 'x'.repeat(65), '../UTC'])(
    'is 400 that names the time zone for %j, also where there is no customer',
    async (timezone) => {
      const { status, refusal } = await tenant.api.send(id, { params: { customerId: 'nobody' }, query: { ...query, timezone } });
      expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
      const details = refusal.details as { path: string; message: string }[];
      expect(new Set(details.map(({ path }) => path))).toEqual(new Set(['timezone']));
      expect(refusal.message).toContain(`timezone: ${details[0]?.message}`);
    },
  );

  test('ignores what it does not know, and takes no tuning', async () => {
    const { customerId } = await customer({ hours: everyHour(30, { completedCalls: 5 }) });
    const read = async (more: object) => (await tenant.api.send(id, { params: { customerId }, query: { ...query, ...more } })).body.data;
    const tuned = {
      organizationId: 'other',
      horizon: '2030-01-01',
      model: 'prophet',
      growth: '2',
      seasonality: 'off',
      exclude: '2027-03-01',
    };
    expect(JSON.stringify(await read(tuned))).toBe(JSON.stringify(await read({})));
  });

  test('gives the same bytes for the same data, within the hour', async () => {
    const random = (n: number) => (n * 7_919) % 23;
    const hours = everyHour(35, { inputTokens: 100 }).map((hour, n) => ({
      ...hour,
      completedCalls: random(n),
      costNanoUsd: random(n) * 333,
    }));
    const { customerId } = await customer({ hours });
    const read = async () => JSON.stringify((await tenant.api.send(id, { params: { customerId }, query })).body.data);
    vi.setSystemTime(PRESENT_HOUR);
    const first = await read();
    for (const later of [1, HOUR / 3, HOUR - 1]) {
      vi.setSystemTime(PRESENT_HOUR + later);
      expect(await read()).toBe(first);
    }
    vi.setSystemTime(NOW);
  });
});

describe('the usage context', () => {
  test('answers every field of a customer with a past and a present', async () => {
    const { customerId, context, call, use, grant } = await customer({
      hours: [...everyHour(38, { completedCalls: 1, inputTokens: 10, outputTokens: 5, costNanoUsd: 100 })],
    });
    expect((await grant({ kind: 'USD', amountUsd: '25' })).status).toBe(200);
    expect((await grant({ kind: 'METER', meterSlot: 'CUSTOM1', units: 7 })).status).toBe(200);
    // 1,000 x 2.50 + 500 x 10.00 USD per million.
    const used = { modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 500 };
    await call(used);
    await call(used);
    await call({ ...used, error: { code: 'overloaded', message: 'try later' } });
    await use('CUSTOM1', 4);
    await use('AGENTIC_API', 11);

    const data = await context({ timezone: 'Europe/Berlin', forecastMetric: 'dollars' });
    expect(data).toMatchObject({
      contractVersion: 1,
      customerId,
      timezone: 'Europe/Berlin',
      asOf: '2027-03-31T15:00:00.000Z',
      customer: { friendlyName: null, createdAt: iso(CREATED), canceled: false },
      plan: { planId: 'test', name: 'Pro', usagePlanVersionId: 'test:v1', limitType: 'BLOCK' },
      subscription: { planName: 'Pro', lastReplenishedAt: PERIOD_START, nextReplenishAt: PERIOD_END },
      funding: {
        payAsYouGo: true,
        markupPercent: 20,
        balanceUsd: 25,
        availableUsd: 25,
        purchasedUnits: { agenticApi: 0, customMeter1: 7, customMeter2: 0 },
        continuesBeyondAllowance: true,
      },
      evidence: { complete: true, gaps: [] },
      reviewReasons: [],
    });
    // 288 hours from 15:00 of the 19th, the hour in which the period began, and what was used just now.
    expect(data.currentPeriod).toEqual({
      startedAt: PERIOD_START,
      endedAt: PERIOD_END,
      quantities: {
        calls: 288 + 3,
        failedCalls: 1,
        inputTokens: 2_880 + 3_000,
        outputTokens: 1_440 + 1_500,
        dollars: 0.0225288,
        agenticApi: 11,
        customMeter1: 4,
        customMeter2: 0,
      },
    });
    expect(Object.fromEntries(data.meters.map(({ name, unit }) => [name, unit]))).toEqual({
      standardCalls: 'calls',
      premiumCalls: 'calls',
      standardTokens: 'tokens',
      premiumTokens: 'tokens',
      searches: 'searches',
      audioSeconds: 'seconds',
      agenticApi: 'units',
      customMeter1: 'units',
      customMeter2: 'units',
    });
    const wire = (await tenant.api.send('readUsage', { params: { customerId } })).data;
    for (const { name, unit: _, ...meter } of data.meters) expect(meter).toEqual(wire.meters[name]);
    expect(data.subscription).toEqual(wire.subscription);
    expect(data.forecast).toMatchObject({ metric: 'dollars', unit: 'USD', status: 'available', timezone: 'Europe/Berlin' });
  });

  test('compares the latest seven completed UTC days with the seven before, whatever the time zone and its clock', async () => {
    // Each hour at an edge has its own power of two, so that a sum says which hours it holds.
    const edges = [TODAY - 14 * DAY - HOUR, TODAY - 14 * DAY, TODAY - 7 * DAY - HOUR, TODAY - 7 * DAY, TODAY - HOUR, TODAY, PRESENT_HOUR];
    const hours = edges.map((atMs, power) => {
      const quantity = 2 ** power;
      return {
        atMs,
        completedCalls: quantity,
        failedCalls: quantity * 1_000,
        inputTokens: quantity * 2,
        outputTokens: quantity * 3,
        costNanoUsd: quantity,
        custom1: quantity * 5,
        custom2: quantity * 7,
        agenticApi: quantity * 11,
      };
    });
    const { context } = await customer({ hours });
    const preceding = 2 + 4;
    const latest = 8 + 16;
    const exact = (quantity: number) => Number(quantity.toFixed(9));
    const change = (unit: number) => ({
      latest: exact(latest * unit),
      preceding: exact(preceding * unit),
      change: exact((latest - preceding) * unit),
      ratio: 4,
    });
    for (const timezone of ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Pacific/Kiritimati', 'Australia/Lord_Howe']) {
      expect((await context({ timezone })).weeks, timezone).toEqual({
        latest: { startedAt: '2027-03-24T00:00:00.000Z', endedAt: '2027-03-31T00:00:00.000Z' },
        preceding: { startedAt: '2027-03-17T00:00:00.000Z', endedAt: '2027-03-24T00:00:00.000Z' },
        calls: change(1_001),
        failedCalls: change(1_000),
        inputTokens: change(2),
        outputTokens: change(3),
        dollars: change(1e-9),
        agenticApi: change(11),
        customMeter1: change(5),
        customMeter2: change(7),
      });
    }
    // The weeks turn at midnight in UTC, and not before.
    vi.setSystemTime(TODAY + DAY - 1);
    expect((await context()).weeks.latest.endedAt).toBe('2027-03-31T00:00:00.000Z');
    vi.setSystemTime(TODAY + DAY);
    expect((await context()).weeks).toMatchObject({
      latest: { endedAt: '2027-04-01T00:00:00.000Z' },
      calls: { latest: (16 + 32 + 64) * 1_001 },
    });
  });

  test('leaves out the forecast and the signals where they are not wanted', async () => {
    const { customerId, context } = await customer();
    const parts = async (query: Record<string, string>) => {
      const data = await context(query);
      return [data.forecast?.metric, data.signals && 'signals', data.reviewReasons && 'reasons'];
    };
    expect(await parts({})).toEqual(['calls', 'signals', 'reasons']);
    expect(await parts({ includeForecast: 'true', includeSignals: 'true' })).toEqual(['calls', 'signals', 'reasons']);
    expect(await parts({ includeForecast: 'false' })).toEqual([undefined, 'signals', 'reasons']);
    expect(await parts({ includeSignals: 'false' })).toEqual(['calls', undefined, undefined]);
    expect(await parts({ includeForecast: 'false', includeSignals: 'false', forecastMetric: 'dollars' })).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    for (const [name, value] of [
      ['includeForecast', 'yes'],
      ['includeSignals', '1'],
      ['forecastMetric', 'revenue'],
    ] as const) {
      const { status, refusal } = await tenant.api.send('readUsageContext', { params: { customerId }, query: { [name]: value } });
      expect([status, refusal.details]).toEqual([400, [{ path: name, message: expect.any(String) }]]);
    }
  });

  test('of a canceled customer says so, and that nothing continues', async () => {
    const { context, cancel, grant, forecast } = await customer({ hours: everyHour(30, { completedCalls: 2 }) });
    await grant({ kind: 'USD', amountUsd: '5' });
    await cancel();
    expect(await context()).toMatchObject({
      customer: { canceled: true },
      funding: { payAsYouGo: true, balanceUsd: 5, continuesBeyondAllowance: false },
      currentPeriod: { startedAt: PERIOD_START, quantities: { calls: 576 } },
    });
    expect((await forecast('calls')).status).toBe('available');
  });

  test('counts what is held out of the available balance', async () => {
    const { customerId, context, grant } = await customer();
    await grant({ kind: 'USD', amountUsd: '2' });
    const of = { requested: { premium: true }, holdUsd: 0.5 };
    const plan = { ...PLAN, limits: { premiumCalls: 0 } };
    await operator.send('putPlan', { params: { org: tenant.organizationId, planId: 'credit' }, body: plan });
    await tenant.api.send('changePlan', { params: { customerId }, body: { planId: 'credit' } });
    await tenant.api.send('beginCall', { body: { customerId, ...of } });
    expect((await context()).funding).toMatchObject({ balanceUsd: 2, availableUsd: 1.5, continuesBeyondAllowance: true });
  });

  test.each([
    ['HISTORY_SHORTER_THAN_TWO_WEEKS', { createdMs: NOW - 10 * DAY }],
    ['CALLS_WITHOUT_PRICE', { hours: [{ atMs: PRESENT_HOUR - HOUR, completedCalls: 3, unpricedCalls: 1 }] }],
  ])('names %s as what its evidence lacks', async (gap, options) => {
    const { context } = await customer(options);
    expect((await context()).evidence).toEqual({ complete: false, gaps: [gap] });
  });
});

describe('signals', () => {
  const of = async (options: Options, act: (made: Awaited<ReturnType<typeof customer>>) => Promise<unknown> = async () => undefined) => {
    const made = await customer(options);
    await act(made);
    const { signals = [], reviewReasons } = await made.context();
    return { signals, reviewReasons };
  };
  const recent = onDay(1, { completedCalls: 1 });

  test('ALLOWANCE_EXHAUSTED and ALLOWANCE_NEARLY_USED name the meter and what is left of it', async () => {
    const used = (amount: number) => of({}, ({ use }) => use('CUSTOM2', amount));
    const evidence = (remaining: number, ratio: number) => ({ limit: 10, used: 10 - remaining, remaining, ratio });
    expect(await used(8)).toEqual({ signals: [], reviewReasons: [] });
    expect(await used(9)).toEqual({
      signals: [{ code: 'ALLOWANCE_NEARLY_USED', severity: 'WARNING', meter: 'customMeter2', evidence: evidence(1, 0.1) }],
      reviewReasons: [{ reason: 'UPSELL_CANDIDATE', signals: ['ALLOWANCE_NEARLY_USED'] }],
    });
    expect(await used(10)).toEqual({
      signals: [{ code: 'ALLOWANCE_EXHAUSTED', severity: 'CRITICAL', meter: 'customMeter2', evidence: evidence(0, 0) }],
      reviewReasons: [{ reason: 'OUT_OF_ALLOWANCE', signals: ['ALLOWANCE_EXHAUSTED'] }],
    });
  });

  test('ALLOWANCE_PROJECTED_TO_RUN_OUT says when, as the forecast of the metric does', async () => {
    const made = await customer({ hours: everyHour(30, { custom1: 10 }) });
    await made.use('CUSTOM1', 4_500);
    const { signals, reviewReasons } = await made.context();
    const { projectedAllowanceExhaustionAt } = await made.forecast('customMeter1');
    expect(signals).toEqual([
      {
        code: 'ALLOWANCE_NEARLY_USED',
        severity: 'WARNING',
        meter: 'customMeter1',
        evidence: { limit: 5_000, used: 4_500, remaining: 500, ratio: 0.1 },
      },
      {
        code: 'ALLOWANCE_PROJECTED_TO_RUN_OUT',
        severity: 'WARNING',
        meter: 'customMeter1',
        evidence: { limit: 5_000, used: 4_500, remaining: 500, ratio: 0.1, projectedAllowanceExhaustionAt },
      },
    ]);
    // Ten an hour: 500 last for fifty hours.
    expect(secondsTo(projectedAllowanceExhaustionAt, PRESENT_HOUR + 50 * HOUR)).toBeLessThan(60);
    expect(reviewReasons).toEqual([{ reason: 'UPSELL_CANDIDATE', signals: ['ALLOWANCE_NEARLY_USED', 'ALLOWANCE_PROJECTED_TO_RUN_OUT'] }]);
  });

  test('CREDIT_LOW says for how many days the balance lasts at the pace of the week', async () => {
    const plan = { ...PLAN, limits: { premiumCalls: 0 } };
    const onCredit = await createTenant(operator, plan);
    const spend =
      (usd: string) =>
      async ({ grant, call, stub }: Awaited<ReturnType<typeof customer>>) => {
        vi.setSystemTime(NOW - 2 * DAY);
        await grant({ kind: 'USD', amountUsd: usd });
        // With the markup 0.9 USD.
        await call({ modelUsed: 'gpt-4o', inputTokens: 100_000, responseTokens: 50_000 });
        vi.setSystemTime(NOW - 2 * DAY + 5_000);
        await runDurableObjectAlarm(stub);
        vi.setSystemTime(NOW);
      };
    // 0.9 in the week: 0.8 last for 6.22 days, 0.91 for more than seven.
    expect(await of({ of: onCredit }, spend('1.7'))).toEqual({
      signals: [
        { code: 'CREDIT_LOW', severity: 'WARNING', meter: null, evidence: { balanceUsd: 0.8, chargedLatestWeekUsd: 0.9, daysLeft: 6.22 } },
      ],
      reviewReasons: [{ reason: 'FUNDING_AT_RISK', signals: ['CREDIT_LOW'] }],
    });
    expect((await of({ of: onCredit }, spend('0.9'))).signals).toMatchObject([
      { code: 'CREDIT_LOW', severity: 'CRITICAL', evidence: { balanceUsd: 0, daysLeft: 0 } },
    ]);
    expect((await of({ of: onCredit }, spend('1.81'))).signals).toEqual([]);
    // Who never had credit runs out of none.
    expect((await of({ of: onCredit })).signals).toEqual([]);
  });

  test('ERRORS_ELEVATED holds both shares', async () => {
    const hours = [onDay(9, { completedCalls: 98, failedCalls: 2 }), onDay(2, { completedCalls: 90, failedCalls: 10 })];
    expect(await of({ hours })).toEqual({
      signals: [
        {
          code: 'ERRORS_ELEVATED',
          severity: 'WARNING',
          meter: null,
          evidence: { calls: 100, failedCalls: 10, failedShare: 0.1, failedSharePreceding: 0.02 },
        },
      ],
      reviewReasons: [{ reason: 'QUALITY_AT_RISK', signals: ['ERRORS_ELEVATED'] }],
    });
  });

  test('INACTIVE and USAGE_FALLING say since when and by how much', async () => {
    const { signals, reviewReasons } = await of({ hours: [onDay(9, { completedCalls: 40 })] });
    expect(signals).toEqual([
      { code: 'INACTIVE', severity: 'WARNING', meter: null, evidence: { lastCallAt: iso(TODAY - 9 * DAY + 12 * HOUR), daysSince: 9 } },
      { code: 'USAGE_FALLING', severity: 'WARNING', meter: null, evidence: { latest: 0, preceding: 40, change: -40, ratio: 0 } },
    ]);
    expect(reviewReasons).toEqual([{ reason: 'CHURN_RISK', signals: ['INACTIVE', 'USAGE_FALLING'] }]);
  });

  test('USAGE_RISING and SPEND_RISING compare the weeks, and are no reason to look', async () => {
    const hours = [onDay(9, { completedCalls: 40, costNanoUsd: 4e9 }), onDay(2, { completedCalls: 60, costNanoUsd: 9e9 }), recent];
    expect(await of({ hours })).toEqual({
      signals: [
        { code: 'USAGE_RISING', severity: 'INFO', meter: null, evidence: { latest: 61, preceding: 40, change: 21, ratio: 1.525 } },
        { code: 'SPEND_RISING', severity: 'INFO', meter: null, evidence: { latest: 9, preceding: 4, change: 5, ratio: 2.25 } },
      ],
      reviewReasons: [],
    });
  });

  test('PLAN_CHANGE_PENDING names the plan and the day', async () => {
    await operator.send('putPlan', { params: { org: tenant.organizationId, planId: 'next' }, body: { ...PLAN, name: 'Next' } });
    const { signals } = await of({}, ({ customerId }) =>
      tenant.api.send('changePlan', { params: { customerId }, body: { planId: 'next', strategy: 'AT_NEXT_REPLENISH' } }),
    );
    expect(signals).toMatchObject([
      { code: 'PLAN_CHANGE_PENDING', meter: null, evidence: { usagePlanVersionId: 'next:v1', effectiveAt: PERIOD_END } },
    ]);
  });
});

describe('the forecast', () => {
  test.each([{}, { metric: '' }, { metric: 'revenue' }, { metric: 'Calls' }])('is 400 that names the metric for %j', async (query) => {
    const { customerId } = await customer();
    const { status, refusal } = await tenant.api.send('readForecast', { params: { customerId }, query: query as Record<string, string> });
    expect([status, refusal.code, refusal.details]).toEqual([400, 'BAD_REQUEST', [{ path: 'metric', message: expect.any(String) }]]);
  });

  test('of a steady customer expects the same of every hour that is left, for each of the eight metrics', async () => {
    const hour = { completedCalls: 8, failedCalls: 2, inputTokens: 600, outputTokens: 400, costNanoUsd: 250_000_000 };
    const { customerId, forecast } = await customer({ hours: everyHour(35, { ...hour, custom1: 3, custom2: 4, agenticApi: 5 }) });
    const perHour = {
      calls: 10,
      inputTokens: 600,
      outputTokens: 400,
      allTokens: 1_000,
      dollars: 0.25,
      agenticApi: 5,
      customMeter1: 3,
      customMeter2: 4,
    };
    for (const metric of ForecastMetric.options) {
      const data = await forecast(metric);
      expect(data, metric).toMatchObject({
        customerId,
        metric,
        timezone: 'UTC',
        status: 'available',
        reason: null,
        period: { startedAt: PERIOD_START, endedAt: PERIOD_END },
        horizon: { startedAt: iso(PRESENT_HOUR), endedAt: PERIOD_END },
        quality: 'HIGH',
        historyDays: 40,
        backtest: { windows: expect.any(Number), windowHours: expect.any(Number) },
      });
      expect(data.method).toMatch(/^(weekday_seasonal|recent_level|damped_trend|seasonal_naive)$/);
      const { remaining, total, recorded } = data;
      if (!remaining || !total) throw new Error('an available forecast has quantities');
      expect(recorded).toBeCloseTo(perHour[metric] * 288, 6);
      // The first days had nothing, which a forecast may not have forgotten altogether.
      expect(remaining.expected / (perHour[metric] * HOURS_AHEAD)).toBeCloseTo(1, 1);
      expect(remaining.p10).toBeLessThanOrEqual(remaining.p50);
      expect(remaining.p50).toBeLessThanOrEqual(remaining.p90);
      for (const quantile of ['expected', 'p10', 'p50', 'p90'] as const) {
        expect(total[quantile]).toBeCloseTo(recorded + remaining[quantile], 6);
      }
      expect('projectedAllowanceExhaustionAt' in data, metric).toBe(OWN_METERS.includes(metric));
    }
  });

  test('never totals less than what is recorded, however busy the present hour is', async () => {
    const { use, call, forecast, context } = await customer({ hours: everyHour(30, { completedCalls: 1 }) });
    await use('CUSTOM1', 4_000);
    for (let n = 0; n < 5; n += 1) await call({ modelUsed: 'gpt-4o', inputTokens: 10_000_000 });
    const units = await forecast('customMeter1');
    expect(units).toMatchObject({ recorded: 4_000, total: { expected: 4_000, p10: 4_000, p50: 4_000, p90: 4_000 } });
    const tokens = await forecast('inputTokens');
    expect(tokens.recorded).toBe(50_000_000);
    expect(tokens.total?.p10).toBeGreaterThanOrEqual(50_000_000);
    expect((await context()).currentPeriod.quantities).toMatchObject({ calls: 288 + 5, customMeter1: 4_000 });
  });

  test('of a customer that is a few days old has insufficient_history', async () => {
    const { forecast, context } = await customer({ createdMs: NOW - 3 * DAY, hours: everyHour(3, { completedCalls: 9, custom1: 2 }) });
    const none = { remaining: null, total: null, method: null, backtest: null, quality: null };
    const expected = { status: 'insufficient_history', reason: 'HISTORY_TOO_SHORT', historyDays: 3, ...none };
    expect(await forecast('calls')).toMatchObject({ ...expected, recorded: 648 });
    expect(await forecast('customMeter1')).toMatchObject({ ...expected, recorded: 144, projectedAllowanceExhaustionAt: null });
    expect((await context()).forecast).toMatchObject(expected);
  });

  test('is not_applicable where the plan never replenishes, and for a meter that it does not enable', async () => {
    const of = await createTenant(operator, { ...PLAN, replenish: null, customMeters: {} });
    const { forecast, context } = await customer({ of, hours: everyHour(30, { completedCalls: 9 }) });
    expect(await forecast('calls')).toMatchObject({
      status: 'not_applicable',
      reason: 'NO_BOUNDARY',
      recorded: 6_480,
      period: { startedAt: iso(CREATED), endedAt: '9999-12-31T23:59:59.999Z' },
      remaining: null,
    });
    expect(await forecast('agenticApi')).toMatchObject({
      status: 'not_applicable',
      reason: 'METRIC_NOT_ENABLED',
      projectedAllowanceExhaustionAt: null,
    });
    expect((await context()).evidence.complete).toBe(true);
  });

  test('is incomplete where calls have no price, but for dollars alone', async () => {
    const hours = everyHour(39, { completedCalls: 5, failedCalls: 1, costNanoUsd: 5_000, unpricedCalls: 1 });
    const { forecast } = await customer({ hours });
    // A failed call that reported no model has most often used nothing.
    expect(await forecast('dollars')).toMatchObject({ status: 'available', reason: null });
    const lacking = await customer({ hours: hours.map((hour, n) => (n === 300 ? { ...hour, unpricedCalls: 2 } : hour)) });
    expect(await lacking.forecast('dollars')).toMatchObject({ status: 'incomplete', reason: 'EVIDENCE_PARTIAL', quality: 'LOW' });
    expect((await lacking.forecast('dollars')).remaining?.expected).toBeGreaterThan(0);
    expect(await lacking.forecast('calls')).toMatchObject({ status: 'available', quality: 'HIGH' });
  });

  test('is incomplete where the period began before the hours that are kept', async () => {
    const of = await createTenant(operator, { ...PLAN, replenish: { every: 1, unit: 'YEAR' } });
    const read = async (ageDays: number) => {
      const { forecast, context } = await customer({ of, createdMs: NOW - ageDays * DAY, hours: everyHour(90, { completedCalls: 1 }) });
      return [(await forecast('calls')).status, (await context()).evidence.gaps];
    };
    expect(await read(99)).toEqual(['available', []]);
    expect(await read(102)).toEqual(['incomplete', ['PERIOD_NOT_COVERED']]);
  });

  test('projects when an allowance is gone, for each meter of its own and no other', async () => {
    const limits = { standardCalls: 100, premiumCalls: 10, standardTokens: 1_000, premiumTokens: 1_000 };
    const meter = (included: number) => ({ label: 'Units', included });
    const of = await createTenant(operator, {
      ...PLAN,
      limits,
      customMeters: { CUSTOM1: meter(1_000), CUSTOM2: meter(1_000_000), AGENTIC_API: meter(0) },
    });
    const hours = everyHour(35, { completedCalls: 50, outputTokens: 9_000, custom1: 10, custom2: 10, agenticApi: 10 });
    const { use, forecast, context } = await customer({ of, hours });
    await use('CUSTOM1', 955);
    const at = async (metric: string) => (await forecast(metric)).projectedAllowanceExhaustionAt;
    // 45 are left, at ten an hour.
    expect(secondsTo(await at('customMeter1'), PRESENT_HOUR + 4.5 * HOUR)).toBeLessThan(60);
    // It lasts; and what was never included cannot run out.
    expect([await at('customMeter2'), await at('agenticApi')]).toEqual([null, null]);
    await use('CUSTOM1', 45);
    expect(await at('customMeter1')).toBe(iso(PRESENT_HOUR));
    for (const metric of ForecastMetric.options.filter((name) => !OWN_METERS.includes(name))) {
      expect(JSON.stringify(await forecast(metric))).not.toMatch(/exhaust|runout/i);
      expect(JSON.stringify((await context({ forecastMetric: metric })).forecast)).not.toMatch(/exhaust|runout/i);
    }
    const unlimited = await customer({ hours });
    expect((await unlimited.forecast('agenticApi')).projectedAllowanceExhaustionAt).toBeNull();
  });

  test.each([
    // The hour of nine in the morning, in UTC, before and after the clock went forward.
    ['Europe/Berlin', Date.UTC(2027, 2, 28, 1), 8, 7],
    ['America/New_York', Date.UTC(2027, 2, 14, 7), 14, 13],
    ['Asia/Kolkata', Number.POSITIVE_INFINITY, 4, 4],
  ])('keeps the rhythm of local days in %s over a change of the clock', async (timezone, changeMs, before, after) => {
    const nine = (dayMs: number) => dayMs + (dayMs + before * HOUR < changeMs ? before : after) * HOUR;
    const hours = Array.from({ length: 38 }, (_, ago) => ({ atMs: nine(TODAY - ago * DAY), custom2: 10 }));
    const of = await createTenant(operator, { ...PLAN, customMeters: { CUSTOM2: { label: 'Images', included: 25 } } });
    const { forecast } = await customer({ of, hours });
    // Ten each morning: 25 are gone on the third one, half an hour into it.
    const { projectedAllowanceExhaustionAt, backtest } = await forecast('customMeter2', { timezone });
    expect(secondsTo(projectedAllowanceExhaustionAt, TODAY + 3 * DAY + after * HOUR + HOUR / 2)).toBeLessThan(60);
    expect(backtest?.weightedAbsolutePercentageError).toBeLessThan(0.05);
  });
});
