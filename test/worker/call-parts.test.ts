/**
 * Promise: all work of vendors for a call is charged, each part at its own model: an earlier model whose answer did not
 * come, an advisor, an attempt that its model declined.
 */

import { evictDurableObject, runDurableObjectAlarm } from 'cloudflare:test';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Repricing } from '../../src/contract/corrections.ts';
import type { Tenant } from '../support/api.ts';
import { ask, completion, mockVendor, newTenant, readStoredCall, vendor } from '../support/gateway.ts';
import { bindings, deliverToD1, operator } from '../support/worker.ts';

mockVendor();

/** The first of two attempts gets half of it. */
const IMPATIENT = { ...bindings, GATEWAY_TIMEOUT_MS: 2_400 };
/** As `fetch` is when it is aborted, a little later. */
async function silent(): Promise<Response> {
  await scheduler.wait(1_300);
  throw new Error('aborted');
}
const PLAN = { name: 'P', limitType: 'BLOCK', limits: {} };
const HOUR = 3_600_000;
/** USD per million tokens. */
const PRICES = {
  'slow-model': [100, 1_000],
  'cheap-model': [1, 2],
  'claude-haiku-5-5': [1, 5],
  'claude-fable-5': [100, 500],
  'claude-opus-4-8': [10, 50],
} as const;

let tenant: Tenant & { key: string };
beforeEach(async () => {
  tenant = await newTenant(PLAN);
  await operator.send('setVendor', {
    params: { org: tenant.organizationId, provider: 'anthropic' },
    body: { apiKey: 'sk-ant-test', baseUrl: 'https://claude.example.com/v1' },
  });
});

async function price(...models: (keyof typeof PRICES)[]) {
  for (const modelKey of models) {
    const [inputUsdPerMillion, outputUsdPerMillion] = PRICES[modelKey];
    const params = { org: tenant.organizationId, modelKey };
    await operator.send('setPrice', { params, body: { inputUsdPerMillion, outputUsdPerMillion } });
  }
}

const read = async (callId: string) => (await tenant.api.send('readCall', { params: { callId } })).data;
/** The sums of the lines by model, in nano-USD. */
async function costLines(callId: string) {
  const { costBreakdown } = await read(callId);
  const sums = new Map<string, bigint>();
  for (const { model = '', costUsdNano } of costBreakdown?.lines ?? [])
    sums.set(model, (sums.get(model) ?? 0n) + BigInt(costUsdNano));
  return Object.fromEntries([...sums].map(([model, sum]) => [model, Number(sum)]));
}

