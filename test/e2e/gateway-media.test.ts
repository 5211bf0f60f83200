/**
 * Promise: OpenAI's SDK, unmodified except for base URL and key, makes images, speech, transcriptions, moderations and
 * completions through the gateway, and each call costs what its vendor bills.
 */
import { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTrialVendor, type TrialVendor } from '../../src/cli/vendor/server.ts';
import { tokensAtMost } from '../../src/vendors/token-count.ts';
import { type GatewayTenant, type Setting, startGateway } from './gateway-tenant.ts';

let setting: Setting;
let vendor: TrialVendor;
let tenant: GatewayTenant;
beforeAll(async () => {
  [setting, vendor] = await Promise.all([startGateway(), startTrialVendor({ port: 0 })]);
  tenant = await setting.tenant();
  for (const provider of ['openai', 'acme']) {
    const body = { apiKey: 'sk-any', baseUrl: `${vendor.url}/v1` };
    await setting.server.operator.send('setVendor', { params: { org: tenant.organizationId, provider }, body });
  }
});
afterAll(async () => {
  await vendor.stop();
  await setting.stop();
});

const PROMPT = 'A river at night.';
const SPOKEN = 'Hello, wörld 👋.';
/** A second and a bit, as the vendor for trying out counts. */
const recording = () => toFile(Buffer.alloc(20_000, 7), 'hello.mp3', { type: 'audio/mpeg' });
const picture = (name: string) => toFile(Buffer.from(name), name, { type: 'image/png' });
const TRANSCRIPT = 'This transcription is made up: no model was asked.';

const readCall = (response: Response) => tenant.call(response.headers.get('x-service-call-id') ?? '');

describe('images', () => {
  const model = 'openai/gpt-image-2';
  /** GPT Image 2: 5 USD in for text, 8 for images, 30 out, per million. */
  const imageCost = (images: number, edited = 0) =>
    (tokensAtMost(PROMPT, 'wide') * 5 + edited * 194 * 8 + images * 1_056 * 30) / 1e6;

  test('are made, and cost the tokens that are reported', async () => {
    const { data, response } = await tenant.openai.images.generate({ model, prompt: PROMPT, n: 2 }).withResponse();
    expect(data.data?.map(({ b64_json }) => b64_json?.slice(0, 4))).toEqual(['iVBO', 'iVBO']);
    expect(response.headers.get('x-service-cost-usd')).toBe(String(imageCost(2)));
    expect(await readCall(response)).toMatchObject({
      status: 'COMPLETED',
      costUSD: imageCost(2),
      modelUsed: 'gpt-image-2',
    });
  });

  test('are streamed', async () => {
    const stream = await tenant.openai.images
      .generate({ model, prompt: PROMPT, stream: true, partial_images: 2 })
      .withResponse();
    const events = await Array.fromAsync(stream.data);
    expect(events.map(({ type }) => type.replace('image_generation.', ''))).toEqual([
      'partial_image',
      'partial_image',
      'completed',
    ]);
    expect(await readCall(stream.response)).toMatchObject({ status: 'COMPLETED', costUSD: imageCost(1) });
  });

  test('are edited: a form with several files', async () => {
    const request = { model, prompt: PROMPT, image: [await picture('a.png'), await picture('b.png')], n: 1 };
    const { data, response } = await tenant.openai.images
      .edit({ ...request, mask: await picture('mask.png') })
      .withResponse();
    expect(data.data).toHaveLength(1);
    expect(await readCall(response)).toMatchObject({ status: 'COMPLETED', costUSD: imageCost(1, 3) });
    const stream = await tenant.openai.images.edit({ ...request, stream: true });
    expect((await Array.fromAsync(stream)).map(({ type }) => type)).toEqual(['image_edit.completed']);
  });
});

describe('speech', () => {
  test('arrives byte for byte, and costs its characters', async () => {
    const request = { model: 'tts-1', voice: 'alloy', input: SPOKEN } as const;
    const { data, response } = await tenant.openai.audio.speech.create(request).withResponse();
    const direct = await tenant.sdk({ baseURL: `${vendor.url}/v1` }).audio.speech.create(request);
    const bytes = Buffer.from(await data.arrayBuffer());
    expect(bytes.equals(Buffer.from(await direct.arrayBuffer()))).toBe(true);
    expect([bytes.length > 10_000, response.headers.get('content-type')]).toEqual([true, 'audio/mpeg']);
    // 15 USD for a million characters; the wave is one character.
    expect(await readCall(response)).toMatchObject({ status: 'COMPLETED', costUSD: ([...SPOKEN].length * 15) / 1e6 });
  });

  test('as events reports its tokens', async () => {
    const request = { model: 'gpt-4o-mini-tts', voice: 'alloy', input: SPOKEN, stream_format: 'sse' } as const;
    const { data, response } = await tenant.openai.audio.speech.create(request).withResponse();
    expect(await data.text()).toContain('speech.audio.done');
    const costUSD = (tokensAtMost(SPOKEN, 'wide') * 0.6 + 2 * 21 * 12) / 1e6;
    expect(await readCall(response)).toMatchObject({ status: 'COMPLETED', costUSD });
  });

  test('of a model with a price for tokens, without events: the cost is not known', async () => {
    const request = { model: 'gpt-4o-mini-tts', voice: 'alloy', input: SPOKEN } as const;
    const { data, response } = await tenant.openai.audio.speech.create(request).withResponse();
    await data.arrayBuffer();
    expect(await readCall(response)).toMatchObject({ status: 'COMPLETED', pricingStatus: 'UNAVAILABLE' });
  });
});

