/**
 * The facts of an episode, and cases without one: small counts, intermittent use, short histories, a new level.
 */
import { describe, expect, test } from 'vitest';
import { seasonalExpectation } from '../../src/readings/anomalies/baseline.ts';
import { dayBuckets, detectAnomalies, hourBuckets } from '../../src/readings/anomalies/detect.ts';
import { relativeNoise, scoreFor, scoreLimit } from '../../src/readings/anomalies/dispersion.ts';
import { NO_USAGE, type UsageBucket } from '../../src/readings/anomalies/episode.ts';
import { DAY_MS, HOUR_MS } from '../support/series.ts';

const START = Date.UTC(2026, 0, 5);
type Change = Partial<Omit<UsageBucket, 'startMs' | 'endMs'>>;

/**
 * Days of 100 calls at one each, one of them failed, changed by `change`. A small rhythm keeps them from being all the
 * same.
 */
function days(count: number, change: (day: number) => Change = () => ({})): UsageBucket[] {
  const list = Array.from({ length: count }, (_, day) => {
    const calls = 100 + (day % 3);
    return {
      startMs: START + day * DAY_MS,
      spend: calls,
      calls,
      failedCalls: 1,
      models: { 'a/one': calls },
      ...change(day),
    };
  });
  return dayBuckets(list, { fromMs: START, toMs: START + count * DAY_MS });
}

const found = (buckets: UsageBucket[]) =>
  detectAnomalies(buckets, 'day').map(({ kind, startMs, endMs }) => [
    kind,
    (startMs - START) / DAY_MS,
    (endMs - START) / DAY_MS,
  ]);

test('episodes are sorted by their start, then by their kind', () => {
  const mixed = days(60, (day) =>
    day === 40
      ? { calls: 600, spend: 600, failedCalls: 400, models: { 'b/two': 600 } }
      : day >= 52
        ? { failedCalls: 60 }
        : {},
  );
  expect(found(mixed).map(([kind, start]) => [kind, start])).toEqual([
    ['ERROR_BURST', 40],
    ['NEW_EXPENSIVE_MODEL', 40],
    ['SPEND_SPIKE', 40],
    ['ERROR_BURST', 52],
  ]);
});

test('fourteen days are enough, and an hour less is not', () => {
  const spike = (day: number): Change => (day === 12 ? { spend: 5000, calls: 5000 } : {});
  expect(found(days(14, spike))).toEqual([['SPEND_SPIKE', 12, 13]]);
  expect(found(days(13, spike))).toEqual([]);
});

test('a steady history has no episodes', () => {
  expect(found(days(60))).toEqual([]);
});

