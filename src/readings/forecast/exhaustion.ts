/**
 * When an allowance is used up at the forecast pace. For one meter and the metric that maps to it one to one:
 * quantities of several meters have no common allowance.
 *
 * Used up does not mean interrupted: credit, pay as you go or the plan's policy may continue the service.
 */
import { HOUR_MS } from '../../platform/time.ts';
import { instantAtWall, zoneClock } from '../calendar.ts';
import type { ForecastResult } from './forecast.ts';

export interface ExhaustionInput {
  forecast: ForecastResult;
  /** What is left of the allowance; `null` where it is unlimited. */
  remaining: number | null;
  nowMs: number;
  timeZone: string;
}

/**
 * The instant in milliseconds; `nowMs` where nothing is left; `null` where it lasts to the boundary, is unlimited, or
 * nothing was forecast.
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

/** The hour of a day, with its fraction, by which so much of the day's quantity has come since `fromHour`. */
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
