/**
 * Finds the parts of a text that are not prose: fenced and inline code, quoted text, and JSON, in one pass from the
 * left.
 *
 * One pass finds all of them, because each hides the marks of the others: a quotation mark in code opens no quotation,
 * and braces in a quotation open no JSON. An unclosed fence reaches to the end of the text, as in CommonMark; an
 * unclosed inline mark is a plain character.
 */
import { type Extent, extentAround } from './extents.ts';
import { findJson } from './json-text.ts';

export interface Span extends Extent {
  kind: 'protected' | 'json';
}

/** The closing mark of each typographic quotation mark. An apostrophe within a word closes nothing. */
const QUOTE_CLOSERS: Record<string, string> = {
  '“': '”',
  '„': '[“”]',
  '«': '»',
  '»': '«',
  '‹': '›',
  '‘': '’(?!\\p{L})',
  '「': '」',
  '『': '』',
};
/** A fence may be in a quotation or a list: the longest prefix of its line. */
const FENCE_PREFIX_MAX = 100;
const FENCE_PREFIX = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?$/;

/**
 * Disjoint spans, in order. Text between `tags` is skipped: its marks do not pair with marks outside. Linear in the
 * length of the text, apart from a binary search for each JSON value in a quotation.
 */
export function findSpans(text: string, tags: readonly Extent[]): Span[] {
  const page = readPage(text);
  const tagEnds = new Map(tags.map(({ start, end }) => [start, end]));
  const spans: Span[] = [];
  const mark = /[`~"“„«»‹‘「『{[]|<(?=nocompress>)/gi;
  for (let found = mark.exec(text); found; found = mark.exec(text)) {
    const tagEnd = tagEnds.get(found.index);
    if (tagEnd !== undefined) {
      mark.lastIndex = tagEnd;
      continue;
    }
    const span = spanAt(page, found.index, found[0]);
    if (span) {
      spans.push(span);
      mark.lastIndex = span.end;
    } else if (found[0] === '`' || found[0] === '~') {
      mark.lastIndex = found.index + runLength(text, found.index);
    }
  }
  return spans;
}

/** The text with indexes that would be slow to compute again at each mark. */
interface Page {
  text: string;
  json: Map<number, Extent>;
  /** The JSON that contains a position. */
  jsonAround(position: number): Extent | null;
  /** The first match at or after a position. Positions must rise for each pattern. */
  next(pattern: string, from: number): number;
  /** For the start of each run of backticks, the next run of the same length. */
  backticks: Map<number, number>;
  /**
   * The end of the first closing fence of this mark, at least this long, at or after a position. Positions must rise.
   */
  fenceEnd(mark: string, length: number, from: number): number | null;
}

const PARAGRAPH_BREAK = '\\n[ \\t\\r]*\\n';

function readPage(text: string): Page {
  const json = findJson(text);
  return {
    text,
    json: new Map(json.map((extent) => [extent.start, extent])),
    jsonAround: (position) => extentAround(json, position),
    next: finder(text),
    backticks: sameRuns(text),
    fenceEnd: fenceFinder(text),
  };
}

