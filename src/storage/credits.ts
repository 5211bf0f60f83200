/**
 * The ledger in D1: entries that the customer's object no longer holds.
 */
import { and, desc, eq, sql } from 'drizzle-orm';
import type { CreditUnit, EntryCause, LedgerEntry } from '../domain/wallet.ts';
import type { Env } from '../env.ts';
import { database } from './database.ts';
import { creditEntries } from './schema/index.ts';

/** The entry of the credit's revocation, else its newest one. Reads all entries of the customer. */
export async function findOldEntry(
  env: Env,
  organizationId: string,
  customerId: string,
  creditId: string,
): Promise<LedgerEntry | null> {
  const { atMs, unit, cause, amount, balance, reference, entryId } = creditEntries;
  const [row] = await (await database(env, organizationId))
    .select({ atMs, unit, cause, amount, balance, creditId: creditEntries.creditId, reference })
    .from(creditEntries)
    .where(
      and(
        eq(creditEntries.organizationId, organizationId),
        eq(creditEntries.customerId, customerId),
        eq(creditEntries.creditId, creditId),
      ),
    )
    .orderBy(desc(sql`${cause} = 'REVOKE'`), desc(entryId))
    .limit(1);
  return row ? { ...row, unit: row.unit as CreditUnit, cause: row.cause as EntryCause } : null;
}
