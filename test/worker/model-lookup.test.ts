/**
 * The public model lookup over HTTP: shapes, validators, errors, CORS, and its answers if its catalog is not right.
 */
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { currentCatalog } from '../../src/config/catalog.ts';
import { FullResolution, LightResolution, LOOKUP_PATH, LookupError } from '../../src/contract/model-lookup.ts';
import { sha256Hex } from '../../src/platform/hash.ts';
import { CHARACTER } from '../support/characters.ts';
import { bindings, operator, worker } from '../support/worker.ts';

const BASE = `https://callmeter.test${LOOKUP_PATH}`;
const get = (path: string, init: RequestInit = {}) =>
  worker.fetch(BASE + path, init as never) as unknown as Promise<Response>;
const full = async (path: string) => FullResolution.parse(await (await get(path)).json());
const light = async (path: string) =>
  LightResolution.parse(await (await get(`${path}${path.includes('?') ? '&' : '?'}response=light`)).json());

describe('a resolution', () => {
  test('of an active model is KEEP, with price, source and candidates', async () => {
    const answer = await full('/anthropic/claude-opus-5-5');
    expect(answer).toMatchObject({
      schemaVersion: 1,
      catalogVersion: '2026-11-27',
      requested: { modelKey: 'anthropic/claude-opus-5-5', provider: 'anthropic', model: 'claude-opus-5-5' },
      lifecycle: {
        status: 'ACTIVE',
        source: { label: expect.any(String), url: expect.stringMatching(/^https:/), checkedAt: expect.any(String) },
      },
      action: 'KEEP',
      match: { matchedModelKey: 'anthropic/claude-opus-5-5', strategy: 'exact' },
      pricing: { inputUsdPerMillion: 4, outputUsdPerMillion: 20 },
      degraded: false,
      policy: {
        purpose: 'upgrade',
        inputTokens: 8000,
        outputTokens: 2000,
        cachedInputPercent: 30,
        maxPriceIncreasePercent: 20,
      },
      automation: { canResolveWithoutServiceAccount: true, autoApplyRecommended: false },
    });
    expect(answer.alternatives.length).toBeGreaterThan(0);
    expect(answer.alternatives.every(({ provider }) => provider !== 'anthropic')).toBe(true);
    expect(answer.equivalents.every(({ provider }) => provider === 'anthropic')).toBe(true);
  });

  test("of a deprecated model is REPLACE, with the provider's replacement first", async () => {
    const answer = await full('/openai/gpt-4o');
    expect(answer).toMatchObject({
      lifecycle: { status: 'DEPRECATED', announcedAt: '2026-10-14', shutdownAt: '2027-01-14' },
      action: 'REPLACE',
      recommendedModelKey: 'openai/gpt-6-luna',
      providerReplacementModelKey: 'openai/gpt-6-luna',
      recommendationSource: 'provider',
      match: { matchedModelKey: 'openai/gpt-4o-2024-08-06', strategy: 'alias' },
    });
    expect(answer.equivalents[0]).toMatchObject({
      modelKey: 'openai/gpt-6-luna',
      relation: 'official_replacement',
      confidence: 'authoritative',
      requiresEvaluation: false,
    });
  });

  test('suggests the shorter key that the provider documents', async () => {
    expect((await full('/openai/gpt-4o-2024-08-06')).keyGuidance).toMatchObject({
      requestedModelKey: 'openai/gpt-4o-2024-08-06',
      preferredModelKey: 'openai/gpt-4o',
      resolvedModelKey: 'openai/gpt-4o-2024-08-06',
      shouldUpdate: true,
    });
    expect((await full('/openai/gpt-4o')).keyGuidance?.shouldUpdate).toBe(false);
  });

  test('of an unknown key is UNKNOWN and REVIEW with nothing to choose from', async () => {
    expect(await full('/openai/no-such-thing-at-all')).toMatchObject({
      lifecycle: { status: 'UNKNOWN' },
      action: 'REVIEW',
      recommendationSource: 'none',
      equivalents: [],
      alternatives: [],
    });
  });

  test('of a similar key is UNKNOWN and REVIEW with the key as a suggestion, and nothing else of its model', async () => {
    const answer = await full('/openai/gpt-4o-min');
    expect(answer).toMatchObject({
      action: 'REVIEW',
      recommendationSource: 'none',
      match: { matchedModelKey: 'openai/gpt-4o-mini-2024-07-18', strategy: 'fuzzy', score: expect.any(Number) },
      equivalents: [],
      variants: [],
      alternatives: [],
      excludedCandidates: [],
    });
    expect(answer.lifecycle).toEqual({ status: 'UNKNOWN' });
    for (const field of ['recommendedModelKey', 'providerReplacementModelKey', 'keyGuidance', 'pricing'] as const)
      expect(answer[field]).toBeUndefined();
    expect(answer.warnings?.[0]).toContain('most similar');
    const compact = await light('/openai/gpt-4o-min');
    expect([compact.lifecycle, compact.action]).toEqual([{ status: 'UNKNOWN' }, 'REVIEW']);
    expect(compact.recommendedModelKey).toBeUndefined();
  });

  test('of a date pin in the future is UNKNOWN, whatever the model', async () => {
    expect((await full('/openai/gpt-6-luna-2031-01-01')).lifecycle).toEqual({ status: 'UNKNOWN' });
  });

  test('is the same for every spelling of the key', async () => {
    const paths = ['/openai/gpt-4o-2024-08-06', '/openai%2Fgpt-4o-2024-08-06', '/%6fpenai/gpt-4o-2024-08-06'];
    const [first, ...others] = await Promise.all(paths.map(full));
    for (const other of others) expect(other).toEqual(first);
    expect(await full('/openai:gpt-4o-2024-08-06')).toMatchObject({
      match: { matchedModelKey: first?.match?.matchedModelKey, strategy: 'normalized' },
    });
    expect(await full('/gemini/gemini-2.5-pro')).toMatchObject({
      requested: { provider: 'google' },
      match: { strategy: 'normalized' },
    });
    expect(await full('/google/models/gemini-2.5-pro')).toMatchObject({
      match: { matchedModelKey: 'google/gemini-2.5-pro' },
    });
  });

  test('in the light format is the compact decision and agrees with the full one', async () => {
    const [short, long] = await Promise.all([light('/openai/gpt-4o'), full('/openai/gpt-4o')]);
    expect(short).toMatchObject({ response: 'light', requested: { modelKey: 'openai/gpt-4o' }, degraded: false });
    for (const field of [
      'lifecycle',
      'action',
      'recommendedModelKey',
      'decisionId',
      'validUntil',
      'generatedAt',
    ] as const) {
      expect(short[field]).toEqual(long[field]);
    }
  });

  test('recommends a change only if requested, within every bound, and compatible', async () => {
    const apply = async (query: string) =>
      (await full(`/openai/gpt-4o?allowAutoApply=true${query}`)).automation.autoApplyRecommended;
    expect(await apply('')).toBe(true);
    expect((await full('/openai/gpt-4o')).automation.autoApplyRecommended).toBe(false);
    expect(await apply('&requiredParameters=tools,structured_outputs')).toBe(true);
    expect(await apply('&requiredParameters=video_input')).toBe(false);
    expect(await apply('&minimumContext=9000000')).toBe(false);
    expect(await apply('&inputTokens=9000000')).toBe(false);
    expect((await full('/anthropic/claude-1?allowAutoApply=true')).warnings?.join()).toContain('price: not comparable');
    expect(await apply('&allowedProviders=anthropic')).toBe(false);
    expect(await apply('&endpoint=/v1/nowhere')).toBe(false);
    expect((await full('/openai/gpt-4o?allowAutoApply=true&allowedProviders=anthropic')).recommendationSource).toBe(
      'computed',
    );
    expect((await full('/anthropic/claude-opus-5-5?allowAutoApply=true')).automation.autoApplyRecommended).toBe(false);
  });
});

