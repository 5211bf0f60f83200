/**
 * The endpoints that count the tokens of a request, in the form of each vendor.
 */
import { countingOperations, type GatewayOperation } from '../../contract/gateway/operations.ts';
import type { VendorKind } from '../../domain/vendor-kind.ts';
import { offering } from '../../vendors/kind.ts';
import { ofGenerateContent } from '../../vendors/prompt-counter.ts';
import { isFields, listOrEmpty } from '../../vendors/usage/figures.ts';
import { withTakenToolIds } from '../translation/tool-ids.ts';
import { anthropicEndpoint } from './anthropic.ts';
import type { ErrorBody, ModelRequest, VendorAddress, VendorBody } from './dialect.ts';
import { googleEndpoint } from './google.ts';
import { openAiEndpoint } from './openai.ts';

export interface Counting {
  readonly operation: GatewayOperation;
  isOfferedBy(kind: VendorKind): boolean;
  takesModel?(model: string): boolean;
  readonly alternative: string | null;
  vendorUrl(address: VendorAddress): string;
  vendorHeaders(vendorKey: string): Record<string, string>;
  readonly errorBody: ErrorBody;
  vendorBody(request: ModelRequest, model: string): VendorBody;
}

export const COUNTING: { readonly [Id in keyof typeof countingOperations]: Counting } = {
  countMessageTokens: {
    operation: countingOperations.countMessageTokens,
    ...anthropicEndpoint('messages/count_tokens'),
    alternative: null,
    vendorBody: ({ messages, ...request }, model) => ({
      ...request,
      model,
      messages: withTakenToolIds(listOrEmpty(messages)),
    }),
  },
  countResponseTokens: {
    operation: countingOperations.countResponseTokens,
    ...openAiEndpoint('responses/input_tokens'),
    isOfferedBy: offering('others'),
    alternative:
      '/v1/messages/count_tokens for a model of Anthropic, /v1beta/models/{model}:countTokens for one of Google',
    vendorBody: (request, model) => ({ ...request, model }),
  },
  countTokens: {
    operation: countingOperations.countTokens,
    ...googleEndpoint('countTokens'),
    alternative: null,
    vendorBody: ({ model: _named, stream: _stream, ...body }, model) => {
      const whole = body.generateContentRequest;
      return isFields(whole) ? { ...body, ...ofGenerateContent(whole, model) } : body;
    },
  },
};
