/**
 * Promise: the cost of images, speech and transcriptions equals their vendor's bill exactly, forms reach it byte for
 * byte except the service's own fields, and no answer is too large to be metered.
 */

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import { asCallId } from '../../src/domain/ids.ts';
import { planOnCredit } from '../support/credit-plans.ts';
import { fundedCustomer } from '../support/customer.ts';
import { buildForm } from '../support/forms.ts';
import { ask, BASE_URL, mockVendor, newTenant, readStoredCall, vendor } from '../support/gateway.ts';
import { FLAC, mp3, OPUS_HEAD, OPUS_PACKET, ogg, wave } from '../support/recordings.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';

mockVendor();

const app = createApp();
const encoder = new TextEncoder();
const decoder = new TextDecoder();

type Tenant = Awaited<ReturnType<typeof newTenant>>;

/** A tenant with a model of its own, priced only by this component. */
async function priced(model: string, component: string, usd: string, plan?: object): Promise<Tenant> {
  const tenant = await newTenant(plan);
  const params = { org: tenant.organizationId, modelKey: `openai/${model}` };
  const body = { components: [{ component, per: 1, usd }] };
  expect((await operator.send('setPrice', { params, body })).status).toBe(200);
  return tenant;
}

async function sendForm(key: string, path: string, body: FormData | string, headers: Record<string, string> = {}) {
  const context = createExecutionContext();
  const request = { method: 'POST', headers: { Authorization: `Bearer ${key}`, ...headers }, body };
  const response = await app.request(path, request, bindings, context);
  const callId = response.headers.get('x-service-call-id') ?? '';
  return { response, callId, rest: () => waitOnExecutionContext(context) };
}

const ALL_BYTES = Uint8Array.from({ length: 70_000 }, (_, at) => (at * 7 + (at >> 8)) % 256);
const sound = (bytes: Uint8Array<ArrayBuffer> = ALL_BYTES, name = 'a "sound".mp3') =>
  new File([bytes], name, { type: 'audio/mpeg' });
const transcript = (more: object = {}) => Response.json({ text: 'hello', ...more });
const TRANSCRIPTIONS = '/v1/audio/transcriptions';

const readEntries = async (bytes: Uint8Array<ArrayBuffer> | null, type = '') =>
  [...(await new Response(bytes, { headers: { 'content-type': type } }).formData())] as [string, string | File][];

