/**
 * Savings of a compressed prompt, from the counts that a caller reports. No content passes through here.
 *
 * What the caller claims to have saved is ignored: savings are derived from the two counts and are never negative.
 */
import { divideHalfUp, type NanoUsd } from './money.ts';
import type { RateCard } from './pricing.ts';

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
  /** The saved tokens at the model's input rate; `null` where the model has no known price. */
  inputCostAvoidedNanoUsd: NanoUsd | null;
}

export function compressionSavings(counts: CompressionCounts, card: RateCard | null): CompressionSavings {
  const savedTokens = Math.max(0, counts.originalTokens - counts.compressedTokens);
  return {
    ...counts,
    savedTokens,
    tokenSavingsRatio: counts.originalTokens === 0 ? 0 : savedTokens / counts.originalTokens,
    inputCostAvoidedNanoUsd: card && divideHalfUp(BigInt(savedTokens) * card.rates.input, 1_000_000n),
  };
}
