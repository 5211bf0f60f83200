/**
 * A request for a chat completion reaches Anthropic's messages API with everything that it asks for, or is refused with
 * the member that has no equivalent there.
 */
import type { MessageCreateParams } from '@anthropic-ai/sdk/resources/messages';
import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { chatToMessages, type MessagesBody } from '../../src/gateway/translation/chat-to-messages.ts';

const TERMS = { model: 'claude-sonnet-5-5', outputTokensMax: 128_000, effort: undefined };
const MARK = { cache_control: { type: 'ephemeral' } };
const HI = { role: 'user', content: 'hi' };
const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const PDF = 'data:application/pdf;base64,JVBERi0=';

const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more });
const said = (...content: object[]) => ({ role: 'assistant', content });
const asked = (...content: object[]) => ({ role: 'user', content });
const call = (id: string, name: string, given: string) => ({
  id,
  type: 'function',
  function: { name, arguments: given },
});

function translated(request: object, terms: object = {}): MessagesBody {
  const result = chatToMessages({ messages: [HI], ...request }, { ...TERMS, ...terms });
  if (!result.ok) throw new Error(`refused: ${result.param} ${result.message}`);
  return result.body;
}

/** The translated members besides the model, the bound and `hi`. */
function members(request: object, terms: object = {}): object {
  const { model: _model, max_tokens: _bound, messages: _messages, ...rest } = translated(request, terms);
  return rest;
}

function refused(request: object, terms: object = {}) {
  const result = chatToMessages({ messages: [HI], ...request }, { ...TERMS, ...terms });
  return result.ok ? 'translated' : `${result.param} ${result.message}`;
}

test('the body is what the types of the SDK of Anthropic call the parameters of a message', () => {
  expectTypeOf<MessagesBody>().toExtend<MessageCreateParams>();
});

test('a plain request has the model, a bound and one turn', () => {
  expect(translated({})).toEqual({
    model: 'claude-sonnet-5-5',
    max_tokens: 128_000,
    messages: [asked(text('hi'))],
  });
});

