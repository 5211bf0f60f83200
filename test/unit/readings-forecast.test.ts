/**
 * What a forecast answers: its statuses, its period, its method and quality, and the instant at which an allowance
 * ends.
 */
import { describe, expect, test } from 'vitest';
import { totalAhead } from '../../src/readings/forecast/backtest.ts';
import { blend, leadingMethod } from '../../src/readings/forecast/blend.ts';
import { CANDIDATES, expectation } from '../../src/readings/forecast/candidates.ts';
import { exhaustionOf, projectedAllowanceExhaustionAt } from '../../src/readings/forecast/exhaustion.ts';
import { type ForecastInput, forecast } from '../../src/readings/forecast/forecast.ts';
import { quantityAt, scoreOf, totalDeviation } from '../../src/readings/forecast/interval.ts';
import { DAY_MS, forecastCase, HOUR_MS, NAMED_FAMILIES } from '../support/series.ts';

const START = Date.UTC(2026, 2, 2);

/** `perHour` in every hour of the days before now. */
function steady(days: number, perHour: (hour: number) => number, extra: Partial<ForecastInput> = {}): ForecastInput {
  const nowMs = START + days * DAY_MS;
  const hours = Array.from({ length: days * 24 }, (_, index) => ({
    startMs: START + index * HOUR_MS,
    quantity: perHour(index),
  }));
  const input: ForecastInput = {
    hours: hours.filter(({ quantity }) => quantity > 0),
    firstDataMs: START,
    nowMs,
    periodStartMs: START,
    horizonEndMs: nowMs + 7 * DAY_MS,
    timeZone: 'UTC',
    kind: 'quantity',
    evidence: 'complete',
  };
  return { ...input, ...extra };
}

const ten = () => 10;

describe('status', () => {
  test('six completed days are too few, seven are enough: one week old', () => {
    expect(forecast(steady(6, ten))).toMatchObject({
      status: 'insufficient_history',
      reason: 'HISTORY_TOO_SHORT',
      remaining: null,
      historyDays: 6,
    });
    const week = forecast(steady(7, ten));
    expect(week).toMatchObject({
      status: 'available',
      reason: null,
      historyDays: 7,
      method: 'weekday_seasonal',
      backtest: null,
      quality: 'LOW',
    });
    expect(week.remaining?.expected).toBeCloseTo(7 * 240, 6);
  });

  test('without recorded usage there is no history', () => {
    expect(forecast(steady(30, ten, { firstDataMs: null, hours: [] })).status).toBe('insufficient_history');
  });

  test.each([
    ['not_applicable', 'METRIC_NOT_ENABLED', { evidence: 'not_applicable' }],
    ['not_applicable', 'NO_BOUNDARY', { horizonEndMs: null }],
    ['not_applicable', 'NO_BOUNDARY', { horizonEndMs: Date.UTC(9999, 11, 31) }],
  ] as const)('%s: %s', (status, reason, extra) => {
    expect(forecast(steady(30, ten, extra))).toMatchObject({
      status,
      reason,
      remaining: null,
      period: null,
      method: null,
      quality: null,
    });
  });

  test('partial evidence still has figures, with low quality', () => {
    const partial = forecast(steady(30, ten, { evidence: 'partial' }));
    expect(partial).toMatchObject({ status: 'incomplete', reason: 'EVIDENCE_PARTIAL', quality: 'LOW' });
    expect(partial.remaining?.expected).toBeCloseTo(1680, 3);
  });
});

