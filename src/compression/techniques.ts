/**
 * The techniques, in the order in which they are applied, and the profile that selects them.
 *
 * | name         | from 0                                         | from 0.3 (`MODERATE`)        | from 0.7 (`STRONG`)                        |
 * |--------------|------------------------------------------------|------------------------------|--------------------------------------------|
 * | `json`       | JSON without blanks between its tokens         |                              |                                            |
 * | `toon`       | JSON as fenced TOON, where shorter, lossless   |                              |                                            |
 * | `whitespace` | line ends, trailing blanks, blank lines        | one space for several        |                                            |
 * | `decoration` | rulers of three characters                     | `!!!` and `???`              | the marks of `**bold**`                    |
 * | `politeness` |                                                | `please`, `Thanks a lot.`    | `I would like you to`, `Hello,` on a line  |
 * | `filler`     |                                                | `in order to` is `to`        | `it is worth noting that`, `very`          |
 * | `duplicates` | repeated paragraphs                            | repeated lines               | ignoring case and punctuation              |
 *
 * `json` and `toon` are lossless at any aggressiveness. The phrases are English; other languages are not changed.
 */
import { trimDecoration } from './decoration.ts';
import { removeDuplicates } from './duplicates.ts';
import { shortenFiller } from './filler.ts';
import { minifyJson } from './json-text.ts';
import { dropPoliteness } from './politeness.ts';
import { fencedToon } from './toon.ts';
import { trimWhitespace } from './whitespace.ts';

export const TECHNIQUES = ['json', 'toon', 'whitespace', 'decoration', 'politeness', 'filler', 'duplicates'] as const;

export type TechniqueName = (typeof TECHNIQUES)[number];

/** The lossless techniques. */
export const LOSSLESS_TECHNIQUES = ['json', 'toon'] as const satisfies readonly TechniqueName[];

export interface CompressionProfile {
  techniques: readonly TechniqueName[];
  /** 0 to 1. */
  aggressiveness: number;
  /** Case-sensitive phrases that stay byte for byte wherever they occur. */
  protectedPhrases: readonly string[];
  /** A text with fewer estimated tokens stays unchanged. */
  minInputTokens: number;
}

/** Rewrites one JSON value, or prose with a `MASK` for each protected span; `null` where it cannot. */
export type Technique =
  | { on: 'prose'; rewrite(prose: string, aggressiveness: number): string }
  | { on: 'json'; rewrite(json: string): string | null; block: boolean };

/** A `block` must be on lines of its own. */
export const TECHNIQUE: Record<TechniqueName, Technique> = {
  json: { on: 'json', rewrite: minifyJson, block: false },
  toon: { on: 'json', rewrite: fencedToon, block: true },
  whitespace: { on: 'prose', rewrite: trimWhitespace },
  decoration: { on: 'prose', rewrite: trimDecoration },
  politeness: { on: 'prose', rewrite: dropPoliteness },
  filler: { on: 'prose', rewrite: shortenFiller },
  duplicates: { on: 'prose', rewrite: removeDuplicates },
};
