/**
 * What an episode says, and what is none: small counts, intermittent use, short histories, a new level.
 */
import { describe, expect, test } from 'vitest';
import { dayBuckets, detectAnomalies, hourBuckets } from '../../src/readings/anomalies/detect.ts';
import { BUCKETS_MAX, type UsageBucket } from '../../src/readings/anomalies/episode.ts';
import { DAY_MS, HOUR_MS } from '../support/series.ts';

const START = Date.UTC(2026, 0, 5);
type Change = Partial<Omit<UsageBucket, 'startMs' | 'endMs'>>;

/**
 * Days of 100 calls at one each, of which one fails, bent by `change`. A small rhythm keeps them from being all the
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
  return dayBuckets(list, START, START + count * DAY_MS);
}

const found = (buckets: UsageBucket[]) =>
  detectAnomalies(buckets, 'day').map(({ kind, startMs, endMs }) => [
    kind,
    (startMs - START) / DAY_MS,
    (endMs - START) / DAY_MS,
  ]);

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
  });

  test('do not include a lasting new level', () => {
    expect(found(days(60, (day) => (day >= 30 ? { calls: 300, spend: 300 } : {})))).toEqual([]);
  });

  test('a spike of hours is found among hours', () => {
    const hours = Array.from({ length: 30 * 24 }, (_, hour) => {
      const calls = hour >= 500 && hour < 503 ? 120 : 10 + (hour % 4);
      return { startMs: START + hour * HOUR_MS, spend: calls, calls, failedCalls: 0, models: {} };
    });
    const episodes = detectAnomalies(hourBuckets(hours, START, START + 30 * DAY_MS), 'hour');
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
    expect(episode?.evidence).toMatchObject({ days: 15 });
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

  test('are not two failures of three calls', () => {
    expect(found(days(60, (day) => (day === 40 ? { calls: 3, spend: 3, failedCalls: 2 } : {})))).toEqual([]);
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
    expect(episode?.evidence).toMatchObject({ modelKey: 'b/two' });
  });

  test('are neither models used from the start nor cheap ones', () => {
    expect(found(from(5, 0.7))).toEqual([]);
    expect(found(from(40, 0.05))).toEqual([]);
  });
});

test('thirteen days are too few to know what is usual', () => {
  expect(found(days(13, (day) => (day === 12 ? { spend: 5000, calls: 5000 } : {})))).toEqual([]);
});

test('more buckets than a hundred days of hours are rejected', () => {
  expect(() => detectAnomalies(days(BUCKETS_MAX + 1), 'day')).toThrow(RangeError);
});
