/**
 * What the endpoints of OpenAI have in common: the body of an error, and the bound of the output.
 */
import type { AttemptTerms, ErrorWords, VendorBody } from './dialect.ts';

/** Vendors that know the newest name of a field; for any other vendor only the oldest name is sure to be known. */
const VENDORS_WITH_NEWEST_NAMES = new Set(['openai', 'anthropic', 'google']);

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
  if (status === 401) return 'invalid_api_key';
  if (status === 403) return 'insufficient_permissions';
  if (status === 429) return 'rate_limit_exceeded';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

/**
 * Keeps the output within the tokens that are reserved for the call, whatever the caller asked for. `names` are the
 * names of the field that bounds the output, newest first.
 */
export function boundOutput(
  body: VendorBody,
  names: readonly string[],
  { provider, outputTokensMax }: AttemptTerms,
): void {
  if (outputTokensMax === null) return;
  const tokensPerAnswer = Math.max(1, Math.floor(outputTokensMax / (typeof body.n === 'number' ? body.n : 1)));
  const present = names.filter((name) => typeof body[name] === 'number');
  for (const name of present) body[name] = Math.min(body[name] as number, tokensPerAnswer);
  const name = VENDORS_WITH_NEWEST_NAMES.has(provider) ? names[0] : names.at(-1);
  if (present.length === 0 && name !== undefined) body[name] = tokensPerAnswer;
}
