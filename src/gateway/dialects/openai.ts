/**
 * The parts that OpenAI's endpoints share, at OpenAI and at compatible vendors: address, key, user and the body of an
 * error.
 */
import { serializeEvent } from '../../vendors/event-blocks.ts';
import { ACCEPTED } from '../../vendors/kind.ts';
import type { ErrorWords, ModelRequest, VendorAddress } from './dialect.ts';
import { googleOpenAiRoot } from './google.ts';

/** The part of a dialect that does not depend on the endpoint. */
export function openAiEndpoint<Endpoint extends string>(endpoint: Endpoint) {
  return {
    endpoint,
    vendorUrl: ({ kind, baseUrl }: VendorAddress) =>
      `${ACCEPTED[kind].hasOpenAiBelow ? googleOpenAiRoot(baseUrl) : baseUrl}/${endpoint}`,
    vendorHeaders: (vendorKey: string) => ({ Authorization: `Bearer ${vendorKey}` }),
    userOf: ({ user }: ModelRequest) => user ?? undefined,
    errorBody: openAiError,
  };
}

/** An endpoint without effort and without a stream. */
export function plainOpenAiEndpoint<Endpoint extends string>(endpoint: Endpoint) {
  return {
    ...openAiEndpoint(endpoint),
    alternative: null,
    effortAsked: () => undefined,
    vendorBody: <Request extends object>(request: Request, { model }: { model: string }) => ({ ...request, model }),
    streamTransform: () => undefined,
    streamError: () => '',
    streamClosing: () => undefined,
  };
}

/** The event that ends a stream that broke off: SDKs throw it. */
export function openAiStreamError(error: ErrorWords): string {
  return serializeEvent({ data: JSON.stringify(openAiError(error)) });
}

export function openAiError({ status, message, type, code, param, more }: ErrorWords): object {
  return {
    error: {
      message,
      type: type ?? errorType(status),
      code,
      param,
      ...more,
    },
  };
}

/** OpenAI's word for the kind of an error. */
function errorType(status: number): string {
  if (status === 402) return 'insufficient_quota';
  if (status === 403) return 'insufficient_permissions';
  if (status === 429) return 'rate_limit_exceeded';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}
