/**
 * The dialect of `POST /v1/responses`. Its streams pass byte for byte: the last event has the usage by itself.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import { serializeEvent } from '../../vendors/event-blocks.ts';
import { offering } from '../../vendors/kind.ts';
import type { Dialect, VendorBody } from './dialect.ts';
import { openAiEndpoint } from './openai.ts';
import { ResponseClosing } from './responses-closing.ts';

export const responses: Dialect<typeof modelOperations.createResponse> = {
  operation: modelOperations.createResponse,
  ...openAiEndpoint('responses'),
  isOfferedBy: offering('others'),
  alternative: '/v1/chat/completions',
  takesSessions: true,

  effortAsked({ reasoning }) {
    return reasoning?.effort ?? undefined;
  },

  /** OpenAI keeps a response unless the request says no. Other vendors of the endpoint differ in what they keep. */
  isKept: ({ store }, kind) => store !== false && (kind === 'openai' || kind === 'azure'),

  vendorBody(request, terms) {
    const body: VendorBody = { ...request, model: terms.model };
    if (terms.effort !== undefined) body.reasoning = { ...request.reasoning, effort: terms.effort };
    // A model that takes no effort refuses a reasoning summary too.
    else if (request.reasoning?.effort != null) delete body.reasoning;
    return body;
  },

  streamTransform: () => undefined,

  streamError({ code, message, param }, last) {
    const { sequence_number: number } = last ?? {};
    const sequence_number = typeof number === 'number' ? number + 1 : 0;
    const data = JSON.stringify({ type: 'error', code, message, param, sequence_number });
    return serializeEvent({ event: 'error', data });
  },

  streamClosing: () => new ResponseClosing(),
};
