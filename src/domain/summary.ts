/**
 * A customer in short, for lists: the meter of which the least is left, whether credit pays, whether calls were denied.
 */
import type { Account } from './account.ts';
import { isTierLeft, summarize } from './allowances.ts';
import { METER_NAMES, type MeterName } from './meters.ts';
import { TIERS } from './tiers.ts';
import { balanceOf } from './wallet.ts';

export interface WorstMeter {
  name: MeterName;
  /** What ended and open calls have taken in the usage period. */
  used: number;
  limit: number;
}

/** The meter of which the largest share is used, the first of equal ones; `null` where the plan includes none in numbers. */
export function worstMeterOf({ subscription, meters }: Pick<Account, 'subscription' | 'meters'>): WorstMeter | null {
  let worst: WorstMeter | null = null;
  for (const name of METER_NAMES) {
    const { limit, used } = summarize(subscription.plan.plan, meters, name);
    // Of what is unlimited or not included no share is used.
    if (limit === null || limit === 0) continue;
    if (worst === null || used / limit > worst.used / worst.limit) worst = { name, used, limit };
  }
  return worst;
}

/** Whether credit pays for a tier now: its allowance is used up or was none, and the USD balance is above zero. */
export function isOnCredit({ subscription, meters, wallet }: Account): boolean {
  const { plan } = subscription.plan;
  return (
    subscription.canceledAtMs === null &&
    plan.payg.enabled &&
    balanceOf(wallet, 'USD') > 0n &&
    TIERS.some((tier) => !isTierLeft(plan, meters, tier))
  );
}

/** Whether a call was denied in the usage period. */
export function wasDenied({ denied = [] }: Account): boolean {
  return denied.length > 0;
}
