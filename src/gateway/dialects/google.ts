/**
 * The parts that Google's own endpoints share: address, key, and the body of an error.
 */
import { serializeEvent } from '../../vendors/event-blocks.ts';
import { offering } from '../../vendors/kind.ts';
import type { ErrorWords, VendorAddress } from './dialect.ts';

/** Google's service that is compatible with OpenAI lies below its own API. */
const COMPATIBLE = '/openai';

/** The root of Google's own API, for an address that may be the compatible one's. */
function googleRoot(baseUrl: string): string {
  return baseUrl.endsWith(COMPATIBLE) ? baseUrl.slice(0, -COMPATIBLE.length) : baseUrl;
}

/** The root of the compatible API. An address that does not end in one of Google's versions stays unchanged. */
export function googleOpenAiRoot(baseUrl: string): string {
  return /\/v1(?:alpha|beta)$/.test(baseUrl) ? `${baseUrl}${COMPATIBLE}` : baseUrl;
}

/** A segment of a model's name, which becomes a path segment: it may neither be dots nor hold a verb. */
const SEGMENT = /^(?!\.+$)[\w.~@+-]+$/;

export function googleEndpoint<Action extends string>(action: Action) {
  return {
    endpoint: `:${action}` as const,
    isOfferedBy: offering('generateContent'),
    takesModel: (model: string) => model.split('/').every((segment) => SEGMENT.test(segment)),
    vendorUrl: ({ baseUrl, model }: VendorAddress) =>
      `${googleRoot(baseUrl)}/models/${model.split('/').map(encodeURIComponent).join('/')}:${action}`,
    vendorHeaders: (vendorKey: string) => ({ 'x-goog-api-key': vendorKey }),
    errorBody: googleError,
    streamError: (error: ErrorWords) => serializeEvent({ data: JSON.stringify(googleError(error)) }),
  };
}

const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';

/** Our code, and the field that is wrong, are an `ErrorInfo`, if Google's own details have none. */
export function googleError({ status, message, type, code, param, more = {}, details = [] }: ErrorWords): object {
  // Metadata are texts.
  const texts = Object.entries({ param, ...more }).flatMap(([name, value]) =>
    value == null ? [] : [[name, typeof value === 'object' ? JSON.stringify(value) : String(value)]],
  );
  const own = {
    '@type': ERROR_INFO,
    reason: code ?? type,
    domain: 'callmeter',
    metadata: Object.fromEntries(texts),
  };
  return {
    error: {
      code: status,
      message,
      status: statusWord(status),
      details: details.some((detail) => detail['@type'] === ERROR_INFO) ? details : [...details, own],
    },
  };
}

/** Google's word for a status (google.rpc.Code, with the HTTP mapping of its comments). */
function statusWord(status: number): string {
  switch (status) {
    case 401:
      return 'UNAUTHENTICATED';
    case 402:
    case 403:
      return 'PERMISSION_DENIED';
    case 404:
      return 'NOT_FOUND';
    case 409:
      return 'ABORTED';
    case 429:
      return 'RESOURCE_EXHAUSTED';
    case 500:
      return 'INTERNAL';
    case 504:
      return 'DEADLINE_EXCEEDED';
    default:
      return status >= 500 ? 'UNAVAILABLE' : 'INVALID_ARGUMENT';
  }
}
