/**
 * A catalog is used only if its facts agree with each other. Each rule is broken once, by one change to real data, and
 * is named with model and field.
 */
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { type CatalogModel, modelKeyOf, type Transition } from '../../src/catalog/model.ts';
import { readCatalogDocument, validateCatalog } from '../../src/catalog/validate.ts';

const { models, transitions } = BUILT_IN_CATALOG;

/** The problems after `change` to one model, as `model field: message`. */
function problemsAfter(name: string, change: (model: CatalogModel) => void): string[] {
  const changed = structuredClone(models.find(({ model }) => model === name)) as CatalogModel;
  change(changed);
  const problems = validateCatalog({ models: models.map((model) => (model.model === name ? changed : model)) });
  return problems.map(({ modelKey, field, message }) => `${modelKey} ${field}: ${message}`);
}

function requirePricing(model: CatalogModel) {
  if (!model.pricing) throw new Error(`${model.model} has no price`);
  return model.pricing;
}

test('the built-in catalog has no problems', () => {
  expect(validateCatalog(BUILT_IN_CATALOG)).toEqual([]);
});

test('a document with problems is not returned', () => {
  expect(readCatalogDocument({ models, transitions }).document?.models).toHaveLength(322);
  expect(readCatalogDocument({ models: [...models, models[0]] })).toEqual({
    document: null,
    problems: [
      { modelKey: 'anthropic/claude-1', field: 'model', message: 'claude-1 is also a name of anthropic/claude-1' },
    ],
  });
});

describe('names', () => {
  test.each<[string, string, (model: CatalogModel) => void]>([
    [
      'openai/o1-pro-2025-03-19 aliases: gpt-4o is also a name of openai/gpt-4o-2024-08-06',
      'o1-pro-2025-03-19',
      (model) => model.aliases.push('gpt-4o'),
    ],
    [
      'openai/o1-pro-2025-03-19 aliases: claude-2 is also a name of anthropic/claude-2',
      'o1-pro-2025-03-19',
      (model) => model.aliases.push('claude-2'),
    ],
    [
      'openai/o1-pro-2025-03-19 aliases: CLAUDE-2 is also a name of anthropic/claude-2',
      'o1-pro-2025-03-19',
      (model) => model.aliases.push('CLAUDE-2'),
    ],
    [
      'openai/o1-pro-2025-03-19 preferredAlias: o1 is not among the aliases',
      'o1-pro-2025-03-19',
      (model) => Object.assign(model, { preferredAlias: 'o1' }),
    ],
  ])('%s', (problem, name, change) => {
    expect(problemsAfter(name, change)).toContain(problem);
  });
});

describe('lifecycle', () => {
  const gone = 'gpt-4-0314';
  test.each<[string, string, Partial<CatalogModel['lifecycle']>]>([
    [
      'replacement: openai/gpt-99 is not in the catalog, nor marked as replacementExternal',
      gone,
      { replacement: 'openai/gpt-99' },
    ],
    ['replacement: gpt-5 is not in the catalog, nor marked as replacementExternal', gone, { replacement: 'gpt-5' }],
    ['replacement: a model cannot replace itself', gone, { replacement: 'openai/gpt-4-0314' }],
    [
      'replacementResolvesTo: openai/gpt-5 does not resolve to openai/gpt-5',
      gone,
      { replacement: 'openai/gpt-5', replacementResolvesTo: 'openai/gpt-5' },
    ],
    [
      'replacementAlternatives: openai/gpt-98 is not in the catalog',
      gone,
      { replacementAlternatives: ['openai/gpt-98'] },
    ],
    ['suggestedReplacement: openai/gpt-97 is not in the catalog', gone, { suggestedReplacement: 'openai/gpt-97' }],
    ['shutdownAt: is required of a RETIRED model', gone, { shutdownAt: undefined }],
    [
      'announcedAt: announcedAt or shutdownAt is required of a DEPRECATED model',
      gone,
      { status: 'DEPRECATED', shutdownAt: undefined, announcedAt: undefined },
    ],
    [
      'announcedAt: 2026-02-29 is not a day of the calendar',
      gone,
      { announcedAt: '2026-02-29', shutdownAt: '2026-03-26' },
    ],
    ['shutdownAt: 2026-13-01 is not a day of the calendar', gone, { shutdownAt: '2026-13-01' }],
    [
      'shutdownAt: 2025-01-01 is before lifecycle.announcedAt, 2025-01-02',
      gone,
      { announcedAt: '2025-01-02', shutdownAt: '2025-01-01' },
    ],
    ['announcedAt: 2020-01-01 is before releasedAt, 2023-03-14', gone, { announcedAt: '2020-01-01' }],
    ['earliestShutdownAt: 2020-01-01 is before releasedAt, 2023-03-14', gone, { earliestShutdownAt: '2020-01-01' }],
  ])('%s', (problem, name, facts) => {
    const released = { releasedAt: '2023-03-14' };
    const found = problemsAfter(
      name,
      (model) => Object.assign(model, released) && Object.assign(model.lifecycle, facts),
    );
    expect(found).toContain(`openai/${name} lifecycle.${problem}`);
  });

  test('a release date that is no day is named', () => {
    expect(problemsAfter(gone, (model) => Object.assign(model, { releasedAt: '2023-02-29' }))).toContain(
      `openai/${gone} releasedAt: 2023-02-29 is not a day of the calendar`,
    );
  });

  test('an external replacement need not be in the catalog', () => {
    const external = { replacement: 'openai/gpt-99', replacementResolvesTo: undefined, replacementExternal: true };
    expect(problemsAfter(gone, (model) => Object.assign(model.lifecycle, external))).toEqual([]);
  });

  test('an alias is a valid replacement and resolves to its model', () => {
    const alias = { replacement: 'openai/gpt-5', replacementResolvesTo: 'openai/gpt-5-2025-08-07' };
    expect(problemsAfter(gone, (model) => Object.assign(model.lifecycle, alias))).toEqual([]);
  });

  test('a deprecated model needs only one date', () => {
    expect(
      problemsAfter(gone, (model) => Object.assign(model.lifecycle, { status: 'DEPRECATED', announcedAt: undefined })),
    ).toEqual([]);
  });
});

