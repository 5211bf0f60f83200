/**
 * The life of a call on the application's side: it is ended once, whatever the handler does, and nothing hides the
 * handler's result.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isDenied } from '../../src/client/call.ts';
import { type Client, createClientIn } from '../../src/client/client.ts';
import type { ClientEvent } from '../../src/client/events.ts';
import { systemRuntime } from '../../src/client/runtime.ts';
import type { BeginCallInput } from '../../src/client/wire.ts';
import { decideEntitlements } from '../../src/domain/entitlements.ts';
import * as fail from '../support/failing-server.ts';
import { plan } from './fixtures.ts';

const NOTHING = { standard: false, premium: false, audio: false, image: false, search: false, reasoningLevel: 'NONE' };
const USAGE = { providerUsed: 'openai', modelUsed: 'gpt-6-sol', inputTokens: 12, responseTokens: 3 };

let server: fail.FailingServer;
let client: Client;
let events: ClientEvent[];
let allowed: object;
let hints: object;
beforeAll(async () => {
  server = await fail.FailingServer.start(({ operation, key, body }) =>
    operation === 'beginCall'
      ? { callId: key, allowed, entitlementHints: hints }
      : { callId: body?.callId, status: body?.error ? 'FAILED' : 'COMPLETED', costUSD: 0.5 },
  );
});
afterAll(() => server.stop());
beforeEach(() => {
  events = [];
  allowed = { ...NOTHING, standard: true };
  hints = { suggestedModelTier: 'standard', reasoningLevel: 'HIGH', policy: 'NONE' };
  const runtime = { ...systemRuntime, sleep: async () => undefined };
  client = createClientIn(runtime, {
    apiKey: 'utk-test',
    baseUrl: server.url,
    onEvent: (event) => void events.push(event),
  });
  server.script();
});

const begin: BeginCallInput = { customerId: 'alice', requested: { standard: true } };
const sent = () => server.seen.map(({ operation }) => operation);
const lastBody = () => server.seen.at(-1)?.body;

describe('withCall', () => {
  test('begins, passes the entitlement to the handler, and ends with the usage that it set', async () => {
    const outcome = await client.withCall(begin, async (call) => {
      expect(call).toMatchObject({
        denied: false,
        allowed: { standard: true, premium: false },
        callId: server.seen[0]?.key,
      });
      call.setUsage({ inputTokens: 1, modelUsed: 'a' });
      call.setUsage(USAGE);
      return 'the answer';
    });
    expect(outcome).toMatchObject({
      denied: false,
      value: 'the answer',
      ended: { status: 'COMPLETED', costUSD: 0.5 },
      endError: null,
    });
    expect(sent()).toEqual(['beginCall', 'endCall']);
    expect(lastBody()).toEqual({ callId: server.seen[0]?.key, ...USAGE });
  });

  test('accepts a synchronous handler, and one that sets no usage', async () => {
    expect(await client.withCall(begin, () => 7)).toMatchObject({ value: 7, ended: { status: 'COMPLETED' } });
    expect(lastBody()).toEqual({ callId: server.seen[0]?.key });
  });

  test('does not run the handler of a denied call, and does not end it', async () => {
    allowed = NOTHING;
    const outcome = await client.withCall(begin, () => expect.unreachable());
    expect(outcome).toMatchObject({ denied: true, begun: { allowed: NOTHING } });
    expect(sent()).toEqual(['beginCall']);
  });

  test('ends as failed when the handler throws, with its usage but not its error message, and rethrows the same error', async () => {
    const thrown = Object.assign(new Error('the prompt was: my salary is'), { code: 'context_length_exceeded' });
    const running = client.withCall(begin, (call) => {
      call.setUsage(USAGE);
      throw thrown;
    });
    await expect(running).rejects.toBe(thrown);
    expect(lastBody()).toMatchObject({ ...USAGE, error: { code: 'context_length_exceeded' } });
    expect(JSON.stringify(lastBody())).not.toContain('salary');
  });

  test.each([
    [new TypeError('x'), 'TypeError'],
    [Object.assign(new Error('x'), { code: 'not a code: of the contract' }), 'Error'],
    [Object.assign(new Error('x'), { code: 429 }), 'Error'],
    ['a string', 'HANDLER_ERROR'],
    [undefined, 'HANDLER_ERROR'],
  ])('a thrown %s is reported as %s', async (thrown, code) => {
    await expect(client.withCall(begin, () => Promise.reject(thrown))).rejects.toBe(thrown);
    expect(lastBody()).toMatchObject({ error: { code } });
  });

  test('a failure that the handler sets is reported, and its value is still returned', async () => {
    const outcome = await client.withCall(begin, (call) => {
      call.fail({ code: 'refused_by_model', message: 'the model refused' });
      return null;
    });
    expect(outcome).toMatchObject({ denied: false, value: null, ended: { status: 'FAILED' } });
    expect(lastBody()).toMatchObject({ error: { code: 'refused_by_model', message: 'the model refused' } });
  });

  test('if the end fails, the result of the handler is still returned', async () => {
    const steps = [fail.works, fail.html(502), fail.html(502), fail.html(502)];
    server.script(...steps);
    const outcome = await client.withCall(begin, (call) => {
      call.setUsage(USAGE);
      return 'the answer';
    });
    expect(outcome).toMatchObject({
      value: 'the answer',
      ended: null,
      endError: { code: 'SERVICE_END_CALL_ERROR', retryable: false, responseStatus: 502 },
    });
    expect(sent()).toEqual(['beginCall', 'endCall', 'endCall', 'endCall']);
    expect(new Set(server.seen.slice(1).map(({ key }) => key)).size).toBe(1);
    const failed = events.find(({ type }) => type === 'endFailed');
    const callId = server.seen[0]?.key;
    expect(failed).toMatchObject({
      callId,
      report: { callId, ...USAGE },
      error: { code: 'SERVICE_END_CALL_ERROR', cause: { code: 'SERVICE_SERVER_ERROR' } },
    });
  });

  test('if the end fails, the error of the handler is still thrown', async () => {
    server.script(fail.works, fail.refuses(409, 'CALL_ALREADY_FINALIZED'));
    const thrown = new Error('mine');
    await expect(client.withCall(begin, () => Promise.reject(thrown))).rejects.toBe(thrown);
    expect(events).toMatchObject([{ type: 'endFailed', error: { details: { code: 'CALL_ALREADY_FINALIZED' } } }]);
  });

  test("the service's hint is part of the error: it says what to change", async () => {
    const hint = 'send an Idempotency-Key of its own with each begin';
    server.script(fail.works, fail.refuses(409, 'CALL_ALREADY_FINALIZED', {}, { hint }));
    const outcome = await client.withCall(begin, (call) => call.setUsage(USAGE));
    const { endError } = outcome as Extract<typeof outcome, { denied: false }>;
    expect(endError?.details).toMatchObject({ code: 'CALL_ALREADY_FINALIZED', hint });
    expect(endError?.message).toContain(hint);
    expect(events).toMatchObject([{ type: 'endFailed', error: { details: { hint } } }]);
  });

  test('if the begin fails, the handler does not run', async () => {
    server.script(fail.refuses(401, 'UNAUTHORIZED'));
    await expect(client.withCall(begin, () => expect.unreachable())).rejects.toMatchObject({
      code: 'SERVICE_AUTH_ERROR',
    });
    expect(sent()).toEqual(['beginCall']);
  });

  test('an abort stops the handler, and the end is still reported', async () => {
    const controller = new AbortController();
    const running = client.withCall(
      begin,
      (call) => {
        call.setUsage(USAGE);
        controller.abort();
        controller.signal.throwIfAborted();
      },
      { signal: controller.signal },
    );
    await expect(running).rejects.toMatchObject({ name: 'AbortError' });
    expect(lastBody()).toMatchObject({ ...USAGE, error: { code: 'AbortError' } });
  });

  test('the requested defaults count for a denial', async () => {
    allowed = { ...NOTHING, search: true };
    const searching = createClientIn(systemRuntime, {
      apiKey: 'utk-test',
      baseUrl: server.url,
      defaults: { requested: { search: true } },
    });
    expect(await searching.withCall({ customerId: 'alice', requested: undefined }, () => 1)).toMatchObject({
      denied: false,
      value: 1,
    });
    expect(server.seen[0]?.body).toMatchObject({ requested: { search: true } });
  });

  test('a downgrade is an event', async () => {
    hints = { ...hints, downgrade: { reason: 'PREMIUM_QUOTA_EXHAUSTED', fallbackTier: 'standard' } };
    await client.withCall({ ...begin, requested: { premium: true } }, () => undefined, { idempotencyKey: 'chat-1' });
    expect(events).toEqual([
      { type: 'downgrade', callId: 'chat-1', reason: 'PREMIUM_QUOTA_EXHAUSTED', fallbackTier: 'standard' },
    ]);
  });
});

describe('startCall', () => {
  test('ends with its scope', async () => {
    {
      await using call = await client.startCall(begin);
      call.setUsage(USAGE);
    }
    expect(sent()).toEqual(['beginCall', 'endCall']);
    expect(lastBody()).toEqual({ callId: server.seen[0]?.key, ...USAGE });
  });

  test('a scope that exits without usage ends as failed, and its error is thrown', async () => {
    const scope = async () => {
      await using call = await client.startCall(begin);
      throw new Error(`mine, of ${call.callId}`);
    };
    await expect(scope()).rejects.toThrow('mine, of');
    expect(lastBody()).toMatchObject({ error: { code: 'CALL_LEFT' } });
  });

  test('repeated calls of end report once', async () => {
    await using call = await client.startCall(begin);
    call.setUsage(USAGE);
    const [first, second] = await Promise.all([call.end(), call.end()]);
    expect(second).toEqual(first);
    expect(await call.end()).toEqual(first);
    await call[Symbol.asyncDispose]();
    expect(sent()).toEqual(['beginCall', 'endCall']);
  });

  test('a failed end rejects and can be retried with the same key', async () => {
    const call = await client.startCall(begin);
    server.script(fail.refuses(401, 'UNAUTHORIZED'));
    await expect(call.end()).rejects.toMatchObject({ code: 'SERVICE_END_CALL_ERROR' });
    expect(await call.end()).toMatchObject({ status: 'COMPLETED' });
    expect(new Set(server.seen.map(({ key }) => key)).size).toBe(1);
    expect(server.applied).toBe(1);
  });

  test('leaving a scope does not throw if its end fails', async () => {
    {
      await using call = await client.startCall(begin);
      server.script(fail.refuses(401, 'UNAUTHORIZED'));
      call.setUsage(USAGE);
    }
    expect(events).toMatchObject([{ type: 'endFailed' }]);
  });

  test('a denied call has no end', async () => {
    allowed = NOTHING;
    {
      await using call = await client.startCall(begin);
      expect(call.denied).toBe(true);
      expect(await call.end()).toBeNull();
    }
    expect(sent()).toEqual(['beginCall']);
  });
});

test('a call is denied exactly when the rule of the service denies it', () => {
  const flag = fc.option(fc.boolean(), { nil: undefined });
  const requested = fc.record({ standard: flag, premium: flag, audio: flag, image: flag, search: flag });
  const limits = fc.record({
    standardCalls: fc.constantFrom(null, 0),
    premiumCalls: fc.constantFrom(null, 0),
    searches: fc.constantFrom(null, 0),
  });
  const features = fc.record({ audio: fc.boolean(), image: fc.boolean(), search: fc.boolean() });
  const policy = fc.constantFrom('NONE' as const, 'BLOCK' as const, 'DOWNGRADE' as const);
  fc.assert(
    fc.property(requested, limits, features, policy, fc.boolean(), (asked, given, switches, limitType, canceled) => {
      const of = plan({ limitType, limits: given, features: switches });
      const decision = decideEntitlements(of, { consumed: {}, reserved: {} }, asked as never, canceled, () => false);
      expect(isDenied(asked, decision.allowed)).toBe(!decision.admitted);
    }),
    { numRuns: 500 },
  );
});
