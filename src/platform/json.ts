/**
 * JSON from outside, within bounds: how many values a text has and how deep they nest is known before any of them is made,
 * because ten megabytes of empty objects take two hundred once they are parsed.
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

/** What is said of a body, or of a line, that breaks a bound. */
export const JSON_BOUND_RULES: Record<JsonBound, string> = {
  values: `must have at most ${JSON_VALUES_MAX} JSON values`,
  levels: `must not nest deeper than ${JSON_LEVELS_MAX} levels`,
};

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
const encoder = new TextEncoder();

/** The value of a text in UTF-8. What breaks a bound is not parsed, and need not be JSON. */
export function parseJson(bytes: Uint8Array): ParsedJson {
  const { values, levels } = countJson(bytes, { valuesMax: JSON_VALUES_MAX, levelsMax: JSON_LEVELS_MAX });
  if (levels > JSON_LEVELS_MAX) return { ok: false, broken: 'levels' };
  if (values > JSON_VALUES_MAX) return { ok: false, broken: 'values' };
  try {
    // Repaired bytes would make different texts the same one: only UTF-8 is read.
    return { ok: true, value: JSON.parse(utf8.decode(bytes)) };
  } catch {
    return { ok: false, broken: 'syntax' };
  }
}

export function parseJsonText(text: string): ParsedJson {
  return parseJson(encoder.encode(text));
}

/**
 * What a vendor answered, or a line of its files; `undefined` where it is no JSON, or has too many values. Numbers are free:
 * an embedding has thousands of them, and a list of numbers takes no more than its text.
 */
export function parseAnswer(text: string): unknown {
  const bounds = { valuesMax: JSON_VALUES_MAX, levelsMax: Number.POSITIVE_INFINITY, freeNumbers: true };
  if (countJson(encoder.encode(text), bounds).values > JSON_VALUES_MAX) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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
/** Of a byte order mark, which decoding takes away. */
const BOM = [0xef, 0xbb, 0xbf];

export interface JsonBounds {
  valuesMax: number;
  levelsMax: number;
  /** Numbers and literals do not count. */
  freeNumbers?: boolean;
}

/**
 * How many values a JSON text has, and its deepest level, in one pass that makes nothing. Exact up to the place where a
 * text stops being JSON; the count ends early where a maximum is passed for sure.
 */
export function countJson(
  bytes: Uint8Array,
  { valuesMax, levelsMax, freeNumbers = false }: JsonBounds,
): { values: number; levels: number } {
  const perToken = freeNumbers ? 0 : 1;
  let values = 0;
  let depth = 0;
  let levels = 0;
  // Inside of a number or a literal: it counts where it begins.
  let inToken = false;
  for (let at = BOM.every((byte, index) => bytes[index] === byte) ? BOM.length : 0; at < bytes.length; at += 1) {
    switch (bytes[at]) {
      case TAB:
      case LF:
      case CR:
      case SPACE:
      case COMMA:
        inToken = false;
        break;
      case QUOTE:
        values += 1;
        at = endOfString(bytes, at + 1);
        inToken = false;
        break;
      case COLON:
        // The string before it was a name.
        values -= 1;
        inToken = false;
        break;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        values += 1;
        depth += 1;
        if (depth > levels) levels = depth;
        inToken = false;
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        depth -= 1;
        inToken = false;
        break;
      default:
        if (!inToken) values += perToken;
        inToken = true;
    }
    // One more: the last string may turn out to be a name.
    if (values > valuesMax + 1 || levels > levelsMax) break;
  }
  return { values, levels };
}

/** Where the quote stands that ends a string; the end of the text where none does. */
function endOfString(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}
