/**
 * The gateway's rules that need no vendor: the model of a name, the customer of a request, the effort that is sent, the
 * record of a batch's line, and the caller's view of a vendor's error.
 */

import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG as catalog } from '../../src/catalog/built-in.ts';
import type { OrganizationConfig, Session } from '../../src/config/credentials.ts';
import { GatewayCustomer } from '../../src/contract/gateway/labels.ts';
import { gatewayOperations } from '../../src/contract/gateway/operations.ts';
import { asCustomerId } from '../../src/domain/ids.ts';
import { kindNamed } from '../../src/domain/vendor-kind.ts';
import { parseInputLine } from '../../src/gateway/batches/input-line.ts';
import { isTerminal, lineCallId, readLine } from '../../src/gateway/batches/metering.ts';
import { anthropicError } from '../../src/gateway/dialects/anthropic.ts';
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts';
import { type Refused, refusalAnswer } from '../../src/gateway/error-envelope.ts';
import { identify } from '../../src/gateway/identify.ts';
import { type Attempt, resolveAttempts } from '../../src/gateway/models.ts';
import { readResult, withoutKeys } from '../../src/gateway/vendor-result.ts';
import { nameModel } from '../../src/metering/model-names.ts';
import { chooseEffort } from '../../src/vendors/effort.ts';
import { EFFORTS } from '../../src/vendors/usage/figures.ts';
import { NO_USAGE } from './fixtures.ts';

const vendor = (provider: string) =>
  [provider, { baseUrl: `https://${provider}.test/v1`, kind: kindNamed(provider), sealedKey: 'sealed' }] as const;
const organization = {
  organizationId: 'o',
  defaultPlan: null,
  models: { standard: ['gpt-4o-mini', 'no-such-model'], premium: ['openai/gpt-5.2'] },
  aliases: new Map([['cheap', ['openai/gpt-5.2', 'gpt-4o-mini', 'no-such-model']]]),
  prices: new Map(),
  vendors: new Map([vendor('openai'), vendor('anthropic'), vendor('acme')]),
  vendorOrigins: [],
} as unknown as OrganizationConfig;
const NOW = Date.UTC(2026, 10, 20);

const requireRefusal = (result: { ok: true } | Refused) => {
  if (result.ok) throw new Error('not refused');
  return { status: refusalAnswer(result.refusal).status, ...result.refusal };
};

describe('a name', () => {
  test.each([
    ['gpt-5.2', 'openai', 'gpt-5.2'],
    ['gpt-4o', 'openai', 'gpt-4o'],
    // The vendor's own spelling, if the requested one is not the vendor's.
    ['GPT-4o', 'openai', 'gpt-4o-2024-08-06'],
    ['claude-3-haiku', 'anthropic', 'claude-3-haiku-20240307'],
    ['openai/gpt-from-tomorrow', 'openai', 'gpt-from-tomorrow'],
    ['openai/ft:gpt-4o-mini:acme::x', 'openai', 'ft:gpt-4o-mini:acme::x'],
    ['gemini/gemini-2.5-flash', 'google', 'gemini-2.5-flash'],
    ['acme/deep/er', 'acme', 'deep/er'],
    ['unheard-of/model', 'unheard-of', 'model'],
  ])('%s is a model of %s, which calls it %s', (name, provider, model) => {
    expect(nameModel(organization, catalog, name, NOW)).toEqual({ provider, model });
  });

  test.each([
    ['gpt-unheard-of'],
    ['ft:gpt-4o-mini:acme::x'],
    ['service/other'],
    ['openai/'],
    ['/gpt-4o'],
    ['Not A Vendor/x'],
    [''],
  ])('%j stands for no model', (name) => {
    expect(nameModel(organization, catalog, name, NOW)).toBeNull();
  });
});