describe('models of which the first does not answer in time', () => {
  const models = { model: 'openai/slow-model', models: ['openai/cheap-model'], max_tokens: 1_000 };
  const onlyCheap = (_url: string, { model }: Record<string, unknown>) =>
    model === 'cheap-model' ? Response.json(completion(model)) : silent();

  test('are both charged: the first by estimate at its own model', async () => {
    await price('slow-model', 'cheap-model');
    vendor.answers = onlyCheap;
    const { response, callId, rest } = await ask(tenant.key, models, IMPATIENT);
    expect(response.status).toBe(200);
    await rest();
    const { costUsdNano, usageSource, modelUsed } = await read(callId);
    expect([modelUsed, usageSource]).toEqual(['cheap-model', 'partial']);
    const lines = await costLines(callId);
    // 10 tokens of input, and 4 of output.
    expect(lines['']).toBe(10 * 1_000 + 4 * 2_000);
    // At least the output of a third of a second, and at most the thousand tokens of its bound.
    expect(lines['slow-model']).toBeGreaterThanOrEqual(150 * 1_000_000);
    expect(lines['slow-model']).toBeLessThanOrEqual(1_400 * 1_000_000);
    expect(Number(costUsdNano)).toBe(Object.values(lines).reduce((sum, line) => sum + line, 0));
    expect(response.headers.get('x-service-cost-usd')).toBe(String(Number(costUsdNano) / 1e9));
    const recorded = await readStoredCall(tenant, callId);
    const [, slow] = recorded?.outcome?.parts ?? [];
    expect(recorded?.outcome?.usage.responseTokens).toBe(4 + Number(slow?.usage.responseTokens));
    expect(recorded?.outcome?.parts).toMatchObject([
      { modelUsed: 'cheap-model', usage: { responseTokens: 4 }, tier: 'standard' },
      { modelUsed: 'slow-model', usageSource: 'estimated', tier: 'premium' },
    ]);
  });

  test('are both charged if the second streams', async () => {
    await price('slow-model', 'cheap-model');
    const chunk = { ...completion('cheap-model'), object: 'chat.completion.chunk', choices: [] };
    const events = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
    vendor.answers = (_url, { model }) =>
      model === 'cheap-model' ? new Response(events, { headers: { 'content-type': 'text/event-stream' } }) : silent();
    const stream = { ...models, stream: true, stream_options: { include_usage: true } };
    const { response, callId, rest } = await ask(tenant.key, stream, IMPATIENT);
    const text = await response.text();
    expect(text, 'the cost of the first is not known yet').not.toContain('cost_usd');
    await rest();
    expect(await costLines(callId)).toMatchObject({ '': 18_000, 'slow-model': expect.any(Number) });
  });

  test('are one call with two parts if neither answers', async () => {
    await price('slow-model', 'cheap-model');
    vendor.answers = silent;
    const { response, callId, rest } = await ask(tenant.key, models, IMPATIENT);
    expect(response.status).toBe(504);
    await rest();
    const lines = await costLines(callId);
    expect(lines['']).toBeGreaterThanOrEqual(150 * 2_000);
    expect(lines['slow-model']).toBeGreaterThanOrEqual(150 * 1_000_000);
  });

  test('are charged for the first alone if the second refuses', async () => {
    await price('slow-model', 'cheap-model');
    vendor.answers = (_url, { model }) => (model === 'cheap-model' ? new Response('{}', { status: 400 }) : silent());
    const { callId, rest } = await ask(tenant.key, models, IMPATIENT);
    await rest();
    const { modelUsed, costUsdNano } = await read(callId);
    expect([modelUsed, Object.keys(await costLines(callId))]).toEqual(['slow-model', ['']]);
    expect(Number(costUsdNano)).toBeGreaterThanOrEqual(150 * 1_000_000);
  });

  test('have no price until both have one; then the call is repriced, whichever model the job is for', async () => {
    await price('cheap-model');
    vendor.answers = onlyCheap;
    const { callId, rest } = await ask(tenant.key, models, IMPATIENT);
    await rest();
    expect(await read(callId)).toMatchObject({
      pricingStatus: 'UNAVAILABLE',
      pricingUnavailableReason: 'MODEL_NOT_IN_CATALOG',
    });
    await deliverToD1(tenant.organizationId, 'default');
    expect(await reprice({})).toMatchObject({ total: 1, repriced: 0 });
    await price('slow-model');
    expect(await reprice({ modelKey: 'slow-model', dryRun: true })).toMatchObject({ total: 1, repriced: 1 });
    expect(await reprice({ modelKey: 'another-model' })).toMatchObject({ total: 0 });
    const { repriced, differenceNanoUsd } = await reprice({ modelKey: 'slow-model' });
    const { costUsdNano } = await read(callId);
    expect([repriced, differenceNanoUsd]).toEqual([1, costUsdNano]);
    expect(await costLines(callId)).toMatchObject({ '': 18_000, 'slow-model': expect.any(Number) });
    const recorded = await readStoredCall(tenant, callId);
    expect(recorded?.outcome?.parts).toMatchObject([{ modelUsed: 'cheap-model' }, { modelUsed: 'slow-model' }]);
  });

  test('an amendment replaces the figures of the answer; the other part stays until it is named', async () => {
    await price('slow-model', 'cheap-model');
    vendor.answers = onlyCheap;
    const { callId, rest } = await ask(tenant.key, models, IMPATIENT);
    await rest();
    const before = await costLines(callId);
    const amend = (more: object) =>
      tenant.api.send('amendCall', {
        params: { callId },
        body: { reason: 'the figures came', modelUsed: 'cheap-model', inputTokens: 20, responseTokens: 8, ...more },
      });
    expect((await amend({})).status).toBe(200);
    expect(await costLines(callId)).toEqual({ ...before, '': 36_000 });
    const slow = { modelUsed: 'slow-model', inputTokens: 10, responseTokens: 3 };
    expect((await amend({ parts: [slow] })).status).toBe(200);
    expect(await costLines(callId)).toEqual({ '': 36_000, 'slow-model': 10 * 100_000 + 3 * 1_000_000 });
    expect((await amend({ parts: [] })).status).toBe(200);
    expect(await costLines(callId)).toEqual({ '': 36_000 });
  });
});

