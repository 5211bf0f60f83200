/**
 * The unified call with simulated vendors on loopback that behave and fail like the real ones: after each call the
 * status, usage and cost are right, no reservation remains, no secret is on disk, and a kill loses nothing.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CallData } from '../../src/contract/unified-call.ts';
import { Api, createTenant, type Reply, type Tenant } from '../support/api.ts';
import { countWords, type FakeVendor, type Fault, startVendor } from '../vendors/vendor.ts';
import { type LocalServer, type PreparedState, preparedState, startPrepared, until } from './local-server.ts';

const MARKER = 'sk-vendor-marker-0123456789abcdef';
const VENDOR_KEY = 'sk-registered-key-0123456789abcdef';
/** Premium models are paid from credit, so that each call of one holds money while it runs. */
const PLAN = {
  name: 'Credit',
  limitType: 'BLOCK',
  limits: { premiumCalls: 0, standardCalls: 2 },
  payg: { enabled: true },
};
/**
 * The deadline of all calls here: shorter than a test waits for it, and longer than a loaded machine takes to start a
 * server.
 */
const DEADLINE_SECONDS = 30;

let vendor: FakeVendor;
let state: PreparedState;
let server: LocalServer;
let tenant: Tenant;
beforeAll(async () => {
  vendor = await startVendor();
  state = await preparedState({ CALL_DEADLINE_SECONDS: `${DEADLINE_SECONDS}` });
  server = await startPrepared(state);
  tenant = await createTenant(server.operator, PLAN);
  const params = { org: tenant.organizationId, provider: 'openai' };
  const saved = await server.operator.send('setVendor', {
    params,
    body: { apiKey: VENDOR_KEY, baseUrl: `${vendor.url}/v1` },
  });
  expect(saved.data).toEqual({
    provider: 'openai',
    baseUrl: `${vendor.url}/v1`,
    kind: 'openai',
    keyHint: 'cdef',
    useReportedCost: false,
  });
});
afterAll(async () => {
  await server.stop();
  await vendor.close();
});
beforeEach(() => {
  vendor.requests.length = 0;
});

const HEADERS = { authorization: `Bearer ${MARKER}`, 'x-api-key': MARKER, 'x-goog-api-key': MARKER };
let serial = 0;
const newKey = () => `unified-${++serial}`;

/** A customer with credit; sends calls on its behalf. */
async function customer(customerId: string) {
  const params = { org: tenant.organizationId, customerId };
  await tenant.api.send('provisionCustomer', { body: { customerId } });
  await server.operator.send('grantCredit', { params, body: { kind: 'USD', amountUsd: '100' } });
  return {
    call: (asked: object, key = newKey(), more: object = {}): Promise<Reply<'makeCall'>> =>
      tenant.api.send('makeCall', {
        body: { customerId, feature: 'found-by-search', holdUsd: 0.5, vendor: { headers: HEADERS, ...asked }, ...more },
        headers: { 'Idempotency-Key': key },
      }),
    async left() {
      const { openCalls, wallet } = (await server.operator.send('readCustomer', { params })).data;
      return { openCalls, heldUsd: wallet.heldUsd };
    },
  };
}
const NOTHING_OPEN = { openCalls: 0, heldUsd: '0' };

const parseCallData = ({ status, body }: Reply<'makeCall'>): CallData => {
  expect(status, JSON.stringify(body)).toBe(200);
  return CallData.parse(body.data);
};

