/**
 * Promise: a vendor's answer is recorded and charged by the vendor's rule, in every way in which it can come: through
 * the gateway, by POST /call, as the line of a batch (test/fixtures/answers).
 */
import { runDurableObjectAlarm } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Call } from '../../src/domain/call.ts';
import type { UnclearFigure } from '../../src/domain/unclear-usage.ts';
import type { Usage } from '../../src/domain/usage.ts';
import { ask, mockVendor, newTenant, readStoredCall, vendor } from '../support/gateway.ts';
import { asEvents, GOLDEN_ANSWERS, type GoldenAnswer } from '../support/golden-answers.ts';
import { bindings, operator } from '../support/worker.ts';

mockVendor();

/** USD of a million; each is another, so that a figure in a wrong place costs something else. */
const RATES = {
  input: 2,
  cachedInput: 1,
  cacheWrite: 3,
  cacheWrite1h: 4,
  output: 10,
  imageInput: 7,
  imageOutput: 40,
  webSearch: 1_000,
  fileSearch: 250,
  audioSeconds: 100,
} as const;
const VENDORS = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
};
const MESSAGES = [{ role: 'user', content: 'What is two and two?' }];
const PROMPT = { input: 'What is two and two?' };

/** The endpoint of each answer: the vendor, the path at it and at the gateway, and a request. */
const ENDPOINTS = {
  chat: { provider: 'openai', path: 'chat/completions', gateway: true, body: { messages: MESSAGES } },
  embeddings: { provider: 'openai', path: 'embeddings', gateway: true, body: PROMPT },
  responses: { provider: 'openai', path: 'responses', gateway: true, body: PROMPT },
  messages: { provider: 'anthropic', path: 'messages', gateway: true, body: { messages: MESSAGES, max_tokens: 900 } },
  generateContent: {
    provider: 'google',
    path: 'models/golden:generateContent',
    gateway: true,
    body: { contents: [{ role: 'user', parts: [{ text: 'What is two and two?' }] }] },
  },
  // Forms and large answers pass the gateway by other ways, which are tested with their endpoints.
  transcription: { provider: 'openai', path: 'audio/transcriptions', gateway: false, body: {} },
  images: { provider: 'openai', path: 'images/generations', gateway: false, body: { prompt: 'a cat' } },
} as const;

let tenant: Awaited<ReturnType<typeof newTenant>>;
beforeAll(async () => {
  tenant = await newTenant({ name: 'P', limitType: 'BLOCK', limits: { premiumCalls: 10_000, standardCalls: 10_000 } });
  const components = Object.entries(RATES).map(([component, usd]) =>
    usd > 100 ? { component, per: 1, usd: String(usd / 1_000_000) } : { component, per: 1_000_000, usd: String(usd) },
  );
  for (const [provider, baseUrl] of Object.entries(VENDORS)) {
    const params = { org: tenant.organizationId };
    const set = await operator.send('setVendor', {
      params: { ...params, provider },
      body: { apiKey: 'sk-t', baseUrl },
    });
    const priced = await operator.send('setPrice', {
      params: { ...params, modelKey: `${provider}/golden` },
      body: { components } as never,
    });
    expect([set.status, priced.status]).toEqual([200, 200]);
  }
});

/** The cost by the rates, in nano-USD: a second reckoning, independent of the one that is tested. */
function expectedCost(usage: Usage): number {
  const { cacheWrite1hInputTokens: hour = 0, imageInputTokens: seen = 0, imageOutputTokens: drawn = 0 } = usage;
  const { inputTokens, cachedInputTokens: read, cacheWriteInputTokens: written, responseTokens } = usage;
  const quantities: Record<keyof typeof RATES, number> = {
    input: inputTokens - read - written - seen,
    cachedInput: read,
    cacheWrite: written - hour,
    cacheWrite1h: hour,
    output: responseTokens - drawn,
    imageInput: seen,
    imageOutput: drawn,
    webSearch: usage.searches,
    fileSearch: usage.toolUses?.fileSearch ?? 0,
    audioSeconds: usage.audioSeconds,
  };
  return Object.entries(quantities).reduce(
    (sum, [component, quantity]) => sum + quantity * RATES[component as keyof typeof RATES] * 1_000,
    0,
  );
}

