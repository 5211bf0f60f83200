/**
 * Promise: whatever a vendor or a caller does, the call ends with the vendor's own usage and the right status, and no
 * reservation remains.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { APIError } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayError } from '../../src/contract/gateway/answers.ts';
import { countWords, type Fault } from '../vendors/vendor.ts';
import { type GatewayTenant, gatewayOn, type Setting, SHORT_TIMES, startGateway } from './gateway-tenant.ts';
import { sharedServer } from './shared-servers.ts';

let setting: Setting;
let tenant: GatewayTenant;
/** The setting whose server waits only briefly. */
let brief: Setting;
let briefTenant: GatewayTenant;
beforeAll(async () => {
  [setting, brief] = await Promise.all([startGateway(), sharedServer(SHORT_TIMES).then(gatewayOn)]);
  [tenant, briefTenant] = await Promise.all([setting.tenant(PLAN), brief.tenant(PLAN)]);
});
afterAll(() => Promise.all([setting.stop(), brief.stop()]));

const PLAN = {
  name: 'P',
  limitType: 'BLOCK',
  limits: { premiumCalls: 1_000, premiumTokens: 100_000_000 },
  reserveOutputTokens: 50,
};
/** The tenant of the server for a fault. */
const tenantFor = (fault: string) => (fault === 'hang' || fault === 'silent' ? briefTenant : tenant);

const REPLY = 'héllo 世界 👋🏽 wörld';
const failingPrompt = (fault: string) => `say it [fail:${fault}]`;
const PROMPT_TOKENS = countWords(failingPrompt('x'));
/** GPT-5.2: 1.75 in and 14 out, in USD per million; four words come out. */
const COST = (PROMPT_TOKENS * 1.75 + 4 * 14) / 1e6;

let customers = 0;
interface Outcome {
  http: number;
  text: string;
  broke: boolean;
  call: { status: string; costUSD?: unknown; pricingStatus?: unknown; pricingUnavailableReason?: unknown };
  used: { calls: number; tokens: number };
  headers: Headers;
}

/** One call of a fresh customer, met by a fault; and its result after nothing is open any more. */
async function meet(fault: Fault, body: object, path = '/v1/chat/completions'): Promise<Outcome> {
  const customer = `hostile-${customers++}`;
  const prompt = failingPrompt(fault);
  const question = path.endsWith('responses') ? { input: prompt } : { messages: [{ role: 'user', content: prompt }] };
  const request = { model: 'gpt-5.2', customer, ...question, ...body };
  const met = tenantFor(fault);
  const response = await met.send(path, { body: request });
  let text = '';
  let broke = false;
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
      text += decoder.decode(chunk, { stream: true });
  } catch {
    broke = true;
  }
  const { meters, openCalls, wallet } = await met.settled(customer);
  expect([openCalls, wallet.heldUsd]).toEqual([0, '0']);
  const call = await met.call(response.headers.get('x-service-call-id') ?? '');
  const used = { calls: meters.premiumCalls?.used ?? 0, tokens: meters.premiumTokens?.used ?? 0 };
  return { http: response.status, text, broke, call, used, headers: response.headers };
}

/** The words that a stream of chat chunks said. */
function said(text: string): string {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)).choices?.[0]?.delta?.content ?? '')
    .join('');
}

const COMPLETED = { status: 'COMPLETED', costUSD: COST };
const UNKNOWN = { costUSD: null, pricingStatus: 'UNAVAILABLE', pricingUnavailableReason: 'USAGE_NOT_REPORTED' };
/** A lost answer is estimated: the prompt and the text that arrived, or the usual output of the model. */
const ESTIMATED = { status: 'FAILED', costUSD: expect.any(Number), pricingStatus: 'FINAL', usageSource: 'estimated' };
const SOME = { calls: 1, tokens: expect.any(Number) };
const NOTHING = { calls: 0, tokens: 0 };
const ONE = { calls: 1, tokens: 4 };

