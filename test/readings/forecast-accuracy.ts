/**
 * How good forecasts of public series are: at many moments of each series, with 14, 28 and 60 days of history, for the
 * total of the next 1, 7, 14 and 30 days, beside the rivals.
 *
 * Errors and scores are in mean days of the series for each day ahead, so that large series do not outweigh small ones.
 */

import { DAY_MS } from '../../src/platform/time.ts';
import { type ForecastQuality, forecast } from '../../src/readings/forecast/forecast.ts';
import { mean } from '../../src/readings/statistics.ts';
import type { PublicSeries } from '../support/public-series.ts';
import { type Interval, RIVALS, type RivalName } from './rival-forecasts.ts';

export const HISTORIES = [14, 28, 60] as const;
export const HORIZONS = [1, 7, 14, 30] as const;

/** The part of outcomes that P10 to P90 is to hold. */
const HELD_SHARE = 0.8;

export type Method = 'callmeter' | RivalName;
export const METHODS: readonly Method[] = ['callmeter', 'seasonalNaive', 'plainMean', 'holtWinters'];

interface Judged {
  error: number;
  held: boolean;
  /** Winkler's interval score: the width, and ten times the distance of an outcome outside of it. Small is good. */
  winkler: number;
}

/** One moment of a series. */
export interface Trial {
  series: string;
  history: number;
  horizon: number;
  quality: ForecastQuality;
  by: Record<Method, Judged>;
}

/** The trials of a series: `origins` moments for each history and horizon, spread over the whole series. */
export function trialsOf(series: PublicSeries, origins: number): Trial[] {
  const size = mean(series.days);
  const trials: Trial[] = [];
  for (const history of HISTORIES)
    for (const horizon of HORIZONS) {
      const room = series.days.length - history - horizon;
      for (let n = 0; n < origins; n += 1) {
        const origin = history + Math.floor((room * n) / Math.max(1, origins - 1));
        trials.push(trialAt(series, size, origin, history, horizon));
      }
    }
  return trials;
}

function trialAt(
  { name, startMs, days }: PublicSeries,
  size: number,
  origin: number,
  history: number,
  horizon: number,
) {
  const past = days.slice(origin - history, origin);
  let outcome = 0;
  for (let ahead = 0; ahead < horizon; ahead += 1) outcome += days[origin + ahead] ?? 0;
  const { remaining, quality } = forecastOf(past, startMs + origin * DAY_MS, horizon);
  if (!remaining || !quality) throw new Error(`${name}: no forecast of ${horizon} days from ${history}`);
  const judge = ({ expected, p10, p90 }: Interval): Judged => {
    const outside = Math.max(0, p10 - outcome) + Math.max(0, outcome - p90);
    return {
      error: Math.abs(outcome - expected) / size / horizon,
      held: outside === 0,
      winkler: (p90 - p10 + (2 / (1 - HELD_SHARE)) * outside) / size / horizon,
    };
  };
  const by = { callmeter: judge(remaining) } as Record<Method, Judged>;
  for (const [rival, rivalForecast] of Object.entries(RIVALS))
    by[rival as RivalName] = judge(rivalForecast(past, horizon));
  return { series: name, history, horizon, quality, by };
}

function forecastOf(past: readonly number[], nowMs: number, horizon: number) {
  const firstDataMs = nowMs - past.length * DAY_MS;
  return forecast({
    hours: past
      .map((quantity, day) => ({ startMs: firstDataMs + day * DAY_MS, quantity }))
      .filter(({ quantity }) => quantity > 0),
    firstDataMs,
    nowMs,
    periodStartMs: nowMs,
    horizonEndMs: nowMs + horizon * DAY_MS,
    timeZone: 'UTC',
    kind: 'quantity',
    evidence: 'complete',
  });
}

/** The part of outcomes that lie within P10 and P90. */
export function heldShare(trials: readonly Trial[], method: Method = 'callmeter'): number {
  return mean(trials.map(({ by }) => (by[method].held ? 1 : 0)));
}

/** The geometric mean over the series of a method's error or score against another's: every series counts the same. */
export function relative(trials: readonly Trial[], of: 'error' | 'winkler', method: Method, other: Method): number {
  const logs = [...bySeries(trials).values()].map((own) => Math.log(ratio(own, of, method, other)));
  return Math.exp(mean(logs));
}

/** The sum of a method's errors or scores against another's. */
export function ratio(trials: readonly Trial[], of: 'error' | 'winkler', method: Method, other: Method): number {
  const total = (name: Method) => mean(trials.map(({ by }) => by[name][of]));
  return total(method) / total(other);
}

export function bySeries(trials: readonly Trial[]): Map<string, Trial[]> {
  return Map.groupBy(trials, ({ series }) => series);
}