describe('spend spikes', () => {
  const spike = days(60, (day) => (day === 30 || day === 31 ? { calls: 600, spend: 600 } : {}));

  test('contain observed and expected spend, and the evidence', () => {
    const [episode, ...others] = detectAnomalies(spike, 'day');
    expect(others).toEqual([]);
    expect(episode).toMatchObject({
      kind: 'SPEND_SPIKE',
      startMs: START + 30 * DAY_MS,
      endMs: START + 32 * DAY_MS,
      observed: 1200,
      severity: 'HIGH',
    });
    expect(episode?.expected).toBeCloseTo(202, -1);
    expect(episode?.evidence).toHaveProperty('ratio', expect.closeTo(6, 0));
    // 1,200 of 202 expected, to two decimals.
    expect(episode?.evidence.ratio).toBe(Math.round((1200 / (episode?.expected ?? 0)) * 100) / 100);
  });

  test('are not found if nothing was called or nothing was spent', () => {
    expect(found(days(30, () => ({ calls: 0, spend: 0, failedCalls: 0, models: {} })))).toEqual([]);
    expect(found(days(30, (day) => ({ calls: day === 20 ? 1 : 0, failedCalls: 0, spend: 0, models: {} })))).toEqual([]);
  });

  test('of a customer with a few calls are measured in calls, however little one costs', () => {
    // One call a day and 40 on one day; a single additional call is not an episode.
    const few = (calls: number, cost: number) =>
      found(
        days(40, (day) => ({
          calls: day === 30 ? calls : 1,
          spend: cost * (day === 30 ? calls : 1),
          failedCalls: 0,
          models: {},
        })),
      );
    for (const cost of [0.0001, 1, 1000]) {
      expect(few(40, cost)).toEqual([['SPEND_SPIKE', 30, 31]]);
      expect(few(2, cost)).toEqual([]);
    }
  });

  test('that are too weak in each hour are found in the day', () => {
    // Ten calls in an hour, thirteen in the hours of one day, with noise that hides an hour of it.
    const hours = Array.from({ length: 40 * 24 }, (_, hour) => {
      const calls = (Math.floor(hour / 24) === 30 ? 18 : 10) + ([0, 6, -5, 3, -4][hour % 5] ?? 0);
      return { startMs: START + hour * HOUR_MS, spend: calls, calls, failedCalls: 0, models: {} };
    });
    const [episode, ...others] = detectAnomalies(
      hourBuckets(hours, { fromMs: START, toMs: START + 40 * DAY_MS }),
      'hour',
    );
    expect(others).toEqual([]);
    expect(episode).toMatchObject({ kind: 'SPEND_SPIKE', startMs: START + 30 * DAY_MS, endMs: START + 31 * DAY_MS });
    expect(episode?.observed).toBe(hours.slice(720, 744).reduce((sum, { spend }) => sum + spend, 0));
  });

  test('do not include a lasting new level', () => {
    expect(found(days(60, (day) => (day >= 30 ? { calls: 300, spend: 300 } : {})))).toEqual([]);
  });

  test('a spike of hours is found among hours', () => {
    const hours = Array.from({ length: 30 * 24 }, (_, hour) => {
      const calls = hour >= 500 && hour < 503 ? 120 : 10 + (hour % 4);
      return { startMs: START + hour * HOUR_MS, spend: calls, calls, failedCalls: 0, models: {} };
    });
    const episodes = detectAnomalies(hourBuckets(hours, { fromMs: START, toMs: START + 30 * DAY_MS }), 'hour');
    expect(
      episodes.map(({ kind, startMs, endMs }) => [kind, (startMs - START) / HOUR_MS, (endMs - START) / HOUR_MS]),
    ).toEqual([['SPEND_SPIKE', 500, 503]]);
  });
});