describe('messages', () => {
  test.each<[string, object[], Partial<MessagesBody>]>([
    [
      'system and developer messages before the conversation are the system prompt',
      [{ role: 'system', content: 'be brief' }, { role: 'developer', content: [text('be kind', MARK)] }, HI],
      { system: [text('be brief'), text('be kind', MARK)] as never, messages: [asked(text('hi'))] as never },
    ],
    [
      'a system message within the conversation stays in its place',
      [HI, { role: 'system', content: 'be brief' }, { role: 'assistant', content: 'ok' }, HI],
      {
        messages: [
          asked(text('hi')),
          { role: 'system', content: [text('be brief')] },
          said(text('ok')),
          asked(text('hi')),
        ] as never,
      },
    ],
    [
      'neighbours of the same role are one turn',
      [
        HI,
        { role: 'user', content: 'there' },
        { role: 'assistant', content: 'a' },
        { role: 'assistant', content: 'b' },
      ],
      { messages: [asked(text('hi'), text('there')), said(text('a'), text('b'))] as never },
    ],
    [
      'an answer at the end is continued',
      [HI, { role: 'assistant', content: 'The best answer is (' }],
      { messages: [asked(text('hi')), said(text('The best answer is ('))] as never },
    ],
    [
      'parallel tool calls and their results are one turn each, and what the user adds follows the results',
      [
        HI,
        {
          role: 'assistant',
          content: 'I look',
          refusal: null,
          tool_calls: [call('a', 'weather', '{"city":"Paris"}'), call('b', 'now', '')],
        },
        { role: 'tool', tool_call_id: 'a', content: 'sunny' },
        { role: 'tool', tool_call_id: 'b', name: 'now', content: [text('noon')] },
        { role: 'user', content: 'and?' },
      ],
      {
        messages: [
          asked(text('hi')),
          said(
            text('I look'),
            { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Paris' } },
            { type: 'tool_use', id: 'b', name: 'now', input: {} },
          ),
          asked(
            { type: 'tool_result', tool_use_id: 'a', content: [text('sunny')] },
            { type: 'tool_result', tool_use_id: 'b', content: [text('noon')] },
            text('and?'),
          ),
        ] as never,
      },
    ],
    [
      'a tool that answers nothing has a result, and empty texts are left out',
      [
        { role: 'user', content: [text(''), text('hi')] },
        { role: 'assistant', content: '', tool_calls: [call('a', 'now', '{}')] },
        { role: 'tool', tool_call_id: 'a', content: '' },
      ],
      {
        messages: [
          asked(text('hi')),
          said({ type: 'tool_use', id: 'a', name: 'now', input: {} }),
          asked({ type: 'tool_result', tool_use_id: 'a' }),
        ] as never,
      },
    ],
    [
      'thinking goes back before text and tool calls; what repeats it is left out',
      [
        HI,
        {
          role: 'assistant',
          content: 'I look',
          reasoning_content: 'hm',
          annotations: [],
          thinking_blocks: [
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'redacted_thinking', data: 'xyz' },
          ],
          tool_calls: [call('a', 'now', '{}')],
        },
        { role: 'tool', tool_call_id: 'a', content: 'noon' },
      ],
      {
        messages: [
          asked(text('hi')),
          said(
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'redacted_thinking', data: 'xyz' },
            text('I look'),
            { type: 'tool_use', id: 'a', name: 'now', input: {} },
          ),
          asked({ type: 'tool_result', tool_use_id: 'a', content: [text('noon')] }),
        ] as never,
      },
    ],
    [
      'a refusal that is sent back is what the assistant said',
      [HI, { role: 'assistant', content: null, refusal: 'I cannot' }, HI],
      { messages: [asked(text('hi')), said(text('I cannot')), asked(text('hi'))] as never },
    ],
    [
      'images and files',
      [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: PNG, detail: 'high' }, ...MARK },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
            { type: 'image_url', image_url: { url: 'data:image/jpg;base64,/9j/' } },
            { type: 'file', file: { filename: 'a.pdf', file_data: PDF } },
          ],
        },
      ],
      {
        messages: [
          asked(
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }, ...MARK },
            { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
            { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: '/9j/' } },
            {
              type: 'document',
              source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
              title: 'a.pdf',
            },
          ),
        ] as never,
      },
    ],
    [
      'a mark for the cache on a message is on its last block',
      [
        { role: 'system', content: 'be brief', ...MARK },
        { role: 'user', content: [text('a'), text('b')], ...MARK },
        { role: 'assistant', tool_calls: [call('a', 'now', '{}')], ...MARK },
        { role: 'tool', tool_call_id: 'a', content: 'noon', ...MARK },
      ],
      {
        system: [text('be brief', MARK)] as never,
        messages: [
          asked(text('a'), text('b', MARK)),
          said({ type: 'tool_use', id: 'a', name: 'now', input: {}, ...MARK }),
          asked({ type: 'tool_result', tool_use_id: 'a', content: [text('noon')], ...MARK }),
        ] as never,
      },
    ],
  ])('%s', (_name, messages, expected) => {
    expect(translated({ messages })).toMatchObject(expected);
    expect(translated({ messages }).messages).toEqual(expected.messages);
  });

  describe('an answer that is sent back as it came', () => {
    const blocks = [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'news' } },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
      text('There ', { citations: null }),
      text('is rain'),
      { type: 'thinking', thinking: 'so', signature: 'sig' },
      { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Paris', day: 1 } },
    ];
    const answer = {
      role: 'assistant',
      content: 'There is rain',
      tool_calls: [call('a', 'weather', '{ "day":1, "city":"Paris" }')],
      thinking_blocks: [blocks[0], blocks[5]],
      content_blocks: blocks,
    };

    test('has its blocks in their order', () => {
      expect(translated({ messages: [HI, answer] }).messages[1]).toEqual(said(...blocks));
      const { thinking_blocks: _thinking, ...without } = answer;
      expect(translated({ messages: [HI, without] }).messages[1]).toEqual(said(...blocks));
    });

    test('may be followed by a system message if it ends with a search', () => {
      const paused = { role: 'assistant', content: null, content_blocks: blocks.slice(1, 3) };
      const system = { role: 'system', content: 'be brief' };
      expect(translated({ messages: [HI, paused, system] }).messages.slice(1)).toEqual([
        said(...blocks.slice(1, 3)),
        { role: 'system', content: [text('be brief')] },
      ]);
    });

    test('is followed by the words of a refusal', () => {
      const messages = [HI, { ...answer, refusal: 'no' }];
      expect(translated({ messages }).messages[1]).toEqual(said(...blocks, text('no')));
    });

    test.each([
      ['its text', { content: 'There is sun' }],
      ['its calls', { tool_calls: [] }],
      ['the arguments of a call', { tool_calls: [call('a', 'weather', '{"city":"Paris"}')] }],
      ['its thinking', { thinking_blocks: [] }],
      ['its blocks', { content_blocks: blocks.slice(1) }],
      ['blocks of another kind', { content_blocks: [...blocks, { type: 'image' }] }],
    ])('is refused where somebody has changed %s', (_name, change) => {
      expect(refused({ messages: [HI, { ...answer, ...change }] })).toContain('messages[1].content_blocks');
    });
  });

  test.each<[string, unknown, string]>([
    ['a name', [{ ...HI, name: 'bob' }], 'messages[0].name'],
    ['an unknown role', [{ role: 'function', name: 'f', content: 'x' }], 'messages[0].name'],
    ['no role', [{ content: 'x' }], 'messages[0].role'],
    ['no text', [{ role: 'user', content: '' }], 'messages must have'],
    ['only a system prompt', [{ role: 'system', content: 'x' }], 'messages must have'],
    ['no list', 'hi', 'messages must be a list'],
    ['an unknown member', [{ ...HI, mood: 'good' }], 'messages[0].mood'],
    [
      'audio',
      [asked({ type: 'input_audio', input_audio: { data: '', format: 'wav' } })],
      'messages[0].content[0].type',
    ],
    ["a part's unknown member", [asked(text('a', { prompt_cache_breakpoint: {} }))], 'messages[0].content[0].prompt_'],
    ['an image in a system message', [{ role: 'system', content: [{ type: 'image_url' }] }], 'messages[0].content[0]'],
    ['an image of another type', [asked({ type: 'image_url', image_url: { url: 'data:image/tiff;base64,x' } })], 'url'],
    ['an image looked at less', [asked({ type: 'image_url', image_url: { url: PNG, detail: 'low' } })], 'detail'],
    ['a file at OpenAI', [asked({ type: 'file', file: { file_id: 'file-1' } })], 'messages[0].content[0].file.file_id'],
    [
      'a file of another type',
      [asked({ type: 'file', file: { file_data: 'data:text/csv;base64,YQ==' } })],
      'file_data',
    ],
    ['arguments that are no object', [HI, { role: 'assistant', tool_calls: [call('a', 'f', '[1]')] }], 'arguments'],
    ['broken arguments', [HI, { role: 'assistant', tool_calls: [call('a', 'f', '{')] }], 'function.arguments'],
    ['a custom call', [HI, { role: 'assistant', tool_calls: [{ id: 'a', type: 'custom', custom: {} }] }], 'type'],
    ['an old call', [HI, { role: 'assistant', function_call: { name: 'f', arguments: '' } }], 'messages[1].function_c'],
    ['spoken answers', [HI, { role: 'assistant', audio: { id: 'a' } }], 'messages[1].audio'],
    [
      'thinking without its signature',
      [HI, { role: 'assistant', thinking_blocks: [{ type: 'thinking', thinking: 'x' }] }],
      'thinking_blocks[0].signature',
    ],
    ['thinking that is no list', [HI, { role: 'assistant', content: 'x', thinking_blocks: 'x' }], 'thinking_blocks'],
    ['a system message after an answer', [HI, said(text('a')), { role: 'system', content: 'x' }], 'messages[2] must'],
    ['a system message before the user', [HI, { role: 'system', content: 'x' }, HI], 'messages[1] must come before'],
    ['a mark that is none', [{ ...HI, cache_control: true }], 'messages[0].cache_control'],
  ])('%s is refused', (_name, messages, beginning) => {
    expect(refused({ messages })).toContain(beginning);
  });

  test.each([
    ['claude-opus-4-8', true],
    ['claude-fable-5', true],
    ['claude-opus-5-5', true],
    ['claude-sonnet-5', true],
    ['claude-mythos-5', true],
    ['claude-mythos-preview', false],
    ['claude-opus-4-7', false],
    ['claude-haiku-4-5-20251001', false],
    ['claude-opus-4-20250514', false],
    ['claude-3-7-sonnet-latest', false],
  ])('%s takes system messages within the conversation: %s', (model, takes) => {
    const messages = [HI, { role: 'system', content: 'be brief' }];
    expect(refused({ messages }, { model }) === 'translated').toBe(takes);
  });
});

