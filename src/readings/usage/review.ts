/**
 * Whether somebody should review a customer, and how complete the evidence is. Both follow only from the signals and
 * the facts about the data.
 */
import type { Signal, SignalCode } from './signals.ts';

export const REVIEW_REASONS = [
  'OUT_OF_ALLOWANCE',
  'FUNDING_AT_RISK',
  'QUALITY_AT_RISK',
  'CHURN_RISK',
  'UPSELL_CANDIDATE',
] as const;
export type ReviewReason = (typeof REVIEW_REASONS)[number];

/** The signals for each reason; any one of them is enough. */
const SIGNALS_OF: Record<ReviewReason, readonly SignalCode[]> = {
  OUT_OF_ALLOWANCE: ['ALLOWANCE_EXHAUSTED'],
  FUNDING_AT_RISK: ['CREDIT_LOW'],
  QUALITY_AT_RISK: ['ERRORS_ELEVATED'],
  CHURN_RISK: ['INACTIVE', 'USAGE_FALLING'],
  UPSELL_CANDIDATE: ['ALLOWANCE_NEARLY_USED', 'ALLOWANCE_PROJECTED_TO_RUN_OUT'],
};

/** The reasons in the order of REVIEW_REASONS, each with its signals. */
export function reviewReasons(signals: readonly Signal[]): { reason: ReviewReason; signals: SignalCode[] }[] {
  return REVIEW_REASONS.flatMap((reason) => {
    const codes = SIGNALS_OF[reason].filter((code) => signals.some((signal) => signal.code === code));
    return codes.length > 0 ? [{ reason, signals: codes }] : [];
  });
}

const EVIDENCE_GAPS = ['HISTORY_SHORTER_THAN_TWO_WEEKS', 'PERIOD_NOT_COVERED', 'CALLS_WITHOUT_PRICE'] as const;
export type EvidenceGap = (typeof EVIDENCE_GAPS)[number];

export interface EvidenceInput {
  /** When recording started; `null` if it never did. */
  firstDataMs: number | null;
  /** The oldest hour that is still stored. */
  keptFromMs: number;
  periodStartMs: number;
  /** The start of the earlier of the two weeks that are compared. */
  comparedFromMs: number;
  /** Ended calls of the period without a known price. */
  callsWithoutPrice: number;
}

/** The missing evidence, in the order of EVIDENCE_GAPS. Complete if nothing is missing. */
export function evidenceCompleteness(input: EvidenceInput): { complete: boolean; gaps: EvidenceGap[] } {
  const missing: Record<EvidenceGap, boolean> = {
    HISTORY_SHORTER_THAN_TWO_WEEKS: input.firstDataMs === null || input.firstDataMs > input.comparedFromMs,
    // Hours before the first recorded usage are not missing.
    PERIOD_NOT_COVERED:
      input.firstDataMs !== null && input.keptFromMs > Math.max(input.periodStartMs, input.firstDataMs),
    CALLS_WITHOUT_PRICE: input.callsWithoutPrice > 0,
  };
  const gaps = EVIDENCE_GAPS.filter((gap) => missing[gap]);
  return { complete: gaps.length === 0, gaps };
}
