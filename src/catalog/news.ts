/**
 * What packages say of models that the catalog does not: ids that it lacks, ends that it does not have or dates otherwise, and
 * prices that differ. Pure. Nothing of it changes the catalog: a person reads the source first.
 */
import { lookUpModel, matchModel } from './matching.ts';
import { type Catalog, type CatalogModel, modelKeyOf, type Provider } from './model.ts';
import { pricingAt } from './prices.ts';

/** What a version of a package says. */
export interface PackageFacts {
  /** As in `@anthropic-ai/sdk 1.14.0 of 2026-11-24`. */
  source: string;
  /** Day on which the version was published. */
  date: string;
  provider: Provider;
  /** Ids of models, as the provider's API takes them. */
  ids: readonly string[];
  /** Days of shutdown, by id. */
  ends: Readonly<Record<string, string>>;
  /** USD per million tokens, by id; what is zero or absent is unknown. */
  prices: Readonly<Record<string, PackagePrice>>;
}

export interface PackagePrice {
  input: number;
  output: number;
  cachedInput?: number | undefined;
  cacheWrite?: number | undefined;
}

interface Reported {
  /** Versions that say so, the newest first. */
  reportedBy: string[];
}

export interface CatalogNews {
  /** Ids that name no model of the catalog. */
  missing: (Reported & { modelKey: string; nearest: string | null })[];
  /** Ends that the catalog does not have, or has on another day. */
  ends: (Reported & { modelKey: string; shutdownAt: string; ours: string | null })[];
  /** Rates that differ from those in force on the day of the package. */
  prices: (Reported & { modelKey: string; rate: keyof PackagePrice; usdPerMillion: number; ours: number | null })[];
}

const RATES = {
  input: 'inputUsdPerMillion',
  output: 'outputUsdPerMillion',
  cachedInput: 'cachedInputUsdPerMillion',
  cacheWrite: 'cacheWriteUsdPerMillion',
} as const;

/** What `packages` have and the catalog lacks or contradicts, by model; what several say alike is one item. */
export function catalogNews(catalog: Catalog, packages: readonly PackageFacts[]): CatalogNews {
  const newestFirst = packages.toSorted((a, b) => Number(a.date < b.date) - Number(a.date > b.date));
  return {
    missing: merged(newestFirst, (facts) => missingFrom(catalog, facts)),
    ends: merged(newestFirst, (facts) => endsIn(catalog, facts)),
    prices: merged(newestFirst, (facts) => pricesIn(catalog, facts)),
  };
}

/** The items of all packages by what they say, sorted. */
function merged<Item extends object>(
  packages: readonly PackageFacts[],
  itemsOf: (facts: PackageFacts) => Item[],
): (Item & Reported)[] {
  const all = packages.flatMap((facts) =>
    itemsOf(facts).map((item) => ({ item, said: JSON.stringify(item), source: facts.source })),
  );
  return [...Map.groupBy(all, ({ said }) => said)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, [first, ...others]]) =>
      first ? [{ ...first.item, reportedBy: [first, ...others].map(({ source }) => source) }] : [],
    );
}

function found(catalog: Catalog, { provider, date }: PackageFacts, id: string): CatalogModel | null {
  const model = matchModel(catalog, id, Date.parse(date))?.model;
  return model?.provider === provider ? model : null;
}

function missingFrom(catalog: Catalog, facts: PackageFacts) {
  const { provider, date } = facts;
  const ids = new Set([...facts.ids, ...Object.keys(facts.ends), ...Object.keys(facts.prices)]);
  return [...ids]
    .filter((id) => found(catalog, facts, id) === null)
    .map((id) => {
      const nearest = lookUpModel(catalog, id, Date.parse(date), provider)?.model;
      return { modelKey: `${provider}/${id}`, nearest: nearest ? modelKeyOf(nearest) : null };
    });
}

function endsIn(catalog: Catalog, facts: PackageFacts) {
  const byKey = new Map<string, { modelKey: string; shutdownAt: string; ours: string | null }>();
  for (const [id, shutdownAt] of Object.entries(facts.ends)) {
    const model = found(catalog, facts, id);
    const ours = model?.lifecycle.shutdownAt ?? null;
    if (model && ours !== shutdownAt) byKey.set(modelKeyOf(model), { modelKey: modelKeyOf(model), shutdownAt, ours });
  }
  return [...byKey.values()];
}

function pricesIn(catalog: Catalog, facts: PackageFacts) {
  return Object.entries(facts.prices).flatMap(([id, price]) => {
    const model = found(catalog, facts, id);
    if (!model) return [];
    const inForce = model.pricing && pricingAt(model.pricing, Date.parse(facts.date));
    return Object.entries(RATES).flatMap(([name, field]) => {
      const rate = name as keyof PackagePrice;
      const usdPerMillion = price[rate] ?? 0;
      const ours = inForce?.[field] ?? null;
      return usdPerMillion > 0 && ours !== usdPerMillion
        ? [{ modelKey: modelKeyOf(model), rate, usdPerMillion, ours }]
        : [];
    });
  });
}