describe('a whole answer', () => {
  test.each<[Fault, number, object, object]>([
    ['400', 400, { status: 'FAILED', costUSD: 0 }, NOTHING],
    ['429', 429, { status: 'FAILED', costUSD: 0 }, NOTHING],
    ['500', 500, { status: 'FAILED', costUSD: 0 }, NOTHING],
    ['503', 503, { status: 'FAILED', costUSD: 0 }, NOTHING],
    ['cut-first', 502, { status: 'FAILED', costUSD: 0 }, NOTHING],
    // The vendor had begun to answer, or may have worked in silence.
    ['cut', 502, ESTIMATED, SOME],
    ['hang', 504, ESTIMATED, SOME],
    ['html', 502, ESTIMATED, SOME],
    ['redirect', 502, { status: 'FAILED', costUSD: 0 }, NOTHING],
    ['shape', 200, { status: 'COMPLETED', ...UNKNOWN }, { calls: 1, tokens: 0 }],
    ['no-usage', 200, { status: 'COMPLETED', ...UNKNOWN }, { calls: 1, tokens: 0 }],
    ['zero-usage', 200, { status: 'COMPLETED', costUSD: 0 }, { calls: 1, tokens: 0 }],
    ['slow', 200, COMPLETED, ONE],
    // Larger than any answer that is held.
    ['big', 200, { status: 'COMPLETED', usageSource: 'reported' }, SOME],
  ])('%s is %i', async (fault, http, call, used) => {
    const outcome = await meet(fault, {});
    expect(outcome).toMatchObject({ http, call, used });
    if (http !== 200) expect(GatewayError.safeParse(JSON.parse(outcome.text)).success).toBe(true);
  });
});

