/**
 * Weeks, signals and review reasons follow from the facts by thresholds that are written down.
 */
import { describe, expect, test } from 'vitest';
import type { SeriesHours } from '../../src/objects/series-hours.ts';
import { evidenceCompleteness, reviewReasons } from '../../src/readings/usage/review.ts';
import { deriveSignals, SIGNAL_CODES, type SignalInput } from '../../src/readings/usage/signals.ts';
import { compareWeeks, weekPeriods } from '../../src/readings/usage/weeks.ts';
import { DAY_MS, HOUR_MS } from '../support/series.ts';

const NOW = Date.UTC(2026, 5, 15, 13, 30);
const MIDNIGHT = Date.UTC(2026, 5, 15);

describe('weeks', () => {
  test('are the latest seven completed UTC days and the seven before, without today', () => {
    expect(weekPeriods(NOW)).toEqual({
      latest: { startMs: MIDNIGHT - 7 * DAY_MS, endMs: MIDNIGHT },
      preceding: { startMs: MIDNIGHT - 14 * DAY_MS, endMs: MIDNIGHT - 7 * DAY_MS },
    });
    const at = (startMs: number, quantity: number) => ({ startMs, quantity });
    const hours = [
      at(MIDNIGHT, 1_000),
      at(MIDNIGHT - HOUR_MS, 30),
      at(MIDNIGHT - 7 * DAY_MS, 30),
      at(MIDNIGHT - 7 * DAY_MS - HOUR_MS, 20),
      at(MIDNIGHT - 14 * DAY_MS, 20),
      at(MIDNIGHT - 14 * DAY_MS - HOUR_MS, 1_000),
    ];
    expect(compareWeeks(usage(hours), ['inputTokens'], NOW)).toEqual({
      latest: 60,
      preceding: 40,
      change: 20,
      ratio: 1.5,
    });
  });

  test('are rounded to a nano-USD, and their ratio to four decimals', () => {
    const at = (days: number, quantity: number) => ({ startMs: MIDNIGHT - days * DAY_MS, quantity });
    const sums = compareWeeks(
      usage([at(1, 0.000000001), at(2, 0.0000000004), at(8, 0.000000003)]),
      ['inputTokens'],
      NOW,
    );
    expect(sums).toEqual({ latest: 1e-9, preceding: 3e-9, change: -2e-9, ratio: 0.3333 });
  });

  test('have no ratio if the preceding week is empty', () => {
    const one = usage([{ startMs: MIDNIGHT - HOUR_MS, quantity: 5 }]);
    expect(compareWeeks(one, ['inputTokens'], NOW)).toEqual({ latest: 5, preceding: 0, change: 5, ratio: null });
    expect(compareWeeks(usage([]), ['inputTokens'], NOW)).toEqual({ latest: 0, preceding: 0, change: 0, ratio: null });
  });
});

/** Hours in which nothing but so many input tokens was used. */
function usage(hours: readonly { startMs: number; quantity: number }[]): SeriesHours {
  const none = hours.map(() => 0);
  return {
    startMs: hours.map(({ startMs }) => startMs),
    columns: {
      completedCalls: none,
      failedCalls: none,
      inputTokens: hours.map(({ quantity }) => quantity),
      outputTokens: none,
      costUsd: none,
      agenticApi: none,
      customMeter1: none,
      customMeter2: none,
      unpricedCalls: none,
    },
  };
}

const week = (latest: number, preceding: number) => ({
  latest,
  preceding,
  change: latest - preceding,
  ratio: preceding === 0 ? null : latest / preceding,
});

function facts(extra: Partial<SignalInput> = {}): SignalInput {
  return {
    nowMs: NOW,
    calls: week(100, 100),
    failedCalls: week(1, 1),
    dollars: week(10, 10),
    lastCallAtMs: NOW - HOUR_MS,
    meters: [],
    credit: null,
    pendingPlan: null,
    ...extra,
  };
}

function meter(
  limit: number,
  used: number,
  projectedExhaustionAtMs: number | null = null,
): SignalInput['meters'][number] {
  const remaining = Math.max(0, limit - used);
  return {
    meter: 'agenticApi',
    summary: { limit, used, remaining, unlimited: false, ratio: limit === 0 ? null : remaining / limit },
    projectedExhaustionAtMs,
  };
}

