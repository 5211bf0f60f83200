import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { CallData } from '../../src/contract/unified-call.ts';
import { SERVICE_VERSION } from '../../src/platform/version.ts';
import { createTenant, type Reply, type Tenant } from '../support/api.ts';
import { fundedCustomer } from '../support/customer.ts';
import { operator } from '../support/worker.ts';

const PLAN = { name: 'Test', limitType: 'BLOCK', limits: { standardTokens: 1_000, premiumTokens: 1_000 } };
const URL_CHAT = 'https://api.openai.com/v1/chat/completions';
const MARKER = 'sk-vendor-secret-0123456789';

let tenant: Tenant;
beforeAll(async () => {
  tenant = await createTenant(operator, PLAN);
});
afterEach(() => vi.unstubAllGlobals());

type Asked = { url: string; method: string; headers: Headers; body: string };

/** Answers outgoing requests instead of the network; returns those requests. */
function vendorAnswers(answer: (asked: Asked, signal: AbortSignal) => Response | Promise<Response>): Asked[] {
  const requests: Asked[] = [];
  vi.stubGlobal('fetch', async (url: string, init: RequestInit & { signal: AbortSignal }) => {
    const asked = {
      url,
      method: String(init.method),
      headers: new Headers(init.headers),
      body: String(init.body ?? ''),
    };
    requests.push(asked);
    return answer(asked, init.signal);
  });
  return requests;
}

const completion = (
  usage: object | null = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
  model = 'gpt-4o-mini',
) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model,
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  ...(usage && { usage }),
});
const stream = () =>
  new Response(`data: ${JSON.stringify(completion())}\n\ndata: [DONE]\n\n`, {
    headers: { 'content-type': 'text/event-stream' },
  });
const chat = (more: object = {}, model = 'gpt-4o-mini') => ({ url: URL_CHAT, body: { model, messages: [] }, ...more });

let serial = 0;
const newKey = () => `unified-${++serial}`;
const send = (body: object, key?: string, api = tenant.api): Promise<Reply<'makeCall'>> =>
  api.send('makeCall', { body, ...(key !== undefined && { headers: { 'Idempotency-Key': key } }) });
/** The data of a call whose vendor failed. */
async function warned(reply: Promise<Reply<'makeCall'>>): Promise<CallData> {
  const { status, body } = await reply;
  expect([status, body.result]).toEqual([
    200,
    { status: 'ACCEPTED', code: 'CALL_VENDOR_WARNING', timestamp: expect.any(String) },
  ]);
  return CallData.parse(body.data);
}
const read = async (callId: string) => (await tenant.api.send('readCall', { params: { callId } })).data;
const meters = async (customerId: string) =>
  (await tenant.api.send('readUsage', { params: { customerId } })).data.meters;

