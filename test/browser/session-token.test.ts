/**
 * A page of another origin with a session token: the browser lets it call the compression routes that its scope allows,
 * and read their answers, refusals included. Routes that take no session token stay closed to it.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Loopback, serveOnLoopback } from '../vendors/loopback.ts';
import { launch } from './browser.ts';
import { sharedServer } from './server.ts';

const server = sharedServer();
let browser: Browser;
let host: Loopback;
let page: Page;
let token: string;

beforeAll(async () => {
  browser = await launch();
  host = await serveOnLoopback((_, response) =>
    response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Shop</title>'),
  );
  token = (await server.demo.send('createClientSession', { body: { customerId: 'alice' } })).data.token;
  page = await browser.newPage();
  await page.goto(host.url.replace('127.0.0.1', 'localhost'));
});
afterAll(() => host?.close());

/** What the page gets, with the headers that a script sends who writes none but these; `null` where the browser refuses. */
function ask(method: string, path: string, body?: object, bearer = token) {
  const headers = { Authorization: `Bearer ${bearer}`, ...(body && { 'Content-Type': 'application/json' }) };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  return page.evaluate(
    async ([url, asked]) => {
      try {
        const response = await fetch(url, asked);
        const { result, data } = (await response.json()) as { result: { code: string }; data?: unknown };
        const correlation = response.headers.get('x-usage-correlation-id');
        return { status: response.status, code: result.code, data, hasCorrelation: correlation !== null };
      } catch {
        return null;
      }
    },
    [server.url + path, init] as const,
  );
}

test('the compression profile is read', async () => {
  expect(await ask('GET', '/v1/compression/profile')).toMatchObject({
    status: 200,
    code: 'COMPRESSION_PROFILE_READ',
    data: { techniques: expect.any(Array) },
    hasCorrelation: true,
  });
});

test('compression is authorized for the customer of the session', async () => {
  await server.demo.send('provisionCustomer', { body: { customerId: 'alice' } });
  const answer = await ask('POST', '/v1/compression/authorize', {});
  expect(answer).toMatchObject({ status: 200, code: 'COMPRESSION_AUTHORIZED', data: { customerId: 'alice' } });
});

test("savings are recorded on the customer's call", async () => {
  const { callId } = (await server.demo.send('beginCall', { body: { customerId: 'alice' } })).data;
  const promptCompression = { provider: 'heuristic', originalTokens: 16, compressedTokens: 12, techniques: [] };
  expect(await ask('POST', '/compress_prompt', { callId, promptCompression })).toMatchObject({
    status: 200,
    code: 'PROMPT_COMPRESSION_RECORDED',
    data: { savedTokens: 4 },
  });
});

test('a refusal can be read, so that the page knows to renew its token', async () => {
  expect(await ask('GET', '/v1/compression/profile', undefined, 'expired')).toMatchObject({
    status: 401,
    code: 'UNAUTHORIZED',
  });
});

test.each([
  ['PUT', '/v1/compression/profile'],
  ['GET', '/v1/compression/summary'],
  ['POST', '/call_begin'],
])('%s %s is closed to pages', async (method, path) => {
  expect(await ask(method, path, method === 'GET' ? undefined : { customerId: 'alice' })).toBeNull();
});
