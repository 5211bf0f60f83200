/**
 * Promise: an answer of any length passes, and its charge follows from the vendor's report. An answer that has to be
 * held and is too large is charged all the same, and its caller is told so.
 */
import { afterEach, describe, expect, test } from 'vitest';
import { forgetAll } from '../../src/platform/isolate-memory.ts';
import { BUSY_BYTES, HeldBytes } from '../../src/vendors/answer-memory.ts';
import type { Tenant } from '../support/api.ts';
import { ask, BASE_URL, mockVendor, newTenant, readStoredCall, vendor } from '../support/gateway.ts';
import { bindings, operator } from '../support/worker.ts';

mockVendor();
afterEach(forgetAll);

const encoder = new TextEncoder();
const MEGABYTE = 1024 * 1024;
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** So many pieces between a beginning and an end; the test holds none of them. */
function pieces(head: string, piece: string, count: number, tail: string, headers = JSON_TYPE): Response {
  const [first, middle, last] = [head, piece, tail].map((text) => encoder.encode(text));
  let at = -1;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (at < 0) controller.enqueue(first);
        else if (at < count) controller.enqueue(middle?.slice());
        else {
          controller.enqueue(last);
          controller.close();
        }
        at += 1;
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers });
}

async function lengthOf(response: Response): Promise<number> {
  let length = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) length += chunk.length;
  return length;
}

/** The record, if it has the vendor's figures. */
async function reported(tenant: Tenant, callId: string) {
  const { outcome } = (await readStoredCall(tenant, callId)) ?? {};
  expect(outcome?.usageSource).toBeUndefined();
  return [outcome?.usage.inputTokens, outcome?.usage.responseTokens];
}
const USAGE = '"usage":{"prompt_tokens":1000,"completion_tokens":7,"total_tokens":1007}';
const picture = `${'QUJD'.repeat(MEGABYTE / 4)}`;
const logprob = `{"token":"a","logprob":-0.25,"bytes":[97],"top_logprobs":[${'{"token":"b","logprob":-1,"bytes":null},'.repeat(20)}{}]},`;

describe('through the gateway', () => {
  test.each<[string, string, object, () => Response, number]>([
    [
      'a thousand embeddings in base64',
      '/v1/embeddings',
      { model: 'openai/text-embedding-3-large', input: ['x'] },
      () =>
        pieces(
          '{"object":"list","model":"text-embedding-3-large","data":[',
          `{"object":"embedding","embedding":"${'A'.repeat(16_384)}"},`,
          1_000,
          `{"object":"embedding","embedding":""}],"usage":{"prompt_tokens":1000,"total_tokens":1000}}`,
        ),
      0,
    ],
    [
      'embeddings in numbers',
      '/v1/embeddings',
      { model: 'openai/text-embedding-3-large', input: ['x'] },
      () =>
        pieces(
          '{"object":"list","model":"text-embedding-3-large","data":[',
          `{"object":"embedding","embedding":[${'-0.012345678,'.repeat(3_071)}1]},`,
          400,
          `{"object":"embedding","embedding":[1]}],"usage":{"prompt_tokens":1000,"total_tokens":1000}}`,
        ),
      0,
    ],
    [
      'an answer with its log probabilities',
      '/v1/chat/completions',
      { model: 'openai/gpt-5.2', logprobs: true, top_logprobs: 20 },
      () =>
        pieces(
          '{"object":"chat.completion","model":"gpt-5.2","choices":[{"index":0,"message":{"content":"hi"},"logprobs":{"content":[',
          logprob,
          6_200,
          `{}]}}],${USAGE}}`,
        ),
      7,
    ],
    [
      'a picture in a chat',
      '/v1/chat/completions',
      { model: 'openai/gpt-5.2' },
      () =>
        pieces(
          `{"object":"chat.completion","model":"gpt-5.2","choices":[{"index":0,"message":{"content":"hi","images":[{"image_url":{"url":"data:image/png;base64,`,
          picture,
          12,
          `"}}]}}],${USAGE}}`,
        ),
      7,
    ],
    [
      'a picture in one event of a stream',
      '/v1/chat/completions',
      { model: 'openai/gpt-5.2', stream: true },
      () =>
        pieces(
          `data: {"object":"chat.completion.chunk","model":"gpt-5.2","choices":[{"index":0,"finish_reason":"stop","delta":{"images":[{"image_url":{"url":"data:image/png;base64,`,
          picture,
          24,
          `"}}]}}],${USAGE}}\n\ndata: [DONE]\n\n`,
          { 'Content-Type': 'text/event-stream' },
        ),
      7,
    ],
  ])('%s passes, and is charged as it is reported', async (_, path, body, answer, output) => {
    const tenant = await newTenant({ name: 'P', limitType: 'BLOCK', limits: {} });
    vendor.answers = answer;
    const { response, callId, rest } = await ask(tenant.key, body, bindings, path);
    expect(response.status).toBe(200);
    const length = await lengthOf(answer());
    expect(await lengthOf(response)).toBe(length);
    expect(length).toBeGreaterThan(5 * MEGABYTE);
    await rest();
    expect(await reported(tenant, callId)).toEqual([1_000, output]);
  });

  test('an answer that has to be translated and is too large is charged, and its caller is told', async () => {
    const tenant = await newTenant();
    const params = { org: tenant.organizationId, provider: 'anthropic' };
    const anthropic = { apiKey: 'a-test', baseUrl: 'https://api.anthropic.com/v1' };
    expect((await operator.send('setVendor', { params, body: anthropic })).status).toBe(200);
    vendor.answers = () =>
      pieces(
        '{"type":"message","model":"claude-sonnet-5-5","content":[{"type":"text","text":"',
        picture,
        12,
        `"}],"stop_reason":"end_turn","usage":{"input_tokens":1000,"output_tokens":7}}`,
      );
    const { response, callId, rest } = await ask(tenant.key, { model: 'anthropic/claude-sonnet-5-5' });
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ error: { code: 'VENDOR_ANSWER_TOO_LARGE' } });
    expect(response.headers.get('x-should-retry')).toBe('false');
    await rest();
    expect(await reported(tenant, callId)).toEqual([1_000, 7]);
  });
});

