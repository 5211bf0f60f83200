/**
 * Every dimension that vendors charge, from their unmodified answers: the usage that is read, and its cost at the rates
 * below. Amounts are computed by hand: one USD per million tokens is 1,000 nano-USD a token.
 */
import { describe, expect, test } from 'vitest';
import { buildRate, type RateCard, tierOfPrice } from '../../src/domain/price.ts';
import { computeCost } from '../../src/domain/pricing.ts';
import type { Conditions } from '../../src/domain/usage.ts';
import { toUsage } from '../../src/gateway/service-calls/end.ts';
import { withServedTier } from '../../src/vendors/service-tier.ts';
import { readUsage } from '../../src/vendors/usage.ts';
import { usage } from './fixtures.ts';

const card = (provider: string, rates: RateCard['rates'], more: Partial<RateCard> = {}): RateCard => ({
  snapshotId: `${provider}/model@1`,
  provider,
  modelKey: `${provider}/model`,
  rates,
  ...more,
});
const text = (input: string, output: string) => [
  buildRate('input', input, 1_000_000),
  buildRate('output', output, 1_000_000),
];

const OPENAI = card(
  'openai',
  [
    ...text('2', '8'),
    buildRate('cachedInput', '0.5', 1_000_000),
    buildRate('cacheWrite', '2.5', 1_000_000),
    buildRate('cacheWrite12h', '5', 1_000_000),
    buildRate('input', '4', 1_000_000, { serviceTier: 'priority' }),
    buildRate('output', '16', 1_000_000, { serviceTier: 'priority' }),
    buildRate('input', '1', 1_000_000, { serviceTier: 'flex' }),
    buildRate('output', '4', 1_000_000, { serviceTier: 'flex' }),
    buildRate('audioInput', '32', 1_000_000),
    buildRate('cachedAudioInput', '0.4', 1_000_000),
    buildRate('audioOutput', '64', 1_000_000),
    buildRate('webSearch', '10', 1_000),
    buildRate('fileSearch', '2.5', 1_000),
    buildRate('codeMinutes', '0.0015', 1),
  ],
  { billedAsWhole: ['imageInput', 'cachedImageInput'], regionalPercent: 110 },
);
const IMAGES = card('openai', [
  buildRate('input', '5', 1_000_000),
  buildRate('imageInput', '8', 1_000_000),
  buildRate('imageOutput', '30', 1_000_000),
]);
const ANTHROPIC = card(
  'anthropic',
  [
    ...text('4', '20'),
    buildRate('cachedInput', '0.4', 1_000_000),
    buildRate('cacheWrite', '5', 1_000_000),
    buildRate('cacheWrite1h', '8', 1_000_000),
    buildRate('input', '8', 1_000_000, { speed: 'fast' }),
    buildRate('output', '40', 1_000_000, { speed: 'fast' }),
    buildRate('webSearch', '10', 1_000),
  ],
  { regionalPercent: 110 },
);
const GOOGLE = card(
  'google',
  [
    ...text('0.3', '2.5'),
    buildRate('cachedInput', '0.03', 1_000_000),
    buildRate('audioInput', '1', 1_000_000),
    buildRate('cachedAudioInput', '0.1', 1_000_000),
    buildRate('imageOutput', '30', 1_000_000),
    buildRate('input', '0.15', 1_000_000, { serviceTier: 'flex' }),
    buildRate('output', '1.25', 1_000_000, { serviceTier: 'flex' }),
    buildRate('webSearch', '35', 1_000),
  ],
  { billedAsWhole: ['imageInput', 'cachedImageInput'] },
);

const chat = (usageOfChat: object, more: object = {}) => ({
  object: 'chat.completion',
  model: 'gpt-6.1-sol',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: usageOfChat,
  ...more,
});
const response = (usageOfResponse: object, more: object = {}) => ({
  object: 'response',
  model: 'gpt-6.1-sol',
  status: 'completed',
  output: [],
  usage: usageOfResponse,
  ...more,
});
const message = (usageOfMessage: object) => ({
  type: 'message',
  model: 'claude-opus-5-5',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  usage: usageOfMessage,
});
const content = (usageMetadata: object, candidate: object = {}) => ({
  modelVersion: 'gemini-2.5-flash',
  candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP', ...candidate }],
  usageMetadata,
});
const modality = (name: string, tokenCount: number) => ({ modality: name, tokenCount });

