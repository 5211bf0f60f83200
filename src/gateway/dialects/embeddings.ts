/**
 * The dialect of `POST /v1/embeddings`: no effort, no output to bound, no stream.
 */
import { modelOperations } from '../../contract/gateway.ts';
import type { Dialect } from './dialect.ts';
import { openAiError } from './openai.ts';

export const embeddings: Dialect<typeof modelOperations.createEmbedding> = {
  operation: modelOperations.createEmbedding,
  endpoint: 'embeddings',
  notOfferedBy: ['anthropic'],
  alternative: null,
  sessionFields: null,
  errorBody: openAiError,
  effortAsked: () => undefined,
  vendorBody: (request, { model }) => ({ ...request, model }),
  streamTransform: () => undefined,
  streamError: () => '',
  streamClosing: () => undefined,
};
