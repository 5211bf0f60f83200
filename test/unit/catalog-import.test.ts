/**
 * Upstream price lists update only what they contain: absent upstream is never retired, a curated date is never
 * overwritten, and a second import changes nothing.
 *
 * Both samples are real excerpts; their expected prices were read off by hand.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { type ImportedModel, perMillion, type Upstream } from '../../src/catalog/importers/imported.ts';
import { readLiteLlm } from '../../src/catalog/importers/litellm.ts';
import { mergeImport } from '../../src/catalog/importers/merge.ts';
import { readModelsDev } from '../../src/catalog/importers/models-dev.ts';
import { type CatalogModel, modelKeyOf } from '../../src/catalog/model.ts';
import { readCatalogDocument } from '../../src/catalog/validate.ts';

const { models } = BUILT_IN_CATALOG;
const fixture = (name: string) => JSON.parse(readFileSync(join(import.meta.dirname, '../fixtures', name), 'utf8'));
const modelsDev = readModelsDev(fixture('models-dev-sample.json'));
const liteLlm = readLiteLlm(fixture('litellm-sample.json'));
const options = { sourceLabel: 'Upstream', date: '2026-11-21' };

function find<Named extends { model: string }>(list: readonly Named[], name: string): Named {
  const found = list.find(({ model }) => model === name);
  if (!found) throw new Error(`${name} is missing`);
  return found;
}

const pricesOf = ({ pricing }: ImportedModel) =>
  pricing && [
    pricing.inputUsdPerMillion,
    pricing.outputUsdPerMillion,
    pricing.cachedInputUsdPerMillion,
    pricing.cacheWriteUsdPerMillion,
    ...(pricing.tiers ?? []).flatMap((tier) => Object.values(tier)),
  ];

test.each([
  [1.25e-7, 0.125],
  [2.5e-6, 2.5],
  [1e-5, 10],
  [7.5e-8, 0.075],
  [1.875e-8, 0.01875],
  [0.00015, 150],
  [0.0006, 600],
  [1.1e-6, 1.1],
  [0, 0],
  [undefined, undefined],
  [null, undefined],
])('%s USD per token is %s per million, to the digit', (perToken, expected) => {
  expect(perMillion(perToken)).toBe(expected);
});

describe('models.dev', () => {
  test.each<[string, (number | undefined)[] | undefined]>([
    ['gpt-4o', [2.5, 10, 1.25, undefined]],
    ['gpt-4o-2024-05-13', [5, 15, undefined, undefined]],
    ['gpt-5', [1.25, 10, 0.125, undefined]],
    ['gpt-5.5', [5, 30, 0.5, undefined, 272_000, 10, 45, 1]],
    ['gemini-2.5-pro', [1.25, 10, 0.125, undefined, 200_000, 2.5, 15, 0.25]],
    ['claude-opus-4-8', [5, 25, 0.5, 6.25]],
    ['text-embedding-3-small', [0.02, 0, undefined, undefined]],
    ['gemma-4-31b-it', undefined],
  ])('%s costs what its entry says', (name, prices) => {
    expect(pricesOf(find(modelsDev.models, name))).toEqual(prices);
  });

  test('an entry is read completely', () => {
    expect(find(modelsDev.models, 'gemini-3.1-pro-preview')).toEqual({
      provider: 'google',
      model: 'gemini-3.1-pro-preview',
      displayName: 'Gemini 3.1 Pro Preview',
      family: 'gemini-pro',
      kind: 'chat',
      preview: true,
      releasedAt: '2026-02-19',
      pricing: {
        inputUsdPerMillion: 2,
        outputUsdPerMillion: 12,
        cachedInputUsdPerMillion: 0.2,
        tiers: [
          { inputTokensAbove: 200_000, inputUsdPerMillion: 4, outputUsdPerMillion: 18, cachedInputUsdPerMillion: 0.4 },
        ],
      },
      contextTokens: 1_048_576,
      maxOutputTokens: 65_536,
      modalities: { input: ['text', 'image', 'video', 'audio', 'pdf'], output: ['text'] },
      capabilities: [
        'audio_input',
        'json_mode',
        'pdf_input',
        'prompt_caching',
        'reasoning',
        'structured_outputs',
        'tools',
        'video_input',
        'vision',
      ],
      reasoningEfforts: ['low', 'medium', 'high'],
      ending: false,
    });
  });

  test('the older form of a long-prompt price is the same tier', () => {
    const raw = fixture('models-dev-sample.json');
    const { tiers, ...cost } = raw.google.models['gemini-2.5-pro'].cost;
    const { tier: _tier, ...rates } = tiers[0];
    raw.google.models['gemini-2.5-pro'].cost = { ...cost, context_over_200k: rates };
    expect(find(readModelsDev(raw).models, 'gemini-2.5-pro')).toEqual(find(modelsDev.models, 'gemini-2.5-pro'));
  });

  test.each([
    ['alpha', true],
    ['beta', true],
    ['deprecated', false],
    [undefined, false],
  ])('a model with the status %s is a preview: %s', (status, preview) => {
    const raw = fixture('models-dev-sample.json');
    raw.openai.models['gpt-4o'].status = status;
    expect(find(readModelsDev(raw).models, 'gpt-4o').preview).toBe(preview);
  });

  test.each(['name', 'family'])('a %s has 1 to 200 characters', (field) => {
    const read = (text: string) => {
      const raw = fixture('models-dev-sample.json');
      raw.openai.models['gpt-4o'][field] = text;
      return readModelsDev(raw).skipped.map(({ reason }) => reason);
    };
    expect([read('x'), read('x'.repeat(200))]).toEqual([[], []]);
    expect([read(''), read('x'.repeat(201))]).toEqual([['cannot be read'], ['cannot be read']]);
  });

  test.each([
    ['openai/ft:gpt-4o', 'openai', 'ft:gpt-4o', {}, 'is a fine-tuned model'],
    ['openai/gpt-x', 'openai', 'gpt-x', { cost: { input: -1, output: 1 } }, 'cannot be read'],
    ['openai/gpt-x', 'openai', 'gpt-x', 'free', 'cannot be read'],
    ['openrouter/*', 'openrouter', 'openai/gpt-4o', {}, 'is another provider or channel'],
  ])('%s (%s %s %j) is skipped: it %s', (name, provider, model, entry, reason) => {
    const raw = fixture('models-dev-sample.json');
    raw[provider] = { models: { ...raw[provider]?.models, [model]: entry } };
    const read = readModelsDev(raw);
    expect(read.skipped).toEqual([{ name, reason }]);
    expect(read.models).toEqual(modelsDev.models);
  });
});

describe('LiteLLM', () => {
  test.each<[string, (number | undefined)[] | undefined]>([
    ['gpt-4o-mini', [0.15, 0.6, 0.075, undefined]],
    ['gpt-5.6-sol', [5, 30, 0.5, 6.25, 272_000, 10, 45, 1, 12.5]],
    ['o1-pro', [150, 600, undefined, undefined]],
    ['gpt-4-0314', [30, 60, undefined, undefined]],
    ['text-embedding-3-small', [0.02, 0, undefined, undefined]],
    ['gpt-image-1', [5, 40, 1.25, undefined]],
    ['gpt-4o-transcribe', [2.5, 10, undefined, undefined]],
    ['claude-sonnet-4-5-20250929', [3, 15, 0.3, 3.75, 200_000, 6, 22.5, 0.6, 7.5]],
    ['gemini-2.5-pro', [1.25, 10, 0.125, undefined, 200_000, 2.5, 15, 0.25]],
    ['gemini-embedding-001', [0.15, 0, undefined, undefined]],
  ])('%s costs what its entry says', (name, prices) => {
    expect(pricesOf(find(liteLlm.models, name))).toEqual(prices);
  });

  test.each([
    ['gpt-4o', 0.5],
    ['gemini-3.6-flash', 0.5],
    ['text-embedding-3-small', 0.5],
    ['gpt-5', undefined],
  ])('%s has the batch share %s', (name, share) => {
    expect(find(liteLlm.models, name).pricing?.batchMultiplier).toBe(share);
  });

  test('an entry is read completely', () => {
    expect(find(liteLlm.models, 'gpt-3.5-turbo-1106')).toEqual({
      provider: 'openai',
      model: 'gpt-3.5-turbo-1106',
      kind: 'chat',
      preview: false,
      pricing: { inputUsdPerMillion: 1, outputUsdPerMillion: 2 },
      inputTokens: 16_385,
      maxOutputTokens: 4096,
      capabilities: ['parallel_tool_calls', 'prompt_caching', 'system_messages', 'tool_choice', 'tools'],
      ending: true,
      shutdownAt: '2026-09-28',
    });
  });

  test.each([
    ['azure/gpt-4o', { litellm_provider: 'azure' }, 'is another provider or channel'],
    ['gemini-2.5-pro', { litellm_provider: 'vertex_ai-language-models' }, 'is another provider or channel'],
    ['anthropic.claude-opus-4-8', { litellm_provider: 'bedrock_converse' }, 'is another provider or channel'],
    [
      'sample_spec',
      { litellm_provider: 'one of https://docs.litellm.ai/docs/providers' },
      'is another provider or channel',
    ],
    ['nothing', null, 'is another provider or channel'],
    [
      'us/claude-opus-4-8',
      { litellm_provider: 'anthropic', mode: 'chat' },
      'is a variant of a model: a region, a speed or a size',
    ],
    [
      '1024-x-1024/dall-e-2',
      { litellm_provider: 'openai', mode: 'image_generation' },
      'is a variant of a model: a region, a speed or a size',
    ],
    ['ft:gpt-4o-2024-08-06', { litellm_provider: 'openai', mode: 'chat' }, 'is a fine-tuned model'],
    [
      'openai/container',
      { litellm_provider: 'openai', mode: 'code_interpreter' },
      'is no model: mode code_interpreter',
    ],
    ['gpt-x', { litellm_provider: 'openai', mode: 'chat', input_cost_per_token: 'free' }, 'cannot be read'],
  ])('%s of %j is skipped: it %s', (name, entry, reason) => {
    const read = readLiteLlm({ ...fixture('litellm-sample.json'), [name]: entry });
    expect(read.skipped).toEqual([{ name, reason }]);
    expect(read.models).toEqual(liteLlm.models);
  });

  test.each([
    ['responses', 'chat'],
    ['completion', 'completion'],
    ['embedding', 'embedding'],
    ['image_edit', 'image'],
    ['audio_transcription', 'transcription'],
    ['audio_speech', 'speech'],
    ['moderation', 'moderation'],
    ['realtime', 'realtime'],
    ['video_generation', 'video'],
  ])('the mode %s is the kind %s', (mode, kind) => {
    const read = readLiteLlm({ 'gpt-x': { litellm_provider: 'openai', mode, supported_endpoints: ['/v1/batch'] } });
    expect(find(read.models, 'gpt-x')).toMatchObject({ kind, capabilities: expect.arrayContaining(['batch']) });
  });

  test('a batch share has four decimals, and is none if batch costs more', () => {
    const batchShare = (batches: number) => {
      const raw = fixture('litellm-sample.json');
      raw['gpt-4o'].input_cost_per_token_batches = raw['gpt-4o'].input_cost_per_token * batches;
      raw['gpt-4o'].output_cost_per_token_batches = raw['gpt-4o'].output_cost_per_token * batches;
      return find(readLiteLlm(raw).models, 'gpt-4o').pricing?.batchMultiplier;
    };
    expect([batchShare(1 / 3), batchShare(0.12344), batchShare(1), batchShare(1.01)]).toEqual([
      0.3333,
      0.1234,
      1,
      undefined,
    ]);
  });

  test('batch prices that are not one common share of the price are ignored', () => {
    const raw = fixture('litellm-sample.json');
    raw['gpt-4o'].output_cost_per_token_batches = 8e-6;
    const { pricing, capabilities } = find(readLiteLlm(raw).models, 'gpt-4o');
    expect([pricing?.batchMultiplier, capabilities.includes('batch')]).toEqual([undefined, false]);
  });

  test.each([
    ['gpt-4o', true],
    ['claude-opus-4-8', false],
  ])(
    'whether %s lets a tool be chosen is believed: %s, because Claude models may reject forced tool use',
    (name, believed) => {
      expect(fixture('litellm-sample.json')[name].supports_tool_choice).toBe(true);
      expect(find(liteLlm.models, name).capabilities.includes('tool_choice')).toBe(believed);
    },
  );

  test.each([
    ['moderation', 'omni-moderation-latest', [0, 0, undefined, undefined]],
    ['chat', 'gpt-free', undefined],
  ])('a price of zero of a %s model', (mode, name, prices) => {
    const entry = { litellm_provider: 'openai', mode, input_cost_per_token: 0, output_cost_per_token: 0 };
    expect(pricesOf(find(readLiteLlm({ [name]: entry }).models, name))).toEqual(prices);
  });
});

test.each([
  ['models.dev', readModelsDev, [null, [], 'x', {}, { openai: { models: {} } }, fixture('litellm-sample.json')]],
  ['LiteLLM', readLiteLlm, [null, [], 'x', {}, { 'gpt-4o': null }, fixture('models-dev-sample.json')]],
])('what is no %s list is an error, never an empty list', (_of, read, raws) => {
  for (const raw of raws) expect(() => read(raw)).toThrow(/is no .* list/);
});

describe('a merge', () => {
  const upstreams: [string, Upstream][] = [
    ['models.dev', modelsDev],
    ['LiteLLM', liteLlm],
  ];

  test.each(upstreams)('of %s is a valid catalog with the same models and lifecycles', (_of, upstream) => {
    const merged = mergeImport(models, upstream, options);
    expect(readCatalogDocument({ models: merged.models }).problems).toEqual([]);
    expect(merged.models.map(modelKeyOf)).toEqual(models.map(modelKeyOf));
    expect(merged.models.map(({ lifecycle }) => lifecycle)).toEqual(models.map(({ lifecycle }) => lifecycle));
  });

  test.each(upstreams)('of %s a second time, on a later day, changes nothing', (_of, upstream) => {
    const once = mergeImport(models, upstream, options);
    const twice = mergeImport(once.models, upstream, { ...options, date: '2026-11-25' });
    expect(twice.models).toEqual(once.models);
    expect(twice.report).toMatchObject({ added: [], repriced: [], limits: [], capabilities: [] });
  });

  test.each(upstreams)('of %s names what is absent upstream, and leaves it as it is', (_of, upstream) => {
    const merged = mergeImport(models, upstream, options);
    expect(merged.report.absentUpstream.length).toBeGreaterThan(290);
    for (const key of merged.report.absentUpstream) {
      const was = models.find((model) => modelKeyOf(model) === key);
      expect(merged.models.find((model) => modelKeyOf(model) === key)).toEqual(was);
    }
  });

  test('of models.dev confirms every price of the catalog', () => {
    expect(mergeImport(models, modelsDev, options).report.repriced).toEqual([]);
  });

  test('of an older LiteLLM list reprices the two models that became cheaper since', () => {
    const { report } = mergeImport(models, liteLlm, options);
    expect(report.repriced.map(({ modelKey }) => modelKey)).toEqual(['google/gemini-3.6-flash', 'openai/gpt-5.6-sol']);
    expect(report.repriced[0]?.after).toMatchObject({
      inputUsdPerMillion: 1.5,
      cachedInputUsdPerMillion: 0.15,
      outputUsdPerMillion: 7.5,
      batchMultiplier: 0.5,
      scheduled: [
        { from: '2027-01-01', inputUsdPerMillion: 1.5, cachedInputUsdPerMillion: 0.15, outputUsdPerMillion: 7.5 },
      ],
      source: expect.stringMatching(/^Upstream 2026-11-21; what it does not state: pi-ai 1.5.2 catalog/),
    });
    expect(report.repriced[1]?.after).toMatchObject({
      outputUsdPerMillion: 30,
      source: expect.stringMatching(/^Upstream 2026-11-21/),
    });
    expect(report.limits).toEqual([
      {
        modelKey: 'google/gemini-2.5-pro',
        before: { contextTokens: 1_048_576, maxOutputTokens: 65_536 },
        after: { contextTokens: 1_048_576, maxOutputTokens: 65_535 },
      },
    ]);
  });

  test('prefers the entry of a model over the entry of its alias', () => {
    const { report } = mergeImport(models, modelsDev, options);
    expect(report.skipped).toEqual([
      {
        name: 'anthropic/claude-sonnet-4-5',
        reason: 'is another name of anthropic/claude-sonnet-4-5-20250929, which is read from its own entry',
      },
    ]);
  });
});

function upstreamOf(...entries: Partial<ImportedModel>[]): Upstream {
  const blank = { provider: 'openai', model: 'gpt-7', kind: 'chat', preview: false, ending: false } as const;
  return {
    url: 'https://example.org/list.json',
    models: entries.map((entry) => ({ ...blank, capabilities: [], ...entry })),
    skipped: [],
  };
}

/** The model `name` after an import of `entry`. */
function imported(name: string, entry: Partial<ImportedModel>, date = options.date): CatalogModel {
  return find(mergeImport(models, upstreamOf({ model: name, ...entry }), { ...options, date }).models, name);
}

