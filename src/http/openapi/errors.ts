/**
 * Errors in the OpenAPI document: a response component for each status, and the statuses and codes of each route.
 */
import type { z } from 'zod';
import { MEDIA_TYPE } from '../../contract/envelope.ts';
import { ERROR_STATUS } from '../../contract/errors.ts';
import { type ErrorForm, errorFormAt } from '../../contract/gateway/answers.ts';
import type { Entry } from './entries.ts';
import type { AnswerReference } from './types.ts';

const RESPONSES_POINTER = '#/components/responses/';

const MEANING: Record<number, string> = {
  400: 'The input breaks a rule; `error.details` names each field',
  401: 'The credential is missing, malformed, unknown or revoked',
  402: 'The billed customer has no credit',
  403: 'The credential lacks a scope, which `error.requiredScope` names, the API key is limited to other models or features, or a session is for another customer',
  404: 'Nothing has this id, or it belongs to another organization; both get the same answer',
  406: 'The `Accept` header does not admit the media type',
  409: 'The current state does not allow it, or the idempotency key was used for another request',
  413: 'The body is too large, or has too many values or levels',
  415: 'The body is not JSON',
  429: 'Too many requests, or a bound is reached; `Retry-After` says when to repeat the request',
  500: 'The service failed; the request may be repeated',
  503: 'A dependency cannot be reached for the moment; the request may be repeated',
};

/**
 * A response for each status of the envelope's errors, in the media type of the metering interface, and in that of the
 * operator API. A route offers only one type: some generated clients ask for `application/json` whenever it is offered.
 */
export function errorResponses(schema: z.ZodType, entries: readonly Entry[]) {
  const used = new Set(entries.flatMap((entry) => Object.values(listErrorResponses(entry)).map(({ $ref }) => $ref)));
  const responses = Object.entries(MEANING).flatMap(([status, description]) => [
    [`Error${status}`, { description, content: { [MEDIA_TYPE]: { schema } } }] as const,
    [`OperatorError${status}`, { description, content: { 'application/json': { schema } } }] as const,
  ]);
  return Object.fromEntries(responses.filter(([name]) => used.has(RESPONSES_POINTER + name)));
}

interface OtherErrors {
  openAi: z.ZodType;
  anthropic: z.ZodType;
  google: z.ZodType;
  lookup: z.ZodType;
}

export function otherErrorResponses({ openAi, anthropic, google, lookup }: OtherErrors) {
  const gatewayError = (vendor: string, schema: z.ZodType) => ({
    description: `A refusal, or the vendor's own, in the form of ${vendor}`,
    content: { 'application/json': { schema } },
  });
  return {
    GatewayError: gatewayError('OpenAI', openAi),
    AnthropicError: gatewayError('Anthropic', anthropic),
    GoogleError: gatewayError('Google', google),
    LookupInvalid: {
      description: '`INVALID_MODEL_KEY` or `INVALID_MODEL_REQUEST`, which names the parameter',
      content: { 'application/json': { schema: lookup } },
    },
    LookupLimited: {
      description:
        '`RATE_LIMITED`: too many answers had to be made for this address; `Retry-After` says when to come back',
      content: { 'application/json': { schema: lookup } },
    },
    NotModified: { description: 'The answer with this entity tag is still current' },
  };
}

const GATEWAY_ERRORS = {
  openai: 'GatewayError',
  anthropic: 'AnthropicError',
  google: 'GoogleError',
} as const satisfies Record<ErrorForm, string>;

/** The error responses of a route. Responses in the service's envelope name the operation's own codes. */
export function listErrorResponses({ kind, path, security, refusals }: Entry): Record<string, AnswerReference> {
  const reference = (name: string): AnswerReference => ({ $ref: RESPONSES_POINTER + name });
  if (kind === 'lookup')
    return {
      '304': reference('NotModified'),
      '400': reference('LookupInvalid'),
      '429': reference('LookupLimited'),
    };
  if (kind === 'gateway') {
    return { default: reference(GATEWAY_ERRORS[errorFormAt(path)]) };
  }
  const name = security?.kind === 'operator' ? 'OperatorError' : 'Error';
  const byStatus = Map.groupBy(refusals, (code) => ERROR_STATUS[code]);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => {
      const description = `${MEANING[status]}. ${codes.map((code) => `\`${code}\``).join(', ')}`;
      return [String(status), { ...reference(`${name}${status}`), description }];
    }),
  );
}
