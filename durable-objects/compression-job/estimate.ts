/**
 * The savings that a profile would have had on stored samples: one sample at a time, added up. Pure.
 *
 * Savings are the compressors' own estimates. The avoided cost is that of each technique's tokens at the input rate of
 * the sample's model, rounded per sample and technique, so that the techniques sum to the total.
 */
import { readMessages } from '../../src/compression/conversation.ts';
import { compressMessages } from '../../src/compression/messages.ts';
import { TECHNIQUES, type TechniqueName } from '../../src/compression/techniques.ts';
import type { CompressionProfile } from '../../src/contract/compression.ts';
import { inputCost } from '../../src/domain/compression.ts';
import type { NanoUsd } from '../../src/domain/money.ts';

export interface TechniqueTotals {
  samples: number;
  /**
   * The tokens, before the technique, of the texts that it changed. Absent in an estimate that an earlier version
   * began.
   */
  originalTokens?: number;
  savedTokens: number;
  costAvoidedNanoUsd: NanoUsd;
}

export interface Totals {
  originalTokens: number;
  compressedTokens: number;
  costAvoidedNanoUsd: NanoUsd;
  unpricedSamples: number;
  byTechnique: Partial<Record<TechniqueName, TechniqueTotals>>;
}

export const NO_TOTALS: Totals = {
  originalTokens: 0,
  compressedTokens: 0,
  costAvoidedNanoUsd: 0n,
  unpricedSamples: 0,
  byTechnique: {},
};

/** The totals with one more sample. `inputRate` is nano-USD per million tokens, `null` if it is not known. */
export function addSample(
  totals: Totals,
  input: unknown,
  profile: CompressionProfile,
  inputRate: NanoUsd | null,
): Totals {
  const { originalTokens, compressedTokens, techniques } = compressMessages(readMessages(input), profile);
  const byTechnique = { ...totals.byTechnique };
  let costAvoidedNanoUsd = totals.costAvoidedNanoUsd;
  for (const { name, originalTokens: before, savedTokens } of techniques) {
    const known = byTechnique[name] ?? { samples: 0, originalTokens: 0, savedTokens: 0, costAvoidedNanoUsd: 0n };
    const avoided =
      inputRate === null ? 0n : inputCost(savedTokens, { nanoUsdPerMillion: inputRate, mode: 'standard' });
    costAvoidedNanoUsd += avoided;
    byTechnique[name] = {
      samples: known.samples + 1,
      originalTokens: (known.originalTokens ?? 0) + before,
      savedTokens: known.savedTokens + savedTokens,
      costAvoidedNanoUsd: known.costAvoidedNanoUsd + avoided,
    };
  }
  return {
    originalTokens: totals.originalTokens + originalTokens,
    compressedTokens: totals.compressedTokens + compressedTokens,
    costAvoidedNanoUsd,
    unpricedSamples: totals.unpricedSamples + (inputRate === null ? 1 : 0),
    byTechnique,
  };
}

/** In the order in which they are applied. */
export function listTechniques({ byTechnique }: Totals): (Required<TechniqueTotals> & { technique: TechniqueName })[] {
  return TECHNIQUES.flatMap((technique) => {
    const found = byTechnique[technique];
    return found ? [{ technique, ...found, originalTokens: found.originalTokens ?? found.savedTokens }] : [];
  });
}
