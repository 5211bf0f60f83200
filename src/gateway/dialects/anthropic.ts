/**
 * The parts that Anthropic's own endpoints share: address, key, and the body of an error.
 */
import { serializeEvent } from '../../vendors/event-blocks.ts';
import { offering } from '../../vendors/kind.ts';
import type { ErrorWords, VendorAddress } from './dialect.ts';

/** The version of the API that this was written for; a caller may name another one. */
const ANTHROPIC_VERSION = '2023-06-01';

export function anthropicEndpoint<Endpoint extends string>(endpoint: Endpoint) {
  return {
    endpoint,
    isOfferedBy: offering('messages'),
    alternative: '/v1/chat/completions',
    vendorUrl: ({ baseUrl }: VendorAddress) => `${baseUrl}/${endpoint}`,
    vendorHeaders: (vendorKey: string) => ({ 'x-api-key': vendorKey, 'anthropic-version': ANTHROPIC_VERSION }),
    errorBody: anthropicError,
    streamError: (error: ErrorWords) => serializeEvent({ event: 'error', data: JSON.stringify(anthropicError(error)) }),
  };
}

/** Adds our code and the wrong field; Anthropic has only a kind and a message. */
export function anthropicError({ status, message, type, code, param, more }: ErrorWords): object {
  return {
    type: 'error',
    error: {
      // A vendor's error keeps its own word; ours for a wrong key is OpenAI's.
      type: type?.endsWith('_error') && status !== 401 ? type : errorKind(status),
      message,
      ...(code !== null && { code }),
      ...(param !== null && { param }),
      ...more,
    },
  };
}

/** Anthropic's word for the kind of an error (docs.claude.com/en/api/errors). */
function errorKind(status: number): string {
  switch (status) {
    case 401:
      return 'authentication_error';
    case 402:
      return 'billing_error';
    case 403:
      return 'permission_error';
    case 404:
      return 'not_found_error';
    case 413:
      return 'request_too_large';
    case 429:
      return 'rate_limit_error';
    case 504:
      return 'timeout_error';
    case 503:
    case 529:
      return 'overloaded_error';
    default:
      return status >= 500 ? 'api_error' : 'invalid_request_error';
  }
}
