/**
 * Shutdown dates that sources name and nobody has confirmed. They are shown beside the catalog's own dates, as
 * "reported by", and never change a status: a person reads the provider's page, and publishes a catalog with the date.
 */

import { statusOn } from './lifecycle.ts';
import { type Catalog, type CatalogModel, modelKeyOf, type ReportedEnd } from './model.ts';
import { catalogNews, type SourceFacts } from './news.ts';

/** The catalog with the shutdown dates of `sources` that differ from its own: the same object if none does. */
export function withReportedEnds(catalog: Catalog, sources: readonly SourceFacts[]): Catalog {
  if (sources.length === 0) return catalog;
  // Names are looked up in the copy, which then already has its index.
  const copy: Catalog = { ...catalog };
  const { ends } = catalogNews(copy, sources);
  if (ends.length === 0) return catalog;
  copy.reportedEnds = Map.groupBy(ends, ({ modelKey }) => modelKey);
  return copy;
}

/** The reported shutdown dates of a model. If it has ended, another past day is of no use. */
export function listReportedEnds(catalog: Catalog, model: CatalogModel, day: string): readonly ReportedEnd[] {
  const reported = catalog.reportedEnds?.get(modelKeyOf(model)) ?? [];
  return statusOn(model, day) === 'RETIRED' ? reported.filter(({ shutdownAt }) => shutdownAt > day) : reported;
}

/** The reported dates of all models, the soonest first. */
export function allReportedEnds(catalog: Catalog, day: string): ReportedEnd[] {
  return catalog.models
    .flatMap((model) => listReportedEnds(catalog, model, day))
    .toSorted((a, b) => Number(a.shutdownAt > b.shutdownAt) - Number(a.shutdownAt < b.shutdownAt));
}

/** "2027-01-22, reported by @anthropic-ai/sdk 1.13.0 of 2026-11-23". */
export function formatReport({ shutdownAt, reportedBy }: ReportedEnd): string {
  return `${shutdownAt}, reported by ${reportedBy.join('; ')}`;
}
