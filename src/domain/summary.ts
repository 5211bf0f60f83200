/**
 * A customer in short, for lists: the meter of which the least is left, and whether calls were denied. Whether credit pays is
 * told by next-payer.ts.
 */
import type { Account } from './account.ts';
import { summarize } from './allowances.ts';
import { METER_NAMES, type MeterName } from './meters.ts';

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

/** Whether a call was denied in the usage period. */
export function wasDenied({ denied = [] }: Account): boolean {
  return denied.length > 0;
}
