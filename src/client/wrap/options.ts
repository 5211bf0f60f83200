/**
 * Options of every wrapper: the customer whose calls the requests are, or the call to which they belong.
 */
import type { CallScope } from '../call.ts';
import type { Client } from '../client.ts';
import type { BeginCallInput } from '../wire.ts';

export interface Downgraded {
  call: CallScope;
  /** The service's reason, if it gave one, such as `PREMIUM_QUOTA_EXHAUSTED`. */
  reason: string | undefined;
  /** The model that is not allowed. */
  model: string;
  /** The model that runs instead; `null` if none was given. */
  fallback: string | null;
}

export interface MeterHooks {
  /**
   * Called if premium was wanted and only standard is allowed. May return the model to run instead. If there is no
   * standard model, the request throws `CallDeniedError`.
   */
  onDowngrade?: ((downgraded: Downgraded) => string | undefined | Promise<string | undefined>) | undefined;
  /** Keeps the runtime alive until a report is sent, as on Workers. Without it, a response waits for its report. */
  waitUntil?: ((reported: Promise<void>) => void) | undefined;
}

/** Each request to the vendor is its own call. */
export interface MeterEach extends MeterHooks, Omit<BeginCallInput, 'idempotencyKey'> {
  callmeter: Pick<Client, 'startCall'>;
}

/** All requests add their usage to one call, which the code that began it must end. */
export interface MeterInto extends MeterHooks {
  call: CallScope;
}

export type MeterOptions = MeterEach | MeterInto;
