/**
 * Counts the tokens of a text without a vendor's tokenizer, and not below it on real texts.
 *
 * Every character has a cost that depends on the character before it, so the count of a text does not depend on the
 * pieces in which it arrives, and one pass over it is enough: 100 KB take 0.3 ms, while a pass that only counts bytes
 * takes 0.2. The costs are in token-costs.ts. They hold for text that people, programs and models write; text made to
 * break a tokenizer can have more tokens, but never more than its bytes in UTF-8, which this count never exceeds
 * either.
 */
import type { VendorKind } from '../domain/vendor-kind.ts';
import { ACCEPTED } from './kind.ts';
import { ANY_ASCII, type AsciiCosts, EMOJI, PARTS_PER_TOKEN, SCRIPTS, WIDE_ASCII } from './token-costs.ts';

/**
 * The kind of vocabulary by which a text is counted.
 *
 * - `any`: any; not below the counts of the tokenizers of OpenAI, Google, Meta, Mistral, DeepSeek and Qwen, and of
 *   Anthropic's published one (of Claude 2)
 * - `wide`: 200,000 tokens and more, which shortens other scripts than Latin: OpenAI since GPT-4o, and Google
 * - `claude`: Anthropic's present one, which is not published. The vendor says that it makes up to 1.35 times as many
 *   tokens as the previous one (platform.claude.com/docs/en/about-claude/models/migration-guide).
 */
export type Vocabulary = 'any' | 'wide' | 'claude';

/** A factor on `any`, whose costs are themselves above Claude 2's counts. A cautious guess: nobody can check it. */
const CLAUDE_FACTOR = 1.25;

/** The vocabulary of a model at a vendor of the kind. */
export function chooseVocabulary(kind: VendorKind, model: string): Vocabulary {
  const { vocabularyOwner: owner } = ACCEPTED[kind];
  if (owner === 'anthropic' || /claude/i.test(model)) return 'claude';
  if (owner === 'google') return 'wide';
  // o200k_base from GPT-4o on (the model table of openai/tiktoken); the names before it, and embeddings, have cl100k_base.
  const hasOlder = /gpt-4(?!o|\.)|gpt-3|text-|davinci|babbage|ada/.test(model);
  return owner === 'openai' && !hasOlder ? 'wide' : 'any';
}

export function tokensAtMost(text: string, vocabulary: Vocabulary = 'any'): number {
  const count = new TokenCount(vocabulary);
  count.add(text);
  return count.tokens;
}

const BLANK = 0x20;
const TAB = 0x09;
/** Stands for the previous character if there is none, or if it is outside of ASCII. No text has these controls. */
const NOTHING = 0;
const LATIN = 1;
const OTHER = 2;
const FIRST_HALF = 3;
/** Two blanks or more, and an indentation. */
const BLANKS = 4;

/** The place of characters without a script. */
const UNKNOWN = 0xff;
const NONE = -1;

export class TokenCount {
  readonly #costs: Costs;
  readonly #factor: number;
  #parts = 0;
  #bytes = 0;
  #previous = NOTHING;
  /** The script of the previous character, if it is outside of ASCII. */
  #script = NONE;

  constructor(vocabulary: Vocabulary = 'any') {
    this.#costs = vocabularyCosts(vocabulary);
    this.#factor = vocabulary === 'claude' ? CLAUDE_FACTOR : 1;
  }

  /** Takes the next piece of the text, wherever it was cut. */
  add(delta: string): void {
    const { ascii } = this.#costs;
    const { length } = delta;
    let parts = 0;
    let wide = 0;
    let previous = this.#previous;
    for (let at = 0; at < length; at += 1) {
      const code = delta.charCodeAt(at);
      if (code < 0x80) {
        parts += ascii[(previous << 7) + code] as number;
        previous = code === BLANK && isWhitespace(previous) ? BLANKS : code;
      } else {
        wide += 1;
        previous = this.#addWide(code, previous);
      }
    }
    this.#parts += parts;
    this.#bytes += length - wide;
    this.#previous = previous;
  }

  /** The tokens of all pieces so far. */
  get tokens(): number {
    return Math.min(this.#bytes, Math.ceil((this.#parts * this.#factor) / PARTS_PER_TOKEN));
  }

  /** The bytes of all pieces so far, in UTF-8. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts a code unit outside of ASCII; returns the value that stands for it as the previous character. */
  #addWide(code: number, before: number): number {
    if (code >= 0xd800 && code < 0xe000) return this.#addSurrogate(code, before);
    const script = SCRIPT_OF[code >> 4] ?? UNKNOWN;
    const { character, start, latin } = this.#costs.scripts[script] ?? NO_SCRIPT;
    const scriptBefore = before === OTHER ? this.#script : NONE;
    const beginsWord = latin ? !(isLetter(before) || before === LATIN) : scriptBefore !== script;
    this.#parts += beginsWord ? character + start : character;
    this.#bytes += code < 0x800 ? 2 : 3;
    this.#script = script;
    return latin ? LATIN : OTHER;
  }

