/**
 * Requests to AI vendors in the form of their clients, from `test/fixtures/requests`: a file for each form of request.
 *
 * Each names its sender, or its source. Models are those of the catalog in place of older ones, texts of others are
 * replaced by texts of the same length, and contents of pictures and files by the shortest of their kind. So that a
 * long text is short in the file, `{ "$repeat": text, "times": number }` stands for it there, and `{ "$file": name,
 * "type": mediaType, "base64": content }` stands for a file of a form.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FORMS } from '../../src/contract/credit-open.ts';
import { isRecord } from '../../src/contract/identity.ts';
import { buildForm } from './forms.ts';

/** The forms of requests, each the name of its file. */
export const CORPUS_DIALECTS = [...FORMS, 'batchEmbedContents'] as const;
export type CorpusDialect = (typeof CORPUS_DIALECTS)[number];

/** How the path of each ends at its vendor. */
export const CORPUS_PATHS: Readonly<Record<CorpusDialect, string>> = {
  chat: 'chat/completions',
  responses: 'responses',
  compact: 'responses/compact',
  messages: 'messages',
  generateContent: ':generateContent',
  completions: 'completions',
  embeddings: 'embeddings',
  embedContent: ':embedContent',
  batchEmbedContents: ':batchEmbedContents',
  images: 'images/generations',
  imageEdits: 'images/edits',
  speech: 'audio/speech',
  transcriptions: 'audio/transcriptions',
  moderations: 'moderations',
};

/** The requests that are sent as `multipart/form-data`. */
export const CORPUS_UPLOADS: ReadonlySet<CorpusDialect> = new Set(['imageEdits', 'transcriptions']);

export interface CorpusRequest {
  /** Unique in its dialect. */
  name: string;
  /** The package that sent it, or the repository and path that it is from. */
  source: string;
  /** The vendor that it is meant for: `compatible` is any server of OpenAI's form. */
  kind: 'openai' | 'anthropic' | 'google' | 'openrouter' | 'compatible';
  /** As its client names it, in the body or, at Google, in the path. */
  model: string;
  /** Headers that affect the vendor. */
  headers: Record<string, string>;
  /** The query of the address, without the question mark. */
  query: string;
  /** The answer is asked for as events; Google's path says so. */
  stream: boolean;
  /** The fields of a JSON body, or of a form with its files. */
  body: Record<string, unknown>;
  /** The missing rate, if it is refused on credit. */
  refusedBecause: string | null;
}

/** The members of a request in a file. */
type Written = Pick<CorpusRequest, 'name' | 'source' | 'kind' | 'body'> &
  Partial<Pick<CorpusRequest, 'model' | 'headers' | 'query' | 'stream'>> &
  ({ expects?: never; why?: never } | { expects: 'refused'; why: string });

const FOLDER = join(import.meta.dirname, '../fixtures/requests');

export function requestCorpus(dialect: CorpusDialect): CorpusRequest[] {
  const written: Written[] = JSON.parse(readFileSync(join(FOLDER, `${dialect}.json`), 'utf8'));
  return written.map(({ name, source, kind, headers = {}, query = '', why, ...request }) => {
    const body = expanded(request.body) as Record<string, unknown>;
    const model = request.model ?? String(body.model);
    const stream = request.stream ?? String(body.stream) === 'true';
    return { name, source, kind, model, headers, query, stream, body, refusedBecause: why ?? null };
  });
}

/** The fields of a body as a form, a list as one field for each of its items. */
export function bodyForm(body: Record<string, unknown>): FormData {
  return buildForm(
    Object.entries(body).flatMap(([name, value]) =>
      [value].flat().map((item) => [name, item instanceof File ? item : String(item)] as const),
    ),
  );
}

function expanded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expanded);
  if (!isRecord(value)) return value;
  if (typeof value.$repeat === 'string') return value.$repeat.repeat(Number(value.times));
  if (typeof value.$file === 'string')
    return new File([Buffer.from(String(value.base64), 'base64')], value.$file, { type: String(value.type) });
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, expanded(field)]));
}
