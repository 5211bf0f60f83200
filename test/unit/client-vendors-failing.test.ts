/**
 * The fate of a wrapped SDK's request if something goes wrong: a used-up tier, a denial, a vendor or a service that
 * fails, a caller that leaves. One request is one call, and its caller gets the SDK's own result.
 */
import OpenAI, { APIUserAbortError, BadRequestError, RateLimitError } from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createClientIn } from '../../src/client/client.ts';
import { systemRuntime } from '../../src/client/runtime.ts';
import {
  CallDeniedError,
  type Downgraded,
  isCallDeniedError,
  modelByTier,
  wrapFetch,
  wrapOpenAI,
} from '../../src/client/vendors.ts';
import * as fail from '../support/failing-server.ts';
import { chat, MeteredSdks, NOTHING, openaiUsed, PROMPT, REPLY, USED, until, user } from '../support/metered-sdks.ts';
import { countWords } from '../vendors/vendor.ts';

const TIERS = { premium: 'gpt-5.2', standard: 'gpt-4.1-mini' };

let sdks: MeteredSdks;
beforeAll(async () => {
  sdks = await MeteredSdks.start();
});
afterAll(() => sdks.stop());
beforeEach(() => sdks.reset());

describe('the model of a tier', () => {
  const open = { ...chat, model: modelByTier(TIERS) };

  test.each([
    ['premium where it is allowed', { premium: true, standard: true }, 'gpt-5.2'],
    ['standard where premium is used up', { standard: true }, 'gpt-4.1-mini'],
  ])('is %s', async (_where, of, model) => {
    sdks.allowed = { ...NOTHING, ...of };
    await sdks.openai({ requested: { search: true } }).chat.completions.create(open);
    expect(sdks.begins()).toMatchObject([{ requested: { premium: true, standard: true, search: true } }]);
    expect(sdks.sentModels()).toEqual([model]);
    expect(sdks.ends()).toMatchObject([{ modelUsed: model }]);
  });

  test('onDowngrade is called, and may return another model', async () => {
    sdks.hints = { ...sdks.hints, downgrade: { reason: 'PREMIUM_QUOTA_EXHAUSTED', fallbackTier: 'standard' } };
    const told: Downgraded[] = [];
    const onDowngrade = (downgraded: Downgraded) => void told.push(downgraded);
    await sdks
      .openai({ onDowngrade: (downgraded) => onDowngrade(downgraded) as undefined })
      .chat.completions.create(open);
    expect(told).toMatchObject([
      { reason: 'PREMIUM_QUOTA_EXHAUSTED', model: 'gpt-5.2', fallback: 'gpt-4.1-mini', call: { denied: false } },
    ]);
    await sdks.openai({ onDowngrade: async () => 'gpt-4o-mini' }).chat.completions.create(open);
    await sdks.openai({ requested: { premium: true }, onDowngrade: () => 'gpt-4o-mini' }).chat.completions.create(chat);
    expect(sdks.sentModels()).toEqual(['gpt-4.1-mini', 'gpt-4o-mini', 'gpt-4o-mini']);
  });

  test('a single model that is not allowed is rejected, and its call ends as failed', async () => {
    sdks.hints = { ...sdks.hints, downgrade: { reason: 'PREMIUM_QUOTA_EXHAUSTED', fallbackTier: 'standard' } };
    const refused = sdks.openai({ requested: { premium: true } }).chat.completions.create(chat);
    await expect(refused).rejects.toBeInstanceOf(CallDeniedError);
    expect(sdks.vendor.requests).toEqual([]);
    expect(sdks.ends()).toMatchObject([{ error: { code: 'NO_MODEL' } }]);
  });

  test.each([
    ['OpenAI', () => sdks.openai({}, 2).chat.completions.create(chat)],
    ['OpenAI’s streams', () => sdks.openai({}, 2).chat.completions.stream(chat).done()],
    ['Anthropic', () => sdks.anthropic({}, 2).messages.create({ model: 'm', max_tokens: 1, messages: [] })],
    ['Google', () => sdks.google().models.generateContent({ model: 'm', contents: 'c' })],
    ['Google’s streams', () => sdks.google().models.generateContentStream({ model: 'm', contents: 'c' })],
  ])('what is denied does not reach the vendor: %s', async (_vendor, ask) => {
    sdks.allowed = NOTHING;
    const error: unknown = await ask().catch((reason: Error) => (isCallDeniedError(reason) ? reason : reason.cause));
    expect(error).toMatchObject({ name: 'CallDeniedError', allowed: NOTHING, callId: expect.any(String) });
    expect([sdks.vendor.requests.length, sdks.begins().length, sdks.ends().length]).toEqual([0, 1, 0]);
  });

  test.each([
    ['OpenAI', () => sdks.openai({}, 2).chat.completions.create(chat)],
    ['Anthropic', () => sdks.anthropic({}, 2).messages.create({ model: 'm', max_tokens: 1, messages: [] })],
    ['Google', () => sdks.google().models.generateContent({ model: 'm', contents: 'c' })],
    [
      'fetch',
      () =>
        wrapFetch(fetch, { callmeter: sdks.callmeter, customerId: 'alice' })(`${sdks.vendor.url}/v1/chat/completions`, {
          method: 'POST',
          body: JSON.stringify(chat),
        }),
    ],
  ])(
    "what a plan's rolling limit keeps back does not reach the vendor, and is asked once: %s",
    async (_vendor, ask) => {
      const refused = { 'Retry-After': '9' };
      sdks.server.script(fail.refuses(429, 'RATE_LIMITED', refused, { reason: 'ROLLING_LIMIT' }));
      const error: unknown = await ask().catch((reason: Error) => (isCallDeniedError(reason) ? reason : reason.cause));
      expect(error).toMatchObject({ code: 'SERVICE_RATE_LIMITED', callId: null, hints: null, retryAfterSeconds: 9 });
      expect([sdks.vendor.requests.length, sdks.begins().length, sdks.ends().length]).toEqual([0, 1, 0]);
    },
  );

  test('must have both models', () => {
    expect(() => modelByTier({ premium: 'a' } as never)).toThrow('standard');
  });
});

