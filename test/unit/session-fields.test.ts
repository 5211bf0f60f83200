/**
 * The fields that a browser's session may send to a model: every field and every tool in OpenAI's SDK is open or closed
 * on purpose, any other is closed, and no object stored at a vendor can be named.
 */

import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG as catalog } from '../../src/catalog/built-in.ts';
import type { OrganizationConfig, Session } from '../../src/config/credentials.ts';
import { asCustomerId } from '../../src/domain/ids.ts';
import { CHAT as CHAT_FIELDS } from '../../src/gateway/demand/fields/chat.ts';
import { RESPONSES as RESPONSE_FIELDS } from '../../src/gateway/demand/fields/responses.ts';
import type { Members, Rule } from '../../src/gateway/demand/rules.ts';
import { refusalAnswer } from '../../src/gateway/error-envelope.ts';
import { closedField, closedModel } from '../../src/gateway/session-rules.ts';
import { REQUEST_TYPES } from '../support/request-types.ts';
import { membersOf, optionsOf, type Shape } from '../support/sdk-types.ts';

const NOW = Date.UTC(2026, 10, 23);
const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const FIELDS: Record<string, Members> = { [CHAT]: CHAT_FIELDS, [RESPONSES]: RESPONSE_FIELDS };
const isClosed = (rule: Rule | undefined) => typeof rule === 'object' && 'closed' in rule;
/** Tools that no session may name: new ones, and those with a fee or access to the organization's account. */
const CLOSED_TOOLS = [
  ...['apply_patch', 'code_interpreter', 'computer', 'computer_use_preview', 'file_search', 'local_shell', 'mcp'],
  ...['namespace', 'programmatic_tool_calling', 'shell', 'tool_search'],
];

const organization = {
  models: { standard: ['gpt-4o-mini'], premium: ['openai/gpt-5.2'] },
  aliases: new Map([['cheap', ['gpt-4o-mini']]]),
  vendors: new Map(),
  vendorOrigins: ['https://api.openai.com', 'https://generativelanguage.googleapis.com'],
} as unknown as OrganizationConfig;

const closed = (path: string, body: unknown) => closedField(path, body, organization)?.param ?? null;

const [CHAT_TYPE, RESPONSE_TYPE] = [REQUEST_TYPES.chat(), REQUEST_TYPES.responses()];

const fieldNames = (types: readonly Shape[]) => types.flatMap((type) => [...membersOf(type).keys()]);

/** The values of `type` of the tools. */
const toolTypesOf = ([type]: readonly Shape[]) => {
  const tools = type && membersOf(type).get('tools')?.shape;
  const options = tools?.kind === 'list' ? optionsOf(tools.item()) : [];
  const types = options.flatMap((tool) => optionsOf(membersOf(tool).get('type')?.shape ?? { kind: 'any' }));
  return types.flatMap((literal) => (literal.kind === 'literal' ? [String(literal.value)] : []));
};

const toolsOf = (rule: Rule | undefined) =>
  Object.entries((rule as { list: { types: Record<string, { closed?: true }> } }).list.types);

describe("the SDK's", () => {
  test.each([
    [CHAT, fieldNames(CHAT_TYPE)],
    [RESPONSES, fieldNames(RESPONSE_TYPE)],
  ])('fields of %s are each open or closed', (path, fields) => {
    expect(fields.length).toBeGreaterThan(30);
    const rules = FIELDS[path] ?? {};
    expect(fields.filter((field) => rules[field] === undefined)).toEqual([]);
    const shut = Object.keys(rules).filter((field) => isClosed(rules[field]));
    expect(shut.length).toBeGreaterThan(8);
    for (const field of shut) expect(closed(path, { [field]: 'x' })).toBe(field);
  });

  test.each([
    [CHAT, toolTypesOf(CHAT_TYPE)],
    [RESPONSES, toolTypesOf(RESPONSE_TYPE)],
  ])('tools of %s are each open or closed, and never both', (path, types) => {
    expect(types).toEqual(
      expect.arrayContaining(['function', 'custom', ...(path === RESPONSES ? ['mcp', 'shell', 'tool_search'] : [])]),
    );
    const known = toolsOf(FIELDS[path]?.tools);
    expect(types.filter((type) => !known.some(([name]) => name === type))).toEqual([]);
    for (const type of CLOSED_TOOLS) expect(closed(path, { tools: [{ type }] })).toBe('tools.0.type');
    for (const [type, { closed: shut }] of known)
      expect(closed(path, { tools: [{ type }] })).toBe(shut ? 'tools.0.type' : null);
  });
});

