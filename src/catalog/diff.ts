/**
 * Differences between two catalogs by model, sorted by key.
 *
 * Prices are compared by their rates, lifecycles by status, dates, replacement and confidence. Sources count as other
 * facts, so that reading a page again does not look like a change. Transitions are compared if both catalogs have them.
 */
import type { CatalogDifferences } from '../contract/catalog.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { type CatalogModel, type CatalogPricing, type Lifecycle, modelKeyOf, type Transition } from './model.ts';
import type { CatalogFacts } from './validate.ts';

interface Pair {
  modelKey: string;
  before: CatalogModel;
  after: CatalogModel;
}

export function diffCatalogs(before: CatalogFacts, after: CatalogFacts): CatalogDifferences {
  const old = new Map(before.models.map((model) => [modelKeyOf(model), model]));
  const now = new Map(after.models.map((model) => [modelKeyOf(model), model]));
  const pairs = [...old].flatMap(([modelKey, model]): Pair[] => {
    const successor = now.get(modelKey);
    return successor ? [{ modelKey, before: model, after: successor }] : [];
  });
  pairs.sort((a, b) => (a.modelKey < b.modelKey ? -1 : 1));
  const moved = movedTransitions(before.transitions, after.transitions);
  return {
    added: [...now.keys()].filter((key) => !old.has(key)).sort(),
    removed: [...old.keys()].filter((key) => !now.has(key)).sort(),
    repriced: pairs.filter(isRepriced).map((pair) => ({
      modelKey: pair.modelKey,
      before: pair.before.pricing ?? null,
      after: pair.after.pricing ?? null,
    })),
    lifecycle: pairs.filter(isRedated).map((pair) => ({
      modelKey: pair.modelKey,
      before: pair.before.lifecycle,
      after: pair.after.lifecycle,
    })),
    other: pairs.filter((pair) => isOtherwiseChanged(pair, moved(pair.modelKey))).map(({ modelKey }) => modelKey),
  };
}

/** Whether two prices have the same rates, whatever their sources. */
export function sameRates(a: CatalogPricing | undefined, b: CatalogPricing | undefined): boolean {
  return same(a && { ...a, source: '' }, b && { ...b, source: '' });
}

function isRepriced({ before, after }: Pair): boolean {
  return !sameRates(before.pricing, after.pricing);
}

function isRedated({ before, after }: Pair): boolean {
  return !same(comparedLifecycle(before.lifecycle), comparedLifecycle(after.lifecycle));
}

/** A new source counts as a change only if it did not come with a new price or lifecycle. */
function isOtherwiseChanged(pair: Pair, transitionsMoved: boolean): boolean {
  const { before, after } = pair;
  const { pricing: _oldPricing, lifecycle: _oldLifecycle, ...old } = before;
  const { pricing: _pricing, lifecycle: _lifecycle, ...now } = after;
  if (!same(old, now)) return true;
  if (!isRepriced(pair) && before.pricing?.source !== after.pricing?.source) return true;
  return (
    !isRedated(pair) &&
    (transitionsMoved || !same(lifecycleEvidence(before.lifecycle), lifecycleEvidence(after.lifecycle)))
  );
}

function comparedLifecycle({ source: _source, note: _note, replacementEvidence, ...course }: Lifecycle) {
  return { ...course, replacementConfidence: replacementEvidence?.confidence };
}

function lifecycleEvidence({ source, note, replacementEvidence }: Lifecycle) {
  return { source, note, replacementSource: replacementEvidence?.source };
}

function movedTransitions(before: readonly Transition[] | undefined, after: readonly Transition[] | undefined) {
  if (!before || !after) return () => false;
  const old = Map.groupBy(before, modelKeyOf);
  const now = Map.groupBy(after, modelKeyOf);
  return (modelKey: string) => !same(old.get(modelKey), now.get(modelKey));
}

function same(a: unknown, b: unknown): boolean {
  return canonicalJson(a ?? null) === canonicalJson(b ?? null);
}
