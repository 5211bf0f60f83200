/**
 * Promise: Anthropic's and Google's own APIs work through the gateway with their official SDKs, unmodified: whole and
 * streamed answers, tools, counts of tokens and errors, and each call is metered exactly.
 */
import Anthropic from '@anthropic-ai/sdk';
import { ApiError, GoogleGenAI, ThinkingLevel } from '@google/genai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REPLAY_HEADER } from '../../src/contract/envelope.ts';
import { AnthropicError, GoogleError } from '../../src/contract/gateway/answers.ts';
import { type GatewayTenant, type Setting, startGateway } from './gateway-tenant.ts';

const CLAUDE = 'claude-sonnet-5-5';
const GEMINI = 'gemini-3.8-flash';
const PROMPT = 'say hello [reply:6] [cached:2]';
/** Google's form of OpenAI's says nothing of the cache. */
const PLAIN = 'say hello [reply:6]';
const REPLY = 'héllo 世界 👋🏽 wörld héllo 世界';

let gateway: Setting;
let tenant: GatewayTenant;
let anthropic: Anthropic;
let google: GoogleGenAI;

beforeAll(async () => {
  gateway = await startGateway();
  tenant = await gateway.tenant();
  anthropic = new Anthropic({ apiKey: tenant.key, baseURL: gateway.server.url, maxRetries: 0 });
  google = new GoogleGenAI({ apiKey: tenant.key, httpOptions: { baseUrl: gateway.server.url } });
});
afterAll(() => gateway?.stop());

const last = () => gateway.vendor.requests.at(-1);
/** The cost of the same words in OpenAI's form. */
async function costOfChat(model: string, content: string): Promise<unknown> {
  const request = { model, messages: [{ role: 'user' as const, content }] };
  const { response } = await tenant.openai.chat.completions.create(request).withResponse();
  return (await tenant.call(response.headers.get('x-service-call-id') ?? '')).costUSD;
}

const newest = async (calls: number) => (await tenant.settled('default', calls)).recentCalls;