describe('attempts', () => {
  const resolve = async (...names: string[]) => {
    const resolved = await resolveAttempts({ organization }, catalog, DIALECTS.createChatCompletion, names, NOW);
    return resolved.ok ? resolved.attempts : requireRefusal(resolved);
  };
  const brief = (attempts: unknown) =>
    (attempts as Attempt[]).map(({ modelKey, tier, assertsTier, onDowngrade }) => ({
      modelKey,
      tier,
      assertsTier,
      onDowngrade,
    }));

  test('bill the tier of the mapping, else, as for an alias, of the price', async () => {
    expect(brief(await resolve('gpt-5.2', 'gpt-4o-mini', 'acme/unpriced'))).toEqual([
      { modelKey: 'openai/gpt-5.2', tier: 'premium', assertsTier: false, onDowngrade: false },
      { modelKey: 'openai/gpt-4o-mini', tier: 'standard', assertsTier: false, onDowngrade: false },
      // Without a price, the end states the tier that was checked.
      { modelKey: 'acme/unpriced', tier: 'standard', assertsTier: true, onDowngrade: false },
    ]);
    expect(brief(await resolve('service/premium'))).toEqual([
      { modelKey: 'openai/gpt-5.2', tier: 'premium', assertsTier: true, onDowngrade: false },
      { modelKey: 'openai/gpt-4o-mini', tier: 'standard', assertsTier: true, onDowngrade: true },
    ]);
    expect(brief(await resolve('service/cheap'))).toEqual([
      { modelKey: 'openai/gpt-5.2', tier: 'premium', assertsTier: false, onDowngrade: false },
      { modelKey: 'openai/gpt-4o-mini', tier: 'standard', assertsTier: false, onDowngrade: false },
    ]);
    expect(await resolve('service/other')).toMatchObject({ status: 404, code: 'model_not_found' });
  });

  test('are bounded, and a repeated name adds none', async () => {
    expect(await resolve('gpt-5.2', 'gpt-5.2')).toHaveLength(1);
    expect(await resolve(...Array.from({ length: 11 }, (_, index) => `acme/m${index}`))).toHaveLength(10);
  });

  test('that are not possible are refused with the name of the vendor', async () => {
    expect(await resolve('google/gemini-2.5-flash')).toMatchObject({
      status: 400,
      code: 'VENDOR_NOT_CONFIGURED',
      message: expect.stringContaining('"google"'),
    });
    const names = ['anthropic/x'];
    for (const [dialect, message] of [
      [DIALECTS.createEmbedding, 'the vendor anthropic does not offer /v1/embeddings'],
      [DIALECTS.createResponse, 'the vendor anthropic does not offer /v1/responses; use /v1/chat/completions'],
    ] as const) {
      const resolved = await resolveAttempts({ organization }, catalog, dialect, names, NOW);
      expect(requireRefusal(resolved)).toMatchObject({ status: 400, code: 'ENDPOINT_NOT_OFFERED', message });
    }
    expect(await resolve('gpt-5.2', 'gpt-unheard-of')).toMatchObject({ status: 404, code: 'model_not_found' });
  });
});

