/**
 * The model radar over HTTP: its models and reasons, their users, and the cost of the same calls on the replacement, to
 * the nano-USD; nothing of another organization.
 */

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { resolvePrice } from '../../src/catalog/prices.ts';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { asOrganizationId } from '../../src/domain/ids.ts';
import { formatUsd, usdFromNano } from '../../src/domain/money.ts';
import { computeCost } from '../../src/domain/pricing.ts';
import { takeUsage } from '../../src/domain/usage.ts';
import { readModelTraffic } from '../../src/history/model-traffic.ts';
import { createTenant, type Tenant } from '../support/api.ts';
import { bindings, deliverToD1, operator, worker } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 24, 12);
const PLAN = { name: 'P', limitType: 'NONE' };

/** Ends of calls, by customer; all are COMPLETED. */
const ENDS: Record<string, Record<string, unknown>[]> = {
  alpha: [
    // Two names of one model, in both modes.
    { modelUsed: 'gpt-4o-mini', inputTokens: 10_001, cachedInputTokens: 4_000, responseTokens: 777, feature: 'chat' },
    { modelUsed: 'openai/gpt-4o-mini-2024-07-18', inputTokens: 999, responseTokens: 33, feature: 'chat' },
    { modelUsed: 'gpt-4o-mini', inputTokens: 5_000, responseTokens: 100, pricingMode: 'batch', feature: 'search' },
    // Short and long prompts, for which the replacement has different rates, and service tiers.
    { modelUsed: 'gpt-5', inputTokens: 271_999, responseTokens: 1_000 },
    { modelUsed: 'gpt-5', inputTokens: 272_001, cachedInputTokens: 100_000, responseTokens: 1_000 },
    { modelUsed: 'gpt-5', inputTokens: 20_000, responseTokens: 500, serviceTier: 'priority' },
    // Cache writes of both lifetimes, and web searches.
    {
      ...{
        modelUsed: 'claude-sonnet-4-5',
        inputTokens: 30_000,
        cachedInputTokens: 5_000,
        cacheWriteInputTokens: 12_000,
      },
      ...{ cacheWrite1hInputTokens: 2_000, responseTokens: 900, searches: 3 },
    },
    { modelUsed: 'gpt-6-luna', inputTokens: 10, responseTokens: 10 },
  ],
  beta: [
    { modelUsed: 'gpt-4o-mini', inputTokens: 1_000_000, responseTokens: 50_000, feature: 'bulk' },
    { modelUsed: 'no-such-model', inputTokens: 10, responseTokens: 10 },
    // Ends after the horizon of a test.
    { modelUsed: 'gpt-5.1', inputTokens: 100, responseTokens: 10 },
  ],
};

let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW - 2 * DAY });
  tenant = await createTenant(operator, PLAN);
  other = await createTenant(operator, PLAN);
  await operator.send('setModels', {
    params: { org: tenant.organizationId },
    body: {
      standard: ['gpt-6-luna', 'openai/gpt-4o-mini'],
      premium: ['anthropic/claude-opus-5-5'],
      aliases: { long: ['gpt-5'] },
    },
  });
  for (const [customerId, ends] of Object.entries(ENDS)) for (const end of ends) await call(tenant, customerId, end);
  // Counts no longer, in no figure.
  const reversed = await call(tenant, 'gamma', { modelUsed: 'gpt-4o-mini', inputTokens: 5_000, responseTokens: 5 });
  await tenant.api.send('reverseCall', { params: { callId: reversed }, body: { reason: 'a test' } });
  await call(other, 'alpha', { modelUsed: 'gpt-4o-mini', inputTokens: 7, responseTokens: 7 });
  vi.setSystemTime(NOW);
  for (const customerId of ['alpha', 'beta', 'gamma']) await deliverToD1(tenant.organizationId, customerId);
  await deliverToD1(other.organizationId, 'alpha');
});
afterAll(() => {
  vi.useRealTimers();
});

async function call(of: Tenant, customerId: string, { feature, ...end }: Record<string, unknown>): Promise<string> {
  const body = { customerId, ...(feature !== undefined && { feature }) };
  const { callId } = (await of.api.send('beginCall', { body })).data;
  const { status } = (await of.api.send('endCall', { body: { callId, ...end } })).data;
  expect(status).toBe('COMPLETED');
  return callId;
}

