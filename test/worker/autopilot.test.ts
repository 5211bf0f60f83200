/**
 * Promise: a mapping and an alias answer by the replacement from the day of the switch on, every answer and record says
 * which model ran, a switch is a change in the log that one command takes back, and however often the autopilot runs,
 * nothing is switched or told twice. A model that was named outright is refused after its end, in the caller's own form.
 */

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { commitStatements, isTaken } from '../../src/config/operator-changes.ts';
import { replaceMappings } from '../../src/config/organizations.ts';
import { OrganizationEvent } from '../../src/contract/events.ts';
import { asOrganizationId } from '../../src/domain/ids.ts';
import { insertOrganizationEvents } from '../../src/history/organization-events.ts';
import { runAutopilot } from '../../src/operator/autopilot.ts';
import type { Tenant } from '../support/api.ts';
import { answers, ask, mockVendor, newTenant, readStoredCall, usage, vendor } from '../support/gateway.ts';
import { bindings, deliverToD1, operator } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

mockVendor();

const app = createApp();
/** 14 days before gpt-4o-mini ends, which is replaced with gpt-6-luna at a lower price. */
const SWITCH_DAY = Date.UTC(2026, 11, 31);
const MINI = { model: 'openai/gpt-4o-mini', switchTo: 'official' };
const MINI_SAVED = { ...MINI, switchDaysBefore: 14, maxPriceIncreasePercent: 0, requiredCapabilities: [] };

type Keyed = Tenant & { key: string };

beforeAll(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: SWITCH_DAY - 1 });
});
afterAll(() => {
  vi.useRealTimers();
});

/** The clock stands still, and caches of the configuration go by it. */
const inForce = () => vi.setSystemTime(Date.now() + 60_000);

async function mapped(body: Record<string, unknown>): Promise<Keyed> {
  const tenant = await newTenant();
  expect((await setModels(tenant, body)).status).toBe(200);
  inForce();
  return tenant;
}
const setModels = ({ organizationId }: Tenant, body: Record<string, unknown>) =>
  operator.send('setModels', { params: { org: organizationId }, body });
const readModels = async ({ organizationId }: Tenant) =>
  (await operator.send('readOrganization', { params: { org: organizationId } })).data.models;
async function runOf({ organizationId }: Tenant, nowMs = Date.now()) {
  const events = await runAutopilot({ env: bindings, organizationId, nowMs, defer: () => undefined });
  inForce();
  return events;
}
const record = ({ organizationId }: Tenant, events: Awaited<ReturnType<typeof runOf>>) =>
  insertOrganizationEvents(bindings, organizationId, events);
const logOf = async ({ organizationId }: Tenant, action: string) =>
  (await operator.send('listEvents', { query: { organizationId, limit: '100' } })).data.items.filter(
    (event) => event.action === action,
  );
const switchBack = ({ organizationId }: Tenant, mapping: string, model: string) =>
  operator.send('switchModelBack', { params: { org: organizationId }, body: { mapping, model } });

/** The model that answered, by the answer and by the record of the call. */
async function ranOn(tenant: Keyed, model: string) {
  vendor.answers = answers;
  const { response, callId, rest } = await ask(tenant.key, { model });
  expect(response.status).toBe(200);
  const { model: inBody } = (await response.json()) as { model: string };
  await rest();
  const call = await readStoredCall(tenant, callId);
  return [response.headers.get('x-llm-model-key'), inBody, call?.status === 'COMPLETED' && call.outcome?.modelUsed];
}

