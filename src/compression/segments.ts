/**
 * Splits a text into prose, protected spans and JSON; joined, the segments are the text.
 *
 * Protected, byte for byte, are: fenced and inline code; quoted text; `<nocompress>...</nocompress>` with its tags,
 * which stay so that a second compression sees them; URLs; and every occurrence of the caller's protected phrases. A
 * tag that is never closed protects to the end. JSON inside any of these is protected with it.
 */
import { type Extent, extentAround, findMatches, findOccurrences, firstEndingAfter, union } from './extents.ts';
import { findSpans, type Span } from './spans.ts';

export interface Segment {
  kind: 'prose' | 'protected' | 'json';
  text: string;
}

/**
 * The placeholder for a protected or JSON segment while prose is rewritten. The character itself is protected if a text
 * contains it.
 */
export const MASK = '\uFFFC';

const URL_TEXT = /(?:[a-z][a-z0-9+.-]{1,15}:\/\/|www\.|mailto:|data:[a-z]{1,20}\/)[^\s<>"“”`]+/gi;
const MASKS = /\uFFFC+/g;

/** Linear in the length of the text, for each protected phrase. */
export function splitSegments(text: string, phrases: readonly string[]): Segment[] {
  const segments: Segment[] = [];
  let at = 0;
  for (const { start, end, kind } of fixedSpans(text, phrases)) {
    if (start > at) segments.push({ kind: 'prose', text: text.slice(at, start) });
    segments.push({ kind, text: text.slice(start, end) });
    at = end;
  }
  if (at < text.length) segments.push({ kind: 'prose', text: text.slice(at) });
  return segments;
}

export function joinSegments(segments: readonly Segment[]): string {
  return segments.map(({ text }) => text).join('');
}

function fixedSpans(text: string, phrases: readonly string[]): Span[] {
  const tagged = taggedExtents(text);
  const named = union([
    ...findMatches(text, URL_TEXT),
    ...findMatches(text, MASKS),
    ...phrases.flatMap((phrase) => findOccurrences(text, phrase)),
  ]);
  const fixed: Extent[] = [];
  const json: Span[] = [];
  for (const span of findSpans(text, tagged)) {
    // JSON that contains a tag, or overlaps a tag, a URL or a phrase, is not converted.
    const whole = span.kind === 'json' && !meets(tagged, span) && !cuts(named, span);
    if (whole) json.push(span);
    else fixed.push(span);
  }
  // A URL or a phrase that lies within JSON is part of its data.
  const outside = named.filter(({ start }) => !extentAround(json, start));
  const spans: Span[] = union([...fixed, ...tagged, ...outside]).map(({ start, end }) => ({
    start,
    end,
    kind: 'protected',
  }));
  return [...spans, ...json].sort((a, b) => a.start - b.start);
}

/** Nested tags count as one span, from the first opening to its own closing. */
function taggedExtents(text: string): Extent[] {
  const extents: Extent[] = [];
  let start = 0;
  let depth = 0;
  for (const tag of text.matchAll(/<(\/?)nocompress>/gi)) {
    if (tag[1] === '') {
      if (depth === 0) start = tag.index;
      depth += 1;
    } else if (depth > 0) {
      depth -= 1;
      if (depth === 0) extents.push({ start, end: tag.index + tag[0].length });
    }
  }
  if (depth > 0) extents.push({ start, end: text.length });
  return extents;
}

function meets(extents: readonly Extent[], { start, end }: Extent): boolean {
  return (firstEndingAfter(extents, start)?.start ?? end) < end;
}

/** Whether one of them crosses an edge of the span, or covers it. */
function cuts(extents: readonly Extent[], { start, end }: Extent): boolean {
  return (extentAround(extents, start)?.start ?? start) < start || (firstEndingAfter(extents, end)?.start ?? end) < end;
}

/**
 * Whether a rewritten text is split as intended: every protected segment lies within a protected one, and all JSON is
 * the same JSON or protected. `intended` has the segments from which the text was joined, `read` those found in it.
 */
export function readsAsIntended(intended: readonly Segment[], read: readonly Segment[]): boolean {
  let index = 0;
  let readStart = 0;
  let start = 0;
  for (const { kind, text } of intended) {
    const end = start + text.length;
    if (kind !== 'prose' && text !== '') {
      let current = read[index];
      while (current && readStart + current.text.length <= start) {
        readStart += current.text.length;
        index += 1;
        current = read[index];
      }
      const covered = current !== undefined && readStart + current.text.length >= end;
      if (
        !covered ||
        (current?.kind !== 'protected' && !(kind === 'json' && current?.kind === 'json' && current.text === text))
      )
        return false;
    }
    start = end;
  }
  return true;
}
