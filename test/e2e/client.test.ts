/**
 * The client library with the results of `npm start`, the demo organization and the vendor for trying out: the examples
 * run, and a broken connection never counts a call twice. Among the files on the shared server, this one has the demo
 * organization.
 */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEMO_ORGANIZATION_ID, ensureDemoVendors } from '../../src/cli/demo-organization.ts';
import { readDevVars } from '../../src/cli/dev-vars.ts';
import { PROJECT_DIR } from '../../src/cli/server.ts';
import { startTrialVendor, type TrialVendor } from '../../src/cli/vendor/server.ts';
import { compressPrompt } from '../../src/client/compression.ts';
import { createClient } from '../../src/client/index.ts';
import { createSampler } from '../../src/client/sampling.ts';
import { CallDeniedError, modelByTier, wrapAnthropic, wrapGoogle, wrapOpenAI } from '../../src/client/vendors.ts';
import { type Loopback, serveOnLoopback } from '../vendors/loopback.ts';
import { type FakeVendor, startVendor } from '../vendors/vendor.ts';
import { until } from './local-server.ts';
import { type SharedServer, sharedServer } from './shared-servers.ts';

const EXAMPLES = 'src/client/examples';

let server: SharedServer;
let vendor: FakeVendor;
let trial: TrialVendor;
let apiKey: string;
beforeAll(async () => {
  [server, vendor, trial] = await Promise.all([sharedServer(), startVendor(), startTrialVendor({ port: 0 })]);
  const { OPERATOR_TOKEN = '', DEMO_API_KEY = '' } = await readDevVars();
  await ensureDemoVendors(server.url, OPERATOR_TOKEN, trial.url);
  apiKey = DEMO_API_KEY;
});
afterAll(() => Promise.all([vendor.close(), trial.stop()]));

/** Like a newcomer: with only the results of `npm start`, and without a vendor key. */
function example(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(OPENAI|ANTHROPIC|GEMINI|GOOGLE|CALLMETER)_/.test(name),
  );
  const ports = { PORT: new URL(server.url).port, VENDOR_PORT: new URL(trial.url).port };
  const options = { cwd: PROJECT_DIR, env: { ...Object.fromEntries(inherited), ...ports } };
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
    openai: /^gpt-6-(sol|luna): This answer is made up: [\s\S]*^This answer is made up: /m,
    anthropic: /^claude-haiku-5-5: \d+ tokens\nit begins with This$/m,
    google: /^This answer is made up: .* \(\d+ tokens\)\nThis answer is made up: /m,
    fetch: /^2 vectors for \d+ tokens$/m,
    hono: /^This answer is made up: .* \(COMPLETED, \$0\.\d+\)$/m,
    express: /^\{"answer":"This answer is made up: /m,
    sampling: /^chat-1: (NOT_)?SELECTED/m,
    compression: /^\d+ tokens became \d+, by json/m,
    'look-up': /^openai\/gpt-4o: (ACTIVE|DEPRECATED|RETIRED), (KEEP|REPLACE|REVIEW)/m,
    'with-call': /^the model's own error: the prompt is empty$/m,
  };
  const names = readdirSync(join(PROJECT_DIR, EXAMPLES)).map((file) => file.replace(/\.ts$/, ''));

  test('every example is tested', () => {
    expect(Object.keys(PRINTED).toSorted()).toEqual(
      names.filter((name) => name !== 'run' && name !== 'target').toSorted(),
    );
  });

  test.each(Object.entries(PRINTED))('%s', async (name, line) => {
    const { code, out, err } = await example(name);
    expect([err, code]).toEqual(['', 0]);
    expect(out).toMatch(line);
    expect(out).not.toContain('undefined');
  });

  test('--help lists them, and an unknown name is an error', async () => {
    const { out } = await example('--help');
    for (const name of Object.keys(PRINTED)) expect(out).toMatch(new RegExp(`^  ${name} +[A-Z]`, 'm'));
    expect(await example('nothing')).toMatchObject({ code: 2, err: expect.stringContaining('begin-end') });
  });
});

