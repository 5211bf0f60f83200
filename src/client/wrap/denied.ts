/**
 * `CallDeniedError`: the call is not allowed. The vendor was not called, and nothing is counted.
 */
import type { CallScope } from '../call.ts';
import type { Allowed, Hints } from '../wire.ts';

export class CallDeniedError extends Error {
  override readonly name = 'CallDeniedError';
  readonly callId: string;
  readonly allowed: Allowed;
  readonly hints: Hints;

  constructor({ callId, allowed, hints }: CallScope, why: string) {
    super(`call ${callId} is not allowed: ${why}`);
    this.callId = callId;
    this.allowed = allowed;
    this.hints = hints;
  }
}

/** Type guard. Also recognizes errors of another copy of this library. */
export function isCallDeniedError(error: unknown): error is CallDeniedError {
  return error instanceof Error && error.name === 'CallDeniedError' && 'hints' in error;
}
