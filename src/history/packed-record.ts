/**
 * Records of calls as D1 keeps them: packed, because 600 million of them are to fit into 50 databases.
 *
 * A packed record is bytes: the version of its form, then steps that write the text again, byte for byte. A step copies from
 * the words that most records have (`record-words.ts`) or from the text so far, repeats a value that a column of the same row
 * has, or writes the cost of a line that follows from the figures before it; or it brings bytes of its own. The constants of
 * this file belong to version 1, whose reader every later version keeps. A record that is not packed is its text, JSON.
 */

import { RECORD_WORDS_1 } from './record-words.ts';

/** Columns whose values a record repeats, in the order of version 1. Once written, they change only together with it. */
export const REPEATED_COLUMNS = [
  ...['call_id', 'customer_id', 'customer_user_id', 'feature', 'usage_plan_version_id', 'started_at_ms'],
  ...['finished_at_ms', 'model_used', 'model_key', 'provider_used', 'cost_nano_usd', 'input_tokens'],
  ...['cached_input_tokens', 'response_tokens', 'reasoning_tokens', 'original_tokens', 'saved_tokens', 'revision'],
] as const;

/** The values of those columns; amounts are decimal strings. */
export type Repeated = readonly (string | number | null)[];

/** The values of those columns in D1, as SQL: a JSON array. */
export const REPEATED_VALUES = `json_array(${REPEATED_COLUMNS.map((name) => {
  return name === 'cost_nano_usd' ? `CAST(${name} AS TEXT)` : name;
}).join(', ')})`;

/** A record as D1 answers it: the bytes of a packed one, or text. */
export type StoredRecord = string | ArrayLike<number>;

/** A step is a byte from one of these on, and what it says follows. */
const BYTES = 0x00; // 1 to 32 bytes
const DIGITS = 0x20; // 1 to 32 digits and dots, two in a byte
const NEXT = 0x40; // the words after those that were copied last
const NEAR = 0x80; // words at a distance of up to 255 bytes after those
const FAR = 0xb0; // words, or text so far, at a place of two bytes
const VALUE = 0xe0; // one of the row's values
const IN_NANO = 0xfe; // the number before, times a billion
const LINE_COST = 0xff; // of the quantity and the rate before, in USD

const VERSION = 1;
const RUN_MAX = 32;
const DOT = 0x2e;
const QUOTE = 0x22;
const COLON = 0x3a;
const NO_DIGIT = 15;
/** The fewest and the most bytes that a step copies. */
const NEXT_MIN = 2;
const NEXT_MAX = NEXT_MIN + NEAR - NEXT - 1;
const COPY_MIN = 4;
const COPY_MAX = COPY_MIN + FAR - NEAR - 1;
const DISTANCES = 0x100;
const PLACES = 0x10000;
/** Shorter values are not looked for. */
const VALUE_MIN = 3;
/** Fewer digits are not worth a step of their own. */
const DIGITS_MIN = 3;
/** Places with the same beginning that are compared at most. */
const COMPARED_MAX = 48;
/**
 * How many times longer a record is than its packed form at most: one that would be packed smaller stays as it is, so that a
 * reader of many knows how long they can become.
 */
export const PACKED_RATIO_MAX = 24;
/** A longer record is kept as it is: one without repetitions takes a tenth of a microsecond a byte. */
export const RECORD_LENGTH_MAX = 131_072;
/** A longer amount may not be exact in D1. */
const AMOUNT_LENGTH_MAX = 15;
/** How long a call may be open if an operator sets nothing else. */
const USUAL_DEADLINE_MS = 3_600_000;
const NANO = 1e9;
const UNITS_PER_RATE = 1e6;
/** How far before a place its figures may be. */
const BACK_MAX = 128;

const HASHES = 4_096;
const HASH_BITS = 20;

/** The words, and the places of each beginning of four bytes in them. */
interface Words {
  bytes: Uint8Array;
  /** The first place by hash, and the next place with the same hash by place; -1 if there is none. */
  first: Int32Array;
  next: Int32Array;
}

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const WORDS = indexWords(RECORD_WORDS_1);

/** The packed record in hexadecimal, for `unhex`; `null` if the record is to be kept as it is. */
export function packRecord(record: string, repeated: Repeated): string | null {
  // Text that is not well-formed would come back as another.
  if (record.length > RECORD_LENGTH_MAX || !record.isWellFormed()) return null;
  const text = ENCODER.encode(record);
  const packed = new Packer(text, valuesOfRow(repeated)).pack();
  return packed.length * PACKED_RATIO_MAX < text.length || packed.length >= text.length ? null : packed.toHex();
}