describe('a form', () => {
  test('reaches the vendor byte for byte, in its order, without the fields of the service', async () => {
    const tenant = await newTenant();
    const BOUNDARY = 'a boundary';
    const part = (name: string, value: string, more = '') =>
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
    const before = part('timestamp_granularities[]', 'word');
    const file = part('file', 'a\r\n--b\0\u{1f44b}', '; filename="s.mp3"\r\nX-Own: 1\r\nContent-Type: audio/mpeg');
    const after = part('timestamp_granularities[]', 'segment') + part('prompt', '') + part('new_field', '{"a":1}');
    const own = part('customer[customerId]', 'alice') + part('tags[]', 'web') + part('feature', 'notes');
    const sent = `${part('models[]', 'openai/other')}${before}${own}${part('model', 'openai/whisper-1')}${file}${after}--${BOUNDARY}--\r\n`;
    let got = '';
    vendor.answers = (url, _body, { bytes, headers }) => {
      got = decoder.decode(bytes ?? new Uint8Array());
      expect([url, headers['content-type']]).toEqual([
        `${BASE_URL}/audio/transcriptions`,
        `multipart/form-data; boundary="${BOUNDARY}"`,
      ]);
      return transcript({ usage: { type: 'duration', seconds: 3 } });
    };
    const headers = { 'Content-Type': `multipart/form-data; boundary="${BOUNDARY}"` };
    const { response, callId, rest } = await sendForm(tenant.key, TRANSCRIPTIONS, sent, headers);
    expect(response.status).toBe(200);
    expect(got).toBe(`${before}${part('model', 'whisper-1')}${file}${after}--${BOUNDARY}--\r\n`);
    await rest();
    const call = await customerStub(tenant.organizationId, 'alice').readCall(tenant.organizationId, asCallId(callId));
    expect(call).toMatchObject({
      feature: 'notes',
      tags: ['web'],
      outcome: { price: { costNanoUsd: '300000' } },
    });
  });

  test('is sent to the next model if the first fails', async () => {
    const tenant = await newTenant();
    const asked: unknown[] = [];
    vendor.answers = async (_url, _body, { bytes, headers }) => {
      const entries = await readEntries(bytes, headers['content-type']);
      const file = entries.find(([name]) => name === 'file')?.[1] as File;
      asked.push(entries.find(([name]) => name === 'model')?.[1]);
      expect(new Uint8Array(await file.arrayBuffer())).toEqual(ALL_BYTES);
      return asked.length === 1 ? new Response('{}', { status: 503 }) : transcript();
    };
    const fields = [
      ['model', 'whisper-1'],
      ['models', 'openai/gpt-4o-transcribe'],
      ['file', sound()],
    ] as const;
    const { response } = await sendForm(tenant.key, TRANSCRIPTIONS, buildForm(fields));
    expect([response.status, asked]).toEqual([200, ['whisper-1', 'gpt-4o-transcribe']]);
  });

  test.each([
    [
      '/v1/images/edits',
      'n',
      [
        ['model', 'gpt-image-2'],
        ['prompt', 'x'],
        ['image', sound()],
        ['n', 'two'],
      ],
    ],
    [
      '/v1/images/edits',
      'n',
      [
        ['model', 'gpt-image-2'],
        ['prompt', 'x'],
        ['image', sound()],
        ['n', '11'],
      ],
    ],
    [
      '/v1/images/edits',
      'image',
      [
        ['model', 'gpt-image-2'],
        ['prompt', 'x'],
      ],
    ],
    [
      '/v1/images/edits',
      'image.0',
      [
        ['model', 'gpt-image-2'],
        ['prompt', 'x'],
        ['image', 'a text'],
      ],
    ],
    [
      '/v1/images/edits',
      'image',
      [['model', 'gpt-image-2'], ['prompt', 'x'], ...Array.from({ length: 17 }, () => ['image[]', sound()] as const)],
    ],
    [TRANSCRIPTIONS, 'file', [['model', 'whisper-1']]],
    [
      TRANSCRIPTIONS,
      'file',
      [
        ['model', 'whisper-1'],
        ['file', 'a text'],
      ],
    ],
    [
      TRANSCRIPTIONS,
      'stream',
      [
        ['model', 'whisper-1'],
        ['file', sound()],
        ['stream', 'maybe'],
      ],
    ],
    [TRANSCRIPTIONS, 'model', [['file', sound()]]],
    [
      TRANSCRIPTIONS,
      'model',
      [
        ['model', 'whisper-1'],
        ['model', 'whisper-2'],
        ['file', sound()],
      ],
    ],
    [
      TRANSCRIPTIONS,
      'customer.customerId',
      [
        ['model', 'whisper-1'],
        ['customer', ''],
        ['file', sound()],
      ],
    ],
  ] as const)('%s with a wrong %s is refused, and no vendor is asked', async (path, field, fields) => {
    const tenant = await newTenant();
    const { response } = await sendForm(tenant.key, path, buildForm(fields));
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    expect([response.status, error.param]).toEqual([400, field]);
    expect(error.message).toContain(field);
  });

  test('that is none, does not end, or is too large is refused', async () => {
    const tenant = await newTenant();
    const json = await sendForm(tenant.key, TRANSCRIPTIONS, '{}', { 'Content-Type': 'application/json' });
    expect(json.response.status).toBe(415);
    const headers = { 'Content-Type': 'multipart/form-data; boundary=b' };
    const open = '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n';
    expect((await sendForm(tenant.key, TRANSCRIPTIONS, open, headers)).response.status).toBe(400);
    const large = new File([new Uint8Array(33 * 1024 * 1024)], 'a.mp3');
    const fields = [
      ['model', 'whisper-1'],
      ['file', large],
    ] as const;
    expect((await sendForm(tenant.key, TRANSCRIPTIONS, buildForm(fields))).response.status).toBe(413);
  });
});