describe('a decision', () => {
  test('has the same id and ETag for any order of its lists', async () => {
    const etag = async (query: string) => (await get(`/openai/gpt-4o?${query}`)).headers.get('ETag');
    const id = async (query: string) => (await full(`/openai/gpt-4o?${query}`)).decisionId;
    expect(await id('requiredParameters=tools,vision')).toBe(await id('requiredParameters=vision,tools'));
    expect(await etag('allowedProviders=openai,google')).toBe(await etag('allowedProviders=google,openai'));
    expect((await full('/openai/gpt-4o?allowedModelKeys=azure/x')).warnings?.join()).toContain(
      'azure/x is not in the catalog',
    );
  });
});

describe('discovery', () => {
  test('lists purposes, defaults, parameters, capabilities and every lifecycle transition', async () => {
    const document = await (await get('')).json();
    expect(document).toMatchObject({
      schemaVersion: 1,
      catalogVersion: '2026-11-27',
      purposes: ['upgrade', 'fallback', 'retirement'],
      responses: ['full', 'light'],
      defaults: { response: 'full', inputTokens: 8000, outputTokens: 2000, allowPreview: false },
      providers: ['openai', 'anthropic', 'google'],
    });
    const { parameters } = document as { parameters: { name: string }[] };
    expect(parameters.map(({ name }) => name)).toContain('allowAutoApply');
    expect(parameters.find(({ name }) => name === 'inputTokens')).toMatchObject({
      type: 'number',
      minimum: 0,
      maximum: 10_000_000,
      default: 8000,
    });
    // As a reader writes them into a query: flags are booleans, lists have commas.
    const flags = ['allowPreview', 'allowAutoApply'];
    for (const name of flags) expect(parameters.find((one) => one.name === name)).toMatchObject({ type: 'boolean' });
    for (const name of ['requiredParameters', 'allowedProviders', 'allowedModelKeys'])
      expect(parameters.find((one) => one.name === name)).toMatchObject({
        type: 'array',
        description: expect.stringContaining('comma-separated'),
      });
    const { transitions } = (document as { lifecycle: { transitions: { date: string; scheduled: boolean }[] } })
      .lifecycle;
    expect(transitions).toHaveLength(393);
    const today = new Date().toISOString().slice(0, 10);
    for (const { date, scheduled } of transitions) expect(scheduled).toBe(date > today);
  });
});

