/**
 * A rerank in Jina's form: documents ordered by the words that they share with the query.
 */
import { chooseVocabulary, tokensAtMost } from '../../vendors/token-count.ts';
import { type Fields, fieldsOrEmpty, listOrEmpty } from '../../vendors/usage/figures.ts';
import { collectText, positiveInteger } from './prompt.ts';

export type Reranked =
  | { ok: true; body: Fields; model: string; inputTokens: number; query: string }
  | { ok: false; field: string; message: string };

export function rerank({ model, query, documents, top_n }: Fields): Reranked {
  if (typeof model !== 'string' || model === '') return wrong('model', 'must be the name of a model');
  if (typeof query !== 'string' || query === '') return wrong('query', 'must be a text');
  const texts = listOrEmpty(documents).map((document) =>
    typeof document === 'string' ? document : collectText(fieldsOrEmpty(document).text),
  );
  if (texts.length === 0) return wrong('documents', 'must be a list of texts');
  const wanted = wordsIn(query);
  const results = texts
    .map((text, index) => ({ index, relevance_score: scoreDocument(wanted, wordsIn(text)), document: { text } }))
    .sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
    .slice(0, positiveInteger(top_n) ?? texts.length);
  const vocabulary = chooseVocabulary('openai', model);
  const inputTokens = [query, ...texts].reduce((sum, text) => sum + tokensAtMost(text, vocabulary), 0);
  const usage = { prompt_tokens: inputTokens, total_tokens: inputTokens };
  return { ok: true, body: { model, object: 'list', usage, results }, model, inputTokens, query };
}

function wrong(field: string, message: string): Reranked {
  return { ok: false, field, message: `${field}: ${message}` };
}

function wordsIn(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\d]+/gu) ?? []);
}

/** The share of the query's words that the document has. */
function scoreDocument(wanted: ReadonlySet<string>, words: ReadonlySet<string>): number {
  const shared = [...wanted].filter((word) => words.has(word)).length;
  return wanted.size === 0 ? 0 : shared / wanted.size;
}
