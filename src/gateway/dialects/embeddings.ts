/**
 * The dialect of `POST /v1/embeddings`: no effort, no output to bound, no stream.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import { offering } from '../../vendors/kind.ts';
import type { Dialect } from './dialect.ts';
import { plainOpenAiEndpoint } from './openai.ts';

export const embeddings: Dialect<typeof modelOperations.createEmbedding> = {
  operation: modelOperations.createEmbedding,
  ...plainOpenAiEndpoint('embeddings'),
  isOfferedBy: offering('embeddings'),
};
