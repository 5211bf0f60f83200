/**
 * The dialect of `POST /v1/embeddings`: no effort, no output to bound, no stream.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import { offering } from '../../vendors/kind.ts';
import type { Dialect } from './dialect.ts';
import { openAiEndpoint } from './openai.ts';

export const embeddings: Dialect<typeof modelOperations.createEmbedding> = {
  operation: modelOperations.createEmbedding,
  ...openAiEndpoint('embeddings'),
  isOfferedBy: offering('embeddings'),
  alternative: null,
  effortAsked: () => undefined,
  vendorBody: (request, { model }) => ({ ...request, model }),
  streamTransform: () => undefined,
  streamError: () => '',
  streamClosing: () => undefined,
};
