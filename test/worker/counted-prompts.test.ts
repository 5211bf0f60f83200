/**
 * Promise: a call on credit that its bytes alone would refuse is counted by its vendor, for free and once, and holds
 * the cost of that count with its margin. A call that passes anyway makes no such request, and without a count the
 * bytes apply.
 */

import { describe, expect, test, vi } from 'vitest';
import type { Tenant } from '../support/api.ts';
import { TWO_RATES } from '../support/credit-plans.ts';
import { type FundedCustomer, fundedCustomer } from '../support/customer.ts';
import { accountOf, ask, mockVendor, newTenant, readStoredCall, vendor } from '../support/gateway.ts';
import { bindings, operator } from '../support/worker.ts';

mockVendor();

const OUTPUT = 4_096;
const plan = (calls = 0) => ({
  name: 'On credit',
  limitType: 'BLOCK',
  limits: { standardCalls: calls, premiumCalls: calls },
  payg: { enabled: true, markupPercent: 0, maxOutputTokens: OUTPUT },
});
/** A prompt of 200 KB, whose bytes cost 0.40 USD. */
const PROMPT = 'The quick brown fox jumps over the lazy dog, and nobody minds. '.repeat(3_200);
const COUNT = 45_000;
/** An estimate gets 2 % and 64 tokens. */
const WITH_MARGIN = COUNT + 900 + 64;
const usdAtMost = (inputTokens: number) => (inputTokens * 2 + OUTPUT * 10) / 1_000_000;

interface Asked {
  url: string;
  body: Record<string, unknown>;
  headers: Record<string, string>;
}
type Kind = 'anthropic' | 'google' | 'openai';

/** How each kind counts, and answers with so many tokens of the prompt. */
const KINDS = {
  anthropic: {
    counter: /\/messages\/count_tokens$/,
    count: (tokens: unknown) => ({ input_tokens: tokens }),
    answer: (inputTokens: number, outputTokens: number) => ({
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'talker',
      content: [{ type: 'text', text: 'hi' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: inputTokens, output_tokens: outputTokens },
    }),
  },
  google: {
    counter: /:countTokens$/,
    count: (tokens: unknown) => ({ totalTokens: tokens }),
    answer: (inputTokens: number, outputTokens: number) => ({
      candidates: [{ content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: inputTokens,
        candidatesTokenCount: outputTokens,
        totalTokenCount: inputTokens + outputTokens,
      },
    }),
  },
  openai: {
    counter: /\/responses\/input_tokens$/,
    count: (tokens: unknown) => ({ object: 'response.input_tokens', input_tokens: tokens }),
    answer: (inputTokens: number, outputTokens: number) => ({
      id: 'r',
      object: 'response',
      model: 'talker',
      status: 'completed',
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }],
      usage: { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: inputTokens + outputTokens },
    }),
  },
} as const;

const BASE_URLS = {
  anthropic: 'https://anthropic.example.com/v1',
  google: 'https://google.example.com/v1beta',
  openai: 'https://openai.example.com/v1',
};

type OnCredit = { tenant: Tenant & { key: string }; customer: FundedCustomer; key: string };

async function onCredit(kind: Kind, usd: string, calls = 0): Promise<OnCredit> {
  const tenant = await newTenant(plan(calls));
  const params = { org: tenant.organizationId };
  const set = { apiKey: 'sk-vendor', baseUrl: BASE_URLS[kind], kind };
  expect((await operator.send('setVendor', { params: { ...params, provider: kind }, body: set })).status).toBe(200);
  const priced = { params: { ...params, modelKey: `${kind}/talker` }, body: { components: TWO_RATES } };
  expect((await operator.send('setPrice', priced)).status).toBe(200);
  return { tenant, customer: await fundedCustomer(tenant, 'default', { usd }), key: tenant.key };
}

const counted = (kind: Kind) => () => Response.json(KINDS[kind].count(COUNT));

/** The requests that reach the vendor: to its counter, and for answers. */
function watch(
  kind: Kind,
  count: () => Response | Promise<Response> = counted(kind),
  answer: () => unknown | Promise<unknown> = () => KINDS[kind].answer(COUNT, 2),
): { counts: Asked[]; calls: Asked[] } {
  const seen: { counts: Asked[]; calls: Asked[] } = { counts: [], calls: [] };
  vendor.answers = async (url, body, { headers }) => {
    const isCount = KINDS[kind].counter.test(url.replace(/\?.*/, ''));
    (isCount ? seen.counts : seen.calls).push({ url, body, headers });
    if (isCount) return count();
    const answered = await answer();
    return answered instanceof Response ? answered : Response.json(answered);
  };
  return seen;
}

