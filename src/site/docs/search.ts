/**
 * The search of the API reference: an entry has a text in small letters, and is found where every word stands in it. The
 * index is a file of its own, which only a search reads.
 */

export interface SearchEntry {
  kind: 'operation' | 'guide' | 'error' | 'schema';
  href: string;
  /** An operation's path, a guide's heading, a code, the name of a schema. */
  name: string;
  method?: string;
  /** One sentence, or where in the documents it stands. */
  summary: string;
  text: string;
}

/** Words of one search that count; nobody asks for more. */
const WORDS_MAX = 12;

export function findEntries(index: readonly SearchEntry[], query: string): SearchEntry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, WORDS_MAX);
  return index.filter(({ text }) => words.every((word) => text.includes(word)));
}