/** The clock stands still, and caches of the configuration go by it. */
const inForce = () => vi.setSystemTime(Date.now() + 60_000);

async function radar(query: Record<string, string> = {}, api = tenant.api) {
  return (await api.send('readModelRadar', { query })).data;
}

async function item(modelKey: string) {
  const found = (await radar()).items.find((one) => one.modelKey === modelKey);
  if (!found) throw new Error(`${modelKey} is not on the radar`);
  return found;
}

/** The cost of each call on its own, summed. */
async function costOfEach(names: readonly string[], replacement: string): Promise<number> {
  const price = await resolvePrice(BUILT_IN_CATALOG, new Map(), { modelUsed: replacement }, NOW);
  if (!price.available) throw new Error('no price');
  let sum = 0n;
  for (const end of Object.values(ENDS).flat()) {
    if (!names.includes(String(end.modelUsed))) continue;
    const { usage } = takeUsage(end as { inputTokens: number });
    const priced = computeCost(price.card, usage, end.pricingMode === 'batch' ? 'batch' : 'standard');
    if (!priced.known) throw new Error(priced.reason);
    sum += priced.cost.totalNanoUsd;
  }
  return usdFromNano(sum);
}

describe('the radar has', () => {
  test('models that end, the first one first, then those without a date', async () => {
    const { items, period, degraded } = await radar();
    expect(items.map(({ modelKey, status, daysLeft }) => [modelKey, status, daysLeft])).toEqual([
      ['anthropic/claude-sonnet-4-5-20250929', 'DEPRECATED', 6],
      ['openai/gpt-5-2025-08-07', 'DEPRECATED', 17],
      ['openai/gpt-4o-mini-2024-07-18', 'DEPRECATED', 51],
      ['openai/gpt-5.1-2025-11-13', 'DEPRECATED', 128],
      ['no-such-model', 'UNKNOWN', null],
    ]);
    expect(period).toEqual({ startedAt: '2026-10-26T00:00:00.000Z', endedAt: '2026-11-25T00:00:00.000Z' });
    expect(degraded).toBe(false);
  });

  test('all names of a model as one, with its customers, features, mappings and plans', async () => {
    const mini = await item('openai/gpt-4o-mini-2024-07-18');
    expect(mini).toMatchObject({
      shutdownAt: '2027-01-14',
      reasons: ['DEPRECATED', 'ENDING', 'OFFICIAL_SUCCESSOR'],
      replacement: { modelKey: 'openai/gpt-6-luna', source: 'provider' },
      usage: { calls: 4, inputTokens: 1_016_000, outputTokens: 50_910 },
      customerCount: 2,
      features: ['bulk', 'chat', 'search'],
      mappings: ['service/standard'],
      plans: ['test'],
      notPriced: [],
    });
    expect((await item('openai/gpt-5-2025-08-07')).mappings).toEqual(['service/long']);
    expect(mini.customers.map(({ customerId, calls }) => [customerId, calls])).toEqual([
      ['beta', 1],
      ['alpha', 3],
    ]);
    expect(mini.customers.reduce((sum, { costUSD }) => sum + (costUSD ?? Number.NaN), 0)).toBeCloseTo(
      mini.usage.costUSD ?? 0,
      9,
    );
  });

  test('the warnings of the public lookup', async () => {
    const response = await worker.fetch('https://callmeter.test/v1/model-alternatives/openai/gpt-5');
    const resolution = (await response.json()) as { recommendedModelKey: string; warnings: string[] };
    const { replacement } = await item('openai/gpt-5-2025-08-07');
    expect(replacement).toMatchObject({ modelKey: resolution.recommendedModelKey, source: 'provider' });
    expect(replacement.warnings).toEqual(expect.arrayContaining(resolution.warnings));
    expect(resolution.warnings.length).toBeGreaterThan(0);
  });

  test('a model without a price, with the calls that nobody can price', async () => {
    expect(await item('no-such-model')).toMatchObject({
      reasons: ['UNPRICED'],
      replacement: { modelKey: null, source: 'none' },
      usage: { calls: 1, costUSD: null },
      replacementCostUSD: null,
    });
  });
});