describe('the cost', () => {
  test('of images that the vendor only lists is that of each', async () => {
    const tenant = await priced('painter', 'images', '0.04');
    vendor.answers = () => Response.json({ created: 1, data: [{ url: 'a' }, { url: 'b' }, { url: 'c' }] });
    const body = { model: 'openai/painter', prompt: 'x', n: 3, messages: undefined };
    const { response, callId, rest } = await ask(tenant.key, body, undefined, '/v1/images/generations');
    await rest();
    expect(response.headers.get('x-service-cost-usd')).toBe('0.12');
    expect((await readStoredCall(tenant, callId))?.outcome).toMatchObject({
      usage: { images: 3 },
      price: { costNanoUsd: '120000000', breakdown: { lines: [{ component: 'images', quantity: 3 }] } },
    });
  });

  test('of speech is that of the characters of its text', async () => {
    const tenant = await priced('reader', 'characters', '0.0000155');
    vendor.answers = () => new Response(ALL_BYTES, { headers: { 'content-type': 'audio/mpeg' } });
    const body = { model: 'openai/reader', voice: 'alloy', input: 'Hé 👋!', messages: undefined };
    const { response, callId, rest } = await ask(tenant.key, body, undefined, '/v1/audio/speech');
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(ALL_BYTES);
    await rest();
    expect((await readStoredCall(tenant, callId))?.outcome).toMatchObject({
      usage: { characters: 5, inputTokens: 0 },
      price: { costNanoUsd: '77500' },
    });
  });

  test.each([
    ['the usage', { usage: { type: 'duration', seconds: 9 }, duration: 8.47 }, '900000'],
    ['the length of a verbose answer', { duration: 8.4700002 }, '847000'],
  ])('of a transcription is that of the seconds of %s', async (_name, more, costUsdNano) => {
    const tenant = await newTenant();
    vendor.answers = () => transcript(more);
    const fields = [
      ['model', 'whisper-1'],
      ['file', sound()],
    ] as const;
    const { callId, rest } = await sendForm(tenant.key, TRANSCRIPTIONS, buildForm(fields));
    await rest();
    expect((await readStoredCall(tenant, callId))?.outcome).toMatchObject({
      price: { costNanoUsd: costUsdNano },
    });
  });

  test.each([
    ['the usage', { usage: { type: 'duration', seconds: '9 s' } }],
    ['a usage without it', { usage: { type: 'duration' } }],
    ['a verbose answer', { duration: '8.47' }],
  ])('of a transcription whose length makes no sense in %s is that of its bound, never zero', async (_name, more) => {
    const tenant = await newTenant();
    vendor.answers = () => transcript(more);
    const fields = [
      ['model', 'whisper-1'],
      ['file', sound(wave(20), 'a.wav')],
    ] as const;
    const { callId, rest } = await sendForm(tenant.key, TRANSCRIPTIONS, buildForm(fields));
    await rest();
    const outcome = (await readStoredCall(tenant, callId))?.outcome;
    expect(outcome).toMatchObject({ usageSource: 'partial', unclear: ['audioSeconds'] });
    const { audioSeconds = 0 } = outcome?.usage ?? {};
    expect(audioSeconds).toBeGreaterThanOrEqual(20);
    // A hundredth of a cent for each second.
    expect(outcome?.price).toMatchObject({ costNanoUsd: String(audioSeconds * 100_000) });
  });

  test('of tokens of text and of images', async () => {
    const tenant = await newTenant();
    const usage = {
      input_tokens: 1_003,
      input_tokens_details: { text_tokens: 3, image_tokens: 1_000 },
      output_tokens: 4_160,
      output_tokens_details: { text_tokens: 0, image_tokens: 4_160 },
    };
    vendor.answers = () => Response.json({ created: 1, data: [{ b64_json: 'iVBO' }], usage });
    const fields = [
      ['model', 'gpt-image-2'],
      ['prompt', 'x'],
      ['image', sound()],
    ] as const;
    const { response } = await sendForm(tenant.key, '/v1/images/edits', buildForm(fields));
    // 5 USD for text, 8 for images, 30 for generated ones, per million.
    expect(response.headers.get('x-service-cost-usd')).toBe(String((3 * 5 + 1_000 * 8 + 4_160 * 30) / 1e6));
  });

  test('is not known if a model with a price for tokens reports none, however many images there are', async () => {
    const tenant = await newTenant();
    vendor.answers = () => Response.json({ created: 1, data: [{ b64_json: 'iVBO' }] });
    const body = { model: 'gpt-image-2', prompt: 'x', messages: undefined };
    const { response, callId, rest } = await ask(tenant.key, body, undefined, '/v1/images/generations');
    await rest();
    expect([response.status, response.headers.get('x-service-cost-usd')]).toEqual([200, null]);
    expect(await readStoredCall(tenant, callId)).toMatchObject({
      status: 'COMPLETED',
      outcome: { price: { reason: 'USAGE_NOT_REPORTED' } },
    });
  });
});

