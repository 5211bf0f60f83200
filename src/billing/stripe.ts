/**
 * Tells Stripe of a settled charge, as one billing meter event, and says what became of that attempt.
 *
 * The event's identifier is the charge's id, and Stripe refuses a second event with it: a repeated report bills once.
 * Stripe promises that for 24 hours; after that, a report whose outcome is unknown must not be repeated unseen. Keeping
 * the charge, waiting and trying again are the caller's.
 */

import type { Stripe } from 'stripe';
import type { NanoUsd } from '../domain/money.ts';
import { HOUR_MS } from '../platform/time.ts';

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
  | { status: 'RETRY'; reason: string; retryAfterMs: number | null };

/** For one request, to the last byte of its answer. A report takes two requests at most. */
export const REQUEST_TIMEOUT_MS = 10_000;
/** A longer `Retry-After` is cut to this. */
export const RETRY_AFTER_MS_MAX = HOUR_MS;

/**
 * The version that the package's types describe: an upgrade of the package does not compile until this line is looked
 * at.
 */
const API_VERSION = '2026-10-28.endive';

/**
 * Not the charge's fault: a key to be put right (401, 403), a wait (408, 429), or another event of the same customer
 * (409).
 */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([401, 403, 408, 409, 429]);
/** Stripe has also sent these with status 400. */
const TRANSIENT_CODES: ReadonlySet<string> = new Set(['rate_limit', 'lock_timeout']);

/** An answer that is not a recorded event, or none at all. */
interface Failure {
  /** Stripe's own verdict; `null` where nobody answered, or somebody else did. */
  verdict: { status: number; code: string | null } | null;
  reason: string;
  retryAfterMs: number | null;
  /** Stripe repeated what it answered to an earlier request with the same idempotency key. */
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
  // Stripe keeps the first answer to a key for a day, a 500 too. A repeated failure says nothing of today, so it is
  // asked again under a key of its own; the identifier still forbids a second event.
  if (failure?.replayed) failure = await createMeterEvent(stripe, event, `${charge.chargeId}.${crypto.randomUUID()}`);
  return failure === null ? { status: 'REPORTED' } : outcomeOf(failure);
}

/** The package is loaded here, at the first charge: a Worker without a key never pays for its start-up. */
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
    // The package takes all JSON without an `error` for a success: also what a proxy says when Stripe is away.
    return statusCode >= 200 && statusCode < 300 ? null : unanswered(`http_${statusCode}`);
  } catch (error) {
    const { StripeError, StripeConnectionError, StripeOAuthError } = stripe.errors;
    if (error instanceof StripeConnectionError) return unanswered(isTimeout(error) ? 'timeout' : 'connection');
    // No JSON, or none of Stripe's shape (the package reads a text as `error` as one of OAuth): a proxy or a gateway
    // spoke.
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
    : { status: 'RETRY', reason: `STRIPE_${reason}`, retryAfterMs };
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
 * What Stripe's error report calls these cases (`v1.billing.meter.error_report_triggered`); the v1 API gives them no
 * code.
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

/** Stripe's codes, types and names are lower-case words. Anything else is none of them, and could be a key. */
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
