/**
 * The size limits of a body at the gateway: its bytes, its values and its levels, for keys, for session tokens, and for
 * a batch's files and a vendor's answers.
 */
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { readLine } from '../../src/gateway/batches/metering.ts';
import type { Tenant } from '../support/api.ts';
import { answers, ask, BASE_URL, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { bindings, operator, worker } from '../support/worker.ts';

mockVendor();

const MIB = 1_024 * 1_024;
const VALUES_RULE = 'must have at most 200000 JSON values';
const LEVELS_RULE = 'must not nest deeper than 100 levels';

let tenant: Tenant & { key: string };
beforeAll(async () => {
  tenant = await newTenant();
});

async function post(
  token: string,
  path: string,
  body: string,
): Promise<{ status: number; error?: { code: string; message: string } }> {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    Accept: 'application/vnd.service.v1+json',
  };
  const response = await worker.fetch(`https://callmeter.test${path}`, { method: 'POST', headers, body });
  const { error } = await response.json<{ error?: { code: string; message: string } }>();
  return { status: response.status, ...(error && { error }) };
}
const chat = (messages: string, more = '') => `{"model":"gpt-5.2","messages":${messages}${more}}`;
const tooLarge = (rule: string) => ({
  status: 413,
  error: expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE', message: `the body ${rule}` }),
});

describe.each(['/v1/chat/completions', '/v1/responses', '/v1/embeddings', '/v1/batches'])('the body of %s', (path) => {
  test('is refused with the bound that it exceeds and reaches no vendor', async () => {
    vendor.answers = vi.fn(answers);
    // Levels are counted from the body itself, values with the body and its members.
    for (const [rule, body] of [
      [LEVELS_RULE, chat(`${'['.repeat(100)}${']'.repeat(100)}`)],
      [LEVELS_RULE, '['.repeat(1_000_000)],
      [VALUES_RULE, chat(`[${'{},'.repeat(199_997)}{}]`)],
      [VALUES_RULE, chat(`[${'{},'.repeat(3_300_000)}{}]`)],
      ['must have at most 33554432 bytes', chat(`["${'x'.repeat(32 * MIB)}"]`)],
    ] as const) {
      expect(await post(tenant.key, path, body)).toEqual(tooLarge(rule));
    }
    expect(vendor.answers).not.toHaveBeenCalled();
  });
});

test('the gateway refuses in the order of the metering interface: 415, 413, a broken body, then a broken key', async () => {
  vendor.answers = vi.fn(answers);
  const json = 'application/json';
  const sendRefused = async (type: string, body: string, key = 'no key, with spaces') => {
    const response = await worker.fetch('https://callmeter.test/v1/chat/completions', {
      method: 'POST',
      headers: { Authorization: `Bearer ${tenant.key}`, 'Content-Type': type, 'Idempotency-Key': key },
      body,
    });
    const { error } = await response.json<{ error: { code: string; param: string | null } }>();
    return [response.status, error.code, error.param];
  };
  for (const type of ['text/plain', 'application/json-patch', 'application/jsonl'])
    expect(await sendRefused(type, '{bad')).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE', null]);
  expect(await sendRefused(json, chat(`["${'x'.repeat(32 * MIB)}"]`))).toEqual([413, 'PAYLOAD_TOO_LARGE', null]);
  expect(await sendRefused(json, '{bad')).toEqual([400, 'BAD_REQUEST', 'body']);
  expect(await sendRefused(json, '{"model":"gpt-5.2"}')).toEqual([400, 'BAD_REQUEST', 'messages']);
  expect(await sendRefused(json, '')).toEqual([400, 'BAD_REQUEST', 'model']);
  expect(await sendRefused(json, chat('["hello"]'))).toEqual([400, 'BAD_REQUEST', 'Idempotency-Key']);
  expect(vendor.answers).not.toHaveBeenCalled();
});

test('5,000 long messages, and exactly as much as the bounds allow, are answered', async () => {
  vendor.answers = answers;
  const messages = Array.from({ length: 5_000 }, (_, turn) => ({
    role: turn % 2 ? 'assistant' : 'user',
    content: 'word '.repeat(380),
  }));
  for (const list of [
    JSON.stringify(messages),
    `[${'{},'.repeat(199_996)}{}]`,
    `${'['.repeat(99)}1${']'.repeat(99)}`,
  ]) {
    expect((await post(tenant.key, '/v1/chat/completions', chat(list))).status).toBe(200);
  }
});

