/**
 * Exact prices with ids: the rate card of a model at a time, and its price snapshot.
 *
 * A snapshot id is `provider/model@` and a hash of the rates, so equal rates always have the same id, and different
 * rates have different ids. A scheduled change takes effect at the start of its UTC day.
 */

import type { CallPart, PricedPart } from '../domain/call-parts.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { formatUsd, nanoFromUsd } from '../domain/money.ts';
import type { Component, Rate, RateCard, RateConditions } from '../domain/price.ts';
import { buildRate } from '../domain/price.ts';
import { withRelations } from '../domain/price-relations.ts';
import { cardFor, type ResolvedPrice } from '../domain/pricing.ts';
import type { Usage } from '../domain/usage.ts';
import { sha256Hex } from '../platform/hash.ts';
import { type Channel, type Served, servedBy } from './channel.ts';
import { type Match, matchModel } from './matching.ts';
import { type Catalog, type CatalogModel, type CatalogPricing, type CatalogRates, modelKeyOf } from './model.ts';
import { billedAsWhole, regionalPercent, toolUseRates, toPercent } from './provider-rules.ts';
import { variantCard } from './variants.ts';

/** A recorded price, identified by its snapshot id. */
export interface PriceSnapshot {
  snapshotId: string;
  provider: string;
  modelKey: string;
  /** First UTC day on which the rates are in force; `null` for rates without a date in the catalog. */
  effectiveFrom: string | null;
  /** The listed price, with the tool uses that its provider bills at one rate for all of its models. */
  rates: CatalogPricing & { uses?: Rate[] };
  source: string;
  catalogVersion: string;
}

/** The model that ran, as a call reports it. */
export interface ReportedModel {
  modelUsed?: string | undefined;
  providerUsed?: string | undefined;
}

/** The name in a request, and the name in its answer. */
export interface AskedModel extends Pick<ReportedModel, 'providerUsed'> {
  asked: string | undefined;
  served: string | undefined;
}

/** An organization's own price. */
export interface OwnPrice {
  /** The time from which it is in force; 0: always. */
  fromMs: number;
  card: RateCard;
  /** A component that it does not list has no rate, even if the catalog knows one. */
  strict?: boolean | undefined;
}

/** An organization's own prices, which take precedence over the catalog, by `ownPriceKey`; the latest of each first. */
export type OwnPrices = ReadonlyMap<string, readonly OwnPrice[]>;

/**
 * The price of the model that a call reported at `nowMs`: the organization's own price, completed by the catalog's
 * relations, or the catalog's price.
 */
export async function resolvePrice(
  catalog: Catalog,
  own: OwnPrices,
  reported: ReportedModel,
  nowMs: number,
): Promise<ResolvedPrice> {
  const { modelUsed, providerUsed } = reported;
  if (modelUsed === undefined) return { available: false, reason: 'MODEL_NOT_REPORTED' };
  const match = matchModel(catalog, modelUsed, nowMs);
  const served = servedBy(modelUsed, providerUsed);
  const ownFound = ownPrice(own, reported, match?.model ?? null, served, nowMs);
  if (ownFound) {
    const completed = await completeOwnCard(catalog, ownFound.price, match?.model, served, nowMs);
    const card = match?.variant && !ownFound.isOfName ? variantCard(completed, match.variant) : completed;
    const isRelated = card.rates.some(({ relatedTo }) => relatedTo !== undefined);
    return { available: true, card: isRelated ? ofCatalog(catalog, card) : card };
  }
  const card = match && (await cardOn(match.model, nowMs, served.channel));
  if (!match || !card) return { available: false, reason: match ? 'PRICE_NOT_IN_CATALOG' : 'MODEL_NOT_IN_CATALOG' };
  const listed = servedCard(match.model, match.variant ? variantCard(card, match.variant) : card, served);
  const priced = ofCatalog(catalog, listed);
  const assumption = describeAssumption(match, modelUsed);
  return { available: true, card: assumption === null ? priced : { ...priced, assumption } };
}

