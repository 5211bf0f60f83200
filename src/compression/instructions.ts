/**
 * Finds the parts of a text that are certainly instructions, and JSON that is certainly a value of its own. Everything
 * else is payload, and stays byte for byte.
 *
 * Instructions are the plain sentences at the beginning of a text, up to the first sign of any other content: a colon,
 * a quotation, brackets, a list, a heading, a line that is not a sentence, a sentence that occurs twice, columns, code.
 */
import type { Extent } from './extents.ts';

/** Words of ASCII, with commas between them, and the marks that end a sentence; two spaces only between sentences. */
const PLAIN_LINE = /^[A-Z][A-Za-z0-9]*(?:(?:,? |['’-](?=[A-Za-z])|[.!?] {1,2}(?=[A-Z]))[A-Za-z0-9]+)+[.!?][ \t]*\r?$/;
const BLANK_LINE = /^[ \t]*\r?$/;
/** A sentence has at least this many words; a label or an answer often has fewer. */
const WORDS_MIN = 2;

/** The end of the instructions at the beginning of a text; 0 if there are none. */
export function endOfInstructions(text: string): number {
  const seen = new Set<string>();
  let end = 0;
  /** The end of the last plain line, whose paragraph may continue. */
  let plainEnd = 0;
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    const lineEnd = newline < 0 ? text.length : newline;
    const line = text.slice(at, lineEnd);
    if (BLANK_LINE.test(line)) end = plainEnd;
    else if (isPlain(line, seen)) plainEnd = lineEnd;
    else return end;
    at = lineEnd + 1;
  }
  return plainEnd === 0 ? 0 : text.length;
}

function isPlain(line: string, seen: Set<string>): boolean {
  if (!PLAIN_LINE.test(line)) return false;
  for (const sentence of line.split(/[.!?]/)) {
    const words = sentence.trim();
    if (words === '') continue;
    if (seen.has(words) || words.split(' ').length < WORDS_MIN) return false;
    seen.add(words);
  }
  return true;
}

/** A label before JSON on its line, such as `Here are the orders: `. */
const LABEL = /^[A-Z][A-Za-z ,'’]*: $/;
/** A line before or after JSON that is prose or a tag. */
const NEIGHBOUR = /^(?:[A-Z][^\n]*[.:!?]|<\/?[A-Za-z][\w-]*>)[ \t]*\r?$/;
/**
 * The most characters of a neighbouring line that are read, so that the search is linear; a longer line does not count
 * as a neighbour.
 */
const LINE_LENGTH_MAX = 500;

/**
 * Whether JSON is a value of its own and not part of code, of a log or of a table: on lines of its own, perhaps after a
 * label, with only prose or tags in the lines around it. `before` is JSON that ends above it.
 */
export function standsAlone(text: string, { start, end }: Extent, before: Extent | null): boolean {
  const above = linesAbove(text, start);
  const below = linesBelow(text, end);
  if (!above || !below || below.rest.trim() !== '') return false;
  if (above.prefix.trim() !== '' && !LABEL.test(above.prefix)) return false;
  const joins = before !== null && text.slice(before.end, start).trim() === '';
  const aboveFits = joins || BLANK_LINE.test(above.line) || NEIGHBOUR.test(above.line);
  return aboveFits && (BLANK_LINE.test(below.line) || NEIGHBOUR.test(below.line) || /^[{[]/.test(below.line));
}

/** The text before a position on its line, and the line above. */
function linesAbove(text: string, at: number): { prefix: string; line: string } | null {
  const near = text.slice(Math.max(0, at - 2 * LINE_LENGTH_MAX), at);
  const isWhole = at <= 2 * LINE_LENGTH_MAX;
  const lines = near.split('\n');
  if (lines.length < 3 && !isWhole) return null;
  return { prefix: lines.at(-1) ?? '', line: lines.at(-2) ?? '' };
}

/** The text after a position on its line, and the line below. */
function linesBelow(text: string, at: number): { rest: string; line: string } | null {
  const near = text.slice(at, at + 2 * LINE_LENGTH_MAX);
  const isWhole = at + near.length === text.length;
  const lines = near.split('\n');
  if (lines.length < 3 && !isWhole) return null;
  return { rest: lines[0] ?? '', line: lines[1] ?? '' };
}
