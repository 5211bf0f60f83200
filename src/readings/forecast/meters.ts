/**
 * The times at which the limited meters of a metric are used up. A custom meter is the metric itself. Calls and output
 * tokens belong to both tiers: each tier's meter gets the same part of the metric as in the period so far.
 */
import type { Account } from '../../domain/account.ts';
import { planLimit, summarize } from '../../domain/allowances.ts';
import type { MeterName } from '../../domain/meters.ts';
import { DAY_MS } from '../../platform/time.ts';
import { type Exhaustion, forecastExhaustion } from './exhaustion.ts';
import type { ForecastResult } from './forecast.ts';

/** The part of a younger period does not predict the rest. */
const PART_MS_MIN = 3 * DAY_MS;

export interface MeterEnd {
  meter: MeterName;
  used: number;
  limit: number;
  /** `null` without a forecast, or if the meter's part is not known well enough. */
  runsOut: Exhaustion | null;
}

export interface MetricUse {
  forecast: ForecastResult;
  /** The metric's quantity of the period so far. */
  recorded: number;
  nowMs: number;
  timeZone: string;
}

/** The meters with a limit above zero; others cannot run out. */
export function meterEnds(
  meters: readonly MeterName[],
  { subscription, meters: state }: Account,
  use: MetricUse,
): MeterEnd[] {
  const { plan } = subscription.plan;
  return meters.flatMap((meter) => {
    const limit = planLimit(plan, meter);
    if (limit === null || limit === 0) return [];
    const used = state.consumed[meter] ?? 0;
    const part = meters.length === 1 ? 1 : meterShare(used, use, subscription.lastReplenishedAtMs);
    const { remaining } = summarize(plan, state, meter);
    const { forecast, nowMs, timeZone } = use;
    const runsOut =
      part === null ? null : forecastExhaustion({ forecast, remaining: remaining / part, nowMs, timeZone });
    return [{ meter, used, limit, runsOut }];
  });
}

/** The part of the metric that the meter took in the period so far; `null` if it is not known well enough. */
function meterShare(used: number, { recorded, nowMs }: MetricUse, periodStartMs: number): number | null {
  if (used <= 0 || recorded <= 0 || nowMs - periodStartMs < PART_MS_MIN) return null;
  return Math.min(1, used / recorded);
}
