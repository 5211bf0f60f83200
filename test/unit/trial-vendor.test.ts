/**
 * The vendor of `npm run vendor` is taken for OpenAI, Anthropic and Google by their official SDKs, and its usage is that
 * of the text that was sent and answered.
 */
import { networkInterfaces } from 'node:os';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI, { AuthenticationError, NotFoundError, toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Entry, startTrialVendor, type TrialVendor } from '../../src/cli/vendor/server.ts';
import { tokensAtMost } from '../../src/vendors/token-count.ts';
import { readUsage, StreamUsage, type VendorUsage } from '../../src/vendors/usage.ts';

let vendor: TrialVendor;
let openai: OpenAI;
let anthropic: Anthropic;
let google: GoogleGenAI;
const entries: Entry[] = [];
beforeAll(async () => {
  vendor = await startTrialVendor({ port: 0, onAnswer: (entry) => entries.push(entry) });
  openai = new OpenAI({ apiKey: 'any', baseURL: `${vendor.url}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'any', baseURL: vendor.url, maxRetries: 0 });
  google = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: vendor.url } });
});
afterAll(() => vendor.stop());

const PROMPT = 'What is the capital of France?';
const ANSWER = `This answer is made up: no model was asked. You said: "${PROMPT}"`;
const user = [{ role: 'user' as const, content: PROMPT }];
const USED = { inputTokens: tokensAtMost(PROMPT, 'wide'), responseTokens: tokensAtMost(ANSWER, 'wide') };
const USED_BY_CLAUDE = { inputTokens: tokensAtMost(PROMPT, 'claude'), responseTokens: tokensAtMost(ANSWER, 'claude') };
const OPENAI_MODEL = 'gpt-6-luna';
const CLAUDE = 'claude-haiku-5-5';
const GEMINI = 'gemini-3.8-flash';

function post(path: string, body: object): Promise<Response> {
  const headers = { authorization: 'Bearer any' };
  return fetch(vendor.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** The usage that the service itself reads from a stream on the wire. */
async function streamUsage(path: string, body: object): Promise<VendorUsage | null> {
  const response = await post(path, body);
  const usage = new StreamUsage();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) usage.push(chunk);
  usage.end();
  expect(usage.completed).toBe(true);
  return usage.usage();
}

describe('OpenAI', () => {
  test.each(['/v1', '/v1beta/openai'])('a chat completion under %s, plain and streamed', async (path) => {
    const client = openai.withOptions({ baseURL: vendor.url + path });
    const request = { model: OPENAI_MODEL, messages: user };
    const plain = await client.chat.completions.create(request);
    expect(plain.choices).toMatchObject([{ message: { role: 'assistant', content: ANSWER }, finish_reason: 'stop' }]);
    expect(readUsage(plain)).toMatchObject(USED);

    const stream = { ...request, stream: true as const, stream_options: { include_usage: true } };
    const chunks = await Array.fromAsync(await client.chat.completions.create(stream));
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(ANSWER);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: plain.usage });
    expect(await streamUsage(`${path}/chat/completions`, stream)).toMatchObject(USED);
  });

  test('a stream has no usage if none was asked for', async () => {
    const stream = await openai.chat.completions.create({ model: OPENAI_MODEL, messages: user, stream: true });
    expect((await Array.fromAsync(stream)).filter((chunk) => 'usage' in chunk)).toEqual([]);
  });

  test('a response, plain and streamed', async () => {
    const request = { model: OPENAI_MODEL, input: PROMPT };
    const plain = await openai.responses.create(request);
    expect([plain.output_text, plain.status]).toEqual([ANSWER, 'completed']);
    expect(readUsage(plain)).toMatchObject(USED);

    const streamed = openai.responses.stream(request);
    const events = await Array.fromAsync(streamed);
    expect(events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')).toBe(
      ANSWER,
    );
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    const { output_text, usage } = await streamed.finalResponse();
    expect({ output_text, usage }).toEqual({ output_text: ANSWER, usage: plain.usage });
    expect(await streamUsage('/v1/responses', { ...request, stream: true })).toMatchObject(USED);
  });

  test('embeddings: the same vector for the same text, of length one, also as base64 and shortened', async () => {
    const request = { model: 'text-embedding-3-small', input: [PROMPT, 'a river', PROMPT] };
    const { data, usage } = await openai.embeddings.create(request);
    const [first = [], second = [], third = []] = data.map(({ embedding }) => embedding);
    expect([first.length, Math.hypot(...first)]).toEqual([1_536, expect.closeTo(1)]);
    expect(third).toEqual(first);
    expect(second).not.toEqual(first);
    const floats = await openai.embeddings.create({ ...request, encoding_format: 'float' });
    expect(floats.data[0]?.embedding).toEqual(first);
    expect(usage.prompt_tokens).toBe(2 * tokensAtMost(PROMPT) + tokensAtMost('a river'));
    const short = await openai.embeddings.create({ model: 'text-embedding-3-large', input: 'a river', dimensions: 8 });
    expect(short.data[0]?.embedding).toHaveLength(8);
  });

  test('models, a refused request, and an unknown path', async () => {
    expect((await openai.models.list()).data.map(({ id }) => id)).toContain(OPENAI_MODEL);
    expect((await openai.models.retrieve(OPENAI_MODEL)).id).toBe(OPENAI_MODEL);
    const refusal = await openai.chat.completions.create({ model: OPENAI_MODEL, messages: [] }).catch((error) => error);
    expect(refusal).toMatchObject({ status: 400, param: 'messages', type: 'invalid_request_error' });
    await expect(openai.responses.retrieve('resp_1')).rejects.toThrow(NotFoundError);
    const keyless = openai.withOptions({ defaultHeaders: { authorization: null } });
    await expect(keyless.models.list()).rejects.toThrow(AuthenticationError);
  });

  test('a batch: its lines are answered, those that fail stand in the file of errors', async () => {
    const line = (custom_id: string, content: string) =>
      JSON.stringify({
        ...{ custom_id, method: 'POST', url: '/v1/chat/completions' },
        body: { model: OPENAI_MODEL, messages: [{ role: 'user', content }] },
      });
    const content = [line('good', PROMPT), line('bad', 'error 400')].join('\n');
    const file = await openai.files.create({ file: await toFile(Buffer.from(content), 'in.jsonl'), purpose: 'batch' });
    expect(await (await openai.files.content(file.id)).text()).toBe(content);
    const endpoint = '/v1/chat/completions';
    const made = await openai.batches.create({ input_file_id: file.id, endpoint, completion_window: '24h' });
    expect(made.status).toBe('validating');
    expect((await openai.batches.retrieve(made.id)).status).toBe('in_progress');
    const over = await openai.batches.retrieve(made.id);
    expect(over).toMatchObject({ status: 'completed', request_counts: { total: 2, completed: 1, failed: 1 } });
    const readBatchLines = async (id = '') => JSON.parse(await (await openai.files.content(id)).text());
    const answered = await readBatchLines(over.output_file_id);
    expect(answered).toMatchObject({ custom_id: 'good', response: { status_code: 200 } });
    expect(readUsage(answered.response.body)).toMatchObject(USED);
    expect(await readBatchLines(over.error_file_id)).toMatchObject({
      custom_id: 'bad',
      response: { status_code: 400 },
    });

    const left = await openai.batches.create({ input_file_id: file.id, endpoint, completion_window: '24h' });
    expect((await openai.batches.cancel(left.id)).status).toBe('cancelled');
    expect((await openai.files.delete(file.id)).deleted).toBe(true);
    await expect(openai.files.retrieve(file.id)).rejects.toThrow(NotFoundError);
  });
});

describe('Anthropic', () => {
  const request = { model: CLAUDE, max_tokens: 100, messages: user };

  test('a message, plain and streamed', async () => {
    const plain = await anthropic.messages.create(request);
    expect(plain).toMatchObject({ content: [{ type: 'text', text: ANSWER }], stop_reason: 'end_turn' });
    expect(readUsage(plain)).toMatchObject(USED_BY_CLAUDE);
    const final = await anthropic.messages.stream(request).finalMessage();
    expect([final.content, final.usage.output_tokens]).toMatchObject([plain.content, plain.usage.output_tokens]);
    expect(await streamUsage('/v1/messages', { ...request, stream: true })).toMatchObject(USED_BY_CLAUDE);
  });

  test('tokens are counted as a message then reports them', async () => {
    const asked = { model: CLAUDE, system: 'Be brief.', messages: user };
    const { usage } = await anthropic.messages.create({ ...asked, max_tokens: 100 });
    expect(await anthropic.messages.countTokens(asked)).toEqual({ input_tokens: usage.input_tokens });
    expect(usage.input_tokens).toBeGreaterThan(USED_BY_CLAUDE.inputTokens);
  });

  test('models, and a refused request', async () => {
    expect((await Array.fromAsync(anthropic.models.list())).map(({ id }) => id)).toContain(CLAUDE);
    expect((await anthropic.models.retrieve(CLAUDE)).type).toBe('model');
    const refusal = await anthropic.messages.create({ ...request, max_tokens: 0 }).catch((error) => error);
    expect(refusal).toMatchObject({ status: 400, error: { error: { type: 'invalid_request_error' } } });
  });
});

describe('Google', () => {
  const request = { model: GEMINI, contents: PROMPT };

  test('content, plain, as a stream of events, and as one array', async () => {
    const plain = await google.models.generateContent(request);
    expect([plain.text, plain.candidates?.[0]?.finishReason]).toEqual([ANSWER, 'STOP']);
    expect(readUsage(plain)).toMatchObject(USED);

    const chunks = await Array.fromAsync(await google.models.generateContentStream(request));
    expect(chunks.map(({ text }) => text).join('')).toBe(ANSWER);
    expect(chunks.at(-1)?.usageMetadata).toEqual(plain.usageMetadata);

    const path = `/v1beta/models/${GEMINI}:streamGenerateContent`;
    const body = { contents: [{ role: 'user', parts: [{ text: PROMPT }] }] };
    expect(await streamUsage(`${path}?alt=sse`, body)).toMatchObject(USED);
    expect(readUsage(await (await post(path, body)).json())).toMatchObject(USED);
  });

  test('tokens are counted as an answer then reports them', async () => {
    const { usageMetadata } = await google.models.generateContent(request);
    expect((await google.models.countTokens(request)).totalTokens).toBe(usageMetadata?.promptTokenCount);
  });

  test('embeddings, and models', async () => {
    const { embeddings } = await google.models.embedContent({ model: 'gemini-embedding-001', contents: ['a', 'b'] });
    expect(embeddings?.map(({ values }) => values?.length)).toEqual([3_072, 3_072]);
    const config = { outputDimensionality: 8 };
    const one = await google.models.embedContent({ model: 'gemini-embedding-2', contents: 'a', config });
    expect(one.embeddings?.[0]?.values).toHaveLength(8);
    const models = await Array.fromAsync(await google.models.list());
    expect(models.map(({ name }) => name)).toContain(`models/${GEMINI}`);
  });

  test('a refused request', async () => {
    const refusal = await post(`/v1beta/models/${GEMINI}:generateContent`, { contents: [] });
    expect([refusal.status, await refusal.json()]).toMatchObject([400, { error: { status: 'INVALID_ARGUMENT' } }]);
  });
});

test('whatever is sent, an answer comes', async () => {
  const headers = { authorization: 'Bearer any' };
  const fetchStatus = async (path: string, body?: string) =>
    (await fetch(vendor.url + path, body === undefined ? { headers } : { method: 'POST', headers, body })).status;
  expect(await fetchStatus('/v1/models/%E0%A4%A')).toBe(200);
  expect(await fetchStatus('/v1/chat/completions', '{')).toBe(400);
  expect(await fetchStatus('/v1/chat/completions', '['.repeat(100_000))).toBe(400);
  expect(await fetchStatus('/v1/responses', '{"model":"m","input":[null,{"content":[7]}],"tools":"x"}')).toBe(200);
  expect(await fetchStatus('/v1/messages', '{"model":"m","max_tokens":9,"messages":[{"content":{"text":{}}}]}')).toBe(
    200,
  );
  expect(await fetchStatus('/v1beta/models/m:generateContent', '{"contents":[{"parts":[null]}],"tools":[null]}')).toBe(
    200,
  );
  expect(await fetchStatus('/v1/files', 'no form')).toBe(400);
  expect(await fetchStatus('/v1/batches', '{}')).toBe(404);
  expect(await fetchStatus('/v1/embeddings', 'x'.repeat(33 * 1024 * 1024))).toBe(413);
});

test('every answer is told once, with what was used', async () => {
  entries.length = 0;
  await openai.chat.completions.create({ model: OPENAI_MODEL, messages: user });
  const { inputTokens, responseTokens: outputTokens } = USED;
  const asked = { method: 'POST', path: '/v1/chat/completions', status: 200, stream: false };
  expect(entries).toEqual([{ ...asked, model: OPENAI_MODEL, inputTokens, outputTokens }]);
});

test('it listens on loopback alone', async () => {
  const { port } = new URL(vendor.url);
  expect(new URL(vendor.url).hostname).toBe('127.0.0.1');
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  for (const { address } of addresses.filter(({ family, internal }) => family === 'IPv4' && !internal))
    await expect(fetch(`http://${address}:${port}/v1/models`)).rejects.toThrow();
});