const message = (content: unknown = PROMPT) => ({ role: 'user', content });
const toMessages = ({ key }: OnCredit, body: object = {}, headers: Record<string, string> = {}) =>
  ask(
    key,
    { model: 'anthropic/talker', max_tokens: OUTPUT, messages: [message()], ...body },
    bindings,
    '/v1/messages',
    headers,
  );

describe('each vendor counts the prompt that it would be sent', () => {
  test('Anthropic: messages, without the fields that its counter does not take', async () => {
    const world = await onCredit('anthropic', '0.2');
    const seen = watch('anthropic');
    const body = {
      system: 'Be brief.',
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      temperature: 0.5,
      metadata: { user_id: 'u' },
      cache_control: { type: 'ephemeral' },
    };
    const { response } = await toMessages(world, body, { 'anthropic-beta': 'some-beta' });
    expect(response.status).toBe(200);
    const [count] = seen.counts;
    expect(seen.counts).toHaveLength(1);
    expect(seen.calls).toHaveLength(1);
    expect(count?.url).toBe('https://anthropic.example.com/v1/messages/count_tokens');
    expect(count?.headers).toMatchObject({ 'x-api-key': 'sk-vendor', 'anthropic-beta': 'some-beta' });
    const { system, tools } = body;
    expect(count?.body).toEqual({ model: 'talker', messages: [message()], system, tools });
  });

  test('Anthropic: a chat completion, as it is translated', async () => {
    const { key } = await onCredit('anthropic', '0.2');
    const seen = watch('anthropic');
    const messages = [{ role: 'system', content: 'Be brief.' }, message()];
    const { response } = await ask(key, { model: 'anthropic/talker', messages, n: 1 });
    expect(response.status).toBe(200);
    expect(seen.counts).toHaveLength(1);
    const { model, system, messages: counted } = seen.calls[0]?.body ?? {};
    expect(seen.counts[0]?.body).toEqual({ model, system, messages: counted });
    expect(await response.json()).toMatchObject({ object: 'chat.completion' });
  });

  test.each(['generateContent', 'streamGenerateContent'])('Google: %s, with instructions and tools', async (action) => {
    const { key } = await onCredit('google', '0.2');
    const body = {
      contents: [{ role: 'user', parts: [{ text: PROMPT }] }],
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      tools: [{ functionDeclarations: [{ name: 'look' }] }],
    };
    const events = `data: ${JSON.stringify(KINDS.google.answer(COUNT, 2))}\n\n`;
    const isStream = action.startsWith('stream');
    const seen = watch('google', counted('google'), () =>
      isStream
        ? new Response(events, { headers: { 'Content-Type': 'text/event-stream' } })
        : KINDS.google.answer(COUNT, 2),
    );
    const path = `/v1beta/models/google/talker:${action}${isStream ? '?alt=sse' : ''}`;
    const { response } = await askGoogle(key, path, body);
    expect(response.status).toBe(200);
    await response.text();
    expect(seen.counts).toMatchObject([
      {
        url: 'https://google.example.com/v1beta/models/talker:countTokens',
        headers: { 'x-goog-api-key': 'sk-vendor' },
        body: { generateContentRequest: { ...body, model: 'models/talker' } },
      },
    ]);
    expect(Object.keys(seen.counts[0]?.body ?? {})).toEqual(['generateContentRequest']);
  });

  test('OpenAI: responses, whose count is exact and has no margin', async () => {
    const { key, customer } = await onCredit('openai', '0.2');
    let held = '';
    const seen = watch('openai', counted('openai'), async () => {
      held = (await customer.wallet()).heldUsd;
      return KINDS.openai.answer(COUNT, 2);
    });
    const body = { model: 'openai/talker', instructions: 'Be brief.', input: PROMPT, store: false, user: 'u' };
    const { response } = await ask(key, { ...body, messages: undefined }, bindings, '/v1/responses');
    expect(response.status).toBe(200);
    expect(seen.counts.map(({ url }) => url)).toEqual(['https://openai.example.com/v1/responses/input_tokens']);
    expect(seen.counts[0]?.headers).toMatchObject({ authorization: 'Bearer sk-vendor' });
    expect(seen.counts[0]?.body).toEqual({ model: 'talker', instructions: 'Be brief.', input: PROMPT });
    expect(Number(held)).toBeCloseTo(usdAtMost(COUNT), 6);
  });

  test('OpenAI counts no chat completions: the bytes stand', async () => {
    const { key } = await onCredit('openai', '0.2');
    const seen = watch('openai');
    const { response } = await ask(key, { model: 'openai/talker', messages: [message()] });
    expect([response.status, seen.counts, seen.calls]).toEqual([402, [], []]);
  });
});

