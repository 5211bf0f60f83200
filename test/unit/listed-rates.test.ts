/**
 * Rates of the catalog that were missing or wrong, each with the figure of its source in USD per million tokens, as a call
 * that uses it is charged; and that a rate with one source, or by a rule, says so in the call's own cost.
 */
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { priceSnapshots, resolvePrice } from '../../src/catalog/prices.ts';
import { readCatalogDocument } from '../../src/catalog/validate.ts';
import { formatUsd } from '../../src/domain/money.ts';
import { computeCost } from '../../src/domain/pricing.ts';
import type { Usage } from '../../src/domain/usage.ts';
import { usage } from './fixtures.ts';

const NOW = Date.UTC(2026, 10, 27);
const LONG = 300_000;
const FAST = { speed: 'fast' } as const;
const write1h = { inputTokens: 10, cacheWriteInputTokens: 10, cacheWrite1hInputTokens: 10 };
const write12h = { inputTokens: 10, cacheWriteInputTokens: 10, cacheWrite12hInputTokens: 10 };
const write = { inputTokens: 10, cacheWriteInputTokens: 10 };
const read = { inputTokens: 10, cachedInputTokens: 10 };
const sound = { inputTokens: 10, audioInputTokens: 10 };
const prompt = { inputTokens: 10 };
const answer = { responseTokens: 10 };

async function charged(modelUsed: string, tokens: Partial<Usage>, nowMs = NOW) {
  const price = await resolvePrice(BUILT_IN_CATALOG, new Map(), { modelUsed }, nowMs);
  if (!price.available) throw new Error(`${modelUsed}: ${price.reason}`);
  const priced = computeCost(price.card, usage(tokens), 'standard');
  if (!priced.known) throw new Error(`${modelUsed}: ${priced.reason}`);
  const line = priced.cost.lines.find(({ quantity }) => quantity > 0);
  return { usd: formatUsd(line?.rateNanoUsdPerMillion ?? 0n), assumptions: priced.cost.assumptions };
}

describe('a rate', () => {
  test.each<[string, Partial<Usage>, string]>([
    ['claude-fable-5-2', write1h, '16'],
    ['claude-fable-5-2', { ...prompt, ...FAST }, '16'],
    ['claude-fable-5-2', { ...answer, ...FAST }, '80'],
    ['claude-fable-5-2', { ...read, ...FAST }, '0.4'],
    ['claude-fable-5-2', { ...write, ...FAST }, '20'],
    ['claude-fable-5-2', { ...write1h, ...FAST }, '32'],
    ['gemini-4-neon', prompt, '3'],
    ['gemini-4-neon', { inputTokens: 900_000 }, '3'],
    ['gemini-4-neon', read, '0.15'],
    ['gemini-4-neon', answer, '15'],
    ['gemini-decision-1', prompt, '0.1'],
    ['gemini-decision-1', sound, '0.1'],
    ['gemini-decision-1', answer, '0'],
    ['claude-mythos-5-1', prompt, '10'],
    ['claude-mythos-5-1', write, '12.5'],
    ['claude-mythos-5-1', write1h, '20'],
    ['claude-mythos-5-1', read, '0.25'],
    ['claude-mythos-5-1', answer, '50'],
    ['gpt-6.2-astra', write, '10'],
    ['gpt-6.2-astra', { inputTokens: LONG }, '16'],
    ['gpt-6.2-sol', { ...prompt, serviceTier: 'priority' }, '4'],
    ['gpt-6.2-sol', { ...answer, serviceTier: 'flex' }, '5'],
    ['gpt-6.2-sol', { ...prompt, serviceTier: 'ultrafast' }, '6'],
    ['gpt-6.1-sol', write12h, '5'],
    ['o3', { ...prompt, serviceTier: 'priority' }, '3.5'],
    ['o3', { ...answer, serviceTier: 'priority' }, '14'],
    ['gpt-image-1.5', answer, '10'],
    ['gpt-image-1.5', { responseTokens: 10, imageOutputTokens: 10 }, '32'],
    ['gemini-embedding-2', sound, '6.5'],
    ['gemini-embedding-2', { inputTokens: 10, imageInputTokens: 10 }, '0.45'],
    ['gemini-3.8-flash', { ...prompt, serviceTier: 'flex' }, '0.375'],
    ['gemini-3.8-flash', { ...answer, serviceTier: 'priority' }, '6.75'],
    ['gemini-3.1-pro-preview', { inputTokens: LONG, serviceTier: 'priority' }, '7.2'],
    ['us-gov.openai.gpt-oss-20b-1:0', prompt, '0.084'],
  ])('%s %j: %s USD', async (model, tokens, usd) => {
    expect((await charged(model, tokens)).usd).toBe(usd);
  });

  test('of a tier follows the announced change of the model', async () => {
    const flex = { ...prompt, serviceTier: 'flex' } as const;
    expect((await charged('gemini-4-argon', flex, Date.UTC(2026, 10, 30))).usd).toBe('1');
    expect((await charged('gemini-4-argon', flex, Date.UTC(2026, 11, 1))).usd).toBe('2');
    const ultrafast = { ...prompt, serviceTier: 'ultrafast' } as const;
    expect((await charged('gpt-6.2-sol', ultrafast, Date.UTC(2027, 2, 1))).usd).toBe('12');
  });
});

