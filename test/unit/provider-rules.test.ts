/**
 * The surcharge of a region, according to the provider and the channel that serves the model: a table of callers'
 * reports. If neither states it, the cost of the call is not known.
 */
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { type ReportedModel, resolvePrice } from '../../src/catalog/prices.ts';
import { computeCost } from '../../src/domain/pricing.ts';
import { usage } from './fixtures.ts';

const NOW = Date.parse('2026-11-23');
const TOKENS = { inputTokens: 1_000, cachedInputTokens: 200, responseTokens: 100 };

/** The cost of a call, in nano-USD, or why it is not known. */
async function cost(reported: ReportedModel, region?: string): Promise<bigint | string> {
  const price = await resolvePrice(BUILT_IN_CATALOG, new Map(), reported, NOW);
  if (!price.available) return price.reason;
  const priced = computeCost(price.card, usage({ ...TOKENS, ...(region !== undefined && { region }) }), 'standard');
  return priced.known ? priced.cost.totalNanoUsd : priced.reason;
}

/** The cost of the call, in percent of the same tokens without a region. */
async function percentOf(reported: ReportedModel, region?: string): Promise<number | string> {
  const [there, everywhere] = [await cost(reported, region), await cost(reported, 'global')];
  if (typeof everywhere === 'string') throw new Error(`${reported.modelUsed}: ${everywhere}`);
  return typeof there === 'string' ? there : Number((there * 100n) / everywhere);
}

const unknown = (region: string) => `RATE_NOT_IN_CATALOG: input, cachedInput, output (region ${region})`;

type Row = [modelUsed: string, providerUsed: string | undefined, region: string, percent: number | string];

describe('a region that the call reports', () => {
  test.each<Row>([
    // Anthropic: the models that take `inference_geo`, from Claude 4.6 on.
    ['claude-opus-5-5', 'anthropic', 'us', 110],
    ['claude-sonnet-4-6', 'anthropic', 'us', 110],
    ['claude-opus-4-5', 'anthropic', 'us', unknown('us')],
    // Bedrock and Google Cloud: from Claude Sonnet 4.5 on, released on 2025-09-29.
    ['claude-sonnet-4-5', 'bedrock', 'eu', 110],
    ['claude-opus-4-1', 'bedrock', 'eu', 100],
    ['claude-opus-5-5', 'google-vertex', 'europe-west1', 110],
    ['claude-3-5-haiku', 'google-vertex', 'europe-west1', 100],
    // Microsoft Foundry's data zone is that of Anthropic.
    ['claude-opus-5-5', 'azure', 'us', 110],
    ['claude-opus-4-5', 'azure', 'us', unknown('us')],
    // OpenAI: data residency, for models released since 2026-03-05; older ones cost the same.
    ['gpt-5.4', 'openai', 'eu', 110],
    ['gpt-6.1-sol', 'openai', 'eu', 110],
    ['gpt-5.2', 'openai', 'eu', 100],
    ['gpt-4o', undefined, 'eu', 100],
    ['gpt-6-sol', 'openai', 'eu', unknown('eu')],
    // Azure has regions and data zones with its own prices, which differ from the vendor's.
    ['gpt-5.4', 'azure', 'eu', unknown('eu')],
    ['gpt-6.1-sol', 'azure-openai', 'swedencentral', unknown('swedencentral')],
    ['gpt-4o', 'azure', 'eu', unknown('eu')],
    // Google says nothing of regions.
    ['gemini-2.5-flash', 'google', 'eu', unknown('eu')],
    ['gemini-2.5-flash', 'vertex', 'europe-west1', unknown('europe-west1')],
  ])('%s by %s in %s: %s', async (modelUsed, providerUsed, region, percent) => {
    expect(await percentOf({ modelUsed, providerUsed }, region)).toBe(percent);
  });
});

describe('a region that the name says', () => {
  test.each<[string, number | string]>([
    ['eu.anthropic.claude-sonnet-4-5-20250929-v1:0', 110],
    ['bedrock/us-east-1/anthropic.claude-opus-4-5-20251101-v1:0', 110],
    ['us.anthropic.claude-opus-4-1-20250805-v1:0', 100],
    ['global.anthropic.claude-sonnet-4-5-20250929-v1:0', 100],
    ['projects/p/locations/europe-west1/publishers/anthropic/models/claude-opus-4-5@20251101', 110],
    ['projects/p/locations/global/publishers/anthropic/models/claude-opus-4-5@20251101', 100],
    ['azure/eu/gpt-5.4', unknown('eu')],
    ['azure/us/gpt-4.1', unknown('us')],
    ['azure/gpt-5.4', 100],
  ])('%s: %s', async (modelUsed, percent) => {
    expect(await percentOf({ modelUsed })).toBe(percent);
  });
});

test('a search costs the same in every region', async () => {
  const price = await resolvePrice(BUILT_IN_CATALOG, new Map(), { modelUsed: 'gpt-5.4' }, NOW);
  if (!price.available) throw new Error(price.reason);
  const searches = (region: string) => {
    const priced = computeCost(price.card, usage({ searches: 3, region }), 'standard');
    return priced.known && priced.cost.totalNanoUsd;
  };
  expect([searches('eu'), searches('global')]).toEqual([30_000_000n, 30_000_000n]);
});
