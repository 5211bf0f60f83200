/**
 * Paths of a vendor that its operator has opened: each request is a call, passes as it is, and reaches nothing else.
 */

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { describe, expect, test, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { REPLAY_HEADER } from '../../src/contract/envelope.ts';
import type { Tenant } from '../support/api.ts';
import { planOnCredit } from '../support/credit-plans.ts';
import { accountOf, mockVendor, newTenant as newGatewayTenant, readStoredCall, usage } from '../support/gateway.ts';
import { bindings, operator } from '../support/worker.ts';

mockVendor();

const app = createApp();
const ORIGIN = 'https://rerank.example.com';
const SECRET = 'jina-secret-key-abcdefgh';
const OPEN = ['/v1/rerank', '/v1/jobs/*', '/v1/images/generations', '/v1/chat/completions'];

interface Asked {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: Uint8Array;
}

/** The vendors' requests, and their answers. */
let asked: Asked[];
function answering(answer: (asked: Asked) => Response | Promise<Response>): void {
  asked = [];
  vi.mocked(globalThis.fetch).mockImplementation(async (url, init) => {
    const { method = 'GET', headers = {}, body } = (init ?? {}) as RequestInit & { headers?: Record<string, string> };
    const bytes = new Uint8Array(await new Response(body as BodyInit | null).arrayBuffer());
    const one = { url: String(url), method, headers: headers as Record<string, string>, body: bytes };
    asked.push(one);
    return answer(one);
  });
}

async function newTenant(plan?: object, passthrough: string[] = OPEN, provider = 'jina') {
  const tenant = await newGatewayTenant(plan);
  await setVendor(tenant, provider, passthrough);
  return tenant;
}

async function setVendor({ organizationId: org }: Tenant, provider: string, passthrough: string[], more: object = {}) {
  const body = { apiKey: SECRET, baseUrl: `${ORIGIN}/v1`, passthrough, ...more };
  const set = await operator.send('setVendor', { params: { org, provider }, body });
  expect(set.status).toBe(200);
}

interface Request {
  method?: string;
  body?: BodyInit;
  headers?: Record<string, string>;
}

async function ask(key: string, path: string, { method = 'POST', body, headers = {} }: Request = {}) {
  const context = createExecutionContext();
  const init = { method, headers: { Authorization: `Bearer ${key}`, ...headers }, ...(body !== undefined && { body }) };
  const response = await app.request(`/v1/passthrough/${path}`, init, bindings, context);
  const callId = response.headers.get('x-service-call-id') ?? '';
  return { response, callId, rest: () => waitOnExecutionContext(context) };
}

const json = (body: unknown, headers = {}) => ({
  body: JSON.stringify(body),
  headers: { 'Content-Type': 'application/json', ...headers },
});
const decodeBody = ({ body }: Asked) => new TextDecoder().decode(body);
const parseBody = (one: Asked) => JSON.parse(decodeBody(one)) as Record<string, unknown>;
/** The record of a call. */
const recorded = async (tenant: Tenant, callId: string) =>
  (await tenant.api.send('readCall', { params: { callId } })).data;
const readError = async (response: Response) =>
  (await response.json<{ error: { code: string; message: string; param: string | null } }>()).error;

/** 2 USD per million prompt tokens. */
async function price({ organizationId: org }: Tenant, modelKey = 'jina/jina-reranker-v3'): Promise<void> {
  const body = { inputUsdPerMillion: 2, outputUsdPerMillion: 0 };
  const set = await operator.send('setPrice', { params: { org, modelKey }, body });
  expect(set.status).toBe(200);
}

const RERANK = { model: 'jina-reranker-v3', query: 'q', documents: ['a'] };
const reranked = () => Response.json({ ...RERANK, results: [], usage: { prompt_tokens: 815, total_tokens: 815 } });

describe('a request to an open path', () => {
  test("reaches the root of the vendor's host, with the query, the vendor's key and fixed headers, and without our fields", async () => {
    const tenant = await newTenant();
    await setVendor(tenant, 'jina', OPEN, { headers: { 'x-region': 'eu' } });
    answering(reranked);
    const written =
      '{"query": "q",  "model":"jina/jina-reranker-v3","seed":12345678901234567890,"customer":"ann","feature":"f","tags":["t"]}';
    const headers = { 'Content-Type': 'application/json', 'OpenAI-Beta': 'b', 'x-api-key': 'mine', Cookie: 'c=1' };
    const { response } = await ask(tenant.key, 'jina/v1/rerank?top=3&x=%2F..', { body: written, headers });
    expect(response.status).toBe(200);
    const [one] = asked as [Asked];
    expect([one.url, one.method]).toEqual([`${ORIGIN}/v1/rerank?top=3&x=%2F..`, 'POST']);
    expect(decodeBody(one)).toBe('{"query": "q",  "model":"jina-reranker-v3","seed":12345678901234567890}');
    expect(one.headers).toMatchObject({ authorization: `Bearer ${SECRET}`, 'x-region': 'eu', 'openai-beta': 'b' });
    expect(Object.keys(one.headers).filter((name) => ['x-api-key', 'cookie'].includes(name))).toEqual([]);
    expect(JSON.stringify(one.headers)).not.toContain(tenant.key);
  });

  test.each([
    ['anthropic', { 'x-api-key': SECRET, 'anthropic-version': '2023-06-01' }],
    ['google', { 'x-goog-api-key': SECRET }],
  ])('has the key as %s takes it', async (provider, headers) => {
    const tenant = await newTenant(undefined, ['/v1/rerank'], provider);
    answering(reranked);
    await ask(tenant.key, `${provider}/v1/rerank`, json(RERANK));
    expect(asked[0]?.headers).toMatchObject(headers);
    expect(asked[0]?.headers).not.toHaveProperty('authorization');
  });

  test('costs what its usage comes to, exactly, and is recorded with its labels', async () => {
    const tenant = await newTenant();
    await price(tenant);
    answering(reranked);
    const labels = { 'x-usage-feature': 'search', 'x-usage-tags': 'a, b', 'x-usage-customer-user-id': 'u1' };
    const { response, callId } = await ask(tenant.key, 'jina/v1/rerank', json(RERANK, labels));
    expect(response.headers.get('x-service-cost-usd')).toBe('0.00163');
    expect(response.headers.get('x-llm-model-key')).toBe('jina/jina-reranker-v3');
    expect(await recorded(tenant, callId)).toMatchObject({
      status: 'COMPLETED',
      customerUserId: 'u1',
      providerUsed: 'jina',
      modelUsed: 'jina-reranker-v3',
      pricingStatus: 'FINAL',
      costUsdNano: '1630000',
    });
    expect(await readStoredCall(tenant, callId)).toMatchObject({ feature: 'search', tags: ['a', 'b'] });
    expect((await accountOf(tenant)).consumed).toMatchObject({ standardCalls: 1 });
  });

  test('whose answer says nothing of usage, or which names no model, has an UNAVAILABLE cost and counts', async () => {
    const tenant = await newTenant();
    await price(tenant);
    answering(() => Response.json({ results: [] }));
    const silent = await ask(tenant.key, 'jina/v1/rerank', json(RERANK));
    expect(silent.response.headers.has('x-service-cost-usd')).toBe(false);
    expect(await recorded(tenant, silent.callId)).toMatchObject({
      status: 'COMPLETED',
      pricingStatus: 'UNAVAILABLE',
      modelUsed: 'jina-reranker-v3',
    });
    for (const method of ['GET', 'DELETE', 'PUT', 'PATCH']) {
      const { response, callId } = await ask(tenant.key, 'jina/v1/jobs/7', { method });
      expect(response.status, method).toBe(200);
      expect(response.headers.has('x-llm-model-key')).toBe(false);
      const call = await recorded(tenant, callId);
      expect(call, method).toMatchObject({ status: 'COMPLETED', pricingStatus: 'UNAVAILABLE', providerUsed: 'jina' });
      expect(call.modelUsed).toBeNull();
    }
    expect(asked.slice(1).map(({ method, body }) => [method, body.length])).toEqual([
      ['GET', 0],
      ['DELETE', 0],
      ['PUT', 0],
      ['PATCH', 0],
    ]);
    expect((await accountOf(tenant)).consumed).toMatchObject({ standardCalls: 5 });
  });

  test('is paid by the tier of its model, and denied before the vendor is asked if the plan has no more', async () => {
    const plan = { name: 'P', limitType: 'BLOCK', limits: { premiumCalls: 1, standardCalls: 2 } };
    const tenant = await newTenant(plan);
    answering(() => Response.json({ model: 'gpt-5.2', choices: [], usage }));
    const premium = json({ model: 'gpt-5.2', messages: [] });
    expect((await ask(tenant.key, 'jina/v1/chat/completions', premium)).response.status).toBe(200);
    expect((await accountOf(tenant)).consumed).toMatchObject({ premiumCalls: 1 });
    const denied = await ask(tenant.key, 'jina/v1/chat/completions', premium);
    expect([denied.response.status, (await readError(denied.response)).code]).toEqual([403, 'ENTITLEMENT_DENIED']);
    expect(asked).toHaveLength(1);
    expect((await ask(tenant.key, 'jina/v1/jobs/7', { method: 'GET' })).response.status).toBe(200);
    expect((await ask(tenant.key, 'jina/v1/jobs/7', { method: 'GET' })).response.status).toBe(200);
    expect((await ask(tenant.key, 'jina/v1/jobs/7', { method: 'GET' })).response.status).toBe(403);
    expect(asked).toHaveLength(3);
  });

  test('must be allowed what its path and its body ask for', async () => {
    const tenant = await newTenant({
      name: 'P',
      limitType: 'BLOCK',
      features: { search: false, image: false, audio: false },
    });
    answering(reranked);
    for (const [path, body] of [
      ['jina/v1/images/generations', { prompt: 'x' }],
      ['jina/v1/chat/completions', { model: 'm', messages: [], web_search_options: {} }],
    ] as const) {
      const { response } = await ask(tenant.key, path, json(body));
      expect([response.status, (await readError(response)).code], path).toEqual([403, 'ENTITLEMENT_DENIED']);
    }
    expect(asked).toEqual([]);
    expect((await ask(tenant.key, 'jina/v1/rerank', json(RERANK))).response.status).toBe(200);
  });

  test('is not paid by credit without a price, and with one only if the organization opens it', async () => {
    const plan = planOnCredit();
    const tenant = await newTenant(plan);
    const params = { org: tenant.organizationId };
    const provisioned = await tenant.api.send('provisionCustomer', { body: { customerId: 'default' } });
    expect(provisioned.status).toBe(200);
    const granted = await operator.send('grantCredit', {
      params: { ...params, customerId: 'default' },
      body: { kind: 'USD', amountUsd: '5.00', reference: 'test' },
    });
    expect(granted.status).toBe(200);
    answering(reranked);
    for (const request of [json(RERANK), { body: 'bytes', headers: { 'Content-Type': 'text/plain' } }]) {
      const refused = await ask(tenant.key, 'jina/v1/rerank', request);
      expect((await readError(refused.response)).code).toBe('MODEL_NOT_PRICED');
    }
    expect(asked).toEqual([]);
    await price(tenant);
    await vi.waitFor(async () => {
      const { response } = await ask(tenant.key, 'jina/v1/rerank', json(RERANK));
      expect(await readError(response)).toMatchObject({ code: 'BOUND_UNKNOWN', component: 'endpoint' });
    }, 60_000);
    expect(asked).toEqual([]);
    await operator.send('updateOrganization', { params, body: { creditOpen: ['component:endpoint'] } });
    const paid = await vi.waitFor(async () => {
      const { response, callId } = await ask(tenant.key, 'jina/v1/rerank', json(RERANK));
      expect(response.status).toBe(200);
      return callId;
    }, 60_000);
    expect(await recorded(tenant, paid)).toMatchObject({ costUsdNano: '1630000' });
    expect(BigInt((await accountOf(tenant)).wallet.held)).toBe(0n);
  });
});

describe('an answer', () => {
  test.each([
    ['binary', 'audio/mpeg', Uint8Array.from({ length: 100_000 }, (_, index) => (index * 7) % 256)],
    ['text', 'text/plain; charset=utf-8', new TextEncoder().encode('Grüße\r\n\r\n{')],
    ['that looks like JSON', 'application/octet-stream', new TextEncoder().encode('{"usage":')],
    ['of lines', 'application/x-ndjson', new TextEncoder().encode('{"a":1}\n{"b":2}\n')],
  ])('%s passes byte for byte, with its type', async (_, type, bytes) => {
    const tenant = await newTenant();
    answering(
      () => new Response(bytes, { status: 201, headers: { 'Content-Type': type, 'Content-Disposition': 'x' } }),
    );
    const { response, callId, rest } = await ask(tenant.key, 'jina/v1/rerank', json(RERANK));
    expect([response.status, response.headers.get('Content-Type')]).toEqual([201, type]);
    expect(response.headers.get('Content-Disposition')).toBe('x');
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes);
    await rest();
    expect(await recorded(tenant, callId)).toMatchObject({ status: 'COMPLETED', pricingStatus: 'UNAVAILABLE' });
  });

  test('of events passes byte for byte and reports its usage; one in an unknown form is whole at its end', async () => {
    const tenant = await newTenant();
    const known = `data: ${JSON.stringify({ model: 'gpt-5.2', choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] })}\n\ndata: ${JSON.stringify({ model: 'gpt-5.2', choices: [], usage })}\n\ndata: [DONE]\n\n`;
    const unknown = 'event: progress\ndata: {"done":0.5}\n\nevent: progress\ndata: {"done":1}\n\n';
    for (const [events, pricing] of [
      [known, { pricingStatus: 'FINAL', costUsdNano: String(10 * 1_750 + 4 * 14_000) }],
      [unknown, { pricingStatus: 'UNAVAILABLE' }],
    ] as const) {
      answering(() => new Response(events, { headers: { 'Content-Type': 'text/event-stream' } }));
      const { response, callId, rest } = await ask(
        tenant.key,
        'jina/v1/chat/completions',
        json({ model: 'gpt-5.2', stream: true }),
      );
      expect(response.headers.get('Content-Type')).toBe('text/event-stream');
      expect(await response.text()).toBe(events);
      await rest();
      expect(await recorded(tenant, callId)).toMatchObject({ status: 'COMPLETED', ...pricing });
      expect(parseBody(asked[0] as Asked)).toEqual({ model: 'gpt-5.2', stream: true });
    }
  });

  test('of events in a known form that breaks off is a failed call', async () => {
    const tenant = await newTenant();
    const cut = `data: ${JSON.stringify({ model: 'gpt-5.2', choices: [{ index: 0, delta: { content: 'x' } }] })}\n\n`;
    answering(() => new Response(cut, { headers: { 'Content-Type': 'text/event-stream' } }));
    const { response, callId, rest } = await ask(
      tenant.key,
      'jina/v1/chat/completions',
      json({ model: 'gpt-5.2', stream: true }),
    );
    expect(await response.text()).toBe(cut);
    await rest();
    expect(await readStoredCall(tenant, callId)).toMatchObject({
      status: 'FAILED',
      outcome: { error: { code: 'VENDOR_STREAM_CUT' } },
    });
  });

  test('of bytes that breaks off breaks for the caller, and is a failed call', async () => {
    const tenant = await newTenant();
    answering(() => {
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (controller.desiredSize === 0) return;
          controller.enqueue(new Uint8Array(1_000));
          controller.error(new Error('the connection broke'));
        },
      });
      return new Response(body, { headers: { 'Content-Type': 'audio/mpeg' } });
    });
    const { response, callId, rest } = await ask(tenant.key, 'jina/v1/rerank', json(RERANK));
    await expect(response.arrayBuffer()).rejects.toThrow();
    await rest();
    expect(await readStoredCall(tenant, callId)).toMatchObject({
      status: 'FAILED',
      outcome: { error: { code: 'VENDOR_STREAM_CUT' } },
    });
  });

  test("without a body, and an error in the vendor's own form, keep their status; no answer has the key", async () => {
    const tenant = await newTenant();
    answering(() => new Response(null, { status: 204 }));
    const empty = await ask(tenant.key, 'jina/v1/jobs/7', { method: 'DELETE' });
    expect([empty.response.status, await empty.response.text()]).toEqual([204, '']);

    answering(() => Response.json({ sent: { authorization: `Bearer ${SECRET}` } }));
    const echoed = await ask(tenant.key, 'jina/v1/rerank', json(RERANK));
    expect(await echoed.response.json()).toEqual({ sent: { authorization: 'Bearer [credential]' } });

    answering(() => Response.json({ detail: `the key ${SECRET} is wrong`, n: 1 }, { status: 422 }));
    const failed = await ask(tenant.key, 'jina/v1/rerank', json(RERANK));
    expect(failed.response.status).toBe(422);
    expect(await failed.response.json()).toEqual({ detail: 'the key [credential] is wrong', n: 1 });
    const call = await readStoredCall(tenant, failed.callId);
    expect(call).toMatchObject({ status: 'FAILED', outcome: { error: { code: 'VENDOR_HTTP_422' } } });
    expect(JSON.stringify(call)).not.toContain(SECRET);

    answering(() => new Response(null, { status: 302, headers: { Location: 'https://other.example.com/' } }));
    const redirected = await ask(tenant.key, 'jina/v1/rerank', json(RERANK));
    expect([redirected.response.status, redirected.response.headers.has('Location')]).toEqual([502, false]);
    expect(asked).toHaveLength(1);
  });
});

