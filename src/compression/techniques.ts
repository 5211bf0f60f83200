/**
 * The techniques, by name and in the order in which they are tried, and the profile that chooses among them.
 *
 * | name         | from 0                                         | from 0.3 (`MODERATE`)        | from 0.7 (`STRONG`)                        |
 * |--------------|------------------------------------------------|------------------------------|--------------------------------------------|
 * | `json`       | JSON without blanks between its tokens         |                              |                                            |
 * | `toon`       | JSON as fenced TOON, where shorter, lossless   |                              |                                            |
 * | `whitespace` | line ends, trailing blanks, blank lines        | one space for several        |                                            |
 * | `decoration` | rulers of three characters                     | `!!!` and `???`              | the marks of `**bold**`                    |
 * | `politeness` |                                                | `please`, `Thanks a lot.`    | `I would like you to`, `Hello,` on a line  |
 * | `filler`     |                                                | `in order to` is `to`        | `it is worth noting that`, `very`          |
 * | `duplicates` | paragraphs said again                          | lines said again             | whatever their case and punctuation        |
 *
 * `json` and `toon` lose nothing, at any aggressiveness. The phrases are English; other languages keep theirs.
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

/** Those that rewrite data without losing any of it. */
export const LOSSLESS_TECHNIQUES = ['json', 'toon'] as const satisfies readonly TechniqueName[];

export interface CompressionProfile {
  techniques: readonly TechniqueName[];
  /** 0 to 1. */
  aggressiveness: number;
  /** Kept byte for byte wherever they occur, in the case in which they are given. */
  protectedPhrases: readonly string[];
  /** A text that is estimated below this is left as it is. */
  minInputTokens: number;
}

/** Rewrites prose in which a `MASK` stands for each protected span, or one JSON value; `null` says that it cannot. */
export type Technique =
  | { on: 'prose'; rewrite(prose: string, aggressiveness: number): string }
  | { on: 'json'; rewrite(json: string): string | null; block: boolean };

/** A `block` begins and ends a line of its own. */
export const TECHNIQUE: Record<TechniqueName, Technique> = {
  json: { on: 'json', rewrite: minifyJson, block: false },
  toon: { on: 'json', rewrite: fencedToon, block: true },
  whitespace: { on: 'prose', rewrite: trimWhitespace },
  decoration: { on: 'prose', rewrite: trimDecoration },
  politeness: { on: 'prose', rewrite: dropPoliteness },
  filler: { on: 'prose', rewrite: shortenFiller },
  duplicates: { on: 'prose', rewrite: removeDuplicates },
};