describe('on the day of the switch', () => {
  let tenant: Keyed;
  let told: Awaited<ReturnType<typeof runOf>>;
  beforeAll(async () => {
    vi.setSystemTime(SWITCH_DAY - 3_600_000);
    tenant = await mapped({
      standard: [MINI, 'openai/gpt-6-sol'],
      aliases: { cheap: ['openai/gpt-6-sol'], small: [{ ...MINI, switchDaysBefore: 0 }, MINI] },
    });
  });

  test('a mapping and an alias answer by the replacement, and the day before by the model', async () => {
    expect(await readModels(tenant)).toEqual({
      ...{ standard: [MINI_SAVED, 'openai/gpt-6-sol'], premium: [] },
      aliases: { cheap: ['openai/gpt-6-sol'], small: [{ ...MINI_SAVED, switchDaysBefore: 0 }, MINI_SAVED] },
    });
    expect(await runOf(tenant, SWITCH_DAY - 1)).toEqual([]);
    expect(await logOf(tenant, 'models.switch')).toEqual([]);
    expect(await ranOn(tenant, 'service/standard')).toEqual(['openai/gpt-4o-mini', 'gpt-4o-mini', 'gpt-4o-mini']);
    expect(await ranOn(tenant, 'service/cheap')).toEqual(['openai/gpt-6-sol', 'gpt-6-sol', 'gpt-6-sol']);
    vi.setSystemTime(SWITCH_DAY);
    await deliverToD1(tenant.organizationId, 'default');
    told = await runOf(tenant);
    expect(await ranOn(tenant, 'service/standard')).toEqual(['openai/gpt-6-luna', 'gpt-6-luna', 'gpt-6-luna']);
    // The first entry of the alias is switched on the day of the end alone.
    expect(await ranOn(tenant, 'service/small')).toEqual(['openai/gpt-4o-mini', 'gpt-4o-mini', 'gpt-4o-mini']);
    const switched = {
      ...{ ...MINI_SAVED, model: 'openai/gpt-6-luna', switchedFrom: 'openai/gpt-4o-mini' },
      switchedAt: new Date(SWITCH_DAY).toISOString(),
    };
    expect(await readModels(tenant)).toEqual({
      ...{ standard: [switched, 'openai/gpt-6-sol'], premium: [] },
      aliases: { cheap: ['openai/gpt-6-sol'], small: [{ ...MINI_SAVED, switchDaysBefore: 0 }, switched] },
    });
  });

  test('the change is in the log, with what was before', async () => {
    const log = await logOf(tenant, 'models.switch');
    expect(log).toHaveLength(2);
    expect(log.find(({ after }) => (after as { mapping: string }).mapping === 'standard')).toMatchObject({
      ...{ actor: 'autopilot', organizationId: tenant.organizationId },
      before: { mapping: 'standard', entry: MINI_SAVED },
      after: { mapping: 'standard', entry: { model: 'openai/gpt-6-luna', switchedFrom: 'openai/gpt-4o-mini' } },
    });
  });

  test('each switch is told, with the traffic that was compared; a repeated run tells the same and changes nothing', async () => {
    const byMapping = Object.fromEntries(told.map((event) => [(event.data as { mapping: string }).mapping, event]));
    expect(told.map(({ type }) => type)).toEqual(['model.switched', 'model.switched']);
    // 10 tokens of input and 4 of output: 2.5 USD before and 2.0 after, of whatever unit.
    expect(byMapping.standard?.data).toEqual({
      ...{ mapping: 'standard', source: 'official', from: 'openai/gpt-4o-mini', to: 'openai/gpt-6-luna' },
      ...{ shutdownAt: '2027-01-14', priceChangePercent: -23.08, priceBasis: 'last_30_days' },
      warnings: ['openai/gpt-6-luna: function tools in Chat Completions work only with reasoning_effort none'],
      reason: 'openai/gpt-4o-mini-2024-07-18 ends on 2027-01-14; openai replaces openai/gpt-4o-mini-2024-07-18 with it',
    });
    const log = await logOf(tenant, 'models.switch');
    for (const nowMs of [SWITCH_DAY + 1, SWITCH_DAY + 3 * 86_400_000]) expect(await runOf(tenant, nowMs)).toEqual(told);
    expect(await logOf(tenant, 'models.switch')).toEqual(log);
    expect(await runOf(tenant, SWITCH_DAY + 8 * 86_400_000)).toEqual([]);
    await record(tenant, told);
    await record(tenant, told);
    const { items } = (await tenant.api.send('readEvents', { query: {} })).data;
    const recorded = items.filter(({ type }) => type === 'model.switched');
    expect(recorded.map(({ eventId }) => eventId).sort()).toEqual(told.map(({ eventId }) => eventId).sort());
    for (const event of recorded) expect(OrganizationEvent.parse(event)).toEqual(event);
    const visitor = new Visitor();
    await visitor.signIn();
    const { text } = await visitor.read(`/console/organizations/${tenant.organizationId}/alerts?type=model.switched`);
    expect(text).toMatch(/Replaced openai\/gpt-4o-mini .*by openai\/gpt-6-luna in the mapping standard/);
  });

  test('one command takes a switch back, without its autopilot, once', async () => {
    const { warnings, ...saved } = (await switchBack(tenant, 'standard', 'openai/gpt-6-luna')).data;
    inForce();
    expect(saved.standard).toEqual(['openai/gpt-4o-mini', 'openai/gpt-6-sol']);
    expect(warnings).toEqual([expect.stringContaining('ends on 2027-01-14')]);
    expect(await ranOn(tenant, 'service/standard')).toEqual(['openai/gpt-4o-mini', 'gpt-4o-mini', 'gpt-4o-mini']);
    expect(await logOf(tenant, 'models.switch_back')).toHaveLength(1);
    await runOf(tenant);
    expect((await readModels(tenant))?.standard).toEqual(['openai/gpt-4o-mini', 'openai/gpt-6-sol']);
    for (const [mapping, model] of [
      ['standard', 'openai/gpt-6-luna'],
      ['standard', 'openai/gpt-6-sol'],
      ['unheard-of', 'openai/gpt-6-luna'],
    ] as const) {
      const { status, refusal } = await switchBack(tenant, mapping, model);
      expect([status, refusal.code]).toEqual([404, 'NOT_FOUND']);
    }
  });

  test('the console shows the switch, keeps it when the form is saved, and takes it back', async () => {
    const visitor = new Visitor();
    await visitor.signIn();
    const path = `/console/organizations/${tenant.organizationId}/models`;
    const { text } = await visitor.read(path);
    expect(text).toMatch(/Switched by the autopilot[\s\S]*small[\s\S]*openai\/gpt-4o-mini[\s\S]*openai\/gpt-6-luna/);
    inForce();
    const before = (await readModels(tenant))?.aliases?.small;
    expect(before).toContainEqual(
      expect.objectContaining({ model: 'openai/gpt-6-luna', switchedFrom: 'openai/gpt-4o-mini' }),
    );
    expect((await visitor.submit(path, path)).status).toBe(303);
    inForce();
    expect((await readModels(tenant))?.aliases?.small).toEqual(before);
    const back = await visitor.submit(path, `${path}/switch-back`, { mapping: 'small', model: 'openai/gpt-6-luna' });
    expect(back.status).toBe(303);
    inForce();
    expect((await readModels(tenant))?.aliases?.small?.[1]).toBe('openai/gpt-4o-mini');
    expect((await visitor.read(path)).text).not.toContain('Switched by the autopilot');
  });
});

