/**
 * Bounded parsing of untrusted JSON: values and nesting are counted before parsing, because ten megabytes of empty
 * objects need two hundred megabytes once they are parsed.
 *
 * Each object, array, string, number and literal counts as one value; a member's name counts with its value.
 */

import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isSpace,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  StringEnd,
} from './json-scan.ts';

export type JsonBound = 'values' | 'levels';

export type ParsedJson =
  /** The value and its text. */
  | { ok: true; value: unknown; text: string }
  | { ok: false; broken: JsonBound }
  | { ok: false; broken: 'syntax'; reason: string };

/** More than a conversation of 5,000 long messages has, and a quarter of what an isolate could hold. */
export const JSON_VALUES_MAX = 200_000;
/** Nesting depth: more than any request to a model has, and far from exhausting the stack. */
export const JSON_LEVELS_MAX = 100;

/** The bound on a vendor's answer, which is passed on to the caller. */
const ANSWER_LEVELS_MAX = 200;

/** A value and its separator take at least two characters: a shorter answer cannot have too many values. */
const ANSWER_COUNTED_LENGTH_MIN = 2 * JSON_VALUES_MAX;
/** Characters that are counted in one step. */
const COUNTED_PART_LENGTH = 64 * 1024;

/** The rule that a body or a line broke, for error messages. */
export const JSON_BOUND_RULES: Record<JsonBound, string> = {
  values: `must have at most ${JSON_VALUES_MAX} JSON values`,
  levels: `must not nest deeper than ${JSON_LEVELS_MAX} levels`,
};

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
const encoder = new TextEncoder();

/**
 * The value of a JSON text. A text that breaks one of `bounds` is not parsed. Bytes must be valid UTF-8: they are not
 * repaired, because different bytes would then be the same text.
 */
export function parseJson(json: string | Uint8Array, bounds?: JsonBounds): ParsedJson {
  if (bounds) {
    const count = new JsonCount(bounds);
    count.push(typeof json === 'string' ? encoder.encode(json) : json);
    if (count.broken !== null) return { ok: false, broken: count.broken };
  }
  try {
    const text = typeof json === 'string' ? json : utf8.decode(json);
    return { ok: true, value: JSON.parse(text), text };
  } catch (error) {
    return { ok: false, broken: 'syntax', reason: (error as Error).message };
  }
}

/** A text within the bounds of a request. */
export function parseJsonText(text: string): ParsedJson {
  const { broken } = counted(text, REQUEST_BOUNDS);
  return broken === null ? parseJson(text) : { ok: false, broken };
}

/** Like `parseJsonText`, for a text that all readers read alike: no object has a name twice. */
export function parseSingleJson(text: string): ParsedJson | { ok: false; broken: 'double' } {
  const { broken, values } = counted(text, REQUEST_BOUNDS);
  if (broken !== null) return { ok: false, broken };
  const json = parseJson(text);
  // Parsing loses the first of two members with one name.
  return json.ok && valuesIn(json.value) < values ? { ok: false, broken: 'double' } : json;
}

function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, member) => sum + valuesIn(member), 1);
}

/**
 * The first name of an object that differs from an earlier one only in large and small letters: some readers, such as
 * Go's, take both for the same member. `undefined` if there is none.
 */
export function respelledName(value: object): string | undefined {
  const names = new Set<string>();
  return Object.keys(value).find((name) => names.size === names.add(name.toLowerCase()).size);
}

/**
 * Parses a vendor's answer or a line of its files; `undefined` if it is not JSON or has too many values. Numbers do not
 * count: an embedding has thousands of them, and an array of numbers needs no more memory than its text.
 */
export function parseAnswer(text: string): unknown {
  const parsed = hasTooManyValues(text) ? null : parseJson(text);
  return parsed?.ok ? parsed.value : undefined;
}

/** Whether a vendor's answer has more values, not counting numbers, than the bound. */
export function hasTooManyValues(answer: string): boolean {
  if (answer.length < ANSWER_COUNTED_LENGTH_MIN) return false;
  const bounds = { valuesMax: JSON_VALUES_MAX, levelsMax: Number.POSITIVE_INFINITY, freeNumbers: true };
  return counted(answer, bounds).broken !== null;
}

/** The counts up to the bound that the text exceeds. No second copy of a long text is made. */
function counted(text: string, bounds: JsonBounds): JsonCount {
  const count = new JsonCount(bounds);
  for (let at = 0; at < text.length && count.broken === null; at += COUNTED_PART_LENGTH) {
    count.push(encoder.encode(text.slice(at, at + COUNTED_PART_LENGTH)));
  }
  return count;
}

/** Whether a value is within the nesting bound, so that it can be copied, hashed and stored. */
export function isShallow(value: unknown, levels = ANSWER_LEVELS_MAX): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isShallow(member, levels - 1));
}

/**
 * Non-ASCII bytes occur only in strings and in a byte order mark, which decoding removes.
 */
const ASCII_END = 0x80;

export interface JsonBounds {
  valuesMax: number;
  levelsMax: number;
  /** Numbers and literals do not count. */
  freeNumbers?: boolean;
}

/** The bounds on a request's body. */
export const REQUEST_BOUNDS: JsonBounds = { valuesMax: JSON_VALUES_MAX, levelsMax: JSON_LEVELS_MAX };

/**
 * Counts the values and the nesting depth of a JSON text that arrives in chunks, in one pass without allocation. Exact
 * for valid JSON; counting stops once a maximum is exceeded.
 */
export class JsonCount {
  values = 0;
  levels = 0;
  readonly #bounds: JsonBounds;
  #depth = 0;
  /** Inside a number or a literal, which was counted at its first character. */
  #inToken = false;
  readonly #string = new StringEnd();

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  /** The bound that the text exceeds; `null` while it exceeds none. */
  get broken(): JsonBound | null {
    if (this.levels > this.#bounds.levelsMax) return 'levels';
    return this.values > this.#bounds.valuesMax ? 'values' : null;
  }

  push(bytes: Uint8Array): void {
    const { valuesMax, levelsMax, freeNumbers = false } = this.#bounds;
    const perToken = freeNumbers ? 0 : 1;
    let at = this.#string.isOpen ? this.#string.find(bytes, 0) + 1 : 0;
    // One more, because the last string may prove to be a member's name.
    for (; at < bytes.length && this.values <= valuesMax + 1 && this.levels <= levelsMax; at += 1) {
      const byte = bytes[at] as number;
      switch (byte) {
        case COMMA:
          this.#inToken = false;
          break;
        case QUOTE:
          this.values += 1;
          this.#inToken = false;
          at = this.#string.find(bytes, at + 1);
          break;
        case COLON:
          // The previous string was a member's name.
          this.values -= 1;
          this.#inToken = false;
          break;
        case OPEN_OBJECT:
        case OPEN_LIST:
          this.values += 1;
          this.#depth += 1;
          if (this.#depth > this.levels) this.levels = this.#depth;
          this.#inToken = false;
          break;
        case CLOSE_OBJECT:
        case CLOSE_LIST:
          this.#depth -= 1;
          this.#inToken = false;
          break;
        default:
          if (byte >= ASCII_END) break;
          if (isSpace(byte)) this.#inToken = false;
          else if (!this.#inToken) {
            this.values += perToken;
            this.#inToken = true;
          }
      }
    }
  }
}
