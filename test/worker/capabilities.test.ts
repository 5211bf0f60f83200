/**
 * Promise: a plan's rules for search, images, audio and hosted tools apply to the vendor's request itself: it is denied
 * before the vendor is asked, and real usage is counted from the answer, even beyond the remaining amount.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Tenant } from '../support/api.ts';
import { answers, ask, BASE_URL, completion, mockVendor, newTenant, usage, vendor } from '../support/gateway.ts';
import { operator } from '../support/worker.ts';

mockVendor();

const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const tools = (type: string) => ({ tools: [{ type }] });
const spoken = {
  messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'a', format: 'wav' } }] }],
};
/** By the entitlement that they need: requests to an endpoint of the gateway. */
const REQUESTS: [string, string, object][] = [
  ['search', CHAT, { web_search_options: {} }],
  ['search', CHAT, { model: 'gpt-4o-search-preview' }],
  ['search', CHAT, { model: 'gpt-5.2', models: ['gpt-4o-search-preview'] }],
  ['search', CHAT, { ...tools('web_search_20250305'), stream: true }],
  ['search', RESPONSES, tools('web_search')],
  ['search', RESPONSES, { input: [{ type: 'additional_tools', tools: [{ type: 'web_search_preview' }] }] }],
  ['image', RESPONSES, tools('image_generation')],
  ['image', CHAT, { modalities: ['text', 'image'] }],
  ['audio', CHAT, { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } }],
  ['audio', CHAT, spoken],
  ['tools', RESPONSES, tools('code_interpreter')],
  ['tools', RESPONSES, tools('file_search')],
  ['tools', CHAT, { ...tools('mcp'), stream: true }],
];

let requests: string[];
beforeEach(() => {
  requests = [];
  vendor.answers = (url, body) => {
    requests.push(url);
    return answers(url, body);
  };
});

const tenantWith = (plan: object) => newTenant({ name: 'P', limitType: 'BLOCK', ...plan });
const withoutAll = { features: { search: false, image: false, audio: false, tools: false } };
async function readState({ organizationId }: Tenant) {
  const { status, data } = await operator.send('readCustomer', {
    params: { org: organizationId, customerId: 'default' },
  });
  expect(status).toBe(200);
  return { openCalls: data.openCalls, calls: data.recentCalls, meters: data.meters };
}
const used = async (tenant: Tenant, meter: string) => (await readState(tenant)).meters[meter]?.used;

async function denied(response: Response) {
  const { error } = (await response.json()) as { error: { code: string; type: string; message: string } };
  return { status: response.status, ...error };
}

describe('a plan without the capability', () => {
  test.each(REQUESTS)(
    'denies %s on %s before the vendor is asked and holds nothing: %j',
    async (capability, path, body) => {
      const tenant = await tenantWith(withoutAll);
      const { response } = await ask(tenant.key, body, undefined, path);
      expect(await denied(response)).toMatchObject({
        status: 403,
        type: 'insufficient_quota',
        code: 'ENTITLEMENT_DENIED',
        message: expect.stringContaining(capability),
      });
      expect(response.headers.get('x-should-retry')).toBe('false');
      expect(requests).toEqual([]);
      const { openCalls, calls, meters } = await readState(tenant);
      expect([openCalls, calls.map(({ status }) => status)]).toEqual([0, ['NOT_ALLOWED']]);
      expect(Object.values(meters).filter((meter) => meter.used > 0)).toEqual([]);
    },
  );

  test('serves requests that do not use it', async () => {
    const tenant = await tenantWith(withoutAll);
    const own = { tools: [{ type: 'function', function: { name: 'web_search' } }] };
    for (const body of [{}, own]) expect((await ask(tenant.key, body)).response.status).toBe(200);
  });
});