describe('the customer', () => {
  const session = { customerId: asCustomerId('s'), customerUserId: null, scopes: [] } as Session;
  type Identified = Parameters<typeof identify>;
  const begin = (request: Identified[0], headers: Identified[1], by: Identified[2]) => {
    const identified = identify(request, headers, by, undefined);
    return identified.ok ? identified.begin : requireRefusal(identified);
  };

  test('is named by the body, the header, the session, or is the default', () => {
    expect(begin({ customer: GatewayCustomer.parse('b') }, { customerId: 'h' }, undefined)).toEqual({
      customerId: 'b',
    });
    expect(begin({ customer: GatewayCustomer.parse({ id: 'b', name: 'N', userId: 'u' }) }, {}, undefined)).toEqual({
      customerId: 'b',
      customerName: 'N',
      customerUserId: 'u',
    });
    expect(begin({ customer: GatewayCustomer.parse({ userId: 'u' }) }, { customerId: 'h' }, undefined)).toMatchObject({
      customerId: 'h',
      customerUserId: 'u',
    });
    expect(begin({}, { customerId: 'h' }, undefined)).toEqual({ customerId: 'h' });
    expect(begin({ user: ' ' }, {}, undefined)).toEqual({ customerId: 'default' });
    expect(begin({ user: 'u'.repeat(300) }, {}, undefined)).toMatchObject({ customerUserId: 'u'.repeat(255) });
    expect(begin({ user: 'u' }, { customerId: 's' }, session)).toEqual({ customerId: 's', customerUserId: 'u' });
    expect(begin({}, { customerId: 'other' }, session)).toMatchObject({ status: 403, code: 'CUSTOMER_FORBIDDEN' });
    expect(begin({ user: 'other' }, {}, { ...session, customerUserId: 'u' })).toMatchObject({
      customerUserId: 'u',
    });
  });

  test('and the labels can be named by headers, over which the body wins', () => {
    const headers = { customerId: 'h', customerUserId: 'hu', feature: 'hf', tags: ' a, b ,c' };
    expect(begin({}, headers, undefined)).toEqual({
      customerId: 'h',
      customerUserId: 'hu',
      feature: 'hf',
      tags: ['a', 'b', 'c'],
    });
    const nulls = { customer: null, feature: null, tags: null, user: null };
    expect(begin(nulls, headers, undefined)).toEqual(begin({}, headers, undefined));
    expect(begin({ user: 'u', feature: 'f', tags: [] }, headers, undefined)).toEqual({
      customerId: 'h',
      customerUserId: 'u',
      feature: 'f',
      tags: [],
    });
    expect(begin({ customer: { customerUserId: 'c' } }, headers, undefined)).toMatchObject({ customerUserId: 'c' });
  });

  test.each([
    ['customerId', 'x'.repeat(256), 'x-usage-customer-id'],
    ['customerId', '', 'x-usage-customer-id'],
    ['customerUserId', ' ', 'x-usage-customer-user-id'],
    ['feature', 'x'.repeat(201), 'x-usage-feature'],
    ['tags', 'a,,b', 'x-usage-tags'],
    ['tags', '', 'x-usage-tags'],
    ['tags', Array(51).fill('t').join(), 'x-usage-tags'],
  ])('a header %s of %j is refused by its name', (label, value, param) => {
    expect(begin({ customer: { customerId: asCustomerId('b') } }, { [label]: value }, undefined)).toMatchObject({
      status: 400,
      code: 'BAD_REQUEST',
      param,
      message: expect.stringContaining(`${param}: `),
    });
  });

  test.each(['customerUserId', 'feature', 'tags'])('a session sends no header %s', (label) => {
    expect(begin({}, { [label]: 'x' }, session)).toMatchObject({ status: 400, code: 'FIELD_NOT_ALLOWED' });
  });
});

describe('effort', () => {
  test('never exceeds the ceiling of the plan, and is not sent if nothing was asked', () => {
    const supported = ['none', 'low', 'medium', 'high'];
    for (const asked of EFFORTS) {
      for (const [ceiling, highest] of [
        ['NONE', 'none'],
        ['LOW', 'low'],
        ['MEDIUM', 'medium'],
        ['HIGH', 'max'],
      ] as const) {
        const { effort, source } = chooseEffort(asked, ceiling, supported);
        expect(EFFORTS.indexOf(effort ?? 'none')).toBeLessThanOrEqual(EFFORTS.indexOf(highest));
        expect(source).toBe(effort === asked ? 'provider_request' : 'gateway_config');
      }
    }
    expect(chooseEffort(undefined, 'HIGH', supported)).toEqual({ effort: undefined, source: undefined });
    expect(chooseEffort(undefined, 'LOW', supported)).toEqual({ effort: undefined, source: undefined });
    expect(chooseEffort(undefined, 'NONE', supported)).toEqual({ effort: 'none', source: 'gateway_config' });
    expect(chooseEffort(undefined, 'LOW', ['low', 'high'])).toEqual({ effort: 'low', source: 'gateway_config' });
    expect(chooseEffort(undefined, 'NONE', undefined)).toEqual({ effort: undefined, source: undefined });
    expect(chooseEffort('high', 'HIGH', [])).toEqual({ effort: undefined, source: undefined });
  });
});

