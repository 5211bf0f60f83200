/**
 * Promise: an allowance bounds the usage of a request to a model before the vendor is asked. The vendor gets the
 * remaining tokens of the tier and the remaining searches, a request for more answers than the plan allows is refused,
 * and unused reservations are given back.
 */
import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import { fundedCustomer } from '../support/customer.ts';
import {
  accountOf,
  ask,
  completion,
  mockVendor,
  newTenant,
  readStoredCall,
  usage,
  vendor,
} from '../support/gateway.ts';
import { wave } from '../support/recordings.ts';
import { bindings, operator } from '../support/worker.ts';

mockVendor();

/** A model of the standard tier whose output all shows. */
const MODEL = 'openai/gpt-4o-mini';
/** As the demo has it. */
const FREE = {
  name: 'Free',
  limitType: 'BLOCK',
  limits: { standardCalls: 50, premiumCalls: 0, standardTokens: 50_000, premiumTokens: 0, searches: 10 },
};

/** The bodies that the vendor is sent; it answers each with these tokens and searches. */
function sentBodies(used: { tokens?: number; searches?: number } = {}): Record<string, unknown>[] {
  const bodies: Record<string, unknown>[] = [];
  const { tokens = 4, searches = 0 } = used;
  vendor.answers = (url, body) => {
    bodies.push(body);
    if (url.endsWith('/messages'))
      return Response.json({
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: body.model,
        content: [{ type: 'text', text: 'hi' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 10, output_tokens: tokens, server_tool_use: { web_search_requests: searches } },
      });
    return Response.json({ ...completion(body.model), usage: { ...usage, completion_tokens: tokens } });
  };
  return bodies;
}

const readError = async ({ response }: Awaited<ReturnType<typeof ask>>) =>
  [response.status, ((await response.json()) as { error: Record<string, unknown> }).error] as const;

describe('answers', () => {
  test('of one call are eight at most, and nothing is begun of more', async () => {
    const tenant = await newTenant(FREE);
    const bodies = sentBodies();
    const [status, error] = await readError(await ask(tenant.key, { model: MODEL, n: 128 }));
    expect([status, error, bodies]).toEqual([
      400,
      expect.objectContaining({ code: 'BAD_REQUEST', param: 'n', message: expect.stringContaining('at most 8') }),
      [],
    ]);
    expect(await accountOf(tenant)).toMatchObject({ consumed: {}, reserved: {} });
    const { response } = await ask(tenant.key, { model: MODEL, n: 8 });
    expect([response.status, bodies[0]?.n]).toEqual([200, 8]);
  });
});

describe('output tokens', () => {
  test('are bounded by what is left of the tier, shared by the answers', async () => {
    const tenant = await newTenant({ ...FREE, limits: { ...FREE.limits, standardTokens: 10_000 } });
    const bodies = sentBodies({ tokens: 6_000 });
    const { response, rest } = await ask(tenant.key, { model: MODEL, n: 2 });
    await rest();
    expect([bodies[0]?.max_completion_tokens, response.headers.get('x-service-max-output-tokens')]).toEqual([
      5_000,
      '5000',
    ]);
    await (await ask(tenant.key, { model: MODEL })).rest();
    expect(bodies[1]?.max_completion_tokens).toBe(4_000);
  });

  test("of an answer are no more than the plan's own bound, and those of the request if that is lower", async () => {
    const tenant = await newTenant({ ...FREE, maxOutputTokens: 300 });
    const bodies = sentBodies();
    await ask(tenant.key, { model: MODEL });
    await ask(tenant.key, { model: MODEL, max_completion_tokens: 10, n: 2 });
    expect(bodies.map(({ max_completion_tokens: bound }) => bound)).toEqual([300, 10]);
  });

  test('too few for an answer are none, but for a request that needs no more', async () => {
    const tenant = await newTenant({ ...FREE, limits: { ...FREE.limits, standardTokens: 255 } });
    const bodies = sentBodies({ tokens: 10 });
    const [status, error] = await readError(await ask(tenant.key, { model: MODEL }));
    expect([status, error.code, bodies]).toEqual([403, 'ENTITLEMENT_DENIED', []]);
    expect((await ask(tenant.key, { model: MODEL, max_completion_tokens: 10 })).response.status).toBe(200);
    // A request that asks for thinking needs more.
    const thinker = await newTenant({ ...FREE, limits: { ...FREE.limits, standardTokens: 1_279 } });
    const request = { model: 'openai/gpt-5-nano', reasoning_effort: 'low' };
    expect((await readError(await ask(thinker.key, request)))[0]).toBe(403);
    expect((await ask(thinker.key, { model: request.model })).response.status).toBe(200);
  });

  test('too few for an answer are replaced by the tier below', async () => {
    const tenant = await newTenant({
      ...FREE,
      limitType: 'DOWNGRADE',
      limits: { premiumTokens: 100, standardTokens: 4_000 },
    });
    const models = { standard: [MODEL], premium: ['openai/gpt-4o'] };
    await operator.send('setModels', { params: { org: tenant.organizationId }, body: models });
    const bodies = sentBodies();
    const { response } = await ask(tenant.key, { model: 'service/premium' });
    expect([response.status, bodies[0]?.model, bodies[0]?.max_completion_tokens]).toEqual([200, 'gpt-4o-mini', 4_000]);
  });

  test('are without a bound if the plan only informs, and if it limits no tokens', async () => {
    for (const plan of [
      { ...FREE, limitType: 'NONE', maxOutputTokens: 5, maxAnswers: 1 },
      { name: 'P', limitType: 'BLOCK', limits: { standardCalls: 9 } },
    ]) {
      const tenant = await newTenant(plan);
      const bodies = sentBodies();
      const { response } = await ask(tenant.key, { model: MODEL, n: 2 });
      expect([response.status, bodies[0]]).toEqual([
        200,
        expect.not.objectContaining({ max_completion_tokens: expect.anything() }),
      ]);
    }
  });

  test('of a call that they would cut are paid by credit as a whole, if it allows more', async () => {
    const plan = { ...FREE, limits: { standardTokens: 2_000 }, payg: { enabled: true } };
    const tenant = await newTenant(plan);
    await fundedCustomer(tenant, 'default', { usd: '1' });
    const bodies = sentBodies();
    const first = await ask(tenant.key, { model: MODEL });
    await first.rest();
    expect(bodies[0]?.max_completion_tokens).toBe(16_384);
    expect((await readStoredCall(tenant, first.callId))?.outcome?.charge).not.toBeNull();
    // An allowance pays as far as it reaches; the output is cut if credit does not cover the whole call.
    const second = await ask(tenant.key, { model: MODEL, max_completion_tokens: 2_000 });
    await second.rest();
    expect((await readStoredCall(tenant, second.callId))?.outcome?.charge).toBeNull();
    await fundedCustomer(tenant, 'poor', { usd: '0.001' });
    await (await ask(tenant.key, { model: MODEL, customer: 'poor' })).rest();
    expect(bodies[2]?.max_completion_tokens).toBe(2_000);
  });

  test('bound a stream and POST /call alike, and its hints say so', async () => {
    const tenant = await newTenant({ ...FREE, limits: { standardTokens: 600 } });
    const bodies = sentBodies();
    await (await ask(tenant.key, { model: MODEL, stream: true })).response.text();
    const call = {
      url: 'https://api.openai.com/v1/chat/completions',
      body: { model: 'gpt-4o-mini', messages: [], n: 2 },
    };
    const reply = await tenant.api.send('makeCall', { body: { customerId: 'other', vendor: call } });
    expect(bodies.map(({ max_completion_tokens: bound }) => bound)).toEqual([600, 300]);
    expect(reply.data.begin.vendorHints).toMatchObject({ maxResponseTokens: 600 });
    const many = { customerId: 'other', vendor: { ...call, body: { ...call.body, n: 9 } } };
    const refused = await tenant.api.send('makeCall', { body: many });
    expect([refused.status, refused.body.error]).toEqual([
      400,
      expect.objectContaining({ details: [{ path: 'vendor.body.n', message: expect.stringContaining('at most 8') }] }),
    ]);
    const google = {
      url: 'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent',
      body: { contents: [], generation_config: { candidateCount: 9 } },
    };
    const path = 'vendor.body.generation_config.candidateCount';
    expect(
      (await tenant.api.send('makeCall', { body: { customerId: 'other', vendor: google } })).body.error,
    ).toMatchObject({
      details: [{ path }],
    });
  });
});

describe('searches', () => {
  const SEARCH = { type: 'web_search_20250305', name: 'web_search' };
  async function anthropic(searches: number, plan: object = {}) {
    const tenant = await newTenant({ ...FREE, ...plan, limits: { searches } });
    const set = await operator.send('setVendor', {
      params: { org: tenant.organizationId, provider: 'anthropic' },
      body: { apiKey: 'sk-test', baseUrl: 'https://api.anthropic.com/v1' },
    });
    expect(set.status).toBe(200);
    const search = (tools: object[]) =>
      ask(tenant.key, { model: 'anthropic/claude-haiku-4-5', max_tokens: 50, tools }, undefined, '/v1/messages');
    return { tenant, search };
  }

  test('of one call are no more than are left, reserved while it runs, and given back if it makes fewer', async () => {
    const { tenant, search } = await anthropic(10);
    const bodies = sentBodies({ searches: 7 });
    const { response, rest, callId } = await search([{ ...SEARCH, max_uses: 60 }]);
    await rest();
    expect([response.status, response.headers.get('x-service-changed'), bodies[0]?.tools]).toEqual([
      200,
      'max_uses=10',
      [{ ...SEARCH, max_uses: 10 }],
    ]);
    expect((await readStoredCall(tenant, callId))?.outcome?.changed).toEqual(['max_uses=10']);
    expect(await accountOf(tenant)).toMatchObject({ consumed: { searches: 7 }, reserved: { searches: 0 } });
    // A bound is never raised, and a tool without one gets the remaining number.
    const others = sentBodies({ searches: 2 });
    await (await search([{ ...SEARCH, max_uses: 2 }])).rest();
    await (await search([SEARCH])).rest();
    expect(others.map(({ tools }) => (tools as { max_uses: number }[])[0]?.max_uses)).toEqual([2, 1]);
  });

  test('of a request that cannot be held to what is left are denied, and without any bound refused', async () => {
    const tenant = await newTenant({ ...FREE, limits: { searches: 4 } });
    const bodies = sentBodies();
    const [status, error] = await readError(await ask(tenant.key, { model: MODEL, web_search_options: {} }));
    expect([status, error.code]).toEqual([403, 'ENTITLEMENT_DENIED']);
    const google = {
      url: 'https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview:generateContent',
      body: { contents: [{ parts: [{ text: 'x' }] }], tools: [{ google_search: {} }] },
    };
    const call = () => tenant.api.send('makeCall', { body: { customerId: 'other', vendor: google } });
    const refused = await call();
    expect([refused.status, refused.body.error]).toEqual([
      403,
      expect.objectContaining({
        code: 'BOUND_UNKNOWN',
        component: 'webSearch',
        param: 'vendor.body.tools.0.google_search',
      }),
    ]);
    expect(bodies).toEqual([]);
    const params = { org: tenant.organizationId };
    await operator.send('updateOrganization', { params, body: { creditOpen: ['component:webSearch'] } });
    expect((await call()).status).toBe(200);
  });

  test('on a plan that does not limit them are as the caller asks', async () => {
    const { search } = await anthropic(null as never);
    const bodies = sentBodies();
    const { response } = await search([{ ...SEARCH, max_uses: 60 }]);
    expect([response.headers.get('x-service-changed'), bodies[0]?.tools]).toEqual([
      null,
      [{ ...SEARCH, max_uses: 60 }],
    ]);
  });
});

describe('a batch', () => {
  /** The answer to a batch of lines with these bodies. */
  async function createBatch(plan: object, path: string, ...bodies: object[]) {
    const tenant = await newTenant(plan);
    const lines = bodies.map((body) => JSON.stringify({ url: path, body: { model: 'gpt-4o-mini', ...body } }));
    vendor.answers = (url, { metadata }) =>
      url.endsWith('/content')
        ? new Response(`${lines.join('\n')}\n`)
        : Response.json({ id: `batch_${crypto.randomUUID()}`, status: 'validating', metadata });
    const asked = await ask(tenant.key, { input_file_id: 'file_in', endpoint: path }, undefined, '/v1/batches');
    return { tenant, asked };
  }

  test('with a line that asks for more answers than the plan has is refused, with the line and its field', async () => {
    const { tenant, asked } = await createBatch(FREE, '/v1/chat/completions', { n: 8 }, { n: 9 });
    const [status, error] = await readError(asked);
    expect([status, error.code, error.param]).toEqual([400, 'BAD_REQUEST', 'body.n']);
    expect(error.message).toMatch(/^line 2 of the input file: n?.*at most 8/);
    expect(await accountOf(tenant)).toMatchObject({ consumed: {}, reserved: {} });
  });

  test('reserves all searches that its lines can make, and is denied or refused if that is too many', async () => {
    const search = { tools: [{ type: 'web_search' }] };
    const plan = { ...FREE, limits: { searches: 10 } };
    const held = await createBatch(
      plan,
      '/v1/responses',
      { ...search, max_tool_calls: 6 },
      { ...search, max_tool_calls: 4 },
    );
    expect(held.asked.response.status).toBe(200);
    expect((await accountOf(held.tenant)).reserved.searches).toBe(10);
    const more = await createBatch(plan, '/v1/responses', { ...search, max_tool_calls: 60 });
    expect((await readError(more.asked))[1].message).toMatch(/can make 60 searches.*allows 10 further/);
    const [status, error] = await readError((await createBatch(plan, '/v1/responses', search)).asked);
    expect([status, error.code, error.component]).toEqual([403, 'BOUND_UNKNOWN', 'webSearch']);
    expect(error.message).toMatch(/^line 1 of the input file: /);
  });
});

test('seconds of audio are reserved if a recording tells them, given back, and denied beyond what is left', async () => {
  const tenant = await newTenant({ ...FREE, limits: { audioSeconds: 3 } });
  const reserved: unknown[] = [];
  vendor.answers = async () => {
    reserved.push((await accountOf(tenant)).reserved.audioSeconds);
    return Response.json({ text: 'hi', usage: { type: 'duration', seconds: 2 } });
  };
  const transcribe = async (seconds: number) => {
    const context = createExecutionContext();
    const body = new FormData();
    body.set('model', 'whisper-1');
    body.set('file', new File([wave(seconds)], 'speech.wav', { type: 'audio/wav' }));
    const headers = { Authorization: `Bearer ${tenant.key}` };
    const request = { method: 'POST', headers, body };
    const response = await createApp().request('/v1/audio/transcriptions', request, bindings, context);
    await response.text();
    await waitOnExecutionContext(context);
    return response.status;
  };
  expect([await transcribe(4), await transcribe(2), await transcribe(2)]).toEqual([403, 200, 403]);
  // The most that the file can last.
  expect(reserved).toEqual([3]);
  expect((await accountOf(tenant)).reserved.audioSeconds).toBe(0);
});
