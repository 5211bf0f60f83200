/**
 * The erasure of a customer's rows in D1, and the mark that keeps rows on their way to D1 from restoring them.
 */

import { lt } from 'drizzle-orm';
import { type Database, database } from '../config/database.ts';
import type { CustomerKey, OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { HOUR_MS } from '../platform/time.ts';
import { ERASE_HOURS, ERASED_HOURS_MAX, TOTALS_OF_CUSTOMERS } from './roll-ups.ts';
import { erasedSubscriptions } from './schema/index.ts';
import { forgetStripeCustomers } from './stripe-customers.ts';

/** Far longer than any query of D1 takes. */
const MARK_RETENTION_MS = 48 * HOUR_MS;

/** The most rows that one statement removes: samples are up to 300 KiB each. */
const DELETE_ROWS_MAX = 5_000;
const DELETE_SAMPLES_MAX = 200;

interface Deletion {
  table: string;
  /** The columns that identify a row. */
  key: string;
  rowsMax: number;
}

const deleteFrom = (table: string, key = 'rowid'): Deletion => ({ table, key, rowsMax: DELETE_ROWS_MAX });

/**
 * The tables with a customer's data, by the name that the answer gives them; usage hours are removed together with
 * their part of the organization's sums.
 */
const DELETIONS = {
  customers: [deleteFrom('customers')],
  calls: [deleteFrom('calls')],
  meterEvents: [deleteFrom('meter_events')],
  creditEntries: [deleteFrom('credit_entries', '(organization_id, customer_id, entry_id)')],
  usageHours: [
    deleteFrom('denied_hours', '(organization_id, customer_id, hour_ms, feature)'),
    deleteFrom('failed_hours', '(organization_id, customer_id, hour_ms)'),
    ...TOTALS_OF_CUSTOMERS.map(({ table, key }) => deleteFrom(table, `(${key})`)),
  ],
  events: [deleteFrom('organization_events')],
  samples: [{ ...deleteFrom('samples'), rowsMax: DELETE_SAMPLES_MAX }],
};

/**
 * Call this before anything is erased. From then on, no batch of the subscription writes to D1, not even one that was
 * given up and that D1 runs later.
 */
export async function markErased(
  env: Env,
  organizationId: OrganizationId,
  subscriptionId: string,
  nowMs: number,
): Promise<void> {
  await (await database(env, organizationId))
    .insert(erasedSubscriptions)
    .values({ subscriptionId, erasedAtMs: nowMs })
    .onConflictDoNothing();
}

/** Removes marks that no batch can meet any more. */
export async function deleteOldMarks(db: Database, nowMs: number): Promise<void> {
  await db.delete(erasedSubscriptions).where(lt(erasedSubscriptions.erasedAtMs, nowMs - MARK_RETENTION_MS));
}

/** Removes every row of the customer, and returns the number of each kind. */
export async function eraseProjection(
  env: Env,
  customer: CustomerKey,
): Promise<Record<keyof typeof DELETIONS, number>> {
  const erased = { customers: 0, calls: 0, meterEvents: 0, creditEntries: 0, usageHours: 0, events: 0, samples: 0 };
  for (const [name, deletions] of Object.entries(DELETIONS) as [keyof typeof DELETIONS, readonly Deletion[]][]) {
    for (const deletion of deletions) erased[name] += await deleteRows(env, deletion, customer);
  }
  erased.usageHours += await eraseHours(env, customer);
  await forgetStripeCustomers(env, customer);
  return erased;
}

async function deleteRows(
  env: Env,
  { table, key, rowsMax }: Deletion,
  { organizationId, customerId }: CustomerKey,
): Promise<number> {
  // D1 counts the changes of triggers too, but returns only the rows deleted here.
  const sql = `DELETE FROM ${table} WHERE ${key} IN (
    SELECT ${key.replace(/[()]/g, '')} FROM ${table} WHERE organization_id = ? AND customer_id = ? LIMIT ${rowsMax}) RETURNING 1`;
  const statement = (await database(env, organizationId)).$client.prepare(sql).bind(organizationId, customerId);
  return repeatWhileFull(rowsMax, async () => (await statement.all()).results.length);
}

async function eraseHours(env: Env, { organizationId, customerId }: CustomerKey): Promise<number> {
  const db = (await database(env, organizationId)).$client;
  const [first, ...others] = ERASE_HOURS.map((sql) => db.prepare(sql));
  if (!first) throw new Error('an erasure has statements');
  const batch = [first.bind(organizationId, customerId), ...others];
  return repeatWhileFull(ERASED_HOURS_MAX, async () => (await db.batch(batch)).at(-2)?.results.length ?? 0);
}

/** Repeats a step until it finds fewer rows than its limit. This ends, because nothing adds rows any more. */
async function repeatWhileFull(rowsMax: number, step: () => Promise<number>): Promise<number> {
  let all = 0;
  for (let rows = rowsMax; rows >= rowsMax; all += rows) rows = await step();
  return all;
}
