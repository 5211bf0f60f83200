/**
 * Estimates how many tokens `o200k_base`, the vocabulary of OpenAI's models since GPT-4o, makes of a text.
 *
 * The text is split into pieces about as that tokenizer splits it before it merges: words, numbers of up to three digits,
 * punctuation, white space; and `HTTPServer` into two words, because it mostly becomes two tokens. A word's tokens follow from its letters (`token-weights.ts`), those of other pieces from
 * their length. In English and other large languages, whose words the vocabulary has whole more often, a word counts less;
 * the language is read from the words before it.
 *
 * It is an estimate: `npm run test:compression` prints its error by language. Deterministic; the empty text has 0 tokens,
 * and a prefix never more than the whole text. Linear in the length.
 */
import {
  ACCENTED,
  ACCENTS,
  type Alphabet,
  ARABIC,
  CAPITAL,
  CAPITAL_WITHIN,
  CYRILLIC,
  LANGUAGES,
  LATIN,
  OTHER_SCRIPT,
  SCRIPTS,
  STEP,
  TRADITIONAL,
  TRADITIONAL_MORE,
  WORD_AFTER,
  WORD_AFTER_OTHER,
} from './token-weights.ts';

/** Counts the tokens of a text. */
export type CountTokens = (text: string) => number;

const UPPER = '\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}';
const LOWER = '\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}';
const SIGN_BEFORE = '[^\\r\\n\\p{L}\\p{N}]?';
const PIECE = new RegExp(
  [
    `(${SIGN_BEFORE}[A-Z]{2,}(?=[A-Z][a-z])|${SIGN_BEFORE}[${UPPER}]*[${LOWER}]+|${SIGN_BEFORE}[${UPPER}]+)`,
    '(\\p{N}{1,3})',
    '( ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*)',
    '\\s*[\\r\\n]+',
    '\\s+(?!\\S)',
    '\\s+',
  ].join('|'),
  'gu',
);

/** Long runs of spaces and of line breaks are single tokens up to about this length. */
const BLANKS_PER_TOKEN = 64;
/** Signs of ASCII: two are one token, further ones add this much, and in a run of one sign, such as `=====`, almost nothing. */
const SIGNS_PER_TOKEN = 2;
const FURTHER_SIGN = 0.2;
const RUN_PER_TOKEN = 40;
/** A sign outside of ASCII: what the first one and each further one adds. */
const SYMBOL = 1.2;
const FURTHER_SYMBOL = 1.4;

/** What a word is worth, and the languages that have it among their most frequent words. */
interface Word {
  beyondOne: number;
  /** What this is multiplied by, where the word is not part of a name. */
  factor: number;
  /** `null` where the word has no letter from a to z, and says nothing of the language. */
  languages: readonly number[] | null;
}

/** A later part of a name such as `customerId` is mostly a common English word: what it has beyond one token counts less. */
const PART_OF_NAME = /^[A-Z]/;
const PART_FACTOR = 0.2;
/** So is, a little less often, a word after a sign, as in `.map` and `_cost`. */
const AFTER_SIGN = /^[!-~](?<![A-Za-z])/;
const AFTER_SIGN_FACTOR = 0.75;
/** Signs that are frequent in code alone: it is heard like a language, the last one of the list. */
const OF_CODE = /[(){}[\];=<>]/;
const CODE = [LANGUAGES.length - 1];
/** Words repeat: their values are kept for the length of a text. */
const KNOWN_WORDS_MAX = 10_000;

export const estimateTokens: CountTokens = (text) => {
  const language = new Language();
  const known = new Map<string, Word>();
  let tokens = 0;
  let afterWord = false;
  for (const [piece, word, number, signs] of text.matchAll(PIECE)) {
    if (word !== undefined) {
      let found = known.get(word);
      if (!found) {
        found = readWord(word);
        if (known.size < KNOWN_WORDS_MAX) known.set(word, found);
      }
      const isPart = afterWord && PART_OF_NAME.test(word);
      tokens += 1 + found.beyondOne * (isPart ? PART_FACTOR : found.languages ? found.factor * language.factor : 1);
      if (found.languages) language.hear(found.languages);
    } else if (number !== undefined) tokens += number < '\x80' ? 1 : number.length;
    else if (signs !== undefined) {
      tokens += tokensOfSigns(signs);
      if (OF_CODE.test(signs)) language.hear(CODE);
    } else tokens += Math.ceil(piece.length / BLANKS_PER_TOKEN);
    afterWord = word !== undefined;
  }
  return Math.round(tokens);
};

function readWord(piece: string): Word {
  const word = piece.replace(/^[^\p{L}\p{M}]/u, '').toLowerCase();
  return {
    beyondOne: Math.max(0, tokensOfWord(piece) - 1),
    factor: AFTER_SIGN.test(piece) ? AFTER_SIGN_FACTOR : 1,
    languages: /[a-z]/.test(word) ? (votes.get(word) ?? []) : null,
  };
}