describe('the cost on the replacement', () => {
  test('by hand: two names, cached input, and a batch at half the price', async () => {
    // gpt-6-luna: 0.10 in, 0.01 cached, 0.50 out; above 272,000 tokens of a prompt 0.20 in and 0.75 out.
    const standard = (6_001 + 999) * 100 + 4_000 * 10 + (777 + 33) * 500;
    const batch = (5_000 * 100 + 100 * 500) / 2;
    const long = 1_000_000 * 200 + 50_000 * 750;
    expect((await item('openai/gpt-4o-mini-2024-07-18')).replacementCostUSD).toBe(
      usdFromNano(BigInt(standard + batch + long)),
    );
  });

  test('by hand: rates of long prompts for the prompts that are long, and of the service tier', async () => {
    // gpt-6.1-sol: 2 in, 10 out; above 272,000 4 in, 0.20 cached, 15 out; priority 4 in, 20 out.
    const short = 271_999 * 2_000 + 1_000 * 10_000;
    const long = 172_001 * 4_000 + 100_000 * 200 + 1_000 * 15_000;
    const priority = 20_000 * 4_000 + 500 * 20_000;
    expect((await item('openai/gpt-5-2025-08-07')).replacementCostUSD).toBe(
      usdFromNano(BigInt(short + long + priority)),
    );
  });

  test('by hand: cache writes of both lifetimes, and searches', async () => {
    // claude-sonnet-5-5: 2 in, 0.10 cached, 2.50 and 4 for cache writes, 10 out; a search costs a cent.
    const nano = 13_000 * 2_000 + 5_000 * 100 + 10_000 * 2_500 + 2_000 * 4_000 + 900 * 10_000 + 3 * 10_000_000;
    expect((await item('anthropic/claude-sonnet-4-5-20250929')).replacementCostUSD).toBe(usdFromNano(BigInt(nano)));
  });

  test('is the sum of what each call would have cost', async () => {
    for (const [modelKey, names] of [
      ['openai/gpt-4o-mini-2024-07-18', ['gpt-4o-mini', 'openai/gpt-4o-mini-2024-07-18']],
      ['openai/gpt-5-2025-08-07', ['gpt-5']],
      ['anthropic/claude-sonnet-4-5-20250929', ['claude-sonnet-4-5']],
    ] as const) {
      const { replacement, replacementCostUSD } = await item(modelKey);
      expect(replacementCostUSD).toBe(await costOfEach(names, replacement.modelKey ?? ''));
    }
  });

  test('stands beside the recorded cost, with the difference, exact and in percent', async () => {
    const { usage, replacementCostUsdNano, ...sol } = await item('openai/gpt-5-2025-08-07');
    const difference = BigInt(replacementCostUsdNano ?? '') - BigInt(usage.costUsdNano ?? '');
    expect(difference).not.toBe(0n);
    expect(sol.replacementDifferenceUsdNano).toBe(difference.toString());
    expect(sol.replacementDifferencePercent).toBeCloseTo((Number(difference) / Number(usage.costUsdNano)) * 100, 1);
    const unknown = { replacementDifferenceUsdNano: null, replacementDifferencePercent: null };
    expect(await item('no-such-model')).toMatchObject({ replacementCostUsdNano: null, ...unknown });
  });

  test("at the organization's own price, which wins; what that has no rate for is named", async () => {
    const params = { org: tenant.organizationId, modelKey: 'openai/gpt-6.1-sol' };
    const rates = { inputUsdPerMillion: 1, outputUsdPerMillion: 2, strict: true };
    await operator.send('setPrice', { params, body: { ...rates, strict: false } });
    inForce();
    // Its unstated rates are half of the catalog's input rates, and a fifth of its output rates.
    const short = 271_999 * 1_000 + 1_000 * 2_000;
    const long = 172_001 * 2_000 + 100_000 * 100 + 1_000 * 3_000;
    const priority = 20_000 * 2_000 + 500 * 4_000;
    const related = await item('openai/gpt-5-2025-08-07');
    expect([related.replacementCostUSD, related.notPriced]).toEqual([usdFromNano(BigInt(short + long + priority)), []]);
    await operator.send('setPrice', { params, body: rates });
    inForce();
    try {
      const found = await item('openai/gpt-5-2025-08-07');
      const nano = 271_999 * 1_000 + 272_001 * 1_000 + 2_000 * 2_000;
      expect(found.replacementCostUSD).toBe(usdFromNano(BigInt(nano)));
      expect(found.notPriced).toEqual(['input (serviceTier priority)', 'output (serviceTier priority)']);
      // The recorded cost has these components, so the difference would compare unlike usage.
      expect(found.replacementDifferenceUsdNano).toBeNull();
      expect(found.replacement.warnings.join()).toContain('cachedInput: no rate is published, the input rate is used');
    } finally {
      await operator.send('deletePrices', { params });
      inForce();
    }
  });
});

