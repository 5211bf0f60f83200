/**
 * Whether D1 has what a working deployment has.
 */
import { isNull, sql } from 'drizzle-orm';
import type { Env } from '../env.ts';
import { configDatabase, databaseNames, namedDatabase } from './database.ts';
import { apiKeys, customers } from './schema/index.ts';

/** Whether some organization has a key that may be used. Throws where the tables are missing. */
export async function hasConfiguration(env: Env): Promise<boolean> {
  const rows = await configDatabase(env)
    .select({ one: sql`1` })
    .from(apiKeys)
    .where(isNull(apiKeys.revokedAtMs))
    .limit(1);
  return rows.length > 0;
}

/** Whether there is a customer of any organization: the first call makes one. */
export async function hasCustomers(env: Env): Promise<boolean> {
  for (const name of databaseNames(env)) {
    const rows = await namedDatabase(env, name).select({ one: sql`1` }).from(customers).limit(1);
    if (rows.length > 0) return true;
  }
  return false;
}