describe('the body of a request with a session token', () => {
  let token: string;
  beforeAll(async () => {
    token = (await operator.with(tenant.key).send('createClientSession', { body: { customerId: 'alice' } })).data.token;
  });
  const paddedBody = (bytes: number) => chat(`["${'x'.repeat(bytes - chat('[""]').length)}"]`);

  test('may have 1 MiB at the gateway, where that of a key may have 32', async () => {
    vendor.answers = answers;
    expect((await post(token, '/v1/chat/completions', paddedBody(MIB))).status).toBe(200);
    expect(await post(token, '/v1/chat/completions', paddedBody(MIB + 1))).toEqual(
      tooLarge('must have at most 1048576 bytes'),
    );
    expect((await post(tenant.key, '/v1/chat/completions', paddedBody(32 * MIB))).status).toBe(200);
  });

  test('has at most the limit that a key has, on every route', async () => {
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(64 * 1_024) }] });
    expect(await post(token, '/compress_prompt', body)).toEqual(tooLarge('must have at most 65536 bytes'));
  });
});

describe("a line of a batch's input", () => {
  const refusalFor = async (lines: string[]) => {
    vendor.answers = (url) => {
      expect(url).toBe(`${BASE_URL}/files/file_in/content`);
      return new Response(lines.join('\n'));
    };
    const { response } = await ask(
      tenant.key,
      { input_file_id: 'file_in', endpoint: '/v1/chat/completions' },
      bindings,
      '/v1/batches',
    );
    const { error } = await response.json<{ error: { message: string; param: string } }>();
    return [response.status, error.param, error.message];
  };
  const good = '{"body":{"model":"gpt-5.2"}}';

  test.each([
    ['has too many values', VALUES_RULE, `{"body":{"model":"gpt-5.2","input":[${'{},'.repeat(200_000)}{}]}}`],
    ['nests too deep', LEVELS_RULE, `{"body":{"model":"gpt-5.2","input":${'['.repeat(99)}${']'.repeat(99)}}}`],
    ['is no JSON', 'is no JSON', '{"body":'],
    ['is nothing', 'names no model', 'null'],
    ['names no model', 'names no model', '{"body":{}}'],
  ])('that %s is refused with its number', async (_, rule, line) => {
    expect(await refusalFor([good, good, line])).toEqual([400, 'input_file_id', `line 3 of the input file ${rule}`]);
  });
});

describe("a line of a batch's output", () => {
  const line = (body: string) => ({
    text: `{"custom_id":"a","response":{"status_code":200,"body":${body}}}`,
    cut: false,
    shortened: false,
  });
  const usage = '"usage":{"prompt_tokens":7,"total_tokens":7}';

  test('with embeddings of many numbers is read completely', () => {
    const read = readLine(line(`{"data":[{"embedding":[${'0.5,'.repeat(300_000)}1]}],${usage}}`), 1, 'openai');
    expect(read).toMatchObject({ customId: 'a', outcome: { usage: { inputTokens: 7 } } });
  });

  test('with any number of other values is read too', () => {
    const read = readLine(line(`{"data":[${'{},'.repeat(200_000)}{}],${usage}}`), 1, 'openai');
    expect(read).toMatchObject({ customId: 'a', outcome: { usage: { inputTokens: 7 } } });
  });
});

test("a vendor's answer with too many values passes, and is read without them", async () => {
  const text = `{"choices":[${'{},'.repeat(200_000)}{}],"usage":{"prompt_tokens":7,"completion_tokens":2}}`;
  vendor.answers = () => new Response(text, { headers: { 'Content-Type': 'application/json' } });
  const { response, callId, rest } = await ask(tenant.key, {});
  expect([response.status, (await response.text()) === text]).toEqual([200, true]);
  await rest();
  const call = (await tenant.api.send('readCall', { params: { callId } })).data;
  expect(call).toMatchObject({ status: 'COMPLETED', pricingStatus: 'FINAL', usageSource: 'reported' });
});
