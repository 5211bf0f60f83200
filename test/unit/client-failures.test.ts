/**
 * Against a server that fails in every way: the right error, the right number of tries, the same key in each of them,
 * and nothing counted twice.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Client, type ClientOptions, createClientIn } from '../../src/client/client.ts';
import { CallDeniedError, isCallDeniedError } from '../../src/client/denied.ts';
import { CallmeterError, isCallmeterError } from '../../src/client/errors.ts';
import type { ClientEvent } from '../../src/client/events.ts';
import { systemRuntime } from '../../src/client/runtime.ts';
import { SERVICE_VERSION } from '../../src/platform/version.ts';
import * as fail from '../support/failing-server.ts';

const ALLOWED = { standard: true, premium: false, audio: false, image: false, search: false, reasoningLevel: 'HIGH' };
const HINTS = { suggestedModelTier: 'standard', reasoningLevel: 'HIGH', policy: 'BLOCK' };
/** The timeout of tries that have to succeed, even on a busy machine. */
const PATIENT_MS = 10_000;
/** The timeout of tries that have to time out: short enough to wait for in a test. */
const TIMEOUT_MS = 300;
const late = fail.slow(20 * TIMEOUT_MS);
const timeoutFor = (...steps: fail.Step[]) =>
  steps.includes(late) || steps.includes(fail.stalls) ? TIMEOUT_MS : PATIENT_MS;

let server: fail.FailingServer;
let slept: number[];
let events: ClientEvent[];
beforeAll(async () => {
  server = await fail.FailingServer.start(({ operation, key }) => {
    if (operation === 'lookup')
      return {
        schemaVersion: 1,
        requested: { modelKey: 'openai/gpt-4o' },
        lifecycle: { status: 'ACTIVE' },
        action: 'KEEP',
      };
    return {
      begin: {},
      callId: key,
      allowed: ALLOWED,
      entitlementHints: HINTS,
      customerId: 'alice',
      subscription: {},
      meters: {},
    };
  });
});
afterAll(() => server.stop());
beforeEach(() => {
  slept = [];
  events = [];
});

function buildClient(options: Partial<ClientOptions> = {}): Client {
  const sleep = async (ms: number) => void slept.push(ms);
  const runtime = { ...systemRuntime, chance: () => 0.5, sleep };
  const onEvent = (event: ClientEvent) => void events.push(event);
  return createClientIn(runtime, {
    apiKey: 'utk-test',
    baseUrl: server.url,
    timeoutMs: PATIENT_MS,
    onEvent,
    ...options,
  });
}

const begin = (client = buildClient(), options = {}) => client.beginCall({ customerId: 'alice' }, options);

/** The error of a request that must fail. */
async function catchError(request: Promise<unknown>): Promise<CallmeterError> {
  const error = await request.then(
    () => 'it succeeded',
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CallmeterError);
  expect(isCallmeterError(error)).toBe(true);
  return error as CallmeterError;
}

const keys = () => server.seen.map(({ key }) => key);

const PASSING: [string, fail.Step[], number[]][] = [
  ['500', [fail.refuses(500, 'INTERNAL_ERROR')], [250]],
  ['502 of a proxy', [fail.html(502)], [250]],
  ['503 and 504', [fail.refuses(503, 'SERVICE_UNAVAILABLE'), fail.html(504)], [250, 500]],
  ['429 without Retry-After', [fail.refuses(429, 'RATE_LIMITED')], [250]],
  ['429 with Retry-After in seconds', [fail.refuses(429, 'RATE_LIMITED', { 'Retry-After': '7' })], [7000]],
  ['503 with Retry-After 0', [fail.refuses(503, 'SERVICE_UNAVAILABLE', { 'Retry-After': '0' })], [0]],
  ['a reset before the request was carried out', [fail.resetBefore], [250]],
  ['a reset after it was carried out', [fail.resetAfter], [250]],
  ['an answer that is cut', [fail.cut], [250]],
  ['an answer that never ends', [fail.stalls], [250]],
  ['an answer that comes too late', [late], [250]],
  ['two different failures', [fail.resetAfter, late], [250, 500]],
  ['a conflict that the contract says to retry', [fail.refuses(409, 'CUSTOM_METER_CONFLICT')], [250]],
];