interface Golden {
  /** The charged use, and the reason. */
  name: string;
  card: RateCard;
  answer: object;
  headers?: Record<string, string>;
  /** In nano-USD by component. */
  lines: Record<string, bigint>;
  conditions?: Conditions;
}

const GOLDEN: Golden[] = [
  {
    name: 'OpenAI chat: audio in, partly cached, and out',
    card: OPENAI,
    answer: chat({
      prompt_tokens: 100,
      completion_tokens: 50,
      prompt_tokens_details: { audio_tokens: 80, cached_tokens: 30, cached_tokens_details: { audio_tokens: 20 } },
      completion_tokens_details: { audio_tokens: 40 },
    }),
    lines: {
      input: 20_000n,
      cachedInput: 5_000n,
      audioInput: 1_920_000n,
      cachedAudioInput: 8_000n,
      output: 80_000n,
      audioOutput: 2_560_000n,
    },
  },
  {
    name: 'OpenAI chat: images of the prompt cost what text costs',
    card: OPENAI,
    answer: chat({ prompt_tokens: 100, completion_tokens: 10, prompt_tokens_details: { image_tokens: 85 } }),
    lines: { input: 200_000n, output: 80_000n },
  },
  {
    name: 'OpenAI chat: the priority tier, which it calls fast',
    card: OPENAI,
    answer: chat({ prompt_tokens: 100, completion_tokens: 10 }, { service_tier: 'fast' }),
    lines: { input: 400_000n, output: 160_000n },
    conditions: { serviceTier: 'priority' },
  },
  {
    name: 'OpenAI chat: the default tier is the standard one, whatever was asked for',
    card: OPENAI,
    answer: chat({ prompt_tokens: 100, completion_tokens: 10 }, { service_tier: 'default' }),
    lines: { input: 200_000n, output: 80_000n },
  },
  {
    name: 'OpenAI responses: the flex tier',
    card: OPENAI,
    answer: response({ input_tokens: 100, output_tokens: 10 }, { service_tier: 'flex' }),
    lines: { input: 100_000n, output: 40_000n },
    conditions: { serviceTier: 'flex' },
  },
  {
    name: 'OpenAI responses: cache writes of 30 minutes and of twelve hours',
    card: OPENAI,
    answer: response({
      input_tokens: 100,
      input_tokens_details: {
        cached_tokens: 10,
        cache_write_tokens: 60,
        cache_write_tokens_details: { ttl_12h_tokens: 40, ttl_30m_tokens: 20 },
      },
      output_tokens: 10,
    }),
    lines: { input: 60_000n, cachedInput: 5_000n, cacheWrite: 50_000n, cacheWrite12h: 200_000n, output: 80_000n },
  },
  {
    name: 'OpenAI responses: searches of the web and of files, without opened pages',
    card: OPENAI,
    answer: response(
      { input_tokens: 10, output_tokens: 10 },
      {
        output: [
          { type: 'web_search_call', action: { type: 'search', query: 'a' } },
          { type: 'web_search_call', action: { type: 'open_page' } },
          { type: 'file_search_call', queries: ['a'] },
          { type: 'file_search_call', queries: ['b'] },
        ],
      },
    ),
    lines: { input: 20_000n, output: 80_000n, webSearch: 10_000_000n, fileSearch: 5_000_000n },
  },
  {
    name: 'OpenAI images: what goes in as text and image, and image tokens out',
    card: IMAGES,
    answer: {
      created: 1,
      data: [{ b64_json: 'aGk=' }],
      usage: { input_tokens: 60, input_tokens_details: { text_tokens: 10, image_tokens: 50 }, output_tokens: 1_000 },
    },
    lines: { input: 50_000n, imageInput: 400_000n, imageOutput: 30_000_000n },
  },
  {
    name: 'OpenAI transcription: audio in',
    card: OPENAI,
    answer: {
      text: 'hi',
      usage: {
        type: 'tokens',
        input_tokens: 14,
        input_token_details: { text_tokens: 4, audio_tokens: 10 },
        output_tokens: 5,
      },
    },
    lines: { input: 8_000n, audioInput: 320_000n, output: 40_000n },
  },
  {
    name: 'OpenAI embeddings: input alone',
    card: OPENAI,
    answer: { object: 'list', data: [], model: 'text-embedding-3-small', usage: { prompt_tokens: 7, total_tokens: 7 } },
    lines: { input: 14_000n },
  },
  {
    name: 'Anthropic: cache writes of five minutes and of an hour',
    card: ANTHROPIC,
    answer: message({
      input_tokens: 10,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 30,
      cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
      output_tokens: 5,
    }),
    lines: { input: 40_000n, cachedInput: 40_000n, cacheWrite: 50_000n, cacheWrite1h: 160_000n, output: 100_000n },
  },
  {
    name: 'Anthropic: in a region of the United States',
    card: ANTHROPIC,
    answer: message({ input_tokens: 10, output_tokens: 5, inference_geo: 'us' }),
    lines: { input: 44_000n, output: 110_000n },
    conditions: { region: 'us' },
  },
  {
    name: 'Anthropic: the fast speed',
    card: ANTHROPIC,
    answer: message({ input_tokens: 10, output_tokens: 5, speed: 'fast' }),
    lines: { input: 80_000n, output: 200_000n },
    conditions: { speed: 'fast' },
  },
  {
    name: 'Anthropic: web searches, at their own price in a region too',
    card: ANTHROPIC,
    answer: message({
      input_tokens: 10,
      output_tokens: 5,
      inference_geo: 'us',
      server_tool_use: { web_search_requests: 2 },
    }),
    lines: { input: 44_000n, output: 110_000n, webSearch: 20_000_000n },
    conditions: { region: 'us' },
  },
  {
    name: 'Gemini: audio in, partly cached',
    card: GOOGLE,
    answer: content({
      promptTokenCount: 100,
      promptTokensDetails: [modality('TEXT', 10), modality('AUDIO', 90)],
      cachedContentTokenCount: 40,
      cacheTokensDetails: [modality('AUDIO', 40)],
      candidatesTokenCount: 10,
    }),
    lines: { input: 3_000n, audioInput: 50_000n, cachedAudioInput: 4_000n, output: 25_000n },
  },
  {
    name: 'Gemini: an image that it made, with thoughts beside it',
    card: GOOGLE,
    answer: content({
      promptTokenCount: 10,
      candidatesTokenCount: 1_300,
      candidatesTokensDetails: [modality('IMAGE', 1_290), modality('TEXT', 10)],
      thoughtsTokenCount: 20,
    }),
    lines: { input: 3_000n, output: 75_000n, imageOutput: 38_700_000n },
  },
  {
    name: 'Gemini: images and video of the prompt cost what text costs',
    card: GOOGLE,
    answer: content({
      promptTokenCount: 100,
      promptTokensDetails: [modality('TEXT', 10), modality('IMAGE', 60), modality('VIDEO', 30)],
      candidatesTokenCount: 10,
    }),
    lines: { input: 30_000n, output: 25_000n },
  },
  {
    name: 'Gemini before 3: a grounded prompt is billed once, however many queries it made',
    card: GOOGLE,
    answer: content(
      { promptTokenCount: 10, candidatesTokenCount: 10 },
      { groundingMetadata: { webSearchQueries: ['a', 'b', 'a', ''] } },
    ),
    lines: { input: 3_000n, output: 25_000n, webSearch: 35_000_000n },
  },
  {
    name: 'Gemini: the tier that a header names',
    card: GOOGLE,
    answer: content({ promptTokenCount: 10, candidatesTokenCount: 10 }),
    headers: { 'x-gemini-service-tier': 'flex' },
    lines: { input: 1_500n, output: 12_500n },
    conditions: { serviceTier: 'flex' },
  },
  {
    name: 'Gemini on Vertex: the tier that the usage names',
    card: GOOGLE,
    answer: content({ promptTokenCount: 10, candidatesTokenCount: 10, trafficType: 'ON_DEMAND_FLEX' }),
    lines: { input: 1_500n, output: 12_500n },
    conditions: { serviceTier: 'flex' },
  },
];

