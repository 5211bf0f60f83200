/**
 * A call for each request of a Hono and of an Express application: begun before the handler, ended with the response,
 * and failed if the request failed or its client left.
 */
import express from 'express';
import { Hono } from 'hono';
import { stream } from 'hono/streaming';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Client, createClient } from '../../src/client/client.ts';
import { isCallDeniedError } from '../../src/client/denied.ts';
import { callOf, type Denied, callPerRequest as expressCalls } from '../../src/client/express.ts';
import { type CallVariables, callPerRequest as honoCalls } from '../../src/client/hono.ts';
import * as fail from '../support/failing-server.ts';
import { type Loopback, serveOnLoopback } from '../vendors/loopback.ts';

/** Statuses of the service that an application must not pass to its own user. */
const REFUSALS = [400, 401, 403, 404, 409, 429, 503];

const NOTHING = { standard: false, premium: false, audio: false, image: false, search: false, reasoningLevel: 'NONE' };
const USAGE = { modelUsed: 'gpt-5.2', inputTokens: 12, responseTokens: 3 };

let server: fail.FailingServer;
let callmeter: Client;
let allowed: object;
beforeAll(async () => {
  server = await fail.FailingServer.start(({ operation, key, body }) =>
    operation === 'beginCall'
      ? {
          callId: key,
          allowed,
          entitlementHints: { suggestedModelTier: 'standard', reasoningLevel: 'HIGH', policy: 'NONE' },
        }
      : { callId: body?.callId, status: body?.error ? 'FAILED' : 'COMPLETED', costUSD: 0.5 },
  );
  callmeter = createClient({ apiKey: 'utk-test', baseUrl: server.url, retry: { attempts: 1 } });
});
afterAll(() => server.stop());
beforeEach(() => {
  allowed = { ...NOTHING, standard: true };
  server.script();
});

const reports = (name: string) => server.seen.filter(({ operation }) => operation === name).map(({ body }) => body);
const begins = () => reports('beginCall');
const ends = () => reports('endCall');

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** The service's answer while the plan's rolling limit allows no call. */
const full = fail.refuses(429, 'RATE_LIMITED', { 'Retry-After': '9' }, { reason: 'ROLLING_LIMIT' });
const whatIs = (denied: Denied) =>
  isCallDeniedError(denied) ? ['for now', denied.retryAfterSeconds] : ['by the plan'];

