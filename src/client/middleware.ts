/**
 * What the middlewares share: whose call a request is, when it has failed, and how a denial is answered.
 */
import type { CallFailure } from './call.ts';
import type { Client } from './client.ts';
import type { BeginCallInput } from './wire.ts';

/** `Denied` answers where the call is not allowed, instead of a 403. */
export interface CallMiddlewareOptions<Request, Denied> {
  callmeter: Pick<Client, 'startCall'>;
  /** Whose call the request is. `null` lets the request pass without one. */
  begin: (request: Request) => BeginCallInput | null | Promise<BeginCallInput | null>;
  onDenied?: Denied | undefined;
}

export const DENIED_STATUS = 403;

/** As the gateway says it. */
export const DENIED_BODY = { error: { code: 'ENTITLEMENT_DENIED', message: 'The plan does not allow this call.' } };

export const DISCONNECTED: CallFailure = {
  code: 'CLIENT_DISCONNECTED',
  message: 'the client left before the response was complete',
};

/** A response's status tells whether its request failed; what a client did wrong is no failure of the call. */
export function failureOf(status: number): CallFailure | null {
  return status >= 500 ? { code: `HTTP_${status}`, message: 'the request failed' } : null;
}
