/**
 * Use case: the payer of a customer's next calls and units, the limited meters that are used up before the renewal, and
 * how long the USD balance lasts. The payer is the present one; the times are the same as in the API's forecasts.
 */

import type { ForecastMetric } from '../../contract/readings.ts';
import { planLimit, summarize } from '../../domain/allowances.ts';
import type { CustomerId } from '../../domain/ids.ts';
import { METER_NAMES, METER_SLOTS, type MeterName, type MeterSlot } from '../../domain/meters.ts';
import { type NanoUsd, usdFromNano } from '../../domain/money.ts';
import { capabilityPayer, type NextPayer, slotPayer, type TierPayer, tierPayer } from '../../domain/next-payer.ts';
import { NEVER_MS } from '../../domain/period.ts';
import { CAPABILITIES, type Capability, type Plan } from '../../domain/plan.ts';
import { TIERS, type Tier } from '../../domain/tiers.ts';
import { availableUsd, sumBalance } from '../../domain/wallet.ts';
import type { Reader } from '../../metering/caller.ts';
import { DAY_MS } from '../../platform/time.ts';
import { DAYS_PER_WEEK } from '../calendar.ts';
import { type CustomerHistory, customerHistory, METERS_OF, makeForecast, neededBy } from './read-forecast.ts';

/** The metrics that count on meters. */
const METRICS = Object.keys(METERS_OF) as ForecastMetric[];
const TIME_ZONE = 'UTC';

/** A limited meter that the plan includes. */
interface MeterOutlook {
  meter: MeterName;
  used: number;
  limit: number;
  isUsedUp: boolean;
  /** At the forecast pace; `null` if it lasts until the renewal, if it is used up, or without a forecast. */
  runsOutAtMs: number | null;
}

interface BalanceOutlook {
  balanceNanoUsd: NanoUsd;
  /** The balance less the holds of open calls and the pending charges. */
  availableNanoUsd: NanoUsd;
  /** The amount that was taken from it in the latest seven completed UTC days. */
  chargedLatestWeekUsd: number;
  /** At the forecast pace; `null` if it lasts until the renewal, or without a forecast. */
  runsOutAtMs: number | null;
  /** At the rate of the latest week; `null` if that week had no charge, or if nothing is left. */
  lastsUntilMs: number | null;
}

export interface Outlook {
  plan: Plan;
  isCanceled: boolean;
  /** `null` if no usage period follows. */
  renewsAtMs: number | null;
  tiers: { tier: Tier; payer: TierPayer }[];
  capabilities: { capability: Capability; payer: NextPayer }[];
  /** The custom meters that the plan has. */
  slots: { slot: MeterSlot; payer: NextPayer; units: bigint }[];
  meters: MeterOutlook[];
  /** `null` if the plan lets no balance pay. */
  balance: BalanceOutlook | null;
  /** The history sufficed for each forecast that was needed. */
  isForecast: boolean;
}

/** `null` for an unknown customer. */
export async function readOutlook(reader: Reader, customerId: CustomerId, nowMs: number): Promise<Outlook | null> {
  const columns = [...new Set([...METRICS, 'dollars' as const].flatMap(neededBy))];
  const history = await customerHistory(reader, customerId, columns, []);
  return history && buildOutlook(history, nowMs);
}

function buildOutlook(history: CustomerHistory, nowMs: number): Outlook {
  const { account } = history;
  const { canceledAtMs, nextReplenishAtMs, plan: version } = account.subscription;
  const { plan } = version;
  const meters = METER_NAMES.flatMap((meter) => {
    const limit = planLimit(plan, meter);
    if (limit === null || limit === 0) return [];
    const { used, remaining } = summarize(plan, account.meters, meter);
    return [{ meter, used, limit, isUsedUp: remaining <= 0 }];
  });
  const open = new Set(meters.filter(({ isUsedUp }) => !isUsedUp).map(({ meter }) => meter));
  const forecasts = METRICS.filter((metric) => METERS_OF[metric]?.some((meter) => open.has(meter))).map((metric) =>
    makeForecast(history, metric, TIME_ZONE, nowMs),
  );
  const ends = new Map(
    forecasts.flatMap((forecast) =>
      forecast.meters.map(({ meter, runsOut }) => [meter, parseMsOrNull(runsOut?.expectedAt)]),
    ),
  );
  const dollars = isCharged(history) ? makeForecast(history, 'dollars', TIME_ZONE, nowMs) : null;
  return {
    plan,
    isCanceled: canceledAtMs !== null,
    renewsAtMs: nextReplenishAtMs >= NEVER_MS ? null : nextReplenishAtMs,
    tiers: TIERS.map((tier) => ({ tier, payer: tierPayer(account, tier, { neededNanoUsd: 0n, nowMs }) })),
    capabilities: CAPABILITIES.map((capability) => ({
      capability,
      payer: capabilityPayer(account, capability, nowMs),
    })),
    slots: METER_SLOTS.filter((slot) => plan.customMeters[slot]?.enabled).map((slot) => ({
      slot,
      payer: slotPayer(account, slot, nowMs),
      units: sumBalance(account.wallet, slot),
    })),
    meters: meters.map((one) => ({ ...one, runsOutAtMs: open.has(one.meter) ? (ends.get(one.meter) ?? null) : null })),
    balance: plan.payg.enabled
      ? balanceOutlook(history, { runsOutAtMs: parseMsOrNull(dollars?.runsOut?.expectedAt), nowMs })
      : null,
    isForecast: [...forecasts, ...(dollars ? [dollars] : [])].every(({ remaining }) => remaining !== null),
  };
}

/** Whether usage of the latest week was charged to the balance. */
function isCharged({ account, chargedLatestWeekUsd }: CustomerHistory): boolean {
  return account.subscription.plan.plan.payg.enabled && chargedLatestWeekUsd > 0;
}

function balanceOutlook(
  { account: { wallet }, chargedLatestWeekUsd }: CustomerHistory,
  { runsOutAtMs, nowMs }: { runsOutAtMs: number | null; nowMs: number },
): BalanceOutlook {
  const balanceNanoUsd = sumBalance(wallet, 'USD');
  const perDayUsd = chargedLatestWeekUsd / DAYS_PER_WEEK;
  const daysLeft = usdFromNano(balanceNanoUsd) / perDayUsd;
  const lasts = balanceNanoUsd > 0n && perDayUsd > 0;
  return {
    balanceNanoUsd,
    availableNanoUsd: availableUsd(wallet),
    chargedLatestWeekUsd,
    runsOutAtMs: balanceNanoUsd > 0n ? runsOutAtMs : null,
    lastsUntilMs: lasts ? Math.min(NEVER_MS, Math.floor(nowMs + daysLeft * DAY_MS)) : null,
  };
}

function parseMsOrNull(at: string | null | undefined): number | null {
  return at ? Date.parse(at) : null;
}