  /** Counts half of a character of four bytes, or a half without its other half, which is sent as U+FFFD. */
  #addSurrogate(code: number, before: number): number {
    const isSecond = code >= 0xdc00;
    const completes = isSecond && before === FIRST_HALF;
    this.#bytes += completes ? 1 : 3;
    if (!completes) this.#parts += code >= 0xd83c && code <= 0xd83e ? this.#costs.emoji : 4 * PARTS_PER_TOKEN;
    this.#script = NONE;
    return isSecond ? OTHER : FIRST_HALF;
  }
}

interface ScriptCosts {
  character: number;
  start: number;
  latin: boolean;
}

interface Costs {
  /** By the code of the previous character and of the character: 128 for each. */
  ascii: Uint8Array;
  scripts: readonly ScriptCosts[];
  emoji: number;
}

/** The script of 16 characters each, as its place in `SCRIPTS`. Every script begins and ends at such a border. */
const SCRIPT_OF = scriptsOfCharacters();
const NO_SCRIPT: ScriptCosts = { character: 3 * PARTS_PER_TOKEN, start: PARTS_PER_TOKEN, latin: false };

function scriptsOfCharacters(): Uint8Array {
  const places = new Uint8Array(0x1000).fill(UNKNOWN);
  for (const [place, { from, to }] of SCRIPTS.entries()) places.fill(place, from >> 4, (to >> 4) + 1);
  return places;
}

const made = new Map<'any' | 'wide', Costs>();

function vocabularyCosts(vocabulary: Vocabulary): Costs {
  const kind = vocabulary === 'wide' ? 'wide' : 'any';
  let costs = made.get(kind);
  if (costs === undefined) {
    costs = makeCosts(kind);
    made.set(kind, costs);
  }
  return costs;
}

function makeCosts(kind: 'any' | 'wide'): Costs {
  const table = kind === 'wide' ? WIDE_ASCII : ANY_ASCII;
  const ascii = new Uint8Array(128 * 128);
  for (let before = 0; before < 128; before += 1) {
    for (let code = 0; code < 128; code += 1) ascii[(before << 7) | code] = asciiCost(table, before, code);
  }
  const scripts = SCRIPTS.map((script) => {
    const [character, start] = script[kind];
    const { latin } = script;
    return { character, start: latin ? table.latinStart : start, latin };
  });
  return { ascii, scripts, emoji: EMOJI[kind] };
}

function asciiCost(table: AsciiCosts, before: number, code: number): number {
  if (isLetter(code)) return letterCost(table, before, code);
  const afterBlank = before === BLANK || before === BLANKS;
  if (code >= 0x30 && code <= 0x39) return table.digit + (afterBlank ? table.digitAfterBlank : 0);
  if (code === BLANK) return blankCost(table, before);
  if (code === TAB) return before === TAB ? table.tabAfterTab : table.tab;
  if (isBreak(code)) return isBreak(before) ? table.newlineAfterNewline : table.newline;
  if (code < BLANK || code === 0x7f) return PARTS_PER_TOKEN;
  if (code === before) return '-=_*#~.'.includes(String.fromCharCode(code)) ? table.ruler : table.repeated;
  const mark = digitAt(table.punctuation, PUNCTUATION.indexOf(String.fromCharCode(code)));
  return mark + (afterBlank ? table.punctuationAfterBlank : 0);
}

function blankCost(table: AsciiCosts, before: number): number {
  if (before === BLANK) return table.secondBlank;
  if (before === BLANKS) return table.laterBlank;
  return isWhitespace(before) ? table.blankAfterBreak : 0;
}

const PUNCTUATION = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~';

function letterCost(table: AsciiCosts, before: number, code: number): number {
  const place = (code | 0x20) - 0x61;
  if (before === LATIN) return table.afterLatin;
  if (!isLetter(before))
    return digitAt(table.starts, place) + (before === BLANK || before === BLANKS ? 0 : table.afterOther);
  const pair = digitAt(table.pairs, ((before | 0x20) - 0x61) * 26 + place);
  if (!isCapital(code)) return pair;
  return pair + (isCapital(before) ? table.capital : table.camel);
}

function digitAt(digits: string, at: number): number {
  return Number.parseInt(digits[at] ?? '0', 36);
}

function isLetter(code: number): boolean {
  const small = code | 0x20;
  return small >= 0x61 && small <= 0x7a && code < 0x80;
}

function isCapital(code: number): boolean {
  return code >= 0x41 && code <= 0x5a;
}

/** Blanks and controls, including the tab and the line breaks. */
function isWhitespace(code: number): boolean {
  return code >= BLANKS && code <= BLANK;
}

function isBreak(code: number): boolean {
  return code === 0x0a || code === 0x0d;
}
