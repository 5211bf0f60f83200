/**
 * The dialect of `POST /v1/moderations`: no effort, no output to bound, no stream. The vendor reports no usage:
 * OpenAI's models cost nothing, and a model with a price of its own has an unknown cost.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import { offering } from '../../vendors/kind.ts';
import type { Dialect } from './dialect.ts';
import { openAiEndpoint } from './openai.ts';

export const moderations: Dialect<typeof modelOperations.createModeration> = {
  operation: modelOperations.createModeration,
  ...openAiEndpoint('moderations'),
  isOfferedBy: offering('others'),
  alternative: null,
  effortAsked: () => undefined,
  vendorBody: (request, { model }) => ({ ...request, model }),
  counted: () => ({}),
  streamTransform: () => undefined,
  streamError: () => '',
  streamClosing: () => undefined,
};
