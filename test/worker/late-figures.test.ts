/**
 * Promise: a call whose answer was lost at a vendor that keeps the response ends with an estimate at once, and gets the
 * vendor's figures as soon as the response has ended: once, at most a day later, and whatever restarts in between. A
 * call with nothing to fetch, or nothing left to correct, stays unchanged.
 */

import {
  createExecutionContext,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AWAITED_MAX, AWAITED_MS_MAX, POLLS_MAX } from '../../durable-objects/customer/commands/awaited-figures.ts';
import { createApp } from '../../src/app.ts';
import { planOnCredit, TWO_RATES } from '../support/credit-plans.ts';
import { fundedCustomer } from '../support/customer.ts';
import { BASE_URL, newTenant, readStoredCall } from '../support/gateway.ts';
import { bindings, customerStub, operator } from '../support/worker.ts';

const app = createApp();
/** A vendor is read on for 25 s after its caller has left; shorter waits are as long as ever. */
const FASTER = 100;
const LONG_MS = 20_000;
const MINUTE_MS = 60_000;

const MODEL = 'openai/gpt-5.2';
const ON_CREDIT = planOnCredit({ maxOutputTokens: 100_000 });
const ON_ALLOWANCE = { name: 'P', limitType: 'BLOCK', limits: { premiumCalls: 1_000, standardCalls: 1_000 } };

const ID = 'resp_68af';
const USAGE = { input_tokens: 40, output_tokens: 700, total_tokens: 740 };
const TRUE_USD = (40 * 2 + 700 * 10) / 1e6;
const RESPONSE = { id: ID, object: 'response', model: 'gpt-5.2-2025-12-11', output: [], usage: null };
const RUNNING = { ...RESPONSE, status: 'in_progress' };
const ENDED = { ...RESPONSE, status: 'completed', usage: USAGE };
const FAILED = { ...RESPONSE, status: 'failed', error: { code: 'server_error', message: 'it broke' } };

type Then = (controller: ReadableStreamDefaultController<Uint8Array>) => Promise<void> | void;
const staysSilent: Then = () => new Promise(() => undefined);
const breaksOff: Then = (controller) => controller.error(new Error('reset'));

/** The vendor's treatment of a request for a response. */
let answers: () => Response;
/** The vendor's answer when it is asked for the response. */
let shows: (asked: number) => Response | Promise<Response>;
/** How it was asked for it. */
let polls: { url: string; authorization: string | undefined }[];
/** How far the clock was moved. */
let aheadMs = 0;
/** Objects of this test: their alarms must not ring in the next one. */
const stubs: ReturnType<typeof customerStub>[] = [];

beforeEach(() => {
  const [now, wait] = [Date.now.bind(Date), setTimeout];
  [aheadMs, polls, shows] = [0, [], () => Response.json(RUNNING)];
  vi.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
  const faster = (work: () => void, ms = 0) => wait(work, ms < LONG_MS ? ms : ms / FASTER);
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(faster as typeof setTimeout);
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
    const { method, headers } = init as unknown as { method: string; headers: Record<string, string> };
    if (method !== 'GET') return answers();
    polls.push({ url: String(url), authorization: headers.authorization });
    return shows(polls.length);
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(stubs.splice(0).map((stub) => runInDurableObject(stub, (_, { storage }) => storage.deleteAlarm())));
});

/** Events of a response that began and wrote so many words; then the vendor does what the test sets. */
function eventStream(words: number, then: Then, response: object = RUNNING): () => Response {
  const events = [{ type: 'response.created', response }];
  const deltas = Array.from({ length: words }, () => ({ type: 'response.output_text.delta', delta: 'word ' }));
  const text = [...events, ...deltas]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
  return () => {
    let isSent = false;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (isSent) return then(controller);
        isSent = true;
        controller.enqueue(new TextEncoder().encode(text));
      },
    });
    return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
  };
}

