/**
 * The vendor of `npm run vendor` follows a prompt and a request: tools, JSON of a schema, bounds of the output, and the
 * errors in its help.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { FunctionCallingConfigMode, GoogleGenAI } from '@google/genai';
import { generateText, Output, stepCountIs, tool } from 'ai';
import OpenAI, { InternalServerError, RateLimitError } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { makeSample } from '../../src/cli/vendor/schema-sample.ts';
import { startTrialVendor, type TrialVendor } from '../../src/cli/vendor/server.ts';
import { tokensAtMost } from '../../src/vendors/token-count.ts';

let vendor: TrialVendor;
let openai: OpenAI;
let anthropic: Anthropic;
let google: GoogleGenAI;
beforeAll(async () => {
  vendor = await startTrialVendor({ port: 0, slowMs: 20 });
  openai = new OpenAI({ apiKey: 'any', baseURL: `${vendor.url}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'any', baseURL: vendor.url, maxRetries: 0 });
  google = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: vendor.url } });
});
afterAll(() => vendor.stop());

const ASKS = 'What is the weather in Paris?';
const City = z.object({ city: z.string(), days: z.int().min(2) });
const schema = z.toJSONSchema(City);
const { $schema: _, ...parameters } = schema;

const chat = (content: string, more: object = {}) =>
  openai.chat.completions.create({ model: 'gpt-6-luna', messages: [{ role: 'user', content }], ...more });
const message = (content: string, more: object = {}) =>
  anthropic.messages.create({
    model: 'claude-haiku-5-5',
    max_tokens: 200,
    messages: [{ role: 'user', content }],
    ...more,
  });
const generate = (contents: string, config: object = {}) =>
  google.models.generateContent({ model: 'gemini-3.8-flash', contents, config });

describe('a tool is called if the prompt has a word of its name', () => {
  const definition = { type: 'function' as const, function: { name: 'get_weather', parameters } };

  test('by chat completions, plain and streamed', async () => {
    const answer = await chat(ASKS, { tools: [definition] });
    const [call] = answer.choices[0]?.message.tool_calls ?? [];
    expect([answer.choices[0]?.finish_reason, call]).toMatchObject([
      'tool_calls',
      { function: { name: 'get_weather' } },
    ]);
    const args = call?.type === 'function' ? call.function.arguments : '';
    expect(City.parse(JSON.parse(args))).toEqual({ city: 'made up', days: 2 });
    expect(answer.usage?.completion_tokens).toBe(tokensAtMost(args, 'wide'));

    const messages = [{ role: 'user' as const, content: ASKS }];
    const stream = openai.chat.completions.stream({ model: 'gpt-6-luna', messages, tools: [definition] });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.message.tool_calls).toMatchObject([
      { function: { name: 'get_weather', arguments: args } },
    ]);
  });

  test('by responses, plain and streamed', async () => {
    const tools = [{ ...definition.function, type: 'function' as const, strict: true }];
    const request = { model: 'gpt-6-luna', input: ASKS, tools };
    const { output } = await openai.responses.create(request);
    const called = { type: 'function_call', name: 'get_weather', arguments: '{"city":"made up","days":2}' };
    expect(output).toMatchObject([called]);
    expect((await openai.responses.stream(request).finalResponse()).output).toMatchObject([called]);
  });

  test('by responses, in a group that an item of the input brings', async () => {
    const tools = [
      { type: 'function' as const, name: 'get_time', parameters, strict: true },
      {
        type: 'namespace' as const,
        name: 'outdoors',
        description: 'Outdoors',
        tools: [{ type: 'function' as const, name: 'get_weather', parameters }],
      },
    ];
    const input = (content: string) => [
      { type: 'additional_tools' as const, role: 'developer' as const, tools },
      { role: 'user' as const, content },
    ];
    const called = async (content: string) =>
      (await openai.responses.create({ model: 'gpt-6-luna', input: input(content) })).output;
    expect(await called(ASKS)).toMatchObject([
      { type: 'function_call', name: 'get_weather', namespace: 'outdoors', arguments: '{"city":"made up","days":2}' },
    ]);
    const [alone] = await called('What time is it?');
    expect(alone).toMatchObject({ type: 'function_call', name: 'get_time' });
    expect(alone).not.toHaveProperty('namespace');
    expect(await called('hello')).toMatchObject([{ type: 'message' }]);
  });

  test('by messages, plain and streamed', async () => {
    const tools = [{ name: 'get_weather', input_schema: parameters as Anthropic.Tool.InputSchema }];
    const called = { type: 'tool_use', name: 'get_weather', input: { city: 'made up', days: 2 } };
    const { content, stop_reason } = await message(ASKS, { tools });
    expect({ content, stop_reason }).toMatchObject({ content: [called], stop_reason: 'tool_use' });
    const messages = [{ role: 'user' as const, content: ASKS }];
    const stream = anthropic.messages.stream({ model: 'claude-haiku-5-5', max_tokens: 200, messages, tools });
    expect((await stream.finalMessage()).content).toMatchObject([called]);
  });

  test("by Google's content, and a result is then answered in words", async () => {
    const functionDeclarations = [{ name: 'get_weather', parametersJsonSchema: parameters }];
    const called = await generate(ASKS, { tools: [{ functionDeclarations }] });
    expect(called.functionCalls).toMatchObject([{ name: 'get_weather', args: { city: 'made up', days: 2 } }]);
    const contents = [
      { role: 'user', parts: [{ text: ASKS }] },
      { role: 'model', parts: called.candidates?.[0]?.content?.parts ?? [] },
      { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response: { output: 'sunny' } } }] },
    ];
    const config = { tools: [{ functionDeclarations }] };
    const { text } = await google.models.generateContent({ model: 'gemini-3.8-flash', contents, config });
    expect(text).toMatch(/The tool said: "sunny"$/);
  });

  test('a loop of the AI SDK runs the tool once and ends', async () => {
    const provider = createOpenAICompatible({ name: 'trial', baseURL: `${vendor.url}/v1`, apiKey: 'any' });
    let runs = 0;
    const execute = async () => {
      runs += 1;
      return 'sunny';
    };
    const { text, steps } = await generateText({
      model: provider('gpt-6-luna'),
      prompt: ASKS,
      tools: { getWeather: tool({ inputSchema: City, execute }) },
      stopWhen: stepCountIs(5),
    });
    expect([runs, steps.length, text]).toEqual([1, 2, expect.stringContaining('sunny')]);
  });

  test('and not if it has none, or must not be; the word `tool` and the request itself demand it', async () => {
    const tools = [definition];
    const isCalled = async (content: string, more: object = {}) =>
      (await chat(content, { tools, ...more })).choices[0]?.finish_reason === 'tool_calls';
    expect(await isCalled('hello')).toBe(false);
    expect(await isCalled(ASKS, { tool_choice: 'none' })).toBe(false);
    expect(await isCalled('tool')).toBe(true);
    expect(await isCalled('hello', { tool_choice: 'required' })).toBe(true);
    expect(await isCalled('hello', { tool_choice: { type: 'function', function: { name: 'get_weather' } } })).toBe(
      true,
    );

    const input_schema = parameters;
    const any = await message('hello', { tools: [{ name: 'f', input_schema }], tool_choice: { type: 'any' } });
    expect(any.stop_reason).toBe('tool_use');
    const functionCallingConfig = { mode: FunctionCallingConfigMode.ANY };
    const functionDeclarations = [{ name: 'f', parametersJsonSchema: parameters }];
    const config = { tools: [{ functionDeclarations }], toolConfig: { functionCallingConfig } };
    expect((await generate('hello', config)).functionCalls).toHaveLength(1);
  });
});

describe('if the request has a schema, the answer is a value of it', () => {
  test('in every dialect', async () => {
    const json_schema = { name: 'city', schema, strict: true };
    const completion = await chat('hello', { response_format: { type: 'json_schema', json_schema } });
    const format = { type: 'json_schema', name: 'city', schema: parameters } as const;
    const response = await openai.responses.create({ model: 'gpt-6-luna', input: 'hello', text: { format } });
    const { content } = await message('hello', { output_config: { format: { type: 'json_schema', schema } } });
    const config = { responseMimeType: 'application/json', responseJsonSchema: parameters };
    const { text } = await generate('hello', config);
    const [block] = content;
    const answers = [completion.choices[0]?.message.content, response.output_text, text];
    for (const answer of [...answers, block?.type === 'text' ? block.text : ''])
      expect(City.parse(JSON.parse(answer ?? ''))).toEqual({ city: 'made up', days: 2 });
  });

  test('by the AI SDK', async () => {
    const provider = createOpenAICompatible({
      ...{ name: 'trial', baseURL: `${vendor.url}/v1`, apiKey: 'any', supportsStructuredOutputs: true },
    });
    const { output } = await generateText({
      model: provider('gpt-6-luna'),
      prompt: 'hello',
      output: Output.object({ schema: City }),
    });
    expect(output.days).toBe(2);
  });

  test('without a schema it is some JSON', async () => {
    const { choices } = await chat('hello', { response_format: { type: 'json_object' } });
    expect(JSON.parse(choices[0]?.message.content ?? '')).toBeTypeOf('object');
  });

  test.each([
    z.object({ at: z.iso.datetime(), mail: z.email(), id: z.uuid(), link: z.url(), day: z.iso.date() }),
    z.object({ list: z.array(z.object({ n: z.number().min(3).max(4) })).min(2), maybe: z.string().nullable() }),
    z.object({ choice: z.enum(['x', 'y']), fixed: z.literal(7), either: z.union([z.boolean(), z.string()]) }),
    z.object({ short: z.string().max(3), long: z.string().min(20), even: z.int().multipleOf(2).gt(10) }),
    z.intersection(z.object({ a: z.string() }), z.object({ b: z.boolean() })),
  ])('a sample keeps to its schema: %#', (type) => {
    expect(type.safeParse(makeSample(z.toJSONSchema(type))).error).toBeUndefined();
  });

  test('a schema that contains itself has a sample that ends', () => {
    const Node = z.object({
      name: z.string(),
      get children() {
        return z.array(Node);
      },
      get next() {
        return z.union([Node, z.null()]);
      },
      get other() {
        return Node.optional();
      },
    });
    const made = makeSample(z.toJSONSchema(z.object({ node: Node })));
    expect(made).toEqual({ node: { name: 'made up', children: [], next: null } });
    expect(Node.parse(makeSample(z.toJSONSchema(Node)))).toEqual({ name: 'made up', children: [], next: null });
    const deep = Array.from({ length: 9 }).reduce<object>((items) => ({ type: 'array', minItems: 100, items }), {});
    expect(JSON.stringify(makeSample(deep)).length).toBeLessThan(200_000);
  });

  test("Google's own spelling of types is understood", () => {
    expect(makeSample({ type: 'OBJECT', properties: { n: { type: 'INTEGER' } } })).toEqual({ n: 1 });
  });
});

test.each([1, 2, 9])('no answer goes beyond a bound of %d tokens, and it says that it was cut off', async (bound) => {
  const { choices, usage } = await chat('long', { max_completion_tokens: bound });
  expect([choices[0]?.finish_reason, usage?.completion_tokens]).toEqual(['length', bound]);
  const response = await openai.responses.create({ model: 'gpt-6-luna', input: 'long', max_output_tokens: bound });
  expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
  const events = [];
  const stream = { model: 'gpt-6-luna', input: 'long', max_output_tokens: bound, stream: true as const };
  for await (const event of await openai.responses.create(stream)) events.push(event.type);
  expect(events.at(-1)).toBe('response.incomplete');
  const said = await message('long', { max_tokens: bound });
  expect(said.stop_reason).toBe('max_tokens');
  expect(said.usage.output_tokens).toBeLessThanOrEqual(bound);
  const { candidates, usageMetadata } = await generate('long', { maxOutputTokens: bound });
  expect([candidates?.[0]?.finishReason, usageMetadata?.candidatesTokenCount]).toEqual(['MAX_TOKENS', bound]);
});

test('a call of a tool that is beyond the bound is not made: the answer is in words, cut off', async () => {
  const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters } }];
  const { choices } = await chat(ASKS, { tools, max_completion_tokens: 3 });
  expect(choices).toMatchObject([{ finish_reason: 'length', message: { content: expect.stringMatching(/^This/) } }]);
});

describe('the words of the first line', () => {
  test('`error` with a status is refused in the words of each vendor', async () => {
    const refusal = await chat('error 429').catch((error) => error);
    expect(refusal).toBeInstanceOf(RateLimitError);
    expect([refusal.code, refusal.headers.get('retry-after')]).toEqual(['rate_limit_exceeded', '1']);
    await expect(chat('Error 500\nand more')).rejects.toThrow(InternalServerError);
    await expect(message('error 529')).rejects.toMatchObject({ error: { error: { type: 'overloaded_error' } } });
    const embedded = openai.embeddings.create({ model: 'text-embedding-3-small', input: 'error 500' });
    await expect(embedded).rejects.toThrow(InternalServerError);
    await expect(generate('error 503')).rejects.toMatchObject({
      status: 503,
      message: expect.stringMatching('UNAVAIL'),
    });
  });

  test('`cut` breaks the connection, of a plain answer and of a stream that had begun', async () => {
    await expect(chat('cut')).rejects.toThrow('terminated');
    let text = '';
    const read = async () => {
      const messages = [{ role: 'user' as const, content: 'cut' }];
      for await (const { choices } of await openai.chat.completions.create({ model: 'm', messages, stream: true }))
        text += choices[0]?.delta.content ?? '';
    };
    await expect(read()).rejects.toThrow();
    expect(text).toMatch(/^This answer is made up/);
    expect(text).not.toContain('cut');
  });

  test('`slow` and `long` go together', async () => {
    expect((await chat('slow, long')).choices[0]?.message.content).toMatch(/ 999 1000$/);
  });

  test('are words like others elsewhere', async () => {
    for (const prompt of ['cut the text, error 500', 'hello\nerror 500', 'error 4290', 'a long story'])
      expect((await chat(prompt)).choices[0]?.message.content).toContain('This answer is made up');
  });
});