describe('an answer of a vendor', () => {
  test.each(GOLDEN)('$name', ({ card: price, answer, headers, lines, conditions = {} }) => {
    const reported = withServedTier(readUsage(answer), new Headers(headers));
    if (!reported) throw new Error('the answer has no usage');
    const priced = computeCost(price, toUsage(reported), 'standard');
    if (!priced.known) throw new Error(priced.reason);
    const charged = priced.cost.lines.filter(({ quantity }) => quantity > 0);
    expect(Object.fromEntries(charged.map(({ component, costNanoUsd }) => [component, costNanoUsd]))).toEqual(lines);
    expect(priced.cost.conditions).toEqual(conditions);
  });

  test('is never priced at a rate of something else', () => {
    const pricingReason = (price: RateCard, answer: object) => {
      const reported = readUsage(answer);
      const priced = reported && computeCost(price, toUsage(reported), 'standard');
      return priced && !priced.known ? priced.reason : null;
    };
    const plain = card('google', text('1', '2'));
    const image = { candidatesTokensDetails: [modality('IMAGE', 5)] };
    expect(pricingReason(plain, content({ promptTokenCount: 1, candidatesTokenCount: 5, ...image }))).toBe(
      'RATE_NOT_IN_CATALOG: imageOutput',
    );
    expect(
      pricingReason(plain, content({ promptTokenCount: 1, candidatesTokenCount: 5, trafficType: 'ON_DEMAND_OFFPEAK' })),
    ).toBe('RATE_NOT_IN_CATALOG: input, output (serviceTier other)');
    expect(
      pricingReason(plain, message({ input_tokens: 1, output_tokens: 1, inference_geo: 'us', speed: 'fast' })),
    ).toBe('RATE_NOT_IN_CATALOG: input, output (region us, speed fast)');
    expect(pricingReason(OPENAI, chat({ prompt_tokens: 9, completion_tokens: 1 }, { service_tier: 'ultrafast' }))).toBe(
      'RATE_NOT_IN_CATALOG: input, output (serviceTier ultrafast)',
    );
  });
});

