/**
 * Rules that shorten or drop a known English phrase, each with the places in a sentence at which it may do so.
 *
 * A phrase matches in any case, between whitespace or punctuation, never within a word, a path, an address or a name.
 * If a removed phrase began with a capital letter, the next word is capitalized.
 */

type Place = 'anywhere' | 'sentence opening' | 'clause opening' | 'whole sentence' | 'closing' | 'adverb';

export interface PhraseRule {
  /**
   * `anywhere`: replaced everywhere. `sentence opening`, `clause opening`: removed at the start of a sentence or a
   * clause that continues. `whole sentence`: removed if it is the first or the last sentence of the text. `closing`:
   * removed with the comma before it, at the end of a sentence. `adverb`: removed unless negated or compared.
   */
  place: Place;
  /** A phrase to remove, or a phrase and its replacement. Lower case; words and apostrophes only. */
  phrases: readonly (string | readonly [phrase: string, replacement: string])[];
}

interface CompiledRule {
  pattern: RegExp;
  replacements: Map<string, string>;
}

/** Before a phrase: no character of a word, a path, an address or an identifier. */
const BEFORE = '(?<![\\p{L}\\p{M}\\p{N}_@#$%&/\\\\.=-])';
const AFTER = '(?![\\p{L}\\p{M}\\p{N}_@/\\\\=-]|[.:][\\p{L}\\p{N}])';
/** Whitespace is bounded in all of these, so that the search is linear. */
const SENTENCE_START = '(?<=(?:^|\\n|[.!?;:>*•-] ) {0,2})';
const CLAUSE_START = '(?<=(?:^|\\n|[.!?;:>*•,)-] |\\b(?:and|then|but|so|also|now) ) {0,2})';
const TEXT_START = '(?<=^\\s{0,4})';
/** Not in an item of a list, and not after a colon: the phrase is quoted there. */
const AFTER_SENTENCE = '(?<=(?:\\n|\\S[.!?] ) {0,2})(?<!(?:^|\\n) {0,3}\\d{1,9}[.)] {1,3})(?<!:\\s{1,4})';
/**
 * A verb or a clause follows, and not a word that makes the phrase itself the subject: `Please and thank you are polite
 * words.`
 */
const GOES_ON = '(?=(?!(?:and|or|is|are|was|were|as|in|to|of|with|for|mean|means)\\b)\\p{L}|[\\uFFFC"])';
/** Consecutive phrases that are removed at once. */
const REPEATS_MAX = 8;

const PATTERNS: Record<Place, (phrases: string) => string> = {
  anywhere: (phrases) => `${BEFORE}(${phrases})${AFTER}`,
  'sentence opening': (phrases) => `${SENTENCE_START}${BEFORE}((?:(?:${phrases}),? ${GOES_ON}){1,${REPEATS_MAX}})`,
  'clause opening': (phrases) => `${CLAUSE_START}${BEFORE}((?:(?:${phrases}) ${GOES_ON}){1,${REPEATS_MAX}})`,
  'whole sentence': (phrases) =>
    `(?:${TEXT_START}|${AFTER_SENTENCE}(?=(?:${phrases})[.!,]{0,3}\\s{0,4}$))(${phrases})(?:[.!]{1,3}(?=[\\s\\uFFFC]|$)|,?(?=\\n|$))[ \\t]{0,2}`,
  closing: (phrases) => `, (${phrases})(?=[.!?](?:\\s|$)|\\n|$)`,
  // `a very new` loses `very`, `a very important` does not: the article would be wrong.
  adverb: (phrases) =>
    `(?<!\\bnot|n['’]t|\\b(?:never|so|too|as|how|an))(?!(?<=\\ba) (?:${phrases}) [aeiou]) (${phrases})(?= \\p{L})`,
};

export function compileRules(rules: readonly PhraseRule[]): CompiledRule[] {
  return rules.map(({ place, phrases }) => {
    const pairs = phrases.map((entry) => (typeof entry === 'string' ? ([entry, ''] as const) : entry));
    // The longer of two phrases with the same beginning comes first.
    const longestFirst = pairs.map(([phrase]) => phrase).sort((a, b) => b.length - a.length);
    const choice = longestFirst.map((phrase) => phrase.replaceAll("'", "['’]")).join('|');
    return { pattern: new RegExp(PATTERNS[place](choice), 'giu'), replacements: new Map(pairs) };
  });
}

export function applyRules(prose: string, rules: readonly CompiledRule[]): string {
  let text = prose;
  for (const rule of rules) text = applyRule(text, rule);
  return text;
}

function applyRule(text: string, { pattern, replacements }: CompiledRule): string {
  const parts: string[] = [];
  let at = 0;
  let capital = false;
  const push = (part: string) => {
    if (part === '') return;
    parts.push(capital ? capitalized(part) : part);
    capital = false;
  };
  for (const match of text.matchAll(pattern)) {
    const phrase = match[1] ?? '';
    push(text.slice(at, match.index));
    capital ||= /^\p{Lu}/u.test(phrase);
    push(replacements.get(phrase.toLowerCase().replaceAll('’', "'")) ?? '');
    at = match.index + match[0].length;
  }
  push(text.slice(at));
  return parts.join('');
}

/** Only a plain lower-case word gets a capital: `iPhone` and `x=1` are names. */
function capitalized(text: string): string {
  return /^[a-z]+(?![\p{L}\p{N}_=(/.@-]\S)/u.test(text) ? (text[0] ?? '').toUpperCase() + text.slice(1) : text;
}
