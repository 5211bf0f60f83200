/**
 * Reports a charge to Stripe as a billing meter event, and classifies the outcome of the attempt.
 *
 * The event's identifier is a charge's id. Stripe rejects a second event with the same identifier, so a repeated
 * report bills once. Stripe guarantees this for 24 hours; after that, a report with an unknown outcome must not be
 * repeated. Storing the charge and retrying are the caller's job.
 */

import type { Stripe } from 'stripe';
import type { NanoUsd } from '../../src/domain/money.ts';
import { HOUR_MS } from '../../src/platform/time.ts';

export interface StripeConfig {
  secretKey: string;
  /** Another origin than Stripe's own, such as `http://127.0.0.1:1234`. */
  apiBase?: string;
  /** The `event_name` of the meter at Stripe. It sums nano-USD, so one unit costs 0.0000001 cents there. */
  eventName: string;
}

export interface SettledCharge {
  /** At most 100 characters (Stripe's bound on identifiers), and never used for another charge. */
  chargeId: string;
  stripeCustomerId: string;
  /** Below zero for a correction: Stripe subtracts it from the usage of its billing period. */
  amountNanoUsd: NanoUsd;
  /** When the charge arose. Stripe takes the past 35 days. */
  atMs: number;
}

/**
 * `reason` is short and stable, such as `STRIPE_resource_missing`; it never holds the key or text that Stripe wrote.
 */
export type ChargeReport =
  | { status: 'REPORTED' }
  | { status: 'REJECTED'; reason: string }
  /** `isNotThere`: Stripe refused the request before it looked at the event, so this attempt recorded nothing. */
  | { status: 'RETRY'; reason: string; retryAfterMs: number | null; isNotThere?: true };

/** The time for one request and its whole response. A report takes at most two requests. */
export const REQUEST_TIMEOUT_MS = 10_000;
/** The longest `Retry-After` that is respected. */
export const RETRY_AFTER_MS_MAX = HOUR_MS;

/**
 * The API version that the package's types describe. An upgrade of the package does not compile until this is checked.
 */
const API_VERSION = '2026-10-28.endive';

/**
 * Errors that do not concern the charge: a wrong key (401, 403), a rate limit or timeout (408, 429), or a concurrent
 * event of the same customer (409).
 */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([401, 403, 408, 409, 429]);
/** Stripe has also sent these with status 400. */
const TRANSIENT_CODES: ReadonlySet<string> = new Set(['rate_limit', 'lock_timeout']);
/** Of these, the ones that come before a request is carried out. */
const NOT_CARRIED_OUT: ReadonlySet<number> = new Set([401, 403, 429]);

/** A failed attempt: an error response, or no response. */
interface Failure {
  /** Stripe's error; `null` where there was no response, or not one of Stripe's. */
  verdict: { status: number; code: string | null } | null;
  reason: string;
  retryAfterMs: number | null;
  /** Stripe replayed its response to an earlier request with the same idempotency key. */
  replayed: boolean;
  /** Stripe has the event from an earlier attempt. */
  duplicate: boolean;
}

export async function reportCharge(config: StripeConfig, charge: SettledCharge): Promise<ChargeReport> {
  const stripe = await connect(config);
  const event: Stripe.Billing.MeterEventCreateParams = {
    event_name: config.eventName,
    payload: { stripe_customer_id: charge.stripeCustomerId, value: charge.amountNanoUsd.toString() },
    identifier: charge.chargeId,
    timestamp: Math.floor(charge.atMs / 1000),
  };
  let failure = await createMeterEvent(stripe, event, charge.chargeId);
  // Stripe replays the first response to a key for a day, also a 500. A replayed failure is retried under a new key;
  // the identifier still prevents a second event.
  if (failure?.replayed) failure = await createMeterEvent(stripe, event, `${charge.chargeId}.${crypto.randomUUID()}`);
  return failure === null ? { status: 'REPORTED' } : outcomeOf(failure);
}

/** Loads the package at the first charge, so that a Worker without a key never pays for its start-up. */
async function connect({ secretKey, apiBase }: StripeConfig): Promise<Stripe> {
  const { Stripe } = await import('stripe');
  return new Stripe(secretKey, {
    apiVersion: API_VERSION,
    httpClient: Stripe.createFetchHttpClient(),
    maxNetworkRetries: 0,
    timeout: REQUEST_TIMEOUT_MS,
    telemetry: false,
    ...(apiBase === undefined ? {} : originOf(apiBase)),
  });
}

function originOf(apiBase: string): Pick<Stripe.StripeConfig, 'host' | 'port' | 'protocol'> {
  const { hostname, port, protocol } = new URL(apiBase);
  const secure = protocol === 'https:';
  return { host: hostname, port: port || (secure ? 443 : 80), protocol: secure ? 'https' : 'http' };
}