describe('silence', () => {
  const nothing: Change = { calls: 0, spend: 0, failedCalls: 0, models: {} };

  test('is a stop of regular use, up to the present if it is ongoing', () => {
    expect(found(days(60, (day) => (day >= 54 ? nothing : {})))).toEqual([['SILENCE', 54, 60]]);
    expect(found(days(60, (day) => (day >= 30 && day < 45 ? nothing : {})))).toEqual([['SILENCE', 30, 45]]);
  });

  test('has its number of days in its evidence', () => {
    const [episode] = detectAnomalies(
      days(60, (day) => (day >= 30 && day < 45 ? nothing : {})),
      'day',
    );
    expect(episode?.evidence).toMatchObject({ days: 15, activeShareBefore: 1 });
    expect(episode).toMatchObject({ observed: 0, severity: 'HIGH' });
    expect(episode?.expected).toBeCloseTo(15 * 101, -1);
  });

  test('has the share of active days before it in its evidence, to three decimals', () => {
    const [single, episode] = detectAnomalies(
      days(60, (day) => (day >= 44 || day === 20 ? nothing : {})),
      'day',
    );
    expect(single?.evidence).toMatchObject({ days: 1, activeShareBefore: 1 });
    // 27 of the 28 days before it.
    expect(episode?.evidence).toMatchObject({ days: 16, activeShareBefore: 0.964 });
  });

  test('can begin on the eleventh day, and is found each time', () => {
    expect(found(days(40, (day) => (day >= 10 && day < 18 ? nothing : {})))).toEqual([['SILENCE', 10, 18]]);
    expect(found(days(60, (day) => ((day >= 20 && day < 30) || day >= 50 ? nothing : {})))).toEqual([
      ['SILENCE', 20, 30],
      ['SILENCE', 50, 60],
    ]);
  });

  test('includes days with next to no calls, and none with a tenth of them', () => {
    const calls = (count: number) =>
      found(days(60, (day) => (day >= 50 ? { calls: count, spend: count, failedCalls: 0 } : {})));
    expect(calls(2)).toEqual([['SILENCE', 50, 60]]);
    expect(calls(10)).toEqual([]);
  });

  test('is not a weekend of a customer without weekend usage', () => {
    const weekend = (day: number) => day % 7 === 5 || day % 7 === 6;
    expect(found(days(60, (day) => (weekend(day) ? nothing : {})))).toEqual([]);
    expect(found(days(60, (day) => (weekend(day) || day >= 56 ? nothing : {}))).map(([kind]) => kind)).toEqual([
      'SILENCE',
    ]);
  });

  test('is not a pause of a customer with intermittent usage', () => {
    expect(found(days(60, (day) => ((day * 7919) % 10 < 7 ? nothing : {})))).toEqual([]);
  });
});

describe('error bursts', () => {
  test('are a share of failures far above the usual one', () => {
    const [episode] = detectAnomalies(
      days(60, (day) => (day === 40 ? { failedCalls: 60 } : {})),
      'day',
    );
    expect(episode).toMatchObject({
      kind: 'ERROR_BURST',
      observed: 60,
      severity: 'HIGH',
      startMs: START + 40 * DAY_MS,
    });
    expect(episode?.evidence).toMatchObject({ calls: 101, failedShare: 0.5941 });
  });

  test('are found if some days have no calls', () => {
    const idle: Change = { calls: 0, spend: 0, failedCalls: 0, models: {} };
    expect(found(days(60, (day) => (day === 40 ? { failedCalls: 60 } : day % 7 === 6 ? idle : {})))).toEqual([
      ['ERROR_BURST', 40, 41],
    ]);
  });

  test('of single hours are found in their quarter of the day, with all failures of it', () => {
    const hours = Array.from({ length: 30 * 24 }, (_, hour) => ({
      startMs: START + hour * HOUR_MS,
      spend: 4,
      calls: 4,
      failedCalls: hour >= 480 && hour < 486 ? 2 : 0,
      models: {},
    }));
    const [episode, ...others] = detectAnomalies(
      hourBuckets(hours, { fromMs: START, toMs: START + 30 * DAY_MS }),
      'hour',
    );
    expect(others).toEqual([]);
    expect(episode).toMatchObject({ kind: 'ERROR_BURST', startMs: START + 480 * HOUR_MS, observed: 12 });
    expect(episode?.evidence).toMatchObject({ calls: 24, failedShare: 0.5 });
  });

  test.each([
    [50, 'HIGH'],
    [49, 'MEDIUM'],
    [20, 'MEDIUM'],
    [19, 'LOW'],
  ])('of %i failures of 100 calls are %s', (failedCalls, severity) => {
    const burst = days(60, (day) => (day === 40 ? { calls: 100, spend: 100, failedCalls } : {}));
    expect(detectAnomalies(burst, 'day')).toMatchObject([{ kind: 'ERROR_BURST', severity }]);
  });

  test('are found on the last day of a series too, in its hours', () => {
    const hours = Array.from({ length: 20 * 24 }, (_, hour) => ({
      startMs: START + hour * HOUR_MS,
      spend: 4,
      calls: 4,
      failedCalls: hour >= 456 && hour % 2 === 0 ? 2 : 0,
      models: {},
    }));
    const [episode] = detectAnomalies(hourBuckets(hours, { fromMs: START, toMs: START + 20 * DAY_MS }), 'hour');
    expect(episode).toMatchObject({ kind: 'ERROR_BURST', endMs: START + 20 * DAY_MS, observed: 24 });
  });

  test('are not two failures of three calls', () => {
    expect(found(days(60, (day) => (day === 40 ? { calls: 3, spend: 3, failedCalls: 2 } : {})))).toEqual([
      ['USAGE_DROP', 40, 41],
    ]);
  });

  test('are not the failures of a customer whose calls often fail', () => {
    expect(found(days(60, (day) => ({ failedCalls: 30 + ((day * 7) % 11) })))).toEqual([]);
  });
});