describe("Anthropic's own SDK", () => {
  const ask = { model: CLAUDE, max_tokens: 500, messages: [{ role: 'user' as const, content: PROMPT }] };

  test('a message, whole: the vendor gets its own key, version and body, and the call its cost', async () => {
    const { data, response } = await anthropic.messages
      .create({ ...ask, metadata: { user_id: 'anna' }, system: 'Be brief.' })
      .withResponse();
    expect(data.content).toMatchObject([{ type: 'text', text: REPLY }]);
    const request = last();
    expect(request?.path).toBe('/v1/messages');
    expect(request?.headers['x-api-key']).toBe(`sk-anthropic-${'k'.repeat(20)}`);
    // The version that this SDK was made for.
    expect(request?.headers['anthropic-version']).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(request?.headers.authorization).toBeUndefined();
    expect(request?.body).toEqual({ ...ask, metadata: { user_id: 'anna' }, system: 'Be brief.' });
    const call = await tenant.call(response.headers.get('x-service-call-id') ?? '');
    expect(call).toMatchObject({
      status: 'COMPLETED',
      pricingStatus: 'FINAL',
      modelUsed: CLAUDE,
      providerUsed: 'anthropic',
      customerUserId: 'anna',
    });
    expect(String(call.costUSD)).toBe(response.headers.get('x-service-cost-usd'));
    expect(call.costUSD).toBe(await costOfChat(CLAUDE, `Be brief. ${PROMPT}`));
  });

  test('a message, streamed: the SDK puts the same message together, and the call has the same cost', async () => {
    const stream = anthropic.messages.stream(ask);
    expect(await stream.finalText()).toBe(REPLY);
    const { response } = await stream.withResponse();
    expect(await tenant.call(response.headers.get('x-service-call-id') ?? '')).toMatchObject({
      status: 'COMPLETED',
      pricingStatus: 'FINAL',
      modelUsed: CLAUDE,
    });
  });

  test('tools, whole and streamed', async () => {
    const tools = [{ name: 'weather', input_schema: { type: 'object' as const } }];
    const request = { ...ask, tools, messages: [{ role: 'user' as const, content: 'use it [tool]' }] };
    const plain = await anthropic.messages.create(request);
    expect(plain).toMatchObject({ stop_reason: 'tool_use', content: [{ type: 'tool_use', name: 'weather' }] });
    const streamed = await anthropic.messages.stream(request).finalMessage();
    expect(streamed).toMatchObject({ stop_reason: 'tool_use', content: [{ type: 'tool_use', name: 'weather' }] });
    expect(last()?.body.tools).toEqual(tools);
  });

  test('tokens are counted by the vendor, and no call is recorded', async () => {
    const before = (await newest(1)).length;
    const { max_tokens: _bound, ...request } = ask;
    const { input_tokens: counted } = await anthropic.beta.messages.countTokens({
      ...request,
      betas: ['tools-of-2027'],
    });
    expect(counted).toBeGreaterThan(0);
    expect(last()?.path).toMatch(/^\/v1\/messages\/count_tokens/);
    expect(last()?.headers['anthropic-beta']).toMatch(/tools-of-2027/);
    expect((await newest(1)).length).toBe(before);
  });

  test('models are listed and read in its form, without those of other vendors', async () => {
    const listed = [];
    for await (const model of anthropic.models.list()) listed.push(model);
    const ids = listed.map(({ id }) => id);
    expect(ids).toContain(CLAUDE);
    expect(ids.filter((id) => !id.startsWith('claude-'))).toEqual([]);
    expect(listed.map(({ created_at }) => created_at)).toEqual(
      listed.map(({ created_at }) => created_at).toSorted((a, b) => b.localeCompare(a)),
    );
    const read = await anthropic.models.retrieve(CLAUDE);
    expect(read).toEqual(listed.find(({ id }) => id === CLAUDE));
    expect(read).toEqual({
      type: 'model',
      id: CLAUDE,
      display_name: 'Claude Sonnet 5.5',
      created_at: expect.stringMatching(/^20\d\d-\d\d-\d\dT00:00:00\.000Z$/),
      max_input_tokens: expect.any(Number),
      max_tokens: expect.any(Number),
    });
    // A name with its vendor is the same model.
    expect(await anthropic.models.retrieve(`anthropic/${CLAUDE}`)).toEqual(read);
    const { data } = await tenant.openai.models.list();
    expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining([`anthropic/${CLAUDE}`, 'openai/gpt-5.2']));
  });

  test('a model that cannot be read is an error of its form', async () => {
    const catchError = async (model: string, sdk = anthropic) => {
      const thrown: unknown = await sdk.models.retrieve(model).catch((error: unknown) => error);
      return thrown instanceof Anthropic.APIError ? { status: thrown.status, body: thrown.error } : thrown;
    };
    expect(await catchError('claude-of-nowhere')).toMatchObject({
      status: 404,
      body: { type: 'error', error: { type: 'not_found_error', code: 'model_not_found' } },
    });
    expect(await catchError('openai/gpt-5.2')).toMatchObject({
      status: 400,
      body: { error: { code: 'ENDPOINT_NOT_OFFERED' } },
    });
    const stranger = new Anthropic({ apiKey: 'nobody', baseURL: gateway.server.url, maxRetries: 0 });
    expect(await catchError(CLAUDE, stranger)).toMatchObject({
      status: 401,
      body: { type: 'error', error: { type: 'authentication_error' } },
    });
  });

  test('the beta form of the SDK works, and its features reach the vendor', async () => {
    const { content } = await anthropic.beta.messages.create({ ...ask, betas: ['context-1m-2025-08-07'] });
    expect(content).toMatchObject([{ type: 'text', text: REPLY }]);
    expect(last()?.headers['anthropic-beta']).toBe('context-1m-2025-08-07');
  });

  test('a stream that credit pays for ends for the reason max_tokens if the balance does', async () => {
    const paid = await gateway.tenant({
      name: 'Paid',
      limitType: 'BLOCK',
      limits: { standardCalls: 0, premiumCalls: 0 },
      payg: { enabled: true },
    });
    const sdk = new Anthropic({ apiKey: paid.key, baseURL: gateway.server.url, maxRetries: 0 });
    expect((await paid.api.send('provisionCustomer', { body: { customerId: 'default' } })).status).toBe(200);
    const params = { org: paid.organizationId, customerId: 'default' };
    const grant = await gateway.server.operator.send('grantCredit', {
      params,
      body: { kind: 'USD', amountUsd: '0.03' },
    });
    expect(grant.status).toBe(200);
    const long = { ...ask, max_tokens: 30_000, messages: [{ role: 'user' as const, content: 'say [reply:20000]' }] };
    const stopped = await sdk.messages.stream({ ...long, thinking: { type: 'disabled' } }).finalMessage();
    expect(stopped.stop_reason).toBe('max_tokens');
    const { wallet } = await paid.settled('default');
    expect(Number(wallet.availableUsd)).toBeGreaterThanOrEqual(0);
    expect(Number(wallet.availableUsd)).toBeLessThan(0.03);
  });

  test('a plan that allows little thinking lowers effort and budget', async () => {
    const poor = await gateway.tenant({ name: 'Low', limitType: 'BLOCK', limits: {}, reasoningLevel: 'LOW' });
    const sdk = new Anthropic({ apiKey: poor.key, baseURL: gateway.server.url, maxRetries: 0 });
    const thinking = { type: 'enabled' as const, budget_tokens: 10_000 };
    await sdk.messages.create({ ...ask, max_tokens: 12_000, thinking });
    expect(last()?.body.thinking).toEqual({ type: 'enabled', budget_tokens: 4_096 });
    await sdk.messages.create({ ...ask, thinking: { type: 'adaptive' }, output_config: { effort: 'max' } });
    expect(last()?.body.output_config).toEqual({ effort: 'low' });
  });

  test("refusals are errors of the SDK's own classes", async () => {
    const stranger = new Anthropic({ apiKey: 'nobody', baseURL: gateway.server.url, maxRetries: 0 });
    const unknown = await stranger.messages.create(ask).catch((thrown: unknown) => thrown);
    expect(unknown).toBeInstanceOf(Anthropic.AuthenticationError);
    expect((unknown as { error: { error: { type: string } } }).error.error.type).toBe('authentication_error');
    await expect(anthropic.messages.create({ ...ask, model: 'claude-of-nowhere' })).rejects.toBeInstanceOf(
      Anthropic.NotFoundError,
    );
    await expect(anthropic.messages.create({ ...ask, model: 'openai/gpt-5.2' })).rejects.toThrow(
      'does not offer /v1/messages; use /v1/chat/completions',
    );
    const limited = await gateway.tenant({
      name: 'None',
      limitType: 'BLOCK',
      limits: { standardCalls: 0, premiumCalls: 0 },
    });
    const denied = new Anthropic({ apiKey: limited.key, baseURL: gateway.server.url, maxRetries: 0 });
    const error = await denied.messages.create(ask).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Anthropic.PermissionDeniedError);
    expect(AnthropicError.parse((error as { error: unknown }).error).error.code).toBe('ENTITLEMENT_DENIED');
  });

  test("the vendor's errors keep their status and kind", async () => {
    const error = await anthropic.messages
      .create({ ...ask, messages: [{ role: 'user', content: '[fail:429]' }] })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Anthropic.RateLimitError);
    expect((error as { error: { error: { type: string } } }).error.error.type).toBe('rate_limit_error');
  });
});