async function onCredit(plan: object = ON_CREDIT, provider = 'openai', { model = MODEL, usd: balance = '100' } = {}) {
  const tenant = await newTenant(plan);
  const { organizationId } = tenant;
  const of = { org: organizationId, provider };
  await operator.send('setVendor', { params: of, body: { apiKey: 'sk-late', baseUrl: BASE_URL } });
  const modelKey = model.replace('openai', provider);
  const params = { org: organizationId, modelKey };
  expect((await operator.send('setPrice', { params, body: { components: TWO_RATES } })).status).toBe(200);
  const customer = await fundedCustomer(tenant, 'default', { usd: balance });
  const stub = () => customerStub(organizationId, 'default');
  stubs.push(stub());
  const seen = async (callId: string) => {
    const { outcome, corrections = [] } = (await readStoredCall(tenant, callId)) ?? {};
    const { usage, usageSource, error, charge, price } = outcome ?? {};
    const usd = price?.status === 'FINAL' ? Number(price.costNanoUsd) / 1e9 : null;
    const charged = charge?.amountNanoUsd ?? null;
    return { ...usage, usageSource, code: error?.code, usd, charged, corrections: corrections.length };
  };
  return {
    tenant,
    customer,
    stub,
    seen,
    /** Asks for a response; leaves once the stream has begun, if it `leaves`. */
    async lose(body: object = {}, { leaves = false, idleMs = 120_000 } = {}) {
      const context = createExecutionContext();
      const caller = new AbortController();
      const response = await app.request(
        '/v1/responses',
        {
          method: 'POST',
          headers: { Authorization: `Bearer ${tenant.key}`, 'Content-Type': 'application/json' },
          body: JSON.stringify({ model: modelKey, input: 'Say something.', stream: true, ...body }),
          signal: caller.signal,
        },
        { ...bindings, GATEWAY_IDLE_TIMEOUT_MS: idleMs },
        context,
      );
      if (leaves) caller.abort();
      else await response.text().catch(() => undefined);
      await waitOnExecutionContext(context);
      expect(response.status).toBe(200);
      return response.headers.get('x-service-call-id') ?? '';
    },
    /** Time passes, and the alarm fires. */
    async pass(ms: number) {
      aheadMs += ms;
      await runDurableObjectAlarm(stub());
    },
    awaited: () =>
      runInDurableObject(stub(), (_, { storage }) =>
        storage.sql.exec<{ call_id: string; due_at_ms: number }>('SELECT * FROM awaited_figures').toArray(),
      ),
  };
}