const PROMPT = 'say hello to everybody out there [reply:6] [reasoning:4] [cached:2] [written:1]';
const INPUT = countWords(PROMPT);
const chat = (more: object = {}, text = PROMPT) => ({
  url: `${vendor.url}/v1/chat/completions`,
  body: { model: 'gpt-4o', messages: [{ role: 'user', content: text }], ...more },
});
const STREAM = { stream: true, stream_options: { include_usage: true } };
const messages = (more: object = {}, text = PROMPT) => ({
  url: `${vendor.url}/v1/messages`,
  body: { model: 'claude-sonnet-5', max_tokens: 99, messages: [{ role: 'user', content: text }], ...more },
});
const responses = (more: object = {}) => ({
  url: `${vendor.url}/v1/responses`,
  body: { model: 'gpt-5.2', input: PROMPT, ...more },
});
const content = (method: string) => ({
  url: `${vendor.url}/v1beta/models/gemini-3.5-flash:${method}`,
  body: { contents: [{ role: 'user', parts: [{ text: PROMPT }] }] },
});
const embeddings = () => ({
  url: `${vendor.url}/v1/embeddings`,
  body: { model: 'text-embedding-3-small', input: PROMPT },
});

/**
 * The usage that must be read from each vendor; its cost in nano-USD: tokens by their rate in USD per million x 1,000.
 */
const PLAIN = INPUT - 3;
const used = {
  inputTokens: INPUT,
  cachedInputTokens: 2,
  cacheWriteInputTokens: 1,
  responseTokens: 10,
  reasoningTokens: 4,
};
// No rate for cache writes is published: the input rate stands in.
const GPT_4O = { modelUsed: 'gpt-4o', used, cost: (PLAIN + 1) * 2_500 + 2 * 1_250 + 10 * 10_000 };
const GPT_52 = { modelUsed: 'gpt-5.2', used, cost: (PLAIN + 1) * 1_750 + 2 * 175 + 10 * 14_000 };
const CLAUDE = { modelUsed: 'claude-sonnet-5', used, cost: PLAIN * 2_000 + 2 * 200 + 2_500 + 10 * 10_000 };
const GEMINI = {
  modelUsed: 'gemini-3.5-flash',
  used: { ...used, cacheWriteInputTokens: 0 },
  cost: (PLAIN + 1) * 1_500 + 2 * 150 + 10 * 9_000,
};
const NO_OUTPUT = { cachedInputTokens: 0, cacheWriteInputTokens: 0, responseTokens: 0, reasoningTokens: 0 };
const EMBEDDING = { modelUsed: 'text-embedding-3-small', used: { inputTokens: INPUT, ...NO_OUTPUT }, cost: INPUT * 20 };

describe('the usage of', () => {
  test.each([
    ['chat', () => chat(), 'json', GPT_4O],
    ['chat as text', () => chat(), 'text', GPT_4O],
    ['chat, streamed', () => chat(STREAM), 'stream', GPT_4O],
    ['responses', () => responses(), 'json', GPT_52],
    ['responses, streamed', () => responses({ stream: true }), 'stream', GPT_52],
    ['embeddings', () => embeddings(), 'json', EMBEDDING],
    ['messages', () => messages(), 'json', CLAUDE],
    ['messages, streamed', () => messages({ stream: true }), 'stream', CLAUDE],
    ['generateContent', () => content('generateContent'), 'json', GEMINI],
    ['streamGenerateContent', () => content('streamGenerateContent?alt=sse'), 'stream', GEMINI],
    ['streamGenerateContent as an array', () => content('streamGenerateContent'), 'json', GEMINI],
    ['streamGenerateContent as text', () => content('streamGenerateContent'), 'stream', GEMINI],
  ] as const)("%s is the vendor's own, and its answer comes back whole", async (name, make, responseType, expected) => {
    const { url, body } = make();
    const { call, left } = await customer(`usage ${name}`);
    const { data, body: reply } = await call({ url, body, responseType, provider: 'label' });
    expect(reply.result.code).toBe('CALL_SUCCESS');
    const direct = await fetch(url, { method: 'POST', headers: HEADERS, body: JSON.stringify(body) });
    const whole = responseType === 'json' ? await direct.json() : await direct.text();
    expect(data.vendor).toEqual({ ok: true, status: 200, modelUsed: expected.modelUsed, body: whole });
    expect(data.end).toMatchObject({
      status: 'COMPLETED',
      pricingStatus: 'FINAL',
      providerUsed: 'label',
      modelUsed: expected.modelUsed,
      costUsdNano: String(expected.cost),
      usage: expected.used,
      metered: { calls: 1, tokens: expected.used.responseTokens },
    });
    expect(data.endUsage).toMatchObject({
      ...expected.used,
      tokens: expected.used.responseTokens,
      modelUsed: expected.modelUsed,
    });
    const [asked] = vendor.requests;
    expect(asked).toMatchObject({ method: 'POST', body, headers: { authorization: HEADERS.authorization } });
    expect(await left()).toEqual(NOTHING_OPEN);
  });

  test('tools and searches is read too', async () => {
    const { call } = await customer('tools');
    const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
    const { data } = await call(chat({ tools }, 'what now [tool]'));
    expect(data.end).toMatchObject({ usage: { inputTokens: 3, responseTokens: 1 }, costUsdNano: '17500' });
    const searched = (await call(messages({}, 'look it up [searches:3] [reply:1]'))).data;
    expect(searched.end?.metered?.searches).toBe(3);
  });
});