const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const WEATHER = { type: 'function', function: { name: 'weather', description: 'of a city', parameters: PARAMETERS } };
const weather = { name: 'weather', description: 'of a city', input_schema: PARAMETERS };
const SEARCH = { type: 'web_search_20250305', name: 'web_search', max_uses: 5 };
const AUTO = { type: 'auto' };
const tools = [WEATHER];

describe('members', () => {
  test.each<[string, object, object, object]>([
    ['nothing of what is null', { temperature: null, tools: null, stop: null, mood: null }, {}, {}],
    ['the lower bound of both', { max_tokens: 9, max_completion_tokens: 7 }, {}, {}],
    ['a text that stops', { stop: 'END' }, {}, { stop_sequences: ['END'] }],
    ['no texts that stop', { stop: [] }, {}, {}],
    ['texts that stop', { stop: ['a', 'b'] }, {}, { stop_sequences: ['a', 'b'] }],
    ['sampling', { temperature: 1, top_p: 0.5, top_k: 3 }, {}, { temperature: 1, top_p: 0.5, top_k: 3 }],
    ['a stream', { stream: true, stream_options: { include_usage: true } }, {}, { stream: true }],
    ['no stream', { stream: false }, {}, {}],
    ['a tool', { tools }, {}, { tools: [weather] }],
    [
      'a strict tool with a mark',
      { tools: [{ ...WEATHER, function: { ...WEATHER.function, strict: true }, ...MARK }] },
      {},
      { tools: [{ ...weather, strict: true, ...MARK }] },
    ],
    [
      'a mark in the function of a tool',
      { tools: [{ ...WEATHER, function: { ...WEATHER.function, strict: false, ...MARK } }] },
      {},
      { tools: [{ ...weather, ...MARK }] },
    ],
    [
      'a tool without parameters',
      { tools: [{ type: 'function', function: { name: 'now' } }] },
      {},
      { tools: [{ name: 'now', input_schema: { type: 'object' } }] },
    ],
    ['the choice auto', { tools, tool_choice: 'auto' }, {}, { tools: [weather], tool_choice: AUTO }],
    ['the choice none', { tools, tool_choice: 'none' }, {}, { tools: [weather], tool_choice: { type: 'none' } }],
    ['the choice required', { tools, tool_choice: 'required' }, {}, { tools: [weather], tool_choice: { type: 'any' } }],
    [
      'the choice of one',
      { tools, tool_choice: { type: 'function', function: { name: 'weather' } } },
      {},
      { tools: [weather], tool_choice: { type: 'tool', name: 'weather' } },
    ],
    [
      'one call at a time',
      { tools, parallel_tool_calls: false },
      {},
      { tools: [weather], tool_choice: { ...AUTO, disable_parallel_tool_use: true } },
    ],
    [
      'one required call at a time',
      { tools, tool_choice: 'required', parallel_tool_calls: false },
      {},
      { tools: [weather], tool_choice: { type: 'any', disable_parallel_tool_use: true } },
    ],
    [
      'no call at a time',
      { tools, tool_choice: 'none', parallel_tool_calls: false },
      {},
      { tools: [weather], tool_choice: { type: 'none' } },
    ],
    ['parallel calls', { tools, parallel_tool_calls: true }, {}, { tools: [weather] }],
    ['a choice between no tools', { tools: [], tool_choice: 'auto', parallel_tool_calls: false }, {}, {}],
    ['web search', { web_search_options: {} }, {}, { tools: [SEARCH] }],
    [
      'web search at a place, beside a tool',
      {
        tools,
        web_search_options: {
          search_context_size: 'medium',
          user_location: { type: 'approximate', approximate: { city: 'Paris', country: 'FR' } },
        },
      },
      {},
      { tools: [weather, { ...SEARCH, user_location: { type: 'approximate', city: 'Paris', country: 'FR' } }] },
    ],
    [
      'a schema for the answer, whose description moves into it',
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'place', strict: true, description: 'a place', schema: PARAMETERS },
        },
      },
      {},
      { output_config: { format: { type: 'json_schema', schema: { description: 'a place', ...PARAMETERS } } } },
    ],
    ['text as the format', { response_format: { type: 'text' } }, {}, {}],
    [
      'the effort that was decided',
      { reasoning_effort: 'max' },
      { effort: 'low' },
      { output_config: { effort: 'low' } },
    ],
    ['no effort', {}, { effort: 'none' }, { thinking: { type: 'disabled' } }],
    [
      'thinking, with an effort',
      { thinking: { type: 'adaptive', display: 'summarized' } },
      { effort: 'high' },
      { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'high' } },
    ],
    ['the end user', { user: 'u1' }, {}, { metadata: { user_id: 'u1' } }],
    [
      'the end user by all names',
      { user: 'u1', safety_identifier: 'u1', metadata: { user_id: 'u1' } },
      {},
      { metadata: { user_id: 'u1' } },
    ],
    ['the standard tier', { service_tier: 'default' }, {}, { service_tier: 'standard_only' }],
    ['the best tier', { service_tier: 'auto' }, {}, { service_tier: 'auto' }],
    ['a mark for the whole prompt', { ...MARK }, {}, MARK],
    [
      'what asks for nothing',
      {
        ...{ n: 1, logprobs: false, top_logprobs: 0, logit_bias: {}, frequency_penalty: 0, presence_penalty: 0 },
        ...{ modalities: ['text'], verbosity: 'medium', store: false, metadata: {}, functions: [] },
        ...{ prompt_cache_key: 'k', prompt_cache_retention: 'in_memory', stream_options: {} },
      },
      {},
      {},
    ],
  ])('%s', (_name, request, terms, expected) => {
    expect(members(request, terms)).toEqual(expected);
  });

  test('the bound is the lower of both names, else the most that the model writes', () => {
    expect(translated({ max_tokens: 9, max_completion_tokens: 7 }).max_tokens).toBe(7);
    expect(translated({ max_tokens: 9 }).max_tokens).toBe(9);
    expect(translated({}, { outputTokensMax: 5 }).max_tokens).toBe(5);
  });

  test.each<[object, string]>([
    [{ n: 2 }, 'n must be 1'],
    [{ logprobs: true }, 'logprobs'],
    [{ top_logprobs: 3 }, 'top_logprobs'],
    [{ logit_bias: { 50256: -100 } }, 'logit_bias'],
    [{ seed: 0 }, 'seed'],
    [{ audio: { voice: 'alloy', format: 'mp3' } }, 'audio'],
    [{ modalities: ['text', 'audio'] }, 'modalities'],
    [{ prediction: { type: 'content', content: 'x' } }, 'prediction'],
    [{ frequency_penalty: 0.5 }, 'frequency_penalty'],
    [{ presence_penalty: -1 }, 'presence_penalty'],
    [{ store: true }, 'store'],
    [{ metadata: { team: 'a' } }, 'metadata.team'],
    [{ metadata: 'a' }, 'metadata must be an object'],
    [{ moderation: { model: 'm' } }, 'moderation'],
    [{ verbosity: 'low' }, 'verbosity'],
    [{ functions: [{ name: 'f' }] }, 'functions'],
    [{ function_call: 'auto' }, 'function_call'],
    [{ prompt_cache_retention: '24h' }, 'prompt_cache_retention'],
    [{ prompt_cache_options: { mode: 'explicit' } }, 'prompt_cache_options'],
    [{ service_tier: 'flex' }, 'service_tier'],
    [{ service_tier: 'constructor' }, 'service_tier'],
    [{ temperature: 1.01 }, 'temperature must be at most 1'],
    [{ top_p: '1' }, 'top_p must be a number'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ max_completion_tokens: 1.5 }, 'max_completion_tokens'],
    [{ stop: [1] }, 'stop'],
    [{ stop: {} }, 'stop'],
    [{ stream: 'yes' }, 'stream must be'],
    [{ stream_options: { include_obfuscation: true } }, 'stream_options.include_obfuscation'],
    [{ thinking: true }, 'thinking must be an object'],
    [{ user: 'a', safety_identifier: 'b' }, 'user must be the same'],
    [{ response_format: { type: 'json_object' } }, 'response_format.type'],
    [{ response_format: { type: 'json_schema', json_schema: { name: 'x' } } }, 'response_format.json_schema.schema'],
    [{ tools: [{ type: 'custom', custom: { name: 'x' } }] }, 'tools[0].type'],
    [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'string' } } }] }, 'parameters'],
    [{ tools: [{ type: 'function' }] }, 'tools[0].function.name'],
    [{ tools: [{ ...WEATHER, defer_loading: true }] }, 'tools[0].defer_loading'],
    [{ tools: 'all' }, 'tools must be a list'],
    [{ tools, tool_choice: { type: 'allowed_tools', allowed_tools: {} } }, 'tool_choice'],
    [{ tools, tool_choice: { type: 'custom', custom: { name: 'x' } } }, 'tool_choice'],
    [{ tool_choice: 'required' }, 'tool_choice needs'],
    [{ web_search_options: { search_context_size: 'high' } }, 'web_search_options.search_context_size'],
    [{ web_search_options: true }, 'web_search_options must be an object'],
    [{ top_a: 1 }, 'top_a is not known'],
    [{ constructor: 1 }, 'constructor is not known'],
  ])('%j is refused', (request, beginning) => {
    expect(refused(request)).toContain(beginning);
  });

  test('an effort that Anthropic does not have, or that thinking contradicts, is refused', () => {
    expect(refused({}, { effort: 'minimal' })).toContain('reasoning_effort');
    expect(refused({ thinking: { type: 'enabled', budget_tokens: 2000 } }, { effort: 'none' })).toContain('thinking');
    expect(members({ thinking: { type: 'disabled' } }, { effort: 'none' })).toEqual({ thinking: { type: 'disabled' } });
  });
});

