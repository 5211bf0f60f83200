/**
 * How long an organization's history is kept, and the part of a period for which it is.
 */
import { RETENTION_DEFAULTS, type Retention } from '../contract/operator.ts';
import { DAY_MS } from '../platform/time.ts';

/** The retention in force for an organization. */
export function withRetentionDefaults(own: Partial<Retention> | null): Retention {
  return { ...RETENTION_DEFAULTS, ...own };
}

/** The start of the first day whose usage is kept. */
export function usageKeptSinceMs({ usageRetentionDays }: Retention, nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) * DAY_MS - usageRetentionDays * DAY_MS;
}

/** A period of time, half-open. */
interface Period {
  fromMs: number;
  toMs: number;
}

/**
 * The part of a period whose usage is kept. Every sum of usage is limited to this part: for earlier time, tables of
 * hours and days have nothing, and running totals have everything.
 */
export function keptPart({ fromMs, toMs }: Period, retention: Retention, nowMs: number): Period {
  return { fromMs: Math.min(Math.max(fromMs, usageKeptSinceMs(retention, nowMs)), toMs), toMs };
}

/**
 * The time since which the charges of customers in a period are kept: increments of custom meters have a retention of
 * their own.
 */
export function chargesKeptSinceMs(period: Period, retention: Retention, nowMs: number): number {
  const { fromMs, toMs } = keptPart(period, retention, nowMs);
  return Math.min(Math.max(fromMs, nowMs - retention.meterEventRetentionDays * DAY_MS), toMs);
}
