/**
 * What the endpoints of OpenAI have in common: the body of an error.
 */
import type { ErrorWords } from './dialect.ts';

export function openAiError({ status, message, type, code, param, requiredScope }: ErrorWords): object {
  return {
    error: {
      message,
      type: type ?? errorType(status),
      code,
      param,
      ...(requiredScope !== undefined && { requiredScope }),
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
