/**
 * The erasure of a customer's rows in D1.
 */
import type { Env } from '../env.ts';

/** The tables that hold something of a customer, by the name that the answer gives them. */
const TABLES = {
  customers: 'customers',
  calls: 'calls',
  meterEvents: 'meter_events',
  creditEntries: 'credit_entries',
  usageHours: 'usage_hours',
  samples: 'samples',
} as const;

/** Rows that one statement removes: samples are up to 300 KiB each. */
const DELETE_ROWS_MAX = 5_000;
const DELETE_SAMPLES_MAX = 200;

/** Removes every row of the customer, and says how many there were of each kind. */
export async function eraseProjection(env: Env, organizationId: string, customerId: string): Promise<Record<keyof typeof TABLES, number>> {
  const erased = { customers: 0, calls: 0, meterEvents: 0, creditEntries: 0, usageHours: 0, samples: 0 };
  for (const [name, table] of Object.entries(TABLES) as [keyof typeof TABLES, string][]) {
    const rowsMax = name === 'samples' ? DELETE_SAMPLES_MAX : DELETE_ROWS_MAX;
    const sql = `DELETE FROM ${table} WHERE rowid IN (
      SELECT rowid FROM ${table} WHERE organization_id = ? AND customer_id = ? LIMIT ${rowsMax})`;
    // Nothing adds rows any more, so this ends with the last one.
    for (let changes = rowsMax; changes >= rowsMax; ) {
      changes = (await env.DB.prepare(sql).bind(organizationId, customerId).run()).meta.changes;
      erased[name] += changes;
    }
  }
  return erased;
}
