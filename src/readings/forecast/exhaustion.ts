/**
 * The time at which a quantity is used up: at the forecast pace, and the instants between which it happens with 80
 * percent probability. It is known only for a metric that draws on exactly one allowance or balance: several have no
 * common end.
 *
 * Used up does not mean interrupted: credit, pay-as-you-go or the plan's policy may continue the service.
 */
import { HOUR_MS } from '../../platform/time.ts';
import { instantAtWall, zoneClock } from '../calendar.ts';
import type { Pace } from './course.ts';
import type { ForecastResult } from './forecast.ts';

export interface ExhaustionInput {
  forecast: ForecastResult;
  /** The remaining quantity; `null` if it is unlimited. */
  remaining: number | null;
  nowMs: number;
  timeZone: string;
}

/** Instants in milliseconds; `null` if the quantity lasts until the end of the period. */
export interface Exhaustion {
  /** One of ten outcomes is used up earlier. */
  earliestMs: number | null;
  expectedMs: number | null;
  /** Nine of ten outcomes are used up earlier. */
  latestMs: number | null;
}

/** `null` if the quantity is unlimited or no forecast exists; all three instants are `nowMs` if nothing remains. */
export function forecastExhaustion({ forecast, remaining, nowMs, timeZone }: ExhaustionInput): Exhaustion | null {
  const { pace } = forecast;
  if (remaining === null || pace === null) return null;
  const along = (path: Path) => (remaining <= 0 ? nowMs : instantAlong(pace, path, remaining, nowMs, timeZone));
  return { earliestMs: along('p90'), expectedMs: along('expected'), latestMs: along('p10') };
}

type Path = 'expected' | 'p10' | 'p90';

function instantAlong({ days, profiles }: Pace, path: Path, remaining: number, nowMs: number, timeZone: string) {
  const presentMs = nowMs - (nowMs % HOUR_MS);
  let left = remaining;
  for (const [index, day] of days.entries()) {
    if (day[path] < left) {
      left -= day[path];
      continue;
    }
    const firstHour = index === 0 ? (nowMs - presentMs) / HOUR_MS : 0;
    // The day's hours share this path in the same proportion as the expectation.
    const wholeDay = day.wholeDay * (day[path] / day.expected);
    const hour = fractionalHour(left / wholeDay, profiles[day.phase] ?? [], firstHour);
    const wallMs =
      zoneClock(timeZone, { fromMs: presentMs, toMs: presentMs }).wallAt(presentMs) + (index * 24 + hour) * HOUR_MS;
    return Math.max(nowMs, Math.floor(instantAtWall(wallMs, timeZone)));
  }
  return null;
}

/** The fractional hour of a day by which this share of the day's quantity has been used, counted from `fromHour`. */
function fractionalHour(share: number, profile: readonly number[], fromHour: number): number {
  let left = share;
  for (let hour = Math.floor(fromHour); hour < profile.length; hour += 1) {
    const start = Math.max(hour, fromHour);
    const part = (profile[hour] ?? 0) * (hour + 1 - start);
    if (part >= left) return start + (left / part) * (hour + 1 - start);
    left -= part;
  }
  return profile.length;
}