test('a call with sound is priced on every Gemini chat model that hears', async () => {
  const hearing = BUILT_IN_CATALOG.models.filter(
    ({ provider, kind, modalities, lifecycle, pricing }) =>
      provider === 'google' &&
      kind === 'chat' &&
      pricing &&
      modalities.input.includes('audio') &&
      lifecycle.status !== 'RETIRED',
  );
  expect(hearing.length).toBeGreaterThan(14);
  for (const { model } of hearing)
    for (const tokens of [sound, { ...sound, cachedInputTokens: 10, cachedAudioInputTokens: 10 }])
      expect(Number((await charged(model, tokens)).usd)).toBeGreaterThan(0);
});

describe('a rate with one source, or by a rule,', () => {
  test.each<[string, Partial<Usage>, string]>([
    ['gpt-6.2-astra', write, "cacheWrite: OpenAI's rule"],
    ['gpt-6.2-astra', { inputTokens: LONG }, "input (prompts of more than 272000 tokens): OpenAI's rule"],
    ['gpt-6.1-sol', write12h, 'cacheWrite12h: 2.5 times input'],
    ['gemini-embedding-2', sound, 'audioInput: genai-prices 0.1.8 alone'],
    ['gemini-3.1-pro-preview', { ...prompt, serviceTier: 'priority' }, 'input (serviceTier priority): LiteLLM'],
  ])('says so in the cost of a call: %s', async (model, tokens, assumption) => {
    expect((await charged(model, tokens)).assumptions.join('\n')).toContain(assumption);
  });

  test('says nothing in the cost of a call that does not use it', async () => {
    expect((await charged('gpt-6.2-astra', prompt)).assumptions).toEqual([]);
  });

  test('keeps its snapshot when a second source confirms it', async () => {
    const models = BUILT_IN_CATALOG.models.filter(({ model }) => model === 'gpt-6.2-astra');
    const confirmed = structuredClone(models).map((model) => {
      for (const listed of [...(model.pricing?.tiers ?? []), ...(model.pricing?.components ?? [])])
        delete listed.assumption;
      return model;
    });
    const ids = async (of: typeof models) =>
      (await priceSnapshots({ ...BUILT_IN_CATALOG, models: of })).map(({ snapshotId }) => snapshotId);
    expect(await ids(confirmed)).toEqual(await ids(models));
  });
});

test('what a channel differs in is checked like the rest', () => {
  const [oss] = structuredClone(BUILT_IN_CATALOG.models.filter(({ model }) => model === 'gpt-oss-20b'));
  if (!oss?.channels?.[0]?.pricing) throw new Error('no price at a channel');
  oss.channels[0].pricing.inputUsdPerMillion = 0.00000000001;
  oss.channels.push({ channel: 'bedrock' });
  expect(readCatalogDocument({ models: [oss] }).problems.map(({ field }) => field)).toEqual([
    'channels.0.pricing.inputUsdPerMillion',
    'channels.1.channel',
    'channels.1',
  ]);
});
