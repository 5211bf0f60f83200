/**
 * The techniques, in the order in which they are applied, and the profile that selects them.
 *
 * | name         | from 0                             | from 0.3 (`SAFE`)             | from 0.7 (`FREE`)                          |
 * |--------------|------------------------------------|-------------------------------|--------------------------------------------|
 * | `json`       | JSON without blanks between tokens |                               |                                            |
 * | `toon`       |                                    |                               | JSON as fenced TOON, if shorter            |
 * | `whitespace` | of instructions                    |                               | everywhere but in protected spans          |
 * | `decoration` |                                    |                               | rulers, `!!!`, the marks of `**bold**`     |
 * | `politeness` |                                    |                               | `please`, `I would like you to`, `Hello,`  |
 * | `filler`     |                                    | the list of `rewrites.ts`     | `in order to`, `it is worth noting that`   |
 * | `duplicates` |                                    |                               | repeated paragraphs and lines              |
 *
 * Below `FREE`, only certain instructions and JSON that stands alone change; `request.ts` decides for which prompts. The
 * phrases are English.
 */
import { trimDecoration } from './decoration.ts';
import { removeDuplicates } from './duplicates.ts';
import { shortenFiller } from './filler.ts';
import { minifyJson } from './json-text.ts';
import { FREE, SAFE } from './levels.ts';
import { dropPoliteness } from './politeness.ts';
import { rewriteSafely } from './rewrites.ts';
import { fencedToon } from './toon.ts';
import { trimWhitespace } from './whitespace.ts';

export const TECHNIQUES = ['json', 'toon', 'whitespace', 'decoration', 'politeness', 'filler', 'duplicates'] as const;

export type TechniqueName = (typeof TECHNIQUES)[number];

export interface CompressionProfile {
  techniques: readonly TechniqueName[];
  /** 0 to 1. */
  aggressiveness: number;
  /** Case-sensitive phrases that always stay byte for byte. */
  protectedPhrases: readonly string[];
  /** A text with fewer tokens stays unchanged. */
  minInputTokens: number;
}

/** Rewrites one JSON value, or prose with a `MASK` for each protected span; `null` if it cannot. */
export type Technique =
  | { on: 'prose'; from: number; rewrite(prose: string, aggressiveness: number): string }
  | { on: 'json'; from: number; rewrite(json: string): string | null; block: boolean };

/** `from` is the aggressiveness. A `block` must be on lines of its own. */
export const TECHNIQUE: Record<TechniqueName, Technique> = {
  json: { on: 'json', from: 0, rewrite: minifyJson, block: false },
  toon: { on: 'json', from: FREE, rewrite: fencedToon, block: true },
  whitespace: { on: 'prose', from: 0, rewrite: trimWhitespace },
  decoration: { on: 'prose', from: FREE, rewrite: trimDecoration },
  politeness: { on: 'prose', from: FREE, rewrite: dropPoliteness },
  filler: { on: 'prose', from: SAFE, rewrite: rewriteFiller },
  duplicates: { on: 'prose', from: FREE, rewrite: removeDuplicates },
};

function rewriteFiller(prose: string, aggressiveness: number): string {
  const safely = rewriteSafely(prose);
  return aggressiveness >= FREE ? shortenFiller(safely) : safely;
}