describe('a condition', () => {
  test('that is standard is the same as none, for the cost and for the tier of the model', () => {
    const when = { serviceTier: 'standard', region: 'global', speed: 'standard' } as const;
    const price = card('a', [buildRate('input', '1', 1_000_000, when), buildRate('output', '5', 1_000_000, when)]);
    expect(nano(price, { inputTokens: 10 })).toBe(10_000n);
    expect(tierOfPrice(price)).toBe('premium');
  });

  const nano = (price: RateCard, used: Parameters<typeof usage>[0], mode: 'standard' | 'batch' = 'standard') => {
    const priced = computeCost(price, usage(used), mode);
    return priced.known ? priced.cost.totalNanoUsd : priced.reason;
  };

  test('of a region takes its own rates, else the uplift by the word of the provider, else none', () => {
    const listed = card('a', [...text('1', '2'), buildRate('input', '3', 1_000_000, { region: 'eu' })], {
      regionalPercent: 110,
    });
    expect(nano(listed, { inputTokens: 10, region: 'eu' })).toBe(30_000n);
    expect(nano(listed, { inputTokens: 10, region: 'us' })).toBe(11_000n);
    expect(nano(listed, { inputTokens: 10, region: 'global' })).toBe(10_000n);
    expect(nano(card('a', text('1', '2')), { inputTokens: 10, region: 'us' })).toBe(
      'RATE_NOT_IN_CATALOG: input (region us)',
    );
    expect(nano({ ...listed, region: 'us' }, { inputTokens: 10 }), 'the region of the name').toBe(11_000n);
  });

  test('of a long prompt is not known if the price states it under other conditions alone', () => {
    const price = card('a', [
      ...text('1', '2'),
      buildRate('input', '2', 1_000_000, { promptTokensAbove: 100 }),
      buildRate('output', '3', 1_000_000, { promptTokensAbove: 100 }),
      buildRate('input', '0.5', 1_000_000, { serviceTier: 'flex' }),
    ]);
    expect(nano(price, { inputTokens: 101 })).toBe(202_000n);
    expect(nano(price, { inputTokens: 100, serviceTier: 'flex' })).toBe(50_000n);
    expect(nano(price, { inputTokens: 101, serviceTier: 'flex' })).toBe(
      'RATE_NOT_IN_CATALOG: input (serviceTier flex, a long prompt)',
    );
  });

  test('of a batch has its own rates if the price lists them, and half the standard ones otherwise', () => {
    const price = card('a', [...text('1', '2'), buildRate('input', '0.4', 1_000_000, { serviceTier: 'batch' })]);
    expect(nano(price, { inputTokens: 10 }, 'batch')).toBe(4_000n);
    expect(nano(card('a', text('1', '2')), { inputTokens: 10 }, 'batch')).toBe(5_000n);
  });
});
