/**
 * A forecast's answer: its statuses, its period, its method and quality, and the instant at which an allowance ends.
 */
import { describe, expect, test } from 'vitest';
import { forecastExhaustion } from '../../src/readings/forecast/exhaustion.ts';
import { type ForecastInput, forecast } from '../../src/readings/forecast/forecast.ts';
import { computeQuantiles, windowSpreads } from '../../src/readings/forecast/interval.ts';
import { MEMORIES, weighMemories } from '../../src/readings/forecast/level.ts';
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
      method: 'recent_level',
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

  test('of four days may be temporary: the forecast lies between both levels, and is less certain', () => {
    const { expected, p10, p90 } = week(4);
    expect(expected).toBeGreaterThan(7 * 72);
    expect(expected).toBeLessThan(7 * 200);
    expect(p90 - p10).toBeGreaterThan(0.2 * expected);
    expect(week(0).p90 - week(0).p10).toBe(0);
  });

  test('gains weight with each day, and is nearly certain after two weeks', () => {
    const expected = [4, 5, 6, 7, 8].map((days) => week(days).expected);
    for (const [at, value] of expected.entries()) if (at > 0) expect(value).toBeLessThan(expected[at - 1] ?? 0);
    expect(week(8).expected).toBeLessThan(7 * 90);
    expect(week(14).expected).toBeLessThan(7 * 75);
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
  const when = (remaining: number | null, input = base) => {
    const { nowMs, timeZone } = input;
    return forecastExhaustion({ forecast: forecast(input), remaining, nowMs, timeZone })?.expectedMs ?? null;
  };

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
  const of = (remaining: number | null) => forecastExhaustion({ forecast: result, remaining, ...uneven });

  test('begins before the expected instant and ends after it', () => {
    const { earliestMs, expectedMs, latestMs } = of(0.5 * (result.remaining?.expected ?? 0)) ?? {};
    expect(uneven.nowMs).toBeLessThan(earliestMs ?? 0);
    expect(earliestMs).toBeLessThan(expectedMs ?? 0);
    expect(expectedMs).toBeLessThan(latestMs ?? 0);
    expect(latestMs).toBeLessThan(uneven.horizonEndMs ?? 0);
  });

  test('is open if an allowance lasts at P10, at the expectation, at P90', () => {
    const { expected = 0, p10 = 0, p90 = 0 } = result.remaining ?? {};
    const open = (remaining: number) => Object.values(of(remaining) ?? {}).map((atMs) => atMs === null);
    expect(open(0.99 * p10)).toEqual([false, false, false]);
    expect(open((p10 + expected) / 2)).toEqual([false, false, true]);
    expect(open((expected + p90) / 2)).toEqual([false, true, true]);
    expect(open(1.01 * p90)).toEqual([true, true, true]);
  });

  test('is now if nothing remains, and absent without a limit', () => {
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
    const { days, method } = forecast(steady(42, office));
    expect(method).toBe('weekday_seasonal');
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

describe('a memory', () => {
  test('counts half of one with a tenth less error, and all count alike before any error', () => {
    expect(weighMemories(MEMORIES.map(() => 0))).toEqual([1 / 3, 1 / 3, 1 / 3]);
    const [first = 0, second = 0, third = 0] = weighMemories([100, 110, 200]);
    expect(first + second + third).toBeCloseTo(1, 9);
    expect(second / first).toBeCloseTo(0.47, 2);
    expect(third).toBeLessThan(0.01);
  });

  test('that never erred is the only one that counts', () => {
    expect(weighMemories([5, 0, 1])).toEqual([0, 1, 0]);
  });
});

describe('the interval', () => {
  const trials = (outcomes: number[]) => outcomes.map((outcome) => ({ expected: 100, outcome }));
  const day = { days: 1, hours: 24 };
  const week = { days: 7, hours: 24 };
  const month = { days: 30, hours: 24 };
  const calm = trials(Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? 95 : 105)));
  const of = (window: { days: number; hours: number }, own: { expected: number; outcome: number }[] = []) => {
    return { window, trials: own, expected: 100 * window.days };
  };

  test('is as wide as own errors were', () => {
    const erratic = trials(Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? 70 : 130)));
    const width = (own: typeof calm) => {
      const { p10, p90 } = computeQuantiles(windowSpreads([of(day, own)]), 100, 1);
      return p90 - p10;
    };
    expect(width(calm)).toBeGreaterThan(9);
    expect(width(calm)).toBeLessThan(13);
    expect(width(erratic) / width(calm)).toBeGreaterThan(5);
  });

  test('reaches further to the side on which outcomes stray', () => {
    const upward = trials(Array.from({ length: 60 }, (_, at) => (at % 5 === 0 ? 200 : 90)));
    const { p10, p90 } = computeQuantiles(windowSpreads([of(day, upward)]), 100, 1);
    expect(p90 - 100).toBeGreaterThan(1.3 * (100 - p10));
  });

  test('of recent errors counts more than of old ones', () => {
    const settled = trials(Array.from({ length: 60 }, (_, at) => (at < 20 ? 30 : at % 2 === 0 ? 95 : 105)));
    const unsettled = trials(Array.from({ length: 60 }, (_, at) => (at >= 40 ? 30 : at % 2 === 0 ? 95 : 105)));
    const width = (own: typeof calm) => computeQuantiles(windowSpreads([of(day, own)]), 100, 1).p10;
    expect(width(unsettled)).toBeLessThan(width(settled) - 30);
  });

  test('of a window that was never tried is relatively wider than that of a shorter one', () => {
    const spreads = windowSpreads([of(day, calm), of(week), of(month)]);
    const relative = (days: number) => {
      const { p10, p90 } = computeQuantiles(spreads, 100 * days, days);
      return (p90 - p10) / (100 * days);
    };
    expect(relative(7)).toBeGreaterThan(relative(1));
    expect(relative(30)).toBeGreaterThanOrEqual(relative(7));
    expect(relative(60)).toBeCloseTo(relative(30), 3);
    expect(relative(3)).toBeGreaterThan(relative(1));
    expect(relative(3)).toBeLessThan(relative(7));
  });

  test('is nothing if nothing is expected, and if no error ever was', () => {
    expect(computeQuantiles(windowSpreads([of(day, calm)]), 0, 1)).toEqual({ p10: 0, p50: 0, p90: 0 });
    const exact = trials(Array.from({ length: 20 }, () => 100));
    const { p10, p90 } = computeQuantiles(windowSpreads([of(day, exact)]), 100, 1);
    expect([p10, p90].map((quantity) => quantity.toFixed(9))).toEqual(['100.000000000', '100.000000000']);
  });
});
