/**
 * Promise: a request runs on the first of its models that the plan allows and a vendor answers, and the tier that was
 * checked is the tier that pays.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { GatewayError } from '../../src/contract/gateway/answers.ts';
import type { Fault } from '../vendors/vendor.ts';
import { type GatewayTenant, gatewayOn, NO_LIMITS, type Setting, SHORT_TIMES } from './gateway-tenant.ts';
import { sharedServer } from './shared-servers.ts';

let setting: Setting;
let tenant: GatewayTenant;
beforeAll(async () => {
  setting = await gatewayOn(await sharedServer(SHORT_TIMES));
  tenant = await setting.tenant();
});
afterAll(() => setting.stop());
beforeEach(() => void setting.vendor.requests.splice(0));

const messages = [{ role: 'user' as const, content: 'hello' }];
const asked = () => setting.vendor.requests.map(({ body }) => body.model);
const PREMIUM = 'openai/gpt-5.2';
const STANDARD = 'openai/gpt-4o-mini';

async function ask(from: GatewayTenant, body: object) {
  const response = await from.send('/v1/chat/completions', { body: { messages, ...body } });
  const answer = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    answer,
    callId: response.headers.get('x-service-call-id') ?? '',
  };
}

async function map(to: GatewayTenant, models: { standard?: string[]; premium?: string[] }) {
  expect(
    (await setting.server.operator.send('setModels', { params: { org: to.organizationId }, body: models })).status,
  ).toBe(200);
}

describe('a list of models', () => {
  test.each<[Fault]>([['429'], ['500'], ['503'], ['cut-first'], ['hang']])('continues after %s', async (fault) => {
    setting.vendor.fail(fault);
    const { status, headers, callId } = await ask(tenant, { model: PREMIUM, models: ['claude-haiku-4-5', STANDARD] });
    expect([status, headers.get('x-llm-model-key'), asked()]).toEqual([
      200,
      'anthropic/claude-haiku-4-5',
      ['gpt-5.2', 'claude-haiku-4-5'],
    ]);
    expect(await tenant.call(callId)).toMatchObject({
      status: 'COMPLETED',
      providerUsed: 'anthropic',
      modelUsed: 'claude-haiku-4-5',
    });
  });

  test.each<[Fault, number]>([
    ['400', 400],
    ['html', 502],
    ['redirect', 502],
    ['cut', 502],
  ])('ends with %s, which another model would not fix', async (fault, expected) => {
    setting.vendor.fail(fault);
    const { status } = await ask(tenant, { model: PREMIUM, models: [STANDARD] });
    expect([status, asked()]).toEqual([expected, ['gpt-5.2']]);
  });

  test('answers with the last failure when all have failed', async () => {
    setting.vendor.fail('500', '429');
    const { status, headers, answer, callId } = await ask(tenant, { model: PREMIUM, models: [STANDARD] });
    expect([status, headers.get('x-llm-model-key'), headers.get('retry-after')]).toEqual([429, STANDARD, '1']);
    expect(GatewayError.parse(JSON.parse(answer)).error).toMatchObject({
      code: 'rate_limit_exceeded',
      message: 'Too many requests',
    });
    expect(await tenant.call(callId)).toMatchObject({ status: 'FAILED', costUSD: 0 });
  });

  test('does not continue once a byte was streamed', async () => {
    const body = {
      model: PREMIUM,
      models: [STANDARD],
      stream: true,
      messages: [{ role: 'user', content: 'x [fail:cut]' }],
    };
    const response = await tenant.send('/v1/chat/completions', { body });
    await response.text().catch(() => undefined);
    expect(asked()).toEqual(['gpt-5.2']);
    expect((await tenant.settled('default')).openCalls).toBe(0);
  });

  test('skips vendors without credentials', async () => {
    const { status } = await ask(tenant, { model: 'mistral/large', models: [STANDARD] });
    expect([status, asked()]).toEqual([200, ['gpt-4o-mini']]);
  });

  test('skips models whose tier the plan allows no more', async () => {
    const poor = await setting.tenant({ name: 'P', limitType: 'BLOCK', limits: { premiumCalls: 1 } });
    const body = { model: PREMIUM, models: [STANDARD] };
    const first = await ask(poor, body);
    const second = await ask(poor, body);
    expect([first, second].map(({ headers }) => headers.get('x-llm-model-key'))).toEqual([PREMIUM, STANDARD]);
    // The fallback to a tier that is used up is not made either.
    setting.vendor.fail('500');
    const third = await ask(poor, { model: STANDARD, models: [PREMIUM] });
    expect([third.status, asked()]).toEqual([500, ['gpt-5.2', 'gpt-4o-mini', 'gpt-4o-mini']]);
    const { meters } = await poor.settled('default', 3);
    expect([meters.premiumCalls?.used, meters.standardCalls?.used]).toEqual([1, 1]);
  });
});

describe('the mapping', () => {
  test('decides which models run, in which order, and which tier pays', async () => {
    const mapped = await setting.tenant(NO_LIMITS);
    await map(mapped, { standard: [PREMIUM, 'gpt-4o-mini'], premium: ['claude-haiku-4-5'] });
    setting.vendor.fail('500');
    const standard = await ask(mapped, { model: 'service/standard' });
    expect([standard.headers.get('x-llm-model-key'), asked()]).toEqual([STANDARD, ['gpt-5.2', 'gpt-4o-mini']]);
    expect((await ask(mapped, { model: 'service/standard' })).headers.get('x-llm-model-key')).toBe(PREMIUM);
    expect((await ask(mapped, { model: 'service/premium' })).headers.get('x-llm-model-key')).toBe(
      'anthropic/claude-haiku-4-5',
    );
    const { meters } = await mapped.settled('default', 3);
    // A premium model that is mapped to standard is paid by standard.
    expect([meters.standardCalls?.used, meters.premiumCalls?.used]).toEqual([2, 1]);
    const listed = (await mapped.openai.models.list()).data.map(({ id }) => id);
    expect(listed).toEqual(expect.arrayContaining(['service/standard', 'service/premium']));
  });

  test('offers standard models for an exhausted premium allowance under DOWNGRADE, but not under BLOCK', async () => {
    for (const [limitType, expected] of [
      ['DOWNGRADE', [200, 'openai/gpt-4o-mini']],
      ['BLOCK', [403, null]],
    ] as const) {
      const plan = await setting.tenant({ name: 'P', limitType, limits: { premiumCalls: 1 } });
      await map(plan, { standard: ['gpt-4o-mini'], premium: [PREMIUM] });
      expect((await ask(plan, { model: 'service/premium' })).headers.get('x-llm-model-key')).toBe(PREMIUM);
      const { status, headers } = await ask(plan, { model: 'service/premium' });
      expect([status, headers.get('x-llm-model-key')]).toEqual(expected);
      // A model that was named is not replaced by one that was not.
      expect((await ask(plan, { model: PREMIUM })).status).toBe(403);
      expect((await plan.settled('default', 3)).meters.premiumCalls?.used).toBe(1);
    }
  });

  test('does not offer standard models while premium is allowed and its vendor fails', async () => {
    const plan = await setting.tenant({ name: 'P', limitType: 'DOWNGRADE', limits: { premiumCalls: 5 } });
    await map(plan, { standard: ['gpt-4o-mini'], premium: [PREMIUM] });
    setting.vendor.fail('500');
    expect((await ask(plan, { model: 'service/premium' })).status).toBe(500);
    expect(asked()).toEqual(['gpt-5.2']);
  });
});

describe('effort', () => {
  /** The effort that was sent, and the recorded one. */
  async function effortOf(from: GatewayTenant, path: string, body: object) {
    const response = await from.send(path, {
      body: { model: PREMIUM, messages, input: 'x', ...body },
      headers: { 'Idempotency-Key': crypto.randomUUID() },
    });
    await response.text();
    const sent = setting.vendor.requests.at(-1)?.body;
    const [row] = (await from.customer('default')).recentCalls;
    expect(row?.callId).toBe(response.headers.get('x-service-call-id'));
    return path.endsWith('responses') ? sent.reasoning?.effort : sent.reasoning_effort;
  }

  test('is lowered to what the model supports and the plan allows', async () => {
    const low = await setting.tenant({ ...NO_LIMITS, reasoningLevel: 'LOW' });
    for (const path of ['/v1/chat/completions', '/v1/responses']) {
      const wish = (effort: string) =>
        path.endsWith('responses') ? { reasoning: { effort, summary: 'auto' } } : { reasoning_effort: effort };
      // GPT-5.2 knows none, low, medium, high and xhigh.
      expect(await effortOf(tenant, path, wish('high'))).toBe('high');
      expect(await effortOf(tenant, path, wish('max'))).toBe('xhigh');
      expect(await effortOf(tenant, path, wish('minimal'))).toBe('low');
      expect(await effortOf(tenant, path, wish('none'))).toBe('none');
      expect(await effortOf(tenant, path, {})).toBeUndefined();
      expect(await effortOf(low, path, wish('high'))).toBe('low');
    }
    expect(setting.vendor.requests.at(-1)?.body.reasoning).toEqual({ summary: 'auto', effort: 'low' });
  });

  test('is the lowest level under a plan without reasoning, even if nothing was asked', async () => {
    const none = await setting.tenant({ ...NO_LIMITS, reasoningLevel: 'NONE' });
    expect(await effortOf(none, '/v1/chat/completions', {})).toBe('none');
    // A model that does not reason gets no effort.
    expect(await effortOf(none, '/v1/chat/completions', { model: 'gpt-4o-mini' })).toBeUndefined();
  });

  test('is not sent to a model that does not reason: named, as a fallback, or by a downgrade', async () => {
    const bodies = () => setting.vendor.requests.map(({ body }) => body);
    await ask(tenant, { model: STANDARD, reasoning_effort: 'high' });
    expect(bodies()).toEqual([{ model: 'gpt-4o-mini', messages }]);
    setting.vendor.fail('500');
    await ask(tenant, { model: PREMIUM, models: [STANDARD], reasoning_effort: 'high' });
    expect(bodies().slice(1)).toEqual([
      { model: 'gpt-5.2', messages, reasoning_effort: 'high' },
      { model: 'gpt-4o-mini', messages },
    ]);
    const lowered = await setting.tenant({ name: 'P', limitType: 'DOWNGRADE', limits: { premiumCalls: 0 } });
    await map(lowered, { premium: [PREMIUM], standard: [STANDARD] });
    const { headers } = await ask(lowered, { model: 'service/premium', reasoning_effort: 'high' });
    expect(headers.get('x-llm-model-key')).toBe(STANDARD);
    expect(bodies().at(-1)).toEqual({ model: 'gpt-4o-mini', messages });
    await tenant.send('/v1/responses', {
      body: { model: STANDARD, input: 'x', reasoning: { effort: 'low', summary: 'auto' } },
    });
    expect(bodies().at(-1)).toEqual({ model: 'gpt-4o-mini', input: 'x' });
  });
});

test('the output is bounded by what the plan reserves, whatever was asked', async () => {
  const plan = await setting.tenant({
    name: 'P',
    limitType: 'BLOCK',
    limits: { premiumTokens: 100 },
    reserveOutputTokens: 60,
  });
  const sent = async (body: object) => {
    await ask(plan, { model: PREMIUM, ...body });
    return setting.vendor.requests.at(-1)?.body;
  };
  expect((await sent({})).max_completion_tokens).toBe(60);
  expect((await sent({ max_tokens: 500 })).max_tokens).toBe(60);
  expect((await sent({ max_completion_tokens: 7 })).max_completion_tokens).toBe(7);
  expect((await sent({ n: 3 })).max_completion_tokens).toBe(20);
  expect((await sent({ model: 'acme/x' })).max_tokens).toBe(60);
  expect((await tenant.send('/v1/chat/completions', { body: { model: PREMIUM, messages } })).status).toBe(200);
  expect(setting.vendor.requests.at(-1)?.body).toEqual({ model: 'gpt-5.2', messages });
});
