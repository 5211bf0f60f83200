/**
 * Exact, identified prices out of the catalog: the rate card of a model at a time, and the snapshot it is recorded as.
 *
 * A snapshot id is `provider/model@` and a hash of the rates, so the same rates always have the same id and other
 * rates another one. A scheduled change is in force from the start of its UTC day.
 */
import { canonicalJson } from '../domain/canonical.ts';
import { type RateCard, type Rates, type ResolvedPrice, rateFromUsd } from '../domain/pricing.ts';
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

/** What a call reports of the model that ran. */
export interface ReportedModel {
  modelUsed?: string | undefined;
  providerUsed?: string | undefined;
}

/** Prices that win over the catalog, by `ownPriceKey`. */
export type OwnPrices = ReadonlyMap<string, RateCard>;

/** The price of the model that a call reported, at `nowMs`: the organization's own, else the catalog's. */
export async function resolvePrice(
  catalog: Catalog,
  own: OwnPrices,
  reported: ReportedModel,
  nowMs: number,
): Promise<ResolvedPrice> {
  if (reported.modelUsed === undefined) return { available: false, reason: 'MODEL_NOT_REPORTED' };
  const match = matchModel(catalog, reported.modelUsed);
  const card = ownPrice(own, reported, match?.model ?? null) ?? (match && (await cardOn(match.model, nowMs)));
  if (card) return { available: true, card };
  return { available: false, reason: match ? 'PRICE_NOT_IN_CATALOG' : 'MODEL_NOT_IN_CATALOG' };
}

/** The name under which a model's own price is kept: its key in the catalog, or the reported name in lower case. */
export function ownPriceKey(catalog: Catalog, name: string): string {
  const match = matchModel(catalog, name);
  return match ? modelKeyOf(match.model) : name.trim().toLowerCase();
}

/** The own price of the model that a name means, else the one of the name itself. */
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

/** The rate card of a model at a time; `null` where the catalog has no price of it. */
export async function cardOn(model: CatalogModel, nowMs: number): Promise<RateCard | null> {
  return model.pricing ? rateCard(model, model.pricing, nowMs) : null;
}

/** The pricing with every scheduled change applied whose day has begun, and without the schedule. */
export function pricingAt(pricing: CatalogPricing, nowMs: number): CatalogPricing {
  const { scheduled: _scheduled, ...current } = pricing;
  return Object.assign(current, ...begunChanges(pricing, nowMs).map(({ from: _from, ...change }) => change));
}

/** The scheduled changes whose day has begun, in order. */
function begunChanges({ scheduled = [] }: CatalogPricing, nowMs: number): NonNullable<CatalogPricing['scheduled']> {
  const begun = scheduled.filter(({ from }) => Date.parse(`${from}T00:00:00Z`) <= nowMs);
  return begun.toSorted((a, b) => (a.from < b.from ? -1 : 1));
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

/** The last card of each model, by the number of scheduled changes that had begun. */
const cards = new WeakMap<CatalogModel, { begun: number; card: RateCard }>();

async function rateCard(model: CatalogModel, pricing: CatalogPricing, nowMs: number): Promise<RateCard> {
  const begun = begunChanges(pricing, nowMs).length;
  const known = cards.get(model);
  if (known?.begun === begun) return known.card;
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
  cards.set(model, { begun, card });
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

/** The hash covers the rates alone: a corrected source text is not another price. */
async function snapshotIdOf(model: CatalogModel, pricing: CatalogPricing): Promise<string> {
  const { source: _source, batchMultiplier: _batch, ...rates } = pricing;
  return `${modelKeyOf(model)}@${(await sha256Hex(canonicalJson(rates))).slice(0, 12)}`;
}
