/**
 * Fuzzy matching: the known name nearest to a misspelled one, with a score in (0, 1], or none.
 *
 * Letters can be misspelled, numbers cannot: `gpt-5.7` is not a typo of `gpt-5.1`, so all digits must agree. The end of
 * a name (`-preview`, `-latest`, a date) is its revision: another revision reduces the score only a little. Pure and
 * deterministic: among equally near names, the first in the given order wins.
 *
 * | name                | nearest                  | why                                | score |
 * |---------------------|--------------------------|------------------------------------|-------|
 * | `gpt4o`             | `gpt-4o`                 | separators do not count            | 1     |
 * | `gemini-3-pro`      | `gemini-3-pro-preview`   | the same name, without a revision  | 0.96  |
 * | `gpt-4o-min`        | `gpt-4o-mini`            | one letter of nine                 | 0.889 |
 * | `gtp-4o`            | `gpt-4o`                 | two neighbours swapped: one edit   | 0.8   |
 * | `gemini-2.4-pro`    | nobody                   | another number                     |       |
 * | `gpt-4o-pro`        | nobody                   | more than two edits: another word  |       |
 */

/** Below this score there is no match: one error in five letters is a typo, one in four is another word. */
export const FUZZY_SCORE_MIN = 0.8;

/** With more errors than this a name is another word, whatever its length. */
const FUZZY_EDITS_MAX = 2;

/** The score penalty of a completely different revision. */
const REVISION_WEIGHT = 0.05;

/** The revision difference between a name with and one without a revision. */
const REVISION_MISSING = 0.8;

/** The revision that means "the newest". */
const FLOATING = 'latest';

/** The maximum number of words in a revision. */
const REVISION_WORDS_MAX = 3;

/** Scores have three decimals, so that ties are ties. */
const SCORE_SCALE = 1000;

const REVISION_WORD =
  /[-@:](?:preview|exp|latest|\d{4}-\d{1,2}-\d{1,2}|\d{4}-\d{1,2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{4,8})$/;
const SEPARATORS = /[-_.:/@\s]+/g;

/** A name in its normalized form for comparison. */
export interface Spelling {
  /** The name without its revision, in lower case and without separators. */
  stem: string;
  digits: string;
  revision: string;
}

export interface Nearest<T> {
  candidate: T;
  score: number;
}

/** Normalizes a name: `claude-3-5-sonnet-20241022` has the stem `claude35sonnet` and the revision `20241022`. */
export function parseSpelling(name: string): Spelling {
  const plain = name.toLowerCase();
  let stem = plain;
  for (let word = 0; word < REVISION_WORDS_MAX; word += 1) stem = stem.replace(REVISION_WORD, '');
  const revision = plain.slice(stem.length).replace(SEPARATORS, '');
  stem = stem.replace(SEPARATORS, '');
  return { stem, digits: stem.replace(/\D+/g, ''), revision };
}

/** The nearest of `candidates` that is near enough; if several are equally near, the first. */
export function findNearest<T extends { spelling: Spelling }>(
  name: Spelling,
  candidates: readonly T[],
): Nearest<T> | null {
  let nearest: Nearest<T> | null = null;
  for (const candidate of candidates) {
    const score = scoreSpelling(name, candidate.spelling);
    if (score >= FUZZY_SCORE_MIN && score > (nearest?.score ?? 0)) nearest = { candidate, score };
  }
  return nearest;
}

function scoreSpelling(name: Spelling, known: Spelling): number {
  if (name.stem === '' || name.digits !== known.digits) return 0;
  if (Math.abs(name.stem.length - known.stem.length) > FUZZY_EDITS_MAX) return 0;
  const edits = editDistance(name.stem, known.stem);
  if (edits > FUZZY_EDITS_MAX) return 0;
  const score =
    1 - share(edits, name.stem, known.stem) - REVISION_WEIGHT * revisionDifference(name.revision, known.revision);
  return Math.round(score * SCORE_SCALE) / SCORE_SCALE;
}

/**
 * From 0 (equal) to 1 (completely different). A revision that is missing in one name, or is `latest`, is not compared
 * as a misspelled date.
 */
function revisionDifference(name: string, known: string): number {
  if (name === known) return 0;
  if (name === '' || known === '') return REVISION_MISSING;
  if (name === FLOATING || known === FLOATING) return 1;
  return share(editDistance(name, known), name, known);
}

function share(edits: number, one: string, other: string): number {
  return edits / Math.max(one.length, other.length, 1);
}

/** The number of inserted, deleted, replaced or transposed letters (Damerau-Levenshtein, optimal string alignment). */
export function editDistance(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = at(last, column - 1) + (one[row - 1] === other[column - 1] ? 0 : 1);
      let edits = Math.min(replaced, at(last, column) + 1, at(current, column - 1) + 1);
      if (isSwap(one, row, other, column)) edits = Math.min(edits, at(beforeLast, column - 2) + 1);
      current.push(edits);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, other.length);
}

/** Digits are never transposed: `4o` and `o4` are two models. */
function isSwap(one: string, row: number, other: string, column: number): boolean {
  if (row < 2 || column < 2 || one[row - 1] !== other[column - 2] || one[row - 2] !== other[column - 1]) return false;
  return !/\d/.test(one.slice(row - 2, row));
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
