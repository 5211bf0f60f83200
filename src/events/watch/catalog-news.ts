/**
 * News of a catalog release that has just come into use: its publication, and the changed prices of models in use. The
 * first look of a watch only remembers the release in use.
 */
import { diffCatalogs } from '../../catalog/diff.ts';
import { type OwnPrices, ownPriceKey } from '../../catalog/prices.ts';
import { readRelease } from '../../config/catalog.ts';
import { loadOrganization } from '../../config/credentials.ts';
import type { CatalogDifferences } from '../../contract/catalog.ts';
import { itemKey, type NamedUse, type RadarView } from '../../readings/radar/models.ts';
import { type Found, type Look, memoryKey, type News, NO_NEWS } from './look.ts';

const RELEASE = memoryKey('catalog');

interface Release {
  version: string;
  publishedAtMs: number;
}

export async function catalogNews(
  { env, organizationId, nowMs, memory }: Look,
  view: RadarView,
  uses: readonly NamedUse[],
): Promise<News> {
  const { version, publishedAtMs } = view.catalog;
  const remember = [{ key: RELEASE, value: JSON.stringify({ version, publishedAtMs }), untilMs: null }];
  const stored = memory.get(RELEASE);
  if (stored === null) return { remember };
  const seen = JSON.parse(stored) as Release;
  // If the store of catalogs is behind, or unavailable, an older release is in use for a while.
  if (seen.version === version || publishedAtMs < seen.publishedAtMs) return NO_NEWS;
  const before = await readRelease(env, seen.version);
  const differences = before && diffCatalogs(before, view.catalog);
  const prices = (await loadOrganization(env, organizationId))?.prices ?? new Map();
  const repriced = differences ? changedPrices(differences, view, prices, uses) : [];
  return { events: [published(view, seen.version, differences, nowMs), ...repriced], remember };
}

function published(
  { catalog }: RadarView,
  previousVersion: string,
  differences: CatalogDifferences | null,
  atMs: number,
): Found {
  const countDifferences = (list: keyof CatalogDifferences) => differences?.[list].length ?? null;
  return {
    type: 'catalog.published',
    atMs,
    data: {
      version: catalog.version,
      previousVersion,
      publishedAt: new Date(catalog.publishedAtMs).toISOString(),
      added: countDifferences('added'),
      removed: countDifferences('removed'),
      repriced: countDifferences('repriced'),
      lifecycle: countDifferences('lifecycle'),
    },
  };
}

/** The models in use with another price, except those that the organization prices itself. */
export function changedPrices(
  { repriced }: CatalogDifferences,
  view: RadarView,
  prices: OwnPrices,
  uses: readonly NamedUse[],
): Found[] {
  const { catalog, nowMs } = view;
  const hasOwn = (name: string) =>
    prices.get(ownPriceKey(catalog, name, nowMs))?.some(({ fromMs }) => fromMs <= nowMs) ?? false;
  const used = new Set(uses.filter(({ key }) => key !== '' && !hasOwn(key)).map(({ key }) => itemKey(view, key)));
  return repriced
    .filter(({ modelKey }) => used.has(modelKey))
    .map(({ modelKey, before, after }) => ({
      type: 'price.changed',
      atMs: nowMs,
      data: { modelKey, source: 'catalog', effectiveFrom: null, before, after },
    }));
}
