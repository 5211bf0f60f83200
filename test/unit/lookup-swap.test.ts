/**
 * The lookup's statements about a swap: the accounts that may use the replacement, the quality of its evidence, and the
 * changes.
 */
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { diffCatalogs } from '../../src/catalog/diff.ts';
import { type Catalog, type CatalogModel, modelKeyOf } from '../../src/catalog/model.ts';
import { type Resolution, resolveKey } from '../../src/catalog/resolution.ts';
import { validateCatalog } from '../../src/catalog/validate.ts';
import { LookupQuery } from '../../src/contract/model-lookup.ts';
import { presentFull, presentLight } from '../../src/lookup/answers.ts';
import { parseRequestedKey } from '../../src/lookup/requested-key.ts';

const DAY = BUILT_IN_CATALOG.version;
const { models } = BUILT_IN_CATALOG;
const byKey = new Map(models.map((model) => [modelKeyOf(model), model]));
const LIMITED = models.filter(({ availability }) => availability?.access === 'limited');

async function resolve(
  path: string,
  query: Record<string, string> = {},
  catalog: Catalog = BUILT_IN_CATALOG,
): Promise<Resolution> {
  const parsed = parseRequestedKey(path);
  if (!parsed.ok) throw new Error(parsed.refusal.message);
  return resolveKey(catalog, parsed.key, LookupQuery.parse(query), DAY);
}

/** The catalog with one model changed. */
function changed(key: string, change: (model: CatalogModel) => void): Catalog {
  const copy = structuredClone(BUILT_IN_CATALOG) as Catalog & { models: CatalogModel[] };
  const model = copy.models.find((candidate) => modelKeyOf(candidate) === key);
  if (!model) throw new Error(`There is no ${key}.`);
  change(model);
  return copy;
}

const candidateKeys = ({ equivalents, variants, alternatives }: Resolution) =>
  [...equivalents, ...variants, ...alternatives].map(({ modelKey }) => modelKey);

describe('a model with limited access', () => {
  test('stands in the catalog with what the provider asks for, and where that was read', () => {
    expect(LIMITED.map(modelKeyOf)).toEqual(
      expect.arrayContaining(['anthropic/claude-mythos-5', 'openai/gpt-6-cyber', 'openai/gpt-5.5-cyber-preview']),
    );
  });

  test('is never a candidate, nor recommended, without allowPreview', async () => {
    for (const model of models) {
      const resolution = await resolve(modelKeyOf(model));
      const { recommendedModelKey, equivalents } = resolution;
      expect(byKey.get(recommendedModelKey ?? '')?.availability, modelKeyOf(model)).toBeUndefined();
      const official = new Set(
        equivalents.filter(({ relation }) => relation === 'official_replacement').map(({ modelKey }) => modelKey),
      );
      const limited = candidateKeys(resolution).filter((key) => byKey.get(key)?.availability && !official.has(key));
      expect(limited, modelKeyOf(model)).toEqual([]);
    }
  });

  test('is excluded with that reason, and with allowPreview is a candidate whose availability is unknown', async () => {
    const excluded = (await resolve('anthropic/claude-fable-5')).excluded.find(
      ({ modelKey }) => modelKey === 'anthropic/claude-mythos-5',
    );
    expect(excluded?.reasons).toContain('limited: not open to every account, and allowPreview is false');
    const { equivalents, variants } = await resolve('anthropic/claude-fable-5', { allowPreview: 'true' });
    const mythos = [...equivalents, ...variants].find(({ modelKey }) => modelKey === 'anthropic/claude-mythos-5');
    expect(mythos).toMatchObject({ availability: 'unknown' });
  });

  test("as the provider's own replacement is named with a warning, and recommended only with allowPreview", async () => {
    const closed = await resolve('openai/gpt-5.5-cyber-preview', { allowAutoApply: 'true' });
    expect(closed).toMatchObject({
      action: 'REPLACE',
      providerReplacementModelKey: 'openai/gpt-5.6-cyber',
      safeToApply: false,
    });
    expect(closed.equivalents[0]).toMatchObject({
      modelKey: 'openai/gpt-5.6-cyber',
      confidence: 'authoritative',
      availability: 'unknown',
    });
    expect(closed.recommendedModelKey).not.toBe('openai/gpt-5.6-cyber');
    expect(closed.recommendationSource).not.toBe('provider');
    expect(closed.warnings).toContain(
      'official replacement openai/gpt-5.6-cyber: limited: not open to every account, and allowPreview is false',
    );
    const open = await resolve('openai/gpt-5.5-cyber-preview', { allowPreview: 'true' });
    expect(open).toMatchObject({ recommendedModelKey: 'openai/gpt-5.6-cyber', recommendationSource: 'provider' });
    expect(open.warnings.join()).toContain('approved for Daybreak Red');
  });
});

