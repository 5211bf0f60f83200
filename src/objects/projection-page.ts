/**
 * A page of changes on its way from a customer's object to D1, through a projector.
 *
 * The customer's object writes each change as the row that D1 gets; the projector stores the page unchanged and does
 * not look into the rows. The names of the columns travel with them, so that a page that was written before a deploy
 * still means the same after it.
 */
import type { CustomerKey } from '../domain/ids.ts';

/** The kinds of objects that change. */
const CHANGE_KINDS = [
  'customer',
  'call',
  'denied_hour',
  'failed_hour',
  'meter_event',
  'credit_entry',
  'event',
] as const;

export type ChangeKind = (typeof CHANGE_KINDS)[number];

export interface Change {
  kind: ChangeKind;
  /** Unique in its kind and customer. */
  id: string;
  /** The row with the greater revision is the newer one. */
  revision: number;
  /** A JSON array: the subscription's id, then a value for each column of the kind. */
  values: string;
  /**
   * For a call that counted in an earlier page: its `COUNTED_COLUMNS` of then, as a JSON object. It is taken out of the
   * usage if the retention has deleted the row, which would otherwise have these values.
   */
  replaced?: string;
}

export interface ProjectionPage extends CustomerKey {
  subscriptionId: string;
  /** The columns of each kind whose changes are in the page. */
  columns: Partial<Record<ChangeKind, readonly string[]>>;
  changes: readonly Change[];
}
