/**
 * Savings of a compressed prompt, from the token counts that the caller reports.
 *
 * Savings are derived from the two counts and never negative; the caller's own figure of savings is ignored.
 */
import { divideHalfUp, type NanoUsd } from './money.ts';
import type { PricingMode } from './pricing.ts';

export interface CompressionCounts {
  provider: string;
  originalTokens: number;
  compressedTokens: number;
  techniques: string[];
}

export interface CompressionSavings extends CompressionCounts {
  savedTokens: number;
  /** Saved tokens as a share of the original ones, 0 to 1. */
  tokenSavingsRatio: number;
  /** The cost that the saved tokens would have had; `null` if the call has no known price. */
  inputCostAvoidedNanoUsd: NanoUsd | null;
}

/** The most tokens that a browser's session may report before the end of the call shows the length of the prompt. */
export const SESSION_TOKENS_MAX = 1_000_000;

/** A count that a session reported too high. */
export interface ExcessiveCount {
  field: 'originalTokens' | 'compressedTokens';
  max: number;
}

/**
 * The count of a session that is too high, or `null`. Before the end of the call (`inputTokens` is `null`) neither
 * count may exceed SESSION_TOKENS_MAX. Afterwards the call's input tokens are the bound, for the compressed prompt and
 * for the savings.
 */
export function excessiveCount(
  { originalTokens, compressedTokens }: CompressionCounts,
  inputTokens: number | null,
): ExcessiveCount | null {
  const compressedMax = inputTokens ?? SESSION_TOKENS_MAX;
  if (compressedTokens > compressedMax) return { field: 'compressedTokens', max: compressedMax };
  const originalMax = inputTokens === null ? SESSION_TOKENS_MAX : compressedTokens + inputTokens;
  return originalTokens > originalMax ? { field: 'originalTokens', max: originalMax } : null;
}

/** The counts of a session, limited to the bound of an ended call. */
export function boundedCounts(counts: CompressionCounts, inputTokens: number): CompressionCounts {
  const compressedTokens = Math.min(counts.compressedTokens, inputTokens);
  return {
    ...counts,
    compressedTokens,
    originalTokens: Math.min(counts.originalTokens, compressedTokens + inputTokens),
  };
}

/** The rate of a call's input, in its mode. */
export interface InputRate {
  nanoUsdPerMillion: NanoUsd;
  mode: PricingMode;
}

export function compressionSavings(counts: CompressionCounts, rate: InputRate | null): CompressionSavings {
  const { provider, originalTokens, compressedTokens, techniques } = counts;
  const savedTokens = Math.max(0, originalTokens - compressedTokens);
  return {
    provider,
    originalTokens,
    compressedTokens,
    techniques,
    savedTokens,
    tokenSavingsRatio: savingsRatio(originalTokens, savedTokens),
    inputCostAvoidedNanoUsd: rate && inputCost(savedTokens, rate),
  };
}

export function savingsRatio(originalTokens: number, savedTokens: number): number {
  return originalTokens === 0 ? 0 : savedTokens / originalTokens;
}

/** Rounded half up, like a cost line. */
export function inputCost(tokens: number, { nanoUsdPerMillion, mode }: InputRate): NanoUsd {
  const standardNanoUsd = divideHalfUp(BigInt(tokens) * nanoUsdPerMillion, 1_000_000n);
  return mode === 'batch' ? divideHalfUp(standardNanoUsd, 2n) : standardNanoUsd;
}
