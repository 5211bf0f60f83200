/**
 * Promise: a browser with a session uses the official SDKs unmodified, and only fields that shape the answer reach the
 * vendor.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type GatewayTenant, type Setting, startGateway } from './gateway-tenant.ts';

let setting: Setting;
let tenant: GatewayTenant;
beforeAll(async () => {
  setting = await startGateway();
  tenant = await setting.tenant();
});
afterAll(() => setting.stop());

const messages = [{ role: 'user' as const, content: 'say hello [reply:6]' }];

const createToken = async (body: object = {}) =>
  (await tenant.api.send('createClientSession', { body: { customerId: 'eve', ...body } })).data.token;
const browser = async (body: object = {}) => tenant.sdk({ apiKey: await createToken(body) });
const readCallId = (response: Response) => response.headers.get('x-service-call-id') ?? '';

/** The refusal of a request, and that no vendor was asked. */
async function catchRefusal(request: () => Promise<unknown>) {
  const asked = setting.vendor.requests.length;
  const error = await request().then(
    () => null,
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(OpenAI.APIError);
  expect(setting.vendor.requests).toHaveLength(asked);
  return error as InstanceType<typeof OpenAI.APIError>;
}

describe('a session is served', () => {
  test("a conversation of OpenAI's SDK, with the answer and its tool call sent back", async () => {
    const openai = await browser();
    const tools = [
      { type: 'function' as const, function: { name: 'lookup', parameters: { type: 'object', properties: {} } } },
    ];
    const asked = [{ role: 'user' as const, content: 'call it [tool]' }];
    const { choices } = await openai.chat.completions.create({
      model: 'gpt-5.2',
      messages: asked,
      tools,
      tool_choice: 'auto',
    });
    const said = choices[0]?.message as OpenAI.ChatCompletionMessage;
    const call = said.tool_calls?.[0];
    expect(call?.type).toBe('function');
    const told = { role: 'tool' as const, tool_call_id: call?.id ?? '', content: 'found' };
    const { response } = await openai.chat.completions
      .create({ model: 'gpt-5.2', messages: [...asked, said, told], tools, stream_options: null, store: false })
      .withResponse();
    expect(await tenant.call(readCallId(response))).toMatchObject({ status: 'COMPLETED', customerId: 'eve' });
  });

  test("structured output, a stream, and a response of OpenAI's SDK", async () => {
    const openai = await browser();
    const format = zodResponseFormat(z.object({ name: z.string() }), 'person');
    await openai.chat.completions.create({ model: 'gpt-5.2', messages, response_format: format });
    expect(setting.vendor.requests.at(-1)?.body.response_format).toEqual(format);
    const final = await openai.chat.completions.stream({ model: 'gpt-5.2', messages }).finalChatCompletion();
    expect(final.choices[0]?.message.content).not.toBe('');
    const first = await openai.responses.create({ model: 'gpt-5.2', input: 'say hello [reply:6]', store: false });
    const next = await openai.responses.create({
      model: 'gpt-5.2',
      input: [
        { role: 'user', content: 'x' },
        ...(first.output as OpenAI.Responses.ResponseInputItem[]),
        { role: 'user', content: 'and again [reply:2]' },
      ],
      include: ['reasoning.encrypted_content'],
    });
    expect(next.output_text).not.toBe('');
  });

  test('texts, streams and tool calls of the AI SDK', async () => {
    const baseURL = `${setting.server.url}/v1`;
    const model = createOpenAICompatible({
      name: 'callmeter',
      baseURL,
      apiKey: await createToken(),
      includeUsage: true,
    })('openai/gpt-5.2');
    const { text, response } = await generateText({
      model,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi [reply:3]' }] }],
    });
    expect(text).not.toBe('');
    expect(await tenant.call(response.headers?.['x-service-call-id'] ?? '')).toMatchObject({ customerId: 'eve' });
    expect(await streamText({ model, prompt: 'hi [reply:3]' }).text).not.toBe('');
    const tools = { lookup: tool({ inputSchema: z.object({}).loose(), execute: async () => ({ found: true }) }) };
    const { toolResults } = await generateText({ model, prompt: 'call it [tool]', tools });
    expect(toolResults).toHaveLength(1);
  });
});

describe('a session is refused', () => {
  test("a file at the vendor's own address", async () => {
    const openai = await browser();
    const image_url = { url: `${setting.vendor.url}/v1/files/1/content` };
    const content = [{ type: 'image_url' as const, image_url }];
    const error = await catchRefusal(() =>
      openai.chat.completions.create({ model: 'gpt-5.2', messages: [{ role: 'user', content }] }).asResponse(),
    );
    expect([error.code, error.param]).toEqual(['FIELD_NOT_ALLOWED', 'messages.0.content.0.image_url.url']);
    const other = [{ type: 'image_url' as const, image_url: { url: 'https://images.example.com/a.png' } }];
    await openai.chat.completions.create({ model: 'gpt-5.2', messages: [{ role: 'user', content: other }] });
    expect(setting.vendor.requests.at(-1)?.body.messages[0].content).toEqual(other);
  });
});
