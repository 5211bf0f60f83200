/**
 * A run of the archive, once an hour: rewrites the days that hold rows of erased customers, then writes the closed days
 * that it does not have yet. The next run does the rest.
 */

import { databaseNames } from '../../config/database.ts';
import { CALL_RETENTION_MS } from '../../domain/call.ts';
import type { Env } from '../../env.ts';
import { stableHash } from '../../platform/content-hash.ts';
import type { DatabaseName } from '../../platform/database-name.ts';
import { log } from '../../platform/log.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../platform/time.ts';
import {
  type ArchiveErasure,
  advanceErasure,
  type DayToArchive,
  findDaysToArchive,
  findErasures,
  findHistoryDays,
  finishErasure,
  type HistoryDay,
  releaseLease,
  restartDay,
  takeLease,
} from './days.ts';
import { archiveBucket, customersName, dayFolder, listDay, readManifest } from './manifest.ts';
import { writeDay } from './write-day.ts';

/**
 * The most days that one run writes or rewrites, in all databases: each takes some queries, and a run has a thousand.
 */
const DAYS_MAX = 100;
/** The most days in which one run looks for rows of erased customers: each takes two reads. */
const LOOKED_AT_DAYS_MAX = 1_000;
const ERASURES_MAX = 100;
/** The most pages of rows that one run reads, each of them a query: 800,000 calls. */
const PAGES_MAX = 400;
/** A run ends after this time, and stores its unfinished work; Cloudflare ends it after 15 minutes. */
const RUN_MS_MAX = 8 * MINUTE_MS;
/** Longer than any run takes, so that no two write the same days. */
const LEASE_MS = 20 * MINUTE_MS;

export interface RunBounds {
  daysMax: number;
  /** Asked after each page of rows, and before each day. */
  isTimeUp: () => boolean;
}

/** Counts down over a run. */
interface Budget {
  days: number;
  lookedAt: number;
  isTimeUp: () => boolean;
}

/**
 * Days that begin before this time are closed: their calls are over, and no end of them can be reported any more. If a
 * change arrives even later, because D1 was unavailable, the day is written again.
 */
export function closedBeforeMs({ CALL_DEADLINE_SECONDS, BATCH_CALL_DEADLINE_SECONDS }: Env, nowMs: number): number {
  const longestCallMs = Math.max(Number(CALL_DEADLINE_SECONDS), Number(BATCH_CALL_DEADLINE_SECONDS)) * SECOND_MS;
  return Math.floor((nowMs - longestCallMs - CALL_RETENTION_MS) / DAY_MS) * DAY_MS;
}

/** Does the due work, up to a bound. A database that fails does not keep the others from being archived. */
export async function runArchive(env: Env, nowMs: number, bounds: Partial<RunBounds> = {}): Promise<void> {
  if (!env.ARCHIVE) return;
  const { daysMax = DAYS_MAX, isTimeUp = timeOfRun() } = bounds;
  const budget: Budget = { days: daysMax, lookedAt: LOOKED_AT_DAYS_MAX, isTimeUp };
  const failures: unknown[] = [];
  for (const name of databaseNames(env)) {
    const untilMs = nowMs + LEASE_MS;
    try {
      if (!(await takeLease(env, name, { nowMs, untilMs }))) continue;
      try {
        await eraseCustomers(env, name, nowMs, budget, failures);
        await archiveDays(env, name, nowMs, budget, failures);
      } finally {
        await releaseLease(env, name, untilMs);
      }
    } catch (error) {
      log('error', 'archive_failed', { database: name }, error);
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures.at(-1);
}

function timeOfRun(): () => boolean {
  const startedMs = Date.now();
  let asked = 0;
  return () => {
    asked += 1;
    return asked > PAGES_MAX || Date.now() - startedMs > RUN_MS_MAX;
  };
}

/** A day that fails does not keep the others from being archived: it begins again in the next run. */
async function archiveDays(
  env: Env,
  name: DatabaseName,
  nowMs: number,
  budget: Budget,
  failures: unknown[],
): Promise<void> {
  const days = await findDaysToArchive(env, name, closedBeforeMs(env, nowMs), budget.days);
  for (const day of days) {
    if (budget.days <= 0 || budget.isTimeUp()) return;
    try {
      await write(env, day, nowMs, budget);
    } catch (error) {
      const { organizationId } = day;
      log('error', 'day_not_archived', { organizationId, day: dayFolder(day) }, error);
      failures.push(error);
      await restartDay(env, day);
    }
  }
}

async function write(env: Env, day: DayToArchive, nowMs: number, budget: Budget): Promise<boolean> {
  budget.days -= 1;
  return writeDay(env, day, day.writing, nowMs, budget.isTimeUp);
}

/**
 * Rewrites the objects that hold rows of erased customers. One that fails does not keep the others from being erased.
 */
async function eraseCustomers(
  env: Env,
  name: DatabaseName,
  nowMs: number,
  budget: Budget,
  failures: unknown[],
): Promise<void> {
  for (const erasure of await findErasures(env, name, ERASURES_MAX)) {
    if (budget.lookedAt <= 0 || budget.isTimeUp()) return;
    try {
      await eraseCustomer(env, erasure, nowMs, budget);
    } catch (error) {
      log('error', 'archive_not_erased', { organizationId: erasure.organizationId }, error);
      failures.push(error);
    }
  }
}

/** Continues an erasure, and ends it if nothing of the customer is left. */
async function eraseCustomer(env: Env, erasure: ArchiveErasure, nowMs: number, budget: Budget): Promise<void> {
  const { organizationId, erasedAtMs } = erasure;
  for (let done = erasure.doneDayMs; ; ) {
    const days = await findHistoryDays(env, organizationId, done, Math.max(1, budget.lookedAt));
    for (const { dayMs, isArchived, writing } of days) {
      if (dayMs >= erasedAtMs) break;
      budget.lookedAt -= 1;
      const day = { organizationId, dayMs };
      const isDone = (await mayHold(env, day, erasure, isArchived))
        ? budget.days > 0 && !budget.isTimeUp() && (await write(env, { ...day, writing }, nowMs, budget))
        : true;
      if (!isDone || budget.lookedAt <= 0) {
        await advanceErasure(env, erasure, isDone ? dayMs : done);
        return;
      }
      done = dayMs;
    }
    const last = days.at(-1);
    if (last && last.dayMs < erasedAtMs) continue;
    await finishErasure(env, erasure);
    return;
  }
}

/** Whether the archive may have a row of the customer on the day. If the day differs from D1, it has to be read. */
async function mayHold(
  env: Env,
  day: HistoryDay,
  { customerId }: ArchiveErasure,
  isArchived: boolean,
): Promise<boolean> {
  if (!isArchived) return (await listDay(env, day)).length > 0;
  const manifest = await readManifest(env, day);
  if (!manifest) return false;
  if (!manifest.listsCustomers) return true;
  const listed = await archiveBucket(env).get(dayFolder(day) + customersName(manifest.object));
  return !listed || new Uint32Array(await listed.arrayBuffer()).includes(stableHash(customerId));
}