/** Without the fields of other forms. */
function askGoogle(key: string, path: string, body: object) {
  return ask(key, { model: undefined, messages: undefined, ...body }, bindings, path);
}

test('what is held is the count with its margin, and a vendor that bills all of it overshoots nothing', async () => {
  const world = await onCredit('anthropic', String(usdAtMost(WITH_MARGIN) + 0.000_001));
  let held = '';
  watch('anthropic', counted('anthropic'), async () => {
    held = (await world.customer.wallet()).heldUsd;
    return KINDS.anthropic.answer(WITH_MARGIN, OUTPUT);
  });
  const { response, callId, rest } = await toMessages(world);
  await rest();
  expect(response.status).toBe(200);
  expect(Number(held)).toBeCloseTo(usdAtMost(WITH_MARGIN), 6);
  const call = await readStoredCall(world.tenant, callId);
  expect(BigInt(call?.outcome?.charge?.amountNanoUsd ?? 0)).toBeLessThanOrEqual(
    BigInt(call?.credit?.heldAtEndNanoUsd ?? 0),
  );
  await world.customer.settle();
  const { balanceUsd, heldUsd } = await world.customer.wallet();
  expect([Number(balanceUsd) >= 0, heldUsd]).toEqual([true, '0']);
});

test('a lost answer is charged what the count bounds, never more than was held', async () => {
  const world = await onCredit('anthropic', '0.2');
  watch('anthropic', counted('anthropic'), () => {
    throw new Error('the connection broke');
  });
  vi.mocked(fetch).mockImplementation(async (url) => {
    if (String(url).endsWith('count_tokens')) return Response.json({ input_tokens: COUNT });
    // Headers came, and then nothing.
    const body = new ReadableStream({ start: (controller) => controller.error(new Error('cut')) });
    return new Response(body, { status: 200, headers: { 'Content-Type': 'application/json' } });
  });
  const { callId, rest } = await toMessages(world);
  await rest();
  const call = await readStoredCall(world.tenant, callId);
  expect(call?.outcome?.usage.inputTokens).toBe(WITH_MARGIN);
  const charged = BigInt(call?.outcome?.charge?.amountNanoUsd ?? 0);
  expect(charged).toBeGreaterThan(0n);
  expect(charged).toBeLessThanOrEqual(BigInt(call?.credit?.heldAtEndNanoUsd ?? 0));
});

describe('a call makes no request to a counter', () => {
  test('that passes by its bytes', async () => {
    const world = await onCredit('anthropic', '5');
    const seen = watch('anthropic');
    expect((await toMessages(world)).response.status).toBe(200);
    expect([seen.counts.length, seen.calls.length]).toEqual([0, 1]);
  });

  test('that an allowance pays for', async () => {
    const world = await onCredit('anthropic', '0.01', 10);
    const seen = watch('anthropic');
    expect((await toMessages(world)).response.status).toBe(200);
    expect([seen.counts.length, seen.calls.length]).toEqual([0, 1]);
  });

  test('that no count could let pass', async () => {
    const world = await onCredit('anthropic', '0.03');
    const seen = watch('anthropic');
    expect((await toMessages(world)).response.status).toBe(402);
    expect([seen.counts, seen.calls]).toEqual([[], []]);
  });

  test('that is a replay of one that was counted', async () => {
    const world = await onCredit('anthropic', '0.2');
    const seen = watch('anthropic');
    const key = { 'Idempotency-Key': 'once' };
    const [first, second] = [await toMessages(world, {}, key), await toMessages(world, {}, key)];
    expect([first.response.status, second.response.status]).toEqual([200, 200]);
    expect(second.callId).toBe(first.callId);
    expect([seen.counts.length, seen.calls.length]).toEqual([1, 1]);
  });

  test.each<[string, object]>([
    ['a picture that the vendor fetches', { messages: [message([{ type: 'text', text: PROMPT }, linked()])] }],
    [
      'a tool whose results only the vendor knows',
      { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }] },
    ],
  ])('with %s', async (_what, body) => {
    const world = await onCredit('anthropic', '0.2');
    const params = { org: world.tenant.organizationId };
    await operator.send('updateOrganization', { params, body: { creditOpen: ['*'] } });
    const seen = watch('anthropic');
    expect((await toMessages(world, body)).response.status).not.toBe(200);
    expect([seen.counts, seen.calls]).toEqual([[], []]);
  });
});

