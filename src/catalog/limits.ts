/**
 * The limits that a request to a model must respect, according to the catalog: levels of reasoning effort, and numbers
 * of tokens.
 */
import { matchModel } from './matching.ts';
import type { Catalog } from './model.ts';

export interface ModelLimits {
  /**
   * Levels of reasoning effort that the model takes. `undefined` if the catalog does not know them; empty for a model
   * whose capabilities are known and lack `reasoning`: vendors refuse a request that names one.
   */
  efforts: readonly string[] | undefined;
  /**
   * The model may think before it answers, in tokens that the answer does not show; also true if the catalog does not
   * know it.
   */
  reasons: boolean;
  /** The tokens of input and output together. */
  contextTokens: number | undefined;
  maxOutputTokens: number | undefined;
}

export function findModelLimits(catalog: Catalog, name: string, nowMs: number): ModelLimits {
  const model = matchModel(catalog, name, nowMs)?.model;
  const isKnown = model !== undefined && model.capabilities.length > 0;
  const reasons = !isKnown || model.capabilities.includes('reasoning');
  return {
    efforts: reasons ? model?.reasoningEfforts : [],
    reasons,
    contextTokens: model?.contextTokens,
    maxOutputTokens: model?.maxOutputTokens,
  };
}
