/**
 * The dialect of an open path of a vendor: the request goes to the caller's address and passes unchanged, except our
 * own fields and, at endpoints that have one, the bound of the output. Any answer passes.
 */
import { openPathOperations } from '../../contract/gateway/open-path-operations.ts';
import type { VendorKind } from '../../domain/vendor-kind.ts';
import { ACCEPTED } from '../../vendors/kind.ts';
import type { VendorRequest } from '../../vendors/request.ts';
import { anthropicEndpoint } from './anthropic.ts';
import type { Dialect } from './dialect.ts';
import { googleEndpoint } from './google.ts';
import { openAiEndpoint, openAiError } from './openai.ts';

/** The destination of a request. */
export interface OpenPath {
  method: VendorRequest['method'];
  provider: string;
  kind: VendorKind;
  /** The address, with its query. */
  url: URL;
}

export function openPathDialect({
  method,
  provider,
  kind,
  url,
}: OpenPath): Dialect<typeof openPathOperations.postOpenPath> {
  return {
    operation: openPathOperations.postOpenPath,
    endpoint: url.pathname.slice(1),
    address: `${method} ${provider} ${url.pathname}${url.search}`,
    method,
    vendorUrl: () => url.href,
    vendorHeaders: (vendorKey) => keyHeaders(kind, vendorKey),
    isOfferedBy: () => true,
    alternative: null,
    answerForm: () => 'any',
    errorBody: openAiError,
    userOf: ({ user }) => (typeof user === 'string' ? user : undefined),
    effortAsked: () => undefined,
    vendorBody: (request, { model }) => (request.model === '' ? request : { ...request, model }),
    streamTransform: () => undefined,
    streamClosing: () => undefined,
    streamError: () => '',
  };
}

/** The header in which the vendor takes a key. */
function keyHeaders(kind: VendorKind, vendorKey: string): Record<string, string> {
  switch (ACCEPTED[kind].keyHeader) {
    case 'x-api-key':
      return anthropicEndpoint('').vendorHeaders(vendorKey);
    case 'x-goog-api-key':
      return googleEndpoint('').vendorHeaders(vendorKey);
    case 'authorization':
      return openAiEndpoint('').vendorHeaders(vendorKey);
  }
}
