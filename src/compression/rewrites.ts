/**
 * The published list of rewrites that keep the sense of an instruction, and the places at which each applies.
 *
 * A phrase is on the list only if no reading of it has another meaning. So most have a condition: `In order to` begins
 * a sentence, because in `keep the items in order to the left` it is not a purpose; `the fact that` is followed by a
 * complete statement, because `the fact that you mention` is a thing. The guide for clients prints the list; a test
 * compares both.
 */
import { once } from './once.ts';

/** At the start of a text, a line or a sentence. */
const OPENING = '(?<=^|\\n|[.!?] )';
/** A complete statement: nothing is missing in it that `that` could stand for. */
const STATEMENT =
  '(?= (?:(?:it|they|we|you|he|she|this|that) (?:is|are|was|were) (?:a|an|the|too|very)|there (?:is|are|was|were) (?:a|an|no|too|many|few)) [a-z])';
const WORD = '(?= [a-z]{2})';

/** The surroundings of a phrase, and their words in the list. */
const PLACES = {
  'starts a sentence, a word follows': [OPENING, WORD],
  'starts a sentence, a verb with -ing follows': [OPENING, '(?= [a-z]{2,}ing )'],
  'starts a sentence, a complete statement follows': [OPENING, STATEMENT],
  'starts a sentence': [OPENING, '(?= )'],
  'within a sentence, a complete statement follows': ['(?<=[a-z] )', STATEMENT],
  'within a sentence, a word follows': ['(?<=[a-z] )', WORD],
} as const;

export interface Rewrite {
  phrase: string;
  replacement: string;
  place: keyof typeof PLACES;
}

const rewrite = (phrase: string, replacement: string, place: Rewrite['place']): Rewrite => ({
  phrase,
  replacement,
  place,
});

export const REWRITES: readonly Rewrite[] = [
  rewrite('In order to', 'To', 'starts a sentence, a word follows'),
  rewrite('With the exception of', 'Except for', 'starts a sentence, a word follows'),
  rewrite('Make sure that you', 'Make sure you', 'starts a sentence, a word follows'),
  rewrite('Prior to', 'Before', 'starts a sentence, a verb with -ing follows'),
  rewrite('Subsequent to', 'After', 'starts a sentence, a verb with -ing follows'),
  rewrite('Due to the fact that', 'Because', 'starts a sentence, a complete statement follows'),
  rewrite('Owing to the fact that', 'Because', 'starts a sentence, a complete statement follows'),
  rewrite('On account of the fact that', 'Because', 'starts a sentence, a complete statement follows'),
  rewrite('Despite the fact that', 'Although', 'starts a sentence, a complete statement follows'),
  rewrite('In spite of the fact that', 'Although', 'starts a sentence, a complete statement follows'),
  rewrite('In the majority of cases,', 'In most cases,', 'starts a sentence'),
  rewrite('At the present time,', 'Currently,', 'starts a sentence'),
  rewrite('until such time as', 'until', 'within a sentence, a complete statement follows'),
  rewrite('regardless of whether or not', 'regardless of whether', 'within a sentence, a word follows'),
  rewrite('irrespective of whether or not', 'irrespective of whether', 'within a sentence, a word follows'),
  rewrite('each and every one of', 'every one of', 'within a sentence, a word follows'),
  rewrite('in close proximity to', 'close to', 'within a sentence, a word follows'),
];

const rules = once(() =>
  REWRITES.map(({ phrase, replacement, place }) => {
    const [before, after] = PLACES[place];
    return { pattern: new RegExp(`${before}${phrase}${after}`, 'g'), replacement };
  }),
);

export function rewriteSafely(instructions: string): string {
  return rules().reduce((text, { pattern, replacement }) => text.replace(pattern, replacement), instructions);
}
