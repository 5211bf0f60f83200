/**
 * The delivery of an event to an endpoint: the meaning of an answer, the time of the next attempt, and the time at
 * which the endpoint counts as gone.
 */

import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../platform/time.ts';
import type { OrganizationId } from './ids.ts';

/** A webhook of an organization. */
export interface WebhookKey {
  organizationId: OrganizationId;
  webhookId: string;
}

/** The waits between the first failed attempts. */
const FIRST_WAITS_MS = [5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS];
/** The wait after each later attempt. */
const LATER_WAIT_MS = 6 * HOUR_MS;
/** The latest attempt, as a time after the first one. */
const ATTEMPTED_MS_MAX = 72 * HOUR_MS;
/** An endpoint that failed for this long, without any success, is disabled. */
const FAILING_MS_MAX = 5 * DAY_MS;

export type Outcome = 'delivered' | 'failed' | 'gone';

/** The meaning of an answer; `null` if none arrived. A redirect is not followed, and has not taken the event. */
export function deliveryOutcome(status: number | null): Outcome {
  if (status === 410) return 'gone';
  return status !== null && status >= 200 && status < 300 ? 'delivered' : 'failed';
}

/**
 * The time of an event's next attempt after this many attempts, the last of which failed now; `null` if it is given up.
 */
export function nextAttemptMs(
  attempts: number,
  { firstAttemptMs, nowMs }: { firstAttemptMs: number; nowMs: number },
): number | null {
  const atMs = nowMs + (FIRST_WAITS_MS[attempts - 1] ?? LATER_WAIT_MS);
  return atMs - firstAttemptMs <= ATTEMPTED_MS_MAX ? atMs : null;
}

/**
 * The time since which every request to an endpoint failed, if one failed now: `sinceMs`, unless nothing was sent for
 * longer than attempts are apart. Whether a request would have failed in that time is unknown.
 */
export function failingSince({
  sinceMs,
  lastFailedMs,
  nowMs,
}: {
  sinceMs: number | null;
  lastFailedMs: number | null;
  nowMs: number;
}): number {
  const isGap = lastFailedMs === null || nowMs - lastFailedMs > 2 * LATER_WAIT_MS;
  return sinceMs === null || isGap ? nowMs : sinceMs;
}

/** Whether an endpoint whose requests all failed since then is disabled. */
export function isLost({ failingSinceMs, nowMs }: { failingSinceMs: number; nowMs: number }): boolean {
  return nowMs - failingSinceMs >= FAILING_MS_MAX;
}
