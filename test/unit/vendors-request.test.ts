/**
 * Whatever a vendor does, a request to it ends in time with an outcome, and its headers stay secret.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JSON_VALUES_MAX } from '../../src/platform/json.ts';
import { requestVendor, type VendorRequest } from '../../src/vendors/request.ts';
import { StreamUsage } from '../../src/vendors/usage.ts';
import { serveOnLoopback } from '../vendors/loopback.ts';
import { type FakeVendor, startVendor } from '../vendors/vendor.ts';

let vendor: FakeVendor;
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor.close());

const SECRET = 'sk-a-very-secret-key';
const ask = (content: string, more: Partial<VendorRequest> = {}, stream = false) =>
  requestVendor({
    url: `${vendor.url}/v1/chat/completions`,
    method: 'POST',
    headers: { Authorization: `Bearer ${SECRET}` },
    body: { model: 'gpt-5.2', messages: [{ role: 'user', content }], stream },
    timeoutMs: 5_000,
    responseType: 'json',
    ...more,
  });

describe('answers', () => {
  test('JSON is parsed', async () => {
    const result = await ask('hi');
    expect(result).toMatchObject({ kind: 'answer', status: 200, ok: true, body: { object: 'chat.completion' } });
    expect(result.kind === 'answer' && result.headers.get('x-request-id')).toBe('req_fake');
  });

  test('text is text', async () => {
    const result = await ask('hi', { responseType: 'text' });
    expect(result.kind === 'answer' && result.body).toMatch(/^\{"id":"chatcmpl/);
  });

  test('invalid JSON is returned as text', async () => {
    expect(await ask('[fail:html]')).toMatchObject({
      kind: 'answer',
      ok: true,
      body: expect.stringMatching(/^<html>/),
    });
  });

  test.each(['400', '429', '500', '503'])('%s is an answer, also to a request for a stream', async (status) => {
    const expected = { kind: 'answer', status: Number(status), ok: false, body: { error: expect.anything() } };
    expect(await ask(`[fail:${status}]`)).toMatchObject(expected);
    expect(await ask(`[fail:${status}]`, { responseType: 'stream' }, true)).toMatchObject(expected);
  });

  test('a redirect is an answer and is not followed', async () => {
    const before = vendor.requests.length;
    expect(await ask('[fail:redirect]')).toMatchObject({ kind: 'answer', status: 302, ok: false });
    expect(vendor.requests.length).toBe(before + 1);
  });

  test('a stream is returned unread', async () => {
    const result = await ask('[reply:5]', { responseType: 'stream' }, true);
    if (result.kind !== 'stream') throw new Error(result.kind);
    const usage = new StreamUsage();
    for await (const chunk of result.body as unknown as AsyncIterable<Uint8Array>) usage.push(chunk);
    expect(usage.completed).toBe(true);
  });
});

describe('what goes wrong', () => {
  test('a silent vendor is a timeout, before the headers and in the body', async () => {
    expect(await ask('[fail:hang]', { timeoutMs: 50 })).toEqual({ kind: 'timeout' });
    // A stream that was asked for as JSON: its headers come at once, its body never ends.
    expect(await ask('[fail:silent]', { timeoutMs: 50 }, true)).toEqual({ kind: 'timeout' });
  });

  test('no connection is unreachable', async () => {
    const gone = await serveOnLoopback(() => undefined);
    await gone.close();
    expect(await ask('hi', { url: `${gone.url}/` })).toEqual({
      kind: 'unreachable',
      message: 'the vendor could not be reached (ECONNREFUSED)',
    });
  });

  test('a broken connection is unreachable before an answer, and broken in the middle of one', async () => {
    expect(await ask('[fail:cut-first]')).toMatchObject({ kind: 'unreachable' });
    expect(await ask('[fail:cut]')).toMatchObject({ kind: 'broken', status: 200 });
  });

  test('an answer that is too large to be held is read to its end for what it used', async () => {
    const usage = '"usage":{"prompt_tokens":3,"completion_tokens":2}';
    const part = new TextEncoder().encode(`"${'x'.repeat(1024 * 1024)}",`);
    const parts = [`{"choices":[`, ...Array(30).fill(part), `""],${usage}}`].map((one) =>
      typeof one === 'string' ? new TextEncoder().encode(one) : one,
    );
    const fetcher = async () => new Response(new Blob(parts).stream());
    const request = { url: `${vendor.url}/v1`, method: 'POST', headers: {}, timeoutMs: 60_000 } as const;
    for (const responseType of ['json', 'text'] as const) {
      const result = await requestVendor({ ...request, responseType }, fetcher);
      if (result.kind !== 'too_large') throw new Error(result.kind);
      expect(result.reading.usage()).toMatchObject({ inputTokens: 3, responseTokens: 2 });
    }
  });

  test.each([
    ['name', { 'x y': 'z' }],
    ['line break', { 'x-key': `${SECRET}\r\nx-evil: 1` }],
    ['character', { 'x-key': `${SECRET}☃` }],
  ])('a header with a bad %s is not sent, and its value is not repeated', async (_, headers) => {
    const before = vendor.requests.length;
    const result = await ask('hi', { headers });
    expect(result.kind).toBe('unreachable');
    expect(JSON.stringify(result)).not.toContain(SECRET);
    expect(vendor.requests.length).toBe(before);
  });

  test('JSON with too many values is too large if JSON was asked for, and text if text was', async () => {
    const usage = '"usage":{"prompt_tokens":3,"completion_tokens":2}';
    const text = `{"choices":[${'{},'.repeat(JSON_VALUES_MAX)}{}],${usage}}`;
    const fetcher = async () => new Response(text, { headers: { 'Content-Type': 'application/json' } });
    const request = { url: `${vendor.url}/v1`, method: 'POST', headers: {}, timeoutMs: 5_000 } as const;
    const built = await requestVendor({ ...request, responseType: 'json' }, fetcher);
    if (built.kind !== 'too_large') throw new Error(built.kind);
    expect(built.message).toBe(`the vendor's answer has more than ${JSON_VALUES_MAX} JSON values`);
    expect(built.reading.usage()).toMatchObject({ inputTokens: 3, responseTokens: 2 });
    expect(await requestVendor({ ...request, responseType: 'text' }, fetcher)).toMatchObject({
      kind: 'answer',
      body: text,
    });
  });

  test('no outcome contains the headers, whatever the fetcher throws', async () => {
    const request = {
      url: 'https://x.dev/',
      method: 'POST' as const,
      headers: { authorization: SECRET },
      timeoutMs: 100,
      responseType: 'json' as const,
    };
    const error = new TypeError(`bad header ${SECRET}`, { cause: { code: `X ${SECRET}` } });
    const result = await requestVendor(request, () => Promise.reject(error));
    expect(result).toEqual({ kind: 'unreachable', message: 'the vendor could not be reached' });
  });
});

describe('what is sent', () => {
  const sent = async (more: Partial<VendorRequest>) => {
    await ask('hi', more);
    const record = vendor.requests.at(-1);
    if (!record) throw new Error('nothing was sent');
    return record;
  };

  test('a header in two spellings is sent once with both values', async () => {
    const { headers } = await sent({ headers: { 'X-Team': 'red', 'x-team': 'blue' } });
    expect(headers['x-team']).toBe('red, blue');
  });

  test('headers of the connection and of proxies are left out, and all others are sent', async () => {
    const { headers } = await sent({
      headers: {
        Authorization: `Bearer ${SECRET}`,
        Host: 'evil.com',
        'Content-Length': '3',
        'Transfer-Encoding': 'chunked',
        Connection: 'close',
        'CF-Connecting-IP': '1.2.3.4',
        'X-Forwarded-For': '1.2.3.4',
        'X-Real-IP': '1.2.3.4',
        'Proxy-Authorization': 'x',
        'OpenAI-Organization': 'org-1',
      },
    });
    expect(headers).toMatchObject({
      authorization: `Bearer ${SECRET}`,
      'openai-organization': 'org-1',
      'content-type': 'application/json',
    });
    expect(headers.host).toBe(new URL(vendor.url).host);
    expect(Object.keys(headers).filter((name) => /^(?:cf-|x-forwarded-|x-real-ip|proxy-)/.test(name))).toEqual([]);
    expect(headers.connection).not.toBe('close');
  });

  test('text is sent unchanged with the content type of the caller', async () => {
    const text = '{"model":"gpt-5.2",  "messages":[]}';
    const record = await sent({
      body: text,
      headers: { authorization: 'Bearer x', 'Content-Type': 'application/json; charset=utf-8' },
    });
    expect(record.body).toEqual(JSON.parse(text));
    expect(record.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(record.headers['content-length']).toBe(String(text.length));
  });

  test('a form is sent as a form', async () => {
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new Blob(['{}\n']), 'in.jsonl');
    const record = await sent({ url: `${vendor.url}/v1/files`, body: form });
    expect(record.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
  });

  test('a GET has no body', async () => {
    const record = await sent({ url: `${vendor.url}/v1/models`, method: 'GET' });
    expect([record.method, record.body]).toEqual(['GET', '']);
  });
});