/** The assumption that the price makes about the model; `null` if the name identifies it. */
function describeAssumption({ model, unlistedPin, newestOfLine }: Match, name: string): string | null {
  const key = modelKeyOf(model);
  if (unlistedPin) return `${name}: the catalog does not list it, and prices it as ${key}`;
  return newestOfLine ? `${name}: a name that moves, priced as ${key}, the newest of its line` : null;
}

/**
 * The name that a call records as its model, by which its price is found at its end and later. If the organization
 * prices the requested name itself, it is that name, whatever the answer says; otherwise the name that served the call,
 * or the requested one if only that has a price.
 */
export async function modelToRecord(
  catalog: Catalog,
  own: OwnPrices,
  { asked, served, providerUsed }: AskedModel,
  nowMs: number,
): Promise<string | undefined> {
  if (asked === undefined || served === undefined || asked === served) return served ?? asked;
  const priceFor = (modelUsed: string) => resolvePrice(catalog, own, { modelUsed, providerUsed }, nowMs);
  const [price, askedPrice, channel] = [await priceFor(served), await priceFor(asked), servedBy(asked, providerUsed)];
  if (!askedPrice.available) return served;
  const match = matchModel(catalog, asked, nowMs);
  const model = match?.model ?? null;
  // An answer names only the model: only the requested name says that it ran in batches or fast.
  if (match?.variant && matchModel(catalog, served, nowMs)?.model === model) return asked;
  const isOwn = ownPrice(own, { modelUsed: asked, providerUsed }, model, channel, nowMs) !== null;
  if (!isOwn) return price.available ? served : asked;
  // If both names have the same price, the name that served is more exact.
  const isSame = price.available && price.card.snapshotId === askedPrice.card.snapshotId;
  return isSame && servedBy(served, providerUsed).region === channel.region ? served : asked;
}

/** Like `resolvePrice`, with only the rates that this usage can need. */
export async function resolvePriceFor(
  catalog: Catalog,
  own: OwnPrices,
  reported: ReportedModel,
  usage: Usage,
  nowMs: number,
): Promise<ResolvedPrice> {
  const price = await resolvePrice(catalog, own, reported, nowMs);
  return price.available ? { available: true, card: cardFor(price.card, usage) } : price;
}

/** Caches the completed card of an own price, with the catalog's card that completed it. */
const completed = new WeakMap<RateCard, { known: RateCard; card: RateCard }>();

/** The card of an own price, completed by the catalog's rates of the model, unless the price is strict. */
async function completeOwnCard(
  catalog: Catalog,
  { card, strict }: OwnPrice,
  matched: CatalogModel | undefined,
  served: Served,
  nowMs: number,
): Promise<RateCard> {
  const model = strict ? undefined : (matched ?? modelBehindVendor(catalog, card.modelKey, nowMs));
  const known = model && (await cardOn(model, nowMs));
  if (!model || !known) return served.region === null ? card : { ...card, region: served.region };
  const before = completed.get(card);
  const now = before?.known === known ? before : { known, card: completeCard(card, known) };
  completed.set(card, now);
  // Unless the catalog knows a regional surcharge, the price applies in all regions.
  return { regionalPercent: card.regionalPercent, ...servedCard(model, now.card, served) };
}

/** Both prices are recorded, and together they determine the rates: so both are in the id. */
function completeCard(own: RateCard, known: RateCard): RateCard {
  return { ...withRelations(own, known), snapshotId: `${own.snapshotId}+${known.snapshotId}` };
}

/** The model of a key that begins with the operator's own name of a vendor. */
function modelBehindVendor(catalog: Catalog, modelKey: string, nowMs: number): CatalogModel | undefined {
  return matchModel(catalog, modelKey.slice(modelKey.indexOf('/') + 1), nowMs)?.model;
}

/** The card; it is marked if the catalog stood in for another one. */
function ofCatalog({ standsIn }: Catalog, card: RateCard): RateCard {
  return standsIn ? { ...card, standsIn } : card;
}

