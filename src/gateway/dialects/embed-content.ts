/**
 * The dialects of `embedContent` and `batchEmbedContents`, Google's own API: no effort, no output to bound, no stream.
 * The path names the model; if there are several requests, each names one.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import type { Dialect } from './dialect.ts';
import { googleEndpoint } from './google.ts';

const shared = {
  alternative: '/v1/embeddings',
  addressed: (model: string) => ({ model }),
  userOf: () => undefined,
  effortAsked: () => undefined,
  streamTransform: () => undefined,
  streamClosing: () => undefined,
};

export const embedContent: Dialect<typeof modelOperations.embedContent> = {
  operation: modelOperations.embedContent,
  ...googleEndpoint('embedContent'),
  ...shared,
  vendorBody: (request, { model }) => ({ ...request, model: `models/${model}` }),
};

export const batchEmbedContents: Dialect<typeof modelOperations.batchEmbedContents> = {
  operation: modelOperations.batchEmbedContents,
  ...googleEndpoint('batchEmbedContents'),
  ...shared,
  vendorBody: (request, { model }) => {
    const { model: _named, ...body } = request;
    return { ...body, requests: request.requests.map((one) => ({ ...one, model: `models/${model}` })) };
  },
};