describe('a known model', () => {
  const rates = { inputUsdPerMillion: 4.2, outputUsdPerMillion: 21 };

  test('keeps tiers, cache rates and the batch share that upstream omits', () => {
    const { pricing } = find(models, 'gpt-5.6-sol');
    expect(imported('gpt-5.6-sol', { pricing: rates }).pricing).toEqual({
      ...pricing,
      ...rates,
      source:
        'Upstream 2026-11-21; what it does not state: pi-ai 1.5.2 catalog; long-prompt cache write: llmgateway models 1.324.0; ' +
        "components: pi-ai, the provider's pages, LiteLLM, as read 2026-11-22",
    });
  });

  test('names the first source of what no later import stated', () => {
    const once = mergeImport(models, upstreamOf({ model: 'gpt-5.6-sol', pricing: rates }), options).models;
    const dearer = { ...rates, outputUsdPerMillion: 22 };
    const twice = mergeImport(once, upstreamOf({ model: 'gpt-5.6-sol', pricing: dearer }), {
      sourceLabel: 'Another',
      date: '2026-12-01',
    });
    expect(find(twice.models, 'gpt-5.6-sol').pricing?.source).toBe(
      'Another 2026-12-01; what it does not state: pi-ai 1.5.2 catalog; long-prompt cache write: llmgateway models 1.324.0; ' +
        "components: pi-ai, the provider's pages, LiteLLM, as read 2026-11-22",
    );
  });

  test('keeps the cache-write rate of a tier if upstream omits it', () => {
    const tiers = [{ inputTokensAbove: 272_000, inputUsdPerMillion: 8.4, outputUsdPerMillion: 31 }];
    expect(imported('gpt-5.6-sol', { pricing: { ...rates, tiers } }).pricing?.tiers).toEqual([
      { ...tiers[0], cachedInputUsdPerMillion: 0.8, cacheWriteUsdPerMillion: 10 },
    ]);
  });

  test('drops a cached rate above the new input rate', () => {
    const cheap = { inputUsdPerMillion: 0.3, outputUsdPerMillion: 1 };
    expect(imported('gpt-5.6-sol', { pricing: cheap }).pricing).not.toHaveProperty('cachedInputUsdPerMillion');
  });

  test('gets no price tier above its context length', () => {
    const tiers = [{ inputTokensAbove: 200_000, inputUsdPerMillion: 6, outputUsdPerMillion: 22.5 }];
    const stated = { pricing: { inputUsdPerMillion: 3, outputUsdPerMillion: 15, tiers } };
    expect(find(models, 'claude-sonnet-4-5-20250929').contextTokens).toBe(200_000);
    const merged = imported('claude-sonnet-4-5-20250929', { provider: 'anthropic', ...stated });
    expect(merged.pricing).toEqual(find(models, 'claude-sonnet-4-5-20250929').pricing);
  });

  test('is compared by the price in force: an announced change that took effect is not a change', () => {
    const promised = { inputUsdPerMillion: 1.5, cachedInputUsdPerMillion: 0.15, outputUsdPerMillion: 7.5 };
    const was = find(models, 'gemini-3.6-flash');
    expect(imported('gemini-3.6-flash', { provider: 'google', pricing: promised }, '2027-01-01').pricing).toEqual(
      was.pricing,
    );
    const other = imported(
      'gemini-3.6-flash',
      { provider: 'google', pricing: { ...promised, outputUsdPerMillion: 7 } },
      '2027-01-01',
    );
    expect(other.pricing).toMatchObject({ ...promised, outputUsdPerMillion: 7, batchMultiplier: 0.5 });
    expect(other.pricing).not.toHaveProperty('scheduled');
  });

  test.each([
    [{ inputTokens: 272_000 }, 400_000],
    [{ inputTokens: 500_000 }, 500_000],
    [{ contextTokens: 300_000 }, 300_000],
    [{}, 400_000],
  ])('of 400,000 tokens, of which upstream says %j, has a context of %i', (limits, contextTokens) => {
    expect(imported('gpt-5-2025-08-07', limits).contextTokens).toBe(contextTokens);
  });

  test('gains capabilities and loses none', () => {
    const was = find(models, 'gpt-5-2025-08-07').capabilities;
    expect(imported('gpt-5-2025-08-07', { capabilities: ['computer_use', 'tools'] }).capabilities).toEqual(
      [...was, 'computer_use'].sort(),
    );
  });

  test('is found by its alias', () => {
    const { report } = mergeImport(models, upstreamOf({ model: 'gpt-5', pricing: rates }), options);
    expect(report.repriced.map(({ modelKey }) => modelKey)).toEqual(['openai/gpt-5-2025-08-07']);
    expect(report.added).toEqual([]);
  });

  test('stays retired or deprecated whatever upstream says, and is still updated', () => {
    const merged = imported('gpt-4-0314', { pricing: rates, ending: true });
    expect(merged.lifecycle).toEqual(find(models, 'gpt-4-0314').lifecycle);
    expect(merged.pricing).toMatchObject(rates);
  });
});

