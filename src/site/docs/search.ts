/**
 * The search of the API reference: an entry has a text in small letters, and is found if that contains every word. The
 * index is a file of its own, which only a search reads.
 */

export interface SearchEntry {
  kind: 'operation' | 'guide' | 'error' | 'schema';
  href: string;
  /** An operation's path, a guide's heading, a code, the name of a schema. */
  name: string;
  method?: string;
  /** One sentence, or its place in the documents. */
  summary: string;
  text: string;
}

/** The most words of one search that count; nobody needs more. */
const WORDS_MAX = 12;

export function findEntries(index: readonly SearchEntry[], query: string): SearchEntry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, WORDS_MAX);
  return index.filter(({ text }) => words.every((word) => text.includes(word)));
}
