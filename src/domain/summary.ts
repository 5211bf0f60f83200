/**
 * A customer in short, for lists: the meter with the least left, and whether calls were denied. next-payer.ts knows
 * whether credit pays.
 */
import type { Account } from './account.ts';
import { summarize } from './allowances.ts';
import { METER_NAMES, type MeterName } from './meters.ts';

export interface WorstMeter {
  name: MeterName;
  /** The amount that ended and open calls have taken in the usage period. */
  used: number;
  limit: number;
}

/** The meter with the largest used share, the first of equal ones; `null` if the plan includes none in numbers. */
export function findWorstMeter({ subscription, meters }: Pick<Account, 'subscription' | 'meters'>): WorstMeter | null {
  let worst: WorstMeter | null = null;
  for (const name of METER_NAMES) {
    const { limit, used } = summarize(subscription.plan.plan, meters, name);
    // A meter that is unlimited or not included has no used share.
    if (limit === null || limit === 0) continue;
    if (worst === null || used / limit > worst.used / worst.limit) worst = { name, used, limit };
  }
  return worst;
}

/** Whether a call was denied in the usage period. */
export function wasDenied({ denied = [] }: Account): boolean {
  return denied.length > 0;
}
