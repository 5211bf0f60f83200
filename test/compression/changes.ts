/**
 * Says whether a compressed text has the sense of the original one, without knowing how it was compressed: payload is
 * compared byte for byte, and between payload every difference must be white space or an entry of the published list.
 *
 * The list is read from the guide, not from the code.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Part } from './prompt.ts';

export interface PublishedRewrite {
  phrase: string;
  replacement: string;
}

const GUIDE = join(import.meta.dirname, '..', '..', 'docs', 'client.md');
/** `| In order to | To | where |`, with each phrase in backticks. */
const ROW = /^\| `([^`]+)` \| `([^`]+)` \| [^|]+ \|$/gm;

export function publishedRewrites(): PublishedRewrite[] {
  const guide = readFileSync(GUIDE, 'utf8');
  const from = guide.indexOf('| Phrase | Becomes |');
  const table = guide.slice(from, guide.indexOf('\n\n', from));
  return Array.from(table.matchAll(ROW), ([, phrase = '', replacement = '']) => ({ phrase, replacement }));
}

/** The fault of a compressed text; `null` if it has the sense of the original. */
export function senseChange(
  parts: readonly Part[],
  compressed: string,
  rewrites: readonly PublishedRewrite[],
): string | null {
  let rest = compressed;
  let said = '';
  for (const part of parts) {
    if ('say' in part) {
      said += part.say;
      continue;
    }
    const found = find(part, rest);
    if (!found) return `payload changed: ${JSON.stringify('keep' in part ? part.keep : part.json)}`;
    const wrong = unexplained(said, rest.slice(0, found.at), rewrites);
    if (wrong) return wrong;
    said = '';
    rest = rest.slice(found.at + found.length);
  }
  return unexplained(said, rest, rewrites);
}

/** The position of a payload in a text. */
function find(part: Exclude<Part, { say: string }>, text: string): { at: number; length: number } | null {
  const spellings = 'keep' in part ? [part.keep] : [part.json, withoutBlanks(part.json)];
  for (const spelling of spellings) {
    const at = text.indexOf(spelling);
    if (at >= 0) return { at, length: spelling.length };
  }
  return null;
}

/** JSON without the white space between its tokens: a string, or anything else up to the next one. */
const withoutBlanks = (json: string) =>
  json.replace(/"(?:[^"\\]|\\.)*"|[^"]+/g, (part) => (part.startsWith('"') ? part : part.replace(/\s+/g, '')));

/** A word, and how it is parted from the one before: by spaces, a line break, or a paragraph. */
interface Word {
  gap: string;
  text: string;
}

function splitWords(text: string): Word[] {
  return Array.from(text.matchAll(/(\s*)(\S+)/g), ([, gap = '', word = '']) => ({
    gap: gap === '' ? '' : /\n\s*\n/.test(gap) ? 'paragraph' : gap.includes('\n') ? 'line' : 'space',
    text: word,
  }));
}

/** A difference that is neither white space nor an entry of the list. */
function unexplained(before: string, after: string, rewrites: readonly PublishedRewrite[]): string | null {
  const was = splitWords(before);
  const is = splitWords(after);
  /** The furthest that was understood, for the message. */
  let furthest: readonly [number, number] = [0, 0];
  const explains = (from: number, to: number): boolean => {
    if (from + to > furthest[0] + furthest[1]) furthest = [from, to];
    if (from >= was.length || to >= is.length) return from >= was.length && to >= is.length;
    if (from > 0 && was[from]?.gap !== is[to]?.gap) return false;
    if (was[from]?.text === is[to]?.text && explains(from + 1, to + 1)) return true;
    return rewrites.some(
      ({ phrase, replacement }) =>
        startsWith(was, from, phrase) &&
        startsWith(is, to, replacement) &&
        explains(from + phrase.split(' ').length, to + replacement.split(' ').length),
    );
  };
  if (explains(0, 0)) return null;
  return `${JSON.stringify(nextWords(was, furthest[0]))} became ${JSON.stringify(nextWords(is, furthest[1]))}`;
}

function startsWith(words: readonly Word[], at: number, phrase: string): boolean {
  return phrase.split(' ').every((word, index) => words[at + index]?.text === word);
}

const SHOWN_WORDS = 8;
const nextWords = (words: readonly Word[], at: number) =>
  words
    .slice(at, at + SHOWN_WORDS)
    .map(({ text }) => text)
    .join(' ');
