/**
 * Promise: LangChain, LlamaIndex, Instructor and OpenAI's Agents work through the gateway, unmodified, with base URL and
 * key alone: answers whole and streamed, a tool with its result, structured output, embeddings. Each request that the
 * vendor answered is one call, with the vendor's tokens at the catalog's price.
 */
import Instructor from '@instructor-ai/instructor';
import { ChatAnthropic } from '@langchain/anthropic';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { HumanMessage } from '@langchain/core/messages';
import { tool as langChainTool } from '@langchain/core/tools';
import { ChatGoogleGenerativeAI, GoogleGenerativeAIEmbeddings } from '@langchain/google-genai';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import type { ChatMessage } from '@llamaindex/core/llms';
import { tool as llamaTool } from '@llamaindex/core/tools';
import { OpenAIEmbedding, OpenAI as OpenAILlama } from '@llamaindex/openai';
import { Agent, tool as agentTool, OpenAIProvider, Runner } from '@openai/agents';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { pricingAt } from '../../src/catalog/prices.ts';
import { type Entry, startTrialVendor, type TrialVendor } from '../../src/cli/vendor/server.ts';
import { type GatewayTenant, NO_LIMITS, type Setting, startGateway } from './gateway-tenant.ts';

const GPT = 'gpt-6-luna';
const CLAUDE = 'claude-sonnet-5-5';
const GEMINI = 'gemini-3.8-flash';
/** The vendor calls a tool whose name contains a word of the prompt, and answers its result in words. */
const PROMPT = 'What is the capital of France?';
const TOOL_PROMPT = 'What is the weather?';
const SAID = `You said: "${PROMPT}"`;
const RESULT = 'It rains in made up';
/** A JSON schema gets a value of it. */
const City = z.object({ city: z.string() });
const SAMPLE = { city: 'made up' };
const weather = { name: 'get_weather', description: 'The weather of a city' };
const rainIn = ({ city }: { city: string }) => `It rains in ${city}`;

let setting: Setting;
let vendor: TrialVendor;
let tenant: GatewayTenant;
/** Requests that a model answered. */
const answered: Entry[] = [];
/** The calls of the tenant so far. */
let seen = 0;

beforeAll(async () => {
  [setting, vendor] = await Promise.all([
    startGateway(),
    startTrialVendor({ port: 0, onAnswer: (entry) => entry.model !== undefined && answered.push(entry) }),
  ]);
});
afterAll(async () => {
  await setting?.stop();
  await vendor?.stop();
});

/**
 * A tenant whose vendor answers tools, results and schemas; it has few enough calls that its customer's list shows all.
 */
async function newTenant(): Promise<void> {
  tenant = await setting.tenant(NO_LIMITS, []);
  for (const [provider, path] of [
    ['openai', '/v1'],
    ['anthropic', '/v1'],
    ['google', '/v1beta/openai'],
  ] as const) {
    const params = { org: tenant.organizationId, provider };
    const body = { apiKey: 'any-key-of-a-vendor-for-tests', baseUrl: `${vendor.url}${path}` };
    expect((await setting.server.operator.send('setVendor', { params, body })).status).toBe(200);
  }
  seen = 0;
}
beforeEach(() => void answered.splice(0));

/** Throws unless the vendor answered so many requests, and each is a call of this model with its exact cost. */
async function expectMetered(model: string, requests: number): Promise<void> {
  expect(answered.map((entry) => entry.model)).toEqual(Array.from({ length: requests }, () => model));
  seen += requests;
  const { recentCalls } = await tenant.settled('default', seen);
  expect(recentCalls).toHaveLength(seen);
  const ids = recentCalls.slice(0, requests).map(({ callId }) => callId);
  const calls = await Promise.all(ids.map((callId) => tenant.call(callId)));
  for (const call of calls)
    expect(call).toMatchObject({
      status: 'COMPLETED',
      pricingStatus: 'FINAL',
      modelUsed: model,
      usageSource: 'reported',
    });
  const costs = calls.map(({ costUsdNano }) => String(costUsdNano));
  expect(costs.sort()).toEqual(answered.map((entry) => costUsdNano(model, entry)).sort());
}

