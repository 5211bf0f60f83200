/**
 * The part of an answer that the API reference keeps as the example of its operation, and the conditions on it.
 */

/** Items of a list that an example shows. */
const ITEMS_MAX = 2;
/** Entries of a map that an example shows: more of them look alike. */
const ENTRIES_MAX = 40;
const TEXT_MAX = 600;

/** Secrets and ports of the machine that answered: no example looks like a leak, or changes with each recording. */
const REPLACED: readonly (readonly [RegExp, string])[] = [
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'eyJhbGciOiJIUzI1NiJ9.e30.AAAA'],
  [/\bwhsec_[\w+/]+=*/g, `whsec_${'A'.repeat(43)}=`],
  [/127\.0\.0\.1:\d+/g, '127.0.0.1:8788'],
  [/\b(utk|ek)-[\w-]{43}/g, `$1-${'A'.repeat(43)}`],
];

/** JSON with short lists; of other text its first characters, of bytes their number. */
export function exampleOf(type: string, answer: string): unknown {
  const text = REPLACED.reduce((kept, [found, sample]) => kept.replace(found, sample), answer);
  if (type.endsWith('octet-stream')) return `${text.length} bytes`;
  if (type.endsWith('ndjson')) return text.split('\n').filter(Boolean).slice(0, ITEMS_MAX).join('\n');
  try {
    return shortened(JSON.parse(text));
  } catch {
    return text.slice(0, TEXT_MAX);
  }
}

function shortened(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, ITEMS_MAX).map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).slice(0, ENTRIES_MAX);
  return Object.fromEntries(entries.map(([name, member]) => [name, shortened(member)]));
}

/** The fields of an answer, and of its `data`: an example must share them with every answer of its operation. */
export function describeShape(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return typeof answer;
  const { data } = answer as { data?: unknown };
  const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
  return { answer: Object.keys(answer).sort(), data: isObject ? Object.keys(data).sort() : typeof data };
}
