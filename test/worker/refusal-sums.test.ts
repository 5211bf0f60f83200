/**
 * Promise: a refusal states its amounts, in the form of each vendor and by POST /call: the need of the call, the
 * available amount, the holds of open calls, and the output tokens with which it passes. A browser's session gets only
 * the words.
 */

import { beforeAll, describe, expect, test } from 'vitest';
import { planOnCredit, TWO_RATES } from '../support/credit-plans.ts';
import { fundedCustomer, widgetText } from '../support/customer.ts';
import { ask, completion, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { bindings, operator } from '../support/worker.ts';

mockVendor();

const ON_CREDIT = planOnCredit({ maxOutputTokens: 16_384 });
const VENDORS = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
};
/** One model of each vendor, whose output all shows. */
const MODELS = { openai: 'gpt-4o-mini', anthropic: 'talker', google: 'talker' };

async function onCredit(usd: string, plan: object = ON_CREDIT, provider: Provider = 'openai') {
  const tenant = await newTenant(plan);
  const params = { org: tenant.organizationId };
  for (const of of new Set([provider, 'openai'] as const)) {
    const set = await operator.send('setVendor', {
      params: { ...params, provider: of },
      body: { apiKey: 'k', baseUrl: VENDORS[of] },
    });
    const modelKey = `${of}/${MODELS[of]}`;
    const priced = await operator.send('setPrice', {
      params: { ...params, modelKey },
      body: { components: TWO_RATES },
    });
    expect([set.status, priced.status]).toEqual([200, 200]);
  }
  return { tenant, customer: await fundedCustomer(tenant, 'default', { usd }) };
}
type Provider = keyof typeof VENDORS;
type Tenant = Awaited<ReturnType<typeof onCredit>>['tenant'];

const MESSAGES = [{ role: 'user', content: 'x' }];
const CONTENTS = [{ role: 'user', parts: [{ text: 'x' }] }];
const GOOGLE = '/v1beta/models/google/talker';

interface Form {
  provider: Provider;
  path: string;
  /** The path of streams, if it differs. */
  streamPath?: string;
  body: (tokens: number | undefined, stream: boolean) => object;
  /** The figures of an error, and its words. */
  read: (error: Record<string, unknown>) => { figures: Record<string, unknown>; message: unknown };
}

/** The figures beside the words. */
const beside = ({ message, type: _type, code: _code, param: _param, ...figures }: Record<string, unknown>) => ({
  figures,
  message,
});

const FORMS: Record<string, Form> = {
  'chat completions': {
    provider: 'openai',
    path: '/v1/chat/completions',
    body: (max_completion_tokens, stream) => ({ model: 'openai/gpt-4o-mini', max_completion_tokens, stream }),
    read: beside,
  },
  responses: {
    provider: 'openai',
    path: '/v1/responses',
    body: (max_output_tokens, stream) => ({
      ...{ model: 'openai/gpt-4o-mini', input: 'x', max_output_tokens, stream, messages: undefined },
    }),
    read: beside,
  },
  messages: {
    provider: 'anthropic',
    path: '/v1/messages',
    body: (max_tokens = 16_384, stream) => ({
      ...{ model: 'anthropic/talker', max_tokens, stream, messages: MESSAGES, thinking: { type: 'disabled' } },
    }),
    read: beside,
  },
  generateContent: {
    provider: 'google',
    path: `${GOOGLE}:generateContent`,
    streamPath: `${GOOGLE}:streamGenerateContent?alt=sse`,
    body: (maxOutputTokens) => ({
      ...{ model: undefined, messages: undefined, contents: CONTENTS },
      ...(maxOutputTokens !== undefined && { generationConfig: { maxOutputTokens } }),
    }),
    read: ({ message, details }) => {
      const [{ metadata }] = details as [{ metadata: Record<string, string> }];
      return { figures: metadata, message };
    },
  },
};

async function refusal(tenant: Tenant, form: Form, tokens?: number, stream = false, key = tenant.key) {
  const { path, streamPath = path, body, read } = form;
  const { response } = await ask(key, body(tokens, stream), bindings, stream ? streamPath : path);
  const { error } = (await response.json()) as { error: Record<string, unknown> };
  return { status: response.status, ...read(error) };
}