/** Fences before the closing one are inside the code, so each is visited once. */
function fenceFinder(text: string): Page['fenceEnd'] {
  const fences = [...text.matchAll(/^[ \t>]*(`{3,}|~{3,})[ \t]*$/gm)];
  let passed = 0;
  return (mark, length, from) => {
    for (; passed < fences.length; passed += 1) {
      const fence = fences[passed];
      const run = fence?.[1] ?? '';
      if (fence && fence.index >= from && run[0] === mark && run.length >= length) return fence.index + fence[0].length;
    }
    return null;
  };
}

/** Caches the last match of each pattern, so that searches from rising positions read the text once. */
function finder(text: string): (pattern: string, from: number) => number {
  const last = new Map<string, { regex: RegExp; index: number }>();
  return (pattern, from) => {
    const known = last.get(pattern) ?? { regex: new RegExp(pattern, 'gu'), index: -1 };
    if (known.index < from) {
      known.regex.lastIndex = from;
      known.index = known.regex.exec(text)?.index ?? Number.POSITIVE_INFINITY;
      last.set(pattern, known);
    }
    return known.index;
  };
}

function sameRuns(text: string): Map<number, number> {
  const next = new Map<number, number>();
  const latest = new Map<number, number>();
  for (const run of text.matchAll(/`+/g)) {
    const previous = latest.get(run[0].length);
    if (previous !== undefined) next.set(previous, run.index);
    latest.set(run[0].length, run.index);
  }
  return next;
}

function runLength(text: string, start: number): number {
  let at = start;
  while (text[at] === text[start]) at += 1;
  return at - start;
}

function spanAt(page: Page, start: number, mark: string): Span | null {
  if (mark === '<') return null;
  if (mark === '{' || mark === '[') {
    const extent = page.json.get(start);
    return extent ? { ...extent, kind: 'json' } : null;
  }
  const end =
    mark === '`' || mark === '~'
      ? endOfCode(page, start)
      : mark === '"'
        ? endOfQuote(page, start)
        : endOfTypographicQuote(page, start, mark);
  return end === null ? null : { start, end, kind: 'protected' };
}

function endOfCode(page: Page, start: number): number | null {
  const { text } = page;
  const length = runLength(text, start);
  if (length >= 3 && opensFence(text, start, length)) {
    return page.fenceEnd(text[start] ?? '', length, start + length) ?? text.length;
  }
  const close = page.backticks.get(start);
  return close !== undefined && close < page.next(PARAGRAPH_BREAK, start) ? close + length : null;
}

/** A fence is first on its line; no backtick follows an opening fence of backticks on that line. */
function opensFence(text: string, start: number, length: number): boolean {
  const from = Math.max(0, start - FENCE_PREFIX_MAX);
  const before = text.slice(from, start);
  const line = before.lastIndexOf('\n') + 1;
  if (line === 0 && from > 0) return false;
  if (!FENCE_PREFIX.test(before.slice(line))) return false;
  if (text[start] === '~') return true;
  for (let at = start + length; at < text.length && text[at] !== '\n'; at += 1) if (text[at] === '`') return false;
  return true;
}

function endOfTypographicQuote(page: Page, start: number, mark: string): number | null {
  const close = page.next(QUOTE_CLOSERS[mark] ?? mark, start + 1);
  return close < page.next(PARAGRAPH_BREAK, start) ? close + 1 : null;
}

const TRIPLE = '"""';

/**
 * Straight marks close within their paragraph, triple marks anywhere. The marks of JSON strings belong to the JSON.
 */
function endOfQuote(page: Page, start: number): number | null {
  const { text } = page;
  if (text.startsWith(TRIPLE, start)) {
    const close = page.next(TRIPLE, start + TRIPLE.length);
    if (close < text.length) return close + TRIPLE.length;
  }
  if (isInchMark(text, start)) return null;
  const escapedOpening = text[start - 1] === '\\';
  const limit = page.next(PARAGRAPH_BREAK, start);
  let escapedClose: number | null = null;
  for (let at = text.indexOf('"', start + 1); at >= 0 && at < limit; ) {
    const json = page.jsonAround(at);
    if (json && json.start > start) {
      at = text.indexOf('"', json.end);
    } else if (text[at - 1] === '\\' && !escapedOpening) {
      escapedClose = at + 1;
      at = text.indexOf('"', at + 1);
    } else {
      return at + 1;
    }
  }
  return escapedClose;
}

/** The mark in `a 5" pipe` is an inch. */
function isInchMark(text: string, at: number): boolean {
  return /\d/.test(text[at - 1] ?? '') && !/[\p{L}\p{N}]/u.test(text[at + 1] ?? '');
}