describe('HTTP', () => {
  test('a matching ETag gets 304 without a body', async () => {
    const first = await get('/openai/gpt-4o');
    const etag = first.headers.get('ETag') ?? '';
    expect(first.headers.get('Content-Type')).toContain('application/json');
    expect(first.headers.get('Cache-Control')).toMatch(/^public, max-age=\d+, stale-while-revalidate=\d+$/);
    for (const sent of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await get('/openai/gpt-4o', { headers: { 'If-None-Match': sent } });
      expect([again.status, await again.text()]).toEqual([304, '']);
      expect(again.headers.get('ETag')).toBe(etag);
    }
    expect((await get('/openai/gpt-4o', { headers: { 'If-None-Match': '"other"' } })).status).toBe(200);
    expect((await get('/openai/gpt-4o?response=light')).headers.get('ETag')).not.toBe(etag);
    expect((await get('/openai/gpt-4o?purpose=upgrade')).headers.get('ETag')).toBe(etag);
  });

  test('any origin may send requests', async () => {
    const headers = { Origin: 'https://somewhere.example' };
    expect((await get('/openai/gpt-4o', { headers })).headers.get('Access-Control-Allow-Origin')).toBe('*');
    const preflight = await get('/openai/gpt-4o', {
      method: 'OPTIONS',
      headers: { ...headers, 'Access-Control-Request-Method': 'GET' },
    });
    expect([preflight.status, preflight.headers.get('Access-Control-Allow-Methods')]).toEqual([204, 'GET,OPTIONS']);
  });

  test.each(['POST', 'PUT', 'DELETE', 'PATCH'])('%s is 405 with Allow', async (method) => {
    const response = await get('/openai/gpt-4o', { method });
    expect([response.status, response.headers.get('Allow')]).toEqual([405, 'GET, OPTIONS']);
    expect(LookupError.parse(await response.json()).error).toBe('METHOD_NOT_ALLOWED');
    expect((await get('', { method })).status).toBe(405);
  });

  test.each([
    '/',
    '/constructor/x',
    '/__proto__/x',
    '/openai//',
    '/gpt-4o',
    '/mistral/large',
    '/openai/',
    '/openai',
    '/openai/%20',
    '/openai/%zz',
    '/openai/a%00b',
    `/openai/${'x'.repeat(301)}`,
  ])('%s is an invalid model key', async (path) => {
    const response = await get(path);
    expect(response.status).toBe(400);
    expect(LookupError.parse(await response.json()).error).toBe('INVALID_MODEL_KEY');
  });

  test.each([
    ['gpt-4.1', 'openai/gpt-4.1'],
    ['us.anthropic.claude-opus-4-7', 'anthropic/claude-opus-4-7'],
    ['openrouter/openai/gpt-6-sol', 'openai/gpt-6-sol'],
  ])('%s without a provider is refused with the key to ask for', async (name, key) => {
    const response = await get(`/${name}`);
    expect(response.status).toBe(400);
    expect(LookupError.parse(await response.json())).toMatchObject({
      error: 'INVALID_MODEL_KEY',
      message: expect.stringMatching(new RegExp(`, ask for ${key}$`)),
    });
  });

  test.each([
    ['response', 'response=tiny'],
    ['purpose', 'purpose=fun'],
    ['inputTokens', 'inputTokens=-1'],
    ['inputTokens', 'inputTokens=10000001'],
    ['inputTokens', 'inputTokens='],
    ['inputTokens', 'inputTokens=abc'],
    ['inputTokens', 'inputTokens=0&outputTokens=0'],
    ['outputTokens', 'outputTokens=1e99'],
    ['cachedInputPercent', 'cachedInputPercent=101'],
    ['maxPriceIncreasePercent', 'maxPriceIncreasePercent=1001'],
    ['requiredParameters', 'requiredParameters=telepathy'],
    ['minimumContext', 'minimumContext=-5'],
    ['minimumOutput', 'minimumOutput=x'],
    ['endpoint', 'endpoint=a%20b'],
    ['allowedProviders', 'allowedProviders=openai,mistral'],
    ['allowPreview', 'allowPreview=maybe'],
    ['allowAutoApply', 'allowAutoApply=1'],
  ])('a bad %s is an invalid request that names it: %s', async (name, query) => {
    const response = await get(`/openai/gpt-4o?${query}`);
    const { error, message } = LookupError.parse(await response.json());
    expect([response.status, error]).toEqual([400, 'INVALID_MODEL_REQUEST']);
    expect(message).toContain(name);
  });

  test('500 random keys and queries never cause a 5xx', async () => {
    const names = [
      'response',
      'purpose',
      'inputTokens',
      'requiredParameters',
      'allowedModelKeys',
      'endpoint',
      'minimumContext',
      'x',
    ];
    const word = fc.oneof(
      fc.string({ maxLength: 20 }),
      fc.constantFrom('full', 'light', '0', '-1', '1e9', 'tools,vision', 'openai', 'true', 'NaN'),
    );
    const query = fc.dictionary(fc.constantFrom(...names), word, { maxKeys: 4 });
    const key = fc.oneof(
      fc
        .tuple(fc.constantFrom('openai', 'google', 'gemini', 'x'), fc.string({ unit: CHARACTER, maxLength: 60 }))
        .map((parts) => parts.join('/')),
      fc.string({ unit: 'grapheme', maxLength: 400 }),
    );
    const raw = fc.oneof(key.map(encodeURIComponent), fc.stringMatching(/^[A-Za-z0-9%/.:_-]{0,80}$/));
    await fc.assert(
      fc.asyncProperty(raw, query, async (path, parameters) => {
        const response = await get(`/${path}?${new URLSearchParams(parameters)}`);
        expect([200, 400, 404]).toContain(response.status);
        await response.arrayBuffer();
      }),
      { numRuns: 500 },
    );
  });

  test('HEAD is 405 too: the contract has only GET', async () => {
    expect((await get('/openai/gpt-4o', { method: 'HEAD' })).status).toBe(405);
  });

  test('unknown parameters are ignored', async () => {
    expect((await get('/openai/gpt-4o?utm_source=x')).status).toBe(200);
  });
});

