/**
 * The ids of two routers and of Amazon Bedrock, as clients report them: each finds its model, and has the price of its
 * channel. The fixture is a list of these channels of 2026-11-10, with its prices.
 */
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { lookUpModel, matchModel } from '../../src/catalog/matching.ts';
import { modelKeyOf } from '../../src/catalog/model.ts';
import { modelToRecord, type OwnPrices, ownPriceKey, resolvePrice } from '../../src/catalog/prices.ts';
import { formatUsd } from '../../src/domain/money.ts';
import { buildRate } from '../../src/domain/price.ts';
import { computeCost } from '../../src/domain/pricing.ts';
import channels from '../fixtures/channel-names.json' with { type: 'json' };
import { usage } from './fixtures.ts';

/** The day of the list. */
const NOW = Date.UTC(2026, 10, 10);

type Prices = [input: number, output: number, cacheRead: number, cacheWrite: number];
const { source: _source, ...lists } = channels;
const IDS = Object.entries(lists).flatMap(([channel, ids]) =>
  Object.entries(ids as unknown as Record<string, Prices>).map(([id, prices]) => ({ channel, id, prices })),
);

/** Names that mean no certain model: models that the catalog leaves out, and routers' names for several. */
const NO_MODEL = new Set([
  'google/gemma-3-12b-it',
  'google/gemma-3-27b-it',
  'google/gemma-4-26b-a4b-it:free',
  'google/gemma-4-31b-it:free',
  'google/gemini-2.5-pro-preview',
  '~google/gemini-pro-latest',
  'openai/gpt-5-image',
  'openai/gpt-5-image-mini',
  'openai/gpt-5.4-image-2',
  'openai/gpt-6-luna-decisions',
  'google.gemma-4-e2b',
]);

const find = (id: string, nowMs = NOW) => matchModel(BUILT_IN_CATALOG, id, nowMs);

/** USD for a million tokens of a kind; the reason if the price is not known. */
async function resolveCostUsd(
  id: string,
  tokens: Parameters<typeof usage>[0],
  own: OwnPrices = new Map(),
): Promise<string> {
  const price = await resolvePrice(BUILT_IN_CATALOG, own, { modelUsed: id }, NOW);
  if (!price.available) return price.reason;
  // In tens, so that no prompt is long.
  const priced = computeCost(price.card, usage(tokens), 'standard');
  return priced.known ? formatUsd(priced.cost.totalNanoUsd * 100_000n) : priced.reason;
}

describe('an id of a channel', () => {
  test.each(IDS.map(({ channel, id }) => [channel, id]))(
    'of %s finds its model, or nobody if it is ambiguous: %s',
    (_, id) => {
      expect([id, find(id) === null]).toEqual([id, NO_MODEL.has(id)]);
    },
  );

  test.each<[string, string]>([
    ['openai/gpt-6-sol-pro', 'openai/gpt-6-sol'],
    ['openai/gpt-5.1-thinking-fast', 'openai/gpt-5.1-2025-11-13'],
    ['~anthropic/claude-fable-latest', 'anthropic/claude-fable-5-2'],
    ['~openai/gpt-astra-latest', 'openai/gpt-6-astra'],
    ['~openai/gpt-mini-latest', 'openai/gpt-5.4-mini-2026-03-17'],
    ['openai/gpt-5.4-20260305', 'openai/gpt-5.4-2026-03-05'],
    ['azure/data-zone/gpt-5.4', 'openai/gpt-5.4-2026-03-05'],
    ['github_copilot/claude-opus-4.8', 'anthropic/claude-opus-4-8'],
    ['bedrock/us-east-2/openai.gpt-5.5', 'openai/gpt-5.5-2026-04-23'],
    ['bedrock_mantle/openai.gpt-oss-120b', 'openai/gpt-oss-120b'],
  ])('%s is %s', (id, key) => {
    const match = find(id);
    expect(match && modelKeyOf(match.model)).toBe(key);
    expect(lookUpModel(BUILT_IN_CATALOG, id, NOW)?.model).toBe(match?.model);
  });

  test('that moves is another model from the day on which its line has a newer one', () => {
    expect(find('~openai/gpt-astra-latest', Date.UTC(2026, 10, 16))?.model.model).toBe('gpt-6-astra');
    expect(find('~openai/gpt-astra-latest', Date.UTC(2026, 10, 17))?.model.model).toBe('gpt-6.2-astra');
  });

  test.each([
    'gpt-4o-pro',
    'claude-opus-5-5-slow',
    'openai/gpt-6-sol:batch:batch',
    'openai/gpt-6-sol-batch-fast',
    '~meta/llama-latest',
  ])('that nobody sells stays unknown: %s', (id) => expect(find(id)).toBeNull());
});

