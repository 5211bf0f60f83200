/**
 * Statements of packages and lists about models that the catalog lacks: unknown ids, shutdown dates that it lacks or
 * has with another day, and prices that differ. Pure. They do not change the catalog: a person reads the source first.
 */
import { lookUpModel, matchModel } from './matching.ts';
import { type Catalog, type CatalogModel, modelKeyOf, type Provider, type ReportedEnd } from './model.ts';
import { pricingAt } from './prices.ts';

/** The statements of a package version, or of a list, about a provider's models. */
export interface SourceFacts {
  /** For example `@anthropic-ai/sdk 1.14.0 of 2026-11-24`. */
  source: string;
  /** Day on which the version was published; for a list, the day that it names, or on which it was read. */
  date: string;
  provider: Provider;
  /** Ids of models, in the form that the provider's API takes. */
  ids: readonly string[];
  /** Days of shutdown, by id. */
  ends: Readonly<Record<string, string>>;
  /** USD per million tokens, by id; zero or absent means unknown. */
  prices: Readonly<Record<string, SourcePrice>>;
}

export interface SourcePrice {
  input: number;
  output: number;
  cachedInput?: number | undefined;
  cacheWrite?: number | undefined;
}

interface Reported {
  /** The versions and lists that report it, the newest first. */
  reportedBy: string[];
}

export interface CatalogNews {
  /** Ids that do not name a model of the catalog. */
  missing: (Reported & { modelKey: string; nearest: string | null })[];
  /** Shutdown dates that the catalog lacks, or has with another day. */
  ends: ReportedEnd[];
  /** Rates that differ from those in force on the day of the source. */
  prices: (Reported & { modelKey: string; rate: keyof SourcePrice; usdPerMillion: number; ours: number | null })[];
}

const RATES = {
  input: 'inputUsdPerMillion',
  output: 'outputUsdPerMillion',
  cachedInput: 'cachedInputUsdPerMillion',
  cacheWrite: 'cacheWriteUsdPerMillion',
} as const;

/**
 * The statements of `sources` that the catalog lacks or contradicts, by model; equal statements of several sources are
 * one item.
 */
export function catalogNews(catalog: Catalog, sources: readonly SourceFacts[]): CatalogNews {
  const newestFirst = sources.toSorted((a, b) => Number(a.date < b.date) - Number(a.date > b.date));
  return {
    missing: merged(newestFirst, (facts) => missingFrom(catalog, facts)),
    ends: merged(newestFirst, (facts) => endsIn(catalog, facts)),
    prices: merged(newestFirst, (facts) => pricesIn(catalog, facts)),
  };
}

/**
 * The items of `news` that are not in `told`, from any source: at most `max`, first the shutdown dates, then the
 * models, then the prices. `more` is the number of remaining items.
 */
export function untoldNews(
  news: CatalogNews,
  told: readonly CatalogNews[],
  max: number,
): CatalogNews & { more: number } {
  const known = new Set(told.flatMap(listClaims));
  const isNew = (claim: string) => !known.has(claim);
  const ends = news.ends.filter((end) => isNew(claimOfEnd(end)));
  const missing = news.missing.filter((model) => isNew(claimOfModel(model)));
  const prices = news.prices.filter((price) => isNew(claimOfPrice(price)));
  const shown = {
    ends: ends.slice(0, max),
    missing: missing.slice(0, Math.max(0, max - ends.length)),
    prices: prices.slice(0, Math.max(0, max - ends.length - missing.length)),
  };
  return { ...shown, more: countNews({ ends, missing, prices }) - countNews(shown) };
}

export function countNews({ ends, missing, prices }: CatalogNews): number {
  return ends.length + missing.length + prices.length;
}

/** The claim, without the catalog's own date, which may change. */
const claimOfEnd = ({ modelKey, shutdownAt }: CatalogNews['ends'][number]) => `${modelKey} ends ${shutdownAt}`;
const claimOfModel = ({ modelKey }: CatalogNews['missing'][number]) => modelKey;
const claimOfPrice = ({ modelKey, rate, usdPerMillion }: CatalogNews['prices'][number]) =>
  `${modelKey} ${rate} ${usdPerMillion}`;

function listClaims({ ends, missing, prices }: CatalogNews): string[] {
  return [...ends.map(claimOfEnd), ...missing.map(claimOfModel), ...prices.map(claimOfPrice)];
}

/** The items of all sources by their statements, sorted. */
function merged<Item extends object>(
  sources: readonly SourceFacts[],
  readItems: (facts: SourceFacts) => Item[],
): (Item & Reported)[] {
  const all = sources.flatMap((facts) =>
    readItems(facts).map((item) => ({ item, said: JSON.stringify(item), source: facts.source })),
  );
  return [...Map.groupBy(all, ({ said }) => said)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, [first, ...others]]) =>
      first ? [{ ...first.item, reportedBy: [first, ...others].map(({ source }) => source) }] : [],
    );
}

function found(catalog: Catalog, { provider, date }: SourceFacts, id: string): CatalogModel | null {
  const model = matchModel(catalog, id, Date.parse(date))?.model;
  return model?.provider === provider ? model : null;
}

function missingFrom(catalog: Catalog, facts: SourceFacts) {
  const { provider, date } = facts;
  const ids = new Set([...facts.ids, ...Object.keys(facts.ends), ...Object.keys(facts.prices)]);
  return (
    [...ids]
      // A provider may also sell other providers' models.
      .filter((id) => matchModel(catalog, id, Date.parse(date)) === null)
      .map((id) => {
        const nearest = lookUpModel(catalog, id, Date.parse(date), provider)?.model;
        return { modelKey: `${provider}/${id}`, nearest: nearest ? modelKeyOf(nearest) : null };
      })
  );
}

function endsIn(catalog: Catalog, facts: SourceFacts) {
  const byKey = new Map<string, { modelKey: string; shutdownAt: string; ours: string | null }>();
  for (const [id, shutdownAt] of Object.entries(facts.ends)) {
    const model = found(catalog, facts, id);
    const ours = model?.lifecycle.shutdownAt ?? null;
    if (model && ours !== shutdownAt) byKey.set(modelKeyOf(model), { modelKey: modelKeyOf(model), shutdownAt, ours });
  }
  return [...byKey.values()];
}

function pricesIn(catalog: Catalog, facts: SourceFacts) {
  return Object.entries(facts.prices).flatMap(([id, price]) => {
    const model = found(catalog, facts, id);
    if (!model) return [];
    const inForce = model.pricing && pricingAt(model.pricing, Date.parse(facts.date));
    return Object.entries(RATES).flatMap(([name, field]) => {
      const rate = name as keyof SourcePrice;
      const usdPerMillion = price[rate] ?? 0;
      const ours = inForce?.[field] ?? null;
      return usdPerMillion > 0 && ours !== usdPerMillion
        ? [{ modelKey: modelKeyOf(model), rate, usdPerMillion, ours }]
        : [];
    });
  });
}