describe('a catalog that is invalid or unavailable', () => {
  const reading = (kv: Partial<KVNamespace>) => currentCatalog({ ...bindings, KV: kv as KVNamespace }, () => undefined);

  test('if KV fails, the built-in catalog is used, marked degraded', async () => {
    const failing = { get: () => Promise.reject(new Error('KV is away')) } as unknown as KVNamespace;
    expect(await reading(failing)).toMatchObject({
      source: 'built-in',
      problem: expect.stringContaining('could not be read'),
    });
  });

  test('a published copy that does not match its hash is not used, and the answer is marked degraded', async () => {
    const pointer = { version: '2027-01-01', hash: await sha256Hex('{"models":[]}'), publishedAtMs: Date.now() };
    const corrupt = {
      get: (key: string) => Promise.resolve(key === 'catalog:current' ? pointer : '{"models":[ ]}'),
    } as unknown as KVNamespace;
    expect(await reading(corrupt)).toMatchObject({
      source: 'built-in',
      problem: expect.stringContaining('does not match its hash'),
    });
  });

  test('an old one is marked degraded', async () => {
    const text = JSON.stringify({ version: '2026-01-01', models: [], transitions: [] });
    const pointer = { version: '2026-01-01', hash: await sha256Hex(text), publishedAtMs: Date.now() - 91 * 86_400_000 };
    const old = {
      get: (key: string) => Promise.resolve(key === 'catalog:current' ? pointer : text),
    } as unknown as KVNamespace;
    expect(await reading(old)).toMatchObject({ source: 'published', problem: 'the catalog is 91 days old' });
  });
});