describe('figures', () => {
  test('a constant series continues, with a backtest error of zero', () => {
    const result = forecast(steady(40, ten));
    expect(result.remaining).toEqual({ expected: 1680, p10: 1680, p50: 1680, p90: 1680 });
    expect(result).toMatchObject({
      quality: 'HIGH',
      backtest: { weightedAbsolutePercentageError: 0, windowHours: 168 },
    });
  });

  test('all zero stays zero', () => {
    const result = forecast(steady(40, () => 0));
    expect(result.remaining).toEqual({ expected: 0, p10: 0, p50: 0, p90: 0 });
    expect(result).toMatchObject({ status: 'available', backtest: { weightedAbsolutePercentageError: null } });
  });

  test('the period is the sum of recorded and remaining', () => {
    const result = forecast(steady(40, ten, { periodStartMs: START + 30 * DAY_MS }));
    expect(result.recorded).toBe(2400);
    expect(result.period).toEqual({ expected: 4080, p10: 4080, p50: 4080, p90: 4080 });
  });

  test('a horizon within the day follows the hourly profile', () => {
    // Ten in each hour from 8 to 18, nothing else; it is midnight.
    const office = (hour: number) => (hour % 24 >= 8 && hour % 24 < 18 ? 10 : 0);
    const until = (hours: number) =>
      forecast(steady(30, office, { horizonEndMs: START + 30 * DAY_MS + hours * HOUR_MS })).remaining?.expected;
    expect([until(6), until(8), until(13), until(20)]).toEqual([0, 0, 50, 100]);
  });

  test('the elapsed part of the current hour is not forecast again', () => {
    const nowMs = START + 30 * DAY_MS + 0.5 * HOUR_MS;
    expect(forecast(steady(30, ten, { nowMs, horizonEndMs: nowMs + 0.5 * HOUR_MS })).remaining?.expected).toBeCloseTo(
      5,
      6,
    );
    expect(forecast(steady(30, ten, { nowMs, horizonEndMs: START + 31 * DAY_MS })).remaining?.expected).toBeCloseTo(
      235,
      6,
    );
  });

  test('a local rhythm stays the same across a clock change', () => {
    // Berlin goes from +1 to +2 on March 29: one unit at 9 local time on each day, 8 and then 7 UTC.
    const change = Date.UTC(2026, 2, 29, 1);
    const nine = (index: number) => {
      const startMs = START + index * HOUR_MS;
      return new Date(startMs + (startMs < change ? 1 : 2) * HOUR_MS).getUTCHours() === 9 ? 100 : 0;
    };
    const nowMs = START + 40 * DAY_MS;
    const before = forecast(
      steady(40, nine, { timeZone: 'Europe/Berlin', horizonEndMs: nowMs + 7 * HOUR_MS }),
    ).remaining;
    const after = forecast(
      steady(40, nine, { timeZone: 'Europe/Berlin', horizonEndMs: nowMs + 8 * HOUR_MS }),
    ).remaining;
    expect([before?.expected, after?.expected]).toEqual([0, 100]);
  });

  test('a yearly horizon with a hundred days of history is flat, wider than a month and of low quality', () => {
    const noisy = (hour: number) => 10 + (Math.floor(hour / 24) % 5);
    const over = (days: number) => forecast(steady(100, noisy, { horizonEndMs: START + (100 + days) * DAY_MS }));
    const width = ({ remaining }: ReturnType<typeof over>) => (remaining?.p90 ?? 0) - (remaining?.p10 ?? 0);
    expect(over(365).quality).toBe('LOW');
    expect(over(30).quality).toBe('HIGH');
    expect((over(365).remaining?.expected ?? 0) / (365 * 288)).toBeCloseTo(1, 1);
    // Wider than independent days would make it.
    expect(width(over(365))).toBeGreaterThan(Math.sqrt(365 / 30) * width(over(30)));
  });

  test('hours before the hundred days and future hours change only the recorded quantity', () => {
    const input = steady(100, ten);
    const more = { startMs: START - 400 * DAY_MS, quantity: 1e6 };
    const later = { startMs: input.nowMs + HOUR_MS, quantity: 1e6 };
    expect(forecast({ ...input, hours: [more, ...input.hours, later] })).toEqual(forecast(input));
  });
});

describe('another level', () => {
  /** 240 a day for two months, and 72 on the last days. */
  const fallen = (lastDays: number) => steady(60, (hour) => (hour >= (60 - lastDays) * 24 ? 3 : 10));
  const week = (lastDays: number) => forecast(fallen(lastDays)).remaining ?? { expected: 0, p10: 0, p50: 0, p90: 0 };

  test('of four days may be temporary: the forecast lies between both levels, and both are within P10 and P90', () => {
    const { expected, p10, p90 } = week(4);
    expect(expected).toBeGreaterThan(7 * 110);
    expect(expected).toBeLessThan(7 * 200);
    expect(p10).toBeLessThanOrEqual(7 * 72);
    expect(p90).toBeGreaterThanOrEqual(7 * 240);
  });

  test('gains weight with each day, and is certain after every weekday occurred', () => {
    const expected = [4, 5, 6, 7, 8].map((days) => week(days).expected);
    for (const [at, value] of expected.entries()) if (at > 0) expect(value).toBeLessThan(expected[at - 1] ?? 0);
    expect(week(8).expected).toBeLessThan(7 * 90);
    expect(week(14).expected).toBeCloseTo(7 * 72, 0);
  });
});

test('the same data give the same bytes in any order of the hours', () => {
  for (const [name, family] of Object.entries(NAMED_FAMILIES)) {
    const { hours, firstDataMs, nowMs, horizonEndMs } = forecastCase(name, family, 4);
    const input: ForecastInput = { ...steady(1, ten), hours, firstDataMs, nowMs, horizonEndMs, periodStartMs: nowMs };
    const once = JSON.stringify(forecast(input));
    expect(JSON.stringify(forecast(structuredClone(input)))).toBe(once);
    expect(JSON.stringify(forecast({ ...input, hours: [...hours].reverse() }))).toBe(once);
  }
});