describe('a switch that the policy does not allow', () => {
  test('leaves the mapping and is told once for its reasons, whatever the figures', async () => {
    const dear = { model: 'openai/gpt-5', switchTo: 'official', requiredCapabilities: ['audio_output'] };
    const tenant = await mapped({ premium: [dear] });
    const [first, ...more] = await runOf(tenant);
    expect(more).toEqual([]);
    expect(first).toMatchObject({
      ...{ type: 'model.switch_refused', atMs: expect.any(Number), customerId: null },
      data: {
        ...{ mapping: 'premium', model: 'openai/gpt-5', replacement: 'openai/gpt-6.1-sol', source: 'official' },
        reasons: [
          { code: 'CAPABILITY', message: 'openai/gpt-6.1-sol is not known to have audio_output' },
          { code: 'PRICE', message: expect.stringMatching(/^\+[\d.]+% for a typical call is above/) },
        ],
      },
    });
    expect((await readModels(tenant))?.premium).toMatchObject([{ model: 'openai/gpt-5' }]);
    expect((await runOf(tenant))[0]?.key).toBe(first?.key);
    if (first) await record(tenant, [first]);
    const visitor = new Visitor();
    await visitor.signIn();
    const { text } = await visitor.read(`/console/organizations/${tenant.organizationId}/alerts`);
    expect(text).toContain('in the mapping premium: openai/gpt-6.1-sol is not known to have audio_output; +');
    expect(await runOf(tenant)).toEqual([]);
    // Other figures are no other reasons.
    await setModels(tenant, { premium: [{ ...dear, maxPriceIncreasePercent: 1 }] });
    expect(await runOf(tenant)).toEqual([]);
    await setModels(tenant, { premium: [{ ...dear, maxPriceIncreasePercent: 1_000 }] });
    const [other] = await runOf(tenant);
    expect(other?.data).toMatchObject({ reasons: [{ code: 'CAPABILITY' }] });
    expect(other?.key).not.toBe(first?.key);
    await setModels(tenant, { premium: [{ ...dear, maxPriceIncreasePercent: 1_000, requiredCapabilities: [] }] });
    expect((await runOf(tenant)).map(({ type }) => type)).toEqual(['model.switched']);
    expect(await logOf(tenant, 'models.switch_refused')).toEqual([]);
  });

  test('a reviewed successor is taken if the entry says so', async () => {
    const tenant = await mapped({ standard: [{ ...MINI, switchTo: 'reviewed' }] });
    expect((await runOf(tenant))[0]?.data).toMatchObject({ reasons: [{ code: 'NO_REPLACEMENT' }] });
    const review = { replacementModelKey: 'openai/gpt-6-luna', reason: 'measured' };
    const modelKey = 'openai/gpt-4o-mini-2024-07-18';
    expect((await operator.send('putReview', { params: { modelKey }, body: review })).status).toBe(200);
    inForce();
    expect((await runOf(tenant))[0]?.data).toMatchObject({
      ...{ source: 'reviewed', to: 'openai/gpt-6-luna', priceBasis: 'typical_call' },
      reason: expect.stringContaining('reviewed by an operator on 2026-12-31: measured'),
    });
  });

  test('without autopilot, without mappings, and for an organization that is not there, nothing happens', async () => {
    const plain = await mapped({ standard: ['openai/gpt-4o-mini'], premium: ['gpt-4o-2024-05-13'] });
    expect(await runOf(plain)).toEqual([]);
    expect(await runOf(await newTenant())).toEqual([]);
    const organizationId = crypto.randomUUID();
    expect(
      await runAutopilot({
        env: bindings,
        organizationId: asOrganizationId(organizationId),
        nowMs: Date.now(),
        defer: () => undefined,
      }),
    ).toEqual([]);
  });
});

