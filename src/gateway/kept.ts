/**
 * What is kept of a call for retries under its key, and how it is told again.
 *
 * Larger answers are not kept, and neither are streams that broke off: a retry of those is refused, because asking the
 * vendor again would be a second call.
 */

import { REPLAY_HEADER } from '../contract/envelope.ts';
import { GATEWAY_HEADERS } from '../contract/gateway.ts';
import type { CallStatus } from '../domain/call.ts';
import { formatUsd, type NanoUsd } from '../domain/money.ts';
import type { KeptAnswer } from '../objects/customer-commands.ts';
import { failureAnswer, type GatewayAnswer } from './answer.ts';
import { replayed, usageTransform } from './stream.ts';

/** Of an answer, so that the customer's object is not held up by what few retries ask for. */
export const KEPT_BYTES_MAX = 2 * 1024 * 1024;
/** While the first request is on its way, a retry is asked to come back after this. */
const IN_FLIGHT_RETRY_SECONDS = 2;

/** Plain JSON, beside the end of the call. */
export interface Kept {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** The body is the vendor's stream, as it came; `hidden` and `shown` say what is to be done with its usage. */
  stream?: 'hidden' | 'shown' | 'plain';
}

/** What is to be kept of a whole answer; `undefined` where it is too large. */
export function keepAnswer({ status, headers, body }: GatewayAnswer): Kept | undefined {
  return typeof body === 'string' && isWithin(body, KEPT_BYTES_MAX) ? { status, headers, body } : undefined;
}

/** Whether the text has at most so many bytes. It is encoded only where its length does not say. */
function isWithin(text: string, bytesMax: number): boolean {
  if (text.length > bytesMax) return false;
  return text.length * 3 <= bytesMax || new TextEncoder().encode(text).length <= bytesMax;
}

export function tellAgain({ keep, end }: KeptAnswer): GatewayAnswer {
  const { status, headers, body, stream } = keep as Kept;
  const known = { ...headers, [REPLAY_HEADER]: 'true' };
  if (stream === undefined)
    return {
      status,
      headers: { ...known, ...costHeader(end.costUsdNano === undefined ? null : BigInt(end.costUsdNano), status) },
      body,
    };
  const cost = async () => (end.pricingStatus === 'FINAL' ? end.costUSD : null);
  const transform = stream === 'plain' ? undefined : usageTransform(stream === 'shown', cost);
  return { status, headers: known, body: replayed(body, transform) };
}

/** A retry of a call without a kept answer: it is still under way, or nobody can tell it again. */
export function notKept(status: CallStatus | null, headers: Record<string, string>): GatewayAnswer {
  if (status === 'IN_PROGRESS') {
    const retryAfterSeconds = IN_FLIGHT_RETRY_SECONDS;
    return failureAnswer(
      { status: 409, code: 'CALL_IN_FLIGHT', message: 'the call is still under way', retryAfterSeconds, retry: true },
      headers,
    );
  }
  const message = `the call is ${status}, and its answer was not kept: it was larger than ${KEPT_BYTES_MAX} bytes, or it broke off; use a new key`;
  return failureAnswer({ status: 409, code: 'CALL_ALREADY_FINALIZED', message, retry: false }, headers);
}

/** What a plain answer cost, exact, where that is known. */
export function costHeader(costNanoUsd: NanoUsd | null, status: number): Record<string, string> {
  return costNanoUsd === null || status >= 400 ? {} : { [GATEWAY_HEADERS.costUsd]: formatUsd(costNanoUsd) };
}
