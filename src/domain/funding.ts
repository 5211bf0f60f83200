/**
 * The uses that credit can pay for under a plan, the parts of a plan's funding that contradict each other or have no
 * effect, and a customer's credit that cannot pay.
 *
 * A saved plan may not contradict itself; versions from before that rule may, and stay valid.
 */
import { type Account, isCanceled } from './account.ts';
import { METER_SLOTS } from './meters.ts';
import { hasOverage, type Plan, type PlanVersion } from './plan.ts';
import { TIERS } from './tiers.ts';
import { availableUsd, type Credit, type CreditUnit } from './wallet.ts';

/** A field of a plan, and its error. */
export interface BrokenRule {
  path: readonly string[];
  message: string;
}

/** Funding that could never pay, whatever credit the customer has. */
export function findContradictions({ payg, customMeters }: Plan): BrokenRule[] {
  return METER_SLOTS.flatMap((slot) => {
    const meter = customMeters[slot];
    if (!meter?.funding.payg) return [];
    const path = ['customMeters', slot];
    const rules: BrokenRule[] = [];
    if (!payg.enabled)
      rules.push({
        path: [...path, 'funding', 'payg'],
        message: 'needs payg.enabled: without it the USD balance pays for nothing of the plan',
      });
    if (meter.overage === undefined)
      rules.push({
        path: [...path, 'overage'],
        message: 'is required if funding.payg is true: it is the price of the units that the USD balance pays for',
      });
    return rules;
  });
}

/** Funding that is allowed and has no effect. */
export function findIdleFunding(plan: Plan): BrokenRule[] {
  const { payg, customMeters } = plan;
  const rules: BrokenRule[] = [];
  if (planGap(plan, 'USD') === 'NOTHING_TO_PAY')
    rules.push({
      path: ['payg', 'enabled'],
      message: `has no effect: ${NOTHING_TO_PAY}. Set a limit of calls or tokens, or funding.payg of a custom meter`,
    });
  if (!payg.enabled && payg.markupPercent > 0)
    rules.push({ path: ['payg', 'markupPercent'], message: 'is added to nothing, because payg.enabled is off' });
  for (const slot of METER_SLOTS) {
    const meter = customMeters[slot];
    if (!meter) continue;
    const { funding, overage, unlimited } = meter;
    const path = ['customMeters', slot];
    if (unlimited && (funding.credits || funding.payg))
      rules.push({ path: [...path, 'funding'], message: 'has no effect, because the meter is unlimited' });
    if (overage !== undefined && !funding.payg)
      rules.push({
        path: [...path, 'overage'],
        message: 'is charged to nobody, because funding.payg of the meter is off',
      });
  }
  return rules;
}

/** Why a plan lets credit of a unit pay for nothing. */
export type PlanGap =
  | 'PAYG_OFF'
  | 'NOTHING_TO_PAY'
  | 'METER_NOT_IN_PLAN'
  | 'METER_OFF'
  | 'METER_UNLIMITED'
  | 'CREDITS_OFF';

/** The words that follow the plan's name or a colon. */
export const NOTHING_TO_PAY = 'no tier has a limit of calls or tokens, and the balance pays for no custom meter';

/** `null` if the plan lets the unit pay for something. */
export function planGap(plan: Plan, unit: CreditUnit): PlanGap | null {
  if (unit === 'USD') {
    if (!plan.payg.enabled) return 'PAYG_OFF';
    const isLimited = TIERS.some(
      (tier) => plan.limits[`${tier}Calls`] !== null || plan.limits[`${tier}Tokens`] !== null,
    );
    const isPriced = METER_SLOTS.some((slot) => {
      const meter = plan.customMeters[slot];
      return meter?.enabled === true && !meter.unlimited && hasOverage(plan, meter);
    });
    return isLimited || isPriced ? null : 'NOTHING_TO_PAY';
  }
  const meter = plan.customMeters[unit];
  if (!meter) return 'METER_NOT_IN_PLAN';
  if (!meter.enabled) return 'METER_OFF';
  if (meter.unlimited) return 'METER_UNLIMITED';
  return meter.funding.credits ? null : 'CREDITS_OFF';
}

/** Credit that pays for nothing: the customer's, of one unit. */
export interface UnusableCredit {
  unit: CreditUnit;
  /** USD in nano, without holds and pending charges. */
  amount: bigint;
  /** The reason; `CANCELED` if the plan would let it pay. */
  gap: PlanGap | 'CANCELED';
  /** The plan that gives the reason. */
  version: PlanVersion;
  /** The time from which it applies, if the scheduled plan is the reason; `null` is now. */
  fromMs: number | null;
}

/** By unit. Credit that a scheduled plan lets pay is not included, unless it expires before. */
export function unusableCredit(account: Account): UnusableCredit[] {
  const { wallet } = account;
  const units = [...new Set(wallet.credits.map(({ unit }) => unit))];
  return units.flatMap((unit) => {
    const found = wallet.credits.flatMap((credit) => {
      const why = credit.unit === unit ? whyUnusable(account, credit) : null;
      return why ? [{ ...why, amount: BigInt(credit.remaining) }] : [];
    });
    const [first] = found;
    if (!first) return [];
    const sum = found.reduce((all, { amount }) => all + amount, 0n);
    const free = unit === 'USD' ? availableUsd(wallet) : sum;
    const amount = free < sum ? free : sum;
    return amount > 0n ? [{ ...first, unit, amount }] : [];
  });
}

/** Why a credit pays for nothing, now and later or from the scheduled plan on; `null` if it pays. */
function whyUnusable(
  account: Account,
  { unit, expiresAtMs }: Pick<Credit, 'unit' | 'expiresAtMs'>,
): Pick<UnusableCredit, 'gap' | 'version' | 'fromMs'> | null {
  const { plan: now, pending, nextReplenishAtMs } = account.subscription;
  const later = pending && (expiresAtMs === null || expiresAtMs > nextReplenishAtMs) ? pending : null;
  const gap = planGap(now.plan, unit);
  const gapLater = later && planGap(later.plan, unit);
  if (gap !== null && (later === null || gapLater !== null)) return { gap, version: now, fromMs: null };
  if (isCanceled(account)) return { gap: 'CANCELED', version: now, fromMs: null };
  return later && gapLater ? { gap: gapLater, version: later, fromMs: nextReplenishAtMs } : null;
}