interface Ending {
  ok: boolean;
  status: number;
  end: object;
}
const refused = (status: number, code: string): Ending => ({
  ok: false,
  status,
  end: {
    status: 'FAILED',
    error: { code },
    pricingStatus: 'FINAL',
    costUsdNano: '0',
    metered: { calls: 0, tokens: 0 },
  },
});
/** Unreported usage is estimated: these customers are on credit. */
const lost = (status: number, code: string): Ending => ({
  ok: false,
  status,
  end: { status: 'FAILED', error: { code }, pricingStatus: 'FINAL', usageSource: 'estimated' },
});
const tooLarge: Ending = {
  ok: false,
  status: 200,
  end: {
    status: 'FAILED',
    error: { code: 'VENDOR_ANSWER_TOO_LARGE' },
    pricingStatus: 'FINAL',
    usageSource: 'reported',
  },
};
const unsaid: Ending = {
  ok: true,
  status: 200,
  end: { status: 'COMPLETED', pricingStatus: 'FINAL', usageSource: 'estimated' },
};
const whole: Ending = { ok: true, status: 200, end: { status: 'COMPLETED', pricingStatus: 'FINAL', usage: used } };
const nothing: Ending = {
  ok: true,
  status: 200,
  end: { status: 'COMPLETED', pricingStatus: 'FINAL', costUsdNano: '0', metered: { calls: 1, tokens: 0 } },
};

