/**
 * The dialect of `POST /v1/moderations`: no effort, no output to bound, no stream. The vendor reports no usage:
 * OpenAI's models cost nothing, and a model with a price of its own has an unknown cost.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import { offering } from '../../vendors/kind.ts';
import type { Dialect } from './dialect.ts';
import { plainOpenAiEndpoint } from './openai.ts';

export const moderations: Dialect<typeof modelOperations.createModeration> = {
  operation: modelOperations.createModeration,
  ...plainOpenAiEndpoint('moderations'),
  isOfferedBy: offering('others'),
  counted: () => ({}),
};
