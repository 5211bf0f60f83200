/**
 * When the object must wake next: one pure function of what is due.
 */
import { DAY_MS } from '../../src/platform/time.ts';

/** Milliseconds at which each kind of work is due; `null` where there is none. */
export interface Due {
  /** Changes wait for a projector. */
  outboxMs: number | null;
  /** An open call reaches its deadline. */
  deadlineMs: number | null;
  /** A batch is to give back what it holds. */
  batchExpiryMs: number | null;
  /** A vendor is to be asked for the figures of a call. */
  figuresMs: number | null;
  /** The usage period ends. */
  replenishMs: number | null;
  /** A credit expires. */
  expiryMs: number | null;
  /** A charge that no hand-over settled is to be settled, or one is to be reported. */
  settleMs: number | null;
  /** Old calls, answers and keys may go. */
  pruneMs: number | null;
  /** Rows are older than the schema. */
  rewriteMs: number | null;
}

/** Nothing is scheduled later than this ahead: a far date is reached in steps. */
const STEP_MS = 30 * DAY_MS;

export function nextAlarm(due: Due, nowMs: number): number | null {
  const { outboxMs, deadlineMs, batchExpiryMs, figuresMs, replenishMs, expiryMs, settleMs, pruneMs, rewriteMs } = due;
  const times = [
    outboxMs,
    deadlineMs,
    batchExpiryMs,
    figuresMs,
    replenishMs,
    expiryMs,
    settleMs,
    pruneMs,
    rewriteMs,
  ].filter((time) => time !== null);
  return times.length === 0 ? null : Math.min(...times, nowMs + STEP_MS);
}
