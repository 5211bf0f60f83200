/**
 * The usage is the vendor's own figures in our terms. The expected figures are computed by hand from recorded answers.
 */
import { describe, expect, test } from 'vitest';
import { TOKENS_MAX } from '../../src/contract/fields.ts';
import { readSearches, readUsage, type VendorUsage } from '../../src/vendors/usage.ts';
import { chat, claude, content, gemini, openai, response, used } from '../support/vendor-bodies.ts';

const message = (usage: unknown) => ({
  type: 'message',
  model: 'claude-sonnet-5',
  content: [],
  stop_reason: 'end_turn',
  usage,
});

describe('whole answers', () => {
  test.each<[string, unknown, VendorUsage | null]>([
    [
      'chat: cache reads and writes are parts of the prompt, reasoning of the completion',
      chat({
        prompt_tokens: 1200,
        completion_tokens: 300,
        total_tokens: 1500,
        prompt_tokens_details: { cached_tokens: 1024, cache_write_tokens: 100 },
        completion_tokens_details: { reasoning_tokens: 256 },
      }),
      used({
        ...openai,
        inputTokens: 1200,
        cachedInputTokens: 1024,
        cacheWriteInputTokens: 100,
        responseTokens: 300,
        reasoningTokens: 256,
      }),
    ],
    [
      'chat without details',
      chat({ prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }),
      used({ ...openai, inputTokens: 9, responseTokens: 3 }),
    ],
    [
      'chat with details that are null',
      chat({
        prompt_tokens: 9,
        completion_tokens: 3,
        prompt_tokens_details: null,
        completion_tokens_details: { reasoning_tokens: null },
      }),
      used({ ...openai, inputTokens: 9, responseTokens: 3 }),
    ],
    ['a zero stays a zero', chat({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }), used(openai)],
    [
      'Google in OpenAI form: thoughts stand in the total alone',
      chat({ prompt_tokens: 20, completion_tokens: 424, total_tokens: 1016 }, 'models/gemini-3.5-flash'),
      used({ ...gemini, inputTokens: 20, responseTokens: 996, reasoningTokens: 572 }),
    ],
    [
      'Google in OpenAI form, when the completion includes them',
      chat(
        {
          prompt_tokens: 8,
          completion_tokens: 492,
          total_tokens: 500,
          completion_tokens_details: { reasoning_tokens: 482 },
        },
        'gemini-3.5-flash',
      ),
      used({ ...gemini, inputTokens: 8, responseTokens: 492, reasoningTokens: 482 }),
    ],
    [
      'reasoning listed beside the completion, by an endpoint of another vendor',
      chat(
        {
          prompt_tokens: 10,
          completion_tokens: 5,
          total_tokens: 22,
          completion_tokens_details: { reasoning_tokens: 7 },
        },
        'grok-4',
      ),
      used({ modelUsed: 'grok-4', inputTokens: 10, responseTokens: 12, reasoningTokens: 7 }),
    ],
    [
      'a total that does not add up is nothing to build on',
      chat({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 99 }),
      used({ ...openai, inputTokens: 10, responseTokens: 5 }),
    ],
    [
      'Anthropic in OpenAI form',
      chat({ prompt_tokens: 30, completion_tokens: 4, total_tokens: 34 }, 'claude-sonnet-5'),
      used({ ...claude, inputTokens: 30, responseTokens: 4 }),
    ],
    [
      'embeddings',
      { object: 'list', model: 'text-embedding-3-small', data: [], usage: { prompt_tokens: 8, total_tokens: 8 } },
      used({ modelUsed: 'text-embedding-3-small', providerUsed: 'openai', inputTokens: 8 }),
    ],
    [
      'responses, with searches and the effort that ran',
      response(
        {
          input_tokens: 75,
          input_tokens_details: { cached_tokens: 32 },
          output_tokens: 1186,
          output_tokens_details: { reasoning_tokens: 1024 },
        },
        {
          reasoning: { effort: 'medium' },
          output: [{ type: 'web_search_call' }, { type: 'message' }, { type: 'web_search_call' }],
        },
      ),
      used({
        ...openai,
        inputTokens: 75,
        cachedInputTokens: 32,
        responseTokens: 1186,
        reasoningTokens: 1024,
        searches: 2,
        reasoningEffort: 'medium',
      }),
    ],
    [
      'responses: the billable searches that OpenAI counts go before the calls in the output',
      response(
        { input_tokens: 1, output_tokens: 1 },
        {
          tool_usage: { web_search: { num_requests: 1 } },
          output: [{ type: 'web_search_call' }, { type: 'web_search_call' }],
        },
      ),
      used({ ...openai, inputTokens: 1, responseTokens: 1, searches: 1 }),
    ],
    [
      'messages: input leaves cache reads and writes out, ours includes them',
      message({
        input_tokens: 50,
        cache_read_input_tokens: 100_000,
        cache_creation_input_tokens: 248,
        output_tokens: 503,
        output_tokens_details: { thinking_tokens: 120 },
        server_tool_use: { web_search_requests: 2 },
      }),
      used({
        ...claude,
        inputTokens: 100_298,
        cachedInputTokens: 100_000,
        cacheWriteInputTokens: 248,
        responseTokens: 503,
        reasoningTokens: 120,
        searches: 2,
      }),
    ],
    [
      'messages: a compaction is billed and stands beside the totals',
      message({
        input_tokens: 45,
        output_tokens: 1234,
        iterations: [
          { type: 'compaction', input_tokens: 180_000, output_tokens: 3500, cache_read_input_tokens: 10 },
          { type: 'message', input_tokens: 45, output_tokens: 1234 },
        ],
      }),
      used({ ...claude, inputTokens: 180_055, cachedInputTokens: 10, responseTokens: 4734 }),
    ],
    [
      'messages with nulls for what was not used',
      message({
        input_tokens: 5,
        cache_read_input_tokens: null,
        cache_creation_input_tokens: null,
        output_tokens: 1,
        server_tool_use: null,
      }),
      used({ ...claude, inputTokens: 5, responseTokens: 1 }),
    ],
    [
      'generateContent: thoughts are added to the candidates, tool results to the prompt',
      content(
        {
          promptTokenCount: 1000,
          cachedContentTokenCount: 800,
          candidatesTokenCount: 40,
          thoughtsTokenCount: 60,
          toolUsePromptTokenCount: 11,
          totalTokenCount: 1111,
        },
        { candidates: [{ groundingMetadata: { webSearchQueries: ['a', 'b'] } }] },
      ),
      used({
        ...gemini,
        inputTokens: 1011,
        cachedInputTokens: 800,
        responseTokens: 100,
        reasoningTokens: 60,
        searches: 2,
      }),
    ],
    [
      'generateContent leaves a zero out',
      content({ promptTokenCount: 4, totalTokenCount: 4 }),
      used({ ...gemini, inputTokens: 4 }),
    ],
    [
      'the array of streamGenerateContent: the last totals',
      [
        content({ promptTokenCount: 4, candidatesTokenCount: 1 }),
        content({ promptTokenCount: 4, candidatesTokenCount: 9 }),
      ],
      used({ ...gemini, inputTokens: 4, responseTokens: 9 }),
    ],
    [
      'chat: an answer that cites the web was one search at least',
      {
        ...chat({ prompt_tokens: 9, completion_tokens: 3 }),
        choices: [{ message: { annotations: [{ type: 'url_citation' }, { type: 'url_citation' }] } }],
      },
      used({ ...openai, inputTokens: 9, responseTokens: 3, searches: 1 }),
    ],
    [
      'chat: so was one of a model that searches in every call',
      {
        ...chat({ prompt_tokens: 9, completion_tokens: 3 }, 'gpt-4o-search-preview-2025-03-11'),
        choices: [{ message: { annotations: [] } }],
      },
      used({
        modelUsed: 'gpt-4o-search-preview-2025-03-11',
        providerUsed: 'openai',
        inputTokens: 9,
        responseTokens: 3,
        searches: 1,
      }),
    ],
    [
      'chat: the searches that are listed as executed',
      {
        ...chat({ prompt_tokens: 9, completion_tokens: 3 }, 'groq/compound'),
        choices: [
          { message: { executed_tools: [{ type: 'search' }, { type: 'python' }, { type: 'browser_search' }] } },
        ],
      },
      used({ modelUsed: 'groq/compound', inputTokens: 9, responseTokens: 3, searches: 2 }),
    ],
    [
      'chat: none of a model that decides by itself, and did not search',
      {
        ...chat({ prompt_tokens: 9, completion_tokens: 3 }, 'groq/compound'),
        choices: [{ message: { content: 'hi' } }],
      },
      used({ modelUsed: 'groq/compound', inputTokens: 9, responseTokens: 3 }),
    ],
    [
      'chat: a count of searches goes before that',
      {
        ...chat({ prompt_tokens: 9, completion_tokens: 3, num_search_queries: 4 }, 'sonar-deep-research'),
        citations: ['https://example.com'],
      },
      used({ modelUsed: 'sonar-deep-research', inputTokens: 9, responseTokens: 3, searches: 4 }),
    ],
    [
      'chat: a count under the name of a server tool',
      chat({ prompt_tokens: 9, completion_tokens: 3, server_tool_use: { web_search_requests: 2 } }),
      used({ ...openai, inputTokens: 9, responseTokens: 3, searches: 2 }),
    ],
    [
      'chat: audio in tokens, in and out',
      chat({
        prompt_tokens: 90,
        completion_tokens: 30,
        prompt_tokens_details: { audio_tokens: 50 },
        completion_tokens_details: { audio_tokens: 20 },
      }),
      used({
        ...openai,
        inputTokens: 90,
        responseTokens: 30,
        audio: 70,
        audioInputTokens: 50,
        audioOutputTokens: 20,
      }),
    ],
    [
      'chat: audio in seconds, where the vendor counts them',
      chat({ prompt_tokens: 90, completion_tokens: 3, prompt_audio_seconds: 12.3456 }, 'voxtral-small'),
      used({ modelUsed: 'voxtral-small', inputTokens: 90, responseTokens: 3, audioSeconds: 12.346 }),
    ],
    [
      'a transcription that is counted in seconds',
      { text: 'hello', usage: { type: 'duration', seconds: 9 } },
      used({ audioSeconds: 9 }),
    ],
    [
      'a transcription that is counted in tokens',
      {
        text: 'hello',
        usage: {
          type: 'tokens',
          input_tokens: 14,
          input_token_details: { text_tokens: 0, audio_tokens: 14 },
          output_tokens: 45,
        },
      },
      used({ inputTokens: 14, responseTokens: 45, audio: 14, audioInputTokens: 14 }),
    ],
    [
      'generateContent: audio in tokens, by modality',
      content({
        promptTokenCount: 100,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 4 },
          { modality: 'AUDIO', tokenCount: 96 },
        ],
        candidatesTokenCount: 30,
        candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 30 }],
      }),
      used({
        ...gemini,
        inputTokens: 100,
        responseTokens: 30,
        audio: 126,
        audioInputTokens: 96,
        audioOutputTokens: 30,
      }),
    ],
    ['no usage', chat(undefined), null],
    ['a null usage', chat(null), null],
    ['an empty usage', chat({}), null],
    ['another shape', { hello: 'world', usage: 'plenty' }, null],
    ['a text', 'plenty', null],
    [
      'an answer that names Anthropic and lacks its output',
      message({ input_tokens: 5 }),
      used({ ...claude, inputTokens: 5, unclear: ['responseTokens'] }),
    ],
  ])('%s', (_, body, expected) => {
    expect(readUsage(body)).toEqual(expected);
  });

  const broken = [-1, '12', Number.NaN, Number.POSITIVE_INFINITY, true, [3], {}, TOKENS_MAX + 1, 1e13];
  test.each(broken)('a figure %j is unclear in any place, and the others stay as they are', (figure) => {
    const details = (name: string) => ({ prompt_tokens: 9, completion_tokens: 4, [name]: {} });
    const cases: [unknown, Partial<VendorUsage>][] = [
      [
        chat({ prompt_tokens: figure, completion_tokens: 4 }),
        { inputTokens: 0, responseTokens: 4, unclear: ['inputTokens'] },
      ],
      [
        chat({ prompt_tokens: figure, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 3 } }),
        { inputTokens: 3, cachedInputTokens: 3, responseTokens: 4, unclear: ['inputTokens'] },
      ],
      [chat({ prompt_tokens: 9, completion_tokens: figure }), { inputTokens: 9, unclear: ['responseTokens'] }],
      ...(
        [
          ['prompt_tokens_details', 'cached_tokens', 'cachedInputTokens'],
          ['prompt_tokens_details', 'cache_write_tokens', 'cacheWriteInputTokens'],
          ['prompt_tokens_details', 'audio_tokens', 'audioInputTokens'],
          ['completion_tokens_details', 'reasoning_tokens', 'reasoningTokens'],
        ] as const
      ).map(([list, name, unclear]): [unknown, Partial<VendorUsage>] => [
        chat({ ...details(list), [list]: { [name]: figure } }),
        { inputTokens: 9, responseTokens: 4, unclear: [unclear] },
      ]),
      [
        chat({ prompt_tokens: 9, completion_tokens: 4, num_search_queries: figure }),
        { inputTokens: 9, responseTokens: 4, searches: 0, unclear: ['searches'] },
      ],
      [response({ input_tokens: figure, output_tokens: 4 }), { responseTokens: 4, unclear: ['inputTokens'] }],
      [response({ input_tokens: 9, output_tokens: figure }), { inputTokens: 9, unclear: ['responseTokens'] }],
      [
        response({ input_tokens: 9, output_tokens: 4 }, { tool_usage: { web_search: { num_requests: figure } } }),
        { inputTokens: 9, responseTokens: 4, searches: 0, unclear: ['searches'] },
      ],
      [message({ input_tokens: figure, output_tokens: 4 }), { responseTokens: 4, unclear: ['inputTokens'] }],
      // Anthropic's prompt is the sum of three.
      [
        message({ input_tokens: 9, output_tokens: 4, cache_read_input_tokens: figure }),
        { inputTokens: 9, responseTokens: 4, unclear: ['cachedInputTokens', 'inputTokens'] },
      ],
      [
        message({ input_tokens: 9, output_tokens: 4, cache_creation_input_tokens: figure }),
        { inputTokens: 9, responseTokens: 4, unclear: ['cacheWriteInputTokens', 'inputTokens'] },
      ],
      [
        message({ input_tokens: 9, output_tokens: 4, server_tool_use: { web_search_requests: figure } }),
        { inputTokens: 9, responseTokens: 4, searches: 0, unclear: ['searches'] },
      ],
      [content({ promptTokenCount: figure, candidatesTokenCount: 4 }), { responseTokens: 4, unclear: ['inputTokens'] }],
      [content({ promptTokenCount: 9, candidatesTokenCount: figure }), { inputTokens: 9, unclear: ['responseTokens'] }],
      [
        content({ promptTokenCount: 9, candidatesTokenCount: 4, thoughtsTokenCount: figure }),
        { inputTokens: 9, responseTokens: 4, unclear: ['reasoningTokens', 'responseTokens'] },
      ],
      [content({ promptTokenCount: 9, toolUsePromptTokenCount: figure }), { inputTokens: 9, unclear: ['inputTokens'] }],
    ];
    for (const [body, expected] of cases) {
      const { modelUsed: _model, providerUsed: _provider, ...usage } = readUsage(body) as VendorUsage;
      expect(usage).toEqual(used(expected));
    }
  });

  test.each([-1, '12', Number.NaN, 1e13, true])('seconds %j of audio are unclear, never zero seconds', (figure) => {
    expect(readUsage(chat({ prompt_tokens: 1, completion_tokens: 1, prompt_audio_seconds: figure }))).toMatchObject({
      inputTokens: 1,
      responseTokens: 1,
      unclear: ['audioSeconds'],
    });
    expect(readUsage({ text: 'x', usage: { type: 'duration', seconds: figure } })?.unclear).toEqual(['audioSeconds']);
  });

  test('a duration without its seconds is unclear', () => {
    expect(readUsage({ text: 'x', usage: { type: 'duration' } })?.unclear).toEqual(['audioSeconds']);
  });

  test('a fraction of a token is rounded up, and seconds keep their thousandths', () => {
    expect(
      readUsage(chat({ prompt_tokens: 8.2, completion_tokens: 0.001, prompt_audio_seconds: 1.0625 })),
    ).toMatchObject({ inputTokens: 9, responseTokens: 1, audioSeconds: 1.063 });
  });

  test('searches are known even without usage', () => {
    const search = { type: 'web_search_call' };
    expect(readSearches(response(null, { output: [search, { type: 'message' }, search] }))).toBe(2);
    expect(readSearches(message({ server_tool_use: { web_search_requests: 3 } }))).toBe(3);
    expect(readSearches({ candidates: [{ groundingMetadata: { webSearchQueries: ['a', 'b'] } }] })).toBe(2);
    expect(readSearches([{ candidates: [{ groundingMetadata: { webSearchQueries: ['a'] } }] }])).toBe(1);
    expect(readSearches({ ...chat(null), choices: [{ message: { annotations: [{ type: 'url_citation' }] } }] })).toBe(
      1,
    );
    const none = [
      chat(null),
      response(null, { tool_usage: { web_search: { num_requests: 'x' } } }),
      'text',
      null,
      { hello: 'world' },
    ];
    for (const body of none) expect(readSearches(body)).toBe(0);
  });

  test('the bound of tokens is the same for callers and vendors', () => {
    expect(readUsage(chat({ prompt_tokens: TOKENS_MAX, completion_tokens: TOKENS_MAX }))).toMatchObject({
      inputTokens: TOKENS_MAX,
    });
    // Two figures that are one of ours together.
    expect(
      readUsage(message({ input_tokens: TOKENS_MAX, output_tokens: 1, cache_read_input_tokens: 1 })),
    ).toMatchObject({ inputTokens: TOKENS_MAX, cachedInputTokens: 1, unclear: ['inputTokens'] });
  });

  test('a part larger than its whole is unclear, and the whole stays', () => {
    const cached = chat({ prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 6 } });
    const reasoning = response({ input_tokens: 1, output_tokens: 5, output_tokens_details: { reasoning_tokens: 6 } });
    expect(readUsage(cached)).toMatchObject({
      inputTokens: 5,
      cachedInputTokens: 0,
      responseTokens: 1,
      unclear: ['cachedInputTokens'],
    });
    expect(readUsage(reasoning)).toMatchObject({ responseTokens: 5, reasoningTokens: 0, unclear: ['reasoningTokens'] });
  });

  test.each([
    ['gpt-oss-120b', undefined],
    ['openai/gpt-5.2', undefined],
    ['llama-4', undefined],
    ['ft:gpt-4.1-mini:acme::abc', 'openai'],
    ['o3', 'openai'],
    ['gemma-4-31b-it', 'google'],
  ])('the model %s is of %s', (model, provider) => {
    expect(readUsage(chat({ prompt_tokens: 1, completion_tokens: 1 }, model))?.providerUsed).toBe(provider);
  });
});
