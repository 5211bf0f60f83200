/**
 * JSON from outside, within bounds: how many values a text has and how deep they nest is known before any of them is
 * made, because ten megabytes of empty objects take two hundred once they are parsed.
 *
 * An object, an array, a string, a number and a literal are a value each; the name of a member counts with its value.
 */

export type JsonBound = 'values' | 'levels';

export type ParsedJson = { ok: true; value: unknown } | { ok: false; broken: JsonBound | 'syntax' };

/** More than a conversation of 5,000 long messages has, and a quarter of what an isolate could bear. */
export const JSON_VALUES_MAX = 200_000;
/** Objects and arrays inside each other: deeper than any request to a model, and far from what exhausts a stack. */
export const JSON_LEVELS_MAX = 100;

/** The same of a vendor's answer, which is answered on. */
const ANSWER_LEVELS_MAX = 200;

/** A value and what parts it from the next take two characters at least: a shorter answer cannot have too many. */
const ANSWER_COUNTED_LENGTH_MIN = 2 * JSON_VALUES_MAX;
/** Characters that are counted at a time. */
const ANSWER_PART_LENGTH = 64 * 1024;

/** What is said of a body, or of a line, that breaks a bound. */
export const JSON_BOUND_RULES: Record<JsonBound, string> = {
  values: `must have at most ${JSON_VALUES_MAX} JSON values`,
  levels: `must not nest deeper than ${JSON_LEVELS_MAX} levels`,
};

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
const encoder = new TextEncoder();

/** The value of a text in UTF-8. What breaks a bound is not parsed, and need not be JSON. */
export function parseJson(bytes: Uint8Array): ParsedJson {
  const count = new JsonCount(REQUEST_BOUNDS);
  count.push(bytes);
  const { broken } = count;
  return broken === null ? parsedText(() => utf8.decode(bytes)) : { ok: false, broken };
}

/**
 * The value of a text whose values and levels were counted. `decode` throws where the bytes are not UTF-8: they are not
 * repaired, because different bytes would then be the same text.
 */
export function parsedText(decode: () => string): ParsedJson {
  try {
    return { ok: true, value: JSON.parse(decode()) };
  } catch {
    return { ok: false, broken: 'syntax' };
  }
}

export function parseJsonText(text: string): ParsedJson {
  return parseJson(encoder.encode(text));
}

/**
 * What a vendor answered, or a line of its files; `undefined` where it is no JSON, or has too many values. Numbers are
 * free: an embedding has thousands of them, and a list of numbers takes no more than its text.
 */
export function parseAnswer(text: string): unknown {
  if (hasTooManyValues(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a vendor's answer has more values, numbers apart, than are parsed. */
export function hasTooManyValues(answer: string): boolean {
  if (answer.length < ANSWER_COUNTED_LENGTH_MIN) return false;
  const count = new JsonCount({ valuesMax: JSON_VALUES_MAX, levelsMax: Number.POSITIVE_INFINITY, freeNumbers: true });
  for (let at = 0; at < answer.length && count.broken === null; at += ANSWER_PART_LENGTH) {
    count.push(encoder.encode(answer.slice(at, at + ANSWER_PART_LENGTH)));
  }
  return count.broken !== null;
}

/** Whether a value nests no deeper than what can be copied, hashed and written. */
export function isShallow(value: unknown, levels = ANSWER_LEVELS_MAX): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isShallow(member, levels - 1));
}

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/**
 * Bytes of other characters than ASCII stand in strings alone, but for a byte order mark, which decoding takes away.
 */
const ASCII_END = 0x80;

export interface JsonBounds {
  valuesMax: number;
  levelsMax: number;
  /** Numbers and literals do not count. */
  freeNumbers?: boolean;
}

/** What a request's body may have. */
export const REQUEST_BOUNDS: JsonBounds = { valuesMax: JSON_VALUES_MAX, levelsMax: JSON_LEVELS_MAX };

/**
 * Counts the values of a JSON text that comes in parts, and its deepest level, in one pass that makes nothing. Exact up
 * to the place where a text stops being JSON; the count ends where a maximum is passed for sure.
 */
export class JsonCount {
  values = 0;
  levels = 0;
  readonly #bounds: JsonBounds;
  #depth = 0;
  /** Inside of a number or a literal: it counts where it begins. */
  #inToken = false;
  #inString = false;
  /** The part before ended with a backslash: what comes next belongs to it. */
  #isEscaped = false;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  /** The bound that the text breaks; `null` while it breaks none. */
  get broken(): JsonBound | null {
    if (this.levels > this.#bounds.levelsMax) return 'levels';
    return this.values > this.#bounds.valuesMax ? 'values' : null;
  }

  push(bytes: Uint8Array): void {
    const { valuesMax, levelsMax, freeNumbers = false } = this.#bounds;
    const perToken = freeNumbers ? 0 : 1;
    let at = this.#inString ? this.#endOfString(bytes, 0) : 0;
    // One more: the last string may turn out to be a name.
    for (; at < bytes.length && this.values <= valuesMax + 1 && this.levels <= levelsMax; at += 1) {
      const byte = bytes[at] as number;
      switch (byte) {
        case TAB:
        case LF:
        case CR:
        case SPACE:
        case COMMA:
          this.#inToken = false;
          break;
        case QUOTE:
          this.values += 1;
          this.#inToken = false;
          at = this.#endOfString(bytes, at + 1) - 1;
          break;
        case COLON:
          // The string before it was a name.
          this.values -= 1;
          this.#inToken = false;
          break;
        case OPEN_OBJECT:
        case OPEN_ARRAY:
          this.values += 1;
          this.#depth += 1;
          if (this.#depth > this.levels) this.levels = this.#depth;
          this.#inToken = false;
          break;
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          this.#depth -= 1;
          this.#inToken = false;
          break;
        default:
          if (byte >= ASCII_END) break;
          if (!this.#inToken) this.values += perToken;
          this.#inToken = true;
      }
    }
  }

  /** The place after the quote that ends the string, or after the part where it goes on. */
  #endOfString(bytes: Uint8Array, from: number): number {
    if (bytes.length === 0) return 0;
    let at = this.#isEscaped ? from + 1 : from;
    while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
    this.#inString = at >= bytes.length;
    this.#isEscaped = at > bytes.length;
    return at + 1;
  }
}
