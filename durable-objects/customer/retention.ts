/**
 * How long a customer's object keeps what is in its tables, and the removal of what is older.
 *
 * D1 keeps calls, meter events and ledger entries for longer. Until D1 has a row, the object keeps it: while the outbox
 * lags, none of those tables is pruned.
 */
import { CALL_RETENTION_MS } from '../../src/domain/call.ts';
import { CORRECTION_DAYS_MAX } from '../../src/domain/correction.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/platform/time.ts';
import { COUNTED_MS } from './tables/counted-prompts.ts';
import { FORM_RETENTION_MS } from './tables/forms.ts';
import type { Tables } from './tables/index.ts';

/** Answers are replayed for this long after a call has finished. */
export const ANSWER_RETENTION_MS = 48 * HOUR_MS;
/** After this, calls that are not among the customer's newest become past calls. */
export const WHOLE_MS = HOUR_MS;
/** A meter event is read by nobody once D1 has it and its charge is settled. */
export const METER_EVENT_RETENTION_MS = HOUR_MS;
/** An event is read by nobody once D1 has it. The object does not wake for it, nor for old counts: both go with what else is due. */
const EVENT_RETENTION_MS = HOUR_MS;
/** Older entries of the ledger are in D1 alone. */
const LEDGER_RETENTION_MS = 30 * DAY_MS;
/** What an expired batch held is asked for until the batch is given up, 30 days after it began. */
export const BATCH_HOLD_RETENTION_MS = 31 * DAY_MS;
const USAGE_HOURS_RETENTION_MS = 100 * DAY_MS;
/** What can be corrected no more is remembered no more; a day longer, because D1 may be behind. */
export const CORRECTIONS_RETENTION_MS = (CORRECTION_DAYS_MAX + 1) * DAY_MS;
/** Nothing is counted in an hour that is over. */
const DENIED_HOURS_RETENTION_MS = DAY_MS;
/** A call that is counted in an hour may be corrected as long as the object has it. */
const FAILED_HOURS_RETENTION_MS = CALL_RETENTION_MS + DAY_MS;
/** Rows of each table that one round removes at most, and how long it waits for the next round. */
const ROWS_MAX = 500;
const ROUND_MS = 1_000;
/** Rounds begin at most this often when nothing is left over. */
const INTERVAL_MS = HOUR_MS;
/** The same for a customer with more calls than stay whole. */
const BUSY_INTERVAL_MS = 10 * MINUTE_MS;
/**
 * How far D1 may lag behind while rows that it has are removed. The more waits, the longer it takes to see which rows
 * those are.
 */
const LAG_MS_MAX = 60_000;

/**
 * Removes a bounded number of rows that are past their retention. `periodMs` is the start of the usage period, `rollingMs` the
 * window of the plan's rolling limit. Returns when the next round is due.
 */
