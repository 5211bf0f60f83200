/**
 * A series of hours as whole days that end at the current hour, and the days ahead in the same form.
 *
 * A day runs from the current local hour to the same local hour of the next day, so that the newest usage counts and a
 * partial day is never taken for a whole one. Across a clock change such a day has 23 or 25 hours.
 */
import type { UsageHour } from '../../objects/series-hours.ts';
import { DAY_MS, HOUR_MS } from '../../platform/time.ts';
import { DAYS_PER_WEEK, wallReader, zoneClock } from '../calendar.ts';

/** The number of days for which a customer's object stores hours. */
export const HISTORY_DAYS_MAX = 100;
/** Ten years: longer than any plan period that can be forecast. */
export const HORIZON_DAYS_MAX = 3_660;

const HOURS_PER_DAY = 24;
/** Weight of the average hour profile against a weekday's own profile, in days. */
const PROFILE_PRIOR_DAYS = 2;

/** A day ahead: its phase of the week, and the part of it before the horizon. */
export interface AheadDay {
  phase: number;
  /** The share of the day's quantity before the horizon, 0 to 1. */
  share: number;
}

export interface History {
  /**
   * Totals of whole days since the first with usage, and at least of a week, oldest first; the last one ends at the
   * current hour. Days before a customer's first usage carry no information.
   */
  days: number[];
  /** The number of recorded whole days, with usage or without. */
  recordedDays: number;
  /**
   * By phase of the week: the share of the day that falls on Saturday and Sunday. Phase 0 is the day that begins now.
   */
  weekendShares: number[];
  /** By phase: the share of a day's quantity in each hour. */
  profiles: number[][];
  /** The share of a day's quantity between two of its hours, by phase of the week. */
  shareOfDay(phase: number, fromHour: number, toHour: number): number;
  /** Totals of the first hours of each day in `days`. */
  openingTotals(hours: number): number[];
}

/** The phase of the week of day `index` among `length` past days; the days ahead have phases 0, 1, ... */
export function weekPhase(index: number, length: number): number {
  return (((index - length) % DAYS_PER_WEEK) + DAYS_PER_WEEK) % DAYS_PER_WEEK;
}

export interface HistoryInput {
  hours: readonly UsageHour[];
  firstDataMs: number;
  nowMs: number;
  timeZone: string;
}

export function readHistory({ hours, firstDataMs, nowMs, timeZone }: HistoryInput): History {
  const presentMs = floorHour(nowMs);
  const fromMs = Math.max(floorHour(firstDataMs), presentMs - (HISTORY_DAYS_MAX + 1) * DAY_MS);
  const clock = zoneClock(timeZone, { fromMs: Math.min(fromMs, presentMs), toMs: presentMs });
  const presentWallMs = clock.wallAt(presentMs);
  const length = Math.min(HISTORY_DAYS_MAX, Math.max(0, Math.floor((presentWallMs - clock.wallAt(fromMs)) / DAY_MS)));

  const byHour = Array.from({ length: length * HOURS_PER_DAY }, () => 0);
  for (const { startMs, quantity } of hours) {
    if (startMs < fromMs || startMs >= presentMs) continue;
    const place = Math.floor((clock.wallAt(startMs) - presentWallMs) / HOUR_MS) + byHour.length;
    if (place >= 0 && place < byHour.length) byHour[place] = (byHour[place] ?? 0) + quantity;
  }
  const recorded = totals(byHour, HOURS_PER_DAY);
  const profiles = hourProfiles(byHour, recorded);
  const firstUsed = recorded.findIndex((day) => day > 0);
  const begun = Math.max(0, Math.min(firstUsed, length - DAYS_PER_WEEK));
  return {
    days: recorded.slice(begun),
    recordedDays: length,
    weekendShares: profiles.map((profile, phase) => weekendShare(profile, presentWallMs + phase * DAY_MS)),
    profiles,
    shareOfDay: (phase, fromHour, toHour) => profileShare(profiles[phase] ?? [], fromHour, toHour),
    openingTotals: (count) => totals(byHour, count).slice(begun),
  };
}

/**
 * The days from `nowMs` to the horizon. The first one excludes the elapsed part of the current hour; the last one ends
 * at the horizon.
 */
export function daysAhead(
  history: History,
  { nowMs, horizonEndMs }: { nowMs: number; horizonEndMs: number },
  timeZone: string,
): AheadDay[] {
  const presentMs = floorHour(nowMs);
  const wall = wallReader(timeZone);
  const aheadHours = Math.max(0, (wall(horizonEndMs) - wall(presentMs)) / HOUR_MS);
  const elapsed = (nowMs - presentMs) / HOUR_MS;
  const ahead: AheadDay[] = [];
  const count = Math.min(HORIZON_DAYS_MAX, Math.ceil(aheadHours / HOURS_PER_DAY));
  for (let day = 0; day < count; day += 1) {
    const phase = day % DAYS_PER_WEEK;
    const toHour = Math.min(HOURS_PER_DAY, aheadHours - day * HOURS_PER_DAY);
    ahead.push({ phase, share: history.shareOfDay(phase, day === 0 ? Math.min(elapsed, toHour) : 0, toHour) });
  }
  return ahead;
}

function floorHour(atMs: number): number {
  return atMs - (((atMs % HOUR_MS) + HOUR_MS) % HOUR_MS);
}

/** The sum of the first `count` hours of each day. */
function totals(byHour: readonly number[], count: number): number[] {
  const result: number[] = [];
  for (let start = 0; start < byHour.length; start += HOURS_PER_DAY) {
    let total = 0;
    for (let hour = start; hour < start + count; hour += 1) total += byHour[hour] ?? 0;
    result.push(total);
  }
  return result;
}

/**
 * The distribution of a day over its hours, by phase: the weekday's own, with the average profile added with the weight
 * of two days.
 */
function hourProfiles(byHour: readonly number[], days: readonly number[]): number[][] {
  const byPhase = Array.from({ length: DAYS_PER_WEEK }, () => new Array<number>(HOURS_PER_DAY).fill(0));
  const common = new Array<number>(HOURS_PER_DAY).fill(0);
  let all = 0;
  byHour.forEach((quantity, place) => {
    const hour = place % HOURS_PER_DAY;
    const profile = byPhase[weekPhase(Math.floor(place / HOURS_PER_DAY), days.length)] as number[];
    profile[hour] = (profile[hour] ?? 0) + quantity;
    common[hour] = (common[hour] ?? 0) + quantity;
    all += quantity;
  });
  if (all === 0) return byPhase.map((profile) => profile.map(() => 1 / HOURS_PER_DAY));
  const prior = (PROFILE_PRIOR_DAYS * all) / days.length;
  return byPhase.map((profile) => {
    let total = 0;
    for (const quantity of profile) total += quantity;
    return profile.map((quantity, hour) => (quantity + (prior * (common[hour] ?? 0)) / all) / (total + prior));
  });
}

function profileShare(profile: readonly number[], fromHour: number, toHour: number): number {
  let part = 0;
  for (let hour = Math.floor(fromHour); hour < toHour; hour += 1) {
    part += (profile[hour] ?? 0) * (Math.min(hour + 1, toHour) - Math.max(hour, fromHour));
  }
  return part;
}

function weekendShare(profile: readonly number[], startWallMs: number): number {
  let share = 0;
  profile.forEach((part, hour) => {
    const weekday = new Date(startWallMs + hour * HOUR_MS).getUTCDay();
    if (weekday === 0 || weekday === 6) share += part;
  });
  return share;
}