describe('a large answer', () => {
  test('of 40 MiB passes byte for byte, and is metered', async () => {
    const tenant = await newTenant();
    const picture = 'A'.repeat(10 * 1024 * 1024);
    const head = '{"created":1,"data":[';
    const tail = '],"usage":{"input_tokens":10,"input_tokens_details":{"text_tokens":10},"output_tokens":400}}';
    const parts = [head, ...[0, 1, 2, 3].flatMap((at) => [`${at ? ',' : ''}{"b64_json":"`, picture, '"}']), tail];
    vendor.answers = () => new Response(new Blob(parts).stream(), { headers: { 'content-type': 'application/json' } });
    const body = { model: 'gpt-image-2', prompt: 'x', n: 4, messages: undefined };
    const { response, callId, rest } = await ask(tenant.key, body, undefined, '/v1/images/generations');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    let length = 0;
    let ends = '';
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      length += chunk.length;
      ends = (ends + decoder.decode(chunk.subarray(-200))).slice(-200);
    }
    await rest();
    expect([length, ends.endsWith(`"}${tail}`)]).toEqual([parts.join('').length, true]);
    // 5 USD in and 30 out, per million.
    expect((await readStoredCall(tenant, callId))?.outcome?.price).toHaveProperty(
      'costNanoUsd',
      String(10 * 5_000 + 400 * 30_000),
    );
  });

  test('that breaks off breaks off for the caller, and its usage is not known', async () => {
    const tenant = await newTenant();
    const chunks = ['{"created":1,"data":[{"b64_json":"', 'A'.repeat(11 * 1024 * 1024)];
    vendor.answers = () => broken(chunks, 'application/json');
    const body = { model: 'gpt-image-2', prompt: 'x', messages: undefined };
    const { response, callId, rest } = await ask(tenant.key, body, undefined, '/v1/images/generations');
    await expect(response.text()).rejects.toThrow();
    await rest();
    expect(await readStoredCall(tenant, callId)).toMatchObject({
      status: 'FAILED',
      outcome: { usageSource: 'estimated', error: { code: 'VENDOR_STREAM_CUT' } },
    });
  });

  test('an event of more than 8 MiB is metered as well', async () => {
    const tenant = await newTenant();
    const usage = { input_tokens: 10, output_tokens: 400 };
    const data = { type: 'image_generation.completed', b64_json: 'A'.repeat(9 * 1024 * 1024), usage };
    const text = `event: image_generation.completed\ndata: ${JSON.stringify(data)}\n\n`;
    vendor.answers = () =>
      new Response(new Blob([text]).stream(), { headers: { 'content-type': 'text/event-stream' } });
    const body = { model: 'gpt-image-2', prompt: 'x', stream: true, messages: undefined };
    const { response, callId, rest } = await ask(tenant.key, body, undefined, '/v1/images/generations');
    expect((await response.text()) === text).toBe(true);
    await rest();
    expect((await readStoredCall(tenant, callId))?.outcome?.price).toHaveProperty(
      'costNanoUsd',
      String(10 * 5_000 + 400 * 30_000),
    );
  });
});

/** An answer whose connection breaks after these chunks. */
function broken(chunks: readonly string[], type: string): Response {
  const left = [...chunks];
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = left.shift();
        if (chunk === undefined) controller.error(new Error('the connection broke'));
        else controller.enqueue(encoder.encode(chunk));
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { 'content-type': type } });
}

describe('a stream that breaks off', () => {
  test('of images ends with an error event, and the call has failed', async () => {
    const tenant = await newTenant();
    const partial = `data: ${JSON.stringify({ type: 'image_generation.partial_image', b64_json: 'AAAA' })}\n\n`;
    vendor.answers = () => broken([partial], 'text/event-stream');
    const body = { model: 'gpt-image-2', prompt: 'x', stream: true, messages: undefined };
    const { response, callId, rest } = await ask(tenant.key, body, undefined, '/v1/images/generations');
    const text = await response.text();
    expect(text.startsWith(partial)).toBe(true);
    expect(JSON.parse(text.slice(partial.length).replace('data: ', ''))).toMatchObject({
      error: { code: 'VENDOR_STREAM_CUT' },
    });
    await rest();
    expect((await readStoredCall(tenant, callId))?.status).toBe('FAILED');
  });

  test('of speech breaks for its caller, and its characters count as an estimate', async () => {
    const tenant = await priced('reader', 'characters', '0.000015');
    vendor.answers = () => broken(['some sound'], 'audio/mpeg');
    const body = { model: 'openai/reader', voice: 'alloy', input: 'Hello', messages: undefined };
    const { response, callId, rest } = await ask(tenant.key, body, undefined, '/v1/audio/speech');
    await expect(response.arrayBuffer()).rejects.toThrow();
    await rest();
    expect(await readStoredCall(tenant, callId)).toMatchObject({
      status: 'FAILED',
      outcome: { usageSource: 'estimated', usage: { characters: 5, responseTokens: 0 } },
    });
  });
});

