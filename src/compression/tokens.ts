/**
 * Estimates the number of tokens that `o200k_base`, the vocabulary of OpenAI's models since GPT-4o, makes of a text.
 *
 * The text is split into roughly the same pieces as by that tokenizer before it merges: words, numbers of up to three
 * digits, punctuation, white space; and `HTTPServer` into two words, because it mostly becomes two tokens. A word's
 * tokens follow from its letters (`token-weights.ts`), the tokens of other pieces from their length. In English and
 * other large languages, whose words are whole tokens more often, a word counts less; the preceding words show the
 * language.
 *
 * It is an estimate: `npm run test:compression` prints its error by language. Deterministic; the empty text has 0
 * tokens, and a prefix never has more than the whole text. Linear in the length.
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
/**
 * ASCII signs: two are one token, further ones add this much, and in a run of one sign, such as `=====`, almost
 * nothing.
 */
const SIGNS_PER_TOKEN = 2;
const FURTHER_SIGN = 0.2;
const RUN_PER_TOKEN = 40;
/** A sign outside of ASCII: the weights of the first one and of each further one. */
const SYMBOL = 1.2;
const FURTHER_SYMBOL = 1.4;

/** The tokens of a word, and the languages that have it among their most frequent words. */
interface Word {
  beyondOne: number;
  /** The factor if the word is not part of a name. */
  factor: number;
  /** `null` if the word has no letter from a to z, and does not show the language. */
  languages: readonly number[] | null;
}

/**
 * A later part of a name such as `customerId` is mostly a common English word: its tokens beyond the first count less.
 */
const PART_OF_NAME = /^[A-Z]/;
const PART_FACTOR = 0.2;
/** The same holds, less often, for a word after a sign, as in `.map` and `_cost`. */
const AFTER_SIGN = /^[!-~](?<![A-Za-z])/;
const AFTER_SIGN_FACTOR = 0.75;
/** Signs that are frequent only in code: code is treated as a language, the last one of the list. */
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

/**
 * An alphabet by the codes of its letters. The first row is for a letter that does not follow a letter of the alphabet.
 */
class Table {
  readonly #places: ReadonlyMap<number, number>;
  readonly #weights: Float64Array;
  readonly #size: number;
  /** Rows before those of the letters. */
  readonly rowsBefore: number;

  constructor({ before, letters, weights }: Alphabet) {
    this.rowsBefore = Array.from(before).length - Array.from(letters).length;
    this.#places = new Map(Array.from(letters, (letter, index) => [codePoint(letter), index] as const));
    this.#size = this.#places.size;
    this.#weights = decodeWeights(weights);
  }

  /** The place of a letter; -1 if the alphabet does not have it. */
  place(code: number): number {
    return this.#places.get(code) ?? -1;
  }

  weight(row: number, place: number): number {
    return this.#weights[row * this.#size + place] ?? 0;
  }
}

const codePoint = (letter: string) => letter.codePointAt(0) ?? 0;
const decodeWeights = (digits: string) => Float64Array.from(digits, (digit) => Number.parseInt(digit, 36) * STEP);
const latin = new Table(LATIN);
const cyrillic = new Table(CYRILLIC);
const arabic = new Table(ARABIC);
const accentWeights = decodeWeights(ACCENTS);
const accents = new Map(
  Array.from(ACCENTED, (letter, index) => [codePoint(letter), accentWeights[index] ?? 0] as const),
);
const accentMean = accentWeights.reduce((sum, weight) => sum + weight, 0) / accentWeights.length;
const traditional = new Set(Array.from(TRADITIONAL, codePoint));

/** Rows of the Latin table: after nothing, after a space. */
const NOTHING = 0;
const SPACE = 1;
const LATIN_END = 0x250;
const CYRILLIC_START = 0x400;
const ARABIC_START = 0x600;
const ARABIC_END = 0x700;

/** For a piece of letters and marks, perhaps after one other character. */
function tokensOfWord(piece: string): number {
  const first = String.fromCodePoint(codePoint(piece));
  const after = /[\p{L}\p{M}]/u.test(first) ? '' : first;
  let tokens = WORD_AFTER.get(after) ?? WORD_AFTER_OTHER;
  let row = after === ' ' ? SPACE : NOTHING;
  let table = latin;
  const start = after.length;
  for (let at = start; at < piece.length; ) {
    const code = piece.codePointAt(at) ?? 0;
    const isFirst = at === start;
    at += code > 0xffff ? 2 : 1;
    const lower = toLower(code);
    if (code < LATIN_END || isVietnamese(code)) {
      if (code < 0x80) tokens += code === lower ? 0 : isFirst ? CAPITAL : CAPITAL_WITHIN;
      else tokens += code < LATIN_END ? (accents.get(lower) ?? accentMean) : ofScript(code, isFirst);
      const place = latin.place(code < 0x80 ? lower : withoutAccents(lower));
      if (place >= 0) tokens += latin.weight(table === latin ? row : NOTHING, place);
      table = latin;
      row = place < 0 ? NOTHING : latin.rowsBefore + place;
      continue;
    }
    tokens += ofScript(code, isFirst);
    const own = code >= CYRILLIC_START && code < ARABIC_END ? (code < ARABIC_START ? cyrillic : arabic) : null;
    const place = own ? own.place(lower) : -1;
    if (own && place >= 0) {
      tokens += own.weight(table === own ? row : NOTHING, place);
      row = own.rowsBefore + place;
      table = own;
    } else {
      if (traditional.has(code)) tokens += TRADITIONAL_MORE;
      row = NOTHING;
      table = latin;
    }
  }
  return tokens;
}

function toLower(code: number): number {
  if (code < 0x80) return code >= 0x41 && code <= 0x5a ? code + 0x20 : code;
  // Scripts beyond these have no capitals that the tables know.
  return code < ARABIC_START || isVietnamese(code) ? codePoint(String.fromCharCode(code).toLowerCase()) : code;
}

const isVietnamese = (code: number) => code >= 0x1e00 && code <= 0x1eff;

/** The letter without its accents. */
const withoutAccents = (code: number) => codePoint(String.fromCharCode(code).normalize('NFD'));

/** The weight of a letter of a script. The scripts are in order and do not overlap. */
function ofScript(code: number, isFirst: boolean): number {
  let low = 0;
  let high = SCRIPTS.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((SCRIPTS[middle]?.[1] ?? 0) < code) low = middle + 1;
    else high = middle;
  }
  const script = SCRIPTS[low];
  if (!script || script[0] > code) return OTHER_SCRIPT[isFirst ? 0 : 1];
  return script[isFirst ? 2 : 3];
}

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
/** The share of the knowledge about the language that remains after a further word. */
const MEMORY = 0.93;
/** The share of frequent words at which a language is known. */
const KNOWN = 0.12;

/** The language of the words so far. */
class Language {
  readonly #shares = LANGUAGES.map(() => 0);
  /** The factor for the tokens of a word beyond the first, in this language. */
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
