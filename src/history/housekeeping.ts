/**
 * The hourly cron's work in D1: it deletes rows that are past their retention, and moves ids at Stripe to the database
 * that has all of them.
 */

import { lt, sql } from 'drizzle-orm';
import { configDatabase, type Database, databaseNames, namedDatabase } from '../config/database.ts';
import { forgetOldEstimates } from '../config/estimates.ts';
import { deleteOldVendorObjects } from '../config/vendor-objects.ts';
import type { Env } from '../env.ts';
import { log } from '../platform/log.ts';
import { deleteOldMarks } from './erasure.ts';
import { deleteExpiredEvents } from './organization-events.ts';
import { deleteOldOutputRates } from './output-rates.ts';
import { deleteExpiredHistory } from './retention.ts';
import { operatorIdempotency } from './schema/index.ts';
import { recordDatabaseSize } from './sizes.ts';
import { gatherStripeCustomers } from './stripe-customers.ts';

/** The most samples that one statement deletes, up to 300 KiB each, and the most statements of one run. */
const DELETE_SAMPLES_MAX = 200;
const DELETE_SAMPLES_ROUNDS_MAX = 100;

/**
 * Deletes rows that are past their retention, in all databases. The next run does the rest. A database that fails does
 * not keep the others from being cleaned; the last failure is thrown at the end.
 */
export async function deleteExpired(env: Env, nowMs: number): Promise<void> {
  const failures: unknown[] = [];
  for (const name of databaseNames(env)) {
    try {
      await deleteExpiredHistory(env, name, nowMs);
      const db = namedDatabase(env, name);
      await deleteExpiredSamples(db, nowMs);
      await deleteExpiredEvents(db, nowMs);
      await deleteOldMarks(db, nowMs);
      await deleteOldOutputRates(db, nowMs);
      await gatherStripeCustomers(env, name);
      await recordDatabaseSize(env, name, nowMs);
    } catch (error) {
      log('error', 'housekeeping_failed', { database: name }, error);
      failures.push(error);
    }
  }
  await forgetOldEstimates(env, nowMs);
  await deleteOldVendorObjects(env, nowMs);
  await configDatabase(env).delete(operatorIdempotency).where(lt(operatorIdempotency.expiresAtMs, nowMs));
  if (failures.length > 0) throw failures.at(-1);
}

async function deleteExpiredSamples(db: Database, nowMs: number): Promise<void> {
  for (let round = 0; round < DELETE_SAMPLES_ROUNDS_MAX; round += 1) {
    // D1 counts the changes of triggers too, but returns only the rows deleted here.
    const deleted = await db.all(
      sql`DELETE FROM samples WHERE rowid IN (
        SELECT rowid FROM samples WHERE expires_at_ms <= ${nowMs} ORDER BY expires_at_ms LIMIT ${DELETE_SAMPLES_MAX}) RETURNING 1`,
    );
    if (deleted.length < DELETE_SAMPLES_MAX) break;
  }
}