describe('what a variant costs is what its channel asks', () => {
  const VARIANTS = /:batch$|-batch$|-fast$|-pro$|-thinking$|^~|^(?:in|us|us-gov|global)\.|^(?:openai|google)\./;
  /** Rates that the channel sets itself, or that the list has rounded, or not at all in that channel. */
  const OTHERS = new Set(['openai/gpt-oss-120b:batch', 'openai/gpt-oss-20b:batch', 'openai/o3-mini:batch']);
  const priced = IDS.filter(({ id }) => VARIANTS.test(id) && !NO_MODEL.has(id) && !OTHERS.has(id));

  test.each(priced.map(({ id, prices }) => [id, prices] as const))('%s: %j', async (id, [input, output]) => {
    const asked = [input, output].map((usd) => Number(usd.toFixed(6)));
    const tokens = [{ inputTokens: 10 }, { responseTokens: 10 }];
    const costs = await Promise.all(tokens.map((each) => resolveCostUsd(id, each)));
    expect([id, costs.map(Number)]).toEqual([id, asked]);
  });

  test('and a batch that is reported as a batch is not halved twice', async () => {
    const price = await resolvePrice(BUILT_IN_CATALOG, new Map(), { modelUsed: 'openai/gpt-6-sol:batch' }, NOW);
    if (!price.available) throw new Error(price.reason);
    const cost = (mode: 'standard' | 'batch') => {
      const priced = computeCost(price.card, usage({ inputTokens: 1_000, responseTokens: 100 }), mode);
      return priced.known && priced.cost.totalNanoUsd;
    };
    expect([cost('standard'), cost('batch')]).toEqual([1_500_000n, 1_500_000n]);
  });

  test('and what moves says which model its price is of', async () => {
    const price = await resolvePrice(BUILT_IN_CATALOG, new Map(), { modelUsed: '~openai/gpt-sol-latest' }, NOW);
    expect(price.available && price.card.assumption).toContain('openai/gpt-6.1-sol, the newest of its line');
  });

  test('and a mode without listed rates has no price', async () => {
    expect(await resolveCostUsd('openai/gpt-4-fast', { inputTokens: 10 })).toMatch(/^RATE_NOT_IN_CATALOG/);
  });
});

test('a call that was asked for as a variant is recorded as one, though its answer names the model alone', async () => {
  const recorded = (asked: string, served: string) =>
    modelToRecord(BUILT_IN_CATALOG, new Map(), { asked, served, providerUsed: undefined }, NOW);
  expect(await recorded('openai/gpt-6-sol-fast', 'gpt-6-sol')).toBe('openai/gpt-6-sol-fast');
  expect(await recorded('openai/gpt-6-sol-fast', 'gpt-6-luna')).toBe('gpt-6-luna');
});

describe('an own price', () => {
  const card = (key: string, input: string) => ({
    fromMs: 0,
    card: {
      snapshotId: `own/${key}`,
      provider: 'own',
      modelKey: key,
      rates: [buildRate('input', input, 1_000_000), buildRate('output', '9', 1_000_000)],
    },
  });

  test('of a variant is kept under its own name, and is the price of that name alone', async () => {
    expect(ownPriceKey(BUILT_IN_CATALOG, 'openai/gpt-6-sol-fast', NOW)).toBe('openai/gpt-6-sol-fast');
    const own: OwnPrices = new Map([['openai/gpt-6-sol-fast', [card('openai/gpt-6-sol-fast', '3')]]]);
    expect(await resolveCostUsd('openai/gpt-6-sol-fast', { inputTokens: 10 }, own)).toBe('3');
    expect(await resolveCostUsd('openai/gpt-6-sol', { inputTokens: 10 }, own)).toBe('2');
  });

  test('of a model holds for its variants in the relation that the catalog knows', async () => {
    const own: OwnPrices = new Map([['openai/gpt-6-sol', [card('openai/gpt-6-sol', '1')]]]);
    expect(await resolveCostUsd('openai/gpt-6-sol', { inputTokens: 10 }, own)).toBe('1');
    expect(await resolveCostUsd('openai/gpt-6-sol-fast', { inputTokens: 10 }, own)).toBe('2');
    expect(await resolveCostUsd('openai/gpt-6-sol:batch', { inputTokens: 10 }, own)).toBe('0.5');
  });
});
