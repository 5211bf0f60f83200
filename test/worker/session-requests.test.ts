/**
 * The free requests of a browser's session are bounded: 60 in a minute that cost nothing or fail. The 61st is 429
 * before anything is stored, whatever it asks for; successful requests with a cost are not counted.
 */

import { describe, expect, test } from 'vitest';
import { asCallId } from '../../src/domain/ids.ts';
import { createTenant } from '../support/api.ts';
import { answers, ask, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { customerStub, operator, worker } from '../support/worker.ts';

mockVendor();

const MAX = 60;
/** The vendor takes the request for a wrong one. */
const refuses = () =>
  Response.json({ error: { message: 'no such parameter', type: 'invalid_request_error' } }, { status: 400 });

const tenant = await newTenant();

async function createToken(customerId: string, more: object = {}): Promise<string> {
  return (await tenant.api.send('createClientSession', { body: { customerId, ...more } })).data.token;
}

async function chat(token: string, body: object = {}) {
  const { response, callId, rest } = await ask(token, body);
  await response.text();
  await rest();
  return { status: response.status, headers: response.headers, callId };
}

async function statusesOf(count: number, request: () => Promise<{ status: number }>) {
  const statuses: Record<number, number> = {};
  for (const { status } of await Promise.all(Array.from({ length: count }, request)))
    statuses[status] = (statuses[status] ?? 0) + 1;
  return statuses;
}

async function expectRefused(token: string, body: object = {}): Promise<void> {
  const { response, rest } = await ask(token, body);
  await rest();
  expect([response.status, await response.json()]).toMatchObject([429, { error: { code: 'RATE_LIMITED' } }]);
  const wait = Number(response.headers.get('Retry-After'));
  expect(wait).toBeGreaterThan(0);
  expect(wait).toBeLessThanOrEqual(60);
}

describe('a session has 60 in a minute', () => {
  test('of requests that the vendor refuses, at the same time too, and stores nothing of others', async () => {
    let asked = 0;
    vendor.answers = () => {
      asked += 1;
      return refuses();
    };
    const token = await createToken('refused');
    expect(await statusesOf(MAX + 20, () => chat(token))).toEqual({ 400: MAX, 429: 20 });
    await expectRefused(token);
    expect(asked).toBe(MAX);
    // Another session of the same customer, and the backend, go on.
    vendor.answers = answers;
    expect((await chat(await createToken('refused'))).status).toBe(200);
    expect((await chat(tenant.key, { customer: 'refused' })).status).toBe(200);
  });

  test('of savings that it records', async () => {
    vendor.answers = answers;
    const token = await createToken('savings');
    const { callId } = await chat(token);
    const api = operator.with(token);
    const save = (at: number) =>
      api.send('compressPrompt', {
        body: {
          callId,
          promptCompression: {
            provider: 'toon',
            originalTokens: 10,
            compressedTokens: 9 - (at % 5),
            techniques: ['toon'],
          },
        },
      });
    let at = 0;
    expect(await statusesOf(MAX, () => save(at++))).toEqual({ 200: MAX });
    const before = await customerStub(tenant.organizationId, 'savings').readCall(
      tenant.organizationId,
      asCallId(callId),
    );
    const refused = await save(at + 1);
    expect([refused.status, refused.refusal.code]).toEqual([429, 'RATE_LIMITED']);
    expect(Number(refused.headers.get('Retry-After'))).toBeLessThanOrEqual(60);
    expect(
      await customerStub(tenant.organizationId, 'savings').readCall(tenant.organizationId, asCallId(callId)),
    ).toEqual(before);
    expect((await api.send('authorizeCompression', { body: {} })).status).toBe(429);
    expect((await api.send('readCompressionProfile')).status).toBe(429);
    await expectRefused(token);
  });

  test.each<[string, object]>([
    ['for another customer', { customer: 'somebody-else' }],
    ['for a model that nobody knows', { model: 'nobody/knows' }],
  ])('of requests %s', async (name, body) => {
    const token = await createToken(`worker ${name}`);
    const statuses = await statusesOf(MAX + 5, () => chat(token, body));
    expect(statuses[429]).toBe(5);
    expect(Object.keys(statuses).every((status) => Number(status) >= 400)).toBe(true);
    await expectRefused(token);
  });

  test('of looks at the widget', async () => {
    const { key } = (
      await operator.send('createKey', {
        params: { org: tenant.organizationId },
        body: { name: 'embed', prefix: 'ek-', scopes: ['embeds:read'] },
      })
    ).data;
    const { data } = await operator.with(key).send('createEmbedSession', { body: { customerId: 'embedded' } });
    const look = () =>
      worker.fetch('https://callmeter.test/embed/data', { headers: { Authorization: `Bearer ${data.token}` } });
    const statuses = await statusesOf(MAX + 1, look);
    expect(statuses).toEqual({ 200: MAX, 429: 1 });
    expect(Number((await look()).headers.get('Retry-After'))).toBeGreaterThan(0);
  });
});

test('calls that work are not counted, however many there are', async () => {
  vendor.answers = answers;
  const token = await createToken('works');
  for (let round = 0; round < 3; round += 1)
    expect(await statusesOf(MAX / 2, () => chat(token))).toEqual({ 200: MAX / 2 });
  vendor.answers = refuses;
  expect(await statusesOf(MAX, () => chat(token))).toEqual({ 400: MAX });
  vendor.answers = answers;
  await expectRefused(token);
});

test('a user who gets one token after the other is one session', async () => {
  vendor.answers = refuses;
  const statuses: number[] = [];
  for (let at = 0; at < 3; at += 1) {
    const token = await createToken('team', { customerUserId: 'u-1' });
    const found = await statusesOf(MAX / 2, () => chat(token));
    statuses.push(found[400] ?? 0, found[429] ?? 0);
  }
  expect(statuses).toEqual([30, 0, 30, 0, 0, 30]);
  expect((await chat(await createToken('team', { customerUserId: 'u-2' }))).status).toBe(400);
});

test('calls that the plan denies count', async () => {
  const denied = await createTenant(operator, { name: 'None', limitType: 'BLOCK', limits: { premiumCalls: 0 } });
  const params = { org: denied.organizationId };
  await operator.send('setVendor', {
    params: { ...params, provider: 'openai' },
    body: { apiKey: 'sk-test', baseUrl: 'https://vendor.example.com/v1' },
  });
  const { token } = (await denied.api.send('createClientSession', { body: { customerId: 'ann' } })).data;
  const statuses = await statusesOf(MAX + 3, () => chat(token));
  expect(statuses).toEqual({ 403: MAX, 429: 3 });
});