describe('exhaustion', () => {
  const base = steady(30, ten);
  const when = (remaining: number | null, input = base) =>
    projectedAllowanceExhaustionAt({
      forecast: forecast(input),
      remaining,
      nowMs: input.nowMs,
      timeZone: input.timeZone,
    });

  test('is the instant at which the forecast pace uses up the remaining allowance', () => {
    expect(when(120)).toBe(base.nowMs + 12 * HOUR_MS);
    expect(when(245)).toBe(base.nowMs + 24.5 * HOUR_MS);
  });

  test('counts only the rest of the hour that has begun', () => {
    const nowMs = base.nowMs + 0.5 * HOUR_MS;
    expect(when(5, { ...base, nowMs })).toBe(nowMs + 0.5 * HOUR_MS);
    expect(when(15, { ...base, nowMs })).toBe(nowMs + 1.5 * HOUR_MS);
    // The next day begins with a whole hour.
    expect(when(240, { ...base, nowMs })).toBe(nowMs + 24 * HOUR_MS);
  });

  test('is now if nothing remains, and null if the allowance lasts, is unlimited, or has no forecast', () => {
    expect(when(0)).toBe(base.nowMs);
    expect(when(1681)).toBeNull();
    expect(when(null)).toBeNull();
    expect(when(10, steady(3, ten))).toBeNull();
    expect(
      when(
        10,
        steady(30, () => 0),
      ),
    ).toBeNull();
  });

  test('follows the local clock across a change', () => {
    // 20 hours before the 23-hour day of March 29 in Berlin.
    const nowMs = Date.UTC(2026, 2, 28, 4);
    const hours = base.hours.map(({ startMs, quantity }) => ({ startMs, quantity }));
    const input = { ...base, hours, nowMs, horizonEndMs: nowMs + 5 * DAY_MS, timeZone: 'Europe/Berlin' };
    expect(when(240, input)).toBe(nowMs + 23 * HOUR_MS);
  });
});

describe('the interval of the exhaustion', () => {
  /** Busy and quiet days in turns, so that a forecast has an interval. */
  const uneven = steady(45, (hour) => (Math.floor(hour / 24) % 3 === 0 ? 20 : 8), {
    horizonEndMs: START + 59 * DAY_MS,
  });
  const result = forecast(uneven);
  const of = (remaining: number | null) => exhaustionOf({ forecast: result, remaining, ...uneven });

  test('begins before the expected instant and ends after it', () => {
    const { earliestMs, expectedMs, latestMs } = of(0.5 * (result.remaining?.expected ?? 0)) ?? {};
    expect(uneven.nowMs).toBeLessThan(earliestMs ?? 0);
    expect(earliestMs).toBeLessThan(expectedMs ?? 0);
    expect(expectedMs).toBeLessThan(latestMs ?? 0);
    expect(latestMs).toBeLessThan(uneven.horizonEndMs ?? 0);
  });

  test('is open where an allowance lasts at P10, at the expectation, at P90', () => {
    const { expected = 0, p10 = 0, p90 = 0 } = result.remaining ?? {};
    const open = (remaining: number) => Object.values(of(remaining) ?? {}).map((atMs) => atMs === null);
    expect(open(0.99 * p10)).toEqual([false, false, false]);
    expect(open((p10 + expected) / 2)).toEqual([false, false, true]);
    expect(open((expected + p90) / 2)).toEqual([false, true, true]);
    expect(open(1.01 * p90)).toEqual([true, true, true]);
  });

  test('is now where nothing remains, and absent without a limit', () => {
    expect(of(0)).toEqual({ earliestMs: uneven.nowMs, expectedMs: uneven.nowMs, latestMs: uneven.nowMs });
    expect(of(null)).toBeNull();
  });
});