describe('prices', () => {
  const tiered = 'gpt-5.6-sol';
  const announced = 'gemini-3.6-flash';
  test.each<[string, string, (pricing: ReturnType<typeof requirePricing>) => void]>([
    [
      'cacheWriteUsdPerMillion: must be a number that is not negative',
      tiered,
      (p) => Object.assign(p, { cacheWriteUsdPerMillion: Number.NaN }),
    ],
    [
      'outputUsdPerMillion: must be a number that is not negative',
      tiered,
      (p) => Object.assign(p, { outputUsdPerMillion: -0.5 }),
    ],
    [
      'inputUsdPerMillion: must have at most 9 decimals',
      tiered,
      (p) => Object.assign(p, { inputUsdPerMillion: 4.0000000001 }),
    ],
    [
      'imageOutputUsdPerMillion: must have at most 9 decimals',
      tiered,
      (p) => Object.assign(p, { imageOutputUsdPerMillion: 1e-10 }),
    ],
    [
      'cachedInputUsdPerMillion: 4.5 is above the input rate, 4',
      tiered,
      (p) => Object.assign(p, { cachedInputUsdPerMillion: 4.5 }),
    ],
    [
      'tiers.0.cachedInputUsdPerMillion: 9 is above the input rate, 8',
      tiered,
      (p) => Object.assign(p.tiers?.[0] ?? {}, { cachedInputUsdPerMillion: 9 }),
    ],
    [
      'tiers.1.inputTokensAbove: must be above 272000',
      tiered,
      (p) => p.tiers?.push({ inputTokensAbove: 272_000, inputUsdPerMillion: 8, outputUsdPerMillion: 30 }),
    ],
    [
      'scheduled.1.from: must be after 2027-01-01',
      announced,
      (p) => p.scheduled?.push({ from: '2027-01-01', inputUsdPerMillion: 3 }),
    ],
    [
      'scheduled.1.cachedInputUsdPerMillion: 0.15 is above the input rate, 0.1',
      announced,
      (p) => p.scheduled?.push({ from: '2027-02-01', inputUsdPerMillion: 0.1 }),
    ],
    ['scheduled.1: changes no rate', announced, (p) => p.scheduled?.push({ from: '2027-02-01' })],
    [
      'scheduled.0.from: 2027-02-30 is not a day of the calendar',
      announced,
      (p) => Object.assign(p.scheduled?.[0] ?? {}, { from: '2027-02-30' }),
    ],
  ])('%s', (problem, name, change) => {
    const key = modelKeyOf(models.find(({ model }) => model === name) as CatalogModel);
    expect(problemsAfter(name, (model) => change(requirePricing(model)))).toEqual([`${key} pricing.${problem}`]);
  });
});

describe('transitions', () => {
  test.each<[string, Partial<Transition>]>([
    ['model', { model: 'gpt-99' }],
    ['date', { date: '2026-02-30' }],
    ['to', { from: 'DEPRECATED', to: 'DEPRECATED' }],
    ['replacement', { replacement: 'openai/gpt-99' }],
  ])('%s: %j', (field, facts) => {
    const problems = validateCatalog({ models, transitions: [{ ...(transitions[0] as Transition), ...facts }] });
    expect(problems.map((problem) => problem.field)).toEqual([`transitions.${field}`]);
  });
});

test('a transition is of a model in the catalog', () => {
  const [first] = transitions;
  const problems = validateCatalog({ models, transitions: [{ ...(first as Transition), model: 'gpt-0' }] });
  expect(problems.map(({ field, message }) => `${field}: ${message}`)).toContain(
    'transitions.model: is not in the catalog',
  );
});
