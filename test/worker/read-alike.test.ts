/**
 * Promise: a differently spelled request means the same to the service and to its vendor, or it is refused before the
 * vendor is asked: fields that occur twice, paths with dots, bodies that nobody reads.
 */
import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { beforeEach, describe, expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import { fundedCustomer } from '../support/customer.ts';
import { completion, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { bindings, operator } from '../support/worker.ts';

mockVendor();

const app = createApp();
const TRANSCRIPTIONS = '/v1/audio/transcriptions';
const FORM = { 'Content-Type': 'multipart/form-data; boundary=b' };
const JSON_TYPE = { 'Content-Type': 'application/json' };

let tenant: Awaited<ReturnType<typeof newTenant>>;
/** The requests that reached vendors: addresses, and bodies of JSON. */
let arrived: { url: string; body: Record<string, unknown> }[];

beforeEach(async () => {
  tenant = await newTenant();
  arrived = [];
  vendor.answers = (url, body) => {
    arrived.push({ url, body });
    return Response.json(url.includes('transcriptions') ? { text: 'x' } : completion(body.model));
  };
});

async function limitedKey(...models: string[]): Promise<string> {
  const params = { org: tenant.organizationId };
  return (await operator.send('createKey', { params, body: { name: 'limited', models } })).data.key;
}

async function send(path: string, body: string, headers: Record<string, string>, key = tenant.key) {
  const context = createExecutionContext();
  const request = { method: 'POST', headers: { Authorization: `Bearer ${key}`, ...headers }, body };
  const response = await app.request(path, request, bindings, context);
  const json = await response.json<{ error?: Record<string, unknown> }>();
  await waitOnExecutionContext(context);
  return { status: response.status, error: json.error };
}

const part = (head: string, value: string) => `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
const FILE = part('name="file"; filename="a.wav"', 'RIFF');
const MODEL = part('name="model"', 'whisper-1');
const form = (...parts: string[]) => `${parts.join('')}--b--\r\n`;

describe('a form', () => {
  test.each([
    ['a second model', part('name="model"', 'gpt-4o-transcribe'), 'model'],
    ['a second model as a list', part('name="model[]"', 'gpt-4o-transcribe'), 'model'],
    ['a second model in capitals', part('name="Model"', 'gpt-4o-transcribe'), 'model'],
    ['a second model as a member', part('name="model[x]"', 'gpt-4o-transcribe'), 'model'],
    ['a second file', FILE, 'file'],
    ['a field that is no list twice', part('name="language"', 'de') + part('name="language"', 'en'), 'language'],
    ['a name behind another', part('name="model"; x="; name=junk"', 'gpt-4o-transcribe'), 'body'],
    ['a name in another spelling', part("name*=utf-8''model", 'gpt-4o-transcribe'), 'body'],
    ['an escaped name', part('name="mod\\el"', 'gpt-4o-transcribe'), 'body'],
    ['a folded header', part('\r\n name="model"', 'gpt-4o-transcribe'), 'body'],
    ['two names in one header', part('name="x"; name="model"', 'gpt-4o-transcribe'), 'body'],
    ['a part within a part', part('name="x"', `\n--b\nContent-Disposition: form-data; name="model"\n\ngpt-4o`), 'body'],
  ])('with %s is refused, and no vendor is asked', async (_, more, param) => {
    const key = await limitedKey('whisper-1');
    for (const parts of [
      [FILE, MODEL, more],
      [more, MODEL, FILE],
    ]) {
      const { status, error } = await send(TRANSCRIPTIONS, form(...parts), FORM, key);
      expect([status, error]).toMatchObject([400, { code: 'BAD_REQUEST' }]);
      if (param === 'body') expect(error?.message).toMatch(/^body: must/);
      else expect(String(error?.param).toLowerCase()).toBe(param);
    }
    expect(arrived).toEqual([]);
    expect((await send(TRANSCRIPTIONS, form(FILE, MODEL), FORM, key)).status).toBe(200);
  });

  test('with lists as clients write them passes', async () => {
    const lists = ['timestamp_granularities[]', 'include', 'languages'].flatMap((name) =>
      ['a', 'b'].map((value) => part(`name="${name}"`, value)),
    );
    expect((await send(TRANSCRIPTIONS, form(FILE, MODEL, ...lists), FORM)).status).toBe(200);
  });
});

describe('JSON', () => {
  const chat = (members: string) => `{${members},"messages":[{"role":"user","content":"x"}]}`;

  test('with a name twice reaches the vendor with the one that was judged', async () => {
    const key = await limitedKey('gpt-4o-mini');
    const twice = (first: string, last: string) => chat(`"model":"${first}","mod\\u0065l":"${last}"`);
    expect((await send('/v1/chat/completions', twice('gpt-4o', 'gpt-4o-mini'), JSON_TYPE, key)).status).toBe(200);
    expect(arrived.map(({ body }) => body.model)).toEqual(['gpt-4o-mini']);
    expect((await send('/v1/chat/completions', twice('gpt-4o-mini', 'gpt-4o'), JSON_TYPE, key)).status).toBe(403);
    expect(arrived).toHaveLength(1);
  });

  test('with a name in two spellings is refused', async () => {
    for (const other of ['Model', 'MODEL']) {
      const body = chat(`"model":"gpt-4o-mini","${other}":"gpt-4o"`);
      const { status, error } = await send('/v1/chat/completions', body, JSON_TYPE);
      expect([status, error]).toMatchObject([400, { code: 'BAD_REQUEST', param: other }]);
    }
    expect(arrived).toEqual([]);
  });
});

describe("Google's paths", () => {
  const CONTENT = JSON.stringify({ contents: [{ parts: [{ text: 'x' }] }] });

  beforeEach(async () => {
    const params = { org: tenant.organizationId, provider: 'google' };
    const body = { apiKey: 'g-test', baseUrl: 'https://google.example.com/v1beta' };
    expect((await operator.send('setVendor', { params, body })).status).toBe(200);
  });

  test.each([
    'google/x%2f..%2fgemini-2.5-pro',
    'google/x%2F%2e%2e%2Fgemini-2.5-pro',
    'google/%2e%2e%2fv1beta%2fmodels%2fgemini-2.5-pro',
    'google/x%5c..%5cgemini-2.5-pro',
    'google/x%252f..%252fgemini-2.5-pro',
    'google/%252e%252e',
    'google/x//gemini-2.5-pro',
    'google/gemini-2.5-pro;x=1',
    'google/gemini-2.5-pro%3f',
    'google/gemini-2.5-pro%23',
    'google/gemini-2.5-pro%00',
    'google/gemini-2.5-pro%20',
    'google/gemini-2.5-pro:generateContent',
  ])('do not lead from the name %s elsewhere', async (name) => {
    for (const action of ['generateContent', 'streamGenerateContent', 'embedContent', 'countTokens']) {
      const { status, error } = await send(`/v1beta/models/${name}:${action}`, CONTENT, JSON_TYPE);
      expect([action, status, error?.status]).toEqual([action, 400, 'INVALID_ARGUMENT']);
    }
    expect(arrived).toEqual([]);
  });

  test('whose dots the address has lost lead to what is left of them, and nowhere else', async () => {
    await send('/v1beta/models/google/x/../gemini-2.5-pro:generateContent', CONTENT, JSON_TYPE);
    expect(arrived.map(({ url }) => url)).toEqual([
      'https://google.example.com/v1beta/models/gemini-2.5-pro:generateContent',
    ]);
  });

  test('pass with a plain name', async () => {
    await send('/v1beta/models/gemini-2.5-pro:generateContent', CONTENT, JSON_TYPE);
    await send('/v1beta/models/google%2Ftuned%2Fa.b:countTokens', CONTENT, JSON_TYPE);
    expect(arrived.map(({ url }) => url)).toEqual([
      'https://google.example.com/v1beta/models/gemini-2.5-pro:generateContent',
      'https://google.example.com/v1beta/models/tuned/a.b:countTokens',
    ]);
  });
});

describe('the address of a unified call', () => {
  const HOST = 'https://generativelanguage.googleapis.com';
  const call = async (url: string, key = tenant.key, body: object = {}) =>
    operator.with(key).send('makeCall', { body: { customerId: 'c', vendor: { url, body } } });

  test.each([
    '/v1beta/models/gemini-2.5-flash-lite%2f..%2fgemini-2.5-pro:generateContent',
    '/v1beta/models/gemini-2.5-flash-lite%5c..%5cgemini-2.5-pro:generateContent',
    '/v1beta/models/%252e%252e/models/gemini-2.5-pro:generateContent',
    '/v1beta//models/gemini-2.5-pro:generateContent',
    '/v1beta/models;x=1/gemini-2.5-pro:generateContent',
    '/v1beta/models/gemini-2.5-pro%3f:generateContent',
    '/v1beta/models/gemini-2.5-pro%00:generateContent',
    '/v1beta/models/%ff:generateContent',
  ])('%s is refused', async (path) => {
    const { status, refusal } = await call(HOST + path);
    expect([status, refusal.code, refusal.details]).toMatchObject([400, 'BAD_REQUEST', [{ path: 'vendor.url' }]]);
    expect(arrived).toEqual([]);
  });

  test.each([
    '/v1beta/models/gemini-2.5-flash-lite:generateContent/../gemini-2.5-pro:generateContent',
    '/v1beta/models/gemini-2.5-flash-lite/%2e%2E/gemini-2.5-pro:generateContent',
    '/v1beta/models/gemini-2.5-flash-lite\\..\\gemini-2.5-pro:generateContent',
    '/v1beta/models/gemini%2D2.5-pro:generateContent',
    '/v1beta/models/gemini-2.5-pro:generateContent?x=/models/gemini-2.5-flash-lite:generateContent',
    '/v1beta/models/gemini-2.5-pro:generateContent#/models/gemini-2.5-flash-lite:generateContent',
  ])('%s is judged and priced by the model that the vendor reads in it', async (path) => {
    const cheap = await limitedKey('gemini-2.5-flash-lite');
    const dear = await limitedKey('gemini-2.5-pro');
    expect((await call(HOST + path, cheap, { model: 'gemini-2.5-flash-lite' })).status).toBe(403);
    expect(arrived).toEqual([]);
    vendor.answers = (url, body) => {
      arrived.push({ url, body });
      return Response.json({ usageMetadata: { promptTokenCount: 1_000_000, totalTokenCount: 1_000_000 } });
    };
    const { status, data } = await call(HOST + path, dear);
    expect([status, data.end?.costUSD]).toEqual([200, 2.5]);
    expect(new URL(arrived[0]?.url ?? '').pathname).toMatch(
      /^\/v1beta\/models\/gemini(?:-|%2D)2\.5-pro:generateContent$/,
    );
  });

  test("of Google's endpoints takes no model from the body", async () => {
    vendor.answers = () => Response.json({ usageMetadata: { promptTokenCount: 10, totalTokenCount: 10 } });
    const { data } = await call(`${HOST}/v1beta/tunedModels/x:generateContent`, tenant.key, { model: 'gpt-4o-mini' });
    expect(data.end?.pricingStatus).toBe('UNAVAILABLE');
  });
});

describe('a body that nobody reads, on an open path', () => {
  const PATH = '/v1/passthrough/google/v1beta/models/gemini-2.5-flash-lite:generateContent';
  const BODY = JSON.stringify({ contents: [{ parts: [{ text: 'x' }] }] });
  const open = async () => {
    const params = { org: tenant.organizationId, provider: 'google' };
    const body = { apiKey: 'g', baseUrl: 'https://google.example.com/v1beta', passthrough: ['/v1beta/models/*'] };
    expect((await operator.send('setVendor', { params, body })).status).toBe(200);
  };

  test('is refused under a key that is limited to models', async () => {
    await open();
    const key = await limitedKey('gemini-2.5-flash-lite');
    const { status, error } = await send(PATH, BODY, { 'Content-Type': 'text/plain' }, key);
    expect([status, error?.code]).toEqual([403, 'MODEL_NOT_ALLOWED']);
    expect(arrived).toEqual([]);
    expect((await send(PATH, BODY, JSON_TYPE, key)).status).toBe(200);
  });

  test('is refused on credit', async () => {
    tenant = await newTenant({
      name: 'P',
      limitType: 'BLOCK',
      limits: { standardCalls: 0, premiumCalls: 0 },
      payg: { enabled: true, markupPercent: 0 },
    });
    await fundedCustomer(tenant, 'default', { usd: '5' });
    await open();
    const { status, error } = await send(PATH, BODY, { 'Content-Type': 'text/plain' });
    expect([status, error]).toMatchObject([
      403,
      { code: 'BOUND_UNKNOWN', component: 'field:generateContent/body', param: 'body' },
    ]);
    expect(arrived).toEqual([]);
    expect((await send(PATH, BODY, JSON_TYPE)).status).toBe(200);
  });
});
