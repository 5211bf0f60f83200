/**
 * What a profile would have saved on stored samples: one sample at a time, added up. Pure.
 *
 * Savings are the compressors' own estimates. The cost avoided is that of each technique's tokens at the input rate of
 * the sample's model, rounded per sample and technique, so that the techniques sum to the total.
 */
import { compressMessages } from '../../src/compression/messages.ts';
import { TECHNIQUES, type TechniqueName } from '../../src/compression/techniques.ts';
import type { CompressionProfile } from '../../src/contract/compression.ts';
import { inputCost } from '../../src/domain/compression.ts';
import type { NanoUsd } from '../../src/domain/money.ts';

export interface TechniqueTotals {
  samples: number;
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

/** The totals with one more sample. `inputRate` is nano-USD per million tokens, `null` where it is not known. */
export function addSample(
  totals: Totals,
  input: unknown,
  profile: CompressionProfile,
  inputRate: NanoUsd | null,
): Totals {
  const { originalTokens, compressedTokens, techniques } = compressMessages(messagesOf(input), profile);
  const byTechnique = { ...totals.byTechnique };
  let costAvoidedNanoUsd = totals.costAvoidedNanoUsd;
  for (const { name, savedTokens } of techniques) {
    const known = byTechnique[name] ?? { samples: 0, savedTokens: 0, costAvoidedNanoUsd: 0n };
    const avoided =
      inputRate === null ? 0n : inputCost(savedTokens, { nanoUsdPerMillion: inputRate, mode: 'standard' });
    costAvoidedNanoUsd += avoided;
    byTechnique[name] = {
      samples: known.samples + 1,
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
export function techniquesOf({ byTechnique }: Totals): (TechniqueTotals & { technique: TechniqueName })[] {
  return TECHNIQUES.flatMap((technique) => {
    const found = byTechnique[technique];
    return found ? [{ technique, ...found }] : [];
  });
}

/**
 * A sample's input as a conversation: applications store a text, a list of messages, or the whole request to a vendor.
 * Anything else counts as its JSON text.
 */
export function messagesOf(input: unknown): object[] {
  if (typeof input === 'string') return [user(input)];
  if (Array.isArray(input) && input.every((item) => typeof item === 'string' || isRecord(item))) {
    return input.map((item) => (typeof item === 'string' ? user(item) : item));
  }
  if (isRecord(input)) {
    const conversation = input.messages ?? input.input ?? input.prompt;
    if (conversation !== undefined)
      return [...systemOf(input.system), ...systemOf(input.instructions), ...messagesOf(conversation)];
  }
  return [user(JSON.stringify(input))];
}

const user = (content: string) => ({ role: 'user', content });

/** A system prompt beside the messages: a text, or a list of text parts. */
function systemOf(system: unknown): object[] {
  return typeof system === 'string' || Array.isArray(system) ? [{ role: 'system', content: system }] : [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