export function prune(
  tables: Tables,
  { periodMs, rollingMs, nowMs }: { periodMs: number; rollingMs: number; nowMs: number },
): number | null {
  const { calls, batchHolds, countedPrompts, keys, meterEvents, usageHours, deniedHours, ledger, corrections } = tables;
  const { charges, events, failedHours, forms, keptAnswers, outbox, pastCalls } = tables;
  const isCurrent = (outbox.oldestMs() ?? nowMs) >= nowMs - LAG_MS_MAX;
  const written = [
    keptAnswers.drop(nowMs - ANSWER_RETENTION_MS, ROWS_MAX),
    isCurrent ? makePast(tables, nowMs - Math.max(WHOLE_MS, rollingMs)) : 0,
    pastCalls.dropOld(nowMs - ANSWER_RETENTION_MS, ROWS_MAX),
    isCurrent ? calls.drop(nowMs - CALL_RETENTION_MS, outbox.listed('call'), ROWS_MAX) : 0,
    batchHolds.drop(nowMs - BATCH_HOLD_RETENTION_MS, ROWS_MAX),
    countedPrompts.drop(nowMs - COUNTED_MS, ROWS_MAX),
    isCurrent ? meterEvents.drop(nowMs - METER_EVENT_RETENTION_MS, outbox.listed('meter_event'), ROWS_MAX) : 0,
    isCurrent ? ledger.drop(nowMs - LEDGER_RETENTION_MS, outbox.listed('credit_entry'), ROWS_MAX) : 0,
    keys.drop(nowMs, ROWS_MAX),
    keys.dropDerived(nowMs - CALL_RETENTION_MS, ROWS_MAX),
    usageHours.drop({ beforeMs: nowMs - USAGE_HOURS_RETENTION_MS, periodMs }, ROWS_MAX),
    isCurrent ? deniedHours.drop(nowMs - DENIED_HOURS_RETENTION_MS, ROWS_MAX) : 0,
    isCurrent ? failedHours.drop(nowMs - FAILED_HOURS_RETENTION_MS, ROWS_MAX) : 0,
    corrections.drop(nowMs - CORRECTIONS_RETENTION_MS, ROWS_MAX),
    forms.drop(nowMs - FORM_RETENTION_MS, ROWS_MAX),
    charges.dropGivenUp(nowMs - CORRECTIONS_RETENTION_MS, ROWS_MAX),
    isCurrent ? events.drop(nowMs - EVENT_RETENTION_MS, outbox.listed('event'), ROWS_MAX) : 0,
  ];
  if (written.some((rows) => rows >= ROWS_MAX)) return nowMs + ROUND_MS;
  const nextMs = nextPruneMs(tables);
  const intervalMs = calls.nextToSettleMs() === null ? INTERVAL_MS : BUSY_INTERVAL_MS;
  return nextMs === null ? null : Math.max(nextMs, nowMs + intervalMs);
}

/** Makes past calls of those that finished by then. Returns the number of calls that it looked at. */
function makePast({ calls, outbox, pastCalls }: Tables, finishedByMs: number): number {
  const { settled, seen } = calls.settled(finishedByMs, outbox.listed('call'), ROWS_MAX);
  for (const { call, hasRetries, fingerprints } of settled) {
    if (hasRetries) pastCalls.take(call, fingerprints);
    calls.remove(call.callId);
  }
  return seen;
}

/** When the oldest row of all tables is past its retention, or may become a past call; `null` if there are no rows. */
export function nextPruneMs({
  calls,
  batchHolds,
  keptAnswers,
  keys,
  meterEvents,
  usageHours,
  deniedHours,
  failedHours,
  ledger,
  corrections,
  pastCalls,
}: Tables): number | null {
  const after = ({ oldestMs, retentionMs }: { oldestMs: number | null; retentionMs: number }) =>
    oldestMs === null ? null : oldestMs + retentionMs;
  const times = [
    after({ oldestMs: keptAnswers.oldestMs(), retentionMs: ANSWER_RETENTION_MS }),
    after({ oldestMs: calls.nextToSettleMs(), retentionMs: WHOLE_MS }),
    after({ oldestMs: pastCalls.oldestMs(), retentionMs: ANSWER_RETENTION_MS }),
    after({ oldestMs: calls.nextToDropMs(), retentionMs: CALL_RETENTION_MS }),
    after({ oldestMs: batchHolds.oldestExpiredMs(), retentionMs: BATCH_HOLD_RETENTION_MS }),
    after({ oldestMs: meterEvents.oldestMs(), retentionMs: METER_EVENT_RETENTION_MS }),
    after({ oldestMs: ledger.oldestMs(), retentionMs: LEDGER_RETENTION_MS }),
    keys.nextExpiryMs(),
    after({ oldestMs: usageHours.oldestMs(), retentionMs: USAGE_HOURS_RETENTION_MS }),
    after({ oldestMs: deniedHours.oldestMs(), retentionMs: DENIED_HOURS_RETENTION_MS }),
    after({ oldestMs: failedHours.oldestMs(), retentionMs: FAILED_HOURS_RETENTION_MS }),
    after({ oldestMs: corrections.oldestMs(), retentionMs: CORRECTIONS_RETENTION_MS }),
  ].filter((time) => time !== null);
  return times.length === 0 ? null : Math.min(...times);
}