describe("Google's own SDK", () => {
  const ask = { model: GEMINI, contents: PLAIN };

  test('content, whole: the vendor gets its own key and body, and the call its cost', async () => {
    const before = (await newest(1)).length;
    const answer = await google.models.generateContent({ ...ask, config: { systemInstruction: 'Be brief.' } });
    expect(answer.text).toBe(REPLY);
    const request = last();
    expect(request?.path).toBe(`/v1beta/models/${GEMINI}:generateContent`);
    expect(request?.headers['x-goog-api-key']).toBe(`sk-google-${'k'.repeat(20)}`);
    expect(request?.body.model).toBeUndefined();
    const calls = await newest(before + 1);
    expect(calls[0]).toMatchObject({ status: 'COMPLETED', modelUsed: GEMINI });
    const call = await tenant.call(calls[0]?.callId ?? '');
    expect(call).toMatchObject({
      pricingStatus: 'FINAL',
      providerUsed: 'google',
      costUSD: await costOfChat(GEMINI, `Be brief. ${PLAIN}`),
    });
  });

  test('content, streamed as events by the SDK and as an array without it', async () => {
    let text = '';
    for await (const chunk of await google.models.generateContentStream(ask)) text += chunk.text ?? '';
    expect(text).toBe(REPLY);
    const array = await tenant.send(`/v1beta/models/${GEMINI}:streamGenerateContent`, {
      body: { contents: [{ parts: [{ text: PLAIN }] }] },
    });
    expect(array.headers.get('content-type')).toContain('application/json');
    const chunks = (await array.json()) as { candidates: { content: { parts: { text?: string }[] } }[] }[];
    const parts = chunks.flatMap(({ candidates }) => candidates.flatMap(({ content }) => content.parts));
    expect(parts.map(({ text: part = '' }) => part).join('')).toBe(REPLY);
    expect(await tenant.call(array.headers.get('x-service-call-id') ?? '')).toMatchObject({
      status: 'COMPLETED',
      pricingStatus: 'FINAL',
    });
  });

  test('tools, counts of tokens, and a lower level of thinking', async () => {
    const tools = [{ functionDeclarations: [{ name: 'weather', parameters: { type: 'OBJECT' as never } }] }];
    const called = await google.models.generateContent({ ...ask, contents: 'use it [tool]', config: { tools } });
    expect(called.functionCalls).toMatchObject([{ name: 'weather' }]);
    const { totalTokens } = await google.models.countTokens(ask);
    expect(totalTokens).toBeGreaterThan(0);
    const poor = await gateway.tenant({ name: 'Low', limitType: 'BLOCK', limits: {}, reasoningLevel: 'LOW' });
    const sdk = new GoogleGenAI({ apiKey: poor.key, httpOptions: { baseUrl: gateway.server.url } });
    await sdk.models.generateContent({ ...ask, config: { thinkingConfig: { thinkingLevel: ThinkingLevel.HIGH } } });
    expect(last()?.body.generationConfig).toMatchObject({ thinkingConfig: { thinkingLevel: 'LOW' } });
  });

  test('an embedding is metered', async () => {
    const { embeddings } = await google.models.embedContent({ model: 'gemini-embedding-2', contents: PLAIN });
    expect(embeddings?.[0]?.values?.length).toBeGreaterThan(0);
  });

  test("refusals have Google's form", async () => {
    const stranger = new GoogleGenAI({ apiKey: 'nobody', httpOptions: { baseUrl: gateway.server.url } });
    const refused = await stranger.models.generateContent(ask).catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(ApiError);
    expect((refused as ApiError).status).toBe(401);
    const other = await tenant.send('/v1beta/models/openai/gpt-5.2:generateContent', { body: { contents: [] } });
    expect(GoogleError.parse(await other.json()).error).toMatchObject({
      code: 400,
      status: 'INVALID_ARGUMENT',
      details: [{ reason: 'ENDPOINT_NOT_OFFERED' }],
    });
    const method = await fetch(`${gateway.server.url}/v1beta/models/${GEMINI}:generateContent`);
    expect([method.status, method.headers.get('allow')]).toEqual([405, 'POST']);
    expect(GoogleError.safeParse(await method.json()).success).toBe(true);
  });
});