test('a denial of hosted tools names them, and what callers are told of entitlements has no other member', async () => {
  const tenant = await tenantWith({ features: { tools: false } });
  const { response, callId } = await ask(tenant.key, { tools: [{ type: 'mcp' }, { type: 'web_search' }] });
  const { message } = await denied(response);
  expect(message).toContain('the request asks the vendor for tools: ');
  const { denial } = (await tenant.api.send('readCall', { params: { callId } })).data;
  expect(denial).toMatchObject({
    code: 'CAPABILITY_NOT_IN_PLAN',
    capability: 'tools',
    requested: ['premium', 'search', 'tools'],
  });
  const messages = { model: 'claude-opus-4-6', max_tokens: 9, tools: [{ type: 'code_execution_20250825' }] };
  const params = { org: tenant.organizationId, provider: 'anthropic' };
  expect((await operator.send('setVendor', { params, body: { apiKey: 'k' } })).status).toBe(200);
  const native = await ask(tenant.key, messages, undefined, '/v1/messages');
  expect([native.response.status, await native.response.text()]).toEqual([403, expect.stringContaining('for tools: ')]);
  const vendor = { url: `${BASE_URL}/chat/completions`, provider: 'openai', body: { mcp_servers: [{ name: 'a' }] } };
  const unified = await tenant.api.send('makeCall', { body: { customerId: 'default', vendor } });
  expect(unified.body.result.message).toContain('for tools: ');
  const asked = { standard: true, premium: true, audio: true, image: true, search: true, tools: true };
  const begun = await tenant.api.send('beginCall', { body: { customerId: 'default', requested: asked } });
  const members = ['audio', 'image', 'premium', 'reasoningLevel', 'search', 'standard'];
  for (const { allowed } of [unified.data.begin, begun.data]) expect(Object.keys(allowed).sort()).toEqual(members);
  expect(requests).toEqual([]);
});

test.each(REQUESTS)('a plan with the capability serves %s on %s: %j', async (_, path, body) => {
  const tenant = await tenantWith({});
  const { response, rest } = await ask(tenant.key, body, undefined, path);
  expect(response.status).toBe(200);
  await response.text();
  await rest();
  expect((await readState(tenant)).openCalls).toBe(0);
});

describe('searches', () => {
  const LIMITED = { limits: { searches: 2 } };
  const search = { type: 'web_search_call', status: 'completed' };
  const response = (searches: number, more: object = {}) => ({
    object: 'response',
    model: 'gpt-5.2',
    status: 'completed',
    output: [...Array.from({ length: searches }, () => search), { type: 'message' }],
    usage: { input_tokens: 10, output_tokens: 4 },
    ...more,
  });
  const answer = (body: unknown) => {
    vendor.answers = () => Response.json(body);
  };
  const stream = (...events: object[]) => {
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    vendor.answers = () => new Response(text, { headers: { 'Content-Type': 'text/event-stream' } });
  };
  const searching = tools('web_search');

  test('are counted from the answer, even beyond the allowance; then the next request is denied', async () => {
    const tenant = await tenantWith(LIMITED);
    answer(response(5));
    expect((await ask(tenant.key, searching, undefined, RESPONSES)).response.status).toBe(200);
    expect(await used(tenant, 'searches')).toBe(5);
    expect((await denied((await ask(tenant.key, searching, undefined, RESPONSES)).response)).code).toBe(
      'ENTITLEMENT_DENIED',
    );
    expect((await ask(tenant.key, {}, undefined, RESPONSES)).response.status).toBe(200);
  });

  test('that did not run are not counted', async () => {
    const tenant = await tenantWith(LIMITED);
    answer(response(0));
    await ask(tenant.key, searching, undefined, RESPONSES);
    expect(await used(tenant, 'searches')).toBe(0);
  });

  test('are held while calls are open: with two remaining, a third parallel request is denied', async () => {
    const tenant = await tenantWith(LIMITED);
    const { promise, resolve } = Promise.withResolvers<void>();
    vendor.answers = async () => {
      await promise;
      return Response.json(response(1));
    };
    const once = { ...searching, max_tool_calls: 1 };
    const open = [1, 2].map(() => ask(tenant.key, once, undefined, RESPONSES));
    await expect.poll(() => used(tenant, 'searches')).toBe(2);
    expect((await ask(tenant.key, once, undefined, RESPONSES)).response.status).toBe(403);
    resolve();
    await Promise.all(open);
    expect(await used(tenant, 'searches')).toBe(2);
  });

  test('are counted in a stream, even if it broke off before its usage', async () => {
    const tenant = await tenantWith({});
    const done = { type: 'response.output_item.done', item: search };
    const begun = { type: 'response.created', response: response(0, { status: 'in_progress', usage: null }) };
    for (const events of [
      [begun, done, { type: 'response.completed', response: response(1) }],
      [begun, done, done],
    ]) {
      stream(...events);
      const asked = await ask(tenant.key, { ...searching, stream: true }, undefined, RESPONSES);
      await asked.response.text();
      await asked.rest();
    }
    expect(await used(tenant, 'searches')).toBe(3);
    const [cut] = (await readState(tenant)).calls;
    expect(cut).toMatchObject({ status: 'FAILED' });
    // A call that ran counts, although its usage never arrived.
    expect(await used(tenant, 'premiumCalls')).toBe(2);
  });

  test('of an answer without usage are counted, and its cost is unknown', async () => {
    const tenant = await tenantWith({});
    answer(response(2, { usage: null }));
    const { callId } = await ask(tenant.key, searching, undefined, RESPONSES);
    expect(await used(tenant, 'searches')).toBe(2);
    expect((await tenant.api.send('readCall', { params: { callId } })).data.pricingUnavailableReason).toBe(
      'USAGE_NOT_REPORTED',
    );
  });

  test('of a chat that cites the web are at least one, whole and streamed', async () => {
    const tenant = await tenantWith({});
    const annotations = [{ type: 'url_citation', url_citation: { url: 'https://example.com' } }];
    answer({ ...completion('gpt-5.2'), choices: [{ index: 0, message: { content: 'hi', annotations } }] });
    await ask(tenant.key, { web_search_options: {} });
    expect(await used(tenant, 'searches')).toBe(1);
    const chunk = (choices: unknown[], more: object = {}) => ({
      object: 'chat.completion.chunk',
      model: 'gpt-5.2',
      choices,
      ...more,
    });
    stream(
      chunk([{ index: 0, delta: { content: 'hi', annotations } }]),
      chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
      chunk([], { usage }),
    );
    const streamed = await ask(tenant.key, { web_search_options: {}, stream: true });
    await streamed.response.text();
    await streamed.rest();
    expect(await used(tenant, 'searches')).toBe(2);
  });
});

