/**
 * Promise: the cost of a call equals that by an independent list of prices, for each model and dimension that both
 * know, or the difference is explained in test/fixtures/price-differences.json.
 */
import { calcPrice } from '@pydantic/genai-prices';
import { expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { cardOn } from '../../src/catalog/prices.ts';
import { computeCost } from '../../src/domain/pricing.ts';
import differences from '../fixtures/price-differences.json' with { type: 'json' };
import { type PartialUsage, usage } from './fixtures.ts';

/** The day of the release of the list that is compared with. */
const AT = new Date('2026-11-20T00:00:00Z');

interface Dimension {
  ours: PartialUsage;
  theirs: Record<string, number>;
  /** The rate that their list must have to know the dimension: without it they bill the part as text. */
  rate?: string;
}

const DIMENSIONS: Record<string, Dimension> = {
  text: { ours: { inputTokens: 1_000, responseTokens: 500 }, theirs: { input_tokens: 1_000, output_tokens: 500 } },
  cached: {
    ours: { inputTokens: 10_000, cachedInputTokens: 6_000, responseTokens: 500 },
    theirs: { input_tokens: 10_000, cache_read_tokens: 6_000, output_tokens: 500 },
  },
  written: {
    ours: { inputTokens: 10_000, cacheWriteInputTokens: 6_000, responseTokens: 500 },
    theirs: { input_tokens: 10_000, cache_write_tokens: 6_000, output_tokens: 500 },
  },
  writtenForAnHour: {
    ours: { inputTokens: 10_000, cacheWriteInputTokens: 6_000, cacheWrite1hInputTokens: 6_000, responseTokens: 5 },
    theirs: { input_tokens: 10_000, cache_write_tokens: 6_000, cache_write_1h_tokens: 6_000, output_tokens: 5 },
    rate: 'cache_write_1h_mtok',
  },
  longPrompt: {
    ours: { inputTokens: 300_000, cachedInputTokens: 1_000, responseTokens: 500 },
    theirs: { input_tokens: 300_000, cache_read_tokens: 1_000, output_tokens: 500 },
  },
  audioInput: {
    ours: { inputTokens: 1_000, audioInputTokens: 700, responseTokens: 5 },
    theirs: { input_tokens: 1_000, input_audio_tokens: 700, output_tokens: 5 },
    rate: 'input_audio_mtok',
  },
  cachedAudioInput: {
    ours: {
      inputTokens: 1_000,
      cachedInputTokens: 400,
      audioInputTokens: 400,
      cachedAudioInputTokens: 400,
      responseTokens: 5,
    },
    theirs: {
      input_tokens: 1_000,
      cache_read_tokens: 400,
      input_audio_tokens: 400,
      cache_audio_read_tokens: 400,
      output_tokens: 5,
    },
    rate: 'cache_audio_read_mtok',
  },
  audioOutput: {
    ours: { inputTokens: 1_000, responseTokens: 500, audioOutputTokens: 400 },
    theirs: { input_tokens: 1_000, output_tokens: 500, output_audio_tokens: 400 },
    rate: 'output_audio_mtok',
  },
  imageInput: {
    ours: { inputTokens: 1_000, imageInputTokens: 400, responseTokens: 5 },
    theirs: { input_tokens: 1_000, input_image_tokens: 400, output_tokens: 5 },
    rate: 'input_image_mtok',
  },
  imageOutput: {
    ours: { inputTokens: 1_000, responseTokens: 500, imageOutputTokens: 400 },
    theirs: { input_tokens: 1_000, output_tokens: 500, output_image_tokens: 400 },
    rate: 'output_image_mtok',
  },
  webSearch: {
    ours: { inputTokens: 10, responseTokens: 5, searches: 3 },
    theirs: { input_tokens: 10, output_tokens: 5, web_searches: 3 },
    rate: 'web_searches_kcount',
  },
};

test('no cost differs from the independent one without an explanation, and no explanation is out of date', async () => {
  const explained = differences.flatMap(({ models, dimensions }) =>
    models.flatMap((model) => dimensions.map((dimension) => `${model}: ${dimension}`)),
  );
  const found: string[] = [];
  let compared = 0;
  for (const model of BUILT_IN_CATALOG.models) {
    const card = await cardOn(model, AT.getTime());
    if (!card) continue;
    for (const [name, { ours, theirs, rate }] of Object.entries(DIMENSIONS)) {
      const price = calcPrice(theirs, model.model, { providerId: model.provider, timestamp: AT });
      if (!price || (rate !== undefined && price.model_price[rate] === undefined)) continue;
      compared += 1;
      const priced = computeCost(card, usage(ours), 'standard');
      const usd = priced.known ? Number(priced.cost.totalNanoUsd) / 1e9 : null;
      // Theirs are binary fractions, and each of our lines is rounded to a nano-USD.
      if (usd === null || Math.abs(usd - price.total_price) > 2e-9 + usd * 1e-9) found.push(`${model.model}: ${name}`);
    }
  }
  expect(found.sort()).toEqual(explained.sort());
  // The number of compared figures; the others agree.
  expect({ compared, differ: found.length }).toEqual({ compared: 896, differ: 56 });
});
