/**
 * How often a request is tried and how long the client waits in between (contract section 8). Pure: chance and clock
 * are arguments.
 */
import { badInput } from './errors.ts';

export interface RetryPolicy {
  /** Tries in all, the first one included; 1 means no retry. */
  attempts: number;
  baseDelayMs: number;
  maxDelayMs: number;
  /** A delay varies by this share of itself, in both directions. */
  jitterRatio: number;
}

/** The contract's defaults. */
export const RETRY_DEFAULTS: RetryPolicy = { attempts: 3, baseDelayMs: 250, maxDelayMs: 5_000, jitterRatio: 0.2 };

const ATTEMPTS_MAX = 10;
const DELAY_MS_MAX = 60_000;

/**
 * A `Retry-After` up to this is waited for, because an earlier try would fail again. A longer one ends the request: who
 * waits for an answer should hear now that there will be none.
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
 * The wait after the failed try number `attempt`, or `null` where there is no further try. `chance` is in [0, 1).
 * The service's own word wins over the doubling delay.
 */
export function delayAfter(
  policy: RetryPolicy,
  attempt: number,
  retryAfterMs: number | undefined,
  chance: number,
): number | null {
  if (attempt >= policy.attempts) return null;
  if (retryAfterMs !== undefined) return retryAfterMs > RETRY_AFTER_MS_MAX ? null : retryAfterMs;
  const doubled = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1));
  const jittered = doubled * (1 + policy.jitterRatio * (2 * chance - 1));
  return Math.min(policy.maxDelayMs, Math.round(jittered));
}

/** A `Retry-After` header, in seconds or as a date; what is neither is as good as none. */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d+(\.\d+)?$/.test(header.trim())) return Math.ceil(Number(header) * 1000);
  // Dates without a letter are not HTTP dates, and `Date.parse` takes a "-1" for a month.
  const at = /[a-z]/i.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
