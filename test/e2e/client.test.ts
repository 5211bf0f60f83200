/**
 * The client library against a server as users start it: the examples run, and a connection that breaks counts nothing
 * twice.
 */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readDevVars } from '../../src/cli/dev-vars.ts';
import { PROJECT_DIR } from '../../src/cli/server.ts';
import { createClient } from '../../src/client/index.ts';
import { type LocalServer, newState, startLocal } from './local-server.ts';

const EXAMPLES = 'src/client/examples';

let server: LocalServer;
let apiKey: string;
beforeAll(async () => {
  server = await startLocal(await newState());
  apiKey = (await readDevVars()).DEMO_API_KEY ?? '';
});
afterAll(() => server.stop());

function example(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const options = { cwd: PROJECT_DIR, env: { ...process.env, CALLMETER_URL: server.url } };
  return new Promise((resolve) => {
    execFile(process.execPath, [join(EXAMPLES, 'run.ts'), ...args], options, (error, out, err) => {
      resolve({ code: error ? Number(error.code) : 0, out, err });
    });
  });
}

describe('npm run example', () => {
  /** A line that each example must print. */
  const PRINTED: Record<string, RegExp> = {
    'begin-end': /^COMPLETED: \$0\.\d+ for 1200 tokens in and 350 out$/m,
    'look-up': /^openai\/gpt-4o: (ACTIVE|DEPRECATED|RETIRED), (KEEP|REPLACE|REVIEW)/m,
    'with-call': /^the model's own error: the prompt is empty$/m,
  };
  const names = readdirSync(join(PROJECT_DIR, EXAMPLES)).map((file) => file.replace(/\.ts$/, ''));

  test('every example is tested', () => {
    expect(Object.keys(PRINTED).toSorted()).toEqual(names.filter((name) => name !== 'run' && name !== 'target').toSorted());
  });

  test.each(Object.entries(PRINTED))('%s', async (name, line) => {
    const { code, out, err } = await example(name);
    expect([err, code]).toEqual(['', 0]);
    expect(out).toMatch(line);
    expect(out).not.toContain('undefined');
  });

  test('--help lists them, and an unknown name is said', async () => {
    const { out } = await example('--help');
    for (const name of Object.keys(PRINTED)) expect(out).toMatch(new RegExp(`^  ${name} +[A-Z]`, 'm'));
    expect(await example('nothing')).toMatchObject({ code: 2, err: expect.stringContaining('begin-end') });
  });
});

describe('through a connection that breaks after the service has answered', () => {
  let proxy: Server;
  /** How many of the next answers are lost. */
  let lost = 0;
  const url = () => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  beforeAll(async () => {
    proxy = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => !/^(host|connection|content-length)$/.test(name)),
      );
      const init = { method: request.method ?? 'GET', headers: headers as Record<string, string>, ...(body !== '' && { body }) };
      const answer = await fetch(server.url + request.url, init);
      const text = await answer.text();
      if (lost-- > 0) response.socket?.resetAndDestroy();
      else response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? '' }).end(text);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => proxy.close());

  test('a call is begun once and counted once', async () => {
    const callmeter = createClient({ apiKey, baseUrl: url(), retry: { baseDelayMs: 1 } });
    const customerId = 'broken-connections';
    await callmeter.provisionCustomer({ customerId });
    lost = 2;
    const outcome = await callmeter.withCall({ customerId, requested: { premium: true } }, (call) => {
      lost = 2;
      call.setUsage({ providerUsed: 'openai', modelUsed: 'gpt-4o', inputTokens: 1000, responseTokens: 100 });
      return 'the answer';
    });
    expect(outcome).toMatchObject({
      denied: false,
      value: 'the answer',
      ended: { status: 'COMPLETED', metered: { calls: 1, tokens: 100 } },
    });
    expect((await callmeter.readUsage({ customerId })).meters).toMatchObject({ premiumCalls: { used: 1 }, premiumTokens: { used: 100 } });
    expect(await callmeter.readCall({ callId: outcome.begun.callId })).toMatchObject({ status: 'COMPLETED', customerId });
  });

  test('a failed call is a failed call, and its customer can change plan', async () => {
    const callmeter = createClient({ apiKey, baseUrl: url(), retry: { baseDelayMs: 1 } });
    const customerId = 'failing-handler';
    const thrown = new Error('mine');
    let callId = '';
    const running = callmeter.withCall({ customerId }, (call) => {
      callId = call.callId;
      throw thrown;
    });
    await expect(running).rejects.toBe(thrown);
    expect(await callmeter.readCall({ callId })).toMatchObject({ status: 'FAILED' });
    const { items } = await callmeter.listUsagePlans({ limit: 10 });
    lost = 1;
    const planId = items.at(-1)?.planId ?? '';
    const { subscription } = await callmeter.changePlan({ customerId, planId });
    expect(subscription.planName).toBe(items.at(-1)?.name);
  });

  test('a refusal is what the service said', async () => {
    const callmeter = createClient({ apiKey, baseUrl: url() });
    await expect(callmeter.readCall({ callId: 'nowhere' })).rejects.toMatchObject({
      code: 'SERVICE_BAD_REQUEST',
      status: 404,
      details: { code: 'CALL_NOT_FOUND' },
    });
    await expect(callmeter.beginCall({ customerId: 'x'.repeat(256) })).rejects.toMatchObject({
      details: { details: [{ path: 'customerId' }] },
    });
    const stranger = createClient({ apiKey: `utk-${'x'.repeat(43)}`, baseUrl: url() });
    await expect(stranger.listCustomers()).rejects.toMatchObject({ code: 'SERVICE_AUTH_ERROR', status: 401 });
  });
});
