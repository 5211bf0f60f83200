/**
 * The erasure of a customer's rows in D1, and the mark that keeps what is still on its way to D1 from bringing them
 * back.
 */

import { lt } from 'drizzle-orm';
import type { Env } from '../env.ts';
import { HOUR_MS } from '../platform/time.ts';
import { database } from './database.ts';
import { erasedSubscriptions } from './schema.ts';

/** Far longer than D1 works on any query. */
const MARK_RETENTION_MS = 48 * HOUR_MS;

/**
 * The tables that hold something of a customer, in the order in which they are emptied, by the name that the answer
 * gives them. An organization's sums follow the hours.
 */
export const ERASED_TABLES = {
  customers: ['customers'],
  calls: ['calls'],
  meterEvents: ['meter_events'],
  creditEntries: ['credit_entries'],
  usageHours: [
    // What is still to be counted first: counted between two of the others, it would come back.
    'usage_changes',
    'denied_hours',
    ...[
      'customer_totals',
      'customer_running_totals',
      'customer_days',
      'feature_customer_totals',
      'feature_running_totals',
    ],
    'usage_hours',
  ],
  samples: ['samples'],
} as const;

/** What stands for a row where a table has no rowid. */
const KEYS: Readonly<Record<string, string>> = {
  customer_totals: '(organization_id, customer_id)',
  customer_running_totals: '(organization_id, customer_id, hour_ms)',
  customer_days: '(organization_id, customer_id, day_ms, model)',
  feature_customer_totals: '(organization_id, feature, customer_id)',
  feature_running_totals: '(organization_id, customer_id, feature, hour_ms)',
};

/** Rows that one statement removes: samples are up to 300 KiB each. */
const DELETE_ROWS_MAX = 5_000;
const DELETE_SAMPLES_MAX = 200;

/**
 * To be called before anything is erased. From then on no batch of the subscription writes to D1, also none that was
 * given up and that D1 runs later.
 */
export async function markErased(env: Env, subscriptionId: string, nowMs: number): Promise<void> {
  await database(env.DB)
    .insert(erasedSubscriptions)
    .values({ subscriptionId, erasedAtMs: nowMs })
    .onConflictDoNothing();
}

/** Removes marks that no batch can meet any more. */
export async function deleteOldMarks(env: Env, nowMs: number): Promise<void> {
  await database(env.DB)
    .delete(erasedSubscriptions)
    .where(lt(erasedSubscriptions.erasedAtMs, nowMs - MARK_RETENTION_MS));
}

/** Removes every row of the customer, and says how many there were of each kind. */
export async function eraseProjection(
  env: Env,
  organizationId: string,
  customerId: string,
): Promise<Record<keyof typeof ERASED_TABLES, number>> {
  const erased = { customers: 0, calls: 0, meterEvents: 0, creditEntries: 0, usageHours: 0, samples: 0 };
  for (const [name, tables] of Object.entries(ERASED_TABLES) as [keyof typeof ERASED_TABLES, readonly string[]][]) {
    for (const table of tables) erased[name] += await eraseRows(env.DB, table, organizationId, customerId);
  }
  return erased;
}

async function eraseRows(db: D1Database, table: string, organizationId: string, customerId: string): Promise<number> {
  const rowsMax = table === 'samples' ? DELETE_SAMPLES_MAX : DELETE_ROWS_MAX;
  const key = KEYS[table] ?? 'rowid';
  // Rows that triggers change are among what D1 says was changed, but not among what is returned.
  const sql = `DELETE FROM ${table} WHERE ${key} IN (
    SELECT ${key.replace(/[()]/g, '')} FROM ${table} WHERE organization_id = ? AND customer_id = ? LIMIT ${rowsMax}) RETURNING 1`;
  let erased = 0;
  // Nothing adds rows any more, so this ends with the last one.
  for (let rows = rowsMax; rows >= rowsMax; erased += rows) {
    rows = (await db.prepare(sql).bind(organizationId, customerId).all()).results.length;
  }
  return erased;
}