describe('a body', () => {
  test.each([
    ['bytes', 'application/octet-stream', Uint8Array.from({ length: 70_000 }, (_, index) => (index * 11) % 256)],
    ['a form', 'multipart/form-data; boundary=b', new TextEncoder().encode('--b\r\n\r\nx\r\n--b--\r\n')],
    ['JSON that is no object', 'application/json', new TextEncoder().encode('[1, 2.50]')],
  ])('of %s passes byte for byte with its type', async (_, type, bytes) => {
    const tenant = await newTenant();
    answering(reranked);
    const { response } = await ask(tenant.key, 'jina/v1/rerank', { body: bytes, headers: { 'Content-Type': type } });
    expect(response.status).toBe(200);
    expect(asked[0]?.headers['content-type']).toBe(type);
    expect(asked[0]?.body).toEqual(bytes);
  });

  test('of more than 32 MiB, of broken JSON, or with a broken field of ours is refused, and nothing is asked', async () => {
    const tenant = await newTenant();
    answering(reranked);
    const large = {
      body: new Uint8Array(32 * 1024 * 1024 + 1),
      headers: { 'Content-Type': 'application/octet-stream' },
    };
    const broken = { body: '{"query":', headers: { 'Content-Type': 'application/json' } };
    const encoded = { body: 'x', headers: { 'Content-Type': 'text/plain', 'Content-Encoding': 'gzip' } };
    const statuses = [];
    for (const request of [large, broken, encoded, json({ ...RERANK, tags: 'no list' })])
      statuses.push((await ask(tenant.key, 'jina/v1/rerank', request)).response.status);
    expect(statuses).toEqual([413, 400, 415, 400]);
    expect(asked).toEqual([]);
  });
});

