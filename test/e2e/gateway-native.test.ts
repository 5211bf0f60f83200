/**
 * Promise: Anthropic's and Google's own APIs work through the gateway with their official SDKs, unmodified: whole and
 * streamed answers, tools, counts of tokens and errors, and each call is metered exactly.
 */
import Anthropic from '@anthropic-ai/sdk';
import { ApiError, GoogleGenAI, ThinkingLevel } from '@google/genai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AnthropicError, GoogleError } from '../../src/contract/gateway.ts';
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
/** What the same words cost in OpenAI's form. */
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
    expect(request?.headers['anthropic-version']).toBe('2023-06-01');
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
    const { input_tokens: counted } = await anthropic.messages.countTokens(request);
    expect(counted).toBeGreaterThan(0);
    expect(last()?.path).toBe('/v1/messages/count_tokens');
    expect((await newest(1)).length).toBe(before);
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
    await expect(stranger.messages.create(ask)).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
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
