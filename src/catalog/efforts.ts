/**
 * The levels of reasoning effort that a model takes, as the catalog knows them. A model whose capabilities are known
 * and lack `reasoning` takes none: vendors refuse a request that names one.
 */
import { matchModel } from './matching.ts';
import type { Catalog } from './model.ts';

/** `undefined` where the catalog does not know the levels; an empty list where there are none. */
export function effortsOf(catalog: Catalog, name: string, nowMs: number): readonly string[] | undefined {
  const model = matchModel(catalog, name, nowMs)?.model;
  if (model && model.capabilities.length > 0 && !model.capabilities.includes('reasoning')) return [];
  return model?.reasoningEfforts;
}
