/**
 * Promise: the AI SDK's OpenAI-compatible provider works with the gateway, unmodified, and is metered.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, embed, generateText, Output, streamText, type ToolSet } from 'ai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { countWords } from '../vendors/vendor.ts';
import { type GatewayTenant, type Setting, startGateway } from './gateway-tenant.ts';

const PROMPT = 'say hello [reply:6]';
const REPLY = 'héllo 世界 👋🏽 wörld héllo 世界';

let setting: Setting;
let tenant: GatewayTenant;
let provider: ReturnType<typeof createOpenAICompatible>;
beforeAll(async () => {
  setting = await startGateway();
  tenant = await setting.tenant();
  provider = createOpenAICompatible({
    name: 'callmeter',
    baseURL: `${setting.server.url}/v1`,
    apiKey: tenant.key,
    includeUsage: true,
  });
});
afterAll(() => setting.stop());

test('text with the usage that the vendor reported', async () => {
  const { text, usage, response } = await generateText({ model: provider('openai/gpt-5.2'), prompt: PROMPT });
  expect(text).toBe(REPLY);
  expect(usage).toMatchObject({ inputTokens: countWords(PROMPT), outputTokens: 6 });
  const call = await tenant.call(response.headers?.['x-service-call-id'] ?? '');
  expect(call).toMatchObject({ status: 'COMPLETED', modelUsed: 'gpt-5.2', customerId: 'default' });
});

test('a stream, with its usage at the end', async () => {
  const result = streamText({ model: provider('openai/gpt-5.2'), prompt: PROMPT });
  let text = '';
  for await (const part of result.textStream) text += part;
  expect(text).toBe(REPLY);
  expect(await result.usage).toMatchObject({ inputTokens: countWords(PROMPT), outputTokens: 6 });
});

test('a tool call', async () => {
  const tools: ToolSet = { lookup: { inputSchema: z.looseObject({}), description: 'Looks something up' } };
  const { toolCalls, finishReason } = await generateText({
    model: provider('openai/gpt-5.2'),
    prompt: 'call it [tool]',
    tools,
  });
  expect(finishReason).toBe('tool-calls');
  expect(toolCalls).toHaveLength(1);
});

test('an embedding', async () => {
  const { embedding } = await embed({
    model: provider.embeddingModel('openai/text-embedding-3-small'),
    value: 'some words',
  });
  expect(embedding.length).toBeGreaterThan(0);
});

test('structured output asks the vendor for a format, as the SDK does', async () => {
  const output = Output.object({ schema: z.object({ name: z.string() }) });
  // The vendor of this test answers words, which are not an object: only the request that reached it counts.
  await generateText({ model: provider('openai/gpt-5.2'), prompt: PROMPT, output })
    .then(({ output: made }) => made)
    .catch(() => undefined);
  expect(setting.vendor.requests.at(-1)?.body).toHaveProperty('response_format');
});

test('a denial is an error that the SDK does not retry', async () => {
  const denied = await setting.tenant({
    name: 'None',
    limitType: 'BLOCK',
    limits: { standardCalls: 0, premiumCalls: 0 },
  });
  const model = createOpenAICompatible({ name: 'callmeter', baseURL: `${setting.server.url}/v1`, apiKey: denied.key })(
    'openai/gpt-5.2',
  );
  const before = setting.vendor.requests.length;
  const error = await generateText({ model, prompt: PROMPT }).catch((thrown) => thrown);
  expect(APICallError.isInstance(error), String(error)).toBe(true);
  expect(error).toMatchObject({ statusCode: 403, isRetryable: false });
  expect(setting.vendor.requests).toHaveLength(before);
});
