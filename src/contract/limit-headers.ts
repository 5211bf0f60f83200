/**
 * The remaining limits after a begin or an end of a call, as headers: `RateLimit` and `RateLimit-Policy`
 * (draft-ietf-httpapi-ratelimit-headers) for the plan's rolling limit, and the rest of the tier that pays.
 */
import { formatUsd } from '../domain/money.ts';
import type { Tier } from '../domain/tiers.ts';

/** Plain JSON, from the customer's object. */
export interface Left {
  /** The tier that paid, or would pay; `null` if none is allowed. */
  tier: Tier | null;
  /** For each tier; `null` if there is no bound. */
  tiers: Record<Tier, { calls: number | null; tokens: number | null }>;
  /** The available decimal nano-USD, if the plan lets the balance pay. */
  usdNano?: string;
  /** Present if the plan has a rolling limit. */
  rolling?: Rolling;
}

/** The state of a plan's rolling limit. */
export interface Rolling {
  limit: number;
  remaining: number;
  windowSeconds: number;
  resetSeconds: number;
}

/** `error.reason` of a 429 for the plan's rolling limit, which no other 429 has. */
export const ROLLING_LIMIT = 'ROLLING_LIMIT';

export const LIMIT_HEADERS = {
  policy: 'RateLimit-Policy',
  limit: 'RateLimit',
  calls: 'x-service-remaining-calls',
  tokens: 'x-service-remaining-tokens',
  usd: 'x-service-remaining-usd',
} as const;

/** `tier`: the tier whose model answers, if that is known better than at the begin. */
export function limitHeaders(left: Left | undefined, tier = left?.tier): Record<string, string> {
  if (!left) return {};
  const { tiers, usdNano, rolling } = left;
  const { calls = null, tokens = null } = tier ? tiers[tier] : {};
  return {
    ...rollingHeaders(rolling),
    ...(calls !== null && { [LIMIT_HEADERS.calls]: String(calls) }),
    ...(tokens !== null && { [LIMIT_HEADERS.tokens]: String(tokens) }),
    ...(usdNano !== undefined && { [LIMIT_HEADERS.usd]: formatUsd(BigInt(usdNano)) }),
  };
}

export function rollingHeaders(rolling: Rolling | undefined): Record<string, string> {
  if (!rolling) return {};
  return {
    [LIMIT_HEADERS.policy]: `"calls";q=${rolling.limit};w=${rolling.windowSeconds}`,
    [LIMIT_HEADERS.limit]: `"calls";r=${rolling.remaining};t=${rolling.resetSeconds}`,
  };
}