describe('the figures of a response that its vendor keeps', () => {
  test('replace the estimate of a stream that was left, as soon as the response has ended', async () => {
    const { lose, pass, seen, awaited, customer } = await onCredit();
    answers = eventStream(20, staysSilent);
    const callId = await lose({}, { leaves: true });
    const estimated = await seen(callId);
    expect(estimated).toMatchObject({ usageSource: 'estimated', code: 'CLIENT_LEFT', corrections: 0 });
    expect(polls).toEqual([]);
    await pass(MINUTE_MS);
    expect(polls).toEqual([{ url: `${BASE_URL}/responses/${ID}`, authorization: 'Bearer sk-late' }]);
    expect(await seen(callId)).toEqual(estimated);
    shows = () => Response.json(ENDED);
    await pass(MINUTE_MS);
    const known = await seen(callId);
    expect(known).toMatchObject({ inputTokens: 40, responseTokens: 700, usageSource: undefined, corrections: 1 });
    // The caller did not get its answer, whatever came of it.
    expect(known).toMatchObject({ code: 'CLIENT_LEFT', usd: TRUE_USD });
    expect(await awaited()).toEqual([]);
    await pass(MINUTE_MS);
    expect(polls).toHaveLength(2);
    await customer.settle();
    expect(Number((await customer.wallet()).balanceUsd)).toBeCloseTo(100 - TRUE_USD, 9);
  });

  test.each([
    ['breaks off', breaksOff, 'VENDOR_STREAM_CUT'],
    ['falls silent', staysSilent, 'VENDOR_TIMEOUT'],
  ])('come also if the vendor %s, and may be more than the estimate', async (_, then, code) => {
    const { lose, pass, seen } = await onCredit();
    answers = eventStream(20, then);
    const callId = await lose({}, { idleMs: 50 });
    expect(await seen(callId)).toMatchObject({ usageSource: 'estimated', code, responseTokens: expect.any(Number) });
    shows = () => Response.json(ENDED);
    await pass(MINUTE_MS);
    expect(await seen(callId)).toMatchObject({ responseTokens: 700, usageSource: undefined, code, usd: TRUE_USD });
  });

  test.each(['incomplete', 'cancelled', 'failed'])(
    'are those of a response that is %s, if it has any',
    async (status) => {
      const { lose, pass, seen } = await onCredit();
      answers = eventStream(1, breaksOff);
      const callId = await lose();
      shows = () => Response.json({ ...ENDED, status });
      await pass(MINUTE_MS);
      expect(await seen(callId)).toMatchObject({ responseTokens: 700, usageSource: undefined, corrections: 1 });
    },
  );

  test('come for a call that an allowance pays, and at Azure', async () => {
    const { lose, pass, seen } = await onCredit(ON_ALLOWANCE, 'azure');
    answers = eventStream(5, breaksOff);
    const callId = await lose();
    shows = () => Response.json(ENDED);
    await pass(MINUTE_MS);
    expect(await seen(callId)).toMatchObject({ responseTokens: 700, usageSource: undefined, charged: null });
  });

  test('come for a whole answer without usage, whose cost was not known', async () => {
    const { lose, pass, seen } = await onCredit(ON_ALLOWANCE);
    answers = () => Response.json({ ...ENDED, usage: null, output: [{ type: 'message', content: [{ text: 'hi' }] }] });
    const callId = await lose({ stream: false });
    expect(await seen(callId)).toMatchObject({ usd: null });
    shows = () => Response.json(ENDED);
    await pass(MINUTE_MS);
    expect(await seen(callId)).toMatchObject({ responseTokens: 700, usd: TRUE_USD });
  });

  test('are asked for again with growing pauses while the vendor cannot show them', async () => {
    const { lose, pass, seen, awaited } = await onCredit();
    answers = eventStream(5, breaksOff);
    const callId = await lose();
    const estimated = await seen(callId);
    const cannot = [
      () => new Response('{}', { status: 500 }),
      () => new Response('{}', { status: 401 }),
      () => new Response('<html>', { status: 200 }),
      () => Response.json({ ...ENDED, id: 'resp_other' }),
      () => {
        throw new Error('refused');
      },
      () => Response.json({ ...ENDED, status: 'queued' }),
    ];
    const pauses: number[] = [];
    const said = ['log', 'warn', 'error'].map((level) => vi.spyOn(console, level as 'log'));
    for (const show of cannot) {
      shows = show;
      await pass(15 * MINUTE_MS);
      const [{ due_at_ms = 0 } = {}] = await awaited();
      pauses.push(Math.round((due_at_ms - Date.now()) / 1_000));
    }
    expect(polls).toHaveLength(cannot.length);
    expect(JSON.stringify(said.map(({ mock }) => mock.calls))).not.toContain('sk-late');
    // The clock goes on meanwhile.
    expect(pauses.map((pause) => Math.ceil(pause / 10) * 10)).toEqual([20, 40, 80, 160, 300, 300]);
    expect(await seen(callId)).toEqual(estimated);
    // An alarm that fires for something else asks nobody.
    await pass(0);
    expect(polls).toHaveLength(cannot.length);
    shows = () => Response.json(ENDED);
    await pass(15 * MINUTE_MS);
    expect(await seen(callId)).toMatchObject({ responseTokens: 700 });
  });

  test('come after a restart too, also if the object was gone while it asked', async () => {
    const { lose, pass, seen, stub } = await onCredit();
    answers = eventStream(5, breaksOff);
    const callId = await lose();
    await evictDurableObject(stub());
    shows = () => {
      throw new Error('the object is gone');
    };
    await pass(MINUTE_MS);
    await evictDurableObject(stub());
    shows = () => Response.json(ENDED);
    await pass(MINUTE_MS);
    expect(await seen(callId)).toMatchObject({ responseTokens: 700, corrections: 1 });
  });

  test('that are unclear count at the bound of the call, and stay provisional', async () => {
    const { lose, pass, seen } = await onCredit();
    answers = eventStream(5, breaksOff);
    const callId = await lose({ max_output_tokens: 900 });
    shows = () => Response.json({ ...ENDED, usage: { ...USAGE, output_tokens: 'many', total_tokens: undefined } });
    await pass(MINUTE_MS);
    expect(await seen(callId)).toMatchObject({ inputTokens: 40, responseTokens: 900, usageSource: 'partial' });
  });

  test('of a large response are read without holding it', async () => {
    const { lose, pass, seen } = await onCredit();
    answers = eventStream(5, breaksOff);
    const callId = await lose();
    const output = [{ type: 'image_generation_call', result: 'A'.repeat(12 * 1024 * 1024) }];
    shows = () => Response.json({ ...ENDED, output });
    await pass(MINUTE_MS);
    expect(await seen(callId)).toMatchObject({ responseTokens: 700, usageSource: undefined });
  });
});