/** Published prices are in USD for a million tokens, so a thousandth of them is nano-USD for one. */
function costUsdNano(name: string, { inputTokens = 0, outputTokens = 0 }: Entry): string {
  const pricing = BUILT_IN_CATALOG.models.find(({ model }) => model === name)?.pricing;
  if (!pricing) throw new Error(`${name} has no price`);
  const { inputUsdPerMillion = Number.NaN, outputUsdPerMillion = Number.NaN } = pricingAt(pricing, Date.now());
  return String(Math.round(inputTokens * inputUsdPerMillion * 1_000 + outputTokens * outputUsdPerMillion * 1_000));
}

const openAiUrl = () => `${setting.server.url}/v1`;

describe('LangChain', () => {
  beforeAll(newTenant);

  const chats: [string, string, () => BaseChatModel][] = [
    ['OpenAI, chat', GPT, () => chatOpenAI(false)],
    ['OpenAI, responses', GPT, () => chatOpenAI(true)],
    [
      'Anthropic',
      CLAUDE,
      () => new ChatAnthropic({ model: CLAUDE, apiKey: tenant.key, anthropicApiUrl: setting.server.url }),
    ],
    [
      'Google',
      GEMINI,
      () => new ChatGoogleGenerativeAI({ model: GEMINI, apiKey: tenant.key, baseUrl: setting.server.url }),
    ],
  ];
  const chatOpenAI = (useResponsesApi: boolean) =>
    new ChatOpenAI({ model: GPT, apiKey: tenant.key, useResponsesApi, configuration: { baseURL: openAiUrl() } });

  test.each(chats)('%s: an answer, whole and streamed', async (_name, model, newChat) => {
    const chat = newChat();
    const { text, usage_metadata } = await chat.invoke(PROMPT);
    expect(text).toContain(SAID);
    const [{ inputTokens, outputTokens } = {}] = answered;
    expect(usage_metadata).toMatchObject({ input_tokens: inputTokens, output_tokens: outputTokens });
    let streamed = '';
    for await (const chunk of await chat.stream(PROMPT)) streamed += chunk.text;
    expect(streamed).toBe(text);
    expect(answered.map(({ stream }) => stream)).toEqual([false, true]);
    await expectMetered(model, 2);
  });

  test.each(chats)('%s: a tool with its result, and structured output', async (_name, model, newChat) => {
    const chat = newChat();
    const getWeather = langChainTool(rainIn, { ...weather, schema: City });
    const bound = chat.bindTools?.([getWeather]);
    const question = new HumanMessage(TOOL_PROMPT);
    const asked = await bound?.invoke([question]);
    const [call] = asked?.tool_calls ?? [];
    if (!bound || !asked || !call) throw new Error('no tool was called');
    expect(call).toMatchObject({ name: weather.name, args: SAMPLE });
    const result = await getWeather.invoke({ ...call, type: 'tool_call' });
    expect((await bound.invoke([question, asked, result])).text).toContain(RESULT);
    expect(await chat.withStructuredOutput(City).invoke(PROMPT)).toEqual(SAMPLE);
    await expectMetered(model, 3);
  });
});

describe("LangChain's embeddings", () => {
  beforeAll(newTenant);

  test('of OpenAI and Google', async () => {
    const openai = new OpenAIEmbeddings({
      model: 'text-embedding-3-small',
      apiKey: tenant.key,
      configuration: { baseURL: openAiUrl() },
    });
    expect(await openai.embedQuery('a river')).toHaveLength(1_536);
    await expectMetered('text-embedding-3-small', 1);
    answered.splice(0);
    const { key: apiKey } = tenant;
    const google = new GoogleGenerativeAIEmbeddings({
      model: 'gemini-embedding-2',
      apiKey,
      baseUrl: setting.server.url,
    });
    expect(await google.embedDocuments(['a river', 'a lake'])).toHaveLength(2);
    await expectMetered('gemini-embedding-2', 1);
  });
});