describe('failures', () => {
  test("the SDK's retries are one call", async () => {
    sdks.vendor.fail('500', 'cut-first');
    const answer = await sdks.openai({}, 2).chat.completions.create(chat);
    expect(answer.choices[0]?.message.content).toBe(REPLY);
    expect(sdks.vendor.requests).toHaveLength(3);
    expect([sdks.begins().length, sdks.ends()]).toEqual([1, [openaiUsed]]);
  }, 20_000);

  test('the attempts of an SDK that timed out are one call', async () => {
    sdks.vendor.fail('hang');
    const answer = await sdks.openai({}, 1).chat.completions.create(chat, { timeout: 300 });
    expect(answer.choices[0]?.message.content).toBe(REPLY);
    expect([sdks.vendor.requests.length, sdks.begins().length, sdks.ends()]).toEqual([2, 1, [openaiUsed]]);
  }, 20_000);

  test.each([
    ['400', BadRequestError, 'HTTP_400', 1],
    ['429', RateLimitError, 'HTTP_429', 2],
    ['cut-first', OpenAI.APIConnectionError, 'VENDOR_UNREACHABLE', 2],
  ] as const)(
    "%s is the SDK's own error, and the call has failed when it arrives",
    async (fault, kind, code, tries) => {
      for (let count = 0; count < tries; count += 1) sdks.vendor.fail(fault);
      await expect(sdks.openai({}, 1).chat.completions.create(chat)).rejects.toBeInstanceOf(kind);
      expect(sdks.vendor.requests).toHaveLength(tries);
      expect([sdks.begins().length, sdks.ends()]).toEqual([
        1,
        [{ modelUsed: 'gpt-5.2', error: { code, message: expect.any(String) } }],
      ]);
    },
    20_000,
  );

  test.each([
    ['html', 'INVALID_ANSWER'],
    ['cut', 'INVALID_ANSWER'],
  ] as const)('a plain answer that is %s is none', async (fault, code) => {
    await expect(
      sdks
        .openai()
        .chat.completions.create({ ...chat, messages: user(`[fail:${fault}]`) })
        .then((answer) => JSON.parse(String(answer))),
    ).rejects.toThrow();
    expect(sdks.ends()).toMatchObject([{ error: { code } }]);
    expect(sdks.vendor.requests).toHaveLength(1);
  });

  test('a stream without a body is a failed call', async () => {
    const fetch = async () => new Response(null, { status: 200, headers: { 'content-type': 'text/event-stream' } });
    const openai = wrapOpenAI(sdks.plainOpenai.withOptions({ fetch }), {
      callmeter: sdks.callmeter,
      customerId: 'alice',
    });
    await expect(
      openai.chat.completions.create({ ...chat, stream: true }).then((stream) => Array.fromAsync(stream)),
    ).rejects.toThrow();
    expect(sdks.ends()).toMatchObject([{ modelUsed: 'gpt-5.2', error: { code: 'INVALID_ANSWER' } }]);
  });

  test('a response without usage completes the call without token counts, which is not zero', async () => {
    await sdks.openai().chat.completions.create({ ...chat, messages: user('[fail:no-usage]') });
    await Array.fromAsync(
      await sdks.openai().chat.completions.create({ ...chat, messages: user('[fail:no-usage]'), stream: true }),
    );
    expect(sdks.ends()).toEqual([{ modelUsed: 'gpt-5.2' }, { modelUsed: 'gpt-5.2' }]);
  });

  test.each([
    ['cut', 'VENDOR_CUT'],
    ['end-early', 'VENDOR_CUT'],
    ['stream-error', 'server_error'],
  ] as const)('a stream that is %s ends its call as failed', async (fault, code) => {
    const reading = sdks
      .openai()
      .chat.completions.create({ ...chat, messages: user(`[fail:${fault}]`), stream: true })
      .then((stream) => Array.fromAsync(stream));
    await reading.catch(() => undefined);
    await until(() => sdks.ends().length === 1);
    expect(sdks.ends()).toMatchObject([{ modelUsed: 'gpt-5.2', error: { code } }]);
  });

  test('a stream that the caller stops reading is read to its end for its usage', async () => {
    for await (const _chunk of await sdks.openai().chat.completions.create({ ...chat, stream: true })) break;
    await until(() => sdks.ends().length === 1);
    expect(sdks.ends()).toEqual([openaiUsed]);
    const stream = await sdks.openai().chat.completions.create({ ...chat, stream: true });
    stream.controller.abort();
    expect(await Array.fromAsync(stream)).toEqual([]);
    await until(() => sdks.ends().length === 2);
    expect(sdks.ends()[1]).toEqual(openaiUsed);
  });

  test('an abort by the caller reaches the vendor at once, and usage received before it counts', async () => {
    const slow = user(`${PROMPT} [fail:slow]`);
    const controller = new AbortController();
    const options = { signal: controller.signal };
    const stream = await sdks.openai().chat.completions.create({ ...chat, messages: slow, stream: true }, options);
    for await (const _chunk of stream) controller.abort();
    await until(() => sdks.ends().length === 1 && sdks.vendor.requests[0]?.abandoned === true);
    expect(sdks.ends()).toEqual([
      { modelUsed: 'gpt-5.2', error: { code: 'CLIENT_LEFT', message: expect.any(String) } },
    ]);

    const second = new AbortController();
    const message = { model: 'claude-sonnet-4-5', max_tokens: 100, messages: slow, stream: true as const };
    for await (const _event of await sdks.anthropic().messages.create(message, { signal: second.signal }))
      second.abort();
    await until(() => sdks.ends().length === 2);
    expect(sdks.ends()[1]).toMatchObject({ inputTokens: countWords(slow[0]?.content ?? ''), responseTokens: 1 });
    expect(sdks.ends()[1]).not.toHaveProperty('error');
  });

  test('an abort before the response is an error of the SDK', async () => {
    const controller = new AbortController();
    const asking = sdks
      .openai({}, 2)
      .chat.completions.create({ ...chat, messages: user('[fail:hang]') }, { signal: controller.signal });
    await until(() => sdks.vendor.requests.length === 1);
    controller.abort();
    await expect(asking).rejects.toBeInstanceOf(APIUserAbortError);
    expect([sdks.begins().length, sdks.ends()]).toEqual([
      1,
      [{ modelUsed: 'gpt-5.2', error: { code: 'ABORTED', message: expect.any(String) } }],
    ]);
    await expect(sdks.openai().chat.completions.create(chat, { signal: AbortSignal.abort() })).rejects.toBeInstanceOf(
      APIUserAbortError,
    );
    expect([sdks.begins().length, sdks.vendor.requests.length]).toEqual([1, 1]);
  });

  test('a failed begin is the error of the request, and the vendor is not called', async () => {
    sdks.server.script(fail.refuses(401, 'UNAUTHORIZED'));
    await expect(sdks.openai({}, 2).chat.completions.create(chat)).rejects.toMatchObject({
      code: 'SERVICE_AUTH_ERROR',
    });
    expect(sdks.vendor.requests).toEqual([]);
  });

  test('a failed end does not change the result, and its report can be sent later', async () => {
    const events: string[] = [];
    const patient = createClientIn(systemRuntime, {
      apiKey: 'utk-test',
      baseUrl: sdks.server.url,
      retry: { attempts: 1 },
      onEvent: (event) =>
        void events.push(event.type === 'endFailed' ? String(event.report.responseTokens) : event.type),
    });
    sdks.server.script(fail.works, fail.html(502));
    expect((await sdks.openai({ callmeter: patient }).chat.completions.create(chat)).choices).toHaveLength(1);
    expect(events).toEqual(['10']);
  });

  test('with waitUntil a response does not wait for its report', async () => {
    const kept: Promise<void>[] = [];
    sdks.server.script(fail.works, fail.slow(200));
    await sdks.openai({ waitUntil: (reported) => void kept.push(reported) }).chat.completions.create(chat);
    expect(kept).toHaveLength(1);
    await kept[0];
    expect(sdks.ends()).toEqual([openaiUsed]);
    for await (const _chunk of await sdks
      .openai({ waitUntil: (reported) => void kept.push(reported) })
      .chat.completions.create({
        ...chat,
        stream: true,
      }))
      break;
    for (const reported of kept) await reported;
    expect(sdks.ends()).toHaveLength(2);
  });
});

test('several requests add their usage to one open call', async () => {
  sdks.allowed = { ...NOTHING, premium: true, standard: true };
  const own = sdks.plainOpenai;
  const outcome = await sdks.callmeter.withCall({ customerId: 'alice', requested: { premium: true } }, async (call) => {
    const openai = wrapOpenAI(own, { call });
    await openai.chat.completions.create({ ...chat, model: modelByTier(TIERS) });
    await expect(openai.chat.completions.create({ ...chat, messages: user('[fail:400]') })).rejects.toThrow();
    await Array.fromAsync(await openai.chat.completions.create({ ...chat, stream: true }));
  });
  expect(outcome).toMatchObject({ denied: false, ended: { status: 'COMPLETED' } });
  const twice = Object.fromEntries(Object.entries(USED).map(([name, count]) => [name, 2 * count]));
  expect([sdks.begins().length, sdks.ends()]).toEqual([
    1,
    [{ modelUsed: 'gpt-5.2', providerUsed: 'openai', ...twice }],
  ]);
});
