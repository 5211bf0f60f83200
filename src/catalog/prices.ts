/**
 * Exact prices with ids: the rate card of a model at a time, and its price snapshot.
 *
 * A snapshot id is `provider/model@` and a hash of the rates, so equal rates always have the same id and different
 * rates another. A scheduled change takes effect at the start of its UTC day.
 */
import { canonicalJson } from '../domain/canonical.ts';
import { type RateCard, type Rates, type ResolvedPrice, rateFromUsd } from '../domain/pricing.ts';
import { sha256Hex } from '../platform/hash.ts';
import { matchModel } from './matching.ts';
import { type Catalog, type CatalogModel, type CatalogPricing, type CatalogRates, modelKeyOf } from './model.ts';

/** A recorded price, identified by its snapshot id. */
export interface PriceSnapshot {
  snapshotId: string;
  provider: string;
  modelKey: string;
  /** First UTC day on which the rates are in force; `null` for rates without a date in the catalog. */
  effectiveFrom: string | null;
  rates: CatalogPricing;
  source: string;
  catalogVersion: string;
}

/** What a call reports about the model that ran. */
export interface ReportedModel {
  modelUsed?: string | undefined;
  providerUsed?: string | undefined;
}

/** An organization's own prices, which take precedence over the catalog, by `ownPriceKey`. */
export type OwnPrices = ReadonlyMap<string, RateCard>;

/** The price of the model that a call reported at `nowMs`: the organization's own price, else the catalog's. */
export async function resolvePrice(
  catalog: Catalog,
  own: OwnPrices,
  reported: ReportedModel,
  nowMs: number,
): Promise<ResolvedPrice> {
  if (reported.modelUsed === undefined) return { available: false, reason: 'MODEL_NOT_REPORTED' };
  const match = matchModel(catalog, reported.modelUsed, nowMs);
  const card = ownPrice(own, reported, match?.model ?? null) ?? (match && (await cardOn(match.model, nowMs)));
  if (card) return { available: true, card };
  return { available: false, reason: match ? 'PRICE_NOT_IN_CATALOG' : 'MODEL_NOT_IN_CATALOG' };
}

/** The key of a model's own price: its key in the catalog, or the reported name in lower case. */
export function ownPriceKey(catalog: Catalog, name: string, nowMs: number): string {
  const match = matchModel(catalog, name, nowMs);
  return match ? modelKeyOf(match.model) : name.trim().toLowerCase();
}

/** The organization's own price of the model that a name resolves to, else of the name itself. */
function ownPrice(
  own: OwnPrices,
  { modelUsed = '', providerUsed }: ReportedModel,
  model: CatalogModel | null,
): RateCard | null {
  if (own.size === 0) return null;
  const name = modelUsed.trim().toLowerCase();
  const candidates = [
    ...(model ? [modelKeyOf(model)] : []),
    name,
    ...(providerUsed === undefined ? [] : [`${providerUsed.toLowerCase()}/${name}`]),
  ];
  for (const candidate of candidates) {
    const card = own.get(candidate);
    if (card) return card;
  }
  return null;
}

/** The rate card of a model at a time; `null` if the catalog has no price. */
export async function cardOn(model: CatalogModel, nowMs: number): Promise<RateCard | null> {
  return model.pricing ? rateCard(model, model.pricing, nowMs) : null;
}

/** The pricing at a time: scheduled changes that have taken effect are applied, and the schedule is removed. */
export function pricingAt(pricing: CatalogPricing, nowMs: number): CatalogPricing {
  const { scheduled: _scheduled, ...current } = pricing;
  return Object.assign(current, ...effectiveChanges(pricing, nowMs).map(({ from: _from, ...change }) => change));
}

/** The scheduled changes that have taken effect, in order. */
function effectiveChanges({ scheduled = [] }: CatalogPricing, nowMs: number): NonNullable<CatalogPricing['scheduled']> {
  const effective = scheduled.filter(({ from }) => Date.parse(`${from}T00:00:00Z`) <= nowMs);
  return effective.toSorted((a, b) => (a.from < b.from ? -1 : 1));
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

/** Caches the latest card of each model, with the number of scheduled changes that had taken effect. */
const cards = new WeakMap<CatalogModel, { effective: number; card: RateCard }>();

async function rateCard(model: CatalogModel, pricing: CatalogPricing, nowMs: number): Promise<RateCard> {
  const effective = effectiveChanges(pricing, nowMs).length;
  const known = cards.get(model);
  if (known?.effective === effective) return known.card;
  const current = pricingAt(pricing, nowMs);
  const card: RateCard = {
    snapshotId: await snapshotIdOf(model, current),
    provider: model.provider,
    modelKey: modelKeyOf(model),
    rates: {
      ...exactRates(current),
      ...(current.searchUsdPerMillion === undefined ? {} : { search: rateFromUsd(current.searchUsdPerMillion) }),
      ...(current.audioSecondUsdPerMillion === undefined
        ? {}
        : { audioSecond: rateFromUsd(current.audioSecondUsdPerMillion) }),
    },
    tiers: (current.tiers ?? []).map((tier) => ({ inputTokensAbove: tier.inputTokensAbove, rates: exactRates(tier) })),
  };
  cards.set(model, { effective, card });
  return card;
}

function exactRates(rates: CatalogRates): Rates {
  return {
    input: rateFromUsd(rates.inputUsdPerMillion),
    output: rateFromUsd(rates.outputUsdPerMillion),
    ...(rates.cachedInputUsdPerMillion === undefined
      ? {}
      : { cachedInput: rateFromUsd(rates.cachedInputUsdPerMillion) }),
    ...(rates.cacheWriteUsdPerMillion === undefined ? {} : { cacheWrite: rateFromUsd(rates.cacheWriteUsdPerMillion) }),
  };
}

/** The hash covers only the rates: correcting a source text is not a new price. */
async function snapshotIdOf(model: CatalogModel, pricing: CatalogPricing): Promise<string> {
  const { source: _source, batchMultiplier: _batch, ...rates } = pricing;
  return `${modelKeyOf(model)}@${(await sha256Hex(canonicalJson(rates))).slice(0, 12)}`;
}
