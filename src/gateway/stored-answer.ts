/**
 * The answers of calls with an idempotency key: the stored form, and the answer to a retry.
 *
 * An answer over the bound is not stored, and neither is a stream that broke off or was stopped. A retry of such a call
 * is refused, because asking the vendor again would be a second call.
 */

import { REPLAY_HEADER } from '../contract/envelope.ts';
import { GATEWAY_HEADERS } from '../contract/gateway/labels.ts';
import type { CallStatus } from '../domain/call.ts';
import { formatUsd, type NanoUsd } from '../domain/money.ts';
import { kindNamed, type VendorKind } from '../domain/vendor-kind.ts';
import type { StoredServiceCall } from '../objects/customer-commands.ts';
import { fromBase64 } from '../platform/base64.ts';
import { meterStream, type Transform } from '../vendors/tee.ts';
import type { GatewayAnswer } from './answer.ts';
import { type Dialect, formAt, type ModelRequest } from './dialects/dialect.ts';
import { type Refused, refuseCall } from './error-envelope.ts';

/** The largest answer that is stored: few retries ask for it, and the customer's object must not be held up. */
export const STORED_BYTES_MAX = 2 * 1024 * 1024;
/** The same bound for an answer that is stored as base64. */
export const STORED_BINARY_BYTES_MAX = (STORED_BYTES_MAX / 4) * 3;
/** A retry that arrives while the first request is in progress is told to come back after this time. */
const IN_FLIGHT_RETRY_SECONDS = 2;

/** Plain JSON, stored with the end of the call. */
export interface StoredAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** The body is base64 of bytes that need not be text. */
  isBase64?: true;
  /** The body is the vendor's stream, before the dialect's transform. */
  isStream?: true;
  /** Whether the dialect's transform adds the usage to a stream. */
  addsUsage?: boolean;
  kind?: VendorKind;
  /** The vendor's name instead of its kind, in an answer that an older version stored. */
  provider?: string;
}

/** The stored form of a whole answer; `undefined` if it is too large. */
export function storableAnswer({ status, headers, body }: GatewayAnswer): StoredAnswer | undefined {
  return typeof body === 'string' && fits(body, STORED_BYTES_MAX) ? { status, headers, body } : undefined;
}

/** Whether the text has at most so many bytes. It is encoded only if its length does not decide. */
function fits(text: string, bytesMax: number): boolean {
  if (text.length > bytesMax) return false;
  return text.length * 3 <= bytesMax || new TextEncoder().encode(text).length <= bytesMax;
}

/** Replays the answer of the first request. */
export function replayedAnswer(
  { response, end }: StoredServiceCall,
  dialect: Dialect,
  request: ModelRequest,
): GatewayAnswer {
  const { status, headers, body, isBase64, isStream, addsUsage = true, provider = '', kind } = response as StoredAnswer;
  const replayed = { ...headers, [REPLAY_HEADER]: 'true' };
  if (!isStream) {
    const costNanoUsd = end.costUsdNano === undefined ? null : BigInt(end.costUsdNano);
    return {
      status,
      headers: { ...replayed, ...costHeader(costNanoUsd, status) },
      body: isBase64 ? fromBase64(body) : body,
    };
  }
  const cost = async () => (end.pricingStatus === 'FINAL' ? end.costUSD : null);
  const transform = formAt(dialect, kind ?? kindNamed(provider)).streamTransform(request, cost, addsUsage);
  return { status, headers: replayed, body: replayedStream(body, transform) };
}

function replayedStream(text: string, transform: Transform | undefined): ReadableStream<Uint8Array> {
  const body = new Blob([text]).stream() as unknown as ReadableStream<Uint8Array>;
  const bounds = { idleTimeoutMs: 60_000, drainMsMax: 1, bytesMax: 0 };
  return meterStream(body.getReader(), { ...bounds, ...(transform && { transform }), onEnd: () => undefined });
}

/** The refusal of a retry whose call has no stored answer: it is still in progress, or its answer was not stored. */
export function refuseReplay(status: CallStatus, headers: Record<string, string>): Refused {
  if (status === 'IN_PROGRESS') {
    const retryAfterSeconds = IN_FLIGHT_RETRY_SECONDS;
    return refuseCall('CALL_IN_FLIGHT', 'the first request of this call is still running', {
      retryAfterSeconds,
      retry: true,
      headers,
    });
  }
  const message = `the call is ${status}, and its answer was not stored: it was larger than ${STORED_BYTES_MAX} bytes, or it broke off or was stopped; use a new key`;
  return refuseCall('CALL_ALREADY_FINALIZED', message, { headers });
}

/** The exact cost of an answer that is not a stream; no header if the cost is not known. */
export function costHeader(costNanoUsd: NanoUsd | null, status: number): Record<string, string> {
  return costNanoUsd === null || status >= 400 ? {} : { [GATEWAY_HEADERS.costUsd]: formatUsd(costNanoUsd) };
}