describe('Hono', () => {
  function honoApp(): Hono<{ Variables: CallVariables }> {
    const app = new Hono<{ Variables: CallVariables }>();
    app.use(
      honoCalls({
        callmeter,
        begin: (c) => {
          const customerId = c.req.header('x-customer');
          return customerId === undefined ? null : { customerId, feature: 'chat' };
        },
      }),
    );
    app.get('/answer', (c) => {
      c.get('call')?.setUsage(USAGE);
      return c.json({ allowed: c.get('call')?.allowed.standard ?? null }, 200, { 'x-mine': 'yes' });
    });
    app.get('/nothing', (c) => c.body(null, 204));
    app.get('/throws', () => {
      throw new Error('mine');
    });
    app.get('/unavailable', (c) => c.text('no', 503));
    app.get('/wrong', (c) => c.text('no', 400));
    app.get('/stream', (c) =>
      stream(c, async (out) => {
        await out.write('one ');
        c.get('call').setUsage(USAGE);
        await out.write('two');
      }),
    );
    app.get('/endless', (c) =>
      stream(c, async (out) => {
        c.get('call').setUsage(USAGE);
        while (!out.aborted) {
          await out.write('more ');
          await out.sleep(1);
        }
      }),
    );
    return app;
  }
  const headers = { 'x-customer': 'alice' };

  test('the handler gets the call, and it has ended when the response was read', async () => {
    const response = await honoApp().request('/answer', { headers });
    expect(await response.json()).toEqual({ allowed: true });
    expect([response.status, response.headers.get('x-mine'), response.headers.get('content-type')]).toEqual([
      200,
      'yes',
      'application/json',
    ]);
    expect(begins()).toEqual([{ customerId: 'alice', feature: 'chat' }]);
    expect(ends()).toEqual([{ callId: expect.any(String), ...USAGE }]);
  });

  test('a streamed response ends the call after its last byte, with all usage set until then', async () => {
    const response = await honoApp().request('/stream', { headers });
    expect(await response.text()).toBe('one two');
    expect(ends()).toEqual([{ callId: expect.any(String), ...USAGE }]);
  });

  test('a client that disconnects makes the call failed, with the usage so far', async () => {
    const response = await honoApp().request('/endless', { headers });
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    expect(ends()).toMatchObject([{ ...USAGE, error: { code: 'CLIENT_DISCONNECTED' } }]);
  });

  test('a client that disconnects before the response makes the call failed', async () => {
    const controller = new AbortController();
    const request = new Request('http://x/answer', { headers, signal: controller.signal });
    controller.abort();
    await (await honoApp().request(request)).text();
    expect(ends()).toMatchObject([{ ...USAGE, error: { code: 'CLIENT_DISCONNECTED' } }]);
  });

  test.each([
    ['/throws', 500, 'HTTP_500'],
    ['/unavailable', 503, 'HTTP_503'],
    ['/wrong', 400, undefined],
    ['/nothing', 204, undefined],
  ])('%s', async (path, status, code) => {
    const response = await honoApp().request(path, { headers });
    await response.text();
    expect(response.status).toBe(status);
    expect(ends().map((end) => (end?.error as { code: string } | undefined)?.code)).toEqual([code]);
  });

  test('a denied call gets a 403 or the response of onDenied; its handler does not run', async () => {
    allowed = NOTHING;
    const response = await honoApp().request('/throws', { headers });
    expect([response.status, await response.json()]).toMatchObject([403, { error: { code: 'ENTITLEMENT_DENIED' } }]);
    const app = new Hono<{ Variables: CallVariables }>();
    app.use(
      honoCalls({
        callmeter,
        begin: () => ({ customerId: 'alice' }),
        onDenied: (_c, denied) => new Response(denied.hints?.policy, { status: 402 }),
      }),
    );
    expect((await app.request('/')).status).toBe(402);
    expect(ends()).toEqual([]);
  });

  test("a plan's rolling limit gets a 429 with Retry-After, or the response of onDenied", async () => {
    server.script(full, full);
    const response = await honoApp().request('/throws', { headers });
    expect([response.status, response.headers.get('Retry-After')]).toEqual([429, '9']);
    expect(await response.json()).toMatchObject({ error: { code: 'RATE_LIMITED' } });
    const app = new Hono<{ Variables: CallVariables }>();
    const begin = () => ({ customerId: 'alice' });
    app.use(honoCalls({ callmeter, begin, onDenied: (_c, denied) => Response.json(whatIs(denied)) }));
    expect(await (await app.request('/')).json()).toEqual(['for now', 9]);
    expect(ends()).toEqual([]);
  });

  test('a request without a customer has no call; a failed begin is an error of the request', async () => {
    expect(await (await honoApp().request('/answer')).json()).toEqual({ allowed: null });
    expect(server.seen).toEqual([]);
    server.script(fail.refuses(401, 'UNAUTHORIZED'));
    expect((await honoApp().request('/answer', { headers })).status).toBe(500);
  });

  test.each(REFUSALS)("the service's %i is none of the application", async (status) => {
    server.script(fail.refuses(status, 'REFUSED'));
    expect((await honoApp().request('/answer', { headers })).status).toBe(500);
    const app = new Hono().get('/', async (c) => c.json(await callmeter.readUsage({ customerId: 'alice' })));
    server.script(fail.refuses(status, 'REFUSED'));
    expect((await app.request('/')).status).toBe(500);
  });

  test('on Workers waitUntil keeps the report alive after the response', async () => {
    const kept: Promise<unknown>[] = [];
    const context = {
      waitUntil: (promise: Promise<unknown>) => void kept.push(promise),
      passThroughOnException: () => undefined,
      props: {},
    };
    server.script(fail.works, fail.slow(100));
    await (await honoApp().request('/answer', { headers }, {}, context as never)).text();
    expect(kept).toHaveLength(1);
    await Promise.all(kept);
    expect(ends()).toHaveLength(1);
  });
});