describe('a new model', () => {
  test('has the reasoning efforts that upstream states, or none', () => {
    expect(imported('gpt-7', { reasoningEfforts: ['low', 'high'] }).reasoningEfforts).toEqual(['low', 'high']);
    expect(imported('gpt-7', {})).not.toHaveProperty('reasoningEfforts');
  });

  test.each([
    [
      'openai',
      ['chat', 'completion', 'embedding', 'image', 'moderation', 'realtime', 'speech', 'transcription', 'video'],
    ],
    ['anthropic', ['chat', 'completion']],
    ['google', ['chat', 'embedding', 'image', 'realtime', 'speech', 'video']],
  ] as const)('of %s has endpoints that the catalog knows of its kind', (provider, kinds) => {
    for (const kind of kinds) {
      const known = models.filter((model) => model.provider === provider && model.kind === kind);
      const { endpoints } = imported('brand-new', { provider, model: 'brand-new', kind });
      expect(endpoints.length, kind).toBeGreaterThan(0);
      for (const endpoint of endpoints) expect(known.flatMap((model) => model.endpoints)).toContain(endpoint);
    }
  });

  test('is added as ACTIVE with the upstream as its source', () => {
    const pricing = { inputUsdPerMillion: 3, outputUsdPerMillion: 12 };
    const upstream = upstreamOf({
      model: 'gpt-7',
      displayName: 'GPT-7',
      pricing,
      contextTokens: 500_000,
      capabilities: ['tools'],
    });
    const merged = mergeImport(models, upstream, options);
    expect(merged.report.added).toEqual(['openai/gpt-7']);
    expect(find(merged.models, 'gpt-7')).toEqual({
      provider: 'openai',
      model: 'gpt-7',
      displayName: 'GPT-7',
      family: 'gpt-7',
      kind: 'chat',
      aliases: [],
      lifecycle: {
        status: 'ACTIVE',
        source: { label: 'Upstream', url: 'https://example.org/list.json', checkedAt: '2026-11-21' },
        confidence: 'secondary',
      },
      preview: false,
      pricing: { ...pricing, source: 'Upstream 2026-11-21' },
      contextTokens: 500_000,
      modalities: { input: ['text'], output: ['text'] },
      capabilities: ['tools'],
      endpoints: ['/v1/chat/completions', '/v1/responses'],
    });
    expect(merged.models.map(modelKeyOf)).toEqual([...models.map(modelKeyOf), 'openai/gpt-7'].sort());
    expect(readCatalogDocument({ models: merged.models }).problems).toEqual([]);
  });

  test.each<[Partial<ImportedModel>, string]>([
    [{ ending: true }, 'is new and already deprecated upstream: its lifecycle needs a source of its own'],
    [{ provider: 'google', model: 'gemini-exp-1206' }, 'is of a kind that the catalog leaves out'],
    [{ provider: 'google', model: 'gemma-3-27b-it' }, 'is of a kind that the catalog leaves out'],
    [{ provider: 'google', model: 'gpt-4o' }, 'has the name of a model of another provider'],
  ])('%j is not added: it %s', (entry, reason) => {
    const { models: merged, report } = mergeImport(models, upstreamOf(entry), options);
    expect(merged).toEqual(models);
    expect(report.skipped).toEqual([{ name: `${entry.provider ?? 'openai'}/${entry.model ?? 'gpt-7'}`, reason }]);
  });

  test.each([[true], [false]])(
    'the first entry of a name counts (deprecated: %s), and the next one is skipped',
    (ending) => {
      const upstream = upstreamOf({ ending, maxOutputTokens: 10 }, { ending: false, maxOutputTokens: 20 });
      const { models: merged, report } = mergeImport(models, upstream, options);
      expect(report.added).toEqual(ending ? [] : ['openai/gpt-7']);
      expect(report.skipped).toContainEqual({ name: 'openai/gpt-7', reason: 'is listed twice' });
      expect(mergeImport(merged, upstream, options).models).toEqual(merged);
    },
  );

  test.each([
    ['anthropic', 'claude-opus-6', 'chat', 'claude-opus'],
    ['google', 'gemini-4-flash-lite', 'chat', 'gemini-flash-lite'],
    ['google', 'gemini-4-pro-preview', 'chat', 'gemini-pro'],
    ['google', 'gemini-embedding-3', 'embedding', 'gemini-embedding'],
    ['openai', 'o5-mini', 'chat', 'o-series'],
    ['openai', 'gpt-image-3', 'image', 'gpt-image'],
    ['openai', 'gpt-7-transcribe', 'transcription', 'transcription'],
  ] as const)('%s/%s (%s) belongs to the family %s', (provider, model, kind, family) => {
    const merged = mergeImport(models, upstreamOf({ provider, model, kind }), options);
    expect(find(merged.models, model).family).toBe(family);
  });
});

