/**
 * Exact, identified prices out of the catalog: the rate card of a model at a time, and the snapshot it is recorded as.
 *
 * A snapshot id is `provider/model@` and a hash of the rates, so the same rates always have the same id and other
 * rates another one. A scheduled change is in force from the start of its UTC day.
 */
import { canonicalJson } from '../domain/canonical.ts';
import { nanoFromUsd } from '../domain/money.ts';
import type { RateCard, Rates, ResolvedPrice } from '../domain/pricing.ts';
import { sha256Hex } from '../platform/hash.ts';
import { matchModel } from './matching.ts';
import { type Catalog, type CatalogModel, type CatalogPricing, type CatalogRates, modelKeyOf } from './model.ts';

/** A price as it is recorded: what the snapshot id stands for. */
export interface PriceSnapshot {
  snapshotId: string;
  provider: string;
  modelKey: string;
  /** First day (UTC) on which the rates are in force; `null` for the rates that the catalog states without a date. */
  effectiveFrom: string | null;
  rates: CatalogPricing;
  source: string;
  catalogVersion: string;
}

/** The price of the model that a call reported, at `nowMs`. */
export async function resolvePrice(catalog: Catalog, modelUsed: string | undefined, nowMs: number): Promise<ResolvedPrice> {
  if (modelUsed === undefined) return { available: false, reason: 'MODEL_NOT_REPORTED' };
  const match = matchModel(catalog, modelUsed);
  if (!match) return { available: false, reason: 'MODEL_NOT_IN_CATALOG' };
  const { pricing } = match.model;
  if (!pricing) return { available: false, reason: 'PRICE_NOT_IN_CATALOG' };
  return { available: true, card: await rateCard(match.model, pricingAt(pricing, nowMs)) };
}

/** The pricing with every scheduled change applied whose day has begun, and without the schedule. */
export function pricingAt(pricing: CatalogPricing, nowMs: number): CatalogPricing {
  const { scheduled = [], ...current } = pricing;
  const begun = scheduled.filter(({ from }) => Date.parse(`${from}T00:00:00Z`) <= nowMs);
  const changes = begun.toSorted((a, b) => (a.from < b.from ? -1 : 1)).map(({ from: _from, ...change }) => change);
  return Object.assign(current, ...changes);
}

/** Every price of the catalog as a snapshot: the current rates and each announced change. */
export async function priceSnapshots(catalog: Catalog): Promise<PriceSnapshot[]> {
  const snapshots: PriceSnapshot[] = [];
  for (const model of catalog.models) {
    if (!model.pricing) continue;
    for (const effectiveFrom of [null, ...(model.pricing.scheduled ?? []).map(({ from }) => from)]) {
      const atMs = effectiveFrom === null ? Number.NEGATIVE_INFINITY : Date.parse(`${effectiveFrom}T00:00:00Z`);
      const rates = pricingAt(model.pricing, atMs);
      snapshots.push({
        snapshotId: await snapshotIdOf(model, rates),
        provider: model.provider,
        modelKey: modelKeyOf(model),
        effectiveFrom,
        rates,
        source: rates.source,
        catalogVersion: catalog.version,
      });
    }
  }
  return snapshots;
}

/** Cards by the pricing object that they were made from: one per model and schedule step, dropped with the catalog. */
const cards = new WeakMap<CatalogModel, { key: string; card: RateCard }>();

async function rateCard(model: CatalogModel, pricing: CatalogPricing): Promise<RateCard> {
  const key = canonicalJson(pricing);
  const known = cards.get(model);
  if (known?.key === key) return known.card;
  const card: RateCard = {
    snapshotId: await snapshotIdOf(model, pricing),
    provider: model.provider,
    modelKey: modelKeyOf(model),
    rates: {
      ...exactRates(pricing),
      ...(pricing.searchUsdPerMillion === undefined ? {} : { search: nanoFromUsd(pricing.searchUsdPerMillion) }),
      ...(pricing.audioSecondUsdPerMillion === undefined ? {} : { audioSecond: nanoFromUsd(pricing.audioSecondUsdPerMillion) }),
    },
    tiers: (pricing.tiers ?? []).map((tier) => ({ inputTokensAbove: tier.inputTokensAbove, rates: exactRates(tier) })),
  };
  cards.set(model, { key, card });
  return card;
}

function exactRates(rates: CatalogRates): Rates {
  return {
    input: nanoFromUsd(rates.inputUsdPerMillion),
    output: nanoFromUsd(rates.outputUsdPerMillion),
    ...(rates.cachedInputUsdPerMillion === undefined ? {} : { cachedInput: nanoFromUsd(rates.cachedInputUsdPerMillion) }),
    ...(rates.cacheWriteUsdPerMillion === undefined ? {} : { cacheWrite: nanoFromUsd(rates.cacheWriteUsdPerMillion) }),
  };
}

/** The hash covers the rates alone: a corrected source text is not another price. */
async function snapshotIdOf(model: CatalogModel, pricing: CatalogPricing): Promise<string> {
  const { source: _source, batchMultiplier: _batch, ...rates } = pricing;
  return `${modelKeyOf(model)}@${(await sha256Hex(canonicalJson(rates))).slice(0, 12)}`;
}