describe('temporary failures', () => {
  test.each(PASSING)('%s: retried with the same key and counted once', async (_what, steps, delays) => {
    server.script(...steps);
    const { callId } = await begin(buildClient({ timeoutMs: timeoutFor(...steps) }));
    expect(server.seen).toHaveLength(steps.length + 1);
    expect(new Set(keys())).toEqual(new Set([callId]));
    expect(new Set(server.seen.map(({ headers }) => headers['x-usage-correlation-id'])).size).toBe(1);
    expect(server.applied).toBe(1);
    expect(slept).toEqual(delays);
    expect(
      events.map(
        (event) => event.type === 'retry' && [event.operation, event.attempt, event.delayMs, event.error.retryable],
      ),
    ).toEqual(delays.map((delayMs, index) => ['beginCall', index + 1, delayMs, true]));
  });

  test('Retry-After as a date is respected', async () => {
    server.script(fail.refuses(429, 'RATE_LIMITED', { 'Retry-After': new Date(Date.now() + 20_000).toUTCString() }));
    await begin();
    expect(slept[0]).toBeGreaterThan(15_000);
    expect(slept[0]).toBeLessThanOrEqual(20_000);
  });
});

describe("a plan's rolling limit", () => {
  const full = (seconds: number) =>
    fail.refuses(429, 'RATE_LIMITED', { 'Retry-After': String(seconds) }, { reason: 'ROLLING_LIMIT' });
  const deniedOf = async (request: Promise<unknown>) => {
    const error: unknown = await request.catch((reason: unknown) => reason);
    if (!isCallDeniedError(error) || !error.retryable) throw new Error(`no denial for now: ${error}`);
    return error;
  };

  test.each<[string, (client: Client) => Promise<unknown>]>([
    ['beginCall', (client) => client.beginCall({ customerId: 'alice' })],
    ['makeCall', (client) => client.makeCall({ customerId: 'alice' })],
    ['startCall', (client) => client.startCall({ customerId: 'alice' })],
    ['withCall', (client) => client.withCall({ customerId: 'alice' }, () => expect.unreachable())],
  ])('%s is denied for now, at once', async (_method, ask) => {
    server.script(full(20));
    const error = await deniedOf(ask(buildClient()));
    expect(error).toBeInstanceOf(CallDeniedError);
    expect({ ...error }).toEqual({
      ...{ name: 'CallDeniedError', code: 'SERVICE_RATE_LIMITED', retryable: true, retryAfterSeconds: 20 },
      ...{ callId: null, allowed: null, hints: null },
    });
    expect(error.cause).toMatchObject({ responseStatus: 429, details: { reason: 'ROLLING_LIMIT' } });
    // It is no failure of the service, for which an application may let a call run.
    expect(isCallmeterError(error)).toBe(false);
    expect([slept, server.seen.length, server.applied]).toEqual([[], 1, 0]);
  });

  test('is waited for as long as the client or the request says, with the same key', async () => {
    server.script(full(3), full(2), full(1));
    const { callId } = await begin(buildClient({ rollingWaitMs: 6_000 }));
    expect(slept).toEqual([3_000, 2_000, 1_000]);
    expect(new Set(keys())).toEqual(new Set([callId]));
    expect(events.map((event) => event.type)).toEqual(['retry', 'retry', 'retry']);
    slept = [];
    server.script(full(3), full(3));
    await deniedOf(begin(buildClient({ rollingWaitMs: 0 }), { rollingWaitMs: 5_999 }));
    expect(slept).toEqual([3_000]);
    slept = [];
    server.script(full(3));
    await deniedOf(begin(buildClient({ rollingWaitMs: 6_000 }), { rollingWaitMs: 0 }));
    expect(slept).toEqual([]);
  });

  test('leaves the attempts after failures as they are, and a wait is a second at least', async () => {
    server.script(full(0), fail.html(503), full(1), fail.html(503));
    await begin(buildClient({ rollingWaitMs: 2_000 }));
    expect(slept).toEqual([1_000, 250, 1_000, 500]);
  });

  test.each([-1, 3_600_001, Number.NaN])('rollingWaitMs %d is refused', async (rollingWaitMs) => {
    const rule = /^rollingWaitMs must be a number from 0 to 3600000$/;
    expect(() => buildClient({ rollingWaitMs })).toThrow(rule);
    server.script();
    expect((await catchError(begin(buildClient(), { rollingWaitMs }))).message).toMatch(rule);
    expect(server.seen).toEqual([]);
  });

  test("is not what another 429 is: that of a key, or of a customer who was denied too often, is the service's error", async () => {
    server.script(fail.refuses(429, 'RATE_LIMITED', { 'Retry-After': '31' }, { retryAfterSeconds: 31 }));
    expect((await catchError(begin(buildClient({ rollingWaitMs: 60_000 })))).code).toBe('SERVICE_RATE_LIMITED');
    expect(slept).toEqual([]);
  });
});