describe('the horizon', () => {
  test('leaves out what ends later', async () => {
    const keys = async (horizonDays: string) => (await radar({ horizonDays })).items.map(({ modelKey }) => modelKey);
    expect(await keys('128')).toContain('openai/gpt-5.1-2025-11-13');
    expect(await keys('127')).not.toContain('openai/gpt-5.1-2025-11-13');
    expect(await keys('0')).toEqual(['no-such-model']);
  });

  test('is refused if it is no number of days', async () => {
    for (const horizonDays of ['-1', '1.5', 'soon', '9999']) {
      const { status, refusal } = await tenant.api.send('readModelRadar', { query: { horizonDays } });
      expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
      expect(JSON.stringify(refusal)).toContain('horizonDays');
    }
  });
});

describe('a review', () => {
  test('puts a model that is in use on the radar, with the reviewed successor', async () => {
    const params = { modelKey: 'openai/gpt-6-luna' };
    const body = { replacementModelKey: 'openai/gpt-6-sol', reason: 'better answers' };
    expect((await operator.send('putReview', { params, body })).status).toBe(200);
    inForce();
    try {
      const luna = await item('openai/gpt-6-luna');
      expect(luna).toMatchObject({
        status: 'ACTIVE',
        reasons: ['REVIEWED_SUCCESSOR'],
        replacement: { modelKey: 'openai/gpt-6-sol', source: 'admin_review' },
        mappings: ['service/standard'],
      });
      expect(luna.replacement.warnings.join()).toContain('better answers');
      expect(luna.replacementCostUSD).toBeGreaterThan(0);
    } finally {
      await operator.send('deleteReview', { params });
      inForce();
    }
  });
});

