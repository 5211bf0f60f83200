/**
 * The dialect of `POST /v1/responses/compact`, which makes one item of a conversation: a run of the model with usage of its
 * own. No effort can be asked for, no output bounded, and no stream.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import { offering } from '../../vendors/kind.ts';
import type { Dialect } from './dialect.ts';
import { plainOpenAiEndpoint } from './openai.ts';

export const compact: Dialect<typeof modelOperations.compactResponse> = {
  operation: modelOperations.compactResponse,
  ...plainOpenAiEndpoint('responses/compact'),
  isOfferedBy: offering('others'),
};