describe('new expensive models', () => {
  const from = (first: number, share: number, spend = 100) =>
    days(60, (day) => (day >= first ? { models: { 'a/one': (1 - share) * spend, 'b/two': share * spend } } : {}));

  test('were never used before and take a large share of the spend', () => {
    const [episode] = detectAnomalies(from(40, 0.7), 'day');
    expect(episode).toMatchObject({
      kind: 'NEW_EXPENSIVE_MODEL',
      startMs: START + 40 * DAY_MS,
      endMs: START + 47 * DAY_MS,
      severity: 'HIGH',
    });
    expect(episode?.evidence).toEqual({ modelKey: 'b/two', shareOfSpend: expect.closeTo(0.7, 1), days: 7 });
    expect(episode?.observed).toBe(490);
  });

  test.each([
    [0.2, 'LOW'],
    [0.35, 'MEDIUM'],
    [0.6, 'HIGH'],
  ])('with %d of the spend are %s, and not below a fifth', (share, severity) => {
    const of = (part: number) =>
      days(60, (day) => (day >= 40 ? { spend: 100, models: { 'a/one': 100 - part, 'b/two': part } } : { spend: 100 }));
    expect(detectAnomalies(of(share * 100), 'day')).toMatchObject([{ kind: 'NEW_EXPENSIVE_MODEL', severity }]);
    expect(detectAnomalies(of(19), 'day')).toEqual([]);
  });

  test('are judged by the days so far if a week has not passed', () => {
    const [episode] = detectAnomalies(from(57, 0.7), 'day');
    expect(episode).toMatchObject({ kind: 'NEW_EXPENSIVE_MODEL', endMs: START + 60 * DAY_MS, evidence: { days: 3 } });
  });

  test('must be expensive compared with a usual day, not only with a quiet one', () => {
    // On the last day the customer made one call, with a new model.
    const quiet = (spend: number) =>
      found(days(60, (day) => (day === 59 ? { calls: 9, spend, failedCalls: 0, models: { 'b/two': spend } } : {})));
    expect(quiet(15)).toEqual([['USAGE_DROP', 59, 60]]);
    expect(quiet(25)).toEqual([
      ['NEW_EXPENSIVE_MODEL', 59, 60],
      ['USAGE_DROP', 59, 60],
    ]);
  });

  test('are neither models used from the start nor cheap ones', () => {
    expect(found(from(5, 0.7))).toEqual([]);
    expect(found(from(40, 0.05))).toEqual([]);
  });
});

test('thirteen days are too few to know what is usual', () => {
  expect(found(days(13, (day) => (day === 12 ? { spend: 5000, calls: 5000 } : {})))).toEqual([]);
});

test('2,500 buckets are read, and one more is rejected', () => {
  expect(found(days(2_500))).toEqual([]);
  expect(() => detectAnomalies(days(2_501), 'day')).toThrow(RangeError);
});

