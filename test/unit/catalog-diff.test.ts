/**
 * The differences between two catalogs name every changed model, under the kind of change, once, and always in the same
 * order.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { diffCatalogs } from '../../src/catalog/diff.ts';
import { type CatalogModel, modelKeyOf } from '../../src/catalog/model.ts';
import type { CatalogFacts } from '../../src/catalog/validate.ts';

const NOTHING = { added: [], removed: [], repriced: [], lifecycle: [], other: [] };
const KEY = 'openai/gpt-5.6-sol';
const SOL = BUILT_IN_CATALOG.models.find((model) => modelKeyOf(model) === KEY) as CatalogModel;

function changed(change: (model: CatalogModel) => CatalogModel): CatalogFacts {
  return {
    ...BUILT_IN_CATALOG,
    models: BUILT_IN_CATALOG.models.map((model) => (model === SOL ? change(model) : model)),
  };
}

const pricing = (facts: object) =>
  changed((model) => ({ ...model, pricing: { ...model.pricing, ...facts } as CatalogModel['pricing'] }));
const lifecycle = (facts: object) => changed((model) => ({ ...model, lifecycle: { ...model.lifecycle, ...facts } }));

test('a catalog does not differ from itself, whatever the order of its members', () => {
  const shuffled = changed((model) => Object.fromEntries(Object.entries(model).reverse()) as CatalogModel);
  expect(diffCatalogs(BUILT_IN_CATALOG, BUILT_IN_CATALOG)).toEqual(NOTHING);
  expect(diffCatalogs(BUILT_IN_CATALOG, shuffled)).toEqual(NOTHING);
});

test('added and removed models are listed in order', () => {
  const [some, others] = [BUILT_IN_CATALOG.models.slice(0, 308), BUILT_IN_CATALOG.models.slice(2)];
  const last = BUILT_IN_CATALOG.models.slice(308).map(modelKeyOf);
  expect(diffCatalogs({ models: some }, { models: others.toReversed() })).toEqual({
    ...NOTHING,
    added: last,
    removed: ['anthropic/claude-1', 'anthropic/claude-1.0'],
  });
});

test.each([
  ['a rate', { inputUsdPerMillion: 4.5 }],
  ['a tier', { tiers: undefined }],
  ['an announced change', { scheduled: [{ from: '2027-06-01', inputUsdPerMillion: 3 }] }],
  ['the batch share', { batchMultiplier: 0.4 }],
])('%s is a price', (_of, facts) => {
  const after = pricing({ ...facts, source: 'elsewhere' });
  const is = after.models.find((model) => modelKeyOf(model) === KEY)?.pricing;
  expect(diffCatalogs(BUILT_IN_CATALOG, after)).toEqual({
    ...NOTHING,
    repriced: [{ modelKey: KEY, before: SOL.pricing, after: is }],
  });
});

test('a price that becomes known or unknown has null on the other side', () => {
  const without = changed(({ pricing: _pricing, ...model }) => model);
  expect(diffCatalogs(BUILT_IN_CATALOG, without).repriced).toEqual([
    { modelKey: KEY, before: SOL.pricing, after: null },
  ]);
  expect(diffCatalogs(without, BUILT_IN_CATALOG).repriced).toEqual([
    { modelKey: KEY, before: null, after: SOL.pricing },
  ]);
});

test.each([
  ['status', { status: 'DEPRECATED' }],
  ['a date', { shutdownAt: '2027-06-01' }],
  ['the replacement', { replacement: 'openai/gpt-5' }],
  ['the confidence', { confidence: 'secondary' }],
])('%s is lifecycle', (_of, facts) => {
  const after = lifecycle({ ...facts, note: 'new evidence' });
  expect(diffCatalogs(BUILT_IN_CATALOG, after)).toEqual({
    ...NOTHING,
    lifecycle: [{ modelKey: KEY, before: SOL.lifecycle, after: { ...SOL.lifecycle, ...facts, note: 'new evidence' } }],
  });
});

describe('all other changes are listed as other', () => {
  const checkedAgain = { source: { ...SOL.lifecycle.source, checkedAt: '2026-11-21' } };
  test.each<[string, CatalogFacts]>([
    ['a limit', changed((model) => ({ ...model, contextTokens: 1 }))],
    ['a capability', changed((model) => ({ ...model, capabilities: [] }))],
    ['an alias', changed((model) => ({ ...model, aliases: ['sol'] }))],
    ['the source of the same price', pricing({ source: 'elsewhere' })],
    ['the source of the same lifecycle', lifecycle(checkedAgain)],
    ['the note of the same lifecycle', lifecycle({ note: 'seen again' })],
  ])('%s', (_of, after) => {
    expect(diffCatalogs(BUILT_IN_CATALOG, after)).toEqual({ ...NOTHING, other: [KEY] });
  });

  test('transitions are compared if both catalogs have them', () => {
    const [first, ...rest] = BUILT_IN_CATALOG.transitions;
    const after = { ...BUILT_IN_CATALOG, transitions: rest };
    expect(diffCatalogs(BUILT_IN_CATALOG, after)).toEqual({
      ...NOTHING,
      other: [`${first?.provider}/${first?.model}`],
    });
    expect(diffCatalogs(BUILT_IN_CATALOG, { models: BUILT_IN_CATALOG.models })).toEqual(NOTHING);
  });
});

test('a reversed comparison swaps added and removed', () => {
  const some = fc.subarray([...BUILT_IN_CATALOG.models]);
  fc.assert(
    fc.property(some, some, (a, b) => {
      const there = diffCatalogs({ models: a }, { models: b });
      const back = diffCatalogs({ models: b }, { models: a });
      expect([there.added, there.removed]).toEqual([back.removed, back.added]);
      expect(there.added).toHaveLength(b.filter((model) => !a.includes(model)).length);
    }),
    { numRuns: 30 },
  );
});