const LASTING: [string, fail.Step, string, number, number | undefined][] = [
  ['500', fail.refuses(500, 'INTERNAL_ERROR'), 'SERVICE_SERVER_ERROR', 3, 500],
  ['502 of a proxy', fail.html(502), 'SERVICE_SERVER_ERROR', 3, 502],
  ['429', fail.refuses(429, 'RATE_LIMITED'), 'SERVICE_RATE_LIMITED', 3, 429],
  ['429 for an hour', fail.refuses(429, 'RATE_LIMITED', { 'Retry-After': '3600' }), 'SERVICE_RATE_LIMITED', 1, 429],
  ['a reset', fail.resetBefore, 'SERVICE_NETWORK_ERROR', 3, undefined],
  ['a cut answer', fail.cut, 'SERVICE_NETWORK_ERROR', 3, undefined],
  ['a stalled answer', fail.stalls, 'SERVICE_NETWORK_ERROR', 3, undefined],
  ['a late answer', late, 'SERVICE_NETWORK_ERROR', 3, undefined],
  ['400', fail.refuses(400, 'BAD_REQUEST'), 'SERVICE_BAD_REQUEST', 1, 400],
  ['401', fail.refuses(401, 'UNAUTHORIZED'), 'SERVICE_AUTH_ERROR', 1, 401],
  ['403', fail.refuses(403, 'API_KEY_SCOPE_REQUIRED'), 'SERVICE_AUTH_ERROR', 1, 403],
  ['403 of a proxy', fail.html(403), 'SERVICE_AUTH_ERROR', 1, 403],
  ['404', fail.refuses(404, 'CALL_NOT_FOUND'), 'SERVICE_BAD_REQUEST', 1, 404],
  ['404 of somebody else', fail.html(404), 'SERVICE_INVALID_RESPONSE', 1, 404],
  ['406', fail.refuses(406, 'NOT_ACCEPTABLE'), 'SERVICE_BAD_REQUEST', 1, 406],
  ['409', fail.refuses(409, 'IDEMPOTENCY_KEY_CONFLICT'), 'SERVICE_BAD_REQUEST', 1, 409],
  ['413', fail.refuses(413, 'PAYLOAD_TOO_LARGE'), 'SERVICE_BAD_REQUEST', 1, 413],
  ['HTML with 200', fail.html(200), 'SERVICE_INVALID_RESPONSE', 1, 200],
  ['an empty 204', fail.answers(204, ''), 'SERVICE_INVALID_RESPONSE', 1, 204],
  ['JSON that is cut short', fail.answers(200, '{"result":{"status":"ACC'), 'SERVICE_INVALID_RESPONSE', 1, 200],
  ['JSON of another shape', fail.answers(200, { hello: 'world' }), 'SERVICE_INVALID_RESPONSE', 1, 200],
  ['a bare list', fail.answers(200, []), 'SERVICE_INVALID_RESPONSE', 1, 200],
  ['a bare null', fail.answers(200, 'null'), 'SERVICE_INVALID_RESPONSE', 1, 200],
  [
    'data of another operation',
    fail.answers(200, { result: { status: 'ACCEPTED' }, data: { callId: 'x' } }),
    'SERVICE_INVALID_RESPONSE',
    1,
    200,
  ],
  [
    'an error with 200',
    fail.answers(200, { result: { status: 'ERROR' }, data: { callId: 'x', allowed: {} } }),
    'SERVICE_INVALID_RESPONSE',
    1,
    200,
  ],
  ['a redirect', fail.answers(307, '', { Location: 'http://127.0.0.1:9/' }), 'SERVICE_INVALID_RESPONSE', 1, 307],
];

