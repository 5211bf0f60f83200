/**
 * The figures of compression: the number of changed senses, the error of the token estimate, and the savings.
 */
import { get_encoding } from 'tiktoken';
import { compressText } from '../../src/compression/compress.ts';
import { compressMessages } from '../../src/compression/messages.ts';
import { type CompressionProfile, TECHNIQUES, type TechniqueName } from '../../src/compression/techniques.ts';
import { estimateTokens } from '../../src/compression/tokens.ts';
import { type PublishedRewrite, senseChange } from './changes.ts';
import { isConversation, joinParts, type Prompt, renderMessages } from './prompt.ts';

/** One aggressiveness of each level. */
export const LEVELS = [
  { name: 'lossless', aggressiveness: 0 },
  { name: 'default', aggressiveness: 0.3 },
  { name: 'free', aggressiveness: 0.7 },
] as const;

export const profileOf = (
  aggressiveness: number,
  techniques: readonly TechniqueName[] = TECHNIQUES,
): CompressionProfile => ({ techniques, aggressiveness, protectedPhrases: [], minInputTokens: 0 });

/** The compressed texts of a prompt. */
function compressed({ of }: Prompt, profile: CompressionProfile): string[] {
  if (!isConversation(of)) return [compressText(joinParts(of), profile).text];
  return compressMessages(renderMessages(of), profile).messages.map(({ content }) => content);
}

/** The fault of a compressed prompt; `null` if its sense is the same. */
export function changeOf(
  prompt: Prompt,
  profile: CompressionProfile,
  rewrites: readonly PublishedRewrite[],
): string | null {
  const texts = compressed(prompt, profile);
  const parts = isConversation(prompt.of) ? prompt.of.map((message) => message.parts) : [prompt.of];
  for (const [index, text] of texts.entries()) {
    const wrong = senseChange(parts[index] ?? [], text, rewrites);
    if (wrong) return wrong;
  }
  return null;
}

let encoding: ReturnType<typeof get_encoding> | undefined;

/** The tokens of a text by `o200k_base` itself. */
export function countTokens(text: string): number {
  encoding ??= get_encoding('o200k_base');
  return encoding.encode(text, [], []).length;
}

export interface Estimate {
  name: string;
  tokens: number;
  estimated: number;
  /** The error of the estimate, as a share of the tokens: -0.05 is 5 % too few. */
  error: number;
}

export function estimateOf(name: string, texts: readonly string[]): Estimate {
  const sum = (count: (text: string) => number) => texts.reduce((total, text) => total + count(text), 0);
  const tokens = sum(countTokens);
  const estimated = sum(estimateTokens);
  return { name, tokens, estimated, error: estimated / tokens - 1 };
}

export interface Saved {
  name: string;
  tokens: number;
  /** At each level, by `o200k_base`. */
  after: number[];
  /** The same by the estimate, before and at each level. */
  estimatedTokens: number;
  estimatedAfter: number[];
  techniques: string[][];
}

export function savedOf(name: string, prompt: string | readonly object[]): Saved {
  const at = (aggressiveness: number, count: (text: string) => number) =>
    typeof prompt === 'string'
      ? compressText(prompt, profileOf(aggressiveness), count)
      : compressMessages(prompt, profileOf(aggressiveness), count);
  const exact = LEVELS.map(({ aggressiveness }) => at(aggressiveness, countTokens));
  const estimated = LEVELS.map(({ aggressiveness }) => at(aggressiveness, estimateTokens));
  return {
    name,
    tokens: exact[0]?.originalTokens ?? 0,
    after: exact.map(({ compressedTokens }) => compressedTokens),
    estimatedTokens: estimated[0]?.originalTokens ?? 0,
    estimatedAfter: estimated.map(({ compressedTokens }) => compressedTokens),
    techniques: exact.map(({ techniques }) => techniques.map(({ name: technique }) => technique)),
  };
}