test('mappings that an operator changed meanwhile are not overwritten, and then nothing is logged', async () => {
  const tenant = await mapped({ standard: ['openai/gpt-6-luna'] });
  const { organizationId } = tenant;
  const before = { standard: ['openai/gpt-6-luna'], premium: [] };
  const change = (from: typeof before) =>
    commitStatements(
      bindings,
      [replaceMappings(bindings, organizationId, from, { standard: [], premium: ['openai/gpt-6-sol'] })],
      {
        ...{ atMs: Date.now(), actor: 'autopilot', action: 'models.switch', organizationId, subject: organizationId },
        ...{ before: null, after: null, correlationId: 'c' },
      },
      null,
    );
  const failure = await change({ standard: ['openai/gpt-5'], premium: [] }).catch((error: unknown) => error);
  expect(isTaken(failure)).toBe(true);
  expect(await readModels(tenant)).toEqual(before);
  expect(await logOf(tenant, 'models.switch')).toEqual([]);
  await change(before);
  expect((await readModels(tenant))?.premium).toEqual(['openai/gpt-6-sol']);
  expect(await logOf(tenant, 'models.switch')).toHaveLength(1);
});

test('streams and answers under an idempotency key say which model of the mapping ran, also when they are repeated', async () => {
  const tenant = await mapped({ standard: ['openai/gpt-6-luna'] });
  const chunk = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [], usage })}\n\n`;
  vendor.answers = (url, body) =>
    body.stream === true
      ? new Response(`${chunk}data: [DONE]\n\n`, { headers: { 'content-type': 'text/event-stream' } })
      : answers(url, body);
  for (const stream of [true, false]) {
    const key = { 'Idempotency-Key': `key-${stream}` };
    for (const replayed of [null, 'true']) {
      const { response, callId, rest } = await ask(
        tenant.key,
        { model: 'service/standard', stream },
        bindings,
        undefined,
        key,
      );
      await response.text();
      await rest();
      expect([response.headers.get('x-llm-model-key'), response.headers.get('idempotency-replayed')]).toEqual([
        'openai/gpt-6-luna',
        replayed,
      ]);
      expect(await readStoredCall(tenant, callId)).toMatchObject({ outcome: { modelUsed: 'gpt-6-luna' } });
    }
  }
});

describe('an alias', () => {
  let tenant: Keyed;
  beforeAll(async () => {
    tenant = await mapped({ standard: ['openai/gpt-6-luna'], aliases: { 'my.chat-1': ['gpt-4o-mini', 'gpt-5.2'] } });
  });
  const get = async (path: string) => {
    const headers = { Authorization: `Bearer ${tenant.key}` };
    return app.request(path, { headers }, bindings, createExecutionContext());
  };

  test('is a model of the price of the one that runs, goes on to its next model, and is no hint of a tier', async () => {
    vendor.answers = (_url, body) =>
      body.model === 'gpt-4o-mini' ? Response.json({ error: { message: 'busy' } }, { status: 503 }) : answers('', body);
    const { response, callId, rest } = await ask(tenant.key, { model: 'service/my.chat-1' });
    await rest();
    expect(response.headers.get('x-llm-model-key')).toBe('openai/gpt-5.2');
    expect(response.headers.get('x-service-attempts')).toBe('openai/gpt-4o-mini=503, openai/gpt-5.2=200');
    expect(await readStoredCall(tenant, callId)).toMatchObject({ outcome: { modelUsed: 'gpt-5.2' } });
    const { meters, models } = (await tenant.api.send('readUsage', { params: { customerId: 'default' } })).data;
    expect([meters.premiumCalls?.used, meters.standardCalls?.used]).toEqual([1, 0]);
    expect(models).toEqual({ standard: ['openai/gpt-6-luna'], premium: [] });
  });

  test('is in the list of models, can be read, and may be the model of a session', async () => {
    const list = (await (await get('/v1/models')).json()) as { data: { id: string; owned_by: string }[] };
    expect(list.data.filter(({ owned_by }) => owned_by === 'service').map(({ id }) => id)).toEqual([
      'service/standard',
      'service/my.chat-1',
    ]);
    expect(await (await get('/v1/models/service%2Fmy.chat-1')).json()).toMatchObject({ id: 'service/my.chat-1' });
    expect((await get('/v1/models/service%2Fother')).status).toBe(404);
    const body = { customerId: 's', models: ['service/my.chat-1'] };
    const { token } = (await operator.with(tenant.key).send('createClientSession', { body })).data;
    vendor.answers = answers;
    expect((await ask(token, { model: 'service/my.chat-1' })).response.status).toBe(200);
    expect((await ask(token, { model: 'service/standard' })).response.status).toBe(403);
  });

  test('and its autopilot are checked where they are set, with the field and the rule', async () => {
    for (const [body, path, message] of [
      [{ aliases: { premium: [] } }, 'aliases.premium', 'must not be the name of a tier'],
      [{ aliases: { 'Upper Case': [] } }, 'aliases.Upper Case', 'lower-case'],
      [{ aliases: { a: ['service/standard'] } }, 'aliases.a.0', 'must be a model'],
      [{ standard: ['service/a'] }, 'standard.0', 'must be a model'],
      [{ standard: [7] }, 'standard.0', 'must be a model, or an object'],
      [{ premium: [{ model: 'a/b' }] }, 'premium.0.switchTo', 'is required'],
      [{ premium: [{ ...MINI, switchDaysBefore: 366 }] }, 'premium.0.switchDaysBefore', 'at most 365'],
      [
        { premium: [{ ...MINI, requiredCapabilities: ['magic'] }] },
        'premium.0.requiredCapabilities.0',
        'must be one of',
      ],
      [{ aliases: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`a${n}`, []])) }, 'aliases', 'at most 50'],
    ] as const) {
      const { status, refusal } = await setModels(tenant, body);
      expect(status).toBe(400);
      expect(refusal.details, JSON.stringify(body).slice(0, 100)).toContainEqual({
        path,
        message: expect.stringContaining(message),
      });
    }
  });

  test('a model that only a price of the organization knows is saved without a warning, in every surface', async () => {
    const models = { standard: ['acme/own-model', 'acme/nobody-knows'] };
    const setModelsWarnings = async () => (await setModels(tenant, models)).data.warnings;
    expect(await setModelsWarnings()).toEqual([
      'acme/own-model is not in the catalog',
      'acme/nobody-knows is not in the catalog',
    ]);
    await operator.send('setPrice', {
      params: { org: tenant.organizationId, modelKey: 'acme/own-model' },
      body: { inputUsdPerMillion: 1, outputUsdPerMillion: 2 },
    });
    expect(await setModelsWarnings()).toEqual(['acme/nobody-knows is not in the catalog']);
    const visitor = new Visitor();
    await visitor.signIn();
    const { text } = await visitor.read(`/console/organizations/${tenant.organizationId}/models`);
    const card = text.slice(text.indexOf('Models of the tiers'), text.indexOf('Own prices'));
    expect(card).toContain('acme/nobody-knows is not in the catalog');
    expect(card).not.toContain('acme/own-model is not in the catalog');
  });
});

describe('a model that was named outright and is retired', () => {
  let tenant: Keyed;
  beforeAll(async () => {
    tenant = await newTenant();
    for (const provider of ['openai', 'anthropic', 'google']) {
      const params = { org: tenant.organizationId, provider };
      expect((await operator.send('setVendor', { params, body: { apiKey: 'sk-test' } })).status).toBe(200);
    }
    inForce();
  });
  const DAYS = { openai: '2026-10-23', anthropic: '2026-01-05', google: '2026-06-01' };
  const PROMPT = { contents: [{ role: 'user', parts: [{ text: 'x' }] }] };
  const refused = (provider: keyof typeof DAYS, model: string) =>
    expect.stringMatching(
      new RegExp(`^the model ${provider}/${model} was retired by its provider on ${DAYS[provider]}; use ${provider}/`),
    );

  test('is refused in the form of OpenAI, Anthropic and Google, and nothing is begun or held', async () => {
    for (const stream of [false, true]) {
      const openai = await ask(tenant.key, { model: 'gpt-4o-2024-05-13', stream });
      expect([openai.response.status, openai.response.headers.get('x-should-retry')]).toEqual([404, 'false']);
      expect(openai.response.headers.get('link')).toContain('/openai/gpt-4o-2024-05-13>; rel="successor-version"');
      expect(await openai.response.json()).toEqual({
        error: {
          ...{ type: 'invalid_request_error', code: 'MODEL_RETIRED', param: 'model' },
          message: refused('openai', 'gpt-4o-2024-05-13'),
        },
      });
      const messages = { model: 'claude-3-opus-20240229', max_tokens: 5, stream };
      const anthropic = await ask(tenant.key, messages, bindings, '/v1/messages');
      expect(anthropic.response.status).toBe(404);
      expect(await anthropic.response.json()).toEqual({
        type: 'error',
        error: {
          ...{ type: 'not_found_error', code: 'MODEL_RETIRED', param: 'model' },
          message: refused('anthropic', 'claude-3-opus-20240229'),
        },
      });
    }
    const context = createExecutionContext();
    const google = await app.request(
      '/v1beta/models/gemini-2.0-flash:generateContent',
      {
        method: 'POST',
        headers: { 'x-goog-api-key': tenant.key, 'Content-Type': 'application/json' },
        body: JSON.stringify(PROMPT),
      },
      bindings,
      context,
    );
    await waitOnExecutionContext(context);
    expect(google.status).toBe(404);
    expect(await google.json()).toMatchObject({
      error: {
        ...{ code: 404, status: 'NOT_FOUND', message: refused('google', 'gemini-2.0-flash') },
        details: [{ reason: 'MODEL_RETIRED' }],
      },
    });
    const params = { org: tenant.organizationId, customerId: 'default' };
    expect((await operator.send('readCustomer', { params })).status).toBe(404);
  });

  test('is asked at another address, and goes on to the model that the caller named next', async () => {
    const other = await newTenant();
    expect(await ranOn(other, 'gpt-4o-2024-05-13')).toEqual(
      Array(3).fill('gpt-4o-2024-05-13').with(0, 'openai/gpt-4o-2024-05-13'),
    );
    vendor.answers = (url, { model }) => {
      expect(url).toBe('https://api.openai.com/v1/chat/completions');
      return Response.json({ id: 'c', object: 'chat.completion', model, choices: [], usage });
    };
    const { response, rest } = await ask(tenant.key, { model: 'gpt-4o-2024-05-13', models: ['gpt-6-luna'] });
    await rest();
    expect([response.status, response.headers.get('x-llm-model-key')]).toEqual([200, 'openai/gpt-6-luna']);
  });
});
