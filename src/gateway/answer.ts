/**
 * What the gateway answers, and its failures in OpenAI's envelope.
 *
 * OpenAI's SDK sends 408, 409, 429 and 5xx again by itself. Where that cannot help, the answer says so in
 * `x-should-retry`.
 */
import { ERROR_STATUS, type ErrorCode, type Refusal, refuse } from '../contract/errors.ts';
import { GATEWAY_HEADERS } from '../contract/gateway.ts';
import { unavailableReason } from '../platform/unavailable.ts';

export interface GatewayAnswer {
  status: number;
  headers: Record<string, string>;
  body: string | ReadableStream<Uint8Array>;
}

export interface Failure {
  status: number;
  /** Where it is not the usual word for the status. */
  type?: string;
  code: string | null;
  message: string;
  param?: string | null;
  requiredScope?: string;
  retryAfterSeconds?: number | undefined;
  /** Whether sending the same again may help; absent where the status says it all. */
  retry?: boolean;
}

/** When it is not known how long to wait. */
const RETRY_AFTER_SECONDS = 1;
/** Sent again, the request would meet the same refusal. */
const FINAL = new Set<ErrorCode>([
  'CALL_ALREADY_FINALIZED',
  'CONFLICT',
  'IDEMPOTENCY_KEY_CONFLICT',
  'MODEL_NOT_PRICED',
]);

export function failureAnswer(failure: Failure, headers: Record<string, string> = {}): GatewayAnswer {
  const { status, code, message, param = null, requiredScope, retry } = failure;
  const retryAfter = failure.retryAfterSeconds ?? (status === 503 ? RETRY_AFTER_SECONDS : undefined);
  return {
    status,
    headers: {
      'Content-Type': 'application/json',
      ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
      ...(retry !== undefined && { [GATEWAY_HEADERS.shouldRetry]: String(retry) }),
      ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
      ...headers,
    },
    body: JSON.stringify({
      error: {
        message,
        type: failure.type ?? typeOf(status),
        code,
        param,
        ...(requiredScope !== undefined && { requiredScope }),
      },
    }),
  };
}

/** A refusal of the metering interface, in OpenAI's envelope. */
export function refusalAnswer({ code, message, members, retryAfterSeconds }: Refusal): GatewayAnswer {
  const [detail] = (members?.details as { path: string }[] | undefined) ?? [];
  const { requiredScope } = (members ?? {}) as { requiredScope?: string };
  return failureAnswer({
    status: ERROR_STATUS[code],
    code,
    message,
    retryAfterSeconds,
    ...(detail && { param: detail.path }),
    ...(requiredScope !== undefined && { requiredScope }),
    ...(FINAL.has(code) && { retry: false }),
  });
}

/** No valid credential, or too often none: then too it is not worth sending again, however long one waits. */
export function unauthenticatedAnswer(refusal: Refusal): GatewayAnswer {
  const { status, headers, body } = refusalAnswer(refusal);
  return { status, headers: { ...headers, ...(status === 429 && { [GATEWAY_HEADERS.shouldRetry]: 'false' }) }, body };
}

/** The customer's plan does not allow it: not a rate limit, so not to be sent again. */
export function deniedAnswer(message: string, headers: Record<string, string> = {}): GatewayAnswer {
  return failureAnswer(
    { status: 403, type: 'insufficient_quota', code: 'ENTITLEMENT_DENIED', message, retry: false },
    headers,
  );
}

/** What was thrown: storage that is away for the moment, or a fault of ours. */
export function brokenAnswer(error: unknown): GatewayAnswer {
  const reason = unavailableReason(error);
  if (reason !== null) return refusalAnswer(refuse('SERVICE_UNAVAILABLE', reason).refusal);
  return refusalAnswer(
    refuse('INTERNAL_ERROR', 'something went wrong on our side; the request may be sent again').refusal,
  );
}

/** OpenAI's word for the kind of an error. */
export function typeOf(status: number): string {
  if (status === 401) return 'invalid_api_key';
  if (status === 403) return 'insufficient_permissions';
  if (status === 429) return 'rate_limit_exceeded';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}