describe('without a vendor', () => {
  test('the reported usage is recorded, priced and presented, field by field', async () => {
    const key = newKey();
    const usage = {
      modelUsed: 'gpt-4o',
      providerUsed: 'openai',
      inputTokens: 1_000,
      cachedInputTokens: 200,
      responseTokens: 50,
      reasoningTokens: 10,
      searches: 2,
      audioSeconds: 1.5,
      reasoningEffort: 'low',
      reasoningEffortSource: 'provider_response',
    };
    const identity = {
      customerId: 'plain',
      customerUserId: 'u-1',
      feature: 'chat',
      tags: ['a'],
      requested: { premium: true },
    };
    const { data, body } = await send({ ...identity, usage }, key);
    expect(body.result.code).toBe('CALL_SUCCESS');
    expect(data.begin).toMatchObject({
      callId: key,
      callType: 'API',
      feature: 'chat',
      tags: ['a'],
      newCustomer: true,
      allowed: { premium: true, standard: false },
      idempotency: { key, source: 'explicit' },
    });
    // 800 x 2.50 + 200 x 1.25 + 50 x 10.00 USD per million, and two searches at 10.00 USD per thousand
    expect(data.end).toMatchObject({
      callId: key,
      status: 'COMPLETED',
      costUSD: 0.02275,
      standardCostUSD: 0.02275,
      costUsdNano: '22750000',
      pricingMultiplier: 1,
      costBreakdown: { standardCostUsdNano: '22750000' },
      metered: { calls: 1, tokens: 50, reasoningTokens: 10, searches: 2, audio: 0, audioSeconds: 1.5 },
      balances: { tokensRemaining: 1_950 },
      reasoningEffort: 'low',
    });
    expect(data.end).not.toHaveProperty('payg');
    expect(data).not.toHaveProperty('vendor');
    expect(data.endUsage).toEqual({
      tokens: 50,
      usageSource: 'reported',
      modelUsed: 'gpt-4o',
      inputTokens: 1_000,
      cachedInputTokens: 200,
      cacheWriteInputTokens: 0,
      responseTokens: 50,
      reasoningTokens: 10,
      searches: 2,
      audio: 0,
      audioSeconds: 1.5,
    });
    expect(await read(key)).toMatchObject({ status: 'COMPLETED', customerUserId: 'u-1', costUsdNano: '22750000' });
    expect((await meters('plain')).premiumTokens?.used).toBe(50);
  });

  test('end.error makes it FAILED, with a cleaned message', async () => {
    const error = { code: 'UPSTREAM', message: `bad key ${MARKER}` };
    const { data, body } = await send({ customerId: 'failed', end: { error } });
    expect(body.result.code).toBe('CALL_SUCCESS');
    expect(data.end).toMatchObject({
      status: 'FAILED',
      error: { code: 'UPSTREAM', message: 'bad key [credential]' },
      metered: { calls: 0 },
    });
    for (const broken of [
      { code: 'X' },
      { message: 'x' },
      { code: '', message: 'x' },
      { code: 'X', message: ' ' },
      'X',
    ]) {
      expect((await send({ customerId: 'failed', end: { error: broken } })).refusal).toMatchObject({
        code: 'BAD_REQUEST',
      });
    }
  });

  test('without reported usage the cost is unknown, not zero', async () => {
    const { data } = await send({ customerId: 'nothing' });
    expect(data.end).toMatchObject({
      pricingStatus: 'UNAVAILABLE',
      pricingUnavailableReason: 'MODEL_NOT_REPORTED',
      metered: { calls: 1 },
    });
    expect(data.endUsage).toMatchObject({ tokens: 0, inputTokens: 0, modelUsed: '' });
  });

  test('batch halves the price, and isPremium overrides the tier', async () => {
    const usage = { modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 10, isPremium: false };
    const { data } = await send({ customerId: 'batch', pricingMode: 'batch', usage });
    expect(data.end).toMatchObject({
      pricingMultiplier: 0.5,
      standardCostUSD: 0.0026,
      costUsdNano: '1300000',
      batch: true,
    });
    expect(await meters('batch')).toMatchObject({ standardTokens: { used: 10 }, premiumTokens: { used: 0 } });
  });

  test('payg shows what credit pays, and a hold is released', async () => {
    const plan = { ...PLAN, limits: { premiumCalls: 0, standardCalls: 0 }, payg: { enabled: true, markupPercent: 20 } };
    const other = await createTenant(operator, plan);
    const customer = await fundedCustomer(other, 'funded', { usd: '1' });
    const usage = { modelUsed: 'gpt-4o', inputTokens: 1_000, responseTokens: 50 };
    const { data } = await send(
      { customerId: 'funded', holdUsd: 0.5, requested: { premium: true }, usage },
      undefined,
      other.api,
    );
    // (1,000 x 2.50 + 50 x 10.00 USD per million) x 1.2
    expect(data.end).toMatchObject({ costUsdNano: '3000000', payg: { chargedUsd: 0.0036, markupPercent: 20 } });
    expect(await customer.wallet()).toMatchObject({ heldUsd: '0' });
  });

  test.each([
    ['customerId', {}],
    ['usage.inputTokens', { customerId: 'x', usage: { inputTokens: -1 } }],
    ['usage.cachedInputTokens', { customerId: 'x', usage: { inputTokens: 10, cachedInputTokens: 11 } }],
    [
      'usage.cacheWriteInputTokens',
      { customerId: 'x', usage: { inputTokens: 10, cachedInputTokens: 6, cacheWriteInputTokens: 5 } },
    ],
    ['usage.cachedInputTokens', { customerId: 'x', usage: { cachedTokens: 1 } }],
    ['vendor.url', { customerId: 'x', vendor: {} }],
    ['vendor.method', { customerId: 'x', vendor: chat({ method: 'DELETE' }) }],
    ['vendor.body', { customerId: 'x', vendor: { url: URL_CHAT, body: 'text' } }],
    ['vendor.timeoutMs', { customerId: 'x', vendor: chat({ timeoutMs: 0 }) }],
    ['vendor.timeoutMs', { customerId: 'x', vendor: chat({ timeoutMs: 300_001 }) }],
    ['vendor.responseType', { customerId: 'x', vendor: chat({ responseType: 'xml' }) }],
    [
      'vendor.headers',
      {
        customerId: 'x',
        vendor: chat({ headers: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`x-${n}`, ''])) }),
      },
    ],
    ['vendor.headers.x-n', { customerId: 'x', vendor: chat({ headers: { 'x-n': 1 } }) }],
  ])('a request is refused by the field %s', async (path, body) => {
    const { code, details } = (await send(body)).refusal;
    expect(code).toBe('BAD_REQUEST');
    expect((details as { path: string }[]).map((detail) => detail.path)).toContain(path);
  });

  test('cachedTokens is an alias', async () => {
    const { data } = await send({ customerId: 'alias', usage: { inputTokens: 10, cachedTokens: 4 } });
    expect(data.endUsage?.cachedInputTokens).toBe(4);
  });
});