describe('a vendor that answers', () => {
  const plain: [Fault, Ending][] = [
    ['400', refused(400, 'invalid_request_error')],
    ['429', refused(429, 'rate_limit_exceeded')],
    ['500', refused(500, 'server_error')],
    ['503', refused(503, 'server_error')],
    ['redirect', refused(302, 'VENDOR_HTTP_302')],
    ['cut-first', refused(502, 'VENDOR_UNREACHABLE')],
    ['cut', lost(502, 'VENDOR_ANSWER_BROKEN')],
    ['big', tooLarge],
    ['hang', lost(504, 'VENDOR_TIMEOUT')],
    ['html', unsaid],
    ['shape', unsaid],
    ['no-usage', unsaid],
    ['zero-usage', nothing],
    ['slow', whole],
  ];
  const streamed: [Fault, Ending][] = [
    ['429', refused(429, 'rate_limit_exceeded')],
    ['503', refused(503, 'server_error')],
    ['redirect', refused(302, 'VENDOR_HTTP_302')],
    ['cut-first', refused(502, 'VENDOR_UNREACHABLE')],
    ['cut', lost(502, 'VENDOR_ANSWER_BROKEN')],
    ['big', tooLarge],
    ['silent', lost(504, 'VENDOR_TIMEOUT')],
    ['end-early', lost(200, 'VENDOR_STREAM_CUT')],
    ['stream-error', lost(200, 'server_error')],
    ['no-usage', unsaid],
    ['zero-usage', nothing],
    ['usage-in-choices', whole],
    ['split', whole],
    ['slow', whole],
  ];
  const cases = [
    ...plain.map((entry) => ['json', ...entry] as const),
    ...streamed.map((entry) => ['stream', ...entry] as const),
  ];

  test.each(cases)(
    '%s with the fault %s is recorded as what it was, and leaves nothing open',
    async (responseType, fault, ending) => {
      const { call, left } = await customer(`fault ${responseType} ${fault}`);
      const timeoutMs = fault === 'hang' || fault === 'silent' ? 500 : 20_000;
      vendor.fail(fault);
      const reply = await call({ ...chat(responseType === 'stream' ? STREAM : {}), responseType, timeoutMs });
      const { vendor: answered, end, begin } = parseCallData(reply);
      expect(reply.body.result.code).toBe(ending.ok ? 'CALL_SUCCESS' : 'CALL_VENDOR_WARNING');
      expect([answered?.ok, answered?.status, answered?.error === undefined]).toEqual([
        ending.ok,
        ending.status,
        ending.ok,
      ]);
      expect(end).toMatchObject(ending.end);
      expect(vendor.requests.map(({ path }) => path)).toEqual(['/v1/chat/completions']);
      expect(await left()).toEqual(NOTHING_OPEN);
      const { status } = end ?? {};
      expect((await tenant.api.send('readCall', { params: { callId: begin.callId } })).data.status).toBe(status);
      expect(JSON.stringify(reply.body)).not.toContain(MARKER);
    },
  );

  test('an interrupted stream fails the call with the usage received so far', async () => {
    const { call } = await customer('half');
    vendor.fail('end-early');
    const { end, vendor: answered } = parseCallData(
      await call({ ...messages({ stream: true }), responseType: 'stream' }),
    );
    expect([answered?.ok, answered?.status]).toEqual([false, 200]);
    // The beginning of the stream names the prompt and one token of output; more text came.
    expect(end).toMatchObject({
      status: 'FAILED',
      error: { code: 'VENDOR_STREAM_CUT' },
      usageSource: 'partial',
      usage: { inputTokens: INPUT, responseTokens: expect.any(Number) },
    });
  });

  test.each<[string, () => { url: string; body: object }]>([
    ['responses', () => responses(STREAM)],
    ['generateContent', () => content('streamGenerateContent?alt=sse')],
    ["generateContent's array", () => content('streamGenerateContent')],
  ])('half a stream of %s fails the call too', async (_, asked) => {
    const { call, left } = await customer('half');
    vendor.fail('end-early');
    const { end, vendor: answered } = parseCallData(await call({ ...asked(), responseType: 'stream' }));
    expect([answered?.ok, answered?.status, end?.status, end?.error?.code]).toEqual([
      false,
      200,
      'FAILED',
      'VENDOR_STREAM_CUT',
    ]);
    expect(await left()).toEqual(NOTHING_OPEN);
  });
});