/** `null` where Stripe recorded the event, now or at an earlier request with this key. */
async function createMeterEvent(
  stripe: Stripe,
  event: Stripe.Billing.MeterEventCreateParams,
  idempotencyKey: string,
): Promise<Failure | null> {
  try {
    const { statusCode } = (await stripe.billing.meterEvents.create(event, { idempotencyKey })).lastResponse;
    // The package treats all JSON without an `error` as a success, also that of a proxy in front of Stripe.
    return statusCode >= 200 && statusCode < 300 ? null : unanswered(`http_${statusCode}`);
  } catch (error) {
    const { StripeError, StripeConnectionError, StripeOAuthError } = stripe.errors;
    if (error instanceof StripeConnectionError) return unanswered(isTimeout(error) ? 'timeout' : 'connection');
    // Not JSON, or not Stripe's shape (the package reads a text in `error` as an OAuth error): the response of a proxy.
    if (!(error instanceof StripeError) || error.statusCode === undefined) return unanswered('invalid_answer');
    if (error instanceof StripeOAuthError) return unanswered(`http_${error.statusCode}`);
    return refused(error, error.statusCode);
  }
}

const unanswered = (reason: string): Failure => ({
  verdict: null,
  reason,
  retryAfterMs: null,
  replayed: false,
  duplicate: false,
});

function refused(error: Stripe.errors.StripeError, status: number): Failure {
  return {
    verdict: { status, code: error.code ?? null },
    reason: reasonOf(error, status),
    retryAfterMs: retryAfterMs(error.headers?.['retry-after']),
    replayed: error.headers?.['idempotent-replayed'] === 'true',
    duplicate: isDuplicate(error),
  };
}

function outcomeOf({ verdict, reason, retryAfterMs, duplicate }: Failure): ChargeReport {
  if (duplicate) return { status: 'REPORTED' };
  const final =
    verdict !== null &&
    verdict.status >= 400 &&
    verdict.status < 500 &&
    !TRANSIENT_STATUSES.has(verdict.status) &&
    !TRANSIENT_CODES.has(verdict.code ?? '');
  return final
    ? { status: 'REJECTED', reason: `STRIPE_${reason}` }
    : {
        status: 'RETRY',
        reason: `STRIPE_${reason}`,
        retryAfterMs,
        ...(verdict !== null && NOT_CARRIED_OUT.has(verdict.status) && { isNotThere: true as const }),
      };
}

/**
 * The v1 API answers a used identifier with 400 `invalid_request_error`, no code, and the message "An event already
 * exists with identifier ..."; the v2 API has the code `duplicate_meter_event` for it.
 */
function isDuplicate({ statusCode, code, message }: Stripe.errors.StripeError): boolean {
  return (
    statusCode === 400 &&
    (code === 'duplicate_meter_event' || /^An event already exists with identifier\b/.test(message))
  );
}

/**
 * The names of these cases in Stripe's error report (`v1.billing.meter.error_report_triggered`); the v1 API has no
 * codes for them.
 */
const CODE_OF_MESSAGE: readonly (readonly [RegExp, string])[] = [
  [/^No active meter found\b/, 'no_meter'],
  [/^The event timestamp cannot be more than \d+ days in (the )?past\b/, 'timestamp_too_far_in_past'],
  [/^The event timestamp cannot be more than .{1,40} in the future\b/, 'timestamp_in_future'],
  [/^The value in the event payload can have at most \d+ digits\b/, 'meter_event_value_too_many_digits'],
];

function reasonOf({ code, param, rawType, message }: Stripe.errors.StripeError, status: number): string {
  const known = word(code) ?? CODE_OF_MESSAGE.find(([pattern]) => pattern.test(message))?.[1];
  if (known !== undefined) return known;
  const name = word(String(param ?? '').replace(/^payload\[(.*)\]$/, '$1'));
  return name === undefined ? `${word(rawType) ?? 'http'}_${status}` : `invalid_${name}`;
}

/** Stripe's codes, types and names are lower-case words. Anything else could be a secret. */
function word(text: unknown): string | undefined {
  return typeof text === 'string' && /^(?![sr]k_)[a-z][a-z_]{0,59}$/.test(text) ? text : undefined;
}

/** The header in seconds, as Stripe sends it; `null` where it is anything else. */
function retryAfterMs(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Math.min(Number(header) * 1000, RETRY_AFTER_MS_MAX) : null;
}

function isTimeout({ detail }: Stripe.errors.StripeConnectionError): boolean {
  return detail instanceof Error && 'code' in detail && detail.code === 'ETIMEDOUT';
}