describe('with a vendor', () => {
  test('the request is sent as described, and its usage is recorded', async () => {
    const requests = vendorAnswers(() => Response.json(completion()));
    const headers = { authorization: `Bearer ${MARKER}`, 'x-forwarded-for': '1.2.3.4', host: 'evil.example' };
    const { data, body } = await send({ customerId: 'asked', vendor: chat({ provider: 'openai', headers }) }, newKey());
    expect(requests).toHaveLength(1);
    const [request] = requests;
    // With the remaining tokens of the plan.
    const sent = '{"model":"gpt-4o-mini","messages":[],"max_completion_tokens":1000}';
    expect(request).toMatchObject({ url: URL_CHAT, method: 'POST', body: sent });
    expect(Object.fromEntries(request?.headers ?? [])).toEqual({
      authorization: `Bearer ${MARKER}`,
      'content-type': 'application/json',
      'user-agent': `callmeter/${SERVICE_VERSION}`,
    });
    expect(body.result.code).toBe('CALL_SUCCESS');
    expect(data.vendor).toEqual({ ok: true, status: 200, modelUsed: 'gpt-4o-mini', body: completion() });
    // 100 x 0.15 + 20 x 0.60 USD per million
    expect(data.end).toMatchObject({
      status: 'COMPLETED',
      providerUsed: 'openai',
      modelUsed: 'gpt-4o-mini',
      costUsdNano: '27000',
    });
    expect(data.endUsage).toMatchObject({ tokens: 20, inputTokens: 100, modelUsed: 'gpt-4o-mini' });
  });

  test('the tier that served is billed beside the one that was asked for, and hints say what no answer tells', async () => {
    vendorAnswers(() => Response.json({ ...completion(undefined, 'gpt-5.4'), service_tier: 'default' }));
    const vendor = {
      ...chat({ provider: 'openai' }),
      body: { model: 'gpt-5.4', messages: [], service_tier: 'priority' },
    };
    const usage = { region: 'eu', serviceTier: 'flex', inputTokens: 9, toolUses: { codeMinutes: 5 } };
    const { data } = await send({ customerId: 'hinted', vendor, usage });
    expect(data.end).toMatchObject({
      requestedServiceTier: 'priority',
      usage: { inputTokens: 100, region: 'eu', toolUses: { codeMinutes: 5 } },
      costBreakdown: {
        conditions: { region: 'eu' },
        assumptions: [expect.stringMatching(/^codeMinutes: .*not included/), expect.stringMatching(/^region eu: /)],
      },
    });
    expect(data.end?.usage).not.toHaveProperty('serviceTier');
  });

  test('a hint stands for a length that makes no sense; without it the price is unknown, never zero', async () => {
    vendorAnswers(() => Response.json({ text: 'hello', usage: { type: 'duration', seconds: 'twelve' } }));
    const vendor = {
      ...chat({ provider: 'openai' }),
      url: 'https://api.openai.com/v1/audio/transcriptions',
      body: { model: 'whisper-1' },
    };
    const hinted = (await send({ customerId: 'sound', vendor, usage: { audioSeconds: 12 } })).data.end;
    expect(hinted).toMatchObject({ usageSource: 'reported', metered: { audioSeconds: 12 }, costUsdNano: '1200000' });
    expect(hinted).not.toHaveProperty('unclear');
    expect((await send({ customerId: 'sound', vendor })).data.end).toMatchObject({
      usageSource: 'partial',
      unclear: ['audioSeconds'],
      pricingUnavailableReason: 'USAGE_IMPLAUSIBLE',
    });
  });

  test('a GET has no body, and a call without a model has no price', async () => {
    const requests = vendorAnswers(() => Response.json({ object: 'list', data: [] }));
    const vendor = { url: 'https://api.openai.com/v1/models', method: 'GET', body: { ignored: true } };
    const { data } = await send({ customerId: 'get', vendor });
    expect(requests[0]).toMatchObject({ method: 'GET', body: '' });
    expect(data.end).toMatchObject({ pricingStatus: 'UNAVAILABLE', pricingUnavailableReason: 'MODEL_NOT_REPORTED' });
  });

  test('an answer without a usage has no price; a usage of zero costs zero', async () => {
    vendorAnswers(() => Response.json(completion(null)));
    expect((await send({ customerId: 'silent', vendor: chat() })).data.end).toMatchObject({
      status: 'COMPLETED',
      pricingStatus: 'UNAVAILABLE',
      pricingUnavailableReason: 'USAGE_NOT_REPORTED',
      costUSD: 0,
    });
    vendorAnswers(() => Response.json(completion({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })));
    const zero = (await send({ customerId: 'zero', vendor: chat() })).data;
    expect(zero.end).toMatchObject({ pricingStatus: 'FINAL', costUsdNano: '0', metered: { calls: 1, tokens: 0 } });
    expect(zero.endUsage?.tokens).toBe(0);
  });

  test.each([
    [
      'OpenAI',
      429,
      { error: { message: `Rate limit for ${MARKER}`, type: 'requests', param: null, code: 'rate_limit_exceeded' } },
      { code: 'rate_limit_exceeded', message: 'Rate limit for [credential]' },
    ],
    [
      'Anthropic',
      529,
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      { code: 'overloaded_error', message: 'Overloaded' },
    ],
    [
      'Google',
      400,
      { error: { code: 400, message: 'Bad', status: 'INVALID_ARGUMENT' } },
      { code: 'INVALID_ARGUMENT', message: 'Bad' },
    ],
    ['a proxy', 502, { hello: 'world' }, { code: 'VENDOR_HTTP_502', message: 'the vendor answered 502' }],
  ])('an error of %s fails the call, warns, and costs nothing, in any mode', async (name, status, answer, error) => {
    for (const responseType of ['json', 'text', 'stream']) {
      vendorAnswers(() => Response.json(answer, { status }));
      const data = await warned(send({ customerId: `error-${name}`, vendor: chat({ responseType }) }, newKey()));
      expect(data.vendor).toMatchObject({ ok: false, status, error: { message: error.message, details: answer } });
      expect(data.end).toMatchObject({
        status: 'FAILED',
        error,
        pricingStatus: 'FINAL',
        costUsdNano: '0',
        metered: { calls: 0 },
      });
    }
    expect((await meters(`error-${name}`)).standardCalls?.used).toBe(0);
  });

  test("Google's error in an array is an error too", async () => {
    const answer = { error: { code: 503, message: 'Busy', status: 'UNAVAILABLE' } };
    vendorAnswers(() => Response.json([answer], { status: 503 }));
    const data = await warned(send({ customerId: 'array', vendor: chat({}, 'gemini-3.5-flash') }, newKey()));
    expect(data.vendor).toMatchObject({ error: { message: 'Busy', details: answer }, body: [answer] });
    expect(data.end).toMatchObject({ status: 'FAILED', error: { code: 'UNAVAILABLE' } });
  });

  test('a silent vendor is 504 after the timeout and is counted by an estimate, and an unreachable one is 502 and free', async () => {
    vendorAnswers(
      (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    const late = await warned(send({ customerId: 'late', vendor: chat({ timeoutMs: 30 }) }, newKey()));
    expect(late.vendor).toMatchObject({ ok: false, status: 504, body: null, error: { details: {} } });
    expect(late.end).toMatchObject({
      status: 'FAILED',
      error: { code: 'VENDOR_TIMEOUT' },
      pricingStatus: 'FINAL',
      usageSource: 'estimated',
      metered: { calls: 1 },
    });
    expect(late.endUsage).toMatchObject({ usageSource: 'estimated', tokens: late.end?.usage.responseTokens });
    vendorAnswers(() => Promise.reject(new TypeError(`cannot reach ${MARKER}`)));
    const away = await warned(send({ customerId: 'away', vendor: chat() }, newKey()));
    expect(away.vendor).toMatchObject({ ok: false, status: 502 });
    expect(away.end).toMatchObject({
      status: 'FAILED',
      error: { code: 'VENDOR_UNREACHABLE' },
      pricingStatus: 'FINAL',
      costUSD: 0,
    });
    expect(JSON.stringify(away)).not.toContain(MARKER);
    expect([(await meters('late')).standardCalls?.used, (await meters('away')).standardCalls?.used]).toEqual([1, 0]);
  });

  test('a header that cannot be sent is named, and its value is not repeated', async () => {
    const requests = vendorAnswers(() => Response.json(completion()));
    const data = await warned(
      send({ customerId: 'header', vendor: chat({ headers: { 'x-odd': `${MARKER}\n` } }) }, newKey()),
    );
    expect(data.end).toMatchObject({
      status: 'FAILED',
      error: { message: 'the header x-odd has a value that cannot travel' },
    });
    expect([requests.length, JSON.stringify(data).includes(MARKER)]).toEqual([0, false]);
  });

  test('an answer that nests too deeply is a failed call', async () => {
    vendorAnswers(() => new Response('['.repeat(200_000) + ']'.repeat(200_000)));
    const key = newKey();
    const data = await warned(send({ customerId: 'deep', vendor: chat() }, key));
    expect(data.vendor).toMatchObject({
      ok: false,
      body: null,
      error: { message: "the vendor's answer nests too deep" },
    });
    expect((await read(key)).status).toBe('FAILED');
  });

  test('a request that nests too deeply is refused', async () => {
    const requests = vendorAnswers(() => Response.json(completion()));
    const deep = `{"customerId":"deep-request","vendor":{"url":"${URL_CHAT}","body":{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}}}`;
    const { status } = await tenant.api.send('makeCall', { body: deep });
    expect(status).toBe(413);
    expect(requests).toEqual([]);
  });

  test('invalid Unicode in the name of a model is not stored', async () => {
    vendorAnswers(() => Response.json(completion(null, '')));
    const { data } = await send({ customerId: 'unicode', vendor: chat({}, 'gpt-\ud800') }, newKey());
    expect(data.end).not.toHaveProperty('modelUsed');
  });
});

describe('a denied begin', () => {
  test('asks no vendor, answers 200 with only begin, and its retry is the same', async () => {
    const requests = vendorAnswers(() => Response.json(completion()));
    const other = await createTenant(operator, {
      name: 'None',
      limitType: 'BLOCK',
      limits: { standardCalls: 0, premiumCalls: 0 },
    });
    const key = newKey();
    const request = { customerId: 'denied', vendor: chat() };
    const denied = await send(request, key, other.api);
    expect(denied.data).toMatchObject({ begin: { callId: key, allowed: { standard: false, premium: false } } });
    expect(Object.keys(denied.body.data)).toEqual(['begin']);
    expect(denied.body.result.code).toBe('CALL_SUCCESS');
    expect((await other.api.send('readCall', { params: { callId: key } })).data.status).toBe('NOT_ALLOWED');
    const again = await send(request, key, other.api);
    expect(again.headers.get('Idempotency-Replayed')).toBe('true');
    expect(again.body).toEqual({ ...denied.body, correlationId: again.body.correlationId });
    expect(requests).toEqual([]);
  });

  test.each([
    ['BLOCK', {}],
    ['BLOCK', { standard: true }],
    ['DOWNGRADE', { standard: true, premium: true }],
    ['DOWNGRADE', { premium: true }],
  ])(
    'is denied where the tier that will bill is used up under %s, although %j asks for another',
    async (limitType, requested) => {
      const requests = vendorAnswers(() => Response.json(completion()));
      const other = await createTenant(operator, { name: 'Half', limitType, limits: { premiumCalls: 0 } });
      const denied = (await send({ customerId: 'half', requested, vendor: chat({}, 'gpt-4o') }, undefined, other.api))
        .data;
      expect([denied.end, denied.begin.allowed.premium, requests]).toEqual([undefined, false, []]);
      const { standardCalls } = (await other.api.send('readUsage', { params: { customerId: 'half' } })).data.meters;
      expect(standardCalls?.used).toBe(0);
      const cheaper = (await send({ customerId: 'half', requested, vendor: chat() }, undefined, other.api)).data;
      expect([cheaper.end?.status, requests.length]).toEqual(['COMPLETED', 1]);
    },
  );

  test('a model in the path of a Google address is the one that bills', async () => {
    const requests = vendorAnswers(() => Response.json(completion()));
    const other = await createTenant(operator, { name: 'Half', limitType: 'BLOCK', limits: { premiumCalls: 0 } });
    const url = 'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent';
    const denied = (await send({ customerId: 'google', vendor: { url, body: {} } }, undefined, other.api)).data;
    expect([denied.end, requests]).toEqual([undefined, []]);
  });
});

describe('a retry', () => {
  test.each([
    ['a success', 'json', () => Response.json(completion())],
    ['a refusal of the vendor', 'json', () => Response.json({ error: { message: 'no', code: 'x' } }, { status: 400 })],
    ['a stream', 'stream', stream],
  ])('of %s replays the whole answer, and the vendor is asked once', async (name, responseType, answer) => {
    const requests = vendorAnswers(answer);
    const key = newKey();
    const asked = (headers: object, more = {}) => chat({ headers, responseType, ...more });
    const request = { customerId: `retry ${name}`, vendor: asked({ authorization: 'Bearer one' }) };
    const first = await send(request, key);
    expect(first.headers.get('Idempotency-Replayed')).toBeNull();
    await new Promise((resolve) => setTimeout(resolve, 20));
    // A new key of the vendor is not another call, and neither is a default that is spelled out.
    const vendor = asked({ authorization: 'Bearer two', 'x-more': '1' }, { method: 'POST', timeoutMs: 30_000 });
    for (const retry of [request, { ...request, vendor }, { ...request, batch: false }]) {
      const again = await send(retry, key);
      expect(again.headers.get('Idempotency-Replayed')).toBe('true');
      expect(again.body).toEqual({ ...first.body, correlationId: again.body.correlationId });
    }
    expect(requests).toHaveLength(1);
    expect((await tenant.api.send('makeCall', { body: { ...request, idempotencyKey: key } })).body.data).toEqual(
      first.body.data,
    );
  });

  test.each([
    // Each character takes six in JSON: more than a message to an object may have.
    ['\u0001', 6],
    // Two in the command, four in the answer to a retry, of two bytes each.
    ['"\u20ac"', 1.9],
  ])('of an answer that is too large to store (%j) finds the call recorded, and asks no vendor', async (text, mebi) => {
    const answer = text.repeat(mebi * 1024 * 1024);
    const requests = vendorAnswers(() => new Response(answer, { headers: { 'content-type': 'text/plain' } }));
    const key = newKey();
    const request = { customerId: 'retry-large', vendor: chat({ responseType: 'text' }) };
    const first = await send(request, key);
    expect([first.status, first.data.end?.status]).toEqual([200, 'COMPLETED']);
    expect((await send(request, key)).refusal).toMatchObject({ code: 'CALL_ALREADY_FINALIZED', status: 'COMPLETED' });
    expect(requests).toHaveLength(1);
  });

  test('of a large answer that is passed on unchanged replays it', async () => {
    const requests = vendorAnswers(
      () => new Response('\u20ac'.repeat(3 * 1024 * 1024), { headers: { 'content-type': 'text/plain' } }),
    );
    const key = newKey();
    const request = { customerId: 'retry-large', vendor: chat({ responseType: 'text' }) };
    const first = await send(request, key);
    const again = await send(request, key);
    expect([again.status, again.data.vendor?.body === first.data.vendor?.body, requests.length]).toEqual([
      200,
      true,
      1,
    ]);
  });

  test('of a call without a vendor replays as well', async () => {
    const key = newKey();
    const request = { customerId: 'retry-plain', usage: { modelUsed: 'gpt-4o', inputTokens: 10 } };
    const first = await send(request, key);
    const again = await send(request, key);
    expect([again.headers.get('Idempotency-Replayed'), again.body.data]).toEqual(['true', first.body.data]);
    expect((await meters('retry-plain')).premiumCalls?.used).toBe(1);
  });

  test('while the first is running is 409 with Retry-After; the first is not disturbed', async () => {
    let answers = false;
    const requests = vendorAnswers(async () => {
      while (!answers) await scheduler.wait(5);
      return Response.json(completion());
    });
    const key = newKey();
    const request = { customerId: 'flight', vendor: chat() };
    const first = send(request, key);
    await vi.waitFor(() => expect(requests).toHaveLength(1), 60_000);
    const early = await send(request, key);
    expect([early.status, early.headers.get('Retry-After'), early.refusal.code]).toEqual([409, '2', 'CALL_IN_FLIGHT']);
    expect(early.refusal.status).toBe('IN_PROGRESS');
    answers = true;
    expect((await first).data.end?.status).toBe('COMPLETED');
    expect((await send(request, key)).headers.get('Idempotency-Replayed')).toBe('true');
    expect(requests).toHaveLength(1);
  });

  test.each([
    ['another body for the vendor', { vendor: chat({}, 'gpt-4o') }],
    ['another address', { vendor: chat({ url: 'https://api.openai.com/v1/responses' }) }],
    ['another feature', { vendor: chat(), feature: 'x' }],
    ['no vendor', {}],
    ['another customer', { vendor: chat(), customerId: 'conflict-other' }],
  ])('with %s is a conflict', async (name, change) => {
    const requests = vendorAnswers(() => Response.json(completion()));
    const key = newKey();
    await send({ customerId: `conflict ${name}`, vendor: chat() }, key);
    expect((await send({ customerId: `conflict ${name}`, ...change }, key)).refusal.code).toBe(
      'IDEMPOTENCY_KEY_CONFLICT',
    );
    expect(requests).toHaveLength(1);
  });

  test('under the key of a begin is a conflict, and vice versa, even with the same payload', async () => {
    const requests = vendorAnswers(() => Response.json(completion()));
    const [begun, made] = [newKey(), newKey()];
    const body = { customerId: 'begun', pricingMode: 'standard' };
    await tenant.api.send('beginCall', { body, headers: { 'Idempotency-Key': begun } });
    for (const request of [body, { ...body, vendor: chat() }]) {
      expect((await send(request, begun)).refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    }
    expect((await send(body, made)).status).toBe(200);
    const begin = await tenant.api.send('beginCall', { body, headers: { 'Idempotency-Key': made } });
    expect(begin.refusal.code).toBe('IDEMPOTENCY_KEY_CONFLICT');
    expect((await tenant.api.send('endCall', { body: { callId: made } })).refusal.code).toBe('CALL_ALREADY_FINALIZED');
    expect(requests).toEqual([]);
  });

  test('without a key does not exist: the same request twice is two calls', async () => {
    const requests = vendorAnswers(() => Response.json(completion()));
    const request = { customerId: 'keyless', vendor: chat() };
    const replies = [await send(request), ...(await Promise.all([send(request), send(request)]))];
    expect(new Set(replies.map(({ data }) => data.begin.callId)).size).toBe(3);
    expect(requests).toHaveLength(3);
    expect((await meters('keyless')).standardCalls?.used).toBe(3);
    for (const { body, data } of replies) {
      expect(data.begin.idempotency.source).toBe('derived');
      expect(body.result.message).toContain('Idempotency-Key');
    }
  });
});
