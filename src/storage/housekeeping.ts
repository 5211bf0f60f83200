/**
 * What the hourly cron does in D1: it deletes rows that are past their retention.
 */

import { lt, sql } from 'drizzle-orm';
import type { Env } from '../env.ts';
import { DAY_MS } from '../platform/time.ts';
import { sharedDatabase } from './database.ts';
import { deleteOldMarks } from './erasure.ts';
import { forgetOldEstimates } from './estimates.ts';
import { operatorIdempotency } from './schema/index.ts';

/** Calls that one statement deletes, and statements of one run. */
const DELETE_ROWS_MAX = 5_000;
const DELETE_ROUNDS_MAX = 20;
/** Samples that one statement deletes, up to 300 KiB each, and statements of one run. */
const DELETE_SAMPLES_MAX = 200;
const DELETE_SAMPLES_ROUNDS_MAX = 100;

/** Deletes what is past its retention. What one run does not reach, the next one does. */
export async function deleteExpired(env: Env, nowMs: number): Promise<void> {
  const db = sharedDatabase(env);
  const keptSinceMs = nowMs - env.CALL_RETENTION_DAYS * DAY_MS;
  for (let round = 0; round < DELETE_ROUNDS_MAX; round += 1) {
    const { meta } = await db.run(
      sql`DELETE FROM calls WHERE rowid IN (SELECT rowid FROM calls WHERE started_at_ms < ${keptSinceMs} LIMIT ${DELETE_ROWS_MAX})`,
    );
    if (meta.changes < DELETE_ROWS_MAX) break;
  }
  await db.run(
    sql`DELETE FROM denied_hours WHERE rowid IN (SELECT rowid FROM denied_hours WHERE hour_ms < ${keptSinceMs} LIMIT ${DELETE_ROWS_MAX})`,
  );
  await deleteExpiredSamples(env, nowMs);
  await deleteOldMarks(env, nowMs);
  await forgetOldEstimates(env, nowMs);
  await db.delete(operatorIdempotency).where(lt(operatorIdempotency.expiresAtMs, nowMs));
}

async function deleteExpiredSamples(env: Env, nowMs: number): Promise<void> {
  for (let round = 0; round < DELETE_SAMPLES_ROUNDS_MAX; round += 1) {
    // D1 counts what triggers change as well, but returns only what is deleted here.
    const deleted = await sharedDatabase(env).all(
      sql`DELETE FROM samples WHERE rowid IN (
        SELECT rowid FROM samples WHERE expires_at_ms <= ${nowMs} ORDER BY expires_at_ms LIMIT ${DELETE_SAMPLES_MAX}) RETURNING 1`,
    );
    if (deleted.length < DELETE_SAMPLES_MAX) break;
  }
}