/** The members of a thrown error that Express, Fastify, Koa, Nest, h3 and Hono use to answer their own client. */
const READ_BY_FRAMEWORKS = ['status', 'statusCode', 'statusMessage', 'expose', 'headers', 'getStatus', 'getResponse'];

describe('permanent failures', () => {
  test.each(LASTING)('%s', async (_what, step, code, tries, status) => {
    server.script(step, step, step, step);
    const error = await catchError(begin(buildClient({ timeoutMs: timeoutFor(step) })));
    expect(error).toMatchObject({ code, responseStatus: status, retryable: /RATE|SERVER|NETWORK/.test(code) });
    expect(server.seen).toHaveLength(tries);
    expect(new Set(keys()).size).toBe(1);
    expect(keys()[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(server.applied).toBeLessThanOrEqual(1);
    expect(error.correlationId).toBeTruthy();
    expect(error.message).not.toContain('secret of a proxy');
    expect(READ_BY_FRAMEWORKS.filter((member) => member in error)).toEqual([]);
  });

  test('an error contains the error of the service', async () => {
    const details = [{ path: 'customerId', message: 'is required' }];
    server.script(
      fail.refuses(
        400,
        'BAD_REQUEST',
        { 'x-usage-correlation-id': 'theirs' },
        { details, requiredScope: 'usage:write' },
      ),
    );
    const error = await catchError(begin());
    expect(error.message).toBe('beginCall: BAD_REQUEST: because of BAD_REQUEST');
    expect(error.details).toEqual({
      code: 'BAD_REQUEST',
      message: 'because of BAD_REQUEST',
      details,
      requiredScope: 'usage:write',
    });
    expect(error.correlationId).toBe('theirs');
  });

  test('a Retry-After above the limit fails at once and is in the error', async () => {
    server.script(fail.refuses(429, 'RATE_LIMITED', { 'Retry-After': '3600' }));
    expect((await catchError(begin())).details?.retryAfterMs).toBe(3_600_000);
    expect(slept).toEqual([]);
  });

  test('an address without a server', async () => {
    const error = await catchError(begin(buildClient({ baseUrl: 'http://127.0.0.1:9' })));
    expect(error).toMatchObject({ code: 'SERVICE_NETWORK_ERROR', retryable: true, responseStatus: undefined });
    expect(error.cause).toBeInstanceOf(Error);
    expect(slept).toEqual([250, 500]);
  });

  test('the timeout of the vendor is added to the timeout of an attempt', async () => {
    const step = fail.slow(2 * TIMEOUT_MS);
    const client = buildClient({ timeoutMs: TIMEOUT_MS, retry: { attempts: 1 } });
    server.script(step, step);
    const vendor = { url: 'https://vendor.example.com', timeoutMs: PATIENT_MS };
    expect(await client.makeCall({ customerId: 'alice', vendor })).toMatchObject({ begin: {} });
    expect(await catchError(client.makeCall({ customerId: 'alice' }))).toMatchObject({ code: 'SERVICE_NETWORK_ERROR' });
  });

  test('a fetch that ignores its signal does not block the caller', async () => {
    const error = await catchError(
      begin(buildClient({ fetch: () => new Promise(() => undefined), retry: { attempts: 2 }, timeoutMs: 10 })),
    );
    expect(error).toMatchObject({ code: 'SERVICE_NETWORK_ERROR', message: 'beginCall: no answer within 10 ms' });
    expect(slept).toEqual([250]);
  });
});

describe('the idempotency key', () => {
  test('is new for each logical call', async () => {
    server.script();
    await begin();
    await begin();
    expect(new Set(keys()).size).toBe(2);
  });

  test('is the key of the caller if there is one, in the options or in the input', async () => {
    server.script(fail.resetAfter);
    const client = buildClient();
    expect((await begin(client, { idempotencyKey: 'chat-1' })).callId).toBe('chat-1');
    expect((await client.beginCall({ customerId: 'alice', idempotencyKey: 'chat-2' })).callId).toBe('chat-2');
    expect(
      (await client.beginCall({ customerId: 'alice', idempotencyKey: 'lost' }, { idempotencyKey: 'chat-3' })).callId,
    ).toBe('chat-3');
    expect(keys()).toEqual(['chat-1', 'chat-1', 'chat-2', 'chat-3']);
  });

  test('is not sent with a read', async () => {
    server.script(fail.html(502));
    await buildClient().readUsage({ customerId: 'al ice/7' });
    expect(keys()).toEqual([undefined, undefined]);
    expect(server.seen[0]?.path).toBe('/customers/al%20ice%2F7/usage');
  });
});

describe('an abort', () => {
  test('during an attempt rejects with the reason of the signal, without a retry', async () => {
    server.script(fail.stalls, fail.stalls);
    const reason = new Error('the user left');
    const controller = new AbortController();
    const pending = begin(buildClient(), { signal: controller.signal });
    setTimeout(() => controller.abort(reason), 30);
    await expect(pending).rejects.toBe(reason);
    expect(server.seen).toHaveLength(1);
  });

  test('during a delay ends the delay', async () => {
    server.script(fail.refuses(429, 'RATE_LIMITED', { 'Retry-After': '20' }));
    const controller = new AbortController();
    const onEvent = () => controller.abort();
    const client = createClientIn(systemRuntime, { apiKey: 'utk-test', baseUrl: server.url, onEvent });
    await expect(begin(client, { signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError' });
    expect(server.seen).toHaveLength(1);
  });

  test('before the first attempt sends nothing', async () => {
    server.script();
    await expect(begin(buildClient(), { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
    expect(server.seen).toHaveLength(0);
  });
});

describe('the model lookup', () => {
  test('sends no key, and its query as text', async () => {
    server.script(fail.html(503));
    const client = buildClient({ apiKey: undefined });
    const asked = client.lookUpModel('openai/ft:gpt/x y', {
      response: 'light',
      inputTokens: 10,
      requiredParameters: ['tools', 'vision'],
      allowPreview: true,
    });
    expect(await asked).toMatchObject({ action: 'KEEP' });
    expect(server.seen).toHaveLength(2);
    expect(server.seen[1]?.path).toBe('/v1/model-alternatives/openai/ft%3Agpt%2Fx%20y');
    expect(server.seen[1]?.query).toBe(
      '?response=light&inputTokens=10&requiredParameters=tools%2Cvision&allowPreview=true',
    );
  });

  test.each([
    ['400', fail.answers(400, { error: 'INVALID_MODEL_KEY', message: 'no such provider' }), 'SERVICE_BAD_REQUEST'],
    ['another shape', fail.answers(200, { schemaVersion: 2 }), 'SERVICE_INVALID_RESPONSE'],
    ['HTML', fail.html(200), 'SERVICE_INVALID_RESPONSE'],
    ['404 of somebody else', fail.html(404), 'SERVICE_INVALID_RESPONSE'],
  ])('%s is an error after one try', async (_what, step, code) => {
    server.script(step);
    expect(await catchError(buildClient().lookUpModel('openai/gpt-4o'))).toMatchObject({ code });
    expect(server.seen).toHaveLength(1);
  });
});

describe('rejected before anything is sent', () => {
  const client = () => buildClient();
  test.each([
    ['no key', () => begin(buildClient({ apiKey: undefined })), 'SERVICE_AUTH_ERROR', 'apiKey'],
    [
      'a key that no header can carry',
      () => begin(client(), { idempotencyKey: 'two words' }),
      'SERVICE_BAD_REQUEST',
      'idempotencyKey',
    ],
    [
      'a key that is too long',
      () => begin(client(), { idempotencyKey: 'x'.repeat(256) }),
      'SERVICE_BAD_REQUEST',
      'idempotencyKey',
    ],
    [
      'a broken correlation id',
      () => begin(client(), { correlationId: 'a\nb' }),
      'SERVICE_BAD_REQUEST',
      'correlationId',
    ],
    ['no time', () => begin(client(), { timeoutMs: 0 }), 'SERVICE_BAD_REQUEST', 'timeoutMs'],
    [
      'a customer that cannot be addressed',
      () => client().readUsage({ customerId: '..' }),
      'SERVICE_BAD_REQUEST',
      'customerId',
    ],
    ['a customer that is missing', () => client().readUsage({} as never), 'SERVICE_BAD_REQUEST', 'customerId'],
    ['an input that is no JSON', () => client().beginCall({ customerId: 7n } as never), 'SERVICE_BAD_REQUEST', 'JSON'],
    ['a model without a name', () => client().lookUpModel('openai/'), 'SERVICE_BAD_REQUEST', 'modelKey'],
  ])('%s', async (_what, ask, code, about) => {
    server.script();
    const error = await catchError(ask());
    expect(error).toMatchObject({ code, message: expect.stringContaining(about) });
    expect(server.seen).toHaveLength(0);
  });

  test.each([
    [{ baseUrl: 'callmeter.example.com' }, 'SERVICE_BAD_REQUEST'],
    [{ baseUrl: 'ftp://callmeter.example.com' }, 'SERVICE_BAD_REQUEST'],
    [{ baseUrl: 'https://user:word@callmeter.example.com' }, 'SERVICE_BAD_REQUEST'],
    [{ baseUrl: undefined as unknown as string }, 'SERVICE_BAD_REQUEST'],
    [{ apiKey: 'utk-secret\n' }, 'SERVICE_AUTH_ERROR'],
    [{ timeoutMs: Number.NaN }, 'SERVICE_BAD_REQUEST'],
  ])('a client of %j', (options, code) => {
    expect(() => buildClient(options)).toThrow(
      expect.objectContaining({ code, message: expect.not.stringContaining('secret') }),
    );
  });
});

describe('what is sent', () => {
  test('defaults fill in missing fields of operations that accept them', async () => {
    server.script();
    const client = buildClient({
      defaults: { feature: 'chat', tags: ['a'], pricingMode: 'batch' },
      baseUrl: `${server.url}/`,
    });
    await client.beginCall({ customerId: 'alice', tags: ['b'], feature: undefined });
    await client.provisionCustomer({ customerId: 'alice' });
    expect(server.seen.map(({ body }) => body)).toEqual([
      { customerId: 'alice', feature: 'chat', tags: ['b'], pricingMode: 'batch' },
      { customerId: 'alice' },
    ]);
  });

  test('includes the key, the client version, and the correlation id of the caller', async () => {
    server.script();
    await begin(buildClient(), { correlationId: 'trace-1' });
    expect(server.seen[0]?.headers).toMatchObject({
      authorization: 'Bearer utk-test',
      'x-usage-correlation-id': 'trace-1',
      'x-usage-sdk': `callmeter-js/${SERVICE_VERSION}`,
    });
  });

  test('an observer that throws has no effect', async () => {
    server.script(fail.html(502), fail.html(502));
    let told = 0;
    const onEvent = () => {
      told++;
      if (told === 1) throw new Error('broken');
      return Promise.reject(new Error('broken too')) as unknown as undefined;
    };
    expect((await begin(buildClient({ onEvent }))).callId).toBe(keys()[0]);
    expect(told).toBe(2);
  });
});