describe('a publication', () => {
  let document: { models: Record<string, unknown>[] };
  beforeAll(async () => {
    const { BUILT_IN_CATALOG } = await import('../../src/catalog/built-in.ts');
    document = { models: structuredClone(BUILT_IN_CATALOG.models) as unknown as Record<string, unknown>[] };
  });
  const findModel = (name: string) =>
    document.models.find(({ model }) => model === name) as { pricing: Record<string, number> };

  test('records changed prices, returns the differences, and takes effect at once', async () => {
    findModel('gpt-6-luna').pricing.outputUsdPerMillion = 0.75;
    const published = (await operator.send('publishCatalog', { body: { ...document, version: '2027-02-01' } })).data;
    expect(published).toMatchObject({
      version: '2027-02-01',
      source: 'published',
      models: 322,
      differences: { added: [], removed: [], lifecycle: [] },
    });
    expect(published.differences.repriced.map(({ modelKey }) => modelKey)).toEqual(['openai/gpt-6-luna']);
    expect((await full('/openai/gpt-6-luna')).pricing?.outputUsdPerMillion).toBe(0.75);
    expect((await operator.send('readCatalog')).data).toMatchObject({ version: '2027-02-01', hash: published.hash });
    const rows = await bindings.DB.prepare(
      `SELECT rates ->> 'outputUsdPerMillion' AS usd FROM pricing_snapshots WHERE model_key = 'openai/gpt-6-luna'`,
    ).all();
    expect(rows.results.map(({ usd }) => usd)).toContain(0.75);
    const { items } = (await operator.send('listEvents', { query: { limit: '1' } })).data;
    expect(items[0]).toMatchObject({ action: 'catalog.publish', subject: '2027-02-01' });
  });

  test('never changes an existing version, and refuses an invalid document by its field', async () => {
    expect((await operator.send('publishCatalog', { body: { ...document, version: '2027-02-01' } })).refusal.code).toBe(
      'CONFLICT',
    );
    const before = (await operator.send('readCatalog')).data;
    findModel('gpt-6-luna').pricing.outputUsdPerMillion = -1;
    expect((await operator.send('publishCatalog', { body: document })).refusal.message).toContain(
      'outputUsdPerMillion',
    );
    findModel('gpt-6-luna').pricing.outputUsdPerMillion = 0.5;
    const twice = [...document.models, document.models[0]];
    expect((await operator.send('publishCatalog', { body: { models: twice } })).refusal.code).toBe('BAD_REQUEST');
    expect((await operator.send('readCatalog')).data).toEqual(before);
  });
});
