/**
 * The dialect of `POST /v1/responses/compact`, which makes one item of a conversation: a run of the model with usage of its
 * own. No effort can be asked for, no output bounded, and no stream.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import { offering } from '../../vendors/kind.ts';
import type { Dialect } from './dialect.ts';
import { openAiEndpoint } from './openai.ts';

export const compact: Dialect<typeof modelOperations.compactResponse> = {
  operation: modelOperations.compactResponse,
  ...openAiEndpoint('responses/compact'),
  isOfferedBy: offering('others'),
  alternative: null,
  effortAsked: () => undefined,
  vendorBody: (request, { model }) => ({ ...request, model }),
  streamTransform: () => undefined,
  streamError: () => '',
  streamClosing: () => undefined,
};
