/**
 * The rules for every model of the catalog, whatever the caller asks for.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { findReplacement, statusOn } from '../../src/catalog/lifecycle.ts';
import { modelSpecialty } from '../../src/catalog/lines.ts';
import { type CatalogModel, modelKeyOf } from '../../src/catalog/model.ts';
import { assess, rank, WEIGHTS } from '../../src/catalog/ranking.ts';
import { type Resolution, resolveKey } from '../../src/catalog/resolution.ts';
import { FullResolution, LightResolution, LookupQuery, PURPOSES } from '../../src/contract/model-lookup.ts';
import { presentFull, presentLight } from '../../src/lookup/answers.ts';
import { parseRequestedKey } from '../../src/lookup/requested-key.ts';

const DAY = BUILT_IN_CATALOG.version;
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

/** Faults are collected and compared once: there are a hundred thousand facts. */
type Fault = [fact: string, found: unknown];

/** The resolutions of every model for a purpose, found once. */
const byPurpose = new Map<string, Promise<{ model: CatalogModel; resolution: Resolution; policy: LookupQuery }[]>>();
function resolvedFor(purpose: (typeof PURPOSES)[number]) {
  const found = byPurpose.get(purpose);
  if (found) return found;
  const all = Promise.all(models.map(async (model) => ({ model, ...(await resolve(modelKeyOf(model), { purpose })) })));
  byPurpose.set(purpose, all);
  return all;
}

