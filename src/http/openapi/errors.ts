/**
 * Errors in the OpenAPI document: a response component for each status with its codes, and the statuses of each route.
 */
import type { z } from 'zod';
import { MEDIA_TYPE } from '../../contract/envelope.ts';
import { ERROR_STATUS } from '../../contract/errors.ts';
import { type ErrorForm, errorFormAt } from '../../contract/gateway/answers.ts';
import type { Security } from '../../contract/operations.ts';
import type { Reference } from './types.ts';

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
export function errorResponses(schema: z.ZodType) {
  return Object.fromEntries(
    Object.entries(MEANING).flatMap(([status, meaning]) => {
      const codes = Object.entries(ERROR_STATUS).filter(([, of]) => of === Number(status));
      const description = `${meaning}. ${codes.map(([code]) => `\`${code}\``).join(', ')}`;
      const ofOperator = { description, content: { 'application/json': { schema } } };
      return [
        [`Error${status}`, { description, content: { [MEDIA_TYPE]: { schema } } }],
        ...(OPERATOR_NEVER.has(status) ? [] : [[`OperatorError${status}`, ofOperator] as const]),
      ];
    }),
  );
}

/** Statuses that no route of the operator API has. */
const OPERATOR_NEVER: ReadonlySet<string> = new Set(['402', '406']);

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

interface Refusing {
  kind: 'envelope' | 'gateway' | 'lookup';
  id: string;
  method: string;
  path: string;
  security: Security | null;
  params?: unknown;
  query?: unknown;
  body?: unknown;
}

/** The error responses of a route. */
export function responsesOf({
  kind,
  id,
  method,
  path,
  security,
  params,
  query,
  body,
}: Refusing): Record<string, Reference> {
  const reference = (name: string): Reference => ({ $ref: RESPONSES_POINTER + name });
  if (kind === 'lookup')
    return {
      '304': reference('NotModified'),
      '400': reference('LookupInvalid'),
      '429': reference('LookupLimited'),
    };
  if (kind === 'gateway') {
    return { default: reference(GATEWAY_ERRORS[errorFormAt(path)]) };
  }
  const isOperator = security?.kind === 'operator';
  const input = body !== undefined || query !== undefined || params !== undefined || method === 'POST';
  const statuses = [
    ...(input ? [400] : []),
    401,
    ...(id === 'authorizeCompression' ? [402] : []),
    403,
    ...(isOperator ? [] : [406]),
    ...(path.includes('{') || body !== undefined ? [404] : []),
    ...(method === 'GET' ? [] : [409]),
    ...(body === undefined ? [] : [413, 415]),
    429,
    500,
    503,
  ];
  const name = isOperator ? 'OperatorError' : 'Error';
  return Object.fromEntries(statuses.map((status) => [String(status), reference(`${name}${status}`)]));
}
