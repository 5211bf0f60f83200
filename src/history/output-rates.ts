/**
 * How fast models write: the highest output rate of each model over the recent answers of all organizations. It bounds
 * the usage of a lost answer by its time (`../domain/lost-call.ts`).
 *
 * Calls bring their rates with the projection, which keeps the highest of each day. Only models of the catalog have
 * one, so no organization's own name of a model appears in another's answer.
 */
import { and, eq, gt, lte, max } from 'drizzle-orm';
import { type Database, databaseNames, namedDatabase } from '../config/database.ts';
import { OUTPUT_RATE_MAX } from '../domain/output-rate.ts';
import type { Env } from '../env.ts';
import { log } from '../platform/log.ts';
import { DAY_MS } from '../platform/time.ts';
import { withTimeout } from '../platform/timeout.ts';
import { outputRates } from './schema/index.ts';

/** The number of days whose answers are recent. */
const RECENT_DAYS = 14;
/** The end of a call does not wait longer for a database. */
const READ_TIMEOUT_MS = 1_000;

/**
 * The highest observed output tokens a second of one answer of the model; `undefined` if none was observed. A database
 * that does not answer may have observed the highest, so that an outage makes no lost answer cheaper.
 */
export async function highestOutputRate(env: Env, modelKey: string, nowMs: number): Promise<number | undefined> {
  const rates = await Promise.all(
    databaseNames(env).map((name) =>
      withTimeout(rateIn(namedDatabase(env, name), modelKey, nowMs), READ_TIMEOUT_MS, 'D1').catch((error: unknown) => {
        log('warn', 'output_rate_unknown', { database: name }, error);
        return OUTPUT_RATE_MAX;
      }),
    ),
  );
  const seen = rates.filter((rate) => rate !== null);
  return seen.length === 0 ? undefined : Math.max(...seen);
}

async function rateIn(db: Database, modelKey: string, nowMs: number): Promise<number | null> {
  const [row] = await db
    .select({ rate: max(outputRates.tokensPerSecond) })
    .from(outputRates)
    .where(and(eq(outputRates.modelKey, modelKey), gt(outputRates.dayMs, nowMs - RECENT_DAYS * DAY_MS)));
  return row?.rate ?? null;
}

/** Deletes the days that are no longer recent. */
export async function deleteOldOutputRates(db: Database, nowMs: number): Promise<void> {
  await db.delete(outputRates).where(lte(outputRates.dayMs, nowMs - RECENT_DAYS * DAY_MS));
}
