/**
 * Promise: a call whose caller leaves is recorded within the 30 s that Workers grant, and the vendor is read on no
 * longer: plain calls and streams of the gateway, and the unified call.
 *
 * The callers leave a vendor that takes a minute or more after one second. All calls run at the same time.
 */
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { READ_ON_MS } from '../../src/vendors/presence.ts';
import { CLIENT_LEFT } from '../../src/vendors/request.ts';
import { type GatewayTenant, type Setting, startGateway } from './gateway-tenant.ts';
import { until } from './local-server.ts';

const STAYS_MS = 1_000;
const RECORDED_MS_MAX = 30_000;

let setting: Setting;
let tenant: GatewayTenant;
beforeAll(async () => {
  setting = await startGateway();
  tenant = await setting.tenant();
});
afterAll(() => setting.stop());

const requestHeaders = (key: string) => ({
  Accept: MEDIA_TYPE,
  'Content-Type': 'application/json',
  'Idempotency-Key': key,
});

/** Asks, and resets the connection after a second: workerd notices one that is only closed no sooner than it writes. */
function leaveAfterASecond(path: string, key: string, body: object): void {
  const headers = { ...requestHeaders(key), Authorization: `Bearer ${tenant.key}` };
  const asked = request(`${setting.server.url}${path}`, { method: 'POST', headers, agent: false });
  asked.on('response', (response) => response.resume().on('error', () => undefined));
  asked.on('error', () => undefined);
  asked.end(JSON.stringify(body));
  void sleep(STAYS_MS).then(() => asked.socket?.resetAndDestroy());
}

const chat = (prompt: string) => ({ model: 'gpt-5.2', messages: [{ role: 'user', content: prompt }] });
const completion = (customer: string, prompt: string) => ({ customer, ...chat(prompt) });
const streamed = (customer: string, prompt: string) => ({ ...completion(customer, prompt), stream: true });
const unified = (customerId: string, prompt: string) => {
  const headers = { authorization: 'Bearer x' };
  const url = `${setting.vendor.url}/v1/chat/completions`;
  return { customerId, feature: 'x', vendor: { url, headers, timeoutMs: 120_000, body: chat(prompt) } };
};

const CHAT = '/v1/chat/completions';
test.concurrent.each([
  { name: 'plain', path: CHAT, bodyOf: completion, prompt: '[fail:hang]', retry: [504, CLIENT_LEFT] },
  { name: 'stream not begun', path: CHAT, bodyOf: streamed, prompt: '[fail:hang]', retry: [504, CLIENT_LEFT] },
  {
    name: 'stream of a minute',
    path: CHAT,
    bodyOf: streamed,
    prompt: '[fail:slow] [reply:1200]',
    retry: [409, 'its answer was not stored'],
  },
  { name: 'unified call', path: '/call', bodyOf: unified, prompt: '[fail:hang]', retry: [200, CLIENT_LEFT] },
] as const)('$name', async ({ name, path, bodyOf, prompt, retry: [status, reason] }) => {
  const customer = name.replaceAll(' ', '-');
  const body = bodyOf(customer, `${name} ${prompt}`);
  leaveAfterASecond(path, `left-${customer}`, body);
  const { recentCalls } = await tenant.settled(customer);
  expect(recentCalls).toMatchObject([{ status: 'FAILED', usageSource: 'estimated' }]);
  const { startTime, endTime } = await tenant.call(recentCalls[0]?.callId ?? '');
  const tookMs = Date.parse(String(endTime)) - Date.parse(String(startTime));
  expect(tookMs).toBeGreaterThan(READ_ON_MS);
  expect(tookMs).toBeLessThan(STAYS_MS + RECORDED_MS_MAX);
  const asked = () => setting.vendor.requests.filter((sent) => sent.body.messages?.[0].content === `${name} ${prompt}`);
  await until(() => asked()[0]?.abandoned === true);
  const retry = await tenant.send(path, { body, headers: requestHeaders(`left-${customer}`) });
  expect([retry.status, await retry.text()]).toEqual([status, expect.stringContaining(reason)]);
  expect(asked()).toHaveLength(1);
});