describe('what changes with the replacement', () => {
  test('is a warning about the model that the provider names', async () => {
    const { warnings, recommendedModelKey } = await resolve('openai/gpt-5');
    expect(recommendedModelKey).toBe('openai/gpt-6.1-sol');
    expect(warnings).toContain(
      'openai/gpt-6.1-sol: tool calling needs the Responses API: function tools in Chat Completions are refused',
    );
    expect(warnings).toContain('openai/gpt-6.1-sol: reasoning effort none and minimal are refused');
  });

  test('is a warning about a computed recommendation, and about the requested model itself', async () => {
    const away = await resolve('openai/gpt-5', { allowedModelKeys: 'openai/gpt-6-sol' });
    expect(away).toMatchObject({ recommendedModelKey: 'openai/gpt-6-sol', recommendationSource: 'computed' });
    expect(away.warnings).toContain(
      'openai/gpt-6-sol: function tools in Chat Completions work only with reasoning_effort none',
    );
    expect((await resolve('anthropic/claude-opus-4-8')).warnings).toEqual([
      'anthropic/claude-opus-4-8: fast mode is removed on 2026-11-30',
    ]);
  });

  test('that the provider asks of a request is a warning, and keeps the swap from being applied unseen', async () => {
    for (const key of ['openai/o3-pro', 'openai/gpt-5-pro']) {
      const resolution = await resolve(key);
      expect(resolution).toMatchObject({ recommendedModelKey: 'openai/gpt-6.1-sol', safeToApply: false });
      expect(resolution.warnings).toContain(
        'official replacement openai/gpt-6.1-sol: only with reasoning.mode pro, which only the Responses API takes',
      );
    }
  });
});

