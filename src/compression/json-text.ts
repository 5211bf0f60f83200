/**
 * JSON as it stands in a text: where it is, and the same JSON without blanks.
 *
 * The grammar is the strict one of RFC 8259: no comments, no trailing commas, no single quotes. What is found is never
 * respelled here: members keep their order, numbers their digits, and strings their escapes.
 */
import type { Extent } from './extents.ts';

/** Deeper nesting is not taken for JSON, so that no recursion over it can be deep. */
const DEPTH_MAX = 64;
/** Brackets without a string in them are prose when they are shorter, as in `[ ]`, `[1]` and `[0, 1]`. */
const LENGTH_MIN = 16;

/** `end` is where the value ends or, where it is not `whole`, how far it was read. */
interface Reading {
  end: number;
  whole: boolean;
}

/**
 * Every object and array in the text, the outermost alone, in order. What looked like JSON and was not is not read
 * again, so the time is linear: of a broken value, nothing before the break is found.
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
  // Every round reads at least one character, or is the last.
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
 * The same JSON without the blanks between its tokens. The tokens are the same, byte for byte, so no value can change.
 */
export function minifyJson(json: string): string {
  return mapTokens(json, (string) => string);
}

/**
 * The same JSON without blanks, and with every string spelled as `JSON.stringify` spells it. Nothing else is respelled.
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