describe("the vendors' SDKs, wrapped", () => {
  const content = 'say hello [reply:6] [reasoning:4] [cached:2] [written:1]';
  const messages = [{ role: 'user' as const, content }];

  test('the service records what the vendors reported, plain and streamed', async () => {
    const callmeter = createClient({ apiKey, baseUrl: server.url });
    const options = { callmeter, customerId: 'sdks', feature: 'chat', requested: { premium: true, standard: true } };
    const openai = wrapOpenAI(new OpenAI({ apiKey: 'sk-test', baseURL: `${vendor.url}/v1` }), options);
    const anthropic = wrapAnthropic(new Anthropic({ apiKey: 'sk-ant-test', baseURL: vendor.url }), options);
    const google = wrapGoogle(new GoogleGenAI({ apiKey: 'AIza-test', httpOptions: { baseUrl: vendor.url } }), options);
    const reported = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };
    const count = (inputTokens = 0, cachedInputTokens = 0, outputTokens = 0, reasoningTokens = 0) => {
      const figures = { inputTokens, cachedInputTokens, outputTokens, reasoningTokens };
      for (const name of Object.keys(figures) as (keyof typeof figures)[]) reported[name] += figures[name];
    };

    const chat = { model: 'gpt-4o', messages };
    const included = { ...chat, stream: true as const, stream_options: { include_usage: true } };
    for (const usage of [
      (await openai.chat.completions.create(chat)).usage,
      (await Array.fromAsync(await openai.chat.completions.create(included))).at(-1)?.usage,
    ])
      count(
        usage?.prompt_tokens,
        usage?.prompt_tokens_details?.cached_tokens,
        usage?.completion_tokens,
        usage?.completion_tokens_details?.reasoning_tokens,
      );
    const responses = { model: 'gpt-4o', input: content };
    for (const { usage } of [
      await openai.responses.create(responses),
      await openai.responses.stream(responses).finalResponse(),
    ])
      count(
        usage?.input_tokens,
        usage?.input_tokens_details.cached_tokens,
        usage?.output_tokens,
        usage?.output_tokens_details.reasoning_tokens,
      );
    const message = { model: 'claude-sonnet-4-5', max_tokens: 100, messages };
    for (const { usage } of [
      await anthropic.messages.create(message),
      await anthropic.messages.stream(message).finalMessage(),
    ]) {
      const cached = usage.cache_read_input_tokens ?? 0;
      const input = usage.input_tokens + cached + (usage.cache_creation_input_tokens ?? 0);
      count(input, cached, usage.output_tokens, usage.output_tokens_details?.thinking_tokens);
    }
    const request = { model: 'gemini-2.5-pro', contents: content };
    for (const answer of [
      await google.models.generateContent(request),
      (await Array.fromAsync(await google.models.generateContentStream(request))).at(-1),
    ]) {
      const usage = answer?.usageMetadata;
      const thoughts = usage?.thoughtsTokenCount ?? 0;
      count(
        usage?.promptTokenCount,
        usage?.cachedContentTokenCount,
        (usage?.candidatesTokenCount ?? 0) + thoughts,
        thoughts,
      );
    }

    const summary = async () => (await callmeter.readUsageSummary({ customerId: 'sdks' })).totals;
    await until(async () => (await summary()).calls === 8);
    expect(await summary()).toMatchObject({ ...reported, calls: 8, unpricedCalls: 0 });
    expect(reported.outputTokens).toBeGreaterThan(0);
    const { meters } = await callmeter.readUsage({ customerId: 'sdks' });
    expect((meters.premiumTokens?.used ?? 0) + (meters.standardTokens?.used ?? 0)).toBe(reported.outputTokens);
  });

  test('the premium model runs until its allowance is used up, and then the one of the standard tier', async () => {
    const callmeter = createClient({ apiKey, baseUrl: server.url });
    const plan = { name: 'Wrapped', limitType: 'DOWNGRADE', limits: { premiumCalls: 2, standardCalls: 1 } };
    expect(
      (await server.operator.send('putPlan', { params: { org: DEMO_ORGANIZATION_ID, planId: 'wrapped' }, body: plan }))
        .status,
    ).toBe(200);
    await callmeter.provisionCustomer({ customerId: 'tiers' });
    await callmeter.changePlan({ customerId: 'tiers', planId: 'wrapped' });
    const told: string[] = [];
    const own = new OpenAI({ apiKey: 'sk-test', baseURL: `${vendor.url}/v1` });
    const onDowngrade = ({ reason }: { reason: string | undefined }) => {
      told.push(String(reason));
      return undefined;
    };
    const openai = wrapOpenAI(own, { callmeter, customerId: 'tiers', onDowngrade });
    const model = modelByTier({ premium: 'gpt-4o', standard: 'gpt-4o-mini' });
    const ran: string[] = [];
    for (let count = 0; count < 3; count += 1)
      ran.push((await openai.chat.completions.create({ model, messages })).model);
    expect(ran).toEqual(['gpt-4o', 'gpt-4o', 'gpt-4o-mini']);
    expect(told).toEqual(['PREMIUM_QUOTA_EXHAUSTED']);
    await expect(openai.chat.completions.create({ model, messages })).rejects.toBeInstanceOf(CallDeniedError);
  });

  test("a plan's rolling limit denies at once, and is waited for if the client may", async () => {
    const callmeter = createClient({ apiKey, baseUrl: server.url });
    const plan = { name: 'Slow', limitType: 'NONE', rollingCalls: { limit: 1, windowSeconds: 2 } };
    const params = { org: DEMO_ORGANIZATION_ID, planId: 'slow' };
    expect((await server.operator.send('putPlan', { params, body: plan })).status).toBe(200);
    await callmeter.provisionCustomer({ customerId: 'slow' });
    await callmeter.changePlan({ customerId: 'slow', planId: 'slow' });
    await callmeter.beginCall({ customerId: 'slow' });
    const denied: unknown = await callmeter.beginCall({ customerId: 'slow' }).catch((error: unknown) => error);
    expect(denied).toBeInstanceOf(CallDeniedError);
    expect(denied).toMatchObject({ code: 'SERVICE_RATE_LIMITED', retryable: true, callId: null });
    expect((denied as CallDeniedError).retryAfterSeconds).toBeLessThanOrEqual(2);
    const waited = await callmeter.beginCall({ customerId: 'slow' }, { rollingWaitMs: 10_000 });
    expect(waited.allowed.standard).toBe(true);
  });
});

