/**
 * What holds for every model of the catalog, whatever it is and whatever the caller asks for.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { statusOn } from '../../src/catalog/lifecycle.ts';
import { type CatalogModel, modelKeyOf } from '../../src/catalog/model.ts';
import { WEIGHTS } from '../../src/catalog/ranking.ts';
import { type Resolution, resolveKey } from '../../src/catalog/resolution.ts';
import { FullResolution, LightResolution, LookupQuery, PURPOSES } from '../../src/contract/model-lookup.ts';
import { presentFull, presentLight } from '../../src/lookup/answers.ts';
import { parseRequestedKey } from '../../src/lookup/requested-key.ts';

const DAY = '2026-11-20';
const models = BUILT_IN_CATALOG.models;
const byKey = new Map<string, CatalogModel>(
  models.flatMap((m) => [m.model, ...m.aliases].map((name) => [`${m.provider}/${name}`, m] as const)),
);

async function resolve(
  path: string,
  query: Record<string, string> = {},
  day = DAY,
): Promise<{ resolution: Resolution; policy: LookupQuery }> {
  const parsed = parseRequestedKey(path);
  if (!parsed.ok) throw new Error(parsed.refusal.message);
  const policy = LookupQuery.parse(query);
  return { resolution: await resolveKey(BUILT_IN_CATALOG, parsed.key, policy, day), policy };
}

const computed = ({ equivalents, variants, alternatives }: Resolution) =>
  [...equivalents, ...variants, ...alternatives].filter(({ confidence }) => confidence === 'candidate');
const listed = ({ equivalents, variants, alternatives }: Resolution) => [...equivalents, ...variants, ...alternatives];

describe.each(PURPOSES)('for the purpose %s', (purpose) => {
  test('a replacement named by the vendor needs no evaluation, a computed candidate does', async () => {
    const seen = new Set<string>();
    for (const model of models) {
      const { resolution } = await resolve(modelKeyOf(model), { purpose });
      for (const { confidence, requiresEvaluation, modelKey } of listed(resolution)) {
        expect(requiresEvaluation, `${modelKey} for ${model.model}`).toBe(confidence === 'candidate');
        seen.add(confidence);
      }
    }
    expect([...seen].sort()).toEqual(['authoritative', 'candidate']);
  });

  test('every model has the status of its dates, and every deprecated or retired one is REPLACE', async () => {
    for (const model of models) {
      const { resolution } = await resolve(modelKeyOf(model), { purpose });
      expect(resolution.status, model.model).toBe(model.lifecycle.status);
      if (resolution.status === 'ACTIVE')
        expect(resolution.action).toBe(model.lifecycle.confidence === 'secondary' ? 'REVIEW' : 'KEEP');
      else expect(resolution.action, model.model).toBe('REPLACE');
    }
  });

  test('no candidate is retired, computed ones are live and within all limits, and excluded ones have reasons', async () => {
    for (const model of models) {
      const { resolution, policy } = await resolve(modelKeyOf(model), { purpose });
      for (const { modelKey } of listed(resolution)) {
        const candidate = byKey.get(modelKey);
        if (candidate) expect(statusOn(candidate, DAY), `${modelKey} for ${model.model}`).not.toBe('RETIRED');
      }
      for (const candidate of computed(resolution)) {
        const facts = byKey.get(candidate.modelKey);
        expect(facts && statusOn(facts, DAY)).toBe('ACTIVE');
        expect(facts?.preview).toBe(false);
        if (candidate.priceChangePercent !== undefined)
          expect(candidate.priceChangePercent).toBeLessThanOrEqual(policy.maxPriceIncreasePercent);
        expect(candidate.score).toBeGreaterThanOrEqual(0);
        expect(candidate.score).toBeLessThanOrEqual(1);
      }
      for (const { modelKey, reasons } of resolution.excluded) expect(reasons.length, modelKey).toBeGreaterThan(0);
      const keys = [...listed(resolution), ...resolution.excluded].map(
        ({ modelKey }) => byKey.get(modelKey) ?? modelKey,
      );
      expect(new Set(keys).size, `${model.model}: nobody stands in two lists`).toBe(keys.length);
    }
  });

  test('a recommendation is live, and is the provider replacement if its chain leads to a live model', async () => {
    for (const model of models) {
      const { resolution } = await resolve(modelKeyOf(model), { purpose });
      const { recommendedModelKey, recommendationSource, equivalents } = resolution;
      if (recommendedModelKey === null) {
        expect(recommendationSource).toBe('none');
        continue;
      }
      const recommended = byKey.get(recommendedModelKey);
      expect(recommended && statusOn(recommended, DAY), model.model).toBe('ACTIVE');
      if (recommendationSource === 'provider')
        expect(equivalents[0]).toMatchObject({ modelKey: recommendedModelKey, relation: 'official_replacement' });
    }
  });

  test('candidates are sorted by preference and score', async () => {
    for (const model of models) {
      const { resolution } = await resolve(modelKeyOf(model), { purpose });
      const sameFamily = ({ modelKey }: { modelKey: string }) => byKey.get(modelKey)?.family === model.family;
      for (const list of [resolution.variants, resolution.alternatives]) {
        const familyFirst = purpose === 'upgrade' && list === resolution.variants;
        const expected = list.toSorted(
          (a, b) =>
            (familyFirst ? Number(sameFamily(b)) - Number(sameFamily(a)) : 0) ||
            (b.score ?? 0) - (a.score ?? 0) ||
            (a.modelKey < b.modelKey ? -1 : 1),
        );
        expect(list.map(({ modelKey }) => modelKey)).toEqual(expected.map(({ modelKey }) => modelKey));
      }
    }
  });
});

describe('bounds', () => {
  test('of price, context, output, capability, endpoint, provider and key hold for every computed candidate', async () => {
    const policies = fc.record({
      maxPriceIncreasePercent: fc.integer({ min: 0, max: 300 }).map(String),
      minimumContext: fc.integer({ min: 0, max: 2_000_000 }).map(String),
      minimumOutput: fc.integer({ min: 0, max: 200_000 }).map(String),
      requiredParameters: fc
        .subarray(['tools', 'vision', 'reasoning', 'web_search', 'json_mode'])
        .map((names) => names.join(',')),
      allowedProviders: fc.subarray(['openai', 'anthropic', 'google']).map((names) => names.join(',')),
      endpoint: fc.constantFrom('/v1/messages', '/v1/chat/completions', 'generateContent'),
      purpose: fc.constantFrom(...PURPOSES),
    });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...models), policies, async (model, query) => {
        const { resolution, policy } = await resolve(modelKeyOf(model), query);
        for (const { modelKey, priceChangePercent } of computed(resolution)) {
          const facts = byKey.get(modelKey) as CatalogModel;
          if (priceChangePercent !== undefined)
            expect(priceChangePercent).toBeLessThanOrEqual(policy.maxPriceIncreasePercent + 0.005);
          expect(facts.contextTokens ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(policy.minimumContext ?? 0);
          expect(facts.maxOutputTokens ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(policy.minimumOutput ?? 0);
          if (facts.capabilities.length > 0)
            expect(facts.capabilities).toEqual(expect.arrayContaining(policy.requiredParameters));
          if (facts.endpoints.length > 0) expect(facts.endpoints).toContain(policy.endpoint);
          if (policy.allowedProviders.length > 0) expect(policy.allowedProviders).toContain(facts.provider);
        }
        expect(resolution.safeToApply && resolution.recommendationSource !== 'provider').toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  test('allowedModelKeys excludes all other models, in any spelling', async () => {
    const allowedModelKeys = 'openai/gpt-6-sol,anthropic/claude-opus-5-5,GEMINI-3.8-FLASH';
    const { resolution } = await resolve('openai/gpt-4o', { allowedModelKeys, maxPriceIncreasePercent: '1000' });
    expect(new Set(computed(resolution).map(({ modelKey }) => modelKey))).toEqual(
      new Set(['openai/gpt-6-sol', 'anthropic/claude-opus-5-5', 'google/gemini-3.8-flash']),
    );
    expect(resolution.recommendationSource).toBe('computed');
  });
});

describe('money', () => {
  test('the request estimate is the cost of the token mix, including the cached share', async () => {
    // 8,000 input of which 30 % cached, 2,000 output: 5,600 x 2.50 + 2,400 x 1.25 + 2,000 x 10.00 USD per million
    const { resolution } = await resolve('openai/gpt-4o');
    expect(resolution.pricing?.blendedUsdPerMillion).toBe(3.7);
    // gpt-6-luna: 5,600 x 0.10 + 2,400 x 0.01 + 2,000 x 0.50
    expect(resolution.equivalents[0]).toMatchObject({
      modelKey: 'openai/gpt-6-luna',
      inputUsdPerMillion: 0.1,
      outputUsdPerMillion: 0.5,
    });
    const luna = byKey.get('openai/gpt-6-luna')?.pricing?.cachedInputUsdPerMillion ?? Number.NaN;
    const expected = (5_600 * 0.1 + 2_400 * luna + 2_000 * 0.5) / 1e6;
    expect(resolution.equivalents[0]?.estimatedRequestUsd).toBeCloseTo(expected, 9);
    expect(resolution.equivalents[0]?.priceChangePercent).toBeCloseTo((expected / 0.037 - 1) * 100, 2);
  });
});

describe('days', () => {
  test('a model is active, then deprecated, then retired, as its dates come', async () => {
    const status = async (day: string) => (await resolve('openai/gpt-4o', {}, day)).resolution.status;
    expect(await status('2027-01-13')).toBe('DEPRECATED');
    expect(await status('2027-01-14')).toBe('RETIRED');
  });

  test('a decision keeps its id until it changes', async () => {
    const idOn = async (day: string) => (await resolve('openai/gpt-4o', {}, day)).resolution.decisionId;
    expect(await idOn('2026-11-20')).toBe(await idOn('2026-11-25'));
    expect(await idOn('2026-11-20')).not.toBe(await idOn('2027-01-14'));
  });
});

describe('purposes', () => {
  test('fallback prefers other providers, upgrade the same family, and the weights of each sum to 1', async () => {
    const fallback = (
      await resolve('google/gemini-2.5-flash-image', {
        purpose: 'fallback',
        allowedProviders: 'openai,anthropic,google',
      })
    ).resolution;
    expect(fallback.status).toBe('RETIRED');
    const upgrade = (await resolve('anthropic/claude-sonnet-4-5', { purpose: 'upgrade' })).resolution;
    expect(upgrade.equivalents.some(({ modelKey }) => modelKey.includes('claude-sonnet'))).toBe(true);
    for (const weights of Object.values(WEIGHTS))
      expect(Object.values(weights).reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 12);
  });
});

describe('any request', () => {
  test('has a response in the shape of the contract, or is rejected as a key: 3,000 random keys', async () => {
    const provenance = { catalog: BUILT_IN_CATALOG, problem: null, day: DAY };
    const names = [...byKey.keys()];
    const key = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 320 }),
      fc
        .constantFrom(...names)
        .chain((name) => fc.nat(name.length).map((at) => name.slice(0, at) + name.slice(at + 1))),
      fc
        .tuple(
          fc.constantFrom('openai/', 'google:', 'gemini/', 'ANTHROPIC/', 'openai%2F'),
          fc.string({ maxLength: 40 }),
        )
        .map(([p, s]) => p + s),
    );
    await fc.assert(
      fc.asyncProperty(key, async (path) => {
        const parsed = parseRequestedKey(path);
        if (!parsed.ok) {
          expect(parsed.refusal.message).not.toBe('');
          return;
        }
        const policy = LookupQuery.parse({});
        const resolution = await resolveKey(BUILT_IN_CATALOG, parsed.key, policy, DAY);
        FullResolution.parse(presentFull(resolution, policy, provenance));
        LightResolution.parse(presentLight(resolution, policy, provenance));
      }),
      { numRuns: 3_000 },
    );
  });
});