describe('under an idempotency key', () => {
  test('a retry gets the stored answer, and the vendor is asked once; another request is refused', async () => {
    const tenant = await newTenant();
    answering(reranked);
    const keyed = (body: BodyInit, path = 'jina/v1/rerank', type = 'application/json') =>
      ask(tenant.key, path, { body, headers: { 'Content-Type': type, 'Idempotency-Key': 'k1' } });
    const first = await keyed(JSON.stringify(RERANK));
    const again = await keyed(JSON.stringify(RERANK));
    expect(await again.response.text()).toBe(await first.response.text());
    expect(again.response.headers.get(REPLAY_HEADER)).toBe('true');
    expect((await keyed(JSON.stringify(RERANK), 'jina/v1/rerank?x=1')).response.status).toBe(409);
    expect((await keyed(JSON.stringify({ ...RERANK, query: 'r' }))).response.status).toBe(409);
    expect((await keyed('bytes', 'jina/v1/rerank', 'text/plain')).response.status).toBe(409);
    expect(asked).toHaveLength(1);
  });

  test('a retry gets the bytes of an answer too', async () => {
    const tenant = await newTenant();
    const bytes = Uint8Array.from({ length: 5_000 }, (_, index) => (index * 13) % 256);
    answering(() => new Response(bytes, { headers: { 'Content-Type': 'audio/mpeg' } }));
    const keyed = json(RERANK, { 'Idempotency-Key': 'k2' });
    for (const replayed of [null, 'true']) {
      const { response, rest } = await ask(tenant.key, 'jina/v1/rerank', keyed);
      expect([response.headers.get('Content-Type'), response.headers.get(REPLAY_HEADER)]).toEqual([
        'audio/mpeg',
        replayed,
      ]);
      expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes);
      await rest();
    }
    expect(asked).toHaveLength(1);
  });
});