describe('LlamaIndex', () => {
  beforeAll(newTenant);
  const newLlm = () => new OpenAILlama({ model: GPT, apiKey: tenant.key, baseURL: openAiUrl() });

  test('an answer, whole and streamed', async () => {
    const llm = newLlm();
    const messages: ChatMessage[] = [{ role: 'user', content: PROMPT }];
    const { message } = await llm.chat({ messages });
    expect(message.content).toContain(SAID);
    let streamed = '';
    for await (const { delta } of await llm.chat({ messages, stream: true })) streamed += delta;
    expect(streamed).toBe(message.content);
    expect(answered.map(({ stream }) => stream)).toEqual([false, true]);
    await expectMetered(GPT, 2);
  });

  test('a tool with its result, structured output and an embedding', async () => {
    const llm = newLlm();
    const tools = [llamaTool({ ...weather, parameters: City, execute: rainIn })];
    const messages: ChatMessage[] = [{ role: 'user', content: TOOL_PROMPT }];
    const called = await llm.exec({ messages, tools });
    expect(called.toolCalls).toMatchObject([{ name: weather.name, input: SAMPLE }]);
    const { newMessages } = await llm.exec({ messages: [...messages, ...called.newMessages], tools });
    expect(newMessages[0]?.content).toContain(RESULT);
    const { message } = await llm.chat({ messages, responseFormat: City });
    expect(message.content).toBe(JSON.stringify(SAMPLE));
    await expectMetered(GPT, 3);
    answered.splice(0);
    const model = 'text-embedding-3-small';
    const embedding = new OpenAIEmbedding({ model, apiKey: tenant.key, baseURL: openAiUrl() });
    expect(await embedding.getTextEmbedding('a river')).toHaveLength(1_536);
    await expectMetered(model, 1);
  });
});

describe('Instructor', () => {
  beforeAll(newTenant);

  test('structured output, whole and streamed', async () => {
    const client = Instructor({ client: tenant.openai, mode: 'TOOLS' });
    // It reads schemas of the third version.
    const request = {
      model: GPT,
      messages: [{ role: 'user' as const, content: PROMPT }],
      response_model: { schema: z3.object({ city: z3.string() }), name: 'City' },
    };
    expect(await client.chat.completions.create(request)).toMatchObject(SAMPLE);
    let last: unknown;
    for await (const part of await client.chat.completions.create({ ...request, stream: true })) last = part;
    expect(last).toMatchObject(SAMPLE);
    expect(answered.map(({ stream }) => stream)).toEqual([false, true]);
    await expectMetered(GPT, 2);
  });
});

describe("OpenAI's Agents", () => {
  beforeAll(newTenant);
  const newRunner = (useResponses: boolean) =>
    new Runner({
      modelProvider: new OpenAIProvider({ apiKey: tenant.key, baseURL: openAiUrl(), useResponses }),
      tracingDisabled: true,
    });

  test.each([
    ['responses', true],
    ['chat completions', false],
  ])('by %s: a tool with its result, a stream, and structured output', async (_name, useResponses) => {
    const runner = newRunner(useResponses);
    const tools = [agentTool({ ...weather, parameters: City, execute: rainIn })];
    const agent = new Agent({ name: 'Forecaster', instructions: 'Be brief.', model: GPT, tools });
    const { finalOutput, state } = await runner.run(agent, TOOL_PROMPT);
    expect(finalOutput).toContain(RESULT);
    const sum = (of: (entry: Entry) => number | undefined) =>
      answered.reduce((all, entry) => all + (of(entry) ?? 0), 0);
    expect(state.usage).toMatchObject({
      requests: 2,
      inputTokens: sum(({ inputTokens }) => inputTokens),
      outputTokens: sum(({ outputTokens }) => outputTokens),
    });
    const stream = await runner.run(agent, PROMPT, { stream: true });
    let streamed = '';
    for await (const part of stream.toTextStream()) streamed += part;
    await stream.completed;
    expect(streamed).toContain(SAID);
    const finder = new Agent({ name: 'Finder', model: GPT, outputType: City });
    expect((await runner.run(finder, PROMPT)).finalOutput).toEqual(SAMPLE);
    await expectMetered(GPT, 4);
  });
});