describe('Express', () => {
  let http: Loopback;
  const get = (path: string, headers: Record<string, string> = { 'x-customer': 'alice' }, init: RequestInit = {}) =>
    fetch(http.url + path, { headers, ...init });
  beforeAll(async () => {
    const app = express();
    const begin = (req: express.Request) => {
      const customerId = req.get('x-customer');
      return customerId === undefined ? null : { customerId };
    };
    app.get(
      '/custom',
      expressCalls({ callmeter, begin, onDenied: (_req, res, denied) => res.status(402).json(whatIs(denied)) }),
      (_req, res) => void res.send(),
    );
    app.use(expressCalls({ callmeter, begin }));
    app.get('/answer', (_req, res) => {
      callOf(res).setUsage(USAGE);
      res.json({ allowed: callOf(res).allowed.standard });
    });
    app.get('/throws', () => {
      throw new Error('mine');
    });
    app.get('/wrong', (_req, res) => void res.status(404).send('no'));
    app.get('/endless', (_req, res) => {
      callOf(res).setUsage(USAGE);
      const timer = setInterval(() => res.write('more '), 5);
      res.on('close', () => clearInterval(timer));
    });
    app.use(
      (_error: Error, _req: express.Request, res: express.Response, _next: express.NextFunction) =>
        void res.status(500).send('sorry'),
    );
    http = await serveOnLoopback(app);
  });
  afterAll(() => http.close());

  test('the handler gets the call, and it ends with the response', async () => {
    expect(await (await get('/answer')).json()).toEqual({ allowed: true });
    await until(() => ends().length === 1);
    expect(begins()).toEqual([{ customerId: 'alice' }]);
    expect(ends()).toEqual([{ callId: expect.any(String), ...USAGE }]);
  });

  test.each([
    ['/throws', 500, 'HTTP_500'],
    ['/wrong', 404, undefined],
  ])('%s', async (path, status, code) => {
    expect((await get(path)).status).toBe(status);
    await until(() => ends().length === 1);
    expect(ends().map((end) => (end?.error as { code: string } | undefined)?.code)).toEqual([code]);
  });

  test('a client that disconnects makes the call failed, with the usage so far', async () => {
    const controller = new AbortController();
    const response = await get('/endless', undefined, { signal: controller.signal });
    await response.body?.getReader().read();
    controller.abort();
    await until(() => ends().length === 1);
    expect(ends()).toMatchObject([{ ...USAGE, error: { code: 'CLIENT_DISCONNECTED' } }]);
  });

  test('a denied call gets a 403 or the response of onDenied', async () => {
    allowed = NOTHING;
    const response = await get('/throws');
    expect([response.status, await response.json()]).toMatchObject([403, { error: { code: 'ENTITLEMENT_DENIED' } }]);
    expect((await get('/custom')).status).toBe(402);
    expect(ends()).toEqual([]);
  });

  test("a plan's rolling limit gets a 429 with Retry-After, or the response of onDenied", async () => {
    server.script(full, full);
    const response = await get('/throws');
    expect([response.status, response.headers.get('Retry-After')]).toEqual([429, '9']);
    expect(await response.json()).toMatchObject({ error: { code: 'RATE_LIMITED' } });
    expect(await (await get('/custom')).json()).toEqual(['for now', 9]);
    expect(ends()).toEqual([]);
  });

  test('a request without a customer has no call, and reading it is an error; a failed begin is an error of the request', async () => {
    expect((await get('/wrong', {})).status).toBe(404);
    expect((await get('/answer', {})).status).toBe(500);
    expect(server.seen).toEqual([]);
    server.script(fail.refuses(401, 'UNAUTHORIZED'));
    expect((await get('/answer')).status).toBe(500);
  });

  describe("with Express's own error handler", () => {
    let plain: Loopback;
    const thrown: unknown[] = [];
    const fetchStatus = async (path: string) => (await fetch(plain.url + path)).status;
    beforeAll(async () => {
      const app = express();
      app.set('env', 'test');
      app.use('/metered', expressCalls({ callmeter, begin: () => ({ customerId: 'alice' }) }));
      app.get('/usage', async (_req, res) => void res.json(await callmeter.readUsage({ customerId: 'alice' })));
      app.use((error: Error, _req: express.Request, _res: express.Response, next: express.NextFunction) => {
        thrown.push(error);
        next(error);
      });
      plain = await serveOnLoopback(app);
    });
    afterAll(() => plain.close());
    beforeEach(() => thrown.splice(0));

    test.each(REFUSALS)("the service's %i is none of the application, and the error tells it", async (status) => {
      for (const path of ['/metered', '/usage']) {
        server.script(fail.refuses(status, 'REFUSED'));
        expect([path, await fetchStatus(path)]).toEqual([path, 500]);
      }
      for (const error of thrown) {
        expect(error).toMatchObject({
          code: expect.stringMatching(/^SERVICE_/),
          message: expect.stringContaining('because of REFUSED'),
          responseStatus: status,
          details: { code: 'REFUSED' },
        });
      }
      expect(thrown).toHaveLength(2);
    });
  });
});