describe('a plan', () => {
  test.each([
    ['image', '/v1/images/generations', { model: 'house-model', prompt: 'x' }],
    ['audio', '/v1/audio/speech', { model: 'house-model', voice: 'alloy', input: 'x' }],
  ])('without %s refuses, and no vendor is asked', async (capability, path, body) => {
    const features = { [capability]: false };
    const tenant = await newTenant({ name: 'P', limitType: 'NONE', features });
    const sent = { ...body, model: `openai/${body.model}`, messages: undefined };
    const { response } = await ask(tenant.key, sent, undefined, path);
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({
      error: { code: 'ENTITLEMENT_DENIED', message: expect.stringContaining(capability) },
    });
  });

  test('without audio refuses a form', async () => {
    const tenant = await newTenant({ name: 'P', limitType: 'NONE', features: { audio: false } });
    const fields = [
      ['model', 'openai/house-model'],
      ['file', sound()],
    ] as const;
    expect((await sendForm(tenant.key, TRANSCRIPTIONS, buildForm(fields))).response.status).toBe(403);
  });
});

describe('a retry under a key', () => {
  const key = { 'Idempotency-Key': 'again' };

  test('of speech gets the same bytes, and the vendor is asked once', async () => {
    const tenant = await newTenant();
    let asked = 0;
    vendor.answers = () => {
      asked += 1;
      return new Response(ALL_BYTES, { headers: { 'content-type': 'audio/mpeg' } });
    };
    const body = { model: 'tts-1', voice: 'alloy', input: 'Hello', messages: undefined };
    for (const replayed of [null, 'true']) {
      const { response, rest } = await ask(tenant.key, body, undefined, '/v1/audio/speech', key);
      expect(new Uint8Array(await response.arrayBuffer())).toEqual(ALL_BYTES);
      expect([response.headers.get('content-type'), response.headers.get('idempotency-replayed')]).toEqual([
        'audio/mpeg',
        replayed,
      ]);
      await rest();
    }
    expect(asked).toBe(1);
  });

  test('of a form is the same whatever its boundary, and another one if a byte of its file differs', async () => {
    const tenant = await newTenant();
    let asked = 0;
    vendor.answers = () => {
      asked += 1;
      return transcript({ usage: { type: 'duration', seconds: 1 } });
    };
    const form = (bytes: Uint8Array<ArrayBuffer>) =>
      buildForm([
        ['model', 'whisper-1'],
        ['file', sound(bytes)],
      ]);
    const statuses: number[] = [];
    const other = ALL_BYTES.with(60_000, 255 - (ALL_BYTES[60_000] ?? 0)) as Uint8Array<ArrayBuffer>;
    for (const bytes of [ALL_BYTES, ALL_BYTES, other]) {
      const { response, rest } = await sendForm(tenant.key, TRANSCRIPTIONS, form(bytes), key);
      statuses.push(response.status);
      await rest();
    }
    expect([statuses, asked]).toEqual([[200, 200, 409], 1]);
  });
});

