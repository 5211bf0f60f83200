/**
 * When an allowance is used up at the forecast pace. Only for a metric that maps to exactly one meter: several meters
 * have no common allowance.
 *
 * Used up does not mean interrupted: credit, pay-as-you-go or the plan's policy may continue the service.
 */
import { HOUR_MS } from '../../platform/time.ts';
import { instantAtWall, zoneClock } from '../calendar.ts';
import type { ForecastResult } from './forecast.ts';

export interface ExhaustionInput {
  forecast: ForecastResult;
  /** The remaining allowance; `null` if it is unlimited. */
  remaining: number | null;
  nowMs: number;
  timeZone: string;
}

/**
 * The instant in milliseconds; `nowMs` if nothing remains; `null` if the allowance lasts until the end of the period,
 * is unlimited, or there is no forecast.
 */
export function projectedAllowanceExhaustionAt({
  forecast,
  remaining,
  nowMs,
  timeZone,
}: ExhaustionInput): number | null {
  if (remaining === null || forecast.pace === null) return null;
  if (remaining <= 0) return nowMs;
  const { days, profiles } = forecast.pace;
  const presentMs = nowMs - (nowMs % HOUR_MS);
  let left = remaining;
  for (const [index, { phase, expected, wholeDay }] of days.entries()) {
    if (expected < left) {
      left -= expected;
      continue;
    }
    const firstHour = index === 0 ? (nowMs - presentMs) / HOUR_MS : 0;
    const hour = hourOf(left / wholeDay, profiles[phase] ?? [], firstHour);
    const wallMs = zoneClock(timeZone, presentMs, presentMs).wallAt(presentMs) + (index * 24 + hour) * HOUR_MS;
    return Math.max(nowMs, Math.floor(instantAtWall(wallMs, timeZone)));
  }
  return null;
}

/** The fractional hour of a day by which this share of the day's quantity has been used, counted from `fromHour`. */
function hourOf(share: number, profile: readonly number[], fromHour: number): number {
  let left = share;
  for (let hour = Math.floor(fromHour); hour < profile.length; hour += 1) {
    const start = Math.max(hour, fromHour);
    const part = (profile[hour] ?? 0) * (hour + 1 - start);
    if (part >= left) return start + (left / part) * (hour + 1 - start);
    left -= part;
  }
  return profile.length;
}
