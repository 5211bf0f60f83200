/**
 * Entries of the ledger in the form of lists, from D1 or from the customer's object, and the filter of a list.
 */
import type { CorrectionKind } from './correction.ts';
import type { CreditUnit, EntryCause, EntrySubject, LedgerEntry } from './wallet.ts';

export interface LedgerFilter {
  /** The time of the entry: from, inclusive, and to, exclusive. */
  fromMs?: number | undefined;
  toMs?: number | undefined;
  unit?: CreditUnit | undefined;
  cause?: EntryCause | undefined;
  /** The subject that it paid, or gave back to. */
  subject?: EntrySubject | undefined;
  /** The reference of a grant, an expiry or a revocation. */
  reference?: string | undefined;
}

/** An entry in the form of lists. Plain JSON. */
export interface LedgerRow extends Omit<LedgerEntry, 'subject' | 'correction' | 'corrects'> {
  entryId: number;
  subject: EntrySubject | null;
  correction: CorrectionKind | null;
  /** The feature of the call or the increment. */
  feature: string | null;
  modelUsed: string | null;
}
