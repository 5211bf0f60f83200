/**
 * Finds JSON in a text and removes its whitespace.
 *
 * The grammar is that of RFC 8259: no comments, no trailing commas, no single quotes. Members keep their order, numbers
 * their digits, and strings their escapes.
 */
import type { Extent } from './extents.ts';

/** Deeper nesting does not count as JSON, so that recursion is bounded. */
const DEPTH_MAX = 64;
/** Shorter brackets without a string are prose, as in `[ ]`, `[1]` and `[0, 1]`. */
const LENGTH_MIN = 16;

/** `end` is the end of the value or, if it is not `whole`, of the part that was read. */
interface Reading {
  end: number;
  whole: boolean;
}

/**
 * Every outermost object and array in the text, in order. Text that proved not to be JSON is not read again, so the
 * time is linear; nothing before the error is found in an invalid value.
 */
export function findJson(text: string): Extent[] {
  const found: Extent[] = [];
  const bracket = /[{[]/g;
  for (let opening = bracket.exec(text); opening; opening = bracket.exec(text)) {
    const start = opening.index;
    const { end, whole } = readJson(text, start);
    if (whole && (end - start >= LENGTH_MIN || text.slice(start, end).includes('"'))) found.push({ start, end });
    bracket.lastIndex = Math.max(end, start + 1);
  }
  return found;
}

type Due = 'value' | 'first value' | 'key' | 'first key' | 'comma';

function readJson(text: string, start: number): Reading {
  const closers: string[] = [];
  let due: Due = 'value';
  let at = start;
  // Every iteration reads at least one character, or is the last.
  for (;;) {
    at = skipBlanks(text, at);
    const char = text[at];
    if (char !== undefined && due !== 'value' && due !== 'key' && char === closers.at(-1)) {
      closers.pop();
      at += 1;
      due = 'comma';
      if (closers.length === 0) return { end: at, whole: true };
    } else if (due === 'comma') {
      if (char !== ',') return { end: at, whole: false };
      at += 1;
      due = closers.at(-1) === '}' ? 'key' : 'value';
    } else if (due === 'key' || due === 'first key') {
      const key = readString(text, at);
      at = key.whole ? skipBlanks(text, key.end) : key.end;
      if (!key.whole || text[at] !== ':') return { end: at, whole: false };
      at += 1;
      due = 'value';
    } else if (char === '{' || char === '[') {
      if (closers.length === DEPTH_MAX) return { end: at, whole: false };
      closers.push(char === '{' ? '}' : ']');
      at += 1;
      due = char === '{' ? 'first key' : 'first value';
    } else {
      const scalar = char === '"' ? readString(text, at) : readWord(text, at);
      at = scalar.end;
      if (!scalar.whole) return scalar;
      due = 'comma';
    }
  }
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (isBlank(text.charCodeAt(at))) at += 1;
  return at;
}

const isBlank = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

function readString(text: string, start: number): Reading {
  if (text[start] !== '"') return { end: start, whole: false };
  let at = start + 1;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return { end: at + 1, whole: true };
    if (code < 0x20) break;
    if (code === 0x5c) {
      ESCAPE.lastIndex = at;
      if (!ESCAPE.test(text)) break;
      at = ESCAPE.lastIndex;
    } else {
      at += 1;
    }
  }
  return { end: at, whole: false };
}

const WORD = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

function readWord(text: string, start: number): Reading {
  WORD.lastIndex = start;
  return WORD.test(text) ? { end: WORD.lastIndex, whole: true } : { end: start, whole: false };
}

/**
 * The JSON without whitespace between its tokens. The tokens stay byte for byte, so no value can change.
 */
export function minifyJson(json: string): string {
  return mapTokens(json, (string) => string);
}

/**
 * The JSON without whitespace, with every string escaped as by `JSON.stringify`. Everything else stays.
 */
export function respellStrings(json: string): string {
  return mapTokens(json, (string) => JSON.stringify(JSON.parse(string)));
}

function mapTokens(json: string, mapString: (string: string) => string): string {
  const parts: string[] = [];
  let at = 0;
  for (let quote = json.indexOf('"'); quote >= 0; quote = json.indexOf('"', at)) {
    const { end } = readString(json, quote);
    parts.push(withoutBlanks(json.slice(at, quote)), mapString(json.slice(quote, end)));
    at = end;
  }
  parts.push(withoutBlanks(json.slice(at)));
  return parts.join('');
}

const withoutBlanks = (text: string) => text.replace(/[ \t\n\r]+/g, '');
