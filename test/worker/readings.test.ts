/**
 * Readings of a customer over HTTP: the common parts of usage context and forecast, and the forecast, on hours with
 * known truth (contract 4.8).
 */
import { runDurableObjectAlarm } from 'cloudflare:test';
import { describe, expect, test, vi } from 'vitest';
import { ForecastMetric } from '../../src/contract/readings.ts';
import { createTenant } from '../support/api.ts';
import {
  CREATED,
  customer,
  DAY,
  everyHour,
  HOUR,
  holdTheClock,
  iso,
  NOW,
  PERIOD_END,
  PERIOD_START,
  PLAN,
  PRESENT_HOUR,
  secondsTo,
  TODAY,
  tenant,
} from '../support/reading-customer.ts';
import { operator } from '../support/worker.ts';

const HOURS_AHEAD = (Date.parse(PERIOD_END) - PRESENT_HOUR) / HOUR;
const OWN_METERS = ['agenticApi', 'customMeter1', 'customMeter2'];

holdTheClock();

const READINGS = [
  ['readUsageContext', {}],
  ['readForecast', { metric: 'calls' }],
] as const;

describe.each(READINGS)('%s', (id, query) => {
  test('is not cacheable, whether found or not', async () => {
    const { customerId } = await customer();
    for (const name of [customerId, 'nobody']) {
      const { headers } = await tenant.api.send(id, { params: { customerId: name }, query });
      expect(headers.get('Cache-Control')).toBe('private, no-store');
    }
  });

  test.each(['Mars/Olympus', '+02:00', 'GMT+25', 'Europe/Berlin ', '', 'x'.repeat(65), '../UTC'])(
    'is 400 that names the time zone for %j, also where there is no customer',
    async (timezone) => {
      const { status, refusal } = await tenant.api.send(id, {
        params: { customerId: 'nobody' },
        query: { ...query, timezone },
      });
      expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
      const details = refusal.details as { path: string; message: string }[];
      expect(new Set(details.map(({ path }) => path))).toEqual(new Set(['timezone']));
      expect(refusal.message).toContain(`timezone: ${details[0]?.message}`);
    },
  );

  test('takes no parameter that tunes it', async () => {
    const tuned = {
      organizationId: 'other',
      horizon: '2030-01-01',
      model: 'prophet',
      growth: '2',
      seasonality: 'off',
      exclude: '2027-03-01',
    };
    const { status, refusal } = await tenant.api.send(id, {
      params: { customerId: 'nobody' },
      query: { ...query, ...tuned },
    });
    expect(status).toBe(400);
    expect((refusal.details as { path: string }[]).map(({ path }) => path)).toEqual(Object.keys(tuned));
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

describe('the forecast', () => {
  test.each([{}, { metric: '' }, { metric: 'revenue' }, { metric: 'Calls' }])(
    'is 400 that names the metric for %j',
    async (query) => {
      const { customerId } = await customer();
      const { status, refusal } = await tenant.api.send('readForecast', {
        params: { customerId },
        query: query as Record<string, string>,
      });
      expect([status, refusal.code, refusal.details]).toEqual([
        400,
        'BAD_REQUEST',
        [{ path: 'metric', message: expect.any(String) }],
      ]);
    },
  );

  test('of a steady customer expects the same usage in every remaining hour, for each of the eight metrics', async () => {
    const hour = { completedCalls: 8, failedCalls: 2, inputTokens: 600, outputTokens: 400, costNanoUsd: 250_000_000 };
    const { customerId, forecast } = await customer({
      hours: everyHour(35, { ...hour, custom1: 3, custom2: 4, agenticApi: 5 }),
    });
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
        // Nineteen days ahead fit once into the four weeks after the first one.
        quality: 'MEDIUM',
        historyDays: 40,
        backtest: { windows: expect.any(Number), windowHours: expect.any(Number) },
      });
      expect(data.method).toMatch(/^(weekday_seasonal|recent_level)$/);
      const { remaining, total, recorded } = data;
      if (!remaining || !total) throw new Error('an available forecast has quantities');
      expect(recorded).toBeCloseTo(perHour[metric] * 287, 6);
      // The first days had nothing, which a forecast may not have forgotten altogether.
      expect(remaining.expected / (perHour[metric] * HOURS_AHEAD)).toBeCloseTo(1, 1);
      expect(remaining.p10).toBeLessThanOrEqual(remaining.p50);
      expect(remaining.p50).toBeLessThanOrEqual(remaining.p90);
      for (const quantile of ['expected', 'p10', 'p50', 'p90'] as const) {
        expect(total[quantile]).toBeCloseTo(recorded + remaining[quantile], 6);
      }
      expect('projectedAllowanceExhaustionAt' in data, metric).toBe(OWN_METERS.includes(metric));
      expect(data.days?.[0]?.startedAt).toBe(data.horizon.startedAt);
      expect(data.days?.[data.days.length - 1]?.endedAt).toBe(data.horizon.endedAt);
      for (const figure of ['expected', 'p10', 'p50', 'p90'] as const) {
        const sum = data.days?.reduce((all, day) => all + day[figure], 0);
        expect(sum, `${metric} ${figure}`).toBeCloseTo(remaining[figure], 3);
      }
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
    expect((await context()).currentPeriod.quantities).toMatchObject({ calls: 287 + 5, customMeter1: 4_000 });
  });

  test('of a customer who is a few days old has insufficient_history', async () => {
    const { forecast, context } = await customer({
      createdMs: NOW - 3 * DAY,
      hours: everyHour(3, { completedCalls: 9, custom1: 2 }),
    });
    const none = { remaining: null, total: null, method: null, backtest: null, quality: null };
    const expected = { status: 'insufficient_history', reason: 'HISTORY_TOO_SHORT', historyDays: 3, ...none };
    expect(await forecast('calls')).toMatchObject({ ...expected, recorded: 648 });
    expect(await forecast('customMeter1')).toMatchObject({
      ...expected,
      recorded: 144,
      projectedAllowanceExhaustionAt: null,
    });
    expect((await context()).forecast).toMatchObject(expected);
  });

  test('is not_applicable if the plan never replenishes, and for a meter that it does not enable', async () => {
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

  test('is incomplete for dollars only if calls have no price', async () => {
    const hours = everyHour(39, { completedCalls: 5, failedCalls: 1, costNanoUsd: 5_000, unpricedCalls: 1 });
    const { forecast } = await customer({ hours });
    // A failed call that reported no model has most often used nothing.
    expect(await forecast('dollars')).toMatchObject({ status: 'available', reason: null });
    const lacking = await customer({
      hours: hours.map((hour, n) => (n === 300 ? { ...hour, unpricedCalls: 2 } : hour)),
    });
    expect(await lacking.forecast('dollars')).toMatchObject({
      status: 'incomplete',
      reason: 'EVIDENCE_PARTIAL',
      quality: 'LOW',
    });
    expect((await lacking.forecast('dollars')).remaining?.expected).toBeGreaterThan(0);
    expect(await lacking.forecast('calls')).toMatchObject({ status: 'available', quality: 'MEDIUM' });
  });

  test('is incomplete if the period began before the retained hours', async () => {
    const of = await createTenant(operator, { ...PLAN, replenish: { every: 1, unit: 'YEAR' } });
    const read = async (ageDays: number) => {
      const { forecast, context } = await customer({
        of,
        createdMs: NOW - ageDays * DAY,
        hours: everyHour(90, { completedCalls: 1 }),
      });
      return [(await forecast('calls')).status, (await context()).evidence.gaps];
    };
    expect(await read(99)).toEqual(['available', []]);
    expect(await read(102)).toEqual(['incomplete', ['PERIOD_NOT_COVERED']]);
  });

  test("projects when each meter's own allowance is used up", async () => {
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
    const { runsOut } = await forecast('customMeter1');
    expect(runsOut?.expectedAt).toBe(await at('customMeter1'));
    // Ten in every hour leave little doubt: a few hours more or less.
    expect(secondsTo(runsOut?.earliestAt, PRESENT_HOUR + 4.5 * HOUR)).toBeLessThan(3 * 3_600);
    expect(Date.parse(runsOut?.earliestAt ?? '')).toBeLessThanOrEqual(Date.parse(runsOut?.expectedAt ?? ''));
    expect(Date.parse(runsOut?.latestAt ?? '')).toBeGreaterThanOrEqual(Date.parse(runsOut?.expectedAt ?? ''));
    // It lasts; and a meter that was never included cannot run out.
    expect([await at('customMeter2'), await at('agenticApi')]).toEqual([null, null]);
    const lasts = { earliestAt: null, expectedAt: null, latestAt: null };
    expect((await forecast('customMeter2')).runsOut).toEqual(lasts);
    expect((await forecast('agenticApi')).runsOut).toBeNull();
    await use('CUSTOM1', 45);
    expect(await at('customMeter1')).toBe(iso(PRESENT_HOUR));
    for (const metric of ForecastMetric.options.filter((name) => !OWN_METERS.includes(name))) {
      expect(JSON.stringify(await forecast(metric))).not.toMatch(/exhaust|runout/i);
      expect(JSON.stringify((await context({ forecastMetric: metric })).forecast)).not.toMatch(/exhaust|runout/i);
    }
    const unlimited = await customer({ hours });
    expect((await unlimited.forecast('agenticApi')).projectedAllowanceExhaustionAt).toBeNull();
  });

  test('says when the balance runs out at the share of the cost that was charged in the latest week', async () => {
    const of = await createTenant(operator, { ...PLAN, limits: { premiumCalls: 0 } });
    // A cent in every hour, of which nothing was charged.
    const hours = everyHour(40, { completedCalls: 1, costNanoUsd: 10_000_000 });
    const { grant, call, stub, forecast } = await customer({ of, hours });
    expect((await forecast('dollars')).runsOut).toBeNull();
    vi.setSystemTime(NOW - 2 * DAY);
    await grant({ kind: 'USD', amountUsd: '1.7' });
    // 0.75 USD, charged with 0.9: 0.8 are left.
    await call({ modelUsed: 'gpt-4o', inputTokens: 100_000, responseTokens: 50_000 });
    vi.setSystemTime(NOW - 2 * DAY + 5_000);
    await runDurableObjectAlarm(stub);
    vi.setSystemTime(NOW);
    const { runsOut } = await forecast('dollars');
    // 0.9 of 0.01 x 168 + 0.75 was charged, so 0.8 last for a cost of 2.16: some nine days, less for the busy one.
    const hoursLeft = (Date.parse(runsOut?.expectedAt ?? '') - PRESENT_HOUR) / HOUR;
    expect(hoursLeft).toBeGreaterThan(150);
    expect(hoursLeft).toBeLessThan(220);
    expect(Date.parse(runsOut?.earliestAt ?? '')).toBeLessThan(Date.parse(runsOut?.expectedAt ?? ''));
    expect((await forecast('calls')).runsOut).toBeNull();
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
