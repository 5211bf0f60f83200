/**
 * Promise: the corpus has at least 300 requests, each with a name of its own, its source and a model of the catalog
 * that runs, and the schema of its endpoint takes each. Requests for a model without a price say so.
 */
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { statusOn } from '../../src/catalog/lifecycle.ts';
import { matchModel } from '../../src/catalog/matching.ts';
import {
  BatchEmbedContentsRequest,
  ChatCompletionRequest,
  CompactRequest,
  CompletionRequest,
  EmbedContentRequest,
  EmbeddingRequest,
  FILE_BODY_BYTES_MAX,
  GenerateContentRequest,
  ImageEditForm,
  ImageRequest,
  MessageRequest,
  ModerationRequest,
  REPEATED_FIELDS,
  ResponseRequest,
  SpeechRequest,
  TranscriptionForm,
} from '../../src/contract/gateway/requests.ts';
import { readFormBody } from '../../src/platform/form-body.ts';
import { parseBoundary } from '../../src/platform/multipart.ts';
import {
  bodyForm,
  CORPUS_DIALECTS,
  CORPUS_UPLOADS,
  type CorpusDialect,
  requestCorpus,
} from '../support/request-corpus.ts';

const SCHEMAS: Record<CorpusDialect, z.ZodType> = {
  chat: ChatCompletionRequest,
  responses: ResponseRequest,
  compact: CompactRequest,
  messages: MessageRequest,
  generateContent: GenerateContentRequest,
  completions: CompletionRequest,
  embeddings: EmbeddingRequest,
  embedContent: EmbedContentRequest,
  batchEmbedContents: BatchEmbedContentsRequest,
  images: ImageRequest,
  imageEdits: ImageEditForm,
  speech: SpeechRequest,
  transcriptions: TranscriptionForm,
  moderations: ModerationRequest,
};

/** As the gateway reads it. */
async function sentFields(dialect: CorpusDialect, body: Record<string, unknown>): Promise<unknown> {
  if (!CORPUS_UPLOADS.has(dialect)) return JSON.parse(JSON.stringify(body));
  const request = new Request('https://example.com', { method: 'POST', body: bodyForm(body) });
  const boundary = parseBoundary(request.headers.get('Content-Type') ?? '') ?? '';
  const read = await readFormBody(request, boundary, FILE_BODY_BYTES_MAX, REPEATED_FIELDS);
  return read.ok ? read.fields : read;
}

test('the corpus has at least 300 requests', () => {
  expect(CORPUS_DIALECTS.flatMap(requestCorpus).length).toBeGreaterThanOrEqual(300);
});

describe.each(CORPUS_DIALECTS)('%s', (dialect) => {
  const requests = requestCorpus(dialect);

  test('no two requests have the same name, and each has a source', () => {
    expect(new Set(requests.map(({ name }) => name)).size).toBe(requests.length);
    for (const { name, source } of requests) expect({ name, source: source.trim() }).not.toEqual({ name, source: '' });
  });

  test('each model is in the catalog and runs, and has a price unless its request says that it has none', () => {
    const { version, publishedAtMs } = BUILT_IN_CATALOG;
    for (const { name, model, refusedBecause } of requests) {
      const match = matchModel(BUILT_IN_CATALOG, model, publishedAtMs);
      if (!match || statusOn(match.model, version) === 'RETIRED') expect.fail(`${name}: ${model} does not run`);
      const isSaidToHaveNone = refusedBecause === `The catalog has no price of ${model}.`;
      expect({ name, hasNone: isSaidToHaveNone }).toEqual({ name, hasNone: match.model.pricing === undefined });
    }
  });

  test('each request is taken by the schema of its endpoint', async () => {
    for (const { name, body } of requests) {
      const { error } = SCHEMAS[dialect].safeParse(await sentFields(dialect, body));
      expect({ name, issues: error?.issues ?? [] }).toEqual({ name, issues: [] });
    }
  });
});
