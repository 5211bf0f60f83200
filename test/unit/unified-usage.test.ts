/**
 * The recorded usage and charge of a call, from the vendors' unmodified answers: computed by hand, at the rates below.
 * A rate of 1 USD per million tokens is 1,000 nano-USD a token.
 */
import { describe, expect, test } from 'vitest';
import { nanoFromUsd } from '../../src/domain/money.ts';
import type { RateCard } from '../../src/domain/price.ts';
import type { Usage } from '../../src/domain/usage.ts';
import { toUsage } from '../../src/gateway/service-calls/end.ts';
import { readUsage, StreamUsage } from '../../src/vendors/usage.ts';
import { knownCost, rateCard, type ShortRates } from '../support/rate-cards.ts';
import { NO_USAGE } from './fixtures.ts';

type UsdPerMillion = { input: number; output: number; cachedInput?: number; cacheWrite?: number };
const exact = (rates: UsdPerMillion): ShortRates =>
  Object.fromEntries(Object.entries(rates).map(([name, usd]) => [name, nanoFromUsd(usd)]));
function card(modelKey: string, rates: UsdPerMillion, long?: { above: number; rates: UsdPerMillion }): RateCard {
  const tiers = long ? [{ inputTokensAbove: long.above, rates: exact(long.rates) }] : [];
  const named = { snapshotId: `${modelKey}@fixed`, provider: modelKey.split('/')[0] ?? '', modelKey };
  return rateCard(exact(rates), tiers, named);
}

const CARDS = {
  'gpt-5.2': card('openai/gpt-5.2', { input: 1.75, cachedInput: 0.175, output: 14 }),
  'gpt-4o': card('openai/gpt-4o', { input: 2.5, cachedInput: 1.25, output: 10 }),
  'gpt-6-luna': card(
    'openai/gpt-6-luna',
    { input: 0.1, cachedInput: 0.01, cacheWrite: 0.125, output: 0.5 },
    { above: 272_000, rates: { input: 0.2, cachedInput: 0.02, cacheWrite: 0.25, output: 0.75 } },
  ),
  'text-embedding-3-small': card('openai/text-embedding-3-small', { input: 0.02, output: 0 }),
  'claude-sonnet-5': card('anthropic/claude-sonnet-5', { input: 2, cachedInput: 0.2, cacheWrite: 2.5, output: 10 }),
  'claude-haiku-4-5': card('anthropic/claude-haiku-4-5', { input: 1, cachedInput: 0.1, cacheWrite: 1.25, output: 5 }),
  'gemini-2.5-pro': card(
    'google/gemini-2.5-pro',
    { input: 1.25, cachedInput: 0.125, output: 10 },
    { above: 200_000, rates: { input: 2.5, cachedInput: 0.25, output: 15 } },
  ),
  'gemini-3.5-flash': card('google/gemini-3.5-flash', { input: 1.5, cachedInput: 0.15, output: 9 }),
};
type Model = keyof typeof CARDS;
type Figures = Partial<Usage>;
type Recorded = [
  name: string,
  model: Model,
  answer: object | string,
  usage: Figures,
  costNanoUsd: bigint,
  assumptions?: string[],
];

const SEARCHES = ['webSearch: no rate is published, not included in the cost'];
const tokens = (inputTokens: number, responseTokens: number, more: Figures = {}): Figures => ({
  inputTokens,
  responseTokens,
  ...more,
});