/** The place of each letter in the rows and columns of an alphabet. */
interface Table {
  rows: ReadonlyMap<string, number>;
  columns: ReadonlyMap<string, number>;
  weights: Float64Array;
}

const places = (letters: string) => new Map(Array.from(letters, (letter, index) => [letter, index] as const));
const weightsOf = (digits: string) => Float64Array.from(digits, (digit) => Number.parseInt(digit, 36) * STEP);
const tableOf = ({ before, letters, weights }: Alphabet): Table => ({
  rows: places(before),
  columns: places(letters),
  weights: weightsOf(weights),
});
const latin = tableOf(LATIN);
const tables = [tableOf(CYRILLIC), tableOf(ARABIC)];
const accents = new Map(Array.from(ACCENTED, (letter, index) => [letter, weightsOf(ACCENTS)[index] ?? 0] as const));
const accentMean = weightsOf(ACCENTS).reduce((sum, weight) => sum + weight, 0) / ACCENTS.length;
const traditional = new Set(TRADITIONAL);
const NOTHING = '^';

/** The weight of a letter after another one, or `null` where the table has no such letter. */
function weightAfter(table: Table, before: string, letter: string): number | null {
  const column = table.columns.get(letter);
  if (column === undefined) return null;
  const row = table.rows.get(before) ?? 0;
  return table.weights[row * table.columns.size + column] ?? 0;
}

/** Of a piece that is letters and marks, perhaps after one other character. */
function tokensOfWord(piece: string): number {
  const letters = Array.from(piece);
  const first = letters[0] ?? '';
  const after = /[\p{L}\p{M}]/u.test(first) ? '' : first;
  let tokens = WORD_AFTER.get(after) ?? WORD_AFTER_OTHER;
  const start = after === '' ? 0 : 1;
  let before = after === ' ' ? ' ' : NOTHING;
  for (let at = start; at < letters.length; at += 1) {
    const letter = letters[at] ?? '';
    const code = letter.codePointAt(0) ?? 0;
    if (code < 0x250) {
      const lower = letter.toLowerCase();
      if (code < 0x80 && letter !== lower) tokens += at === start ? CAPITAL : CAPITAL_WITHIN;
      const base = code < 0x80 ? lower : baseOf(lower);
      if (code >= 0x80) tokens += accents.get(lower) ?? accentMean;
      const weight = weightAfter(latin, before, base);
      tokens += weight ?? 0;
      before = weight === null ? NOTHING : base;
    } else {
      tokens += tokensOfOther(letter, code, before, at === start);
      before = isVietnamese(code) ? baseOf(letter.toLowerCase()) : letter.toLowerCase();
    }
  }
  return tokens;
}

function tokensOfOther(letter: string, code: number, before: string, isFirst: boolean): number {
  const [, , first, further] = SCRIPTS.find(([from, to]) => code >= from && code <= to) ?? [0, 0, ...OTHER_SCRIPT];
  let tokens = isFirst ? first : further;
  for (const table of tables) tokens += weightAfter(table, before, letter.toLowerCase()) ?? 0;
  if (isVietnamese(code)) tokens += weightAfter(latin, NOTHING, baseOf(letter.toLowerCase())) ?? 0;
  return traditional.has(letter) ? tokens + TRADITIONAL_MORE : tokens;
}

const isVietnamese = (code: number) => code >= 0x1e00 && code <= 0x1eff;

/** The letter without its accents. */
const baseOf = (letter: string) => letter.normalize('NFD').charAt(0);

function tokensOfSigns(piece: string): number {
  const signs = piece.trim();
  const ascii = signs.replace(/[^\0-\x7f]/g, '').length;
  const others = Array.from(signs).length - ascii;
  const run = /^(.)\1{3,}$/.test(signs);
  const asciiTokens = run
    ? signs.length / RUN_PER_TOKEN
    : Math.max(0, ascii - SIGNS_PER_TOKEN) * FURTHER_SIGN + (others === 0 ? 0 : ascii * FURTHER_SIGN);
  return others === 0 ? 1 + asciiTokens : SYMBOL + (others - 1) * FURTHER_SYMBOL + asciiTokens;
}

const votes = new Map<string, number[]>();
for (const [index, [, words]] of LANGUAGES.entries())
  for (const word of words.split(' ')) votes.set(word, [...(votes.get(word) ?? []), index]);
/** How much of what is known of the language a further word leaves. */
const MEMORY = 0.93;
/** The share of frequent words from which a language is known. */
const KNOWN = 0.12;

/** The language of the words so far. */
class Language {
  readonly #shares = LANGUAGES.map(() => 0);
  /** What a word of this language has beyond one token is multiplied by this. */
  factor = 1;

  hear(languages: readonly number[]): void {
    let best = KNOWN;
    this.factor = 1;
    for (let index = 0; index < LANGUAGES.length; index += 1) {
      const share = (this.#shares[index] ?? 0) * MEMORY + (languages.includes(index) ? 1 - MEMORY : 0);
      this.#shares[index] = share;
      if (share > best) {
        best = share;
        this.factor = LANGUAGES[index]?.[0] ?? 1;
      }
    }
  }
}