/** The card of a model at its channel. */
function servedCard(model: CatalogModel, card: RateCard, { channel, region }: Served): RateCard {
  if (channel === null && region === null) return card;
  const { regionalPercent: direct, ...rest } = card;
  const percent = pricingOn(model, channel) ? direct : regionalPercent(model, channel);
  return { ...rest, ...(region !== null && { region }), ...(percent !== undefined && { regionalPercent: percent }) };
}

/**
 * The key of a model's own price: its key in the catalog, for a channel `channel/model`, or the name in lower case if
 * the catalog does not have it, or has it as a variant with another price or as a moving name.
 */
export function ownPriceKey(catalog: Catalog, name: string, nowMs: number): string {
  const match = matchModel(catalog, name, nowMs);
  if (!match || match.variant || match.newestOfLine) return name.trim().toLowerCase();
  const { channel } = servedBy(name);
  return channel === null ? modelKeyOf(match.model) : `${channel}/${match.model.model}`;
}

/**
 * The organization's own price of the name itself, otherwise of the model that it resolves to, of its channel first. A
 * price is stored under a name if the catalog did not have it then, or if only that name has that price.
 */
function ownPrice(
  own: OwnPrices,
  { modelUsed = '', providerUsed }: ReportedModel,
  model: CatalogModel | null,
  { channel }: Served,
  nowMs: number,
): { price: OwnPrice; isOfName: boolean } | null {
  if (own.size === 0) return null;
  const name = modelUsed.trim().toLowerCase();
  const keys = model ? [...(channel === null ? [] : [`${channel}/${model.model}`]), modelKeyOf(model)] : [];
  const names = [
    ...(keys.includes(name) ? [] : [name]),
    ...keys,
    ...(providerUsed === undefined ? [] : [`${providerUsed.toLowerCase()}/${name}`]),
  ];
  for (const candidate of names) {
    const price = own.get(candidate)?.find(({ fromMs }) => fromMs <= nowMs);
    if (price) return { price, isOfName: !keys.includes(candidate) };
  }
  return null;
}

/** The rate card of a model at a time, at a channel; `null` if the catalog has no price. */
export async function cardOn(
  model: CatalogModel,
  nowMs: number,
  channel: Channel | null = null,
): Promise<RateCard | null> {
  const there = pricingOn(model, channel);
  if (there) return newCard(model, pricingAt(there, nowMs), toPercent(there.regionalMultiplier));
  return model.pricing ? rateCard(model, model.pricing, nowMs) : null;
}