describe('the answer', () => {
  test('is of the organization alone, and the same for its operator', async () => {
    const [own] = (await radar({}, other.api)).items;
    expect(own).toMatchObject({ usage: { calls: 1, inputTokens: 7 }, customers: [{ customerId: 'alpha', calls: 1 }] });
    const { data } = await operator.send('readOrganizationModelRadar', { params: { org: tenant.organizationId } });
    expect(data.items).toEqual((await radar()).items);
    const nobody = await operator.send('readOrganizationModelRadar', { params: { org: crypto.randomUUID() } });
    expect([nobody.status, nobody.refusal.code]).toEqual([404, 'NOT_FOUND']);
  });

  test('has pages, whose items are those of the whole', async () => {
    const all = (await radar()).items;
    const paged: unknown[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof radar>> = await radar({ limit: '2', ...(cursor !== null && { cursor }) });
      paged.push(...page.items);
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(paged).toEqual(all);
  });
});

describe('as CSV', () => {
  const ask = async (accept: string, path = '/v1/model-radar', key = '') =>
    worker.fetch(`https://callmeter.test${path}`, { headers: { Authorization: `Bearer ${key}`, Accept: accept } });
  let key: string;
  beforeAll(async () => {
    const body = { name: 'csv' };
    key = (await operator.send('createKey', { params: { org: tenant.organizationId }, body })).data.key;
  });

  test('it has a line for each item, whatever the limit, if Accept prefers it', async () => {
    for (const accept of ['text/csv', 'text/csv, */*', `text/csv, ${MEDIA_TYPE};q=0.5`]) {
      const response = await ask(accept, '/v1/model-radar?limit=1', key);
      expect([response.status, response.headers.get('Content-Type')]).toEqual([
        200,
        'text/csv; charset=utf-8; header=present',
      ]);
      const lines = (await response.text()).split('\r\n');
      expect(lines).toHaveLength(1 + 5 + 1);
      expect(lines[0]).toMatch(/^modelKey,status,shutdownAt,daysLeft,/);
      expect(lines[1]).toMatch(/^anthropic\/claude-sonnet-4-5-20250929,DEPRECATED,2026-11-30,6,/);
    }
  });

  test('JSON stays what it was, refusals are JSON, and other routes have no CSV', async () => {
    const typeOf = async (accept: string, path?: string) => {
      const response = await ask(accept, path, key);
      await response.body?.cancel();
      return [response.status, response.headers.get('Content-Type')];
    };
    expect(await typeOf(`${MEDIA_TYPE}, text/csv`)).toEqual([200, MEDIA_TYPE]);
    expect(await typeOf('*/*')).toEqual([200, MEDIA_TYPE]);
    expect(await typeOf('text/html')).toEqual([406, MEDIA_TYPE]);
    expect(await typeOf('text/csv', '/v1/model-radar?horizonDays=x')).toEqual([400, MEDIA_TYPE]);
    expect(await typeOf('text/csv', '/usage/anomalies')).toEqual([406, MEDIA_TYPE]);
  });
});

describe('where models are named', () => {
  test('a mapping to an unknown, a retired or an ending model is saved with a warning for each', async () => {
    const params = { org: other.organizationId };
    const body = { standard: ['gpt-4o-min', 'openai/gpt-6-luna'], premium: ['gpt-4o-2024-05-13', 'openai/gpt-5'] };
    const { warnings, ...saved } = (await operator.send('setModels', { params, body })).data;
    expect(saved).toEqual(body);
    expect(warnings).toEqual([
      'gpt-4o-min is not in the catalog; openai/gpt-4o-mini-2024-07-18 is the most similar key',
      expect.stringMatching(
        /^gpt-4o-2024-05-13 \(openai\/gpt-4o-2024-05-13\) is retired since 2026-10-23; its vendor replaces it with openai\//,
      ),
      expect.stringMatching(
        /^openai\/gpt-5 \(openai\/gpt-5-2025-08-07\) ends on 2026-12-11, in 17 days; its vendor replaces it with openai\/gpt-6.1-sol$/,
      ),
    ]);
    expect((await operator.send('readOrganization', { params })).data.models).toEqual(body);
  });

  test('a price of one too; of a model in use there is no warning', async () => {
    const radarWarnings = async (modelKey: string) => {
      const params = { org: other.organizationId, modelKey };
      const { data } = await operator.send('setPrice', {
        params,
        body: { inputUsdPerMillion: 1, outputUsdPerMillion: 2 },
      });
      return data.warnings;
    };
    expect(await radarWarnings('claude-sonnet-4-5')).toEqual([
      expect.stringContaining('ends on 2026-11-30, in 6 days'),
    ]);
    expect(await radarWarnings('openai/gpt-6-luna')).toBeUndefined();
  });

  test('the console shows days left: on the list of models that end, where they are used, and where they are set', async () => {
    const visitor = new Visitor();
    await visitor.signIn();
    const pages = `/console/organizations/${tenant.organizationId}`;
    expect((await visitor.read('/console')).html).toContain(`href="${pages}/ending-models"`);
    const { text: list, html } = await visitor.read(`${pages}/ending-models`);
    expect(list).toMatch(/claude-sonnet-4-5-20250929\s+6 days left\s+6\s+30 Nov 2026/);
    const ending = (
      await tenant.operator.send('readOrganizationModelRadar', {
        params: { org: tenant.organizationId },
        query: { ending: 'true' },
      })
    ).data.items;
    expect(ending).toHaveLength(4);
    for (const { modelKey, usage, customers, replacementCostUsdNano, replacementDifferenceUsdNano } of ending) {
      const [, row = ''] = list.split(modelKey);
      const names = customers.map(({ customerId }) => customerId);
      expect(row).toMatch(new RegExp(`\\s${usage.calls}\\s+${names.length} customers?\\s+${names.join('\\s+')}\\s`));
      const costs = [usage.costUsdNano, replacementCostUsdNano, replacementDifferenceUsdNano];
      for (const nano of costs) expect(html).toContain(`<data value="${formatUsd(BigInt(nano ?? ''))}"`);
    }
    expect(ending.every(({ reasons }) => reasons.includes('ENDING') || reasons.includes('RETIRED'))).toBe(true);
    expect((await visitor.read(pages)).text).toMatch(/openai\/gpt-5-2025-08-07\s+17 days left/);
    expect((await visitor.read(`${pages}/calls`)).text).toMatch(/claude-sonnet-4-5\s+6 days left/);
    expect((await visitor.read(`${pages}/models`)).text).toContain('ends on 2027-01-14, in 51 days');
    expect((await visitor.read(`${pages}/calls`)).text).not.toMatch(/gpt-6-luna\s+\d+ days left/);
  });
});

test('a customer whose only call of an ending model was reversed is not among those who use it', async () => {
  const own = await createTenant(operator, PLAN);
  const calls: string[] = [];
  for (const customerId of ['once', 'still']) {
    calls.push(await call(own, customerId, { modelUsed: 'gpt-5', inputTokens: 1_000, responseTokens: 10 }));
    await deliverToD1(own.organizationId, customerId);
  }
  const visitor = new Visitor();
  await visitor.signIn();
  const page = `/console/organizations/${own.organizationId}/ending-models`;
  expect((await visitor.read(page)).text).toMatch(/2 customers\s+once\s+still/);
  await own.api.send('reverseCall', { params: { callId: calls[0] ?? '' }, body: { reason: 'a test' } });
  await deliverToD1(own.organizationId, 'once');
  expect((await visitor.read(page)).text).toMatch(/1 customer\s+still/);
});

test('more calls than a page has are summed once each', async () => {
  const organizationId = asOrganizationId(crypto.randomUUID());
  const [CALLS, fromMs] = [60_000, NOW - 10 * DAY];
  // Some begin in the same millisecond, also at the border of two pages.
  await bindings.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
     INSERT INTO calls (organization_id, call_id, customer_id, status, started_at_ms, finished_at_ms, usage_plan_version_id,
       pricing_mode, usage_provider, model_used, model_key, input_tokens, response_tokens, cost_nano_usd, record, revision, delivery)
     SELECT ?1, 'c' || i, 'customer-' || (i % 7), 'COMPLETED', ?3 + i / 3, ?3 + i / 3, 'test:v1', 'standard', 'openai', 'gpt-4o',
       CASE i % 2 WHEN 0 THEN 'openai/gpt-4o-2024-08-06' ELSE 'openai/other' END, i, 1, 5000000000000000,
       json_object('outcome', json_object('usage', json_object('inputTokens', i, 'audioSeconds', 0.1))), 1, 1 FROM n`,
  )
    .bind(organizationId, CALLS, fromMs)
    .run();
  const names = ['openai/gpt-4o-2024-08-06'];
  const query = { organizationId, fromMs: fromMs - DAY, toMs: fromMs + DAY, names, thresholds: [200] };
  const found = (await readModelTraffic(bindings, query)).get(names[0] ?? '');
  const half = CALLS / 2;
  expect(found?.calls).toBe(half);
  const traffic = [...(found?.traffic.values() ?? [])];
  const sum = (of: (usage: (typeof traffic)[number]['usage']) => number) =>
    traffic.reduce((total, { usage }) => total + of(usage), 0);
  expect(traffic.map(({ promptTokensAbove }) => promptTokensAbove).toSorted()).toEqual([0, 200]);
  expect(sum(({ inputTokens }) => inputTokens)).toBe(half * (half - 1));
  expect(sum(({ audioSeconds }) => audioSeconds)).toBeCloseTo(half / 10, 9);
  const shares = [...(found?.customers.values() ?? [])];
  expect(shares).toHaveLength(7);
  // Beyond the 64 bits of SQLite.
  expect(shares.reduce((total, { costNanoUsd }) => total + costNanoUsd, 0n)).toBe(
    5_000_000_000_000_000n * BigInt(half),
  );
});
