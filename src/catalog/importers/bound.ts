/**
 * How much an import may change without review by a person: a broken or manipulated upstream must not set prices
 * automatically.
 */
import type { CatalogModel, CatalogPricing, CatalogRates } from '../model.ts';
import type { ImportReport } from './merge.ts';

/** Maximum share of priced models whose price changes. */
const REPRICED_SHARE_MAX = 0.1;
/** Maximum factor by which a rate rises or falls. */
export const PRICE_FACTOR_MAX = 3;
/** Maximum number of added models. */
export const ADDED_MAX = 50;

/**
 * The reason why an import must not be published automatically; `null` if it may be. `models` is the catalog before the
 * import.
 */
export function changeBound(report: ImportReport, models: readonly CatalogModel[]): string | null {
  if (report.added.length > ADDED_MAX) return `${report.added.length} models are added, more than ${ADDED_MAX}`;
  const priced = models.filter(({ pricing }) => pricing).length;
  if (report.repriced.length > priced * REPRICED_SHARE_MAX) {
    return `${report.repriced.length} of ${priced} priced models are repriced, more than ${REPRICED_SHARE_MAX * 100} %`;
  }
  for (const { modelKey, before, after } of report.repriced) {
    const change = before && leap(before, after);
    if (change) return `${modelKey}: ${change}, more than a factor of ${PRICE_FACTOR_MAX}`;
  }
  return null;
}

/** The first rate that changes too much, for short prompts and for prompts just above each tier's threshold. */
function leap(before: CatalogPricing, after: CatalogPricing): string | null {
  const thresholds = [...(before.tiers ?? []), ...(after.tiers ?? [])].map(({ inputTokensAbove }) => inputTokensAbove);
  for (const inputTokens of [0, ...thresholds.sort((a, b) => a - b).map((threshold) => threshold + 1)]) {
    const was = ratesForPrompt(before, inputTokens);
    const is = ratesForPrompt(after, inputTokens);
    for (const rate of Object.keys(is) as (keyof typeof is)[]) {
      const [old, now] = [was[rate], is[rate]];
      if (old === undefined || now === undefined || withinFactor(old, now)) continue;
      return `${rate} goes from ${old} to ${now}`;
    }
  }
  return null;
}

/** All rates that apply to a prompt. If the cache-write rate is unknown, the input rate replaces it, as in a cost. */
function ratesForPrompt(pricing: CatalogPricing, inputTokens: number) {
  const tier = pricing.tiers?.findLast(({ inputTokensAbove }) => inputTokens > inputTokensAbove);
  const { inputUsdPerMillion, outputUsdPerMillion, cachedInputUsdPerMillion, cacheWriteUsdPerMillion }: CatalogRates =
    tier ?? pricing;
  return {
    inputUsdPerMillion,
    outputUsdPerMillion,
    cachedInputUsdPerMillion,
    cacheWriteUsdPerMillion: cacheWriteUsdPerMillion ?? inputUsdPerMillion,
    imageOutputUsdPerMillion: pricing.imageOutputUsdPerMillion,
    batchMultiplier: pricing.batchMultiplier ?? 1,
  };
}

function withinFactor(old: number, now: number): boolean {
  return now <= old * PRICE_FACTOR_MAX && old <= now * PRICE_FACTOR_MAX;
}