/** A packed record that a release before packed ones brought to D1, as it came; no JSON object or array looks like that. */
const HEXADECIMAL = /^(?:[0-9a-f]{2})+$/;

/** The record's text. */
export function unpackRecord(stored: StoredRecord, repeated: Repeated): string {
  if (typeof stored === 'string' && !HEXADECIMAL.test(stored)) return stored;
  const packed = typeof stored === 'string' ? Uint8Array.fromHex(stored) : stored;
  if (packed[0] !== VERSION)
    throw new Error(`the record of a call has version ${packed[0]}, which this release cannot read`);
  return unpackText(packed, valuesOfRow(repeated));
}

/** The values that a record of the row may repeat, by their number: each as it stands in JSON, empty if it is not repeated. */
function valuesOfRow(repeated: Repeated): string[] {
  const [, , , , , startedAtMs, , , , , cost, input, cached] = repeated;
  const costText = typeof cost === 'string' && cost.length <= AMOUNT_LENGTH_MAX ? cost : null;
  const all = [
    ...repeated.map((value, place) => (place === COST_PLACE ? costText : value)),
    Number(startedAtMs) + USUAL_DEADLINE_MS,
    costText === null ? null : Number(costText) / NANO,
    input === null || input === undefined ? null : Number(input) - Number(cached),
  ];
  return all.map((value) => {
    const text = String(value ?? '');
    // Other texts may stand in JSON, and in D1, in another form.
    return text.length >= VALUE_MIN && /^[ !#-[\]-~]+$/.test(text) ? text : '';
  });
}

const COST_PLACE = REPEATED_COLUMNS.indexOf('cost_nano_usd');

function indexWords(text: string): Words {
  const bytes = ENCODER.encode(text);
  const first = new Int32Array(HASHES).fill(-1);
  const next = new Int32Array(bytes.length).fill(-1);
  // From the end, so that a list begins with its first place.
  for (let place = bytes.length - COPY_MIN; place >= 0; place -= 1) {
    const hash = hashAt(bytes, place);
    next[place] = first[hash] ?? -1;
    first[hash] = place;
  }
  return { bytes, first, next };
}

function hashAt(bytes: Uint8Array, place: number): number {
  const four =
    byteAt(bytes, place) |
    (byteAt(bytes, place + 1) << 8) |
    (byteAt(bytes, place + 2) << 16) |
    (byteAt(bytes, place + 3) << 24);
  return Math.imul(four, 0x9e3779b1) >>> HASH_BITS;
}

function byteAt(bytes: Uint8Array, place: number): number {
  return bytes[place] ?? 0;
}

/** What a step at some place of the text can stand for, and the bytes that it saves. */
interface Found {
  place: number;
  length: number;
  saved: number;
}

class Packer {
  readonly #text: Uint8Array;
  /** The bytes of all values, and the place of each in them, by its first byte. */
  readonly #valueBytes: Uint8Array;
  readonly #values = new Map<number, { number: number; from: number; length: number }[]>();
  readonly #packed: Uint8Array;
  #length = 0;
  /** The end of the words that were copied last. */
  #cursor = 0;
  /** The last place of the text with own bytes that has a hash. */
  readonly #seen = new Map<number, number>();

  constructor(text: Uint8Array, values: readonly string[]) {
    this.#text = text;
    // Every byte could be one of its own, with a step for each run.
    this.#packed = new Uint8Array(1 + 2 * text.length);
    this.#valueBytes = ENCODER.encode(values.join(''));
    let from = 0;
    for (const [number, { length }] of values.entries()) {
      if (length === 0) continue;
      const first = byteAt(this.#valueBytes, from);
      const others = this.#values.get(first);
      if (others) others.push({ number, from, length });
      else this.#values.set(first, [{ number, from, length }]);
      from += length;
    }
  }

  pack(): Uint8Array {
    this.#write(VERSION);
    let own = 0;
    for (let at = 0; at < this.#text.length; ) {
      const value = this.#findValue(at) ?? this.#findFollowing(at);
      const copy = this.#findCopy(at);
      if (!value && !copy) {
        if (at + COPY_MIN <= this.#text.length) this.#seen.set(hashAt(this.#text, at), at);
        at += 1;
        continue;
      }
      this.#writeOwn(own, at);
      if (value && value.length - 1 >= (copy?.saved ?? 0)) {
        this.#write(value.step);
        at += value.length;
      } else if (copy) {
        this.#writeCopy(copy);
        at += copy.length;
      }
      own = at;
    }
    this.#writeOwn(own, this.#text.length);
    return this.#packed.subarray(0, this.#length);
  }

  /** What the text has at the place if it follows from the figures before it. */
  #findFollowing(at: number): { step: number; length: number } | null {
    if (!isDigit(byteAt(this.#text, at))) return null;
    const before = byteAt(this.#text, at - 1);
    // Amounts in nano-USD are strings, those in USD numbers.
    const step = before === QUOTE ? IN_NANO : before === COLON ? LINE_COST : null;
    if (step === null) return null;
    const following = followFigures(step, this.#text, at);
    return following.length >= VALUE_MIN && this.#hasText(at, following) ? { step, length: following.length } : null;
  }

  #hasText(at: number, ascii: string): boolean {
    let same = 0;
    while (same < ascii.length && this.#text[at + same] === ascii.charCodeAt(same)) same += 1;
    return same === ascii.length;
  }

  /** The longest value that the text has at the place. */
  #findValue(at: number): { step: number; length: number } | null {
    let found: { step: number; length: number } | null = null;
    for (const { number, from, length } of this.#values.get(byteAt(this.#text, at)) ?? [])
      if (length > (found?.length ?? 0) && this.#hasValue(at, from, length)) found = { step: VALUE + number, length };
    return found;
  }

  #hasValue(at: number, from: number, length: number): boolean {
    let same = 0;
    while (same < length && this.#text[at + same] === this.#valueBytes[from + same]) same += 1;
    // Not the beginning of another figure.
    return same === length && !isDigit(byteAt(this.#text, at + length));
  }

  /** The copy that saves most at the place. */
  #findCopy(at: number): Found | null {
    const { bytes, first, next } = WORDS;
    const following = this.#equal(this.#text, at, bytes, this.#cursor, NEXT_MAX);
    let found: Found | null =
      following >= NEXT_MIN ? { place: this.#cursor, length: following, saved: following - 1 } : null;
    if (following === NEXT_MAX || at + COPY_MIN > this.#text.length) return found;
    const hash = hashAt(this.#text, at);
    let compared = 0;
    for (let place = first[hash] ?? -1; place >= 0 && compared < COMPARED_MAX; place = next[place] ?? -1) {
      compared += 1;
      const least = found?.length ?? 0;
      // A place that is far must have more in common than one that was found before, which may be nearer.
      if (bytes[place + least] !== this.#text[at + least] && !this.#isNear(place)) continue;
      const length = this.#equal(this.#text, at, bytes, place, COPY_MAX);
      const saved = length - (this.#isNear(place) ? 2 : 3);
      if (length >= COPY_MIN && saved > (found?.saved ?? 0)) found = { place, length, saved };
    }
    const earlier = this.#seen.get(hash);
    if (earlier === undefined || bytes.length + earlier >= PLACES) return found;
    const length = Math.min(this.#equal(this.#text, at, this.#text, earlier, COPY_MAX), at - earlier);
    const saved = length - 3;
    return length >= COPY_MIN && saved > (found?.saved ?? 0) ? { place: bytes.length + earlier, length, saved } : found;
  }

  /** How many bytes are the same, up to a number. */
  #equal(left: Uint8Array, leftAt: number, right: Uint8Array, rightAt: number, most: number): number {
    const max = Math.min(left.length - leftAt, right.length - rightAt, most);
    let length = 0;
    while (length < max && left[leftAt + length] === right[rightAt + length]) length += 1;
    return length;
  }

  #isNear(place: number): boolean {
    return place >= this.#cursor && place - this.#cursor < DISTANCES && place < WORDS.bytes.length;
  }

  #writeCopy({ place, length }: Found): void {
    if (place === this.#cursor && length <= NEXT_MAX) this.#write(NEXT + length - NEXT_MIN);
    else if (this.#isNear(place)) {
      this.#write(NEAR + length - COPY_MIN);
      this.#write(place - this.#cursor);
    } else {
      this.#write(FAR + length - COPY_MIN);
      this.#write(place & 0xff);
      this.#write(place >> 8);
    }
    if (place < WORDS.bytes.length) this.#cursor = place + length;
  }

  /** Bytes of the text that nothing else has. */
  #writeOwn(from: number, to: number): void {
    for (let at = from; at < to; ) {
      const digits = this.#countDigits(at, to);
      if (digits >= DIGITS_MIN || digits === to - at) at = this.#writeDigits(at, digits);
      else {
        let end = at + 1;
        while (end < to && end - at < RUN_MAX && this.#countDigits(end, to) < DIGITS_MIN) end += 1;
        this.#write(BYTES + end - at - 1);
        for (; at < end; at += 1) this.#write(byteAt(this.#text, at));
      }
    }
  }

  #countDigits(at: number, to: number): number {
    let end = at;
    while (end < to && end - at < RUN_MAX && digitOf(byteAt(this.#text, end)) !== NO_DIGIT) end += 1;
    return end - at;
  }

  #writeDigits(at: number, count: number): number {
    this.#write(DIGITS + count - 1);
    for (let place = at; place < at + count; place += 2) {
      const second = place + 1 < at + count ? digitOf(byteAt(this.#text, place + 1)) : NO_DIGIT;
      this.#write((digitOf(byteAt(this.#text, place)) << 4) | second);
    }
    return at + count;
  }

  #write(byte: number): void {
    this.#packed[this.#length] = byte;
    this.#length += 1;
  }
}

/** A figure that follows from those before a place of the text. */
function followFigures(step: number, text: ArrayLike<number>, at: number): string {
  const [last = '', , quantity = ''] = figuresBefore(text, at, step === IN_NANO ? 1 : 3);
  if (step === IN_NANO) return String(Math.round(Number(last) * NANO));
  return String(Math.round((Number(quantity) * Number(last)) / UNITS_PER_RATE) / NANO);
}

/** The figures before a place, the last one first, as they are written. */
function figuresBefore(text: ArrayLike<number>, at: number, count: number): string[] {
  const figures: string[] = [];
  const least = Math.max(0, at - BACK_MAX);
  for (let end = at; end > least && figures.length < count; ) {
    while (end > least && !isDigit(text[end - 1] ?? 0)) end -= 1;
    let from = end;
    while (from > least && isOfFigure(text[from - 1] ?? 0)) from -= 1;
    let figure = '';
    for (let next = from; next < end; next += 1) figure += String.fromCharCode(text[next] ?? 0);
    figures.push(figure);
    end = from;
  }
  return figures;
}

const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39;
/** A digit, a dot, an `e` or a minus. */
const isOfFigure = (byte: number) => isDigit(byte) || byte === DOT || byte === 0x65 || byte === 0x2d;

/** A digit as its number, a dot as ten. */
function digitOf(byte: number): number {
  if (isDigit(byte)) return byte - 0x30;
  return byte === DOT ? 10 : NO_DIGIT;
}

function unpackText(packed: ArrayLike<number>, values: readonly string[]): string {
  const { bytes: wordBytes } = WORDS;
  const text: number[] = [];
  let cursor = 0;
  let at = 1;
  const take = () => {
    const byte = packed[at];
    if (byte === undefined) throw new Error('the record of a call ends within a step');
    at += 1;
    return byte;
  };
  while (at < packed.length) {
    const step = take();
    if (step < DIGITS) for (let count = step - BYTES + 1; count > 0; count -= 1) text.push(take());
    else if (step < NEXT) takeDigits(text, step - DIGITS + 1, take);
    else if (step < VALUE) {
      const length = step < NEAR ? step - NEXT + NEXT_MIN : step - (step < FAR ? NEAR : FAR) + COPY_MIN;
      const place = step < NEAR ? cursor : step < FAR ? cursor + take() : take() | (take() << 8);
      for (let next = place; next < place + length; next += 1)
        text.push((next < wordBytes.length ? wordBytes[next] : text[next - wordBytes.length]) ?? 0);
      if (place < wordBytes.length) cursor = place + length;
    } else {
      const value = step >= IN_NANO ? followFigures(step, text, text.length) : (values[step - VALUE] ?? '');
      for (let next = 0; next < value.length; next += 1) text.push(value.charCodeAt(next));
    }
  }
  return DECODER.decode(Uint8Array.from(text));
}

function takeDigits(text: number[], count: number, take: () => number): void {
  for (let left = count; left > 0; left -= 2) {
    const two = take();
    for (const digit of left > 1 ? [two >> 4, two & 15] : [two >> 4]) text.push(digit === 10 ? DOT : 0x30 + digit);
  }
}