/** Server-sent events; an object's `type` names its event, as two of the vendors do. */
const sse = (events: object[], last = '') =>
  events
    .map((event) => `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
    .join('') + last;

const TOOL_CALL = { id: 'call_9x', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } };
const details = (cached: number, reasoning: number, more: object = {}) => ({
  prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0, ...more },
  completion_tokens_details: {
    reasoning_tokens: reasoning,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
});
function chat(
  model: string,
  prompt: number,
  completion: number,
  more: object = details(0, 0),
  message: object = { content: 'Hello!' },
) {
  return {
    id: 'chatcmpl-CKx1',
    object: 'chat.completion',
    created: 1_763_600_000,
    model,
    choices: [
      { index: 0, message: { role: 'assistant', refusal: null, ...message }, logprobs: null, finish_reason: 'stop' },
    ],
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, ...more },
    service_tier: 'default',
    system_fingerprint: 'fp_1',
  };
}
function chatStream(model: string, usage: object, { beside = false, delta = { content: 'Hi' } as object } = {}) {
  const chunk = (choices: object[], more: object = { usage: null }) => ({
    id: 'chatcmpl-CKx2',
    object: 'chat.completion.chunk',
    created: 1_763_600_000,
    model,
    choices,
    ...more,
  });
  const stop = [{ index: 0, delta: {}, finish_reason: 'stop' }];
  const ends = beside ? [chunk(stop, { usage })] : [chunk(stop), chunk([], { usage })];
  return sse(
    [chunk([{ index: 0, delta: { role: 'assistant' }, finish_reason: null }]), chunk([{ index: 0, delta }]), ...ends],
    'data: [DONE]\n\n',
  );
}

const OPENAI_CHAT: Recorded[] = [
  // 19 x 1,750 + 10 x 14,000
  ['chat', 'gpt-5.2', chat('gpt-5.2-2025-12-11', 19, 10), tokens(19, 10), 173_250n],
  // 86 x 1,750 + 1,920 x 175 + 300 x 14,000
  [
    'chat with a cached prompt',
    'gpt-5.2',
    chat('gpt-5.2-2025-12-11', 2_006, 300, details(1_920, 0)),
    tokens(2_006, 300, { cachedInputTokens: 1_920 }),
    4_686_500n,
  ],
  // 75 x 1,750 + 1,186 x 14,000: reasoning is a part of the output
  [
    'chat with reasoning',
    'gpt-5.2',
    chat('gpt-5.2', 75, 1_186, details(0, 1_024)),
    tokens(75, 1_186, { reasoningTokens: 1_024 }),
    16_735_250n,
  ],
  // 82 x 2,500 + 17 x 10,000
  [
    'chat that calls a tool',
    'gpt-4o',
    chat('gpt-4o-2024-08-06', 82, 17, details(0, 0), { content: null, tool_calls: [TOOL_CALL] }),
    tokens(82, 17),
    375_000n,
  ],
  // 976 x 100 + 1,024 x 10 + 3,000 x 125 + 200 x 500
  [
    'chat that reads and writes the cache',
    'gpt-6-luna',
    chat('gpt-6-luna', 5_000, 200, details(1_024, 0, { cache_write_tokens: 3_000 })),
    tokens(5_000, 200, { cachedInputTokens: 1_024, cacheWriteInputTokens: 3_000 }),
    582_840n,
  ],
  // 150,000 x 200 + 100,000 x 20 + 50,000 x 250 + 1,000 x 750: the long-prompt rates apply to the whole call
  [
    'chat with a long prompt',
    'gpt-6-luna',
    chat('gpt-6-luna', 300_000, 1_000, details(100_000, 0, { cache_write_tokens: 50_000 })),
    tokens(300_000, 1_000, { cachedInputTokens: 100_000, cacheWriteInputTokens: 50_000 }),
    45_250_000n,
  ],
  ['chat that used nothing', 'gpt-5.2', chat('gpt-5.2', 0, 0), {}, 0n],
  // 8 x 20
  [
    'embeddings',
    'text-embedding-3-small',
    {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0.0023, -0.0093] }],
      model: 'text-embedding-3-small',
      usage: { prompt_tokens: 8, total_tokens: 8 },
    },
    tokens(8, 0),
    160n,
  ],
  // 20 x 1,250 + (1,016 - 20) x 10,000: thoughts stand in the total alone
  [
    "chat through Google's compatible endpoint",
    'gemini-2.5-pro',
    chat('gemini-2.5-pro', 20, 424, { total_tokens: 1_016 }),
    tokens(20, 996, { reasoningTokens: 572 }),
    9_985_000n,
  ],
  // 31 x 1,750 + 12 x 14,000
  [
    'chat, streamed',
    'gpt-5.2',
    chatStream('gpt-5.2', { prompt_tokens: 31, completion_tokens: 12, total_tokens: 43, ...details(0, 0) }),
    tokens(31, 12),
    222_250n,
  ],
  // 92 x 1,750 + 1,408 x 175 + 220 x 14,000
  [
    'chat, streamed, with its usage beside the choices',
    'gpt-5.2',
    chatStream(
      'gpt-5.2',
      { prompt_tokens: 1_500, completion_tokens: 220, total_tokens: 1_720, ...details(1_408, 192) },
      { beside: true },
    ),
    tokens(1_500, 220, { cachedInputTokens: 1_408, reasoningTokens: 192 }),
    3_487_400n,
  ],
  // 90 x 2,500 + 24 x 10,000
  [
    'chat, streamed, that calls a tool',
    'gpt-4o',
    chatStream(
      'gpt-4o',
      { prompt_tokens: 90, completion_tokens: 24, total_tokens: 114 },
      { delta: { tool_calls: [{ index: 0, ...TOOL_CALL }] } },
    ),
    tokens(90, 24),
    465_000n,
  ],
];

function response(
  input: number,
  output: number,
  { cached = 0, reasoning = 0, status = 'completed', items = [] as object[], effort = 'none' } = {},
) {
  return {
    id: 'resp_68f0',
    object: 'response',
    created_at: 1_763_600_000,
    status,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    model: 'gpt-5.2-2025-12-11',
    output: [
      ...items,
      {
        id: 'msg_68f0',
        type: 'message',
        status,
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
      },
    ],
    reasoning: { effort, summary: null },
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + output,
    },
  };
}
const responseStream = (end: ReturnType<typeof response>) =>
  sse([
    {
      type: 'response.created',
      sequence_number: 0,
      response: { ...end, status: 'in_progress', output: [], usage: null },
    },
    {
      type: 'response.output_text.delta',
      sequence_number: 1,
      item_id: 'msg_68f0',
      output_index: 0,
      content_index: 0,
      delta: 'Hi',
    },
    { type: `response.${end.status}`, sequence_number: 2, response: end },
  ]);
const SEARCH = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'news' } };

const OPENAI_RESPONSES: Recorded[] = [
  // 36 x 1,750 + 87 x 14,000
  ['response', 'gpt-5.2', response(36, 87), tokens(36, 87), 1_281_000n],
  // 256 x 1,750 + 4,864 x 175 + 1,345 x 14,000
  [
    'response with a cached prompt and reasoning',
    'gpt-5.2',
    response(5_120, 1_345, { cached: 4_864, reasoning: 1_152, effort: 'high' }),
    tokens(5_120, 1_345, { cachedInputTokens: 4_864, reasoningTokens: 1_152 }),
    20_129_200n,
  ],
  // 8,500 x 1,750 + 640 x 14,000
  [
    'response that searched twice',
    'gpt-5.2',
    response(8_500, 640, { items: [SEARCH, SEARCH] }),
    tokens(8_500, 640, { searches: 2 }),
    23_835_000n,
    SEARCHES,
  ],
  // 120 x 1,750 + 45 x 14,000
  [
    'response, streamed, that calls a tool',
    'gpt-5.2',
    responseStream(
      response(120, 45, {
        items: [{ id: 'fc_1', type: 'function_call', call_id: 'call_9x', name: 'get_weather', arguments: '{}' }],
      }),
    ),
    tokens(120, 45),
    840_000n,
  ],
  // 60 x 1,750 + 256 x 14,000
  [
    'response, streamed, that was cut at its maximum',
    'gpt-5.2',
    responseStream(response(60, 256, { status: 'incomplete' })),
    tokens(60, 256),
    3_689_000n,
  ],
];

const claude = (
  input_tokens: number,
  output_tokens: number,
  more: { read?: number; written?: number; [member: string]: unknown } = {},
) => {
  const { read = 0, written = 0, ...members } = more;
  return {
    input_tokens,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: 0 },
    output_tokens,
    service_tier: 'standard',
    ...members,
  };
};
const message = (usage: object, model = 'claude-sonnet-5', content: object = { type: 'text', text: 'Hi' }) => ({
  id: 'msg_01X',
  type: 'message',
  role: 'assistant',
  model,
  content: [content],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage,
});
const TOOL_USE = { type: 'tool_use', id: 'toolu_01', name: 'get_weather', input: { city: 'Paris' } };
const messageStream = (first: object, last: object, content: object = { type: 'text', text: '' }) =>
  sse([
    { type: 'message_start', message: { ...message(first), content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: content },
    { type: 'ping' },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: last },
    { type: 'message_stop' },
  ]);

const ANTHROPIC: Recorded[] = [
  // 12 x 2,000 + 30 x 10,000
  ['message', 'claude-sonnet-5', message(claude(12, 30)), tokens(12, 30), 324_000n],
  // 21 x 2,000 + 1,880 x 2,500 + 393 x 10,000: Anthropic's input excludes cache writes.
  [
    'message that writes the cache',
    'claude-sonnet-5',
    message(claude(21, 393, { written: 1_880 })),
    tokens(1_901, 393, { cacheWriteInputTokens: 1_880 }),
    8_672_000n,
  ],
  // 21 x 2,000 + 1,880 x 200 + 393 x 10,000
  [
    'message that reads the cache',
    'claude-sonnet-5',
    message(claude(21, 393, { read: 1_880 })),
    tokens(1_901, 393, { cachedInputTokens: 1_880 }),
    4_348_000n,
  ],
  // 4 x 2,000 + 5,200 x 200 + 300 x 2,500 + 88 x 10,000
  [
    'message that does both',
    'claude-sonnet-5',
    message(claude(4, 88, { read: 5_200, written: 300 })),
    tokens(5_504, 88, { cachedInputTokens: 5_200, cacheWriteInputTokens: 300 }),
    2_678_000n,
  ],
  // 384 x 1,000 + 52 x 5,000
  [
    'message that uses a tool',
    'claude-haiku-4-5',
    message(claude(384, 52), 'claude-haiku-4-5-20251001', TOOL_USE),
    tokens(384, 52),
    644_000n,
  ],
  // 61 x 2,000 + 940 x 10,000
  [
    'message with thinking',
    'claude-sonnet-5',
    message(claude(61, 940, { output_tokens_details: { thinking_tokens: 812 } })),
    tokens(61, 940, { reasoningTokens: 812 }),
    9_522_000n,
  ],
  // 6,039 x 2,000 + 931 x 10,000
  [
    'message that searched',
    'claude-sonnet-5',
    message(claude(6_039, 931, { server_tool_use: { web_search_requests: 1, web_fetch_requests: 0 } })),
    tokens(6_039, 931, { searches: 1 }),
    21_388_000n,
    SEARCHES,
  ],
  // 472 x 2,000 + 89 x 10,000: the output that the first event names is replaced by the last
  [
    'message, streamed',
    'claude-sonnet-5',
    messageStream(claude(472, 2), { output_tokens: 89 }),
    tokens(472, 89),
    1_834_000n,
  ],
  // 10 x 2,000 + 4,096 x 200 + 2,048 x 2,500 + 60 x 10,000: totals of the last event are not added to those of the
  // first
  [
    'message, streamed, with cache and tool',
    'claude-sonnet-5',
    messageStream(claude(10, 1, { read: 4_096, written: 2_048 }), claude(10, 60, { read: 4_096, written: 2_048 }), {
      ...TOOL_USE,
      input: {},
    }),
    tokens(6_154, 60, { cachedInputTokens: 4_096, cacheWriteInputTokens: 2_048 }),
    6_559_200n,
  ],
];

const candidate = (more: object = {}) => ({
  content: { parts: [{ text: 'Hi' }], role: 'model' },
  finishReason: 'STOP',
  index: 0,
  ...more,
});
const content = (usageMetadata: object, modelVersion = 'gemini-3.5-flash', candidates: object = [candidate()]) => ({
  candidates,
  usageMetadata: { ...usageMetadata, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 1 }] },
  modelVersion,
  responseId: 'mAI',
});
const FUNCTION_CALL = {
  content: { parts: [{ functionCall: { name: 'get_weather', args: { city: 'Paris' } } }], role: 'model' },
};
const growing = (last: object, steps: number[]) => [
  ...steps.map((candidatesTokenCount) =>
    content({ ...last, candidatesTokenCount }, undefined, [candidate({ finishReason: undefined })]),
  ),
  content(last),
];

const GOOGLE: Recorded[] = [
  // 8 x 1,500 + 25 x 9,000
  [
    'content',
    'gemini-3.5-flash',
    content({ promptTokenCount: 8, candidatesTokenCount: 25, totalTokenCount: 33 }),
    tokens(8, 25),
    237_000n,
  ],
  // 14 x 1,500 + (120 + 480) x 9,000: Google leaves thoughts out of its candidates
  [
    'content with thoughts',
    'gemini-3.5-flash',
    content({ promptTokenCount: 14, candidatesTokenCount: 120, thoughtsTokenCount: 480, totalTokenCount: 614 }),
    tokens(14, 600, { reasoningTokens: 480 }),
    5_421_000n,
  ],
  // 10,000 x 2,500 + 200,000 x 250 + 400 x 15,000: cached tokens count towards the long prompt
  [
    'content with a long cached prompt',
    'gemini-2.5-pro',
    content(
      { promptTokenCount: 210_000, cachedContentTokenCount: 200_000, candidatesTokenCount: 400 },
      'gemini-2.5-pro',
    ),
    tokens(210_000, 400, { cachedInputTokens: 200_000 }),
    81_000_000n,
  ],
  // (60 + 100) x 1,500 + (20 + 30) x 9,000: tokens that tools add to the prompt are input.
  [
    'content that uses tools',
    'gemini-3.5-flash',
    content(
      { promptTokenCount: 60, toolUsePromptTokenCount: 100, candidatesTokenCount: 20, thoughtsTokenCount: 30 },
      undefined,
      [candidate(FUNCTION_CALL)],
    ),
    tokens(160, 50, { reasoningTokens: 30 }),
    690_000n,
  ],
  // 10 x 1,500 + 200 x 9,000
  [
    'content that was grounded by two searches',
    'gemini-3.5-flash',
    content({ promptTokenCount: 10, candidatesTokenCount: 200 }, undefined, [
      candidate({ groundingMetadata: { webSearchQueries: ['a', 'b'] } }),
    ]),
    tokens(10, 200, { searches: 2 }),
    1_815_000n,
    SEARCHES,
  ],
  // 9 x 1,500
  [
    'content that was blocked',
    'gemini-3.5-flash',
    {
      promptFeedback: { blockReason: 'SAFETY' },
      usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
      modelVersion: 'gemini-3.5-flash',
    },
    tokens(9, 0),
    13_500n,
  ],
  // 5 x 1,500 + (40 + 100) x 9,000: each chunk repeats the totals so far
  [
    'content, streamed',
    'gemini-3.5-flash',
    sse(growing({ promptTokenCount: 5, candidatesTokenCount: 40, thoughtsTokenCount: 100 }, [4, 19])),
    tokens(5, 140, { reasoningTokens: 100 }),
    1_267_500n,
  ],
  // 76 x 1,500 + 1,024 x 150 + 12 x 9,000
  [
    'content, streamed as an array',
    'gemini-3.5-flash',
    JSON.stringify(
      growing({ promptTokenCount: 1_100, cachedContentTokenCount: 1_024, candidatesTokenCount: 12 }, [3]),
      null,
      1,
    ),
    tokens(1_100, 12, { cachedInputTokens: 1_024 }),
    375_600n,
  ],
];

/** A stream is a text, read whole and in pieces. */
function read(answer: object | string, piece = Number.POSITIVE_INFINITY) {
  if (typeof answer !== 'string') return readUsage(answer);
  const stream = new StreamUsage();
  const bytes = new TextEncoder().encode(answer);
  for (let from = 0; from < bytes.length; from += piece) stream.push(bytes.subarray(from, from + piece));
  stream.end();
  expect(stream.completed).toBe(true);
  return stream.usage();
}

describe.each([
  ['OpenAI chat', OPENAI_CHAT],
  ['OpenAI responses', OPENAI_RESPONSES],
  ['Anthropic', ANTHROPIC],
  ['Google', GOOGLE],
])('%s', (_, recorded) => {
  test.each(recorded)('%s', (_name, model, answer, figures, costNanoUsd, assumptions = []) => {
    const found = read(answer);
    expect(found).not.toBeNull();
    if (!found) return;
    expect(found.modelUsed).toContain(model);
    const usage = toUsage(found);
    expect(usage).toEqual({ ...NO_USAGE, ...figures });
    const cost = knownCost(CARDS[model], usage, 'standard');
    expect([cost.totalNanoUsd, cost.assumptions]).toEqual([costNanoUsd, assumptions]);
    expect(cost.lines.reduce((sum, line) => sum + line.costNanoUsd, 0n)).toBe(costNanoUsd);
    expect(read(answer, 7)).toEqual(found);
  });
});

test('at least 30 answers were recorded', () => {
  expect([OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, GOOGLE].flat().length).toBeGreaterThanOrEqual(30);
});