describe('a session must not send', () => {
  const item = (input: object) => ({ input: [{ role: 'user', content: 'x' }, input] });
  const part = (content: object) => ({
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }, content] }],
  });
  const chatPart = (content: object) => ({ messages: [{ role: 'user', content: [content] }] });

  test.each<[string, string, object]>([
    ['customer', CHAT, { customer: { id: 'own', stripeCustomerId: 'cus_other' } }],
    ['customer', RESPONSES, { customer: { id: 'own' } }],
    ['customerId', CHAT, { customerId: 'own' }],
    ['stripeCustomerId', CHAT, { stripeCustomerId: 'cus_other' }],
    ['feature', CHAT, { feature: 'f' }],
    ['tags', RESPONSES, { tags: [] }],
    ['metadata', CHAT, { metadata: {} }],
    ['previous_response_id', RESPONSES, { previous_response_id: 'resp_1' }],
    ['conversation', RESPONSES, { conversation: { id: 'conv_1' } }],
    ['prompt', RESPONSES, { prompt: { id: 'pmpt_1' } }],
    ['background', RESPONSES, { background: true }],
    ['store', CHAT, { store: true }],
    ['service_tier', CHAT, { service_tier: 'priority' }],
    ['service_tier', RESPONSES, { service_tier: 'flex' }],
    ['file_ids', RESPONSES, { file_ids: ['file-1'] }],
    ['extra_body', CHAT, { extra_body: { google: { cached_content: 'cachedContents/1' } } }],
    ['from_tomorrow', CHAT, { from_tomorrow: true }],
    ['__proto__', CHAT, JSON.parse('{"__proto__": {"a": 1}}')],
    ['constructor', CHAT, { constructor: 'x' }],
    ['audio.voice', CHAT, { audio: { format: 'wav', voice: { id: 'voice_1' } } }],
    ['messages.0.audio', CHAT, { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }],
    ['messages.0.content.0.file.file_id', CHAT, chatPart({ type: 'file', file: { file_id: 'file-1' } })],
    ['messages.0.content.0.type', CHAT, chatPart({ type: 'from_tomorrow' })],
    ['messages.0.content', CHAT, { messages: [{ role: 'user', content: { file_id: 'file-1' } }] }],
    ['tools.0.type', CHAT, { tools: [{ type: 'web_search' }] }],
    ['tools.0.vector_store_ids', RESPONSES, { tools: [{ type: 'function', vector_store_ids: ['vs_1'] }] }],
    ['tools.0.type', RESPONSES, { tools: [{ type: 'code_interpreter', container: 'cntr_1' }] }],
    [
      'tools.0.input_image_mask.file_id',
      RESPONSES,
      { tools: [{ type: 'image_generation', input_image_mask: { file_id: 'file-1' } }] },
    ],
    ['tools.0.model', RESPONSES, { tools: [{ type: 'image_generation', model: 'gpt-image-2' }] }],
    ['tool_choice.type', RESPONSES, { tool_choice: { type: 'file_search' } }],
    [
      'tool_choice.tools.0.type',
      RESPONSES,
      { tool_choice: { type: 'allowed_tools', tools: [{ type: 'mcp', server_label: 'x' }] } },
    ],
    ['include', RESPONSES, { include: ['message.output_text.logprobs', 'file_search_call.results'] }],
    ['prompt_cache_options', RESPONSES, { prompt_cache_options: { comparison_response_id: 'resp_1' } }],
    ['input.1.type', RESPONSES, item({ type: 'item_reference', id: 'msg_1' })],
    ['input.1.id', RESPONSES, item({ id: 'msg_1' })],
    ['input.1.id', RESPONSES, item({ type: null, id: 'msg_1' })],
    ['input.1.encrypted_content', RESPONSES, item({ type: 'reasoning', id: 'rs_1', summary: [] })],
    ['input.1.type', RESPONSES, item({ type: 'image_generation_call', id: 'ig_1', result: null })],
    ['input.1.type', RESPONSES, item({ type: 'code_interpreter_call', id: 'ci_1', container_id: 'cntr_1' })],
    [
      'input.1.output.0.file_id',
      RESPONSES,
      item({ type: 'function_call_output', output: [{ type: 'input_file', file_id: 'file-1' }] }),
    ],
    [
      'input.1.content.0.annotations.0.type',
      RESPONSES,
      item({
        role: 'assistant',
        content: [{ type: 'output_text', text: 'x', annotations: [{ type: 'file_citation', file_id: 'file-1' }] }],
      }),
    ],
    ['input.0.content.1.file_id', RESPONSES, part({ type: 'input_file', file_id: 'file-1' })],
    ['input.0.content.1.file_id', RESPONSES, part({ type: 'input_image', file_id: 'file-1' })],
    ['input.0.content.1.file_url', RESPONSES, part({ type: 'input_file', file_url: 'gs://bucket/file' })],
    ['input.0.content.1.image_url', RESPONSES, part({ type: 'input_image', image_url: 'file-1' })],
    [
      'input.0.content.1.file_data',
      RESPONSES,
      part({ type: 'input_file', file_data: 'https://api.openai.com/v1/files/1/content' }),
    ],
    ['messages.0.content.0.image_url', CHAT, chatPart({ type: 'image_url', image_url: 'files/abc' })],
    [
      'messages.0.content.0.image_url.url',
      CHAT,
      chatPart({ type: 'image_url', image_url: { url: 'https://generativelanguage.googleapis.com/v1beta/files/abc' } }),
    ],
    [
      'messages.0.content.0.image_url.url',
      CHAT,
      chatPart({ type: 'image_url', image_url: { url: ' HTTP://API.OpenAI.com./v1/files/1' } }),
    ],
  ])('%s to %s in %j', (param, path, body) => {
    const refused = closedField(path, body, organization);
    expect(refused).toMatchObject({ code: 'FIELD_NOT_ALLOWED', param });
    expect(refused && refusalAnswer(refused).status).toBe(400);
    expect(refused?.message.startsWith(`${param}: must `)).toBe(true);
  });

  test('any field to an endpoint without a table', () => {
    expect(closed('/v1/embeddings', { input: 'x' })).toBe('input');
  });

  test('a field with a long name, which the message cuts', () => {
    expect(closed(CHAT, { ['x'.repeat(10_000)]: 1 })?.length).toBeLessThan(120);
  });
});

