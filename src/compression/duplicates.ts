/**
 * Removes repeated paragraphs and lines, also those that differ only in case, spacing and punctuation. The first
 * occurrence stays. The meaning may change: the number of repetitions may be the question.
 *
 * Only lines that begin at the margin and end like sentences are compared: rows of tables, records, code and YAML may
 * repeat for a reason. A line with a protected span always stays.
 */
import { MASK } from './segments.ts';

/** Shorter paragraphs and lines are answers, labels and list items, which may repeat intentionally. */
const PARAGRAPH_LENGTH_MIN = 40;
const LINE_LENGTH_MIN = 30;
const WORDS_MIN = 4;

export function removeDuplicates(prose: string): string {
  const paragraphs = withoutRepeats(prose.split(/(\n(?:[ \t\r]*\n)+)/), PARAGRAPH_LENGTH_MIN);
  return withoutRepeats(paragraphs.split(/(\n)/), LINE_LENGTH_MIN);
}

/**
 * `parts` alternates texts and separators. A repeated text is removed together with the separator before it.
 */
function withoutRepeats(parts: readonly string[], lengthMin: number): string {
  const seen = new Set<string>();
  let kept = '';
  for (let at = 0; at < parts.length; at += 2) {
    const part = parts[at] ?? '';
    const separator = parts[at - 1] ?? '';
    if (isSentence(part, lengthMin)) {
      const key = looseKey(part);
      if (seen.has(key)) continue;
      seen.add(key);
    }
    kept += separator + part;
  }
  return kept;
}

function isSentence(text: string, lengthMin: number): boolean {
  if (text.length < lengthMin || /^\s/.test(text) || text.includes(MASK)) return false;
  return /[.!?:…]$/.test(text.trimEnd()) && text.split(/\s+/, WORDS_MIN).length === WORDS_MIN;
}

const looseKey = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();
