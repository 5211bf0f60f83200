/**
 * What every correction of a record says of itself. A record that is corrected keeps what it said before.
 */

export const CORRECTION_KINDS = ['REVERSED', 'AMENDED', 'REPRICED'] as const;
/** REPRICED: it got the price that it lacked. */
export type CorrectionKind = (typeof CORRECTION_KINDS)[number];

export interface Correction {
  atMs: number;
  reason: string;
  /** Who corrected it: the organization's application, or an operator. */
  by: string;
}

/**
 * How long something can be corrected. Until then the customer's object remembers each correction, so that none is made
 * twice, and what a usage period came to.
 */
export const CORRECTION_DAYS_MAX = 400;

/** A call has at most so many corrections. It can be reversed all the same: that ends them. */
export const CORRECTIONS_MAX = 50;