describe('through POST /call', () => {
  const call = async (tenant: Tenant, answer: () => Response, idempotencyKey: string) => {
    vendor.answers = answer;
    const body = { model: 'gpt-5.2', messages: [] };
    const request = { customerId: 'default', idempotencyKey, vendor: { url: `${BASE_URL}/chat/completions`, body } };
    return (await tenant.api.send('makeCall', { body: request })).body;
  };

  test.each<[string, () => Response]>([
    ['bytes', () => pieces('{"choices":[{"message":{"content":"', picture, 12, `"}}],"model":"gpt-5.2",${USAGE}}`)],
    ['values', () => pieces('{"choices":[{"logprobs":[', logprob, 6_200, `{}]}],"model":"gpt-5.2",${USAGE}}`)],
  ])('an answer with too many %s is charged, and its caller is told, with the id of the call', async (name, answer) => {
    const tenant = await newTenant();
    const { result, data } = (await call(tenant, answer, `too-large-${name}`)) as never as {
      result: { code: string };
      data: { begin: { callId: string }; vendor: object; endUsage: object };
    };
    expect(result.code).toBe('CALL_VENDOR_WARNING');
    expect(data.vendor).toMatchObject({
      ok: false,
      status: 200,
      body: null,
      error: { details: { code: 'VENDOR_ANSWER_TOO_LARGE' } },
    });
    expect(data.endUsage).toMatchObject({ inputTokens: 1_000, responseTokens: 7 });
    expect(await reported(tenant, data.begin.callId)).toEqual([1_000, 7]);
  });
});

test('if answers that stall fill the memory, a request is asked to come back, and its vendor is not asked', async () => {
  const tenant = await newTenant();
  let asked = 0;
  vendor.answers = () => {
    asked += 1;
    return Response.json({});
  };
  const held = [new HeldBytes(), new HeldBytes(), new HeldBytes()];
  for (const answer of held) expect(answer.take(Math.ceil(BUSY_BYTES / held.length))).toBe(true);
  const { response } = await ask(tenant.key, {});
  expect([response.status, response.headers.get('Retry-After'), asked]).toEqual([503, '1', 0]);
  const request = { customerId: 'default', vendor: { url: `${BASE_URL}/chat/completions`, body: {} } };
  expect((await tenant.api.send('makeCall', { body: request })).status).toBe(503);
  for (const answer of held) answer.release();
  expect((await ask(tenant.key, {})).response.status).toBe(200);
});