/** A value for each member; the compiler demands one for a member that OpenAI's SDK adds. */
const EVERY_MEMBER: Record<keyof ChatCompletionCreateParams, unknown> = {
  ...{ messages: [HI], model: 'claude-sonnet-5-5', audio: {}, frequency_penalty: 1, function_call: 'auto' },
  ...{ functions: [{}], logit_bias: { 1: 1 }, logprobs: true, max_completion_tokens: 1, max_tokens: 1 },
  ...{ metadata: { a: 'b' }, modalities: ['audio'], moderation: {}, n: 2, parallel_tool_calls: false, prediction: {} },
  ...{ presence_penalty: 1, prompt_cache_key: 'k', prompt_cache_options: { a: 1 }, prompt_cache_retention: '24h' },
  ...{ reasoning_effort: 'low', response_format: { type: 'json_object' }, safety_identifier: 'u', seed: 1 },
  ...{ service_tier: 'flex', stop: 'x', store: true, stream: true, stream_options: { include_usage: true } },
  ...{ temperature: 1, tool_choice: 'auto', tools, top_logprobs: 1, top_p: 1, user: 'u', verbosity: 'low' },
  ...{ web_search_options: {} },
};

test('no member of OpenAI is unknown', () => {
  for (const [name, value] of Object.entries(EVERY_MEMBER)) {
    expect(refused({ [name]: value }), name).not.toContain('is not known');
  }
});