describe('audio', () => {
  test('in seconds uses its allowance; in tokens it is recorded as tokens and not converted', async () => {
    const tenant = await tenantWith({ limits: { audioSeconds: 10 } });
    const audio = { ...usage, prompt_tokens_details: { audio_tokens: 7 } };
    vendor.answers = () => Response.json({ ...completion('gpt-audio'), usage: audio });
    const { callId } = await ask(tenant.key, spoken);
    const outcome = await operator.send('readCustomer', {
      params: { org: tenant.organizationId, customerId: 'default' },
    });
    expect(outcome.data.meters.audioSeconds?.used).toBe(0);
    const { data } = await tenant.api.send('readCall', { params: { callId } });
    expect(data.costBreakdown?.lines).toContainEqual(expect.objectContaining({ component: 'audioInput', quantity: 7 }));
    vendor.answers = () =>
      Response.json({ ...completion('gpt-audio'), usage: { ...usage, prompt_audio_seconds: 12.5 } });
    await ask(tenant.key, spoken);
    expect(await used(tenant, 'audioSeconds')).toBe(12.5);
    expect((await denied((await ask(tenant.key, spoken)).response)).message).toContain('audio');
  });
});

describe('POST /call', () => {
  const send = (tenant: Tenant, body: object, path = '/chat/completions') =>
    tenant.api.send('makeCall', { body: { customerId: 'default', vendor: { url: `${BASE_URL}${path}`, body } } });

  test.each([
    ['search', { model: 'gpt-5.2', ...tools('web_search') }, '/responses'],
    ['search', { model: 'claude-sonnet-5', ...tools('web_search_20250305') }, '/messages'],
    ['search', { contents: [], tools: [{ google_search: {} }] }, '/models/gemini-3.5-flash:generateContent'],
    ['image', { model: 'gpt-image-1', prompt: 'x' }, '/images/generations'],
    ['audio', { model: 'gpt-audio', ...spoken }, '/chat/completions'],
  ])('is denied %s that its request uses: %j', async (capability, body, path) => {
    const tenant = await tenantWith(withoutAll);
    const reply = await send(tenant, body, path);
    expect(reply.data.vendor).toBeUndefined();
    expect(reply.data.begin.allowed[capability as 'search']).toBe(false);
    expect(reply.body.result.message).toContain(capability);
    expect(requests).toEqual([]);
    const { openCalls, calls } = await readState(tenant);
    expect([openCalls, calls[0]?.status]).toEqual([0, 'NOT_ALLOWED']);
  });

  test('counts its searches, and still needs the tier that it did not request', async () => {
    const tenant = await tenantWith({ limits: { standardCalls: 1 } });
    vendor.answers = () => Response.json({ ...completion('unknown'), citations: ['https://example.com'] });
    const body = { model: 'unknown', web_search_options: {} };
    expect((await send(tenant, body)).data.endUsage?.searches).toBe(1);
    expect(await used(tenant, 'searches')).toBe(1);
    // Nothing requested means the standard tier, also for a request that can search.
    expect((await send(tenant, body)).data.vendor).toBeUndefined();
  });
});
