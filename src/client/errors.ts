/**
 * What can go wrong, as one class with eight codes (contract section 7).
 *
 * The code decides alone whether another try may help. What the service said is in `details`, as it came; the text of
 * an answer that is not the service's is never repeated, because nobody knows what is in it.
 */

/** The codes, and whether another try may help. */
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

/** The machine-readable members of the service's refusal. */
export interface ErrorDetails {
  /** The service's own code, as in `CALL_NOT_FOUND`. */
  code?: string;
  message?: string;
  /** Each field with the rule that it broke. */
  details?: { path: string; message: string }[];
  /** The scope that the key lacks. */
  requiredScope?: string;
  /** How long the service asked to wait. */
  retryAfterMs?: number;
  [member: string]: unknown;
}

export interface ErrorContext {
  /** The HTTP status, where there was an answer. */
  status?: number | undefined;
  correlationId?: string | undefined;
  details?: ErrorDetails | undefined;
  cause?: unknown;
}

export class CallmeterError extends Error {
  override readonly name = 'CallmeterError';
  readonly code: CallmeterErrorCode;
  /** Another try with the same idempotency key may help. */
  readonly retryable: boolean;
  readonly status: number | undefined;
  /** Ties the request to the service's records. */
  readonly correlationId: string | undefined;
  readonly details: ErrorDetails | undefined;

  constructor(code: CallmeterErrorCode, message: string, { status, correlationId, details, cause }: ErrorContext = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryable = RETRYABLE[code];
    this.status = status;
    this.correlationId = correlationId;
    this.details = details;
  }
}

/** Also true for an error of another copy of this library. */
export function isCallmeterError(error: unknown): error is CallmeterError {
  return (
    error instanceof Error &&
    error.name === 'CallmeterError' &&
    Object.hasOwn(RETRYABLE, (error as CallmeterError).code)
  );
}

/** What the library refuses by itself, before anything is sent. */
export function badInput(field: string, rule: string, cause?: unknown): CallmeterError {
  const details = { code: 'BAD_REQUEST', details: [{ path: field, message: rule }] };
  return new CallmeterError('SERVICE_BAD_REQUEST', `${field} ${rule}`, { details, cause });
}
