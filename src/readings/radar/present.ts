/**
 * An item of the radar: a model with its replacement, the cost of its calls on the replacement, and its users.
 */

import { changePercent, round } from '../../catalog/ranking.ts';
import type { OrganizationConfig } from '../../config/credentials.ts';
import { RADAR_CUSTOMERS_MAX, type RadarItem } from '../../contract/model-radar.ts';
import { modelsByName } from '../../domain/model-mappings.ts';
import { type NanoUsd, usdFromNano } from '../../domain/money.ts';
import { planIdOf } from '../../domain/plan.ts';
import type { RateCard } from '../../domain/price.ts';
import { costOfTraffic, type Traffic, type TrafficCost } from '../../domain/traffic-cost.ts';
import { addTo, type NameTraffic, type Share } from '../../history/model-traffic.ts';
import { itemKey, type RadarModel, type RadarView } from './models.ts';
import type { RadarReplacement } from './replacement.ts';

export interface Replaced {
  model: RadarModel;
  replacement: RadarReplacement;
  /** The price of the replacement; `null` if it has none. */
  card: RateCard | null;
}

/** The calls of a model under all its names. */
export type ModelTraffic = Omit<NameTraffic, 'traffic'> & { traffic: Traffic[] };

export function mergedTraffic(names: readonly string[], byName: ReadonlyMap<string, NameTraffic>): ModelTraffic {
  const found = names.flatMap((name) => byName.get(name) ?? []);
  const sum = (of: (one: NameTraffic) => number) => found.reduce((total, one) => total + of(one), 0);
  return {
    calls: sum(({ calls }) => calls),
    traffic: found.flatMap(({ traffic }) => [...traffic.values()]),
    unreported: sum(({ unreported }) => unreported),
    untold: sum(({ untold }) => untold),
    customers: mergedShares(found.map(({ customers }) => customers)),
    features: mergedShares(found.map(({ features }) => features)),
    usagePlanVersionIds: new Set(found.flatMap(({ usagePlanVersionIds }) => [...usagePlanVersionIds])),
  };
}

function mergedShares<Key extends string>(all: readonly ReadonlyMap<Key, Share>[]): Map<Key, Share> {
  const merged = new Map<Key, Share>();
  for (const shares of all) for (const [key, share] of shares) addTo(merged, key, share);
  return merged;
}

/** Mappings that name the model, under any of its names. */
export function findMappings(
  view: RadarView,
  { models, aliases }: Pick<OrganizationConfig, 'models' | 'aliases'>,
  { modelKey }: RadarModel,
): string[] {
  return modelsByName(models, aliases)
    .filter(([, names]) => names.some((name) => itemKey(view, name) === modelKey))
    .map(([mapping]) => mapping);
}

export function presentItem(
  { model, replacement, card }: Replaced,
  traffic: ModelTraffic,
  mappings: string[],
): RadarItem {
  const { modelKey, status, shutdownAt, daysLeft, reasons, calls, inputTokens, outputTokens, costNanoUsd } = model;
  // If no call has a price, the recorded sums mean nothing.
  const known = (nano: NanoUsd) => (model.unpricedCalls >= calls ? null : nano);
  const cost = card && costOfTraffic(card, traffic.traffic);
  const notPriced = listNotPriced(cost, replacement, traffic, calls);
  const isComparable = model.unpricedCalls === 0 && notPriced.length === 0;
  const customers = byCost(traffic.customers);
  const there = inDollars(cost?.nanoUsd ?? null);
  return {
    ...{ modelKey, status, shutdownAt, daysLeft, reasons },
    replacement: {
      ...replacement,
      warnings: [...replacement.warnings, ...(cost?.assumptions ?? []).map((rule) => `replacementCostUSD: ${rule}`)],
    },
    usage: { calls, inputTokens, outputTokens, ...inDollars(known(costNanoUsd)) },
    replacementCostUSD: there.costUSD,
    replacementCostUsdNano: there.costUsdNano,
    ...difference(isComparable ? known(costNanoUsd) : null, cost?.nanoUsd ?? null),
    notPriced,
    customerCount: customers.length,
    customers: customers.slice(0, RADAR_CUSTOMERS_MAX).map(([customerId, share]) => ({
      customerId,
      calls: share.calls,
      costUSD: inDollars(known(share.costNanoUsd)).costUSD,
    })),
    features: byCost(traffic.features).map(([feature]) => feature),
    mappings,
    plans: [...new Set([...traffic.usagePlanVersionIds].map(planIdOf))].sort(),
  };
}

function inDollars(nano: NanoUsd | null): { costUSD: number | null; costUsdNano: string | null } {
  return nano === null
    ? { costUSD: null, costUsdNano: null }
    : { costUSD: usdFromNano(nano), costUsdNano: nano.toString() };
}

function difference(
  now: NanoUsd | null,
  there: NanoUsd | null,
): Pick<RadarItem, 'replacementDifferenceUsdNano' | 'replacementDifferencePercent'> {
  if (now === null || there === null) return { replacementDifferenceUsdNano: null, replacementDifferencePercent: null };
  const percent = changePercent(Number(now), Number(there));
  return {
    replacementDifferenceUsdNano: (there - now).toString(),
    replacementDifferencePercent: percent === null || now === 0n ? null : round(percent),
  };
}

function listNotPriced(
  cost: TrafficCost | null,
  { modelKey }: RadarReplacement,
  traffic: ModelTraffic,
  calls: number,
): string[] {
  if (cost) return [...cost.notPriced, ...callsNotPriced(traffic, calls)];
  return modelKey === null ? [] : [`everything: ${modelKey} has no price`];
}

/** `counted`: the calls in the roll-ups. */
function callsNotPriced({ calls, unreported, untold }: ModelTraffic, counted: number): string[] {
  const missing = Math.max(0, counted - calls);
  return [
    ...(unreported > 0 ? [`calls without reported usage: ${unreported}`] : []),
    ...(untold > 0 ? [`calls whose cached audio and images are not told apart: ${untold}`] : []),
    ...(missing > 0 ? [`calls that are no longer kept, or too many to sum: ${missing}`] : []),
  ];
}

/** The highest cost first; on equal cost, by name. */
function byCost<Key extends string>(shares: ReadonlyMap<Key, Share>): [Key, Share][] {
  return [...shares].sort(([nameA, a], [nameB, b]) =>
    a.costNanoUsd === b.costNanoUsd ? (nameA < nameB ? -1 : 1) : a.costNanoUsd < b.costNanoUsd ? 1 : -1,
  );
}