describe('a session may send', () => {
  test('a conversation with tools, images and files, as the SDKs do', () => {
    const body = {
      model: 'gpt-5.2',
      models: ['gpt-4o-mini'],
      customer: 'own',
      user: 'u',
      store: false,
      service_tier: 'auto',
      messages: [
        { role: 'developer', content: 'Be brief.' },
        {
          role: 'user',
          name: 'n',
          content: [
            { type: 'text', text: 'x' },
            { type: 'image_url', image_url: { url: 'https://images.example.com/a.png', detail: 'low' } },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
            { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          refusal: null,
          annotations: [],
          parsed: null,
          reasoning_content: 'r',
          tool_calls: [
            {
              id: 'call_1',
              type: 'function',
              function: { name: 'f', arguments: '{}' },
              extra_content: { google: { thought_signature: 's' } },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'y' },
      ],
      tools: [
        {
          type: 'function',
          function: { name: 'f', description: 'd', strict: true, parameters: { type: 'object', store: true } },
        },
      ],
      tool_choice: 'auto',
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { properties: { metadata: {} } } } },
      stop: ['a'],
      stream: true,
      stream_options: { include_usage: true },
      previous_response_id: null,
      metadata: null,
    };
    expect(closed(CHAT, body)).toBeNull();
  });

  test('the output of a response as input', () => {
    const input = [
      { role: 'user', content: 'x' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'x' }] },
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 's' }],
        encrypted_content: 'e',
        status: null,
      },
      { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}', status: 'completed' },
      { type: 'function_call_output', call_id: 'call_1', output: 'y' },
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [
          {
            type: 'output_text',
            text: 'x',
            logprobs: [],
            annotations: [{ type: 'url_citation', url: 'https://a.example', title: 't', start_index: 0, end_index: 1 }],
          },
        ],
      },
    ];
    const tools = [
      { type: 'function', name: 'f', parameters: {}, strict: false },
      {
        type: 'web_search',
        user_location: { type: 'approximate', country: 'DE' },
        filters: { allowed_domains: ['a.example'] },
      },
      { type: 'image_generation', size: '1024x1024', input_image_mask: { image_url: 'data:image/png;base64,AAAA' } },
    ];
    const more = {
      store: false,
      background: false,
      include: ['reasoning.encrypted_content'],
      text: { format: { type: 'text' } },
    };
    expect(
      closed(RESPONSES, { model: 'm', instructions: 'i', input, tools, reasoning: { effort: 'low' }, ...more }),
    ).toBeNull();
    expect(closed(RESPONSES, { model: 'm', input: 'x', tool_choice: { type: 'function', name: 'f' } })).toBeNull();
  });

  test('a body that is not an object, which the schema refuses', () => {
    for (const body of [undefined, null, [], 'x', 1]) expect(closed(CHAT, body)).toBeNull();
    expect(closed(CHAT, { messages: 'x', model: null })).toBeNull();
  });
});

