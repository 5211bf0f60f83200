/**
 * Usage periods: half-open [startMs, endMs), anchored, in UTC.
 *
 * Period n starts n intervals after the anchor. It is always computed from the anchor, never from the previous period,
 * so that a monthly anchor on the 31st falls on the last day of a shorter month and then returns to the 31st.
 */
import { DAY_MS, HOUR_MS } from '../platform/time.ts';

export type ReplenishUnit = 'HOUR' | 'DAY' | 'WEEK' | 'MONTH' | 'YEAR';

/** `null` means never: one period without an end. */
export type Replenish = { every: number; unit: ReplenishUnit } | null;

export interface Period {
  index: number;
  startMs: number;
  endMs: number;
}

/** The end of a period that never ends: 9999-12-31T23:59:59.999Z. */
export const NEVER_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const FIXED_MS = { HOUR: HOUR_MS, DAY: DAY_MS, WEEK: 7 * DAY_MS } as const;
const MONTHS = { MONTH: 1, YEAR: 12 } as const;
/** An average month, used only for the first estimate of an index. */
const MONTH_MS = 30.436875 * DAY_MS;

/** The start of period `index`, never after NEVER_MS. */
export function boundary(anchorMs: number, replenish: NonNullable<Replenish>, index: number): number {
  const { every, unit } = replenish;
  const atMs =
    unit === 'MONTH' || unit === 'YEAR'
      ? addMonths(anchorMs, index * every * MONTHS[unit])
      : anchorMs + index * every * FIXED_MS[unit];
  return Math.min(atMs, NEVER_MS);
}

/** The period that contains `nowMs`. Before the anchor, it is the first one. */
export function periodAt(anchorMs: number, replenish: Replenish, nowMs: number): Period {
  if (replenish === null) return { index: 0, startMs: anchorMs, endMs: NEVER_MS };
  let index = Math.max(0, estimateIndex(anchorMs, replenish, nowMs));
  // The estimate is at most one period off, because months differ in length.
  while (index > 0 && boundary(anchorMs, replenish, index) > nowMs) index -= 1;
  while (boundary(anchorMs, replenish, index + 1) <= nowMs && boundary(anchorMs, replenish, index + 1) < NEVER_MS)
    index += 1;
  return { index, startMs: boundary(anchorMs, replenish, index), endMs: boundary(anchorMs, replenish, index + 1) };
}

function estimateIndex(anchorMs: number, { every, unit }: NonNullable<Replenish>, nowMs: number): number {
  const lengthMs = unit === 'MONTH' || unit === 'YEAR' ? every * MONTHS[unit] * MONTH_MS : every * FIXED_MS[unit];
  return Math.floor((nowMs - anchorMs) / lengthMs);
}

function addMonths(anchorMs: number, months: number): number {
  const anchor = new Date(anchorMs);
  const firstOfMonth = new Date(anchorMs);
  firstOfMonth.setUTCDate(1);
  firstOfMonth.setUTCMonth(anchor.getUTCMonth() + months);
  if (Number.isNaN(firstOfMonth.getTime())) return NEVER_MS;
  const lastDay = new Date(Date.UTC(firstOfMonth.getUTCFullYear(), firstOfMonth.getUTCMonth() + 1, 0)).getUTCDate();
  firstOfMonth.setUTCDate(Math.min(anchor.getUTCDate(), lastDay));
  return firstOfMonth.getTime();
}