const codes = (extra: Partial<SignalInput>) => deriveSignals(facts(extra)).map(({ code }) => code);

describe('signals', () => {
  test.each<[string, Partial<SignalInput>, string[]]>([
    ['nothing new', {}, []],
    ['a quarter more calls', { calls: week(125, 100) }, ['USAGE_RISING']],
    ['a little less than a quarter more', { calls: week(124, 100) }, []],
    ['calls from nothing', { calls: week(50, 0) }, ['USAGE_RISING']],
    ['a quarter fewer calls', { calls: week(75, 100) }, ['USAGE_FALLING']],
    ['too few calls to compare', { calls: week(12, 6), dollars: week(50, 1) }, []],
    ['a quarter more spend', { dollars: week(12.5, 10) }, ['SPEND_RISING']],
    ['an allowance all used', { meters: [meter(100, 100)] }, ['ALLOWANCE_EXHAUSTED']],
    ['an allowance nine tenths used', { meters: [meter(100, 90)] }, ['ALLOWANCE_NEARLY_USED']],
    ['an allowance less used', { meters: [meter(100, 89)] }, []],
    ['an allowance that will run out', { meters: [meter(100, 50, NOW + DAY_MS)] }, ['ALLOWANCE_PROJECTED_TO_RUN_OUT']],
    ['an allowance of zero, which was never there', { meters: [meter(0, 0)] }, []],
    ['failures above their share', { failedCalls: week(5, 1) }, ['ERRORS_ELEVATED']],
    ['failures as many as ever', { failedCalls: week(8, 7) }, []],
    ['four failures', { calls: week(20, 20), failedCalls: week(4, 0) }, []],
    ['a week without a call', { lastCallAtMs: NOW - 7 * DAY_MS }, ['INACTIVE']],
    ['never a call', { lastCallAtMs: null }, []],
    ['credit for six days', { credit: { balanceUsd: 6, chargedLatestWeekUsd: 7 } }, ['CREDIT_LOW']],
    ['credit for seven days', { credit: { balanceUsd: 7, chargedLatestWeekUsd: 7 } }, []],
    ['no credit', { credit: { balanceUsd: 0, chargedLatestWeekUsd: 0 } }, ['CREDIT_LOW']],
    [
      'a pending plan',
      { pendingPlan: { usagePlanVersionId: 'pro@2', effectiveAtMs: NOW + DAY_MS } },
      ['PLAN_CHANGE_PENDING'],
    ],
  ])('%s', (_of, extra, expected) => {
    expect(codes(extra)).toEqual(expected);
  });

  test('are sorted by their list, each with evidence', () => {
    const signals = deriveSignals(
      facts({
        calls: week(200, 100),
        failedCalls: week(50, 1),
        meters: [meter(100, 95, NOW + DAY_MS), { ...meter(10, 10), meter: 'customMeter1' }],
        pendingPlan: { usagePlanVersionId: 'pro@2', effectiveAtMs: NOW + DAY_MS },
      }),
    );
    const order = signals.map(({ code }) => SIGNAL_CODES.indexOf(code));
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(signals).toHaveLength(6);
    for (const { evidence } of signals) expect(Object.keys(evidence).length).toBeGreaterThan(0);
    expect(signals[0]).toMatchObject({
      code: 'ALLOWANCE_EXHAUSTED',
      meter: 'customMeter1',
      severity: 'CRITICAL',
      evidence: { limit: 10, used: 10 },
    });
    expect(reviewReasons(signals)).toEqual([
      { reason: 'OUT_OF_ALLOWANCE', signals: ['ALLOWANCE_EXHAUSTED'] },
      { reason: 'QUALITY_AT_RISK', signals: ['ERRORS_ELEVATED'] },
      { reason: 'UPSELL_CANDIDATE', signals: ['ALLOWANCE_NEARLY_USED', 'ALLOWANCE_PROJECTED_TO_RUN_OUT'] },
    ]);
  });
});

