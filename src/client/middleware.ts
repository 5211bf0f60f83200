/**
 * What the middlewares for Express and Hono share: their options, which responses count as failed, and the response to
 * a denied call.
 *
 * If the call cannot be begun, the handler does not run: the framework's error handler gets the `CallmeterError`.
 */
import type { CallFailure } from './call.ts';
import type { Client } from './client.ts';
import type { BeginCallInput } from './wire.ts';

/** Options of a middleware. `onDenied` replaces the default response to a denied call, a 403. */
export interface CallMiddlewareOptions<Request, Denied> {
  callmeter: Pick<Client, 'startCall'>;
  /** The input of `call_begin` for this request. `null` skips metering. */
  begin: (request: Request) => BeginCallInput | null | Promise<BeginCallInput | null>;
  onDenied?: Denied | undefined;
}

export const DENIED_STATUS = 403;

/** The same error as the gateway's. */
export const DENIED_BODY = { error: { code: 'ENTITLEMENT_DENIED', message: 'The plan does not allow this call.' } };

export const DISCONNECTED: CallFailure = {
  code: 'CLIENT_DISCONNECTED',
  message: 'the client disconnected before the response was complete',
};

/** A status of 500 or above makes the call FAILED. An error of the client (4xx) does not. */
export function failureOf(status: number): CallFailure | null {
  return status >= 500 ? { code: `HTTP_${status}`, message: 'the request failed' } : null;
}