describe('the estimate stays', () => {
  test.each([
    ['the vendor does not have the response', () => new Response('{}', { status: 404 })],
    ['the response was cancelled without figures', () => Response.json({ ...RESPONSE, status: 'cancelled' })],
    ['the response failed after output, without figures', () => Response.json(FAILED)],
  ])('if %s, and nobody asks again', async (_, show) => {
    const { lose, pass, seen, awaited } = await onCredit();
    answers = eventStream(5, breaksOff);
    const callId = await lose();
    const estimated = await seen(callId);
    shows = show;
    await pass(MINUTE_MS);
    expect(await awaited()).toEqual([]);
    await pass(MINUTE_MS);
    expect(polls).toHaveLength(1);
    expect(await seen(callId)).toEqual(estimated);
  });

  test('after a day, and nobody asks any more', async () => {
    const { lose, pass, seen, awaited } = await onCredit();
    answers = eventStream(5, breaksOff);
    const callId = await lose();
    const estimated = await seen(callId);
    await pass(AWAITED_MS_MAX - MINUTE_MS);
    expect(polls).toHaveLength(1);
    const [{ due_at_ms = 0 } = {}] = await awaited();
    expect(due_at_ms - Date.now()).toBeLessThanOrEqual(MINUTE_MS);
    shows = () => Response.json(ENDED);
    await pass(MINUTE_MS);
    expect(polls).toHaveLength(1);
    expect(await awaited()).toEqual([]);
    expect(await seen(callId)).toEqual(estimated);
  });

  test('if the vendor does not keep the response, or is none that is known to', async () => {
    const own = await onCredit();
    answers = eventStream(5, breaksOff);
    await own.lose({ store: false });
    expect(await own.awaited()).toEqual([]);
    const other = await onCredit(ON_ALLOWANCE, 'elsewhere');
    await other.lose();
    expect(await other.awaited()).toEqual([]);
    await own.lose({ store: true });
    expect(await own.awaited()).toHaveLength(1);
  });

  test('if the stream was stopped for want of credit: it costs what it held', async () => {
    const model = 'openai/gpt-4o-mini';
    const { lose, seen, awaited, customer } = await onCredit(ON_CREDIT, 'openai', { model, usd: '0.015' });
    answers = eventStream(3_000, staysSilent);
    const callId = await lose();
    expect(await seen(callId)).toMatchObject({ usageSource: 'estimated', code: undefined });
    expect(await awaited()).toEqual([]);
    await customer.settle();
    expect(Number((await customer.wallet()).balanceUsd)).toBeGreaterThanOrEqual(0);
  });

  test('if the id of the response is none that may stand in a path', async () => {
    const { lose, awaited } = await onCredit();
    for (const id of ['../files/file-1', 'a/b', '', 7]) {
      answers = eventStream(5, breaksOff, { ...RUNNING, id });
      await lose();
    }
    expect(await awaited()).toEqual([]);
  });

  test('if the call was reversed or amended meanwhile', async () => {
    const { lose, pass, seen, tenant } = await onCredit();
    answers = eventStream(5, breaksOff);
    const [reversed, amended] = [await lose(), await lose({ input: 'Another.' })];
    const body = { reason: 'a test' };
    const usage = { modelUsed: 'gpt-5.2', providerUsed: 'openai', inputTokens: 1, responseTokens: 2 };
    expect(
      (await tenant.api.send('amendCall', { params: { callId: amended }, body: { ...body, ...usage } })).status,
    ).toBe(200);
    expect((await tenant.api.send('reverseCall', { params: { callId: reversed }, body })).status).toBe(200);
    shows = () => Response.json(ENDED);
    await pass(MINUTE_MS);
    expect(await seen(amended)).toMatchObject({ responseTokens: 2, corrections: 1 });
    expect(await seen(reversed)).toMatchObject({ corrections: 1 });
    expect(polls).toHaveLength(2);
  });
});