describe.each(Object.entries(FORMS))('%s', (name, form) => {
  const isGoogle = name === 'generateContent';
  let tenant: Tenant;
  beforeAll(async () => {
    ({ tenant } = await onCredit('0.04', ON_CREDIT, form.provider));
  });

  test('says the sums of what credit does not cover; what it says would pass passes, and a token more does not', async () => {
    const refused = await refusal(tenant, form);
    expect(refused.status).toBe(402);
    const figures = Object.fromEntries(
      Object.entries(refused.figures).map(([member, value]) => [
        member,
        isGoogle && member !== 'meter' ? Number(value) : value,
      ]),
    );
    expect(figures).toEqual({
      ...{ meter: 'premiumCalls', limit: 0, used: 0, openCalls: 0, availableUsd: 0.04, heldUsd: 0 },
      ...{ neededUsd: expect.closeTo(0.1645, 3), maxTokensThatPass: expect.any(Number) },
      ...(!isGoogle && { resetsAt: null }),
    });
    const { neededUsd, maxTokensThatPass: tokens } = figures as { neededUsd: number; maxTokensThatPass: number };
    const needed = `$${(Math.ceil(neededUsd * 1_000) / 1_000).toString()}`;
    expect(refused.message).toBe(
      `the customer's plan allows no further call of a premium model, and the balance does not cover what this one may cost. The call needs ${needed}, and $0.04 is available. With at most ${tokens.toLocaleString('en')} output tokens it would pass.`,
    );
    expect((await refusal(tenant, form, tokens + 1)).status).toBe(402);
    let asked = 0;
    vendor.answers = () => {
      asked += 1;
      // Work that the vendor does not do leaves the balance unchanged.
      return Response.json({ error: { type: 'invalid_request_error', message: 'no' } }, { status: 400 });
    };
    expect((await refusal(tenant, form, tokens)).status).toBe(400);
    expect(asked).toBe(1);
  });

  test('of a stream, which begins with less, says that no bound would help', async () => {
    const { tenant: poor } = await onCredit('0.0005', ON_CREDIT, form.provider);
    const refused = await refusal(poor, form, undefined, true);
    const [availableUsd, maxTokensThatPass] = isGoogle ? ['0.0005', undefined] : [0.0005, null];
    expect(refused).toMatchObject({ status: 402, figures: { availableUsd } });
    expect(refused.figures.maxTokensThatPass).toBe(maxTokensThatPass);
    expect(refused.message).toMatch(/The call needs \$0\.0\d+, and \$0\.0005 is available\.$/);
  });

  test('says what open calls hold, and nothing is recorded of it', async () => {
    const { tenant: busy, customer } = await onCredit('0.2', ON_CREDIT, form.provider);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: asked, resolve: begun } = Promise.withResolvers<void>();
    vendor.answers = async () => {
      begun();
      await released;
      return Response.json(completion('talker'));
    };
    const first = ask(busy.key, { model: 'openai/gpt-4o-mini' });
    await asked;
    const held = Number((await customer.wallet()).heldUsd);
    const { status, figures, message } = await refusal(busy, form);
    expect(status).toBe(429);
    expect(figures).toMatchObject(
      isGoogle
        ? { heldUsd: String(held), openCalls: '1', availableUsd: String(Number((0.2 - held).toFixed(9))) }
        : { heldUsd: held, openCalls: 1, availableUsd: Number((0.2 - held).toFixed(9)) },
    );
    expect(message).toMatch(
      /it is free again when they end\. The call needs \$0\.16\d*, and \$0\.03\d* is available; 1 open call holds \$0\.16\d*\. With at most [\d,]+ output tokens it would pass\.$/,
    );
    expect((await customer.inspect()).recentCalls).toHaveLength(1);
    // The widget says it all the same, to the customer.
    expect(await widgetText(busy, 'default')).toMatch(
      /Your latest denied call needed \$0\.16\d* of your balance, and \$0\.03\d* was free; calls in progress held \$0\.16\d*\. With an answer of at most [\d,]+ tokens it would have run\./,
    );
    release();
    await (await first).rest();
  });

  test('says of an allowance what is used and when it renews, and no sums of money', async () => {
    const { tenant: used } = await onCredit(
      '1',
      { name: 'P', limitType: 'BLOCK', limits: { premiumCalls: 1 } },
      form.provider,
    );
    vendor.answers = () => Response.json(completion('talker'));
    await (await ask(used.key, { model: 'openai/gpt-4o-mini' })).rest();
    const { status, figures, message } = await refusal(used, form);
    expect(status).toBe(403);
    expect(figures).toEqual({
      ...(isGoogle ? { limit: '1', used: '1', openCalls: '0' } : { limit: 1, used: 1, openCalls: 0 }),
      ...{ meter: 'premiumCalls', resetsAt: expect.stringMatching(/^20\d\d-\d\d-\d\dT/) },
    });
    expect(message).toMatch(
      /^the customer's plan allows no further call of a premium model\. premiumCalls: 1 of 1 are used; they renew on 20\d\d-\d\d-\d\d at \d\d:\d\d UTC\.$/,
    );
  });

  test('names the other limits that block the call', async () => {
    const limits = { premiumCalls: 1, premiumTokens: 300 };
    const { tenant: used } = await onCredit('1', { name: 'P', limitType: 'BLOCK', limits }, form.provider);
    const usage = { prompt_tokens: 1, completion_tokens: 300, total_tokens: 301 };
    vendor.answers = () => Response.json({ ...completion('talker'), usage });
    await (await ask(used.key, { model: 'openai/gpt-4o-mini' })).rest();
    const { figures, message } = await refusal(used, form);
    const also = [{ meter: 'premiumTokens', limit: 300, used: 300, resetsAt: figures.resetsAt }];
    expect(figures).toMatchObject({ meter: 'premiumCalls', also: isGoogle ? JSON.stringify(also) : also });
    expect(message).toMatch(/premiumCalls: 1 of 1 are used; .* premiumTokens: 300 of 300 are used; they renew on /);
  });

  test("says that it is the plan's rolling limit, and when to come back", async () => {
    const plan = { name: 'P', limitType: 'NONE', rollingCalls: { limit: 1, windowSeconds: 30 } };
    const { tenant: slow } = await onCredit('1', plan, form.provider);
    vendor.answers = () => Response.json(completion('talker'));
    await (await ask(slow.key, { model: 'openai/gpt-4o-mini' })).rest();
    const { response } = await ask(slow.key, form.body(undefined, false), bindings, form.path);
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([429, 'true']);
    expect(Number(response.headers.get('Retry-After'))).toBeGreaterThan(20);
    const own = { code: 'RATE_LIMITED', reason: 'ROLLING_LIMIT' };
    const error = isGoogle ? { details: [{ reason: own.code, metadata: { reason: own.reason } }] } : own;
    expect(await response.json()).toMatchObject({ error });
  });
});

