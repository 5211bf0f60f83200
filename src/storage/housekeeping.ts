/**
 * What the hourly cron does in D1: rows past their retention go, and the prices of the catalog are recorded.
 */

import { lt, sql } from 'drizzle-orm';
import type { PriceSnapshot } from '../catalog/prices.ts';
import type { Env } from '../env.ts';
import { DAY_MS } from '../platform/time.ts';
import { database } from './database.ts';
import { deleteOldMarks } from './erasure.ts';
import { forgetOldEstimates } from './estimates.ts';
import { operatorIdempotency } from './schema.ts';

/** Calls that one statement removes, and statements of one run. */
const DELETE_ROWS_MAX = 5_000;
const DELETE_ROUNDS_MAX = 20;
/** Samples that one statement removes, up to 300 KiB each, and statements of one run. */
const DELETE_SAMPLES_MAX = 200;
const DELETE_SAMPLES_ROUNDS_MAX = 100;

/** Removes what is past its retention; what one run does not reach, the next one does. */
export async function deleteExpired(env: Env, nowMs: number): Promise<void> {
  const db = database(env.DB);
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
    // What triggers change is among the changes that D1 counts, but not among what is returned.
    const deleted = await database(env.DB).all(
      sql`DELETE FROM samples WHERE rowid IN (
        SELECT rowid FROM samples WHERE expires_at_ms <= ${nowMs} ORDER BY expires_at_ms LIMIT ${DELETE_SAMPLES_MAX}) RETURNING 1`,
    );
    if (deleted.length < DELETE_SAMPLES_MAX) break;
  }
}

/** Records prices that D1 does not have yet. A snapshot never changes. */
export async function recordPriceSnapshots(
  env: Env,
  snapshots: readonly PriceSnapshot[],
  nowMs: number,
): Promise<void> {
  await env.DB.prepare(
    `INSERT INTO pricing_snapshots (snapshot_id, provider, model_key, effective_from, rates, source, catalog_version, recorded_at_ms)
     SELECT value ->> 'snapshotId', value ->> 'provider', value ->> 'modelKey', value ->> 'effectiveFrom', value -> 'rates',
       value ->> 'source', value ->> 'catalogVersion', ?2
     FROM json_each(?1) WHERE true ON CONFLICT (snapshot_id) DO NOTHING`,
  )
    .bind(JSON.stringify(snapshots), nowMs)
    .run();
}