describe('sampling and compression', () => {
  test('a call that the policy selects is stored, and its savings are recorded', async () => {
    const callmeter = createClient({ apiKey, baseUrl: server.url });
    const policy = { rate: 1, features: { include: [], exclude: ['private'] } };
    expect(
      (await server.operator.send('setSampling', { params: { org: DEMO_ORGANIZATION_ID }, body: policy })).status,
    ).toBe(200);
    const sampler = createSampler(callmeter);
    const sample = { provider: 'openai', input: 'What is the capital of France?', output: 'Paris' };
    const outcome = await sampler.offer({ ...sample, customerId: 'alice', feature: 'chat', samplingKey: 'kept-1' });
    expect(outcome).toMatchObject({
      decision: { sample: true, reason: 'SELECTED' },
      stored: { sampleId: expect.any(String) },
      error: null,
    });
    const { settingsExpiresAt: _local, ...local } = outcome.decision as { settingsExpiresAt?: string };
    expect(
      await callmeter.decideSampling({ customerId: 'alice', feature: 'chat', samplingKey: 'kept-1' }),
    ).toMatchObject(local);
    expect((await sampler.decide({ feature: 'private' })).reason).toBe('FEATURE_EXCLUDED');

    const outcomeOfCall = await callmeter.withCall({ customerId: 'alice' }, async (call) => {
      const { recorded, originalTokens } = await compressPrompt(callmeter, {
        callId: call.callId,
        prompt: 'Please note    that it rains.',
      });
      expect(recorded).toMatchObject({ callId: call.callId, updated: true, originalTokens });
    });
    expect(outcomeOfCall).toMatchObject({ denied: false, endError: null });
  });
});

describe('through a connection that breaks after the service has answered', () => {
  let proxy: Loopback;
  /** The number of the next answers that are lost. */
  let lost = 0;
  beforeAll(async () => {
    proxy = await serveOnLoopback(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => !/^(host|connection|content-length)$/.test(name)),
      );
      const init = {
        method: request.method ?? 'GET',
        headers: headers as Record<string, string>,
        ...(body !== '' && { body }),
      };
      const answer = await fetch(server.url + request.url, init);
      const text = await answer.text();
      if (lost-- > 0) response.socket?.resetAndDestroy();
      else response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? '' }).end(text);
    });
  });
  afterAll(() => proxy.close());

  test('a call is begun once and counted once', async () => {
    const callmeter = createClient({ apiKey, baseUrl: proxy.url, retry: { baseDelayMs: 1 } });
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
    expect((await callmeter.readUsage({ customerId })).meters).toMatchObject({
      premiumCalls: { used: 1 },
      premiumTokens: { used: 100 },
    });
    expect(await callmeter.readCall({ callId: outcome.begun.callId })).toMatchObject({
      status: 'COMPLETED',
      customerId,
    });
  });

  test('a failed call is recorded as FAILED, and its customer can change plan', async () => {
    const callmeter = createClient({ apiKey, baseUrl: proxy.url, retry: { baseDelayMs: 1 } });
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

  test("an error contains the service's message", async () => {
    const callmeter = createClient({ apiKey, baseUrl: proxy.url });
    await expect(callmeter.readCall({ callId: 'nowhere' })).rejects.toMatchObject({
      code: 'SERVICE_BAD_REQUEST',
      responseStatus: 404,
      details: { code: 'CALL_NOT_FOUND' },
    });
    await expect(callmeter.beginCall({ customerId: 'x'.repeat(256) })).rejects.toMatchObject({
      details: { details: [{ path: 'customerId' }] },
    });
    const stranger = createClient({ apiKey: `utk-${'x'.repeat(43)}`, baseUrl: proxy.url });
    await expect(stranger.listCustomers()).rejects.toMatchObject({ code: 'SERVICE_AUTH_ERROR', responseStatus: 401 });
  });
});