describe('a stream', () => {
  test.each<[Fault, number, object, object]>([
    ['400', 400, { status: 'FAILED', costUSD: 0 }, NOTHING],
    ['429', 429, { status: 'FAILED', costUSD: 0 }, NOTHING],
    ['cut-first', 502, { status: 'FAILED', costUSD: 0 }, NOTHING],
    ['hang', 504, ESTIMATED, SOME],
    ['html', 502, ESTIMATED, SOME],
    ['shape', 200, { status: 'COMPLETED', ...UNKNOWN }, { calls: 1, tokens: 0 }],
    ['cut', 200, ESTIMATED, SOME],
    ['end-early', 200, ESTIMATED, SOME],
    ['silent', 200, ESTIMATED, SOME],
    ['stream-error', 200, ESTIMATED, SOME],
    ['no-usage', 200, { status: 'COMPLETED', ...UNKNOWN }, { calls: 1, tokens: 0 }],
    ['zero-usage', 200, { status: 'COMPLETED', costUSD: 0 }, { calls: 1, tokens: 0 }],
    ['usage-in-choices', 200, COMPLETED, ONE],
    ['split', 200, COMPLETED, ONE],
    ['slow', 200, COMPLETED, ONE],
  ])('%s is %i', async (fault, http, call, used) => {
    const outcome = await meet(fault, { stream: true });
    expect(outcome).toMatchObject({ http, call, used });
    if (call === COMPLETED || fault.endsWith('usage')) expect(said(outcome.text)).toBe(REPLY);
    // The caller sees that it did not end well.
    const code = { cut: 'VENDOR_STREAM_CUT', 'end-early': 'VENDOR_STREAM_CUT', silent: 'VENDOR_TIMEOUT' }[
      fault as string
    ];
    const [end = ''] = outcome.text.split('\n\n').slice(-2);
    if (code) expect(JSON.parse(end.slice('data: '.length))).toMatchObject({ error: { code, type: 'server_error' } });
    expect(outcome.broke).toBe(false);
    // Usage beside choices is the vendor's own; only usage that the gateway asked for is removed.
    if (fault !== 'usage-in-choices') expect(outcome.text).not.toMatch(/"usage":\{/);
  });

  test('of 20 MB passes completely, with its usage', async () => {
    const outcome = await meet('big', { stream: true });
    expect(outcome).toMatchObject({ http: 200, call: { status: 'COMPLETED' }, used: { calls: 1, tokens: 20 * 1024 } });
    expect(said(outcome.text).length).toBe(20 * 1024 * 1024);
  });

  test.each<[Fault]>([['split'], ['usage-in-choices']])(
    'with usage asked for, %s: the chunk that has it says the cost',
    async (fault) => {
      const { text } = await meet(fault, { stream: true, stream_options: { include_usage: true } });
      const [usage, ...others] = text.split('\n').filter((line) => /"usage":\{/.test(line));
      expect([JSON.parse((usage ?? '').slice(6)).usage.cost_usd, others]).toEqual([COST, []]);
    },
  );

  test.each<[Fault, object]>([
    ['cut', ESTIMATED],
    ['stream-error', ESTIMATED],
    ['split', COMPLETED],
    ['no-usage', { status: 'COMPLETED', ...UNKNOWN }],
  ])('of responses, %s', async (fault, call) => {
    expect(await meet(fault, { stream: true }, '/v1/responses')).toMatchObject({ http: 200, broke: false, call });
  });

  test.each<[Fault, string]>([
    ['cut', 'VENDOR_STREAM_CUT'],
    ['end-early', 'VENDOR_STREAM_CUT'],
    ['silent', 'VENDOR_TIMEOUT'],
  ])('that breaks (%s) ends with an error that the SDK throws, and nothing is uncaught', async (fault, code) => {
    const { server } = fault === 'silent' ? brief : setting;
    const { openai } = tenantFor(fault);
    const [content, before] = [`x [fail:${fault}] [reply:8]`, (await server.output()).length];
    const chat = async () => {
      const messages = [{ role: 'user' as const, content }];
      const stream = await openai.chat.completions.create({ model: 'gpt-5.2', messages, stream: true });
      for await (const chunk of stream) expect(chunk.choices).toHaveLength(1);
    };
    const responses = async () => {
      const stream = await openai.responses.create({ model: 'gpt-5.2', input: content, stream: true });
      for await (const event of stream) expect(event.sequence_number).toEqual(expect.any(Number));
    };
    for (const ask of [chat, responses]) {
      const error = await ask().then(
        () => null,
        (thrown) => thrown,
      );
      expect(error).toBeInstanceOf(APIError);
      expect(error.code).toBe(code);
    }
    expect((await server.output()).slice(before)).not.toMatch(/uncaught|broke off/i);
  });
});

test("a vendor's reason is passed on, and the key is not", async () => {
  const { text } = await meet('400', {});
  expect(GatewayError.parse(JSON.parse(text)).error).toMatchObject({
    message: 'The request is not valid',
    type: 'invalid_request_error',
  });
  const stranger = await setting.tenant();
  const params = { org: stranger.organizationId, provider: 'acme' };
  await setting.server.operator.send('setVendor', {
    params,
    body: { apiKey: 'sk-nobody', baseUrl: 'http://127.0.0.1:1/v1' },
  });
  const response = await stranger.send('/v1/chat/completions', {
    body: { model: 'acme/x', messages: [{ role: 'user', content: 'x' }] },
  });
  const answer = await response.text();
  expect([response.status, GatewayError.parse(JSON.parse(answer)).error.code]).toEqual([502, 'VENDOR_UNREACHABLE']);
  expect(answer).not.toContain('sk-nobody');
});

describe('a caller that leaves', () => {
  type Answer = Promise<Response>;
  const soon = () => sleep(30);
  const begun = (answer: Answer) => answer;
  const afterChunks = (count: number) => async (answer: Answer) => {
    const reader = (await answer).body?.getReader();
    for (let chunk = 0; chunk < count; chunk += 1) await reader?.read();
  };
  const words = (prompt: string) => ({ messages: [{ role: 'user', content: prompt }] });
  /** Asks, and leaves when the stay is over. */
  const leaveAfter = async (
    customer: string,
    prompt: string,
    {
      stream,
      stay,
      from = tenant,
    }: { stream: boolean; stay: (answer: Answer) => Promise<unknown>; from?: GatewayTenant },
  ) => {
    const controller = new AbortController();
    const body = { model: 'gpt-5.2', customer, stream, ...words(prompt) };
    const response = from.send('/v1/chat/completions', { body, signal: controller.signal });
    await stay(response).catch(() => undefined);
    controller.abort();
    await response.then((answered) => answered.text()).catch(() => undefined);
    return from.settled(customer);
  };

  test.each([
    ['before a whole answer', { stream: false, stay: soon }, 'x [fail:slow] [reply:9]', 9],
    ['before the first byte of a stream', { stream: true, stay: soon }, 'x [fail:slow] [reply:9]', 9],
    ['between the headers and the first byte', { stream: true, stay: begun }, 'x [fail:slow] [reply:9]', 9],
    ['in the middle of a stream', { stream: true, stay: afterChunks(5) }, 'x [fail:slow] [reply:20]', 20],
    ['in the middle of 20 MB', { stream: true, stay: afterChunks(1) }, 'x [fail:big]', 20 * 1024],
  ])('%s: the answer is read to its end, and the call is recorded', async (moment, left, prompt, tokens) => {
    const { recentCalls, meters } = await leaveAfter(`left ${moment}`, prompt, left);
    expect(recentCalls).toMatchObject([{ status: 'COMPLETED' }]);
    expect(meters.premiumTokens?.used).toBe(tokens);
  });

  test('while its request runs the commands of others: they are answered, and all are recorded', async () => {
    const customer = 'left-among-others';
    const rounds = 6;
    const callers = Array.from({ length: 12 }, async (_, caller) => {
      const answered: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        // A third of them leaves, each after another while: before, while or after the call is opened or finished.
        const signal = caller % 3 === 0 ? AbortSignal.timeout(1 + ((caller + 5 * round) % 18)) : undefined;
        const body = { model: 'gpt-5.2', customer, ...words('x [reply:2]') };
        const response = await tenant
          .send('/v1/chat/completions', { body, ...(signal && { signal }) })
          .catch(() => null);
        if (!signal) answered.push(response?.status ?? 0);
        await response?.text().catch(() => undefined);
      }
      return answered;
    });
    const statuses = (await Promise.all(callers)).flat();
    expect(statuses).toEqual(Array(8 * rounds).fill(200));
    const { meters, openCalls } = await tenant.settled(customer);
    expect(openCalls).toBe(0);
    const calls = meters.premiumCalls?.used ?? 0;
    expect(calls).toBeGreaterThanOrEqual(8 * rounds);
    expect(calls).toBeLessThanOrEqual(12 * rounds);
    expect(meters.premiumTokens?.used).toBe(2 * calls);
  });

  test('in the middle of a stream that then falls silent', async () => {
    const left = { stream: true, stay: afterChunks(1), from: briefTenant };
    const { recentCalls } = await leaveAfter('left-silent', 'x [fail:silent] [reply:20]', left);
    expect(recentCalls).toMatchObject([{ status: 'FAILED', usageSource: 'estimated' }]);
  });

  test('and retries with its key gets the whole stream', async () => {
    const headers = { 'Idempotency-Key': 'came-back' };
    const body = { model: 'gpt-5.2', customer: 'came-back', stream: true, ...words('x [fail:slow] [reply:20]') };
    const controller = new AbortController();
    const first = await tenant.send('/v1/chat/completions', { body, headers, signal: controller.signal });
    await first.body?.getReader().read();
    controller.abort();
    await tenant.settled('came-back');
    const asked = setting.vendor.requests.length;
    expect(countWords(said(await (await tenant.send('/v1/chat/completions', { body, headers })).text()))).toBe(20);
    expect(setting.vendor.requests.length).toBe(asked);
  });
});