const run = (type: string, input_tokens: number, output_tokens: number, model?: string) => ({
  ...{ type, input_tokens, output_tokens, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
  ...(model !== undefined && { model }),
});
const text = { type: 'text', text: 'Yes.' };
const declined = {
  ...{ type: 'fallback', from: { model: 'claude-fable-5' }, to: { model: 'claude-opus-4-8' } },
  trigger: { type: 'refusal', category: 'cyber' },
};
const ADVISED = {
  asked: 'claude-haiku-5-5',
  model: 'claude-haiku-5-5',
  content: [text],
  usage: {
    ...run('', 100, 20),
    iterations: [run('message', 100, 5), run('advisor_message', 200, 1_000, 'claude-fable-5'), run('message', 300, 15)],
  },
  lines: { '': 400 * 1_000 + 20 * 5_000, 'anthropic/claude-fable-5': 200 * 100_000 + 1_000 * 500_000 },
  output: 1_020,
};
const DECLINED = {
  asked: 'claude-fable-5',
  model: 'claude-opus-4-8',
  content: [text, declined, text],
  usage: {
    ...run('', 50, 40),
    iterations: [run('message', 50, 30, 'claude-fable-5'), run('fallback_message', 50, 40, 'claude-opus-4-8')],
  },
  lines: { '': 50 * 10_000 + 40 * 50_000, 'anthropic/claude-fable-5': 50 * 100_000 + 30 * 500_000 },
  output: 70,
};
const message = ({ model, content, usage }: typeof ADVISED | typeof DECLINED) => ({
  ...{ id: 'm', type: 'message', role: 'assistant', model, content, stop_reason: 'end_turn', usage },
});
function eventStream({ asked, content, usage }: typeof ADVISED | typeof DECLINED): Response {
  const events = [
    {
      type: 'message_start',
      message: { id: 'm', type: 'message', role: 'assistant', model: asked, content: [], usage: run('', 50, 1) },
    },
    ...content.flatMap((content_block, index) => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  ];
  const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

describe.each([
  ['an advisor', ADVISED],
  ['a model that declined', DECLINED],
])('%s', (_name, example) => {
  const request = { model: example.asked, max_tokens: 2_000 };
  beforeEach(() => price('claude-haiku-5-5', 'claude-fable-5', 'claude-opus-4-8'));

  async function expectCharged(callId: string) {
    expect(await costLines(callId)).toEqual(example.lines);
    expect(await read(callId)).toMatchObject({ modelUsed: example.model, usageSource: 'reported' });
    expect((await readStoredCall(tenant, callId))?.outcome?.usage.responseTokens).toBe(example.output);
  }

  test('is charged at its own model, whole', async () => {
    vendor.answers = () => Response.json(message(example));
    const { response, callId, rest } = await ask(tenant.key, request, bindings, '/v1/messages');
    expect(response.status).toBe(200);
    await rest();
    await expectCharged(callId);
  });

  test('is charged at its own model, streamed', async () => {
    vendor.answers = () => eventStream(example);
    const { response, callId, rest } = await ask(tenant.key, { ...request, stream: true }, bindings, '/v1/messages');
    await response.text();
    await rest();
    await expectCharged(callId);
  });

  test('is charged at its own model in a chat that is asked as messages, and counts in the cost that the stream tells', async () => {
    vendor.answers = () => eventStream(example);
    const chat = { ...request, stream: true, stream_options: { include_usage: true } };
    const { response, callId, rest } = await ask(tenant.key, { ...chat, model: `anthropic/${example.asked}` });
    const sum = Object.values(example.lines).reduce((total, line) => total + line, 0);
    expect(await response.text()).toContain(`"cost_usd":${sum / 1e9}`);
    await rest();
    await expectCharged(callId);
  });

  test('is charged at its own model by a unified call', async () => {
    vendor.answers = () => Response.json(message(example));
    const { data } = await tenant.api.send('makeCall', {
      body: {
        customerId: 'default',
        requested: {},
        vendor: {
          url: 'https://claude.example.com/v1/messages',
          body: { ...request, messages: [{ role: 'user', content: 'x' }] },
        },
      },
    });
    await expectCharged(data.begin.callId);
  });
});

test('an application reports the parts of its own call, and each is priced', async () => {
  await price('claude-haiku-5-5', 'claude-fable-5');
  const begin = await tenant.api.send('beginCall', { body: { customerId: 'default', feature: 'own' } });
  const { callId } = begin.data;
  const advisor = { modelUsed: 'claude-fable-5', inputTokens: 200, responseTokens: 1_000 };
  const { data } = await tenant.api.send('endCall', {
    body: { callId, modelUsed: 'claude-haiku-5-5', inputTokens: 400, responseTokens: 20, parts: [advisor] },
  });
  expect(await costLines(callId)).toEqual(ADVISED.lines);
  expect([data.usage.responseTokens, data.metered?.tokens, data.usageSource]).toEqual([1_020, 1_020, 'reported']);
  const parts = [{ ...advisor, cachedInputTokens: 201 }];
  const refused = await tenant.api.send('endCall', { body: { callId, parts } });
  expect(refused.refusal).toMatchObject({ code: 'BAD_REQUEST', details: [{ path: 'parts.0.cachedInputTokens' }] });
});

async function reprice(body: object): Promise<Repricing> {
  const params = { org: tenant.organizationId };
  const around = {
    from: new Date(Date.now() - HOUR).toISOString(),
    to: new Date(Date.now() + HOUR).toISOString(),
  };
  const { jobId } = (await operator.send('startRepricing', { params, body: { ...around, ...body } })).data;
  for (let round = 0; round < 10; round += 1) {
    const { data } = await operator.send('readRepricing', { params: { ...params, jobId } });
    if (data.status === 'COMPLETED') return data;
    await runDurableObjectAlarm(bindings.REPRICINGS.getByName(jobId));
    await evictDurableObject(bindings.REPRICINGS.getByName(jobId));
  }
  throw new Error('the job did not end');
}