describe('a request', () => {
  test('names no effort for a model that does not reason, and passes as it is for one that does', async () => {
    const { call } = await customer('effort');
    const effort = { reasoning_effort: 'low' };
    const reasoning = { effort: 'low', summary: 'auto' };
    for (const asked of [chat(effort), chat({ ...effort, model: 'gpt-5.2' }), responses({ reasoning })]) {
      parseCallData(await call(asked));
    }
    parseCallData(await call(responses({ model: 'gpt-4o', reasoning })));
    expect(vendor.requests.map(({ body }) => [body.model, body.reasoning_effort ?? body.reasoning])).toEqual([
      ['gpt-4o', undefined],
      ['gpt-5.2', 'low'],
      ['gpt-5.2', reasoning],
      ['gpt-4o', undefined],
    ]);
  });

  test('completes although the caller has disconnected', async () => {
    const { left } = await customer('leaver');
    const key = newKey();
    const asked = {
      ...chat({ ...STREAM }, 'take your time [reply:10] [fail:slow]'),
      headers: HEADERS,
      responseType: 'stream',
    };
    const leaving = new AbortController();
    const params = { org: tenant.organizationId };
    const apiKey = (await server.operator.send('createKey', { params, body: { name: 'impatient' } })).data.key;
    const api = new Api((url, init) => fetch(url, { ...init, signal: leaving.signal }), server.url, apiKey);
    const body = { customerId: 'leaver', holdUsd: 0.5, vendor: asked };
    const impatient = api
      .send('makeCall', { body, headers: { 'Idempotency-Key': key } })
      .catch((error: Error) => error.name);
    await until(() => vendor.requests.length === 1);
    leaving.abort();
    expect(await impatient).toBe('AbortError');
    await until(
      async () => (await tenant.api.send('readCall', { params: { callId: key } })).data.status === 'COMPLETED',
    );
    expect(await left()).toEqual(NOTHING_OPEN);
    expect(vendor.requests).toMatchObject([{ abandoned: false }]);
  });
});

describe('secrets', () => {
  test("the vendor's headers and its registered key are in no stored file and in no output", async () => {
    const { call } = await customer('secrets');
    await call({ ...chat(), headers: { ...HEADERS, [MARKER]: 'name' } });
    await call(chat({}, 'please [fail:500]'));
    await call({ ...chat(), headers: { 'x-broken': `${MARKER}\n` } });
    await until(async () => (await findInState('found-by-search')).length >= 2);
    expect([await findInState(MARKER), await findInState(VENDOR_KEY)]).toEqual([[], []]);
    for (const secret of [MARKER, VENDOR_KEY]) expect(server.output()).not.toContain(secret);
  });
});

/** The files of the state folder that hold the text; the object's and D1's are among them. Some come and go. */
async function findInState(text: string): Promise<string[]> {
  const entries = await readdir(state.stateDir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const found = await Promise.all(files.map(async (file) => (await readFile(file).catch(() => '')).includes(text)));
  return files.filter((_, index) => found[index]);
}

test('kill -9 while the vendor answers leaves a call that times out, is counted by an estimate, releases its holds, and is never repeated', async () => {
  const { call, left } = await customer('killed');
  const done = newKey();
  const finished = await call(chat(), done);
  const key = newKey();
  const hanging = { ...chat({}, 'wait [fail:hang]'), timeoutMs: 60_000 };
  vendor.requests.length = 0;
  const lost = call(hanging, key).catch((error: Error) => error);
  await until(() => vendor.requests.length === 1);
  expect(await left()).toEqual({ openCalls: 1, heldUsd: '0.5' });
  await server.kill();
  expect(await lost).toBeInstanceOf(Error);

  server = await startPrepared(state);
  const read = async () => (await tenant.api.send('readCall', { params: { callId: key } })).data.status;
  expect([await read(), await left()]).toEqual(['IN_PROGRESS', { openCalls: 1, heldUsd: '0.5' }]);
  const early = await call(hanging, key);
  expect([early.status, early.refusal.code, early.headers.has('Retry-After')]).toEqual([409, 'CALL_IN_FLIGHT', true]);
  expect((await call(chat(), done)).body.data).toEqual(finished.body.data);
  await until(async () => (await read()) === 'TIMEOUT');
  expect(await left()).toEqual(NOTHING_OPEN);
  // The vendor was asked, so the call is not free: its usage is estimated.
  expect((await tenant.api.send('readCall', { params: { callId: key } })).data).toMatchObject({
    pricingStatus: 'FINAL',
    usageSource: 'estimated',
    costUSD: expect.any(Number),
    payg: { usingCredit: true },
  });
  expect((await call(hanging, key)).refusal).toMatchObject({ code: 'CALL_ALREADY_FINALIZED', status: 'TIMEOUT' });
  expect(vendor.requests).toHaveLength(1);
});