function linked() {
  return { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
}

describe('the bytes stand, and the refusal is recorded as before', () => {
  test.each<[string, () => Response | Promise<Response>]>([
    ['fails', () => Response.json({ type: 'error', error: { type: 'api_error', message: 'no' } }, { status: 500 })],
    ['is not there', () => new Response('not found', { status: 404 })],
    ['answers no JSON', () => new Response('many')],
    ['answers nonsense', () => Response.json({ input_tokens: 'many' })],
    ['answers nothing', () => Response.json({})],
    ['answers a part of a token', () => Response.json({ input_tokens: 0.5 })],
    ['answers no token', () => Response.json({ input_tokens: 0 })],
    ['answers a token for a long prompt', () => Response.json({ input_tokens: 1 })],
    ['answers fewer than none', () => Response.json({ input_tokens: -COUNT })],
    ['answers more than the bytes', () => Response.json({ input_tokens: 900_000 })],
    [
      'is not reached',
      () => {
        throw new Error('no route');
      },
    ],
  ])('if the counter %s', async (_what, count) => {
    const world = await onCredit('anthropic', '0.2');
    const seen = watch('anthropic', count);
    const { response } = await toMessages(world);
    expect([response.status, seen.counts.length, seen.calls.length]).toEqual([402, 1, 0]);
    const { recentCalls } = await world.customer.inspect();
    expect(recentCalls.map(({ status }) => status)).toEqual(['NOT_ALLOWED']);
    expect((await accountOf(world.tenant)).wallet.held).toBe('0');
  });

  test('if the counter hangs: it is given up after three seconds', async () => {
    const world = await onCredit('anthropic', '0.2');
    const seen = watch('anthropic');
    vi.mocked(fetch).mockImplementation((url, init) => {
      seen.counts.push({ url: String(url), body: {}, headers: {} });
      return new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(new Error('aborted'))));
    });
    const startedAtMs = Date.now();
    const { response } = await toMessages(world);
    expect([response.status, seen.counts.length]).toEqual([402, 1]);
    expect(Date.now() - startedAtMs).toBeGreaterThanOrEqual(2_900);
    expect(Date.now() - startedAtMs).toBeLessThan(6_000);
  });

  test('if the count is too much for the balance', async () => {
    const world = await onCredit('anthropic', '0.1');
    const seen = watch('anthropic');
    expect((await toMessages(world)).response.status).toBe(402);
    expect([seen.counts.length, seen.calls.length]).toEqual([1, 0]);
  });
});

test('a call that only waits for holds of others by its bytes passes beside them by its count', async () => {
  const world = await onCredit('anthropic', '0.6');
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const seen = watch('anthropic', counted('anthropic'), async () => {
    await released;
    return KINDS.anthropic.answer(COUNT, 2);
  });
  const first = toMessages(world);
  await expect.poll(() => seen.calls.length).toBe(1);
  expect(seen.counts).toEqual([]);
  const second = toMessages(world);
  await expect.poll(() => seen.calls.length).toBe(2);
  expect(seen.counts).toHaveLength(1);
  release();
  for (const call of [await first, await second]) {
    expect(call.response.status).toBe(200);
    await call.rest();
  }
});

test('what others hold counts as before: a call that its count would let pass without them is 429, and is not recorded', async () => {
  const world = await onCredit('anthropic', '0.3');
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const seen = watch('anthropic', counted('anthropic'), async () => {
    await released;
    return KINDS.anthropic.answer(COUNT, 2);
  });
  const calls = [toMessages(world), toMessages(world)];
  await expect.poll(() => seen.calls.length).toBe(2);
  const { response } = await toMessages(world);
  expect(response.status).toBe(429);
  expect(await response.json()).toMatchObject({ error: { code: 'BALANCE_HELD' } });
  expect((await world.customer.inspect()).recentCalls).toHaveLength(2);
  release();
  for (const call of calls) expect((await call).response.status).toBe(200);
  for (const call of calls) await (await call).rest();
  // The vendor was asked once for the prompt.
  expect(seen.counts.length).toBeLessThanOrEqual(2);
});