describe("OpenAI's form for a model of Anthropic", () => {
  const ask = { model: CLAUDE, messages: [{ role: 'user' as const, content: PROMPT }] };

  test('is asked in the form of Anthropic, and answered in that of OpenAI at the same cost', async () => {
    const { data, response } = await tenant.openai.chat.completions
      .create({ ...ask, max_completion_tokens: 400, stop: ['END'], user: 'anna' })
      .withResponse();
    expect(data).toMatchObject({
      object: 'chat.completion',
      choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: REPLY } }],
    });
    const request = last();
    expect([request?.path, request?.headers['x-api-key']]).toEqual(['/v1/messages', `sk-anthropic-${'k'.repeat(20)}`]);
    expect(request?.body).toMatchObject({
      model: CLAUDE,
      max_tokens: 400,
      stop_sequences: ['END'],
      metadata: { user_id: 'anna' },
    });
    const native = await anthropic.messages.create({ ...ask, max_tokens: 400 }).withResponse();
    const readCost = async (of: Response) => (await tenant.call(of.headers.get('x-service-call-id') ?? '')).costUSD;
    expect(await readCost(response)).toBe(await readCost(native.response));
    expect(data.usage?.prompt_tokens).toBe(
      native.data.usage.input_tokens + (native.data.usage.cache_read_input_tokens ?? 0),
    );
  });

  test('is streamed with usage and cost, and a retry under its key gets the same stream', async () => {
    const request = { ...ask, stream: true as const, stream_options: { include_usage: true } };
    const texts: string[] = [];
    for (let turn = 0; turn < 2; turn += 1) {
      const stream = await tenant.openai.chat.completions
        .create(request, { headers: { 'Idempotency-Key': 'translated-stream' } })
        .withResponse();
      let text = '';
      let usage: unknown = null;
      for await (const chunk of stream.data) {
        text += chunk.choices[0]?.delta.content ?? '';
        usage = chunk.usage ?? usage;
      }
      texts.push(text);
      const { costUSD } = await tenant.call(stream.response.headers.get('x-service-call-id') ?? '');
      expect(usage).toMatchObject({ completion_tokens: 6, cost_usd: costUSD });
      expect(stream.response.headers.get(REPLAY_HEADER) !== null).toBe(turn === 1);
    }
    expect(texts).toEqual([REPLY, REPLY]);
  });

  test('has its tools called, whole and streamed', async () => {
    const parameters = { type: 'object', properties: {} };
    const tools = [{ type: 'function' as const, function: { name: 'weather', parameters } }];
    const request = { ...ask, messages: [{ role: 'user' as const, content: 'use it [tool]' }], tools };
    const plain = await tenant.openai.chat.completions.create(request);
    expect(plain.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ function: { name: 'weather', arguments: '{"city":"Paris"}' } }] },
    });
    const streamed = await tenant.openai.chat.completions.stream(request).finalChatCompletion();
    expect(streamed.choices[0]?.message.tool_calls).toMatchObject([
      { function: { name: 'weather', arguments: '{"city":"Paris"}' } },
    ]);
  });

  test('is refused for what Anthropic has no form for, before anything is begun', async () => {
    const requests = gateway.vendor.requests.length;
    for (const [param, value] of [
      ['n', 2],
      ['logprobs', true],
      ['logit_bias', { 1: 2 }],
    ] as const) {
      const error = await tenant.openai.chat.completions.create({ ...ask, [param]: value } as never).catch((e) => e);
      expect([error.status, error.param, error.message]).toEqual([400, param, expect.stringContaining(param)]);
    }
    expect(gateway.vendor.requests.length).toBe(requests);
  });

  test('is left to the other models of the request if one of them can take it', async () => {
    const request = { ...ask, n: 2, models: ['openai/gpt-4o-mini'] };
    const { data, response } = await tenant.openai.chat.completions.create(request).withResponse();
    expect(data.object).toBe('chat.completion');
    expect(response.headers.get('x-llm-model-key')).toBe('openai/gpt-4o-mini');
    expect(last()?.body).toMatchObject({ model: 'gpt-4o-mini', n: 2 });
  });

  test('does not think if the plan lets no model think, whatever is asked', async () => {
    const still = await gateway.tenant({ name: 'Still', limitType: 'BLOCK', limits: {}, reasoningLevel: 'NONE' });
    // The catalog knows no levels of effort for this model.
    const model = 'anthropic/claude-of-tomorrow';
    const request = { ...ask, model, reasoning_effort: 'high' as const, thinking: { type: 'adaptive' } };
    await still.openai.chat.completions.create(request);
    expect(last()?.body).toMatchObject({ model: 'claude-of-tomorrow', thinking: { type: 'disabled' } });
    expect(last()?.body.output_config).toBeUndefined();
  });

  test("keeps the vendor's errors", async () => {
    const messages = [{ role: 'user' as const, content: '[fail:429]' }];
    const error = await tenant.openai.chat.completions.create({ ...ask, messages }).catch((e) => e);
    expect([error.status, error.type]).toEqual([429, 'rate_limit_error']);
  });
});
