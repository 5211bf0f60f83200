/**
 * What every wrapper is told: whose calls these are, or which call they belong to.
 */
import type { CallScope } from '../call.ts';
import type { Client } from '../client.ts';
import type { BeginCallInput } from '../wire.ts';

export interface Downgraded {
  call: CallScope;
  /** Why, where the service said it: `PREMIUM_QUOTA_EXHAUSTED`. */
  reason: string | undefined;
  /** The model that may not run. */
  model: string;
  /** The model that runs instead; `null` where none was named. */
  fallback: string | null;
}

export interface MeterHooks {
  /**
   * Premium was wanted and only standard is allowed. May name the model to run instead; a request whose one model may
   * not run, and for which none is named, is refused with `CallDeniedError`.
   */
  onDowngrade?: ((downgraded: Downgraded) => string | undefined | Promise<string | undefined>) | undefined;
  /** Keeps the runtime alive until a report is made, as on Workers; without it, an answer waits for its report. */
  waitUntil?: ((reported: Promise<void>) => void) | undefined;
}

/** Each request to the vendor is a call of its own. */
export interface MeterEach extends MeterHooks, Omit<BeginCallInput, 'idempotencyKey'> {
  callmeter: Pick<Client, 'startCall'>;
}

/** The requests add their usage to one call, which whoever began it ends. */
export interface MeterInto extends MeterHooks {
  call: CallScope;
}

export type MeterOptions = MeterEach | MeterInto;