describe('what is not open', () => {
  test('is 404 in the form of OpenAI with the open paths, and no vendor is asked', async () => {
    const tenant = await newTenant();
    await setVendor(tenant, 'google', []);
    answering(reranked);
    const closed = await ask(tenant.key, 'jina/v1/files', { method: 'GET' });
    expect(closed.response.status).toBe(404);
    const { code, message } = await readError(closed.response);
    expect(code).toBe('NOT_FOUND');
    for (const open of OPEN) expect(message).toContain(open);
    const none = await readError((await ask(tenant.key, 'google/v1beta/models/x:generateContent')).response);
    expect(none).toMatchObject({ code: 'NOT_FOUND', message: expect.stringContaining('none is') });
    const unknown = await ask(tenant.key, 'nobody/v1/rerank');
    expect([unknown.response.status, (await readError(unknown.response)).code]).toEqual([400, 'VENDOR_NOT_CONFIGURED']);
    expect(asked).toEqual([]);
  });

  test.each([
    '/v1/rerank/../files',
    '/v1/rerank/%2e%2e/files',
    '/v1/rerank/.%2E/files',
    '/v1/rerank%2f..%2ffiles',
    '/v1/rerank\\..\\files',
    '/v1/rerank%5c..%5cfiles',
    '/v1/rerank/',
    '/v1/rerank/x',
    '/v1/Rerank',
    '/v1/%72erank',
    '/v1/rerank;x=1',
    '/v1/rerank%3b',
    '/v1/rerank%00',
    '/v1/rerank%20',
    '/v1/rerank%23',
    '/v1/rerank%3fx',
    '//v1/rerank',
    '/v1//rerank',
    '/v1/jobs',
    '/v1/jobs/',
    '/v1/jobs/../files',
    '/v1/jobs/%2e%2e/files',
    '/v1/jobs/x/../../files',
    '/v1/jobs/..%2ffiles',
    '/v1/jobs/%252e%252e/files',
    '/v1/jobs/..;/files',
    '/v1/jobs/a//b',
    '/v1/jobs/a%5cb',
    '/v1/jobs/%c0%ae%c0%ae/files',
    '/v1/jobs/.../files',
    '/v1/jobs\\..\\files',
    '//evil.example.com/v1/rerank',
    '/\\evil.example.com/v1/rerank',
    '/https://evil.example.com/v1/rerank',
    '/@evil.example.com/v1/rerank',
  ])('%s is 404, and reaches no vendor', async (path) => {
    const tenant = await newTenant();
    answering(reranked);
    const { response } = await ask(tenant.key, `jina${path}`, json(RERANK));
    expect(response.status).toBe(404);
    expect(asked).toEqual([]);
  });

  test.each(['/../nobody/v1/rerank', '/%2e%2e/nobody/v1/rerank', '/../../files', '/../../../operator/health'])(
    '%s leaves the vendor, and reaches none',
    async (path) => {
      const tenant = await newTenant();
      answering(reranked);
      const { response } = await ask(tenant.key, `jina${path}`, json(RERANK));
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(asked).toEqual([]);
    },
  );

  test.each([
    ['/v1/files/../rerank', '/v1/rerank'],
    ['/v1%2Frerank', '/v1/rerank'],
    ['/v1/jobs/a/../b', '/v1/jobs/b'],
    ['/v1/jobs/a%20b/é', '/v1/jobs/a%20b/%C3%A9'],
    ['/v1/jobs/a:run/', '/v1/jobs/a:run/'],
  ])('%s is open as %s, and that is what the vendor is asked', async (path, target) => {
    const tenant = await newTenant();
    answering(reranked);
    expect((await ask(tenant.key, `jina${path}`, json(RERANK))).response.status).toBe(200);
    expect(asked.map(({ url }) => url)).toEqual([`${ORIGIN}${target}`]);
  });

  test('is everything for a session token', async () => {
    const tenant = await newTenant();
    answering(reranked);
    const { data } = await tenant.api.send('createClientSession', { body: { customerId: 'ann' } });
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const { response } = await ask(data.token, 'jina/v1/rerank', { method });
      expect(response.status, method).toBe(403);
    }
    expect(asked).toEqual([]);
  });
});

