/**
 * Small complete values to start a test from: a plan without limits, a fresh account, a usage of nothing.
 */

import type { Account } from '../../src/domain/account.ts';
import type { MeterState } from '../../src/domain/allowances.ts';
import { type Expected, outputTokensByTier } from '../../src/domain/begin-call.ts';
import type { Call } from '../../src/domain/call.ts';
import { asCustomerId, asOrganizationId } from '../../src/domain/ids.ts';
import type { Plan } from '../../src/domain/plan.ts';
import { NO_USAGE, type Usage } from '../../src/domain/usage.ts';
import { EMPTY_WALLET, grantCredit } from '../../src/domain/wallet.ts';

export { NO_USAGE };

export type PartialUsage = Partial<Usage>;

export function usage(change: PartialUsage): Usage {
  return { ...NO_USAGE, ...change };
}

export type PlanChange = Partial<Omit<Plan, 'limits' | 'features'>> & {
  limits?: Partial<Plan['limits']>;
  features?: Partial<Plan['features']>;
};

/** Everything unlimited and enabled, under BLOCK, except for `change`. */
export function plan(change: PlanChange = {}): Plan {
  return {
    name: 'Test',
    limitType: 'BLOCK',
    reasoningLevel: 'HIGH',
    replenish: { every: 1, unit: 'MONTH' },
    rollingCalls: null,
    reserveOutputTokens: null,
    payg: { enabled: false, markupPercent: 0 },
    customMeters: {},
    ...change,
    limits: {
      standardCalls: null,
      premiumCalls: null,
      standardTokens: null,
      premiumTokens: null,
      searches: null,
      audioSeconds: null,
      ...change.limits,
    },
    features: { audio: true, image: true, search: true, ...change.features },
  };
}

/** For a call with an unknown cost. */
export const NOTHING_KNOWN: Expected = { bounds: [], usualCharge: () => 0n };

/** The output tokens that a call on the suggested tier should stay within; `null` if nothing bounds them. */
export function outputBound(call: Call): number | null {
  return call.suggestedTier === 'none' ? null : (outputTokensByTier(call)[call.suggestedTier] ?? null);
}

/** The account with a credit of so much, which never expires. */
export function withBalance(of: Account, nanoUsd: bigint): Account {
  if (nanoUsd === 0n) return of;
  const amount = nanoUsd.toString();
  const credit = { creditId: 'c', unit: 'USD', granted: amount, remaining: amount, reference: null } as const;
  return { ...of, wallet: grantCredit(of.wallet, { ...credit, grantedAtMs: 0, expiresAtMs: null }) };
}

export function account(content: Plan, meters: MeterState = { consumed: {}, reserved: {} }): Account {
  return {
    organizationId: asOrganizationId('org'),
    customerId: asCustomerId('customer'),
    createdAtMs: 0,
    contact: {},
    subscription: {
      id: 'subscription',
      version: 1,
      plan: { planId: 'plan', usagePlanVersionId: 'plan-v1', version: 1, plan: content },
      cycle: { anchorMs: 0, replenish: content.replenish },
      lastReplenishedAtMs: 0,
      nextReplenishAtMs: Date.UTC(1970, 1, 1),
      canceledAtMs: null,
      pending: null,
    },
    meters,
    wallet: EMPTY_WALLET,
    revision: 1,
  };
}