describe("a line of a batch's file", () => {
  const read = (line: object | string, cut = false) =>
    readLine({ text: typeof line === 'string' ? line : JSON.stringify(line), cut, shortened: false }, 3, 'openai');
  const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };

  test('yields its usage, or why it failed', () => {
    const body = { object: 'chat.completion', model: 'gpt-5.2', choices: [], usage };
    expect(read({ custom_id: 'a', response: { status_code: 200, body }, error: null })).toEqual({
      customId: 'a',
      outcome: { usage: { ...NO_USAGE, inputTokens: 5, responseTokens: 2 }, modelUsed: 'gpt-5.2' },
    });
    const refused = { error: { message: 'no', type: 'invalid_request_error', code: 'bad' } };
    expect(read({ custom_id: 'a', response: { status_code: 400, body: refused } }).outcome).toEqual({
      usage: NO_USAGE,
      error: { code: 'bad', message: 'no' },
    });
    expect(read({ custom_id: 'a', response: null, error: { code: 'batch_expired', message: 'late' } }).outcome).toEqual(
      {
        usage: NO_USAGE,
        error: { code: 'batch_expired', message: 'late' },
      },
    );
  });

  test('that ran without reporting usage has an unknown cost, not a zero cost, and its text is counted if it is there', () => {
    expect(
      read({ custom_id: 'a', response: { status_code: 200, body: { object: 'list', data: [] } } }).outcome,
    ).toEqual({ usage: null });
    expect(read('{"id":"1","custom_id":"a \\" b","response":{"stat', true)).toEqual({
      customId: 'a \\" b',
      outcome: { usage: null },
      written: null,
    });
    const broken = read('no json at all');
    expect(broken).toMatchObject({ customId: 'line 3', outcome: { usage: null } });
    expect(broken.written).toBeGreaterThan(0);
  });

  test.each([1_000_000_001, -1, '7'])('that reports %j tokens has an unclear prompt, not one of zero', (figure) => {
    const body = {
      object: 'chat.completion',
      model: 'gpt-5.2',
      choices: [],
      usage: { ...usage, prompt_tokens: figure },
    };
    for (const status of [200, 500]) {
      const { outcome } = read({ custom_id: 'a', response: { status_code: status, body } });
      expect(outcome.usage).toMatchObject({ responseTokens: 2, unclear: ['inputTokens'] });
    }
  });

  test('has a call id that is a valid key', async () => {
    expect(await lineCallId('batch_1', 'a')).toBe('batch:batch_1:a');
    const ids = await Promise.all(
      ['ü', 'ö', 'a b', 'x'.repeat(300), 'x'.repeat(301)].map((id) => lineCallId('batch_1', id)),
    );
    expect(new Set(ids).size).toBe(5);
    for (const id of ids) expect(id).toMatch(/^batch:batch_1:[\da-f]{64}$/);
    expect(
      ['completed', 'failed', 'expired', 'cancelled', 'in_progress', 'cancelling', undefined].map(isTerminal),
    ).toEqual([true, true, true, true, false, false, false]);
  });
});

