/**
 * Forecasts of the held-out public series: the interval holds the promised share, and the error and the score are
 * better than those of simple rules. `npm run test:readings` has the tables of all series.
 */
import { describe, expect, test } from 'vitest';
import type { ForecastQuality } from '../../src/readings/forecast/forecast.ts';
import { bySeries, HISTORIES, HORIZONS, heldShare, ratio, relative, trialsOf } from '../readings/forecast-accuracy.ts';
import { isHeldOut, PUBLIC_SERIES_NAMES, readPublicSeries } from '../support/public-series.ts';

/** Moments of each series, history and horizon. */
const ORIGINS = 30;

const heldOut = PUBLIC_SERIES_NAMES.filter(isHeldOut);
const trials = heldOut.flatMap((name) => trialsOf(readPublicSeries(name), ORIGINS));
const at = (history: number | null, horizon: number) =>
  trials.filter((trial) => (history === null || trial.history === history) && trial.horizon === horizon);

describe('forecasts of the held-out series', () => {
  test('are of ten series, which their names chose', () => {
    expect(heldOut).toEqual([
      'births-1994-2003',
      'births-2000-2014',
      'changes-gcc',
      'changes-gcc-ada',
      'changes-gcc-fortran',
      'chicago-california',
      'chicago-quincy-wells',
      'football-goals',
      'rain-seattle',
      'tweets-2009-2017',
    ]);
    expect(PUBLIC_SERIES_NAMES).toHaveLength(20);
  });

  test('hold 78 to 82 percent of outcomes between P10 and P90', () => {
    expect(heldShare(trials)).toBeGreaterThanOrEqual(0.78);
    expect(heldShare(trials)).toBeLessThanOrEqual(0.82);
  });

  test.each(HORIZONS)('hold 77 to 83 percent of outcomes %i days ahead', (horizon) => {
    expect(heldShare(at(null, horizon))).toBeGreaterThanOrEqual(0.77);
    expect(heldShare(at(null, horizon))).toBeLessThanOrEqual(0.83);
  });

  const graded = (grade: ForecastQuality) => trials.filter(({ quality }) => quality === grade);

  // Each grade has at least five hundred of the 3,600 moments, many of them from the same weeks.
  test.each(['HIGH', 'MEDIUM', 'LOW'] as const)('hold 76 to 84 percent if quality says %s', (grade) => {
    expect(graded(grade).length).toBeGreaterThan(500);
    expect(heldShare(graded(grade))).toBeGreaterThanOrEqual(0.76);
    expect(heldShare(graded(grade))).toBeLessThanOrEqual(0.84);
  });

  test('hold no fewer outcomes if quality says HIGH than if it says MEDIUM', () => {
    expect(heldShare(graded('HIGH'))).toBeGreaterThanOrEqual(heldShare(graded('MEDIUM')));
  });

  test.each(HORIZONS)('%i days ahead have at most 0.96 of the error of repeating the last week', (horizon) => {
    expect(relative(at(null, horizon), 'error', 'callmeter', 'seasonalNaive')).toBeLessThanOrEqual(0.96);
  });

  test.each(HISTORIES.flatMap((history) => HORIZONS.map((horizon) => [history, horizon] as const)))(
    'from %i days, %i ahead, are at most 10 percent worse than the plain mean',
    (history, horizon) => {
      expect(relative(at(history, horizon), 'error', 'callmeter', 'plainMean')).toBeLessThanOrEqual(1.1);
    },
  );

  test('are within 2 percent of the plain mean or better over all histories, at every horizon', () => {
    for (const horizon of HORIZONS)
      expect(relative(at(null, horizon), 'error', 'callmeter', 'plainMean')).toBeLessThanOrEqual(1.02);
  });

  test('have a better Winkler score than Holt-Winters and the last week on nine of ten series', () => {
    const better = [...bySeries(trials).values()].filter(
      (own) =>
        ratio(own, 'winkler', 'callmeter', 'seasonalNaive') < 1 &&
        ratio(own, 'winkler', 'callmeter', 'holtWinters') < 1,
    );
    expect(better.length).toBeGreaterThanOrEqual(9);
  });
});