describe('transcriptions', () => {
  /** GPT-4o transcribe: 6 USD for audio, 10 out, per million; two seconds are twenty tokens. */
  const costUSD = (20 * 6 + tokensAtMost(TRANSCRIPT, 'wide') * 10) / 1e6;

  test('as JSON, by tokens', async () => {
    const request = { model: 'gpt-4o-transcribe', file: await recording() };
    const { data, response } = await tenant.openai.audio.transcriptions.create(request).withResponse();
    expect([data.text, response.headers.get('x-service-cost-usd')]).toEqual([TRANSCRIPT, String(costUSD)]);
  });

  test('as verbose JSON, by seconds', async () => {
    const { data, response } = await tenant.openai.audio.transcriptions
      .create({
        model: 'whisper-1',
        file: await recording(),
        response_format: 'verbose_json',
        timestamp_granularities: ['word', 'segment'],
      })
      .withResponse();
    // 0.0001 USD a second.
    expect([data.duration, response.headers.get('x-service-cost-usd')]).toEqual([2, '0.0002']);
    // All members of OpenAI's type, which clients that check an answer demand.
    expect(data.segments).toEqual([
      {
        ...{ id: 0, seek: 0, start: 0, end: 2, text: TRANSCRIPT, tokens: expect.any(Array), temperature: 0 },
        ...{ avg_logprob: 0, compression_ratio: 1, no_speech_prob: 0 },
      },
    ]);
  });

  test('as text, which reports nothing', async () => {
    const { data, response } = await tenant.openai.audio.transcriptions
      .create({ model: 'whisper-1', file: await recording(), response_format: 'text' })
      .withResponse();
    expect(data).toBe(`${TRANSCRIPT}\n`);
    expect(await readCall(response)).toMatchObject({ status: 'COMPLETED', pricingStatus: 'UNAVAILABLE' });
  });

  test('streamed', async () => {
    const stream = await tenant.openai.audio.transcriptions
      .create({ model: 'gpt-4o-transcribe', file: await recording(), stream: true })
      .withResponse();
    const events = await Array.fromAsync(stream.data);
    expect(events.at(-1)).toMatchObject({ type: 'transcript.text.done', text: TRANSCRIPT });
    expect(await readCall(stream.response)).toMatchObject({ status: 'COMPLETED', costUSD });
  });

  test('translations', async () => {
    const { data, response } = await tenant.openai.audio.translations
      .create({ model: 'whisper-1', file: await recording() })
      .withResponse();
    expect([data.text, response.headers.get('x-service-cost-usd')]).toEqual([TRANSCRIPT, '0.0002']);
  });
});

describe('moderations', () => {
  test('without a model ask the default one, and cost nothing', async () => {
    const { data, response } = await tenant.openai.moderations.create({ input: ['hi', 'flagged'] }).withResponse();
    expect(data.results.map(({ flagged }) => flagged)).toEqual([false, true]);
    expect(response.headers.get('x-service-cost-usd')).toBe('0');
    expect(await readCall(response)).toMatchObject({ status: 'COMPLETED', pricingStatus: 'FINAL', costUSD: 0 });
  });
});

describe('completions', () => {
  const model = 'gpt-3.5-turbo-instruct';

  test('plain and streamed, with usage that the caller did not ask for', async () => {
    const { data, response } = await tenant.openai.completions.create({ model, prompt: PROMPT }).withResponse();
    expect(data.choices[0]).toMatchObject({ text: expect.stringMatching(/^This answer/), finish_reason: 'length' });
    const { prompt_tokens: input = 0, completion_tokens: output = 0 } = data.usage ?? {};
    const costUSD = (input * 1.5 + output * 2) / 1e6;
    expect([output, response.headers.get('x-service-cost-usd')]).toEqual([16, String(costUSD)]);
    const stream = await tenant.openai.completions.create({ model, prompt: PROMPT, stream: true }).withResponse();
    const chunks = await Array.fromAsync(stream.data);
    expect(chunks.map(({ choices }) => choices[0]?.text ?? '').join('')).toBe(data.choices[0]?.text);
    expect(chunks.filter(({ usage }) => usage)).toEqual([]);
    expect(await readCall(stream.response)).toMatchObject({ status: 'COMPLETED', costUSD });
  });

  test('streamed with usage, the last chunk has the cost', async () => {
    const stream = await tenant.openai.completions.create({
      model,
      prompt: [PROMPT, PROMPT],
      stream: true,
      stream_options: { include_usage: true },
    });
    expect((await Array.fromAsync(stream)).at(-1)).toMatchObject({
      choices: [],
      usage: { cost_usd: expect.any(Number) },
    });
  });
});

test('a vendor without the endpoint is not asked, and a session may not call', async () => {
  const refused = await tenant.openai.images
    .generate({ model: 'anthropic/claude-opus-5-5', prompt: PROMPT })
    .catch((error) => error);
  expect(refused).toMatchObject({ status: 400, code: 'ENDPOINT_NOT_OFFERED' });
  const { token } = (await tenant.api.send('createClientSession', { body: { customerId: 'alice' } })).data;
  const forbidden = await tenant
    .sdk({ apiKey: token })
    .audio.speech.create({ model: 'tts-1', voice: 'alloy', input: SPOKEN })
    .catch((error) => error);
  expect(forbidden).toMatchObject({ status: 403 });
});