test('no upstream removes a model or changes a lifecycle, and a second import changes nothing', () => {
  const rate = fc.integer({ min: 1, max: 500_000 }).map((thousandths) => thousandths / 1000);
  const names = models.flatMap(({ provider, model, aliases }) =>
    [model, ...aliases].map((name) => ({ provider, model: name })),
  );
  const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
  const entry = fc
    .record({
      name: fc.oneof(
        fc.constantFrom(...names),
        fc.record({
          provider: fc.constantFrom('openai', 'anthropic', 'google'),
          model: fc.stringMatching(/^[a-z0-9][a-z0-9.-]{0,12}$/),
        }),
      ),
      pricing: optional(
        fc.record(
          {
            inputUsdPerMillion: rate,
            outputUsdPerMillion: rate,
            cacheWriteUsdPerMillion: rate,
            batchMultiplier: fc.constantFrom(0.25, 0.5),
            tiers: fc
              .tuple(fc.integer({ min: 1, max: 2_000_000 }), rate, rate)
              .map(([inputTokensAbove, input, output]) => [
                { inputTokensAbove, inputUsdPerMillion: input, outputUsdPerMillion: output },
              ]),
          },
          { requiredKeys: ['inputUsdPerMillion', 'outputUsdPerMillion'] },
        ),
      ),
      limits: fc.record(
        {
          contextTokens: fc.integer({ min: 1, max: 2_000_000 }),
          inputTokens: fc.integer({ min: 1, max: 2_000_000 }),
          maxOutputTokens: fc.integer({ min: 1, max: 2_000_000 }),
        },
        { requiredKeys: [] },
      ),
      capabilities: fc.subarray(['tools', 'vision', 'batch', 'telepathy']),
      ending: fc.boolean(),
    })
    .map(
      ({ name, pricing, limits, ...rest }) =>
        ({ ...name, ...limits, ...rest, ...(pricing && { pricing }) }) as Partial<ImportedModel>,
    );

  fc.assert(
    fc.property(fc.array(entry, { maxLength: 40 }), fc.constantFrom('2026-11-21', '2027-03-01'), (entries, date) => {
      const upstream = upstreamOf(...entries);
      const { models: merged, report } = mergeImport(models, upstream, { ...options, date });
      for (const model of models) expect(find(merged, model.model).lifecycle).toEqual(model.lifecycle);
      expect(merged).toHaveLength(models.length + report.added.length);
      expect(mergeImport(merged, upstream, { ...options, date }).models).toEqual(merged);
    }),
    { numRuns: 60 },
  );
});
