/**
 * The ledger in D1, about a second behind the customers' objects; it keeps entries that they no longer hold.
 */

import { and, desc, eq, gte, lt, notInArray, sql } from 'drizzle-orm';
import { database } from '../config/database.ts';
import type { CorrectionKind } from '../domain/correction.ts';
import type { CustomerKey } from '../domain/ids.ts';
import type { LedgerFilter, LedgerRow } from '../domain/ledger-rows.ts';
import { type CreditUnit, type EntryCause, type EntrySubject, type LedgerEntry, PAYMENTS } from '../domain/wallet.ts';
import type { Env } from '../env.ts';
import { calls, creditEntries, meterEvents } from './schema/index.ts';

/** Entries of a customer before an id, newest first. */
export async function findLedger(
  env: Env,
  { organizationId, customerId }: CustomerKey,
  { fromMs, toMs, unit, cause, subject, reference }: LedgerFilter,
  beforeId: number,
  rowsMax: number,
): Promise<LedgerRow[]> {
  const { subjectKind, subjectId, entryId } = creditEntries;
  const rows = await (await database(env, organizationId))
    .select({
      entryId,
      atMs: creditEntries.atMs,
      unit: sql<CreditUnit>`${creditEntries.unit}`,
      cause: sql<EntryCause>`${creditEntries.cause}`,
      amount: creditEntries.amount,
      balance: creditEntries.balance,
      creditId: creditEntries.creditId,
      reference: creditEntries.reference,
      subjectKind: sql<EntrySubject['kind'] | null>`${subjectKind}`,
      subjectId,
      correction: sql<CorrectionKind | null>`${creditEntries.correction}`,
      feature: sql<string | null>`COALESCE(${calls.feature}, ${meterEvents.feature})`,
      modelUsed: calls.modelUsed,
    })
    .from(creditEntries)
    .leftJoin(
      calls,
      and(eq(subjectKind, 'call'), eq(calls.organizationId, organizationId), eq(calls.callId, subjectId)),
    )
    .leftJoin(
      meterEvents,
      and(
        eq(subjectKind, 'meter_event'),
        eq(meterEvents.organizationId, organizationId),
        eq(meterEvents.customerId, customerId),
        eq(meterEvents.eventId, subjectId),
      ),
    )
    .where(
      and(
        eq(creditEntries.organizationId, organizationId),
        eq(creditEntries.customerId, customerId),
        lt(entryId, beforeId),
        // `+` rules out the index of the time, which would pass the entries of all customers.
        fromMs === undefined ? undefined : gte(sql`+${creditEntries.atMs}`, fromMs),
        toMs === undefined ? undefined : lt(sql`+${creditEntries.atMs}`, toMs),
        unit && eq(creditEntries.unit, unit),
        cause && eq(creditEntries.cause, cause),
        subject && and(eq(subjectKind, subject.kind), eq(subjectId, subject.id)),
        reference === undefined
          ? undefined
          : and(eq(creditEntries.reference, reference), notInArray(creditEntries.cause, [...PAYMENTS])),
      ),
    )
    .orderBy(desc(entryId))
    .limit(rowsMax);
  return rows.map(({ subjectKind: kind, subjectId: id, ...row }) => ({
    ...row,
    subject: kind === null || id === null ? null : { kind, id },
  }));
}

/** The entry of the credit's revocation, otherwise its newest one. Reads all entries of the customer. */
export async function findOldEntry(
  env: Env,
  { organizationId, customerId }: CustomerKey,
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