describe.each(PURPOSES)('for the purpose %s', (purpose) => {
  test('a replacement named by the vendor needs no evaluation, a computed candidate does', async () => {
    const seen = new Set<string>();
    const faults: Fault[] = [];
    for (const { model, resolution } of await resolvedFor(purpose)) {
      for (const { confidence, requiresEvaluation, modelKey } of listed(resolution)) {
        if (requiresEvaluation !== (confidence === 'candidate'))
          faults.push([`${modelKey} for ${model.model}`, requiresEvaluation]);
        seen.add(confidence);
      }
    }
    expect(faults).toEqual([]);
    expect([...seen].sort()).toEqual(['authoritative', 'candidate']);
  });

  test('every model has the status of its dates, and every deprecated or retired one is REPLACE', async () => {
    for (const { model, resolution } of await resolvedFor(purpose)) {
      expect(resolution.status, model.model).toBe(model.lifecycle.status);
      if (resolution.status === 'ACTIVE')
        expect(resolution.action).toBe(model.lifecycle.confidence === 'secondary' ? 'REVIEW' : 'KEEP');
      else expect(resolution.action, model.model).toBe('REPLACE');
    }
  });

  test('no candidate is retired, computed ones are live and within all limits, and excluded ones have reasons', async () => {
    const faults: Fault[] = [];
    for (const { model, resolution, policy } of await resolvedFor(purpose)) {
      for (const { modelKey } of listed(resolution)) {
        const candidate = byKey.get(modelKey);
        if (candidate && statusOn(candidate, DAY) === 'RETIRED')
          faults.push([`${modelKey} for ${model.model}`, 'RETIRED']);
      }
      for (const { modelKey, score, priceChangePercent = 0 } of computed(resolution)) {
        const facts = byKey.get(modelKey);
        const isLive = facts && statusOn(facts, DAY) === 'ACTIVE' && !facts.preview;
        const isWithin = priceChangePercent <= policy.maxPriceIncreasePercent;
        const isScored = score !== undefined && score >= 0 && score <= 1;
        if (!isLive || !isWithin || !isScored)
          faults.push([`${modelKey} for ${model.model}`, { isLive, isWithin, isScored }]);
      }
      for (const { modelKey, reasons } of resolution.excluded)
        if (reasons.length === 0) faults.push([`${modelKey} for ${model.model}`, 'no reason']);
      const keys = [...listed(resolution), ...resolution.excluded].map(
        ({ modelKey }) => byKey.get(modelKey) ?? modelKey,
      );
      if (new Set(keys).size !== keys.length) faults.push([model.model, 'somebody stands in two lists']);
    }
    expect(faults).toEqual([]);
  });

  test('a recommendation is live, and is the provider replacement if its chain leads to a live model', async () => {
    for (const { model, resolution } of await resolvedFor(purpose)) {
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

  test('candidates with a setback are behind, then general ones for special work, then lower scores', async () => {
    for (const { model, resolution } of await resolvedFor(purpose)) {
      for (const list of [resolution.equivalents, resolution.variants, resolution.alternatives]) {
        const places = list
          .filter(({ confidence }) => confidence === 'candidate')
          .map(({ modelKey, score = 0, reasons = [] }) => [
            Number(/^(?:smaller|older|as old|moving)/.test(reasons[0] ?? '')),
            Number(modelSpecialty(byKey.get(modelKey) as CatalogModel) !== modelSpecialty(model)),
            -score,
          ]);
        const sorted = places.toSorted(([a = 0, b = 0, c = 0], [x = 0, y = 0, z = 0]) => a - x || b - y || c - z);
        expect(places, model.model).toEqual(sorted);
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
  test('fallback prefers other providers, upgrade the same one, and the weights of each sum to 1', async () => {
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

describe('a chain of replacements', () => {
  /** Retired models, each replaced by the next; the last one is live, or is replaced by the first. */
  function chain(length: number, end: 'live' | 'loop') {
    const base = models.find(({ model }) => model === 'gpt-4o-2024-08-06') as CatalogModel;
    const { source, confidence } = base.lifecycle;
    const list = Array.from({ length }, (_, at): CatalogModel => {
      const next = `openai/link${at + 1 === length ? 0 : at + 1}x`;
      const gone = { status: 'RETIRED', shutdownAt: '2026-01-01', replacement: next, source, confidence } as const;
      const last = at + 1 === length && end === 'live';
      return {
        ...base,
        model: `link${at}x`,
        aliases: [],
        lifecycle: last ? { status: 'ACTIVE', source, confidence } : gone,
      };
    });
    return findReplacement({ ...BUILT_IN_CATALOG, models: list }, list[0] as CatalogModel, DAY);
  }

  test('is followed to its live model, over at most twenty links', () => {
    expect(chain(2, 'live')).toMatchObject({ modelKey: 'openai/link1x', live: { modelKey: 'openai/link1x' } });
    expect(chain(5, 'live')).toMatchObject({ modelKey: 'openai/link1x', live: { modelKey: 'openai/link4x' } });
    expect(chain(21, 'live')).toMatchObject({ live: { modelKey: 'openai/link20x' } });
    expect(chain(22, 'live')).toMatchObject({ modelKey: 'openai/link1x', live: null });
  });

  test('without a live model leads nowhere', () => {
    expect(chain(3, 'loop')).toMatchObject({ modelKey: 'openai/link1x', live: null });
    expect(chain(1, 'loop')).toMatchObject({ live: null });
  });
});

test('a decision id is 24 hexadecimal digits', async () => {
  for (const path of ['openai/gpt-4o', 'openai/nothing-like-this'])
    expect((await resolve(path)).resolution.decisionId).toMatch(/^dec_[0-9a-f]{24}$/);
});

test('a replacement that cannot serve the typical request is named with what it lacks, and is not safe to apply', async () => {
  const source = models.find(
    (model) =>
      statusOn(model, DAY) !== 'ACTIVE' && findReplacement(BUILT_IN_CATALOG, model, DAY)?.live?.model.maxOutputTokens,
  ) as CatalogModel;
  const key = modelKeyOf(source);
  const live = findReplacement(BUILT_IN_CATALOG, source, DAY)?.live as { modelKey: string; model: CatalogModel };
  const { contextTokens = 0, maxOutputTokens = 0 } = live.model;
  const lookUpWarnings = async (query: Record<string, string>) => (await resolve(key, query)).resolution;
  const large = await lookUpWarnings({
    inputTokens: String(contextTokens + 1),
    outputTokens: String(maxOutputTokens + 1),
  });
  expect(large.safeToApply).toBe(false);
  expect(large.warnings).toContain(
    `official replacement ${live.modelKey}: context: ${contextTokens} is below ${contextTokens + 1} input tokens`,
  );
  expect(large.warnings).toContain(
    `official replacement ${live.modelKey}: output limit: ${maxOutputTokens} is below ${maxOutputTokens + 1} output tokens`,
  );
  const exact = await lookUpWarnings({ inputTokens: String(contextTokens), outputTokens: String(maxOutputTokens) });
  expect(exact.warnings.join()).not.toMatch(/is below/);
});

test('a replacement is safe to apply if the provider names it, it is live, and its price can be compared', async () => {
  const safe = [];
  for (const { model, resolution } of await resolvedFor('upgrade')) {
    const official = resolution.equivalents.filter(({ confidence }) => confidence === 'authoritative');
    for (const { provider, modelKey } of official) expect(modelKey.startsWith(`${provider}/`), modelKey).toBe(true);
    const named = official.find(({ modelKey }) => modelKey === resolution.recommendedModelKey);
    if (!resolution.safeToApply) continue;
    safe.push(model);
    expect([resolution.action, resolution.recommendationSource]).toEqual(['REPLACE', 'provider']);
    expect(named).toMatchObject({ availability: 'available', compatibility: { status: 'compatible', gaps: [] } });
    expect(named?.priceChangePercent).toBeDefined();
  }
  expect(safe.length).toBeGreaterThan(10);
});

describe('a similar key', () => {
  const CANDIDATE_LISTS = ['equivalents', 'variants', 'alternatives', 'excludedCandidates'] as const;
  const presented = async (path: string, query: Record<string, string> = {}) => {
    const { resolution, policy } = await resolve(path, query);
    const provenance = { catalog: BUILT_IN_CATALOG, problem: null, day: DAY };
    return {
      full: presentFull(resolution, policy, provenance),
      light: presentLight(resolution, policy, provenance),
      resolution,
    };
  };

  test('is suggested, and nothing of the model it names is borrowed, in the full and in the light answer', async () => {
    let guessed = 0;
    for (const model of models) {
      for (const name of [`${model.model}x`, `${model.model}-2031-01-01`, model.model.slice(0, -1)]) {
        const { full, light, resolution } = await presented(`${model.provider}/${name}`);
        if (resolution.match?.strategy !== 'fuzzy') continue;
        guessed += 1;
        expect(byKey.has(full.match?.matchedModelKey ?? ''), name).toBe(true);
        expect(full.warnings, name).toEqual([
          `${model.provider}/${name} is not in the catalog; ${full.match?.matchedModelKey} is the most similar key`,
        ]);
        for (const list of CANDIDATE_LISTS) expect(full[list], name).toEqual([]);
        expect([full.pricing, full.keyGuidance, full.automation.autoApplyRecommended]).toEqual([
          undefined,
          undefined,
          false,
        ]);
        for (const answer of [full, light]) {
          expect(answer.lifecycle, name).toEqual({ status: 'UNKNOWN' });
          expect([answer.action, answer.recommendationSource]).toEqual(['REVIEW', 'none']);
          expect([answer.recommendedModelKey, answer.providerReplacementModelKey]).toEqual([undefined, undefined]);
        }
      }
    }
    expect(guessed).toBeGreaterThan(200);
  });

  test('has the light answer of a key that is like no other', async () => {
    const { light } = await presented('openai/gpt-4o-min', { allowAutoApply: 'true' });
    const unknown = (await presented('openai/no-such-thing-at-all', { allowAutoApply: 'true' })).light;
    expect({ ...light, decisionId: '', requested: '' }).toEqual({ ...unknown, decisionId: '', requested: '' });
  });

  test('does not count as an allowed model key, and is warned of', async () => {
    const { full } = await presented('openai/gpt-4o', { allowedModelKeys: 'openai/gpt-6-lunna' });
    expect(full.warnings).toContain('allowedModelKeys: openai/gpt-6-lunna is not in the catalog');
    expect(full.recommendedModelKey).toBeUndefined();
  });
});

describe('a date pin that the catalog does not list', () => {
  test('is answered as its model and warned of, if a snapshot of that day can exist', async () => {
    const { resolution } = await resolve('openai/gpt-6-luna-2026-10-01');
    const plain = (await resolve('openai/gpt-6-luna')).resolution;
    expect(resolution).toMatchObject({
      match: { matchedModelKey: 'openai/gpt-6-luna', strategy: 'snapshot' },
      status: plain.status,
      action: plain.action,
      pricing: plain.pricing,
    });
    expect(resolution.warnings).toContain(
      'openai/gpt-6-luna-2026-10-01 is not listed in the catalog; it is read as a dated openai/gpt-6-luna',
    );
    expect(plain.warnings.join()).not.toContain('not listed');
  });

  test('is no name that the provider verifies', async () => {
    expect((await resolve('openai/gpt-5.6-sol')).resolution.preferredAlias).toBe('gpt-5.6');
    expect((await resolve('openai/gpt-5.6-sol-2026-10-01')).resolution.preferredAlias).toBeNull();
  });

  test('is unknown on the days before its own', async () => {
    const on = async (day: string) => (await resolve('openai/gpt-6-luna-2026-12-01', {}, day)).resolution.status;
    expect([await on('2026-11-30'), await on('2026-12-01')]).toEqual(['UNKNOWN', 'ACTIVE']);
    expect((await resolve('openai/gpt-6-luna-2031-01-01')).resolution).toMatchObject({
      status: 'UNKNOWN',
      match: { matchedModelKey: 'openai/gpt-6-luna', strategy: 'fuzzy' },
    });
  });
});

test('a replacement whose price cannot be compared says so', async () => {
  const unpriced = models.filter(
    (model) =>
      statusOn(model, DAY) !== 'ACTIVE' && !model.pricing && findReplacement(BUILT_IN_CATALOG, model, DAY)?.live,
  );
  expect(unpriced.length).toBeGreaterThan(0);
  for (const model of unpriced) {
    const { warnings, safeToApply } = (await resolve(modelKeyOf(model))).resolution;
    expect(safeToApply).toBe(false);
    expect(warnings.join()).toMatch(
      /official replacement .*: price: not comparable, because one of the two is not known/,
    );
  }
});

describe('similarity', () => {
  const source = {
    ...(models.find(({ model }) => model === 'gpt-4o-2024-08-06') as CatalogModel),
    capabilities: ['tools', 'vision'],
    contextTokens: 4_096,
    releasedAt: DAY,
    pricing: { inputUsdPerMillion: 1, outputUsdPerMillion: 1, source: 'list' },
  };
  /** The similarities of a model that differs from the source in `change`, and costs `percent` more. */
  function similarities(change: Partial<CatalogModel>, percent = 0, purpose = 'upgrade') {
    const policy = LookupQuery.parse({ purpose });
    const assessment = assess({ ...source, ...change }, null, null, policy, null, DAY);
    const { reasons, score } = rank(source, { ...assessment, priceChangePercent: percent }, policy, DAY);
    return {
      score,
      ...Object.fromEntries(reasons.map((reason) => [reason.split(' ')[0], Number(reason.split(' ')[1])])),
    };
  }

  test.each(PURPOSES)('of a model to itself is complete for %s', (purpose) => {
    const complete = { recency: 1, size: 1, capabilities: 1, price: 1, context: 1 };
    expect(similarities({}, 0, purpose)).toMatchObject({ score: 1, ...complete });
  });

  test.each<[string, CatalogModel['provider'], number]>([
    ['gpt-9', 'openai', 1],
    ['gpt-9-sol', 'openai', 1],
    ['gpt-9-terra', 'openai', 0.75],
    ['gpt-9-nano-2027-01-01', 'openai', 0.5],
    ['gpt-9-pro', 'openai', 0.5],
    ['gemini-9-pro', 'google', 1],
    ['gemini-9-flash-lite', 'google', 0.5],
    ['claude-opus-9', 'anthropic', 0.75],
  ])('of the size of %s is read from its name', (model, provider, size) => {
    expect(similarities({ model, provider })).toMatchObject({ size });
  });

  test.each([
    [0, 1],
    [50, 0.75],
    [-50, 0.75],
    [200, 0],
    [400, 0],
  ])('of a price that is %i percent higher is %d', (percent, price) => {
    expect(similarities({}, percent, 'retirement')).toMatchObject({ price });
    expect(similarities({}, percent, 'upgrade')).toMatchObject({ price: percent < 0 ? 1 : price });
  });

  test('falls with age to zero after three years, and with lacking capabilities and context', () => {
    expect(similarities({ releasedAt: '2023-11-21' })).toMatchObject({ recency: 0 });
    expect(similarities({ releasedAt: '2025-05-26' })).toMatchObject({ recency: 0.5 });
    expect(similarities({ capabilities: ['tools'] })).toMatchObject({ capabilities: 0.5 });
    expect(similarities({ contextTokens: 1_024 })).toMatchObject({ context: 0.25 });
  });

  test('is one half if nothing is known', () => {
    expect(similarities({ releasedAt: undefined, capabilities: [], contextTokens: undefined } as never)).toMatchObject({
      recency: 0.5,
      capabilities: 0.5,
      context: 0.5,
    });
    expect(similarities({}, null as never)).toMatchObject({ price: 0.5 });
  });
});