describe('on credit', () => {
  const ON_CREDIT = planOnCredit();

  /** The hold while the vendor works. */
  async function heldFor(
    tenant: Tenant,
    send: () => Promise<{ response: Response; rest(): Promise<void> }>,
    answer: () => Response,
  ) {
    const customer = await fundedCustomer(tenant, 'default', { usd: '1' });
    let held = '';
    vendor.answers = async () => {
      held = (await customer.wallet()).heldUsd;
      return answer();
    };
    const { response, rest } = await send();
    await response.arrayBuffer();
    await rest();
    await customer.settle();
    return { status: response.status, held: Number(held), wallet: await customer.wallet() };
  }

  test('speech holds what its characters cost, and is charged that', async () => {
    const tenant = await priced('reader', 'characters', '0.001', ON_CREDIT);
    const body = { model: 'openai/reader', voice: 'alloy', input: 'Hello', messages: undefined };
    const { status, held, wallet } = await heldFor(
      tenant,
      () => ask(tenant.key, body, undefined, '/v1/audio/speech'),
      () => new Response('sound', { headers: { 'content-type': 'audio/mpeg' } }),
    );
    expect([status, wallet]).toMatchObject([200, { balanceUsd: '0.995', heldUsd: '0' }]);
    expect(held).toBeCloseTo(0.005, 6);
  });

  test('speech that reports no tokens is charged by the length of its text', async () => {
    const tenant = await newTenant(ON_CREDIT);
    const body = { model: 'gpt-4o-mini-tts', voice: 'alloy', input: 'x'.repeat(1_000), messages: undefined };
    const { wallet } = await heldFor(
      tenant,
      () => ask(tenant.key, body, undefined, '/v1/audio/speech'),
      () => new Response('sound', { headers: { 'content-type': 'audio/mpeg' } }),
    );
    // 1,500 tokens at 12 USD per million, and a prompt of less than 1,100 at 0.6.
    const charged = 1 - Number(wallet.balanceUsd);
    expect(charged).toBeGreaterThan(0.018);
    expect(charged).toBeLessThan(0.0187);
  });

  test('a recording holds the longest that its bytes can be; one in a format without such a bound is refused', async () => {
    const held = async (name: string, bytes: Uint8Array<ArrayBuffer>) => {
      const tenant = await newTenant(ON_CREDIT);
      const form = buildForm([
        ['model', 'whisper-1'],
        ['file', sound(bytes, name)],
      ]);
      const answer = () => transcript({ usage: { type: 'duration', seconds: 5 } });
      return (await heldFor(tenant, () => sendForm(tenant.key, TRANSCRIPTIONS, form), answer)).held;
    };
    // Two hundred seconds at 0.0001 USD, whatever the file is called.
    expect(await held('a.mp3', mp3(200))).toBeCloseTo(0.02, 6);
    expect(await held('a.flac', wave(200))).toBeCloseTo(0.0201, 6);
    expect(await held('a.webm', ogg(OPUS_HEAD, Array(9_990).fill(OPUS_PACKET)))).toBeCloseTo(0.02, 6);
    const tenant = await newTenant(ON_CREDIT);
    await fundedCustomer(tenant, 'default', { usd: '1' });
    vendor.answers = () => expect.unreachable('no vendor is asked');
    for (const [name, bytes] of [
      ['a.flac', FLAC],
      ['a.wav', FLAC],
      ['a.wav', wave(10, { rate: 1, bits: 8 })],
      ['a.mp3', new Uint8Array(150_000)],
    ] as const) {
      const form = buildForm([
        ['model', 'whisper-1'],
        ['file', sound(bytes, name)],
      ]);
      const { response } = await sendForm(tenant.key, TRANSCRIPTIONS, form);
      expect([name, response.status]).toEqual([name, 403]);
      expect(await response.json()).toMatchObject({
        error: { code: 'BOUND_UNKNOWN', component: 'audioSeconds', param: 'file' },
      });
    }
  });

  test('images hold each of them, and the plain text of a recording is charged by its likely length', async () => {
    const tenant = await priced('painter', 'images', '0.04', ON_CREDIT);
    const body = { model: 'openai/painter', prompt: 'x', n: 3, messages: undefined };
    const images = await heldFor(
      tenant,
      () => ask(tenant.key, body, undefined, '/v1/images/generations'),
      () => Response.json({ created: 1, data: [{ url: 'a' }, { url: 'b' }] }),
    );
    expect(images.held).toBeCloseTo(0.12, 6);
    expect(images.wallet).toMatchObject({ balanceUsd: '0.92', heldUsd: '0' });
    const fields = [
      ['model', 'whisper-1'],
      ['response_format', 'text'],
      ['file', sound(mp3(10))],
    ] as const;
    const { response, callId, rest } = await sendForm(tenant.key, TRANSCRIPTIONS, buildForm(fields), {});
    expect(response.status).toBe(200);
    await rest();
    expect((await readStoredCall(tenant, callId))?.outcome).toMatchObject({
      usageSource: 'estimated',
      usage: { audioSeconds: 10 },
      charge: { amountNanoUsd: '1000000' },
    });
  });
});