describe("a vendor's error", () => {
  const answer = (status: number, body: unknown, headers = {}) =>
    readResult({ kind: 'answer', status, ok: false, headers: new Headers(headers), body }, 'sk-our-own-key').answer;
  const error = (status: number, body: unknown) => JSON.parse(String(answer(status, body).body)).error;

  test("keeps its message, type and code in OpenAI's envelope, whoever the vendor is", () => {
    expect(error(400, { error: { message: 'm', type: 't', param: 'p', code: 'c' } })).toEqual({
      message: 'm',
      type: 't',
      param: 'p',
      code: 'c',
    });
    expect(error(429, [{ error: { code: 429, message: 'm', status: 'RESOURCE_EXHAUSTED' } }])).toEqual({
      message: 'm',
      type: 'rate_limit_exceeded',
      param: null,
      code: 'RESOURCE_EXHAUSTED',
    });
    expect(error(529, { type: 'error', error: { type: 'overloaded_error', message: 'm' } })).toEqual({
      message: 'm',
      type: 'overloaded_error',
      param: null,
      code: null,
    });
    expect(error(500, '<html>')).toMatchObject({ message: 'the vendor answered 500', type: 'server_error' });
    expect(answer(429, {}, { 'Retry-After': '7', 'x-other': '1' }).headers).toMatchObject({ 'Retry-After': '7' });
    expect(answer(429, {}, { 'x-other': '1' }).headers).not.toHaveProperty('x-other');
  });

  test.each([
    ['Incorrect API key provided: sk-our-own-key.', 'Incorrect API key provided: [credential].'],
    ['Incorrect API key: sk-proj-****abcd', 'Incorrect API key: [credential]'],
    ['bad Bearer abcdefgh12345678', 'bad Bearer [credential]'],
    ['key AIzaSyA123456789 is off', 'key [credential] is off'],
    ['the model `sk` has no task-list', 'the model `sk` has no task-list'],
  ])('%j is passed on without keys', (message, told) => {
    expect(withoutKeys(message, 'sk-our-own-key')).toBe(told);
  });
});

describe("a vendor's key, if its vendor repeats it", () => {
  const KEY = 'own-key-without-a-known-form';
  const told = (status: number, body: unknown) => {
    const answered = { kind: 'answer', status, ok: status < 400, headers: new Headers(), body } as const;
    const form = { isText: false, counted: (usage: null) => usage, hasOutput: () => false };
    return [readResult(answered, KEY), readResult(answered, KEY, anthropicError, form as never)];
  };
  const words = { message: `m ${KEY}`, code: `c-${KEY}`, type: KEY, status: `s_${KEY}`, param: `p.${KEY}` };

  test.each([
    ['an error', 401, { error: words }],
    ['an error without a message', 400, { error: { code: KEY } }],
    ["an error in Google's form", 403, [{ error: { status: KEY, message: KEY } }]],
    ['an error in an answer that says 200', 200, { error: words }],
    ['a response that failed', 200, { object: 'response', status: 'failed', error: words }],
    ['an error in the answer itself', 400, { object: 'error', ...words }],
    ['a code that is cut within it', 400, { error: { code: 'x'.repeat(90) + KEY, message: 'x'.repeat(3_990) + KEY } }],
  ])('is in no word of %s, neither told nor recorded', (_, status, body) => {
    for (const reading of told(status, body)) {
      expect(reading.error).toBeDefined();
      expect(JSON.stringify([reading.answer, reading.error])).not.toContain(KEY.slice(0, 8));
    }
  });

  test('leaves words alone that have a part of a key which is too short to be a secret', () => {
    const answered = { kind: 'answer', status: 400, ok: false, headers: new Headers() } as const;
    const { answer } = readResult({ ...answered, body: { error: { code: 'context_length_exceeded' } } }, 'x');
    expect(answer.body).toContain('context_length_exceeded');
  });
});

test('only the two routes of the contract take session tokens', () => {
  const open = Object.values(gatewayOperations).filter(({ security }) => 'clientScope' in security);
  expect(open.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/v1/responses']);
});

test('a line of a batch whose url is no text names no path', () => {
  const line = { custom_id: 'a', method: 'POST', url: { toString: 1 }, body: { model: 'm' } };
  expect(parseInputLine(JSON.stringify(line))).toMatchObject({ path: '', model: 'm' });
});
