/**
 * The packages as they were on 2026-11-23, cut to the parts that are read: Anthropic's SDK of that day announced the
 * end of Claude Opus 4.5, and the catalog that was released that day did not have it.
 */
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import type { Said } from '../../src/catalog/lists.ts';
import type { Catalog, CatalogModel } from '../../src/catalog/model.ts';
import { WATCHED_PACKAGES } from '../../src/cli/package-facts.ts';
import fixture from '../fixtures/packages-2026-11-23.json' with { type: 'json' };

export interface CutPackage {
  version: string;
  date: string;
  files: Record<string, string>;
}

export const PACKAGES = new Map(Object.entries(fixture as unknown as Record<string, CutPackage>));

export const OPUS = 'claude-opus-4-5-20251101';

/** The statements in the files of a package. */
export async function saidBy(name: string, files = PACKAGES.get(name)?.files ?? {}): Promise<Said[]> {
  return (await WATCHED_PACKAGES.get(name)?.(async (path) => files[path] ?? null)) ?? [];
}

/** The catalog with one model otherwise. */
export function catalogWith(
  name: string,
  change: (model: CatalogModel) => CatalogModel,
  of = BUILT_IN_CATALOG,
): Catalog {
  const models = of.models.map((model) => (model.model === name ? change(structuredClone(model)) : model));
  return { ...of, models };
}

/** Opus 4.5 as the catalog of that day had it. */
export function beforeTheNotice(model: CatalogModel): CatalogModel {
  const { source, confidence } = model.lifecycle;
  return { ...model, lifecycle: { status: 'ACTIVE', earliestShutdownAt: '2026-11-24', source, confidence } };
}