test("a browser's session gets the words alone", async () => {
  const { tenant } = await onCredit('0.04');
  const { token } = (await tenant.api.send('createClientSession', { body: { customerId: 'default' } })).data;
  const form = FORMS['chat completions'];
  if (!form) throw new Error('there is such a form');
  const refused = await refusal(tenant, form, undefined, false, token);
  expect([refused.status, refused.figures]).toEqual([402, {}]);
  expect(refused.message).toMatch(/The call needs \$0\.1\d+, and \$0\.04 is available\. With at most/);
});

test('a replay of a denial says the same', async () => {
  const { tenant, customer } = await onCredit('0.04');
  const again = () =>
    ask(tenant.key, { model: 'openai/gpt-4o-mini' }, bindings, '/v1/chat/completions', { 'Idempotency-Key': 'again' });
  const first = await (await again()).response.text();
  expect((await customer.grant({ kind: 'USD', amountUsd: '5' })).status).toBe(200);
  expect(await (await again()).response.text()).toBe(first);
});

test('POST /call says the sums in the denial of its begin', async () => {
  const { tenant } = await onCredit('0.04');
  const make = async (max_completion_tokens: number) =>
    (
      await tenant.api.send('makeCall', {
        body: {
          customerId: 'default',
          vendor: {
            ...{ url: 'https://api.openai.com/v1/chat/completions', provider: 'openai' },
            body: { model: 'gpt-4o-mini', messages: MESSAGES, max_completion_tokens },
          },
        },
        headers: { 'Idempotency-Key': crypto.randomUUID() },
      })
    ).data;
  const { denial } = (await make(9_000)).begin;
  expect(denial).toEqual({
    ...{ code: 'CREDIT_REQUIRED', meter: 'premiumCalls', limit: 0, used: 0, openCalls: 0, resetsAt: null },
    ...{ neededUsd: expect.closeTo(0.0907, 3), availableUsd: 0.04, heldUsd: 0, maxTokensThatPass: expect.any(Number) },
    message: expect.stringMatching(
      /^The call needs \$0\.0\d+, and \$0\.04 is available\. With at most 3,\d{3} output tokens it would pass\.$/,
    ),
  });
  const tokens = denial?.maxTokensThatPass ?? 0;
  expect((await make(tokens + 1)).begin.denial?.code).toBe('CREDIT_REQUIRED');
  vendor.answers = () => Response.json(completion('talker'));
  expect((await make(tokens)).vendor?.ok).toBe(true);
});