test('a response that failed before any output, and reports none, was not billed', async () => {
  const { lose, pass, seen, customer } = await onCredit();
  answers = eventStream(0, staysSilent);
  const callId = await lose({}, { leaves: true });
  expect((await seen(callId)).usd).toBeGreaterThan(0);
  shows = () => Response.json(FAILED);
  await pass(MINUTE_MS);
  expect(await seen(callId)).toMatchObject({ responseTokens: 0, usd: 0, charged: '0' });
  await customer.settle();
  expect(Number((await customer.wallet()).balanceUsd)).toBe(100);
});

test('an erased customer is asked for nothing, also if the vendor answers only afterwards', async () => {
  const { lose, pass, stub, tenant } = await onCredit();
  answers = eventStream(5, breaksOff);
  await lose();
  const params = { org: tenant.organizationId, customerId: 'default' };
  shows = async () => {
    expect((await operator.send('eraseCustomer', { params })).status).toBe(200);
    return Response.json(ENDED);
  };
  await pass(MINUTE_MS);
  expect(polls).toHaveLength(1);
  const left = await runInDurableObject(stub(), async (_, { storage }) => ({
    tables: storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray(),
    alarm: await storage.getAlarm(),
  }));
  expect(left).toEqual({ tables: [], alarm: null });
});

test('vendors are asked for a bounded number of responses, a few at a time', async () => {
  const { lose, pass, awaited, stub, seen } = await onCredit();
  answers = eventStream(5, breaksOff);
  const callId = await lose();
  await runInDurableObject(stub(), (_, { storage }) => {
    storage.sql.exec(
      `WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO awaited_figures SELECT 'other-' || i, since_ms, due_at_ms, polls, awaited FROM awaited_figures, n`,
      AWAITED_MAX,
    );
  });
  await lose({ input: 'One too many.' });
  expect(await awaited()).toHaveLength(AWAITED_MAX);
  let [asked, askedMost] = [0, 0];
  shows = async () => {
    asked += 1;
    askedMost = Math.max(askedMost, asked);
    await scheduler.wait(20);
    asked -= 1;
    return Response.json(ENDED);
  };
  await pass(MINUTE_MS);
  // The runtime may fire its own alarm beside that of the test.
  expect([POLLS_MAX, 2 * POLLS_MAX]).toContain(askedMost);
  for (let round = 1; (await seen(callId)).corrections === 0 && round < AWAITED_MAX / POLLS_MAX; round += 1)
    await pass(0);
  expect(await seen(callId)).toMatchObject({ responseTokens: 700 });
});