/** The channel's own price; `null` if it is the provider's. */
function pricingOn({ channels = [] }: CatalogModel, channel: Channel | null): CatalogPricing | undefined {
  return channels.find((own) => own.channel === channel)?.pricing;
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
  const priced = catalog.models.flatMap((model) =>
    [model, ...(model.channels ?? [])].flatMap(({ pricing }) => (pricing ? [{ model, pricing }] : [])),
  );
  for (const { model, pricing } of priced) {
    for (const effectiveFrom of [null, ...(pricing.scheduled ?? []).map(({ from }) => from)]) {
      const atMs = effectiveFrom === null ? Number.NEGATIVE_INFINITY : Date.parse(`${effectiveFrom}T00:00:00Z`);
      const rates = pricingAt(pricing, atMs);
      snapshots.push({
        snapshotId: await hashSnapshot(model, rates),
        provider: model.provider,
        modelKey: modelKeyOf(model),
        effectiveFrom,
        rates: { ...rates, ...(toolUseRates(model).length > 0 && { uses: toolUseRates(model) }) },
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
  const card = await newCard(model, pricingAt(pricing, nowMs), regionalPercent(model, null));
  cards.set(model, { effective, card });
  return card;
}

async function newCard(model: CatalogModel, current: CatalogPricing, percent: number | undefined): Promise<RateCard> {
  const whole = billedAsWhole(model);
  const listed = buildRates(current);
  const uses = toolUseRates(model).filter(({ component }) => !listed.some((rate) => rate.component === component));
  return {
    snapshotId: await hashSnapshot(model, current),
    provider: model.provider,
    modelKey: modelKeyOf(model),
    rates: [...listed, ...uses],
    ...(whole.length > 0 && { billedAsWhole: whole }),
    ...(percent !== undefined && { regionalPercent: percent }),
  };
}

/** A price in the short form: text rates, with those of long prompts, and further components. */
export interface ListedPrice extends Loose<CatalogRates> {
  tiers?: readonly (CatalogRates & { inputTokensAbove: number; assumption?: string | undefined })[] | undefined;
  components?: readonly ListedComponent[] | undefined;
  imageOutputUsdPerMillion?: number | undefined;
  searchUsdPerMillion?: number | undefined;
  audioSecondUsdPerMillion?: number | undefined;
}

type Loose<Fields> = { [Name in keyof Fields]?: Fields[Name] | undefined };

interface ListedComponent {
  component: Component;
  per: 1 | 1_000 | 1_000_000;
  /** Decimal USD. */
  usd: string;
  when?: RateConditions | undefined;
  assumption?: string | undefined;
}

const SHORT_FORM = {
  inputUsdPerMillion: 'input',
  outputUsdPerMillion: 'output',
  cachedInputUsdPerMillion: 'cachedInput',
  cacheWriteUsdPerMillion: 'cacheWrite',
} as const;

const SHORT_USES = {
  imageOutputUsdPerMillion: 'imageOutput',
  searchUsdPerMillion: 'webSearch',
  audioSecondUsdPerMillion: 'audioSeconds',
} as const;

/** The rates of a listed price, as exact amounts. */
export function buildRates(price: ListedPrice): Rate[] {
  const listed = (usd: number | undefined, component: Component, when?: RateConditions) =>
    usd === undefined ? [] : [buildRate(component, formatUsd(nanoFromUsd(usd)), 1_000_000, when)];
  const inShort = (rates: Loose<CatalogRates>, when?: RateConditions) =>
    Object.entries(SHORT_FORM).flatMap(([name, component]) =>
      listed(rates[name as keyof CatalogRates], component, when),
    );
  return [
    ...inShort(price),
    ...(price.tiers ?? []).flatMap(({ inputTokensAbove, assumption, ...tier }) =>
      inShort(tier, { promptTokensAbove: inputTokensAbove }).map((rate) => assumed(rate, assumption)),
    ),
    ...Object.entries(SHORT_USES).flatMap(([name, component]) =>
      listed(price[name as keyof typeof SHORT_USES], component),
    ),
    ...(price.components ?? []).map(({ component, per, usd, when, assumption }) =>
      assumed(buildRate(component, usd, per, when), assumption),
    ),
  ];
}

function assumed(rate: Rate, assumption: string | undefined): Rate {
  return assumption === undefined ? rate : { ...rate, assumption };
}

/** The hash covers only the rates: a corrected source text or a confirmed rate is not a new price. */
async function hashSnapshot(model: CatalogModel, pricing: CatalogPricing): Promise<string> {
  const { source: _source, batchMultiplier: _batch, ...listed } = pricing;
  const uses = toolUseRates(model);
  const rates = {
    ...listed,
    tiers: listed.tiers?.map(withoutAssumption),
    components: listed.components?.map(withoutAssumption),
    ...(uses.length > 0 && { uses }),
  };
  return `${modelKeyOf(model)}@${(await sha256Hex(canonicalJson(rates))).slice(0, 12)}`;
}

function withoutAssumption({ assumption: _assumption, ...stated }: { assumption?: string | undefined }): object {
  return stated;
}

/** The parts of a call, each with its price. */
export function pricedParts(
  catalog: Catalog,
  own: OwnPrices,
  parts: readonly CallPart[],
  atMs: number,
): Promise<PricedPart[]> {
  return Promise.all(
    parts.map(async (part) => ({ ...part, price: await resolvePriceFor(catalog, own, part, part.usage, atMs) })),
  );
}