describe('open paths of a vendor', () => {
  test('are kept with it, shown where it is read and in the event log, and are gone when it is set without them', async () => {
    const tenant = await newTenant();
    const params = { org: tenant.organizationId, provider: 'jina' };
    expect((await operator.send('readVendor', { params })).data.passthrough).toEqual(OPEN);
    const events = await operator.send('listEvents', { query: { organizationId: tenant.organizationId } });
    expect(events.data.items[0]).toMatchObject({
      action: 'vendor.put',
      after: { provider: 'jina', passthrough: OPEN },
    });
    await operator.send('setVendor', { params, body: { apiKey: SECRET, baseUrl: `${ORIGIN}/v1` } });
    expect((await operator.send('readVendor', { params })).data).not.toHaveProperty('passthrough');
  });

  test.each([
    ['v1/rerank'],
    ['/'],
    ['/*'],
    ['/v1/../rerank'],
    ['/v1/./rerank'],
    ['/v1//rerank'],
    ['//evil.example.com/x'],
    ['/v1/%2e%2e/x'],
    ['/v1/a%2fb'],
    ['/v1/a%20b'],
    ['/v1/rerank?x=1'],
    ['/v1/rerank#x'],
    ['/v1/rerank;x'],
    ['/v1\\rerank'],
    ['/v1/*/x'],
    ['/v1/jobs*'],
    ['/v1/re rank'],
    ['https://api.jina.ai/v1/rerank'],
    [`/v1/${'x'.repeat(200)}`],
  ])('%s cannot be opened', async (path) => {
    const tenant = await newTenant();
    const params = { org: tenant.organizationId, provider: 'jina' };
    const body = { apiKey: SECRET, baseUrl: `${ORIGIN}/v1`, passthrough: ['/v1/rerank', path] };
    const { status, refusal } = await operator.send('setVendor', { params, body });
    expect([status, refusal.details]).toMatchObject([400, [{ path: 'passthrough.1' }]]);
    expect((await operator.send('readVendor', { params })).data.passthrough).toEqual(OPEN);
  });

  test('are at most 50', async () => {
    const tenant = await newTenant();
    const passthrough = Array.from({ length: 51 }, (_, index) => `/v1/path-${index}`);
    const params = { org: tenant.organizationId, provider: 'jina' };
    const body = { apiKey: SECRET, baseUrl: `${ORIGIN}/v1`, passthrough };
    expect((await operator.send('setVendor', { params, body })).status).toBe(400);
  });
});
