/**
 * How the gateway's errors look on the wire: in OpenAI's envelope.
 *
 * `GATEWAY_ERRORS` has one entry for each code; a new code does not compile without one. OpenAI's SDK repeats requests
 * that were answered with 408, 409, 429 and 5xx. Where a repetition cannot help, the answer says so in
 * `x-should-retry`.
 */
import { ERROR_STATUS, type ErrorCode, type Refusal } from '../contract/errors.ts';
import { GATEWAY_HEADERS } from '../contract/gateway.ts';
import type { GatewayAnswer } from './answer.ts';

/** Codes that only the gateway answers with, beside those of the metering interface. */
type OwnCode =
  | 'ENDPOINT_NOT_OFFERED'
  | 'ENTITLEMENT_DENIED'
  | 'MODEL_NOT_ALLOWED'
  | 'VENDOR_ANSWER_BROKEN'
  | 'VENDOR_KEY_UNREADABLE'
  | 'VENDOR_NOT_CONFIGURED'
  | 'VENDOR_TIMEOUT'
  | 'VENDOR_UNREACHABLE'
  | 'model_not_found';

export type GatewayErrorCode = ErrorCode | OwnCode;

/** A refusal of the gateway. */
export interface GatewayRefusal extends Refusal<GatewayErrorCode> {
  /** The field that is wrong; without it, the first of `members.details`. */
  param?: string;
  /** Whether a repetition may help, where the code does not decide it. */
  retry?: boolean;
}

/** A refusal with one of the gateway's codes; `refuse` of the contract makes those with the others. */
export function refuseCall(
  code: GatewayErrorCode,
  message: string,
  more: Omit<GatewayRefusal, 'code' | 'message'> = {},
): { ok: false; refusal: GatewayRefusal } {
  return { ok: false, refusal: { code, message, ...more } };
}

interface WireError {
  status: number;
  /** Where the wire's code is another one. */
  code?: string;
  /** Where OpenAI's word for the kind of error is not the usual one for the status. */
  type?: string;
  retry?: boolean;
}

export const OWN_ERRORS: Record<OwnCode, WireError> = {
  ENDPOINT_NOT_OFFERED: { status: 400 },
  // The customer's plan does not allow the call: no rate limit, so a repetition cannot help.
  ENTITLEMENT_DENIED: { status: 403, type: 'insufficient_quota', retry: false },
  MODEL_NOT_ALLOWED: { status: 403 },
  VENDOR_ANSWER_BROKEN: { status: 502 },
  VENDOR_KEY_UNREADABLE: { status: 502, code: 'VENDOR_NOT_CONFIGURED', retry: false },
  VENDOR_NOT_CONFIGURED: { status: 400 },
  VENDOR_TIMEOUT: { status: 504 },
  VENDOR_UNREACHABLE: { status: 502 },
  // OpenAI's own code, which its SDKs know.
  model_not_found: { status: 404 },
};

/** A repetition would be refused for the same reason. */
const FINAL = [
  'CALL_ALREADY_FINALIZED',
  'CONFLICT',
  'IDEMPOTENCY_KEY_CONFLICT',
  'MODEL_NOT_PRICED',
] satisfies ErrorCode[];

const METERING_ERRORS = Object.fromEntries(
  Object.entries(ERROR_STATUS).map(([code, status]) => [
    code,
    { status, ...((FINAL as string[]).includes(code) && { retry: false }) },
  ]),
) as Record<ErrorCode, WireError>;

const GATEWAY_ERRORS: Record<GatewayErrorCode, WireError> = { ...METERING_ERRORS, ...OWN_ERRORS };

/** When it is not known how long to wait. */
const RETRY_AFTER_SECONDS = 1;

/** The answer that a refusal becomes. */
export function refusalAnswer(refusal: GatewayRefusal, headers: Record<string, string> = {}): GatewayAnswer {
  const { code, message, members, param = members?.details?.[0]?.path ?? null } = refusal;
  const { status, code: wireCode = code, type = typeOf(status), ...wire } = GATEWAY_ERRORS[code];
  const retry = refusal.retry ?? wire.retry;
  const retryAfter = refusal.retryAfterSeconds ?? (status === 503 ? RETRY_AFTER_SECONDS : undefined);
  const requiredScope = members?.requiredScope;
  const error = { message, type, code: wireCode, param, ...(requiredScope !== undefined && { requiredScope }) };
  return {
    status,
    headers: {
      'Content-Type': 'application/json',
      ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
      ...(retry !== undefined && { [GATEWAY_HEADERS.shouldRetry]: String(retry) }),
      ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
      ...headers,
    },
    body: JSON.stringify({ error }),
  };
}

/** An error of the vendor's, in the vendor's own words; `headers` say when it may be asked again. */
export function vendorErrorAnswer(
  { status, ...error }: { status: number; message: string; type: string; code: string | null; param: string | null },
  headers: Record<string, string>,
): GatewayAnswer {
  const { message, type, code, param } = error;
  const retryAfter = status === 503 && { 'Retry-After': String(RETRY_AFTER_SECONDS) };
  const challenge = status === 401 && { 'WWW-Authenticate': 'Bearer' };
  return {
    status,
    headers: { 'Content-Type': 'application/json', ...retryAfter, ...challenge, ...headers },
    body: JSON.stringify({ error: { message, type, code, param } }),
  };
}

/** OpenAI's word for the kind of an error. */
export function typeOf(status: number): string {
  if (status === 401) return 'invalid_api_key';
  if (status === 403) return 'insufficient_permissions';
  if (status === 429) return 'rate_limit_exceeded';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}
