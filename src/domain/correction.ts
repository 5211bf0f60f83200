/**
 * The common facts of every correction of a record. A corrected record keeps its earlier content.
 */

export const CORRECTION_KINDS = ['REVERSED', 'AMENDED', 'REPRICED'] as const;
/** REPRICED: the call got the price that it lacked. */
export type CorrectionKind = (typeof CORRECTION_KINDS)[number];

export interface Correction {
  atMs: number;
  reason: string;
  /** The author of the correction: the organization's application, or an operator. */
  by: string;
}

/**
 * How long a record can be corrected. Until then the customer's object remembers each correction, so that none is made
 * twice, and the totals of each usage period.
 */
export const CORRECTION_DAYS_MAX = 400;

/** The most corrections of a call. A reversal is still possible after them, and ends them. */
export const CORRECTIONS_MAX = 50;
