/**
 * Promise: the remaining limits in an answer's headers equal those of the customer's readings.
 */
import { expect, test } from 'vitest';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import type { Tenant } from '../support/api.ts';
import { answers, ask, completion, mockVendor, newTenant, usage, vendor } from '../support/gateway.ts';
import { operator, worker } from '../support/worker.ts';

mockVendor();

const PLAN = {
  name: 'P',
  limitType: 'BLOCK',
  limits: { premiumCalls: 5, premiumTokens: 1_000, standardCalls: 100 },
  rollingCalls: { limit: 50, windowSeconds: 60 },
};

/** The values in an answer's headers. */
function told({ headers }: { headers: { get(name: string): string | null } }) {
  const figure = (name: string) => {
    const text = headers.get(`x-service-remaining-${name}`);
    return text === null ? null : Number(text);
  };
  return { calls: figure('calls'), tokens: figure('tokens'), usd: figure('usd') };
}

/** The values of the readings. */
async function left({ api }: Tenant, customerId: string, tier: 'standard' | 'premium') {
  const { meters } = (await api.send('readUsage', { params: { customerId } })).data;
  const { funding } = (await api.send('readUsageContext', { params: { customerId } })).data;
  const of = (meter?: { unlimited: boolean; remaining: number }) => (meter?.unlimited ? null : meter?.remaining);
  return {
    calls: of(meters[`${tier}Calls`]),
    tokens: of(meters[`${tier}Tokens`]),
    usd: funding.payAsYouGo ? funding.availableUsd : null,
  };
}

const send = (key: string, path: string, body: object) =>
  worker.fetch(`https://callmeter.test${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, Accept: MEDIA_TYPE, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });

test('of a begin and an end, for the tier that the call is for, and the rolling limit', async () => {
  const tenant = await newTenant(PLAN);
  const [customerId, callId] = ['metered', crypto.randomUUID()];
  const begun = await send(tenant.key, '/call_begin', {
    customerId,
    idempotencyKey: callId,
    requested: { premium: true },
  });
  const { data } = (await begun.json()) as { data: { rateLimits: { rollingCalls: { remaining: number } } } };
  expect(data.rateLimits.rollingCalls.remaining).toBe(49);
  expect(begun.headers.get('RateLimit-Policy')).toBe('"calls";q=50;w=60');
  expect(begun.headers.get('RateLimit')).toMatch(/^"calls";r=49;t=(?:60|59)$/);
  expect(told(begun)).toEqual({ calls: 4, tokens: 1_000, usd: null });
  expect(told(begun)).toEqual(await left(tenant, customerId, 'premium'));
  const end = { callId, modelUsed: 'gpt-5.2', providerUsed: 'openai', inputTokens: 10, responseTokens: 30 };
  const ended = await send(tenant.key, '/call_end', end);
  expect(told(ended)).toEqual({ calls: 4, tokens: 970, usd: null });
  expect(told(ended)).toEqual(await left(tenant, customerId, 'premium'));
  expect(ended.headers.get('RateLimit')).toMatch(/^"calls";r=49;t=\d+$/);
  // A replay tells of another time.
  const again = await send(tenant.key, '/call_end', end);
  expect([again.status, again.headers.get('RateLimit'), told(again).calls]).toEqual([200, null, null]);
});

test('of an answer of the gateway after the call, of a stream as it begins, and of a denial', async () => {
  const tenant = await newTenant(PLAN);
  vendor.answers = answers;
  const first = await ask(tenant.key, {});
  expect(told(first.response)).toEqual({ calls: 4, tokens: 996, usd: null });
  expect(told(first.response)).toEqual(await left(tenant, 'default', 'premium'));
  expect(first.response.headers.get('RateLimit')).toMatch(/^"calls";r=49;t=\d+$/);
  const standard = await ask(tenant.key, { model: 'gpt-4o-mini' });
  expect(told(standard.response)).toEqual({ calls: 99, tokens: null, usd: null });
  expect(told(standard.response)).toEqual(await left(tenant, 'default', 'standard'));
  vendor.answers = () =>
    new Response(`data: ${JSON.stringify({ ...completion('gpt-5.2'), usage })}\n\ndata: [DONE]\n\n`, {
      headers: { 'content-type': 'text/event-stream' },
    });
  const { response } = await ask(tenant.key, { stream: true });
  expect(told(response)).toEqual(await left(tenant, 'default', 'premium'));
  await response.text();
  vendor.answers = answers;
  for (let index = 0; index < 3; index += 1) await ask(tenant.key, {});
  const denied = await ask(tenant.key, {});
  expect([denied.response.status, told(denied.response).calls]).toEqual([403, 0]);
});

test('of the rolling limit that refuses a call, on both interfaces', async () => {
  const tenant = await newTenant({ ...PLAN, rollingCalls: { limit: 1, windowSeconds: 30 } });
  vendor.answers = answers;
  await ask(tenant.key, {});
  const refused = [
    (await ask(tenant.key, {})).response,
    await send(tenant.key, '/call_begin', { customerId: 'default' }),
    await send(tenant.key, '/call', { customerId: 'default', usage: { modelUsed: 'gpt-5.2' } }),
  ];
  for (const response of refused) {
    const { status, headers } = response;
    expect([status, headers.get('RateLimit-Policy')]).toEqual([429, '"calls";q=1;w=30']);
    const seconds = headers.get('Retry-After');
    expect(headers.get('RateLimit')).toBe(`"calls";r=0;t=${seconds}`);
    // No other 429 has the reason.
    const message = `the plan's rolling limit is reached (calls in 30 seconds: 1); retry in ${seconds} seconds`;
    expect(await response.json()).toMatchObject({ error: { code: 'RATE_LIMITED', reason: 'ROLLING_LIMIT', message } });
  }
});

test('of the balance if the plan lets it pay, and nothing of what has no bound', async () => {
  const tenant = await newTenant({
    name: 'PAYG',
    limitType: 'BLOCK',
    limits: { premiumCalls: 0 },
    payg: { enabled: true },
  });
  const { organizationId: org } = tenant;
  vendor.answers = answers;
  const provisioned = await ask(tenant.key, { model: 'gpt-4o-mini' });
  expect(told(provisioned.response)).toEqual({ calls: null, tokens: null, usd: 0 });
  const params = { org, customerId: 'default' };
  const granted = await operator.send('grantCredit', { params, body: { kind: 'USD', amountUsd: '5' } });
  expect(granted.status).toBe(200);
  const { response } = await ask(tenant.key, {});
  expect(response.status).toBe(200);
  expect(told(response).usd).toBeLessThan(5);
  expect(told(response)).toEqual(await left(tenant, 'default', 'premium'));
  expect(response.headers.get('RateLimit')).toBeNull();
});