describe('the evidence of a replacement', () => {
  test.each([
    ['openai/gpt-5-2025-08-07', 'openai/gpt-6.1-sol', 'provider'],
    ['openai/gpt-5-mini-2025-08-07', 'openai/gpt-6.1-terra', 'provider'],
    ['openai/gpt-5-nano-2025-08-07', 'openai/gpt-6-luna', 'provider'],
    ['openai/gpt-image-1-mini', 'openai/gpt-image-2.6-sunburst', 'provider'],
    ['openai/o3-2025-04-16', 'openai/gpt-6.1-sol', 'secondary'],
    ['openai/o3-pro-2025-06-10', 'openai/gpt-6.1-sol', 'secondary'],
    ['openai/gpt-5-pro-2025-10-06', 'openai/gpt-6.1-sol', 'secondary'],
  ])('of %s, %s, is its own: %s', async (key, replacement, confidence) => {
    const { lifecycle } = byKey.get(key) as CatalogModel;
    expect(lifecycle).toMatchObject({ replacement, replacementEvidence: { confidence }, confidence: 'provider' });
    expect(lifecycle.replacementEvidence?.source.checkedAt).toBe('2026-11-23');
    expect(lifecycle.source.checkedAt < '2026-11-23').toBe(true);
    const told = BUILT_IN_CATALOG.transitions.filter((transition) => modelKeyOf(transition) === key);
    expect(told.length).toBe(2);
    for (const transition of told)
      expect(transition).toMatchObject({ replacement, replacementEvidence: { confidence } });
  });

  test('that is secondary is a warning, and the swap is not applied unseen; the dates stay the word of the provider', async () => {
    const resolution = await resolve('openai/o3');
    const warning = `that openai/gpt-6.1-sol is the official replacement rests on secondary evidence`;
    expect(resolution).toMatchObject({ action: 'REPLACE', recommendationSource: 'provider', safeToApply: false });
    expect(resolution.warnings.join()).toContain(warning);
    expect(resolution.warnings.join()).not.toContain('the lifecycle of this model');
    const confirmed = changed('openai/o3-2025-04-16', ({ lifecycle }) => {
      if (lifecycle.replacementEvidence) lifecycle.replacementEvidence.confidence = 'provider';
    });
    const after = await resolve('openai/o3', {}, confirmed);
    expect(after.warnings.join()).not.toContain('secondary');
    expect(after.safeToApply).toBe(true);
    expect(diffCatalogs(BUILT_IN_CATALOG, confirmed).lifecycle.map(({ modelKey }) => modelKey)).toEqual([
      'openai/o3-2025-04-16',
    ]);
  });

  test('is refused without a replacement, or with a day that does not exist', () => {
    const without = changed('openai/o3-2025-04-16', ({ lifecycle }) => {
      delete lifecycle.replacement;
    });
    expect(validateCatalog(without)).toContainEqual(
      expect.objectContaining({ modelKey: 'openai/o3-2025-04-16', field: 'lifecycle.replacementEvidence' }),
    );
    const never = changed('openai/o3-2025-04-16', ({ lifecycle }) => {
      if (lifecycle.replacementEvidence) lifecycle.replacementEvidence.source.checkedAt = '2026-02-30';
    });
    expect(validateCatalog(never)).toContainEqual(
      expect.objectContaining({ field: 'lifecycle.replacementEvidence.source.checkedAt' }),
    );
  });

  test("does not appear in the contract's answers, whose source is that of the dates", async () => {
    const resolution = await resolve('openai/o3');
    const policy = LookupQuery.parse({});
    for (const present of [presentFull, presentLight]) {
      const { lifecycle } = present(resolution, policy, { catalog: BUILT_IN_CATALOG, problem: null, day: DAY });
      expect(Object.keys(lifecycle)).toEqual(['status', 'announcedAt', 'shutdownAt', 'source']);
      expect(lifecycle.source?.checkedAt).toBe('2026-11-10');
    }
  });
});

test('the name that the embeddings endpoint answers with is the model that was asked for', async () => {
  expect((await resolve('openai/text-embedding-ada-002-v2')).match).toEqual({
    matchedModelKey: 'openai/text-embedding-ada-002',
    strategy: 'alias',
  });
});

test('a decorated key is matched as normalized', async () => {
  expect((await resolve('openai:gpt-4o')).match).toEqual({
    matchedModelKey: 'openai/gpt-4o-2024-08-06',
    strategy: 'normalized',
  });
});

describe("why the provider's word is not the recommendation", () => {
  test.each([
    [
      'openai/gpt-5',
      { allowedProviders: 'anthropic' },
      'openai/gpt-6.1-sol is not among the allowed providers or model keys',
    ],
    [
      'openai/gpt-5',
      { allowedModelKeys: 'openai/gpt-6-sol' },
      'openai/gpt-6.1-sol is not among the allowed providers or model keys',
    ],
    [
      'google/gemini-2.5-flash-preview-native-audio-dialog',
      {},
      'google/gemini-2.5-flash-native-audio-preview-09-2025, which the provider names, leads to no live model in the catalog',
    ],
  ] as [string, Record<string, string>, string][])('of %s with %j: %s', async (key, query, warning) => {
    const resolution = await resolve(key, query);
    expect(resolution.warnings).toContain(warning);
    expect(resolution.recommendationSource).not.toBe('provider');
  });
});
