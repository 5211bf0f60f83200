/**
 * Entries of the ledger as lists have them, from D1 or from the customer's object, and what narrows a list.
 */
import type { CorrectionKind } from './correction.ts';
import type { CreditUnit, EntryCause, EntrySubject, LedgerEntry } from './wallet.ts';

export interface LedgerFilter {
  /** Made from, inclusive, and to, exclusive. */
  fromMs?: number | undefined;
  toMs?: number | undefined;
  unit?: CreditUnit | undefined;
  cause?: EntryCause | undefined;
  /** What it paid, or gave back. */
  subject?: EntrySubject | undefined;
  /** Of a grant, an expiry or a revocation. */
  reference?: string | undefined;
}

/** An entry as lists have it. Plain JSON. */
export interface LedgerRow extends Omit<LedgerEntry, 'subject' | 'correction' | 'corrects'> {
  entryId: number;
  subject: EntrySubject | null;
  correction: CorrectionKind | null;
  /** Of the call or the increment. */
  feature: string | null;
  modelUsed: string | null;
}