test('hours and days without usage are empty buckets, and incomplete ones are left out', () => {
  const used = { startMs: START, spend: 3, calls: 2, failedCalls: 1, models: { 'a/one': 3 } };
  const empty = NO_USAGE;
  for (const [read, size] of [
    [hourBuckets, HOUR_MS],
    [dayBuckets, DAY_MS],
  ] as const)
    expect(read([used], { fromMs: START - size - 1, toMs: START + 2 * size + 1 })).toEqual([
      { ...empty, startMs: START - size, endMs: START },
      { ...NO_USAGE, ...used, endMs: START + size },
      { ...empty, startMs: START + size, endMs: START + 2 * size },
    ]);
});

test('the score limit is the normal quantile of the chance for each bucket', () => {
  for (const [buckets, chance, quantile] of [
    [1, 0.025, 1.95996],
    [1, 0.001, 3.09023],
    [100, 0.02, 3.54008],
    [2_400, 0.02, 4.30542],
  ] as const)
    expect(Math.abs(scoreLimit(buckets, chance) - quantile)).toBeLessThan(0.0005);
});

test('a score counts deviations: zero at the expectation, smaller in a noisy series', () => {
  expect(scoreFor(1, 0.1)(100, 100)).toBe(0);
  // Both terms alike: ten percent of 100 calls is one deviation, as is the root of 100.
  expect(scoreFor(1, 0.1)(120, 100)).toBeCloseTo(1.31, 2);
  expect(scoreFor(1, 0.1)(80, 100)).toBeLessThan(-1);
  expect(scoreFor(1, 1)(120, 100)).toBeLessThan(0.2);
  // A cost per call of two: 200 is 100 calls.
  expect(scoreFor(2, 0.1)(240, 200)).toBeCloseTo(scoreFor(1, 0.1)(120, 100), 10);
});

test('the relative noise of a series is its usual deviation, between five percent and fourfold', () => {
  const expected = new Array<number>(40).fill(10_000);
  const around = (share: number) => expected.map((mean, at) => mean * (1 + (at % 2 === 0 ? share : -share)));
  expect(relativeNoise(expected, expected, 1)).toBeCloseTo(0.05, 2);
  // The median deviation of a normal distribution is 0.6745 of its standard deviation.
  expect(relativeNoise(around(0.2), expected, 1)).toBeCloseTo(0.2 / 0.6745, 1);
  // Buckets in which less than half a call is expected measure nothing.
  expect(relativeNoise([0, 9, 0], [0.4, 0.4, 0.4], 1)).toBe(4);
});

describe('the expectation', () => {
  test('of a constant series is the series, in days and in hours', () => {
    const daily = new Array<number>(28).fill(50);
    expect(seasonalExpectation(daily, 1)).toEqual(daily);
    const office = Array.from({ length: 28 * 24 }, (_, hour) => (hour % 24 >= 8 && hour % 24 < 18 ? 10 : 0));
    for (const [at, expected] of seasonalExpectation(office, 24).entries())
      expect(expected).toBeCloseTo(office[at] ?? 0, 6);
  });

  test('knows idle weekdays, and a weekday on which nothing is known is an ordinary one', () => {
    const workdays = Array.from({ length: 28 }, (_, day) => (day % 7 < 5 ? 70 : 0));
    for (const [at, expected] of seasonalExpectation(workdays, 1).entries())
      expect(expected).toBeCloseTo(workdays[at] ?? 0, 6);
    const steady = new Array<number>(28).fill(70);
    const sundays = steady.map((_, day) => day % 7 === 6);
    for (const expected of seasonalExpectation(steady, 1, sundays)) expect(expected).toBeCloseTo(70, 6);
  });

  test('of hours on an idle weekday is zero, and finite after a silent start', () => {
    const hours = Array.from({ length: 35 * 24 }, (_, hour) =>
      hour >= 21 * 24 && Math.floor(hour / 24) % 7 < 5 ? 24 : 0,
    );
    for (const expected of seasonalExpectation(hours, 24)) {
      expect(expected).toBeGreaterThanOrEqual(0);
      expect(expected).toBeLessThanOrEqual(48);
    }
  });
});
