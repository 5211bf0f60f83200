/**
 * `CallDeniedError`: the call is not allowed. The vendor was not called, and nothing is counted.
 *
 * The plan denied it, and the service has a record of the call; or the plan's rolling limit allows no further call for
 * now, and no call exists.
 */
import type { ROLLING_LIMIT } from '../contract/limit-headers.ts';
import type { CallScope } from './call.ts';
import type { CallmeterError } from './errors.ts';
import type { Allowed, Hints } from './wire.ts';

/** The plan denied the call: a later attempt is denied too, until the customer has something left again. */
export interface DeniedByPlan {
  readonly code: null;
  readonly retryable: false;
  readonly retryAfterSeconds: null;
  readonly callId: string;
  readonly allowed: Allowed;
  readonly hints: Hints;
}

/** The plan's rolling limit allows no further call for now. No call was begun, so there is no id, and nothing was decided. */
export interface DeniedForNow {
  readonly code: 'SERVICE_RATE_LIMITED';
  readonly retryable: true;
  /** When the next call may begin. */
  readonly retryAfterSeconds: number;
  readonly callId: null;
  readonly allowed: null;
  readonly hints: null;
}

export class CallDeniedError extends Error {
  override readonly name = 'CallDeniedError';
  readonly code: (DeniedByPlan | DeniedForNow)['code'];
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | null;
  readonly callId: string | null;
  readonly allowed: Allowed | null;
  readonly hints: Hints | null;

  constructor(message: string, denied: DeniedByPlan | DeniedForNow, cause?: CallmeterError) {
    super(message, cause && { cause });
    this.code = denied.code;
    this.retryable = denied.retryable;
    this.retryAfterSeconds = denied.retryAfterSeconds;
    this.callId = denied.callId;
    this.allowed = denied.allowed;
    this.hints = denied.hints;
  }
}

export function deniedByPlan({ callId, allowed, hints }: CallScope, why: string): CallDeniedError {
  return new CallDeniedError(`call ${callId} is not allowed: ${why}`, {
    ...{ code: null, retryable: false, retryAfterSeconds: null },
    ...{ callId, allowed, hints },
  });
}

/** `error.reason` of the service, which no other 429 has. */
const REASON: typeof ROLLING_LIMIT = 'ROLLING_LIMIT';

/** The denial for an error that is a refusal by the plan's rolling limit; `null` for all other errors. */
export function deniedForNow(error: CallmeterError): CallDeniedError | null {
  const { code, details, message } = error;
  if (code !== 'SERVICE_RATE_LIMITED' || details?.reason !== REASON) return null;
  const retryAfterSeconds = Math.max(1, Math.ceil((details.retryAfterMs ?? 0) / 1_000));
  const denied = { code, retryable: true, retryAfterSeconds, callId: null, allowed: null, hints: null } as const;
  return new CallDeniedError(message, denied, error);
}

/** Type guard; `retryable` tells the two kinds apart. Also recognizes errors of another copy of this library. */
export function isCallDeniedError(error: unknown): error is CallDeniedError & (DeniedByPlan | DeniedForNow) {
  return error instanceof Error && error.name === 'CallDeniedError' && 'hints' in error;
}
