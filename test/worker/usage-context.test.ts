/**
 * The usage context over HTTP: every field, the weeks that it compares, and each signal with its evidence (contract
 * 4.7).
 */
import { runDurableObjectAlarm } from 'cloudflare:test';
import { describe, expect, test, vi } from 'vitest';
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
  type Options,
  PERIOD_END,
  PERIOD_START,
  PLAN,
  PRESENT_HOUR,
  secondsTo,
  TODAY,
  tenant,
} from '../support/reading-customer.ts';
import { operator } from '../support/worker.ts';

holdTheClock();

describe('the usage context', () => {
  test('has every field for a customer with history and current usage', async () => {
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
    // 287 hours from 16:00 of the 19th, and the usage of just now. The period began at 15:30, after the usage of that
    // hour.
    expect(data.currentPeriod).toEqual({
      startedAt: PERIOD_START,
      endedAt: PERIOD_END,
      quantities: {
        calls: 287 + 3,
        failedCalls: 1,
        inputTokens: 2_870 + 3_000,
        outputTokens: 1_435 + 1_500,
        dollars: 0.0225287,
        provisionalCalls: 0,
        provisionalDollars: 0,
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
    expect(data.forecast).toMatchObject({
      metric: 'dollars',
      unit: 'USD',
      status: 'available',
      timezone: 'Europe/Berlin',
    });
  });

  test('compares the latest seven completed UTC days with the seven before, in any time zone', async () => {
    // Each hour at an edge has its own power of two, so that a sum says which hours it holds.
    const edges = [
      TODAY - 14 * DAY - HOUR,
      TODAY - 14 * DAY,
      TODAY - 7 * DAY - HOUR,
      TODAY - 7 * DAY,
      TODAY - HOUR,
      TODAY,
      PRESENT_HOUR,
    ];
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
    for (const timezone of [
      'UTC',
      'Europe/Berlin',
      'America/New_York',
      'Asia/Kolkata',
      'Pacific/Kiritimati',
      'Australia/Lord_Howe',
    ]) {
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

  test('leaves out the forecast and the signals if they are not requested', async () => {
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
      const { status, refusal } = await tenant.api.send('readUsageContext', {
        params: { customerId },
        query: { [name]: value },
      });
      expect([status, refusal.details]).toEqual([400, [{ path: name, message: expect.any(String) }]]);
    }
  });

  test('of a canceled customer shows the cancellation, without a forecast', async () => {
    const { context, cancel, grant, forecast } = await customer({ hours: everyHour(30, { completedCalls: 2 }) });
    await grant({ kind: 'USD', amountUsd: '5' });
    await cancel();
    expect(await context()).toMatchObject({
      customer: { canceled: true },
      funding: { payAsYouGo: true, balanceUsd: 5, continuesBeyondAllowance: false },
      currentPeriod: { startedAt: PERIOD_START, quantities: { calls: 574 } },
    });
    expect((await forecast('calls')).status).toBe('available');
  });

  test('subtracts holds from the available balance', async () => {
    const { customerId, context, grant } = await customer();
    await grant({ kind: 'USD', amountUsd: '2' });
    const of = { requested: { premium: true }, holdUsd: 0.5 };
    const plan = { ...PLAN, limits: { premiumCalls: 0 } };
    await operator.send('putPlan', { params: { org: tenant.organizationId, planId: 'credit' }, body: plan });
    await tenant.api.send('changePlan', { params: { customerId }, body: { planId: 'credit' } });
    await tenant.api.send('beginCall', { body: { customerId, ...of } });
    expect((await context()).funding).toMatchObject({
      balanceUsd: 2,
      availableUsd: 1.5,
      continuesBeyondAllowance: true,
    });
  });

  test.each([
    ['HISTORY_SHORTER_THAN_TWO_WEEKS', { createdMs: NOW - 10 * DAY }],
    ['CALLS_WITHOUT_PRICE', { hours: [{ atMs: PRESENT_HOUR - HOUR, completedCalls: 3, unpricedCalls: 1 }] }],
  ])('names %s as missing evidence', async (gap, options) => {
    const { context } = await customer(options);
    expect((await context()).evidence).toEqual({ complete: false, gaps: [gap] });
  });
});

describe('signals', () => {
  const of = async (
    options: Options,
    act: (made: Awaited<ReturnType<typeof customer>>) => Promise<unknown> = async () => undefined,
  ) => {
    const made = await customer(options);
    await act(made);
    const { signals = [], reviewReasons } = await made.context();
    return { signals, reviewReasons };
  };

  test('ALLOWANCE_EXHAUSTED and ALLOWANCE_NEARLY_USED name the meter and the remaining allowance', async () => {
    const used = (amount: number) => of({}, ({ use }) => use('CUSTOM2', amount));
    const evidence = (remaining: number, ratio: number) => ({ limit: 10, used: 10 - remaining, remaining, ratio });
    expect(await used(8)).toEqual({ signals: [], reviewReasons: [] });
    expect(await used(9)).toEqual({
      signals: [
        { code: 'ALLOWANCE_NEARLY_USED', severity: 'WARNING', meter: 'customMeter2', evidence: evidence(1, 0.1) },
      ],
      reviewReasons: [{ reason: 'UPSELL_CANDIDATE', signals: ['ALLOWANCE_NEARLY_USED'] }],
    });
    expect(await used(10)).toEqual({
      signals: [{ code: 'ALLOWANCE_EXHAUSTED', severity: 'CRITICAL', meter: 'customMeter2', evidence: evidence(0, 0) }],
      reviewReasons: [{ reason: 'OUT_OF_ALLOWANCE', signals: ['ALLOWANCE_EXHAUSTED'] }],
    });
  });

  test('ALLOWANCE_PROJECTED_TO_RUN_OUT has the same date as the forecast of the metric', async () => {
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
    expect(reviewReasons).toEqual([
      { reason: 'UPSELL_CANDIDATE', signals: ['ALLOWANCE_NEARLY_USED', 'ALLOWANCE_PROJECTED_TO_RUN_OUT'] },
    ]);
  });

  test("CREDIT_LOW has the days that the balance lasts at the week's rate", async () => {
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
        {
          code: 'CREDIT_LOW',
          severity: 'WARNING',
          meter: null,
          evidence: { balanceUsd: 0.8, chargedLatestWeekUsd: 0.9, daysLeft: 6.22 },
        },
      ],
      reviewReasons: [{ reason: 'FUNDING_AT_RISK', signals: ['CREDIT_LOW'] }],
    });
    expect((await of({ of: onCredit }, spend('0.9'))).signals).toMatchObject([
      { code: 'CREDIT_LOW', severity: 'CRITICAL', evidence: { balanceUsd: 0, daysLeft: 0 } },
    ]);
    expect((await of({ of: onCredit }, spend('1.81'))).signals).toEqual([]);
    // A customer who never had credit cannot run out of it.
    expect((await of({ of: onCredit })).signals).toEqual([]);
  });

  test('PLAN_CHANGE_PENDING names the plan and the day', async () => {
    await operator.send('putPlan', {
      params: { org: tenant.organizationId, planId: 'next' },
      body: { ...PLAN, name: 'Next' },
    });
    const { signals } = await of({}, ({ customerId }) =>
      tenant.api.send('changePlan', {
        params: { customerId },
        body: { planId: 'next', strategy: 'AT_NEXT_REPLENISH' },
      }),
    );
    expect(signals).toMatchObject([
      {
        code: 'PLAN_CHANGE_PENDING',
        meter: null,
        evidence: { usagePlanVersionId: 'next:v1', effectiveAt: PERIOD_END },
      },
    ]);
  });
});
