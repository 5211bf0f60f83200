/**
 * On public series that no constant was chosen on, with injected episodes in some windows: the share that is found with
 * two weeks of history and with more, the small number of other episodes, and a better result than 3-sigma by hour of
 * week.
 */
import { describe, expect, test } from 'vitest';
import { INJECTIONS, recallTable } from '../readings/anomaly-table.ts';
import { f1, windowsFound } from '../readings/nab.ts';
import { fixtureSeries } from '../readings/series.ts';
import { threeSigma } from '../readings/three-sigma.ts';
import { chance, DAY_MS, HOUR_MS } from '../support/series.ts';

const CASES = 8;
const LENGTHS = [14, 21, 28];
/** Least shares of the injected episodes that are found. */
const LEAST: Record<string, number> = {
  'spike x5': 0.95,
  'spike x3': 0.9,
  'drop to 30 %': 0.8,
  'drop, 3 days': 0.9,
  // One day of a customer with 35 calls a day is not certain after two weeks.
  silence: 0.85,
  'silence, 3 days': 0.95,
};

describe('on series that no constant was chosen on', () => {
  const rows = recallTable(
    fixtureSeries().filter(({ heldOut }) => heldOut),
    CASES,
    LENGTHS,
  );

  test.each(rows.map((row) => ({ ...row, name: `by the ${row.resolution}, with ${row.days} days` })))(
    '$name',
    (row) => {
      for (const [at, { name }] of INJECTIONS.entries())
        expect(row.found[at], name).toBeGreaterThanOrEqual(LEAST[name] ?? 1);
      expect(row.falseEpisodes).toBeLessThan(1);
    },
  );

  test('more is found than by 3-sigma by hour of week if history is short, and less of what is usual', () => {
    for (const row of rows.filter(({ resolution, days }) => resolution === 'day' && days === 14))
      for (const [at, { name }] of INJECTIONS.entries())
        expect(row.found[at], name).toBeGreaterThan(row.foundBySigma[at] ?? 0);
    for (const row of rows.filter(({ resolution }) => resolution === 'hour'))
      expect(row.falseEpisodes).toBeLessThan(row.falseOfSigma / 5);
  });

  test('there are series of both halves, read by the day and by the hour', () => {
    expect(rows.map(({ resolution, days }) => [resolution, days])).toEqual(
      ['day', 'hour'].flatMap((resolution) => LENGTHS.map((days) => [resolution, days])),
    );
    expect(new Set(fixtureSeries().map(({ heldOut }) => heldOut)).size).toBe(2);
  });
});

describe('the rule that is compared', () => {
  test('marks what is three deviations from the same hour of other weeks, in its direction', () => {
    const c = chance(5);
    const hours = Array.from({ length: 8 * 168 }, (_, hour) => 100 + 50 * ((hour % 24) / 24) + 3 * c.normal());
    hours[600] = 400;
    hours[601] = 400;
    hours[900] = 0;
    const marked = threeSigma(hours, 0, HOUR_MS);
    expect(marked.filter(({ direction }) => direction === 'up')).toEqual([
      { startMs: 600 * HOUR_MS, endMs: 602 * HOUR_MS, direction: 'up' },
    ]);
    expect(marked).toContainEqual({ startMs: 900 * HOUR_MS, endMs: 901 * HOUR_MS, direction: 'down' });
    expect(threeSigma(new Array<number>(336).fill(7), 0, HOUR_MS)).toEqual([]);
  });

  test('a labelled window is found by an episode that meets it, and every other episode is false', () => {
    const [series] = fixtureSeries().filter(({ perDay, heldOut }) => perDay === 24 && heldOut);
    if (!series) throw new Error('no series by the hour');
    const spiked = (day: number) =>
      series.values.slice(0, 60 * 24).map((value, at) => (Math.floor(at / 24) === day ? 8 * value : value));
    const window = { startMs: series.startMs + 40 * DAY_MS, endMs: series.startMs + 41 * DAY_MS };
    const counted = (day: number) => windowsFound({ ...series, values: spiked(day), windows: [window] }).ours;
    const [within, elsewhere] = [counted(40), counted(20)];
    expect(within).toMatchObject({ windows: 1, found: 1 });
    expect(elsewhere).toMatchObject({ windows: 1, found: 0 });
    expect(elsewhere.falseEpisodes).toBe(within.falseEpisodes + 1);
    expect(f1({ windows: 4, found: 2, falseEpisodes: 2 })).toBeCloseTo(4 / 8, 10);
  });
});