describe('the models of a session', () => {
  const session = (models?: string[]) =>
    ({ customerId: asCustomerId('own'), customerUserId: null, scopes: [], models }) as Session;
  const ask = (models: string[] | undefined, ...names: string[]) => {
    const refused = closedModel(organization, catalog, names, session(models), NOW);
    if (!refused) return null;
    const { refusal } = refused;
    return [refusalAnswer(refusal).status, refusal.code, refusal.param];
  };
  const notAllowed = (param: string) => [403, 'MODEL_NOT_ALLOWED', param];

  test.each<[string[], string[]]>([
    [['gpt-5.2'], ['openai/gpt-5.2']],
    [['openai/gpt-5.2'], ['gpt-5.2']],
    [['GPT-4o'], ['GPT-4o']],
    [['service/premium'], ['gpt-5.2']],
    [['service/premium'], ['service/premium']],
    [
      ['gpt-5.2', 'gpt-4o-mini'],
      ['service/premium', 'service/standard'],
    ],
    [['service/cheap'], ['service/cheap', 'gpt-4o-mini']],
    [['gpt-4o-mini'], ['service/cheap']],
    [['acme/x'], ['acme/x']],
  ])('%j allow %j', (models, names) => expect(ask(models, ...names)).toBeNull());

  test.each<[string[], string[], string]>([
    [['gpt-4o-mini'], ['gpt-5.2'], 'model'],
    [['gpt-4o-mini'], ['gpt-4o-mini', 'gpt-5.2'], 'models'],
    [['gpt-4o-mini'], ['acme/gpt-4o-mini'], 'model'],
    [['service/standard'], ['gpt-5.2'], 'model'],
    // Standard models stand in for premium models only under a downgrade.
    [['service/premium'], ['service/standard'], 'model'],
    [['gpt-5.2'], ['service/premium'], 'model'],
    [['gpt-5.2'], ['service/cheap'], 'model'],
    [['service/cheap'], ['service/other'], 'model'],
    [['gpt-5.2'], ['gpt-unheard-of'], 'model'],
    [['gpt-unheard-of'], ['gpt-other'], 'model'],
  ])('%j do not allow %j', (models, names, param) => expect(ask(models, ...names)).toEqual(notAllowed(param)));

  test('are not restricted if none were named, and a request names at most three', () => {
    expect(ask(undefined, 'a/1', 'a/2', 'a/3')).toBeNull();
    expect(ask(undefined, 'a/1', 'a/2', 'a/3', 'a/4')).toEqual([400, 'BAD_REQUEST', 'models']);
  });
});
