/**
 * The delivery of an event to an endpoint: what an answer means, when the next attempt is due, and when the endpoint counts
 * as gone.
 */

import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../platform/time.ts';
import type { OrganizationId } from './ids.ts';

/** A webhook of an organization. */
export interface WebhookKey {
  organizationId: OrganizationId;
  webhookId: string;
}

/** Waits after the first attempts that failed, each from one to the next. */
const FIRST_WAITS_MS = [5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS];
/** The wait after each attempt that follows them. */
const LATER_WAIT_MS = 6 * HOUR_MS;
/** No attempt is made later than this after the first one. */
const ATTEMPTED_MS_MAX = 72 * HOUR_MS;
/** An endpoint that failed for so long, without any success, is switched off. */
const FAILING_MS_MAX = 5 * DAY_MS;

export type Outcome = 'delivered' | 'failed' | 'gone';

/** What an answer means; `null` where none came. A redirect is not followed, and has not taken the event. */
export function outcomeOf(status: number | null): Outcome {
  if (status === 410) return 'gone';
  return status !== null && status >= 200 && status < 300 ? 'delivered' : 'failed';
}

/** When an event is sent again after so many attempts, the last of which failed now; `null` where it is given up. */
export function nextAttemptMs(
  attempts: number,
  { firstAttemptMs, nowMs }: { firstAttemptMs: number; nowMs: number },
): number | null {
  const atMs = nowMs + (FIRST_WAITS_MS[attempts - 1] ?? LATER_WAIT_MS);
  return atMs - firstAttemptMs <= ATTEMPTED_MS_MAX ? atMs : null;
}

/**
 * Since when every request to an endpoint failed, where one failed now: since `sinceMs`, unless nothing was sent to it for
 * longer than attempts are apart. Whether it would have failed then, nobody knows.
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

/** Whether an endpoint of which every request failed since then is switched off. */
export function isLost({ failingSinceMs, nowMs }: { failingSinceMs: number; nowMs: number }): boolean {
  return nowMs - failingSinceMs >= FAILING_MS_MAX;
}
