/**
 * The gateway's refusals, and how they become errors on the wire. `GATEWAY_ERRORS` and `ERROR_STATUS` together have an
 * entry for each code; a new code does not compile without one.
 *
 * OpenAI's SDKs repeat a request that was answered with 408, 409, 429 or 5xx, unless `x-should-retry` says otherwise.
 * Every refusal sets that header.
 */
import { type DenialFigures, sumsSentence } from '../contract/denial.ts';
import { type CallFigures, ERROR_STATUS, type ErrorCode, type Refusal } from '../contract/errors.ts';
import { GATEWAY_HEADERS } from '../contract/gateway/labels.ts';
import { ROLLING_LIMIT, rollingHeaders } from '../contract/limit-headers.ts';
import { thrownRefusal } from '../platform/unavailable.ts';
import type { WholeAnswer } from './answer.ts';
import type { ErrorBody, ErrorWords } from './dialects/dialect.ts';
import { openAiError } from './dialects/openai.ts';

interface WireError {
  status: number;
  /** `undefined` if the code on the wire is the same. */
  code?: string;
  /** `undefined` for the usual word of the status. */
  type?: string;
  /** Whether repeating the same request may help; `undefined` if its status decides. */
  retry?: boolean;
}

/** The codes that only the gateway answers. */
export const GATEWAY_ERRORS = {
  ENDPOINT_NOT_OFFERED: { status: 400 },
  VENDOR_NOT_CONFIGURED: { status: 400 },
  /** The plan does not allow the call. This is not a rate limit: repeating the request does not help. */
  ENTITLEMENT_DENIED: { status: 403, type: 'insufficient_quota', retry: false },
  /** OpenAI's own code, which its SDKs know. */
  model_not_found: { status: 404 },
  /** Its provider has retired it, on a day that the catalog knows for certain. */
  MODEL_RETIRED: { status: 404 },
  /** The vendor may have done the work, and is not set up correctly. */
  VENDOR_ANSWER_BROKEN: { status: 502, retry: false },
  /** The call was charged, and the same request would bring the same answer. */
  VENDOR_ANSWER_TOO_LARGE: { status: 502, retry: false },
  VENDOR_KEY_UNREADABLE: { status: 502, code: 'VENDOR_NOT_CONFIGURED', retry: false },
  VENDOR_UNREACHABLE: { status: 502 },
  VENDOR_TIMEOUT: { status: 504 },
  /** In the last event of a stream. */
  VENDOR_STREAM_CUT: { status: 502 },
  /** For the record of the call: no caller is left to answer. */
  CLIENT_LEFT: { status: 504, retry: false },
} as const satisfies Record<string, WireError>;

/** The gateway's additions to the contract's codes, besides their status. */
const CONTRACT_ERRORS: Partial<Record<string, Omit<WireError, 'status'>>> = {
  ANSWER_NOT_KEPT: { retry: false },
  BALANCE_HELD: { retry: true },
  BOUND_UNKNOWN: { retry: false },
  CALL_ALREADY_FINALIZED: { retry: false },
  CONFLICT: { retry: false },
  CREDIT_REQUIRED: { retry: false },
  IDEMPOTENCY_KEY_CONFLICT: { retry: false },
  MODEL_NOT_PRICED: { retry: false },
  PRICE_UNAVAILABLE: { retry: false },
  /** OpenAI's own words for this error. */
  UNAUTHORIZED: { code: 'invalid_api_key', type: 'invalid_request_error' },
  QUOTA_EXCEEDED: { retry: false },
} satisfies Partial<Record<ErrorCode, Omit<WireError, 'status'>>>;

type GatewayErrorCode = ErrorCode | keyof typeof GATEWAY_ERRORS;

/** A refusal of the metering interface, or one of the gateway's own. */
export interface GatewayRefusal extends Refusal<GatewayErrorCode> {
  /** The wrong field of the request. */
  param?: string;
  /** Whether repeating the request may help, if the code does not decide it. */
  retry?: boolean;
}

export type Refused = { ok: false; refusal: GatewayRefusal };

/** The wait if the right one is unknown. */
const RETRY_AFTER_SECONDS = 1;
/** OpenAI's SDKs wait no longer than this: beyond it they repeat at once a few times, which cannot help. */
const WAITED_SECONDS_MAX = 60;
/** Statuses of refusals that may not recur. */
const PASSING = new Set([408, 409, 429]);

export function refuseCall(
  code: GatewayErrorCode,
  message: string,
  more: Omit<GatewayRefusal, 'code' | 'message'> = {},
): Refused {
  return { ok: false, refusal: { code, message, ...more } };
}

/** The refusal of a call that the plan does not allow, with the amounts that explain it. */
export function refuseDenied(
  code: 'ENTITLEMENT_DENIED' | 'CREDIT_REQUIRED' | 'BALANCE_HELD',
  reason: string,
  denial: DenialFigures | undefined,
  more: Omit<GatewayRefusal, 'code' | 'message'> = {},
): Refused {
  const sums = sumsSentence(denial ?? {});
  return refuseCall(code, sums === '' ? reason : `${reason}. ${sums}`, { ...more, ...(denial && { denial }) });
}

export function refusalAnswer(refusal: GatewayRefusal, errorBody: ErrorBody = openAiError): WholeAnswer {
  const { code, message, members, headers, denial } = refusal;
  const { status, code: wireCode = code, type, ...usual } = wireError(code);
  const retryAfter = refusal.retryAfterSeconds ?? (status === 429 || status === 503 ? RETRY_AFTER_SECONDS : undefined);
  const passes = refusal.retry ?? usual.retry ?? (PASSING.has(status) || status >= 500);
  const retry = passes && (retryAfter ?? 0) < WAITED_SECONDS_MAX;
  const [detail] = (members?.details as { path: string }[] | undefined) ?? [];
  const { requiredScope, reason, component, param: named } = (members ?? {}) as Partial<Record<string, string>>;
  const more = {
    ...(requiredScope !== undefined && { requiredScope }),
    ...(reason === ROLLING_LIMIT && { reason }),
    ...(component !== undefined && { component }),
    ...(members?.call !== undefined && { call: members.call as CallFigures }),
    ...denial,
  };
  const param = refusal.param ?? named ?? detail?.path ?? null;
  return errorAnswer(
    { status, message, type, code: wireCode, param, more },
    {
      ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
      [GATEWAY_HEADERS.shouldRetry]: String(retry),
      ...rollingHeaders(refusal.rolling),
      ...headers,
    },
    errorBody,
  );
}

export function wireError(code: GatewayErrorCode): WireError {
  if (Object.hasOwn(GATEWAY_ERRORS, code)) return GATEWAY_ERRORS[code as keyof typeof GATEWAY_ERRORS];
  return { status: ERROR_STATUS[code as ErrorCode], ...CONTRACT_ERRORS[code] };
}

/** An error in the form of an endpoint, with the headers that its status requires. */
export function errorAnswer(error: ErrorWords, headers: Record<string, string>, errorBody: ErrorBody): WholeAnswer {
  const { status } = error;
  return {
    status,
    headers: {
      'Content-Type': 'application/json',
      ...(status === 503 && { 'Retry-After': String(RETRY_AFTER_SECONDS) }),
      ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
      ...headers,
    },
    body: JSON.stringify(errorBody(error)),
  };
}

/** The answer after an exception: storage is briefly unavailable, or the service has a fault. */
export function brokenAnswer(error: unknown): WholeAnswer {
  return refusalAnswer(thrownRefusal(error));
}