test('credit of zero is critical, and little credit is a warning with the days it lasts', () => {
  const [none] = deriveSignals(facts({ credit: { balanceUsd: 0, chargedLatestWeekUsd: 0 } }));
  expect(none).toMatchObject({ severity: 'CRITICAL', evidence: { balanceUsd: 0, daysLeft: null } });
  const [owed] = deriveSignals(facts({ credit: { balanceUsd: -3, chargedLatestWeekUsd: 7 } }));
  expect(owed).toMatchObject({ severity: 'CRITICAL', evidence: { daysLeft: 0 } });
  const [low] = deriveSignals(facts({ credit: { balanceUsd: 0.5, chargedLatestWeekUsd: 7 } }));
  expect(low).toMatchObject({ severity: 'WARNING', evidence: { daysLeft: 0.5 } });
});

test('weeks that rise show both and ask for no review; a fall and a pause ask for one', () => {
  const rising = deriveSignals(facts({ calls: week(61, 40), dollars: week(9, 4) }));
  expect(rising).toEqual([
    { code: 'USAGE_RISING', severity: 'INFO', meter: null, evidence: week(61, 40) },
    { code: 'SPEND_RISING', severity: 'INFO', meter: null, evidence: week(9, 4) },
  ]);
  expect(reviewReasons(rising)).toEqual([]);
  const falling = deriveSignals(facts({ calls: week(0, 40), lastCallAtMs: NOW - 9 * DAY_MS }));
  expect(falling[1]).toMatchObject({ code: 'USAGE_FALLING', severity: 'WARNING', evidence: week(0, 40) });
  expect(reviewReasons(falling)).toEqual([{ reason: 'CHURN_RISK', signals: ['INACTIVE', 'USAGE_FALLING'] }]);
});

test('a week without a call says how many whole days it was', () => {
  const [inactive] = deriveSignals(facts({ lastCallAtMs: NOW - 9.5 * DAY_MS }));
  expect(inactive).toMatchObject({ code: 'INACTIVE', evidence: { daysSince: 9 } });
});

test('elevated errors show both weeks as shares of their calls', () => {
  const [errors] = deriveSignals(facts({ calls: week(90, 110), failedCalls: week(9, 1) }));
  expect(errors).toMatchObject({
    code: 'ERRORS_ELEVATED',
    evidence: { calls: 90, failedCalls: 9, failedShare: 0.1, failedSharePreceding: 0.0091 },
  });
});

test('evidence is complete unless it lists a gap', () => {
  const complete = {
    firstDataMs: MIDNIGHT - 30 * DAY_MS,
    keptFromMs: MIDNIGHT - 100 * DAY_MS,
    periodStartMs: MIDNIGHT - 14 * DAY_MS,
    comparedFromMs: MIDNIGHT - 14 * DAY_MS,
    callsWithoutPrice: 0,
  };
  expect(evidenceCompleteness(complete)).toEqual({ complete: true, gaps: [] });
  // Hours that are stored from the very start of the requested period are complete.
  for (const exact of [
    { firstDataMs: complete.comparedFromMs },
    { keptFromMs: complete.periodStartMs },
    { firstDataMs: MIDNIGHT - 14 * DAY_MS, keptFromMs: MIDNIGHT - 14 * DAY_MS, periodStartMs: MIDNIGHT - 30 * DAY_MS },
  ])
    expect(evidenceCompleteness({ ...complete, ...exact }).gaps).toEqual([]);
  expect(evidenceCompleteness({ ...complete, firstDataMs: null, callsWithoutPrice: 3 })).toEqual({
    complete: false,
    gaps: ['HISTORY_SHORTER_THAN_TWO_WEEKS', 'CALLS_WITHOUT_PRICE'],
  });
  // A yearly period reaches further back than the hours that are kept.
  expect(
    evidenceCompleteness({
      ...complete,
      keptFromMs: MIDNIGHT - 100 * DAY_MS,
      periodStartMs: MIDNIGHT - 200 * DAY_MS,
      firstDataMs: MIDNIGHT - 300 * DAY_MS,
    }).gaps,
  ).toEqual(['PERIOD_NOT_COVERED']);
});