describe('the days of a forecast', () => {
  const figures = ['expected', 'p10', 'p50', 'p90'] as const;

  test('sum to the whole in every figure, follow each other, and end with the horizon', () => {
    for (const [name, family] of Object.entries(NAMED_FAMILIES)) {
      const { hours, firstDataMs, nowMs, horizonEndMs } = forecastCase(name, family, 7);
      const input = { ...steady(1, ten), hours, firstDataMs, nowMs, horizonEndMs, periodStartMs: nowMs };
      const { days, remaining } = forecast({ ...input, timeZone: 'Europe/Berlin' });
      for (const figure of figures) {
        const sum = days?.reduce((all, day) => all + day[figure], 0);
        expect(sum, `${name} ${figure}`).toBeCloseTo(remaining?.[figure] ?? Number.NaN, 3);
      }
      expect(days?.[0]?.startedAtMs).toBe(nowMs - (nowMs % HOUR_MS));
      days?.forEach(({ endedAtMs }, at) => {
        expect(endedAtMs).toBe(days[at + 1]?.startedAtMs ?? horizonEndMs);
      });
    }
  });

  test('have the rhythm of the week, and their figures in order', () => {
    const office = (hour: number) => ([5, 6].includes(Math.floor(hour / 24) % 7) ? 2 : 10 + (hour % 5));
    const { days } = forecast(steady(42, office));
    expect(days).toHaveLength(7);
    days?.forEach(({ expected, p10, p50, p90 }, at) => {
      if (at >= 5) expect(expected).toBeLessThan(0.3 * (days[0]?.expected ?? 0));
      expect(p10).toBeLessThanOrEqual(p50 + 0.001);
      expect(p50).toBeLessThanOrEqual(p90 + 0.001);
    });
  });

  test('are absent for more than 400 days, and without a forecast', () => {
    const until = (days: number) => forecast(steady(30, ten, { horizonEndMs: START + (30 + days) * DAY_MS })).days;
    expect(until(400)).toHaveLength(400);
    expect(until(401)).toBeNull();
    expect(forecast(steady(3, ten)).days).toBeNull();
  });
});

describe('a total', () => {
  const flat = { days: new Array<number>(28).fill(100), length: 28, factors: new Array<number>(7).fill(1) };
  const past = { ...flat, kept: new Array<number>(28).fill(1), levelStart: 0, end: 28, dayVariance: 0.01 };

  test('of a constant series is the same by every method', () => {
    for (const candidate of CANDIDATES) {
      const total = totalAhead(candidate, past, [1, 1, 0.5]);
      expect(total.expected).toBeCloseTo(250, 6);
      expect(total.level).toBeCloseTo(100, 6);
      expect(total.own).toBeCloseTo(2 * 1000 + 50 ** 1.5, 6);
      expect(total.betweenVariance).toBe(0);
    }
  });

  test('of a level that began on idle weekdays is zero by every method', () => {
    const idle = { ...past, days: flat.days.map(() => 0), factors: [0, 0, 0, 0, 2, 2, 3], end: 4 };
    for (const candidate of CANDIDATES) expect(expectation(candidate, idle).day(0)).toBe(0);
  });

  const one = {
    expected: 100,
    own: 10,
    level: 50,
    levelVariance: 0.25,
    slopeVariance: 0,
    slopeSteps: 0,
    doubtVariance: 0,
    betweenVariance: 0,
  };

  test('blended with itself stays as it is', () => {
    expect(blend([one, one], [0.25, 0.75])).toEqual(one);
  });

  test('blended is the weighted mean, and disagreement between methods adds to its uncertainty', () => {
    const sloping = { ...one, expected: 200, level: 100, slopeVariance: 4, slopeSteps: 3 };
    const blended = blend([one, sloping], [0.75, 0.25]);
    expect(blended).toMatchObject({ expected: 125, level: 62.5, slopeVariance: 1, slopeSteps: 3 });
    expect(blended.betweenVariance).toBe(1875);
  });

  test('is led by the method with the largest weight over all of its candidates', () => {
    const weights = (methods: string, weight: number) =>
      CANDIDATES.map(({ method }) => (method === methods ? weight : 0.01));
    for (const { method } of CANDIDATES) expect(leadingMethod(weights(method, 0.5))).toBe(method);
    expect(leadingMethod(CANDIDATES.map(() => 0))).toBe('weekday_seasonal');
  });

  test('deviates by what its days have in common as often as it has days', () => {
    const spread = { dayVariance: 0.01, levelMeasured: 100 };
    const level = { ...one, own: 0, level: 100, levelVariance: 0.04 };
    const deviation = (days: number) => totalDeviation({ ...level, expected: days * 100 }, spread);
    // The root of 0.01 x 10 x 1,000 x 0.04.
    expect(deviation(1)).toBeCloseTo(2, 9);
    expect(deviation(7)).toBeCloseTo(14, 9);
    const sloping = { ...level, expected: 100, levelVariance: 0, slopeVariance: 0.04, slopeSteps: 3 };
    expect(totalDeviation(sloping, spread)).toBeCloseTo(6, 9);
    expect(totalDeviation({ ...level, expected: 0 }, spread)).toBe(0);
  });
});

test('a quantity at a score has that score', () => {
  for (const z of [-1.5, -1.28, 0, 0.5, 1.28, 2])
    for (const deviation of [1, 10, 30])
      expect(scoreOf(quantityAt(100, deviation, z), 100, deviation)).toBeCloseTo(z, 9);
  expect(quantityAt(100, 0, 1)).toBe(100);
  expect(quantityAt(0, 10, 1)).toBe(0);
});