/** The call has at least the figures of the golden answer and its unclear ones, and its cost follows from the rates. */
function expectRecorded(call: Call | null, { usage }: GoldenAnswer, share = 1): void {
  const { modelUsed: _model, providerUsed: _vendor, vendorReportedCostUSD, parts, ...figures } = usage;
  const { unclear, totalTokens, serviceTier: _tier, searches = 0, ...told } = figures;
  const outcome = call?.outcome;
  if (!outcome) throw new Error('the call has not ended');
  expect([call.status, outcome.usageSource, outcome.unclear]).toEqual([
    'COMPLETED',
    unclear ? 'partial' : undefined,
    unclear,
  ]);
  const [own, ...others] = outcome.parts ?? [];
  const recorded: Partial<Record<string, unknown>> = { ...(own ?? outcome).usage };
  for (const [name, figure] of Object.entries({ ...told, searches })) {
    if (!unclear?.includes(name as UnclearFigure)) expect([name, recorded[name] ?? 0]).toEqual([name, figure]);
    else expect(recorded[name]).toBeGreaterThanOrEqual(Number(figure));
  }
  if (totalTokens !== undefined) {
    expect(outcome.usage.inputTokens + outcome.usage.responseTokens).toBe(totalTokens);
    expect(outcome.usage.inputTokens).toBeGreaterThan(0);
  }
  if (vendorReportedCostUSD !== undefined) {
    expect(outcome.vendorReported?.nanoUsd).toBe(String(Math.round(vendorReportedCostUSD * 1e9)));
  }
  // The work of another model within the call has a price of its own.
  expect(
    others.map(({ modelUsed, usage: { inputTokens, responseTokens } }) => [modelUsed, inputTokens, responseTokens]),
  ).toEqual(
    (parts ?? []).map(({ modelUsed, inputTokens, responseTokens }) => [modelUsed, inputTokens, responseTokens]),
  );
  if (parts) return;
  // A request without a recording bounds no length: it is not taken for zero.
  if (unclear?.includes('audioSeconds')) {
    expect(outcome.price).toEqual({ status: 'UNAVAILABLE', reason: 'USAGE_IMPLAUSIBLE' });
    return;
  }
  expect(outcome.price.status).toBe('FINAL');
  if (outcome.price.status !== 'FINAL') return;
  expect(Number(outcome.price.costNanoUsd)).toBe(Math.round(expectedCost(outcome.usage) * share));
}

const asAnswer = ({ answer, events }: GoldenAnswer) =>
  events ? new Response(asEvents(events), { headers: { 'Content-Type': 'text/event-stream' } }) : Response.json(answer);
const named = (goldens: readonly GoldenAnswer[]) => goldens.map((golden) => [golden.name, golden] as const);

describe('through the gateway', () => {
  test.each(named(GOLDEN_ANSWERS.filter(({ endpoint }) => ENDPOINTS[endpoint].gateway)))('%s', async (_, golden) => {
    vendor.answers = () => asAnswer(golden);
    const { provider, path, body } = ENDPOINTS[golden.endpoint];
    const isStream = golden.events !== undefined;
    const isGoogle = provider === 'google';
    const address = isStream ? path.replace('generateContent', 'streamGenerateContent?alt=sse') : path;
    const { response, callId, rest } = await ask(
      tenant.key,
      {
        messages: undefined,
        model: isGoogle ? undefined : `${provider}/golden`,
        ...body,
        ...(isStream && !isGoogle && { stream: true }),
      },
      bindings,
      isGoogle ? `/v1beta/${address.replace('golden', 'google/golden')}` : `/v1/${address}`,
    );
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    await rest();
    expectRecorded(await readStoredCall(tenant, callId), golden);
  });
});

describe('by POST /call', () => {
  test.each(named(GOLDEN_ANSWERS))('%s', async (_, golden) => {
    vendor.answers = () => asAnswer(golden);
    const { provider, path, body } = ENDPOINTS[golden.endpoint];
    const { data } = await tenant.api.send('makeCall', {
      body: {
        customerId: 'default',
        vendor: {
          url: `${VENDORS[provider]}/${path}`,
          provider,
          body: { model: 'golden', ...body },
          responseType: golden.events ? 'text' : 'json',
        },
      },
    });
    expectRecorded(await readStoredCall(tenant, data.begin.callId), golden);
  });
});

test('as the lines of a batch', async () => {
  const plain = GOLDEN_ANSWERS.filter(({ events }) => !events);
  const lines = plain.map(({ name, answer }) =>
    JSON.stringify({ custom_id: name, response: { status_code: 200, body: answer }, error: null }),
  );
  let requestName = '';
  vendor.answers = (url, { metadata }) => {
    if (url.endsWith('/files/file_in/content'))
      return new Response(
        plain
          .map(({ name }) =>
            JSON.stringify({
              custom_id: name,
              url: '/v1/chat/completions',
              body: { model: 'golden', messages: MESSAGES, max_tokens: 900 },
            }),
          )
          .join('\n'),
      );
    if (metadata) {
      requestName = (metadata as { service_request_id: string }).service_request_id;
      return Response.json({ id: 'batch_g', status: 'validating', metadata });
    }
    return url.endsWith('/batches/batch_g')
      ? Response.json({ id: 'batch_g', status: 'completed', output_file_id: 'file_out' })
      : new Response(lines.join('\n'));
  };
  const batch = { input_file_id: 'file_in', endpoint: '/v1/chat/completions' };
  expect((await ask(tenant.key, batch, bindings, '/v1/batches')).response.status).toBe(200);
  await runDurableObjectAlarm(bindings.GATEWAY_BATCHES.getByName(`${tenant.organizationId}:${requestName}`));
  for (const golden of plain) {
    const { vendorReportedCostUSD: _cost, ...usage } = golden.usage;
    expectRecorded(await readStoredCall(tenant, `batch:batch_g:${golden.name}`), { ...golden, usage }, 0.5);
  }
});
