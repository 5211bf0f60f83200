/**
 * The payer of the next call of a tier, the next use of a capability and the next unit of a custom meter, now.
 *
 * These are the decisions of begin and of an increment, asked without making one. The amount that a call needs of the
 * balance is an argument, because only the call itself determines it: 0 asks whether any balance is left.
 */
import { type Account, isCanceled } from './account.ts';
import { hasLeft, isTierLeft } from './allowances.ts';
import { creditLeft, heldByOthers } from './begin-call.ts';
import { paysOverage, purchasedUnits } from './custom-meter.ts';
import { buildDenial, type DenialCode } from './denial.ts';
import { CAPABILITY_METERS, decideEntitlements, type Requested } from './entitlements.ts';
import { type MeterSlot, SLOT_METERS } from './meters.ts';
import type { NanoUsd } from './money.ts';
import { type Capability, hasOverage } from './plan.ts';
import { TIERS, type Tier } from './tiers.ts';
import { availableUsd, release } from './wallet.ts';

/** `units` are purchased ones of a custom meter. `counted`: nobody pays, and the plan's policy NONE does not deny. */
export type NextPayer = { by: 'allowance' | 'units' | 'balance' | 'counted' } | Unpaid;

export interface Unpaid {
  by: 'nobody';
  /** The reason for which a call is denied; `METER_NOT_ENABLED` if the plan does not have the custom meter. */
  reason: DenialCode | 'METER_NOT_ENABLED';
}

/** For a tier that nobody pays for: the tier that runs in its place, and the payer of that tier. */
export type TierPayer = Exclude<NextPayer, Unpaid> | (Unpaid & { instead: { tier: Tier; payer: NextPayer } | null });

export function tierPayer(
  account: Account,
  tier: Tier,
  { neededNanoUsd, nowMs }: { neededNanoUsd: NanoUsd; nowMs: number },
): TierPayer {
  const decision = decideRequest(account, { [tier]: true }, neededNanoUsd);
  const findPayer = (of: Tier): Exclude<NextPayer, Unpaid> => {
    if (decision.onCredit.includes(of)) return { by: 'balance' };
    const { plan } = account.subscription.plan;
    return { by: isTierLeft(plan, account.meters, of) ? 'allowance' : 'counted' };
  };
  if (decision.allowed[tier]) return findPayer(tier);
  const instead = TIERS.findLast((other) => decision.allowed[other]);
  const reason = findDenialCode(account, { [tier]: true }, { neededNanoUsd, nowMs });
  return { by: 'nobody', reason, instead: instead === undefined ? null : { tier: instead, payer: findPayer(instead) } };
}

/** Only an allowance pays for a capability. */
export function capabilityPayer(account: Account, capability: Capability, nowMs: number): NextPayer {
  const { plan } = account.subscription.plan;
  if (!decideRequest(account, { [capability]: true }, 0n).allowed[capability])
    return { by: 'nobody', reason: findDenialCode(account, { [capability]: true }, { neededNanoUsd: 0n, nowMs }) };
  const meter = CAPABILITY_METERS[capability];
  return { by: meter === null || hasLeft(plan, account.meters, meter) ? 'allowance' : 'counted' };
}

export function slotPayer(account: Account, slot: MeterSlot, nowMs: number): NextPayer {
  const { plan } = account.subscription.plan;
  const meter = plan.customMeters[slot];
  if (isCanceled(account)) return { by: 'nobody', reason: 'SUBSCRIPTION_CANCELED' };
  if (!meter?.enabled) return { by: 'nobody', reason: 'METER_NOT_ENABLED' };
  if (hasLeft(plan, account.meters, SLOT_METERS[slot])) return { by: 'allowance' };
  if (purchasedUnits(account, meter, slot) > 0n) return { by: 'units' };
  if (paysOverage(account, meter)) return { by: 'balance' };
  if (!hasOverage(plan, meter)) return { by: 'nobody', reason: 'ALLOWANCE_EXHAUSTED' };
  return {
    by: 'nobody',
    reason: heldByOthers(account, { heldNanoUsd: 0n, nowMs }) ? 'BALANCE_HELD' : 'CREDIT_REQUIRED',
  };
}

/** Whether the balance pays for calls of a tier now. The holds of open calls still belong to the balance. */
export function isOnCredit(account: Account): boolean {
  const { wallet } = account;
  const free = { ...account, wallet: release(wallet, BigInt(wallet.held)) };
  if (isCanceled(account) || availableUsd(free.wallet) <= 0n) return false;
  return TIERS.some((tier) => decideRequest(free, { [tier]: true }, 0n).onCredit.includes(tier));
}

function decideRequest(account: Account, requested: Requested, neededNanoUsd: NanoUsd) {
  const { plan } = account.subscription.plan;
  return decideEntitlements(plan, account.meters, requested, isCanceled(account), () =>
    creditLeft(account, neededNanoUsd),
  );
}

function findDenialCode(
  account: Account,
  requested: Requested,
  { neededNanoUsd, nowMs }: { neededNanoUsd: NanoUsd; nowMs: number },
): DenialCode {
  const decision = decideRequest(account, requested, neededNanoUsd);
  const wouldPass = () => heldByOthers(account, { heldNanoUsd: neededNanoUsd, nowMs });
  return buildDenial(account, { requested }, decision, { wouldPass }).code;
}