describe('the questions are bounded', () => {
  test('a prompt that is refused again and again is counted once', async () => {
    const world = await onCredit('anthropic', '0.1');
    const seen = watch('anthropic');
    for (let n = 0; n < 5; n += 1) expect((await toMessages(world)).response.status).toBe(402);
    expect(seen.counts).toHaveLength(1);
  });

  test('a counter that fails is not asked again at once', async () => {
    const world = await onCredit('anthropic', '0.1');
    const seen = watch('anthropic', () => new Response('no', { status: 503 }));
    for (let n = 0; n < 5; n += 1) expect((await toMessages(world)).response.status).toBe(402);
    expect(seen.counts).toHaveLength(1);
  });

  test('a customer has thirty in a minute', async () => {
    const world = await onCredit('anthropic', '0.1');
    const seen = watch('anthropic');
    for (let n = 0; n < 40; n += 1) await toMessages(world, { messages: [message(`${n} ${PROMPT}`)] });
    expect(seen.counts).toHaveLength(30);
  });

  test('of several models three are counted', async () => {
    const world = await onCredit('anthropic', '0.2');
    const components = [{ component: 'input', per: 1_000_000, usd: '2' }];
    const names = ['b', 'c', 'd'].map((name) => `anthropic/${name}`);
    for (const modelKey of names) {
      const params = { org: world.tenant.organizationId, modelKey };
      const output = { component: 'output', per: 1_000_000, usd: '10' };
      await operator.send('setPrice', { params, body: { components: [...components, output] } });
    }
    const seen = watch('anthropic');
    expect((await toMessages(world, { models: names.slice(0, 2) })).response.status).toBe(200);
    expect(seen.counts.map(({ body }) => body.model).sort()).toEqual(['b', 'c', 'talker']);
    seen.counts.length = 0;
    expect((await toMessages(world, { models: names, system: 'x' })).response.status).toBe(402);
    // The fourth alone would refuse it.
    expect(seen.counts).toEqual([]);
  });
});

describe('POST /call', () => {
  /** Its bodies have at most 64 KiB. */
  const SHORT = PROMPT.slice(0, 60_000);
  const TOKENS = 13_500;
  const TOKENS_WITH_MARGIN = TOKENS + 270 + 64;
  const countedShort = () => Response.json(KINDS.anthropic.count(TOKENS));
  const callOfVendor = (world: OnCredit, more: object = {}, headers: Record<string, string> = {}) =>
    world.tenant.api.send('makeCall', {
      body: {
        customerId: 'default',
        vendor: {
          url: `${BASE_URLS.anthropic}/messages?beta=true`,
          provider: 'anthropic',
          headers: { 'X-Api-Key': 'sk-of-the-caller', 'Content-Type': 'application/json', 'Idempotency-Key': 'k' },
          body: { model: 'talker', max_tokens: OUTPUT, messages: [message(SHORT)] },
        },
        ...more,
      },
      headers,
    });

  test("the caller's own headers go to the counter at the same origin", async () => {
    const world = await onCredit('anthropic', '0.1');
    const seen = watch('anthropic', countedShort);
    const { data } = await callOfVendor(world);
    expect(data.vendor).toMatchObject({ ok: true });
    expect(seen.calls).toHaveLength(1);
    expect(seen.counts).toHaveLength(1);
    const [count] = seen.counts;
    expect(count?.url).toBe('https://anthropic.example.com/v1/messages/count_tokens?beta=true');
    expect(count?.headers).toMatchObject({ 'x-api-key': 'sk-of-the-caller', 'content-type': 'application/json' });
    expect(count?.headers).not.toHaveProperty('idempotency-key');
    expect(count?.body).toEqual({ model: 'talker', messages: [message(SHORT)] });
  });

  test('holds the count with its margin', async () => {
    const world = await onCredit('anthropic', '0.1');
    let held = '';
    watch('anthropic', countedShort, async () => {
      held = (await world.customer.wallet()).heldUsd;
      return KINDS.anthropic.answer(TOKENS, 2);
    });
    await callOfVendor(world, {}, { 'Idempotency-Key': 'counted' });
    expect(Number(held)).toBeCloseTo(usdAtMost(TOKENS_WITH_MARGIN), 6);
  });

  test('a counter that fails leaves the call denied, with its record', async () => {
    const world = await onCredit('anthropic', '0.1');
    const seen = watch('anthropic', () => new Response('no', { status: 500 }));
    const { data } = await callOfVendor(world);
    expect(data.begin.denial).toMatchObject({ code: 'CREDIT_REQUIRED' });
    expect([seen.counts.length, seen.calls.length]).toEqual([1, 0]);
  });

  test('a vendor that nobody knows is asked for no count', async () => {
    const world = await onCredit('anthropic', '0.1');
    const seen = watch('anthropic', countedShort);
    const url = 'https://elsewhere.example.com/v1/messages';
    const body = { model: 'talker', max_tokens: OUTPUT, messages: [message(SHORT)] };
    await callOfVendor(world, { vendor: { url, provider: 'anthropic', body } });
    expect([seen.counts, seen.calls]).toEqual([[], []]);
  });
});
