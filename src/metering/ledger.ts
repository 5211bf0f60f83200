/**
 * Use case: a customer's ledger, newest entry first, and as CSV. D1 has the entries. The customer's object adds the
 * entries of the last seconds, and any that D1 refused, so that none is missing.
 */

import { accept, badRequest } from '../contract/errors.ts';
import { LEDGER_CSV_ROWS_MAX, type LedgerItem, type LedgerQuery } from '../contract/ledger.ts';
import type { AnswerTo } from '../contract/operations.ts';
import { asCallId, type CustomerId } from '../domain/ids.ts';
import type { LedgerRow } from '../domain/ledger-rows.ts';
import { formatUsd } from '../domain/money.ts';
import { PAYMENTS } from '../domain/wallet.ts';
import { findLedger } from '../history/credits.ts';
import { ask, customerByName } from '../objects/addresses.ts';
import { exact, formatCsv } from '../platform/csv.ts';
import { makePage, type Page, type PageRequest } from '../platform/page.ts';
import { parseTime } from '../platform/time.ts';
import type { Caller } from './caller.ts';
import { unknownCustomer } from './customers.ts';

/** A page of the ledger; if `page` is `null`, as many entries as a CSV may have. */
export async function listLedger(
  { env, organization: { organizationId } }: Pick<Caller, 'env' | 'organization'>,
  customerId: CustomerId,
  { from, to, unit, cause, callId, eventId, reference }: Omit<LedgerQuery, 'limit' | 'cursor'>,
  page: PageRequest | null,
): Promise<AnswerTo<'listLedger'>> {
  const { limit, after } = page ?? { limit: LEDGER_CSV_ROWS_MAX, after: null };
  const beforeId = after === null ? Number.MAX_SAFE_INTEGER : Number(after);
  if (!Number.isSafeInteger(beforeId)) {
    return badRequest({ path: 'cursor', message: 'must be the nextCursor of an earlier page' });
  }
  const call = callId === undefined ? undefined : ({ kind: 'call', id: callId } as const);
  const subject = eventId === undefined ? call : ({ kind: 'meter_event', id: eventId } as const);
  const filter = { fromMs: parseTime(from), toMs: parseTime(to), unit, cause, subject, reference };
  const rowsMax = limit + 1;
  const stored = await findLedger(env, { organizationId, customerId }, filter, beforeId, rowsMax);
  // A full page does not need the entries before its last one.
  const afterId = stored.length === rowsMax ? (stored.at(-1)?.entryId ?? 0) : 0;
  const known = stored.map(({ entryId }) => entryId);
  const missing: LedgerRow[] | null = await ask(customerByName(env, { organizationId, customerId }), (customer) =>
    customer.readLedger({ organizationId, filter, afterId, beforeId, known, rowsMax }),
  );
  if (!missing) return unknownCustomer();
  const rows = [...missing, ...stored].sort((a, b) => b.entryId - a.entryId);
  const { items, nextCursor } = makePage(rows, limit, ({ entryId }) => String(entryId));
  return accept('LEDGER_LISTED', { items: items.map(present), nextCursor }, Date.now());
}

function present({ subject, cause, reference, atMs, unit, amount, balance, ...row }: LedgerRow): LedgerItem {
  const isPayment = PAYMENTS.includes(cause);
  const exactly = (value: string) => (unit === 'USD' ? formatUsd(BigInt(value)) : value);
  // Units are paid without a charge: old entries have only the increment's reference.
  const eventId = isPayment && unit !== 'USD' ? reference : null;
  return {
    entryId: row.entryId,
    at: new Date(atMs).toISOString(),
    unit,
    cause,
    amount: exactly(amount),
    balance: exactly(balance),
    callId: subject?.kind === 'call' ? asCallId(subject.id) : null,
    eventId: subject?.kind === 'meter_event' ? subject.id : eventId,
    feature: row.feature,
    modelUsed: row.modelUsed,
    chargeId: isPayment && unit === 'USD' ? reference : null,
    correction: row.correction,
    creditId: row.creditId,
    reference: isPayment ? null : reference,
  };
}

/** A line for each entry; its columns are the members of an item of the list. */
export function ledgerCsv({ items }: Pick<Page<LedgerItem>, 'items'>): string {
  const columns = {
    entryId: ({ entryId }: LedgerItem) => entryId,
    at: ({ at }: LedgerItem) => at,
    unit: ({ unit }: LedgerItem) => unit,
    cause: ({ cause }: LedgerItem) => cause,
    amount: ({ amount }: LedgerItem) => exact(amount),
    balance: ({ balance }: LedgerItem) => exact(balance),
    callId: ({ callId }: LedgerItem) => callId,
    eventId: ({ eventId }: LedgerItem) => eventId,
    feature: ({ feature }: LedgerItem) => feature,
    modelUsed: ({ modelUsed }: LedgerItem) => modelUsed,
    chargeId: ({ chargeId }: LedgerItem) => chargeId,
    correction: ({ correction }: LedgerItem) => correction,
    creditId: ({ creditId }: LedgerItem) => creditId,
    reference: ({ reference }: LedgerItem) => reference,
  } satisfies Record<keyof LedgerItem, unknown>;
  return formatCsv(columns, items);
}
