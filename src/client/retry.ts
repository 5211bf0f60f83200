/**
 * Retry policy: how many attempts a request gets and how long the client waits between them (contract section 8). Pure:
 * random numbers and the time are arguments.
 */
import { badInput } from './errors.ts';

export interface RetryPolicy {
  /** Attempts in total, the first one included; 1 disables retries. */
  attempts: number;
  baseDelayMs: number;
  maxDelayMs: number;
  /** Random variation of a delay, as a fraction of it, in both directions. */
  jitterRatio: number;
}

/** The contract's defaults. */
export const RETRY_DEFAULTS: RetryPolicy = { attempts: 3, baseDelayMs: 250, maxDelayMs: 5_000, jitterRatio: 0.2 };

const ATTEMPTS_MAX = 10;
const DELAY_MS_MAX = 60_000;

/**
 * The longest `Retry-After` that the client waits for. If the service asks for more, the request fails at once instead
 * of blocking its caller.
 */
export const RETRY_AFTER_MS_MAX = 30_000;

export function retryPolicy(given: Partial<RetryPolicy> = {}): RetryPolicy {
  const policy = { ...RETRY_DEFAULTS, ...given };
  check('retry.attempts', policy.attempts, 1, ATTEMPTS_MAX);
  check('retry.baseDelayMs', policy.baseDelayMs, 0, DELAY_MS_MAX);
  check('retry.maxDelayMs', policy.maxDelayMs, 0, DELAY_MS_MAX);
  check('retry.jitterRatio', policy.jitterRatio, 0, 1);
  if (!Number.isInteger(policy.attempts)) throw badInput('retry.attempts', 'must be a whole number');
  return policy;
}

function check(field: string, value: number, min: number, max: number): void {
  if (!(value >= min && value <= max)) throw badInput(field, `must be a number from ${min} to ${max}`);
}

/**
 * The delay in milliseconds after failed attempt number `attempt`, or `null` if there are no more attempts. `chance` is
 * in [0, 1). `Retry-After` takes precedence over exponential backoff: the client never comes earlier, and up to the jitter
 * later, so that callers who were refused together do not come back together.
 */
export function delayAfter(
  policy: RetryPolicy,
  attempt: number,
  retryAfterMs: number | undefined,
  chance: number,
): number | null {
  if (attempt >= policy.attempts) return null;
  const jitter = policy.jitterRatio * (2 * chance - 1);
  if (retryAfterMs !== undefined)
    return retryAfterMs > RETRY_AFTER_MS_MAX ? null : Math.round(retryAfterMs * (1 + Math.abs(jitter)));
  const doubled = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1));
  const jittered = doubled * (1 + jitter);
  return Math.min(policy.maxDelayMs, Math.round(jittered));
}

/** The longest that a request may be told to wait for a plan's rolling limit. */
const ROLLING_WAIT_MS_MAX = 3_600_000;

export function checkRollingWait(waitMs: number): void {
  check('rollingWaitMs', waitMs, 0, ROLLING_WAIT_MS_MAX);
}

/** Parses a `Retry-After` header, in seconds or as a date. An invalid header counts as absent. */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d+(\.\d+)?$/.test(header.trim())) return Math.ceil(Number(header) * 1000);
  // HTTP dates contain letters. `Date.parse` would read "-1" as a month.
  const at = /[a-z]/i.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
