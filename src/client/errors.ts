/**
 * `CallmeterError`: everything that can go wrong, as one class with eight codes (contract section 7).
 *
 * The code alone decides whether a retry may help. `details` is the service's error, unchanged. A body that is not from
 * the service is never quoted, because it may contain anything.
 *
 * The error has no member `status` or `statusCode`: web frameworks answer with the status of the error that a handler
 * throws, and a wrong key of the application is not a 401 for its user.
 */

/** Each code, and whether a retry may help. */
const RETRYABLE = {
  SERVICE_AUTH_ERROR: false,
  SERVICE_BAD_REQUEST: false,
  SERVICE_RATE_LIMITED: true,
  SERVICE_SERVER_ERROR: true,
  SERVICE_NETWORK_ERROR: true,
  SERVICE_INVALID_RESPONSE: false,
  SERVICE_END_CALL_ERROR: false,
  SERVICE_BROWSER_RUNTIME: false,
} as const;

export type CallmeterErrorCode = keyof typeof RETRYABLE;

/** The machine-readable members of the service's error. */
export interface ErrorDetails {
  /** The service's error code, such as `CALL_NOT_FOUND`. */
  code?: string;
  message?: string;
  /** Each invalid field and the rule that it violates. */
  details?: { path: string; message: string }[];
  /** The scope that the API key lacks. */
  requiredScope?: string;
  /** The change that helps, if code and message do not state it. It is part of the error's message too. */
  hint?: string;
  /** `ROLLING_LIMIT` if the plan's rolling limit allows no further call for now. */
  reason?: string;
  /** How long to wait before a retry, in milliseconds, as the service asked. */
  retryAfterMs?: number;
  [member: string]: unknown;
}

export interface ErrorContext {
  /** The HTTP status of the service's response, if there was one. */
  responseStatus?: number | undefined;
  correlationId?: string | undefined;
  details?: ErrorDetails | undefined;
  cause?: unknown;
}

export class CallmeterError extends Error {
  override readonly name = 'CallmeterError';
  readonly code: CallmeterErrorCode;
  /** Whether a retry with the same idempotency key may help. */
  readonly retryable: boolean;
  /** The HTTP status of the service's response, if there was one. */
  readonly responseStatus: number | undefined;
  /** Identifies the request in the service's records. */
  readonly correlationId: string | undefined;
  readonly details: ErrorDetails | undefined;

  constructor(code: CallmeterErrorCode, message: string, context: ErrorContext = {}) {
    const { responseStatus, correlationId, details, cause } = context;
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryable = RETRYABLE[code];
    this.responseStatus = responseStatus;
    this.correlationId = correlationId;
    this.details = details;
  }
}

/** Type guard. Also recognizes errors of another copy of this library. */
export function isCallmeterError(error: unknown): error is CallmeterError {
  return (
    error instanceof Error &&
    error.name === 'CallmeterError' &&
    Object.hasOwn(RETRYABLE, (error as CallmeterError).code)
  );
}

/** An error for input that the library rejects before sending anything. */
export function badInput(field: string, rule: string, cause?: unknown): CallmeterError {
  const details = { code: 'BAD_REQUEST', details: [{ path: field, message: rule }] };
  return new CallmeterError('SERVICE_BAD_REQUEST', `${field} ${rule}`, { details, cause });
}
