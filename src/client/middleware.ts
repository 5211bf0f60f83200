/**
 * The parts that the middlewares for Express and Hono share: their options, the responses that count as failed, and the
 * response to a denied call.
 *
 * If the call cannot be begun, the handler does not run: the framework's error handler gets the `CallmeterError`.
 */
import type { CallFailure, CallScope } from './call.ts';
import type { Client } from './client.ts';
import { type CallDeniedError, type DeniedForNow, isCallDeniedError } from './denied.ts';
import type { BeginCallInput } from './wire.ts';

/**
 * The argument of `onDenied`: the call that the plan denied, or the error that its rolling limit allows none for now.
 */
export type Denied = CallScope | (CallDeniedError & DeniedForNow);

/**
 * Options of a middleware. `onDenied` replaces the default responses: a 403 to a denied call, and a 429 with `Retry-After`
 * while the plan's rolling limit allows no further call.
 */
export interface CallMiddlewareOptions<Request, OnDenied> {
  callmeter: Pick<Client, 'startCall'>;
  /** The input of `call_begin` for this request. `null` skips metering. */
  begin: (request: Request) => BeginCallInput | null | Promise<BeginCallInput | null>;
  onDenied?: OnDenied | undefined;
}

/** The default response to a denial. The bodies are the gateway's errors. */
export function deniedAnswer(denied: Denied): { status: number; headers: Record<string, string>; body: object } {
  if (!(denied instanceof Error)) {
    const error = { code: 'ENTITLEMENT_DENIED', message: 'The plan does not allow this call.' };
    return { status: 403, headers: {}, body: { error } };
  }
  const error = { code: 'RATE_LIMITED', message: 'The plan allows no further call for now.' };
  return { status: 429, headers: { 'Retry-After': String(denied.retryAfterSeconds) }, body: { error } };
}

/** Begins the call of a request. `denied` if it may not run. */
export async function beginFor(
  callmeter: Pick<Client, 'startCall'>,
  input: BeginCallInput,
): Promise<{ denied: Denied } | { denied: null; call: CallScope }> {
  try {
    const call = await callmeter.startCall(input);
    return call.denied ? { denied: call } : { denied: null, call };
  } catch (error) {
    if (isCallDeniedError(error) && error.retryable) return { denied: error };
    throw error;
  }
}

export const DISCONNECTED: CallFailure = {
  code: 'CLIENT_DISCONNECTED',
  message: 'the client disconnected before the response was complete',
};

/** A status of 500 or above makes the call FAILED. An error of the client (4xx) does not. */
export function failureFromStatus(status: number): CallFailure | null {
  return status >= 500 ? { code: `HTTP_${status}`, message: 'the request failed' } : null;
}
