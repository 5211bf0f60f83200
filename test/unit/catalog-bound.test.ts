/**
 * An upstream that is broken or tampered with sets no prices by itself: too many changes at once, or one that is too
 * large, wait for a person.
 */
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { ADDED_MAX, changeBound, PRICE_FACTOR_MAX } from '../../src/catalog/importers/bound.ts';
import type { ImportedModel } from '../../src/catalog/importers/imported.ts';
import { mergeImport } from '../../src/catalog/importers/merge.ts';
import type { CatalogPricing } from '../../src/catalog/model.ts';

const { models } = BUILT_IN_CATALOG;

/** The verdict on an import of these entries. */
function verdict(entries: Partial<ImportedModel>[]): string | null {
  const blank = { provider: 'openai', model: 'gpt-7', kind: 'chat', preview: false, ending: false } as const;
  const upstream = {
    url: 'https://example.org/list.json',
    models: entries.map((entry) => ({ ...blank, capabilities: [], ...entry })),
    skipped: [],
  };
  return changeBound(mergeImport(models, upstream, { sourceLabel: 'Upstream', date: '2026-11-21' }).report, models);
}

describe('an automatic publication is refused', () => {
  const priced = models.filter(({ pricing }) => pricing);
  const base = { inputUsdPerMillion: 4, outputUsdPerMillion: 20 };

  /** The verdict on an import that multiplies the prices of `count` models. */
  const afterRepricing = (count: number, factor: number) => {
    const entries = priced.slice(0, count).map(({ provider, model, pricing }): Partial<ImportedModel> => {
      const { inputUsdPerMillion = 0, outputUsdPerMillion = 0 } = pricing ?? {};
      return { provider, model, pricing: { inputUsdPerMillion: inputUsdPerMillion * factor, outputUsdPerMillion } };
    });
    return verdict(entries);
  };
  const afterPricing = (pricing: NonNullable<ImportedModel['pricing']>) => verdict([{ model: 'gpt-5.6-sol', pricing }]);
  const afterAdding = (count: number) => {
    const entries = Array.from({ length: count }, (_, index) => ({ model: `gpt-7-${index}` }));
    return verdict(entries);
  };

  test('when the price of more than a tenth of the priced models changes', () => {
    expect(priced).toHaveLength(233);
    expect(afterRepricing(23, 1.5)).toBeNull();
    expect(afterRepricing(24, 1.5)).toBe('24 of 233 priced models are repriced, more than 10 %');
  });

  test('when more than 50 models are added', () => {
    expect(afterAdding(ADDED_MAX)).toBeNull();
    expect(afterAdding(ADDED_MAX + 1)).toBe('51 models are added, more than 50');
  });

  const tierOf = (inputTokensAbove: number, inputUsdPerMillion: number) => [
    { inputTokensAbove, inputUsdPerMillion, outputUsdPerMillion: 30 },
  ];
  test.each<[string, NonNullable<ImportedModel['pricing']>, string | null]>([
    ['a rise by the factor', { ...base, inputUsdPerMillion: 4 * PRICE_FACTOR_MAX }, null],
    ['a rise beyond it', { ...base, inputUsdPerMillion: 12.1 }, 'inputUsdPerMillion goes from 4 to 12.1'],
    ['a fall beyond it', { ...base, outputUsdPerMillion: 6 }, 'outputUsdPerMillion goes from 20 to 6'],
    [
      'a cache-write rate beyond it',
      { ...base, cacheWriteUsdPerMillion: 50 },
      'cacheWriteUsdPerMillion goes from 5 to 50',
    ],
    ['a tier beyond it', { ...base, tiers: tierOf(272_000, 25) }, 'inputUsdPerMillion goes from 8 to 25'],
    ['a new tier beyond it', { ...base, tiers: tierOf(1, 4000) }, 'inputUsdPerMillion goes from 4 to 4000'],
    ['a batch share beyond it', { ...base, batchMultiplier: 0.1 }, 'batchMultiplier goes from 0.5 to 0.1'],
  ])('after %s: %j', (_of, pricing, change) => {
    expect(afterPricing(pricing)).toBe(change && `openai/gpt-5.6-sol: ${change}, more than a factor of 3`);
  });

  test('except when a rate becomes known or unknown', () => {
    const { report } = mergeImport(
      models,
      { url: 'https://example.org/list.json', models: [], skipped: [] },
      {
        sourceLabel: 'Upstream',
        date: '2026-11-21',
      },
    );
    const known = { ...base, source: 'https://example.org/prices' };
    const cached = { ...known, cachedInputUsdPerMillion: 0.4 };
    const between = (before: CatalogPricing, after: CatalogPricing) =>
      changeBound({ ...report, repriced: [{ modelKey: 'openai/gpt-7', before, after }] }, models);
    expect(between(known, cached)).toBeNull();
    expect(between(cached, known)).toBeNull();
  });
});
