/**
 * GET /usage/anomalies: injected changes of an organization's hours are found at their place and time, with their
 * evidence, and usual hours are not.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createTenant, type Tenant } from '../support/api.ts';
import { type ReportHour, writeReportHours } from '../support/history.ts';
import { chance, HOUR_MS as HOUR, OFFICE_WEEK, waveProfile } from '../support/series.ts';
import { operator } from '../support/worker.ts';

const DAY = 24 * HOUR;
const TODAY = Date.UTC(2027, 5, 16);
const NOW = TODAY + 10 * HOUR + 20 * 60_000;
const PRESENT_HOUR = TODAY + 10 * HOUR;
const CUSTOMERS = ['alpha', 'beta', 'gamma'];
const CALL_NANO_USD = 2_000_000;
const iso = (atMs: number) => new Date(atMs).toISOString();

beforeAll(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW });
});
afterAll(() => {
  vi.useRealTimers();
});

/** The changes of a customer's hour. */
interface Bend {
  calls: number;
  failed: number;
  costNanoUsd: number;
  model: string;
  feature: string;
  denied: number;
  /** The cached share of the input. */
  cached: number;
}
type Bent = (customerId: string, atMs: number, usual: Bend) => Partial<Bend>;

/** An organization of three customers with a daily and a weekly rhythm for so many days, bent by `bend`. */
async function organization(bend: Bent = () => ({}), { days = 75, seed = 7 } = {}): Promise<Tenant> {
  const tenant = await createTenant(operator);
  const { poisson } = chance(seed);
  const hours: ReportHour[] = [];
  for (let atMs = TODAY - days * DAY; atMs < PRESENT_HOUR; atMs += HOUR) {
    const weekday = new Date(atMs).getUTCDay();
    for (const [n, customerId] of CUSTOMERS.entries()) {
      const size = (n + 1) * 400 * (OFFICE_WEEK[weekday] ?? 1) * waveProfile(weekday, new Date(atMs).getUTCHours());
      const calls = poisson(size);
      const failed = poisson(calls * 0.01);
      const of = { model: 'openai/gpt-4o-mini', feature: 'chat' };
      const usual = { ...of, calls, failed, costNanoUsd: CALL_NANO_USD, denied: 0, cached: 0.6 };
      const { model, feature, cached, ...hour } = { ...usual, ...bend(customerId, atMs, usual) };
      const key = { customerId, atMs, model, feature };
      const passed = hour.calls - hour.failed;
      const inputTokens = 1_000 * passed;
      const cachedInputTokens = Math.round(cached * inputTokens);
      if (passed > 0)
        hours.push({ ...key, calls: passed, costNanoUsd: passed * hour.costNanoUsd, inputTokens, cachedInputTokens });
      if (hour.failed > 0) hours.push({ ...key, outcome: 'FAILED', calls: hour.failed });
      if (hour.denied > 0) hours.push({ ...key, model: '', outcome: 'NOT_ALLOWED', calls: hour.denied });
    }
  }
  await writeReportHours(tenant.organizationId, hours);
  return tenant;
}

const read = async ({ api }: Tenant, query: Record<string, string> = {}) =>
  (await api.send('readUsageAnomalies', { query })).data;
const between = (fromMs: number, toMs: number) => (atMs: number) => atMs >= fromMs && atMs < toMs;

describe('an organization with regular usage', () => {
  test('has no episodes, nor have its customers', async () => {
    const data = await read(await organization());
    expect(data).toEqual({
      period: { startedAt: iso(TODAY - 60 * DAY), endedAt: iso(PRESENT_HOUR) },
      asOf: iso(PRESENT_HOUR),
      items: [],
      customersLookedAt: 3,
      nextCursor: null,
    });
  });

  test('whose retention is over for the usage of a customer, does not count that customer among its largest', async () => {
    const gone: Bent = (customerId, atMs) =>
      customerId === 'gamma' && atMs >= TODAY - 30 * DAY ? { calls: 0, failed: 0 } : {};
    for (const [usageRetentionDays, largest] of [
      [20, 2],
      [40, 3],
    ]) {
      const tenant = await organization(gone);
      const params = { org: tenant.organizationId };
      expect((await operator.send('updateOrganization', { params, body: { usageRetentionDays } })).status).toBe(200);
      expect((await read(tenant)).customersLookedAt).toBe(largest);
    }
  });

  test('has none without any usage', async () => {
    expect(await read(await createTenant(operator))).toMatchObject({
      items: [],
      customersLookedAt: 0,
      nextCursor: null,
    });
  });

  test.each([1, 5, 13])('has none in its first %d days: two weeks of history are needed', async (days) => {
    const wild: Bent = (_, atMs, { calls }) =>
      atMs > PRESENT_HOUR - 5 * HOUR ? { calls: calls * 30, model: 'openai/gpt-4o' } : {};
    expect((await read(await organization(wild, { days }))).items).toEqual([]);
  });
});

describe('a spend spike of one customer', () => {
  const startMs = TODAY - 9 * DAY + 12 * HOUR;
  const during = between(startMs, startMs + 6 * HOUR);
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await organization((customerId, atMs, { calls }) =>
      customerId === 'alpha' && during(atMs) ? { calls: calls * 25 } : {},
    );
  });

  test('is found for the organization by the hour, and for that customer by the day', async () => {
    const { items } = await read(tenant);
    expect(items.map(({ customerId, kind }) => [customerId, kind])).toEqual([
      [null, 'SPEND_SPIKE'],
      ['alpha', 'SPEND_SPIKE'],
    ]);
    const [ofAll, ofAlpha] = items;
    expect(ofAll).toMatchObject({
      startedAt: iso(startMs),
      endedAt: iso(startMs + 6 * HOUR),
      unit: 'USD',
      severity: 'HIGH',
    });
    expect(ofAlpha).toMatchObject({ startedAt: iso(TODAY - 9 * DAY), endedAt: iso(TODAY - 8 * DAY), unit: 'USD' });
    for (const { expected, observed, evidence } of items) {
      expect(observed).toBeGreaterThan(1.75 * expected);
      expect(expected).toBeGreaterThan(0);
      expect(evidence).toEqual({
        ratio: expect.closeTo(observed / expected, 1),
        score: expect.any(Number),
        scoreLimit: expect.any(Number),
        relativeNoise: expect.any(Number),
      });
      expect(Number(evidence.score)).toBeGreaterThan(Number(evidence.scoreLimit));
    }
  });

  test("is found by the hour in that customer's readings, and not in those of another one", async () => {
    const { items, customersLookedAt } = await read(tenant, { customerId: 'alpha' });
    expect(customersLookedAt).toBe(1);
    expect(items).toMatchObject([
      {
        customerId: 'alpha',
        kind: 'SPEND_SPIKE',
        startedAt: iso(startMs),
        endedAt: iso(startMs + 6 * HOUR),
        severity: 'HIGH',
      },
    ]);
    expect((await read(tenant, { customerId: 'beta' })).items).toEqual([]);
    expect((await read(tenant, { customerId: 'nobody' })).items).toEqual([]);
  });

  test('is not found for another organization, or outside the requested days', async () => {
    const other = await createTenant(operator);
    expect((await read(other, { customerId: 'alpha' })).items).toEqual([]);
    const early = await organization((customerId, atMs, { calls }) =>
      customerId === 'alpha' && between(startMs - 20 * DAY, startMs - 20 * DAY + 6 * HOUR)(atMs)
        ? { calls: calls * 25 }
        : {},
    );
    expect((await read(early, { days: '35' })).items.map(({ customerId }) => customerId)).toEqual([null, 'alpha']);
    expect((await read(early, { days: '20' })).items).toEqual([]);
  });

  test('gives the same bytes for the same data, within the hour', async () => {
    const bytes = async () => JSON.stringify(await read(tenant));
    const first = await bytes();
    vi.setSystemTime(PRESENT_HOUR);
    expect(await bytes()).toBe(first);
    vi.setSystemTime(PRESENT_HOUR + HOUR - 1);
    expect(await bytes()).toBe(first);
    vi.setSystemTime(NOW);
  });
});

describe('silence', () => {
  test('of one customer that continues is found for that customer only', async () => {
    const sinceMs = TODAY - 5 * DAY;
    const { items } = await read(
      await organization((customerId, atMs) =>
        customerId === 'beta' && atMs >= sinceMs ? { calls: 0, failed: 0 } : {},
      ),
    );
    expect(items).toEqual([
      {
        id: `SILENCE:${iso(sinceMs).slice(0, 10)}:beta:`,
        customerId: 'beta',
        kind: 'SILENCE',
        summary: expect.stringMatching(/^No calls from 11 Jun to 15 Jun; usual is \d,\d{3}\.$/),
        startedAt: iso(sinceMs),
        endedAt: iso(TODAY),
        unit: 'calls',
        expected: expect.any(Number),
        observed: 0,
        severity: 'MEDIUM',
        explainedBy: [
          { dimension: 'model', key: 'openai/gpt-4o-mini', change: expect.any(Number), share: 1, among: 1 },
          { dimension: 'feature', key: 'chat', change: expect.any(Number), share: 1, among: 1 },
        ],
        evidence: { days: 5, activeShareBefore: 1, logChance: expect.any(Number), logChanceLimit: expect.any(Number) },
      },
    ]);
    // 800 calls a weekday or so, from Friday to Tuesday.
    expect(items[0]?.expected).toBeGreaterThan(2_000);
    expect(items[0]?.expected).toBeLessThan(5_000);
    expect(Number(items[0]?.evidence.logChance)).toBeLessThan(Number(items[0]?.evidence.logChanceLimit));
  });

  test('of all customers is found for the organization and for each customer', async () => {
    const days = between(TODAY - 20 * DAY, TODAY - 16 * DAY);
    const { items } = await read(await organization((_, atMs) => (days(atMs) ? { calls: 0, failed: 0 } : {})));
    expect(items.map(({ customerId, kind }) => [customerId, kind]).sort()).toEqual([
      [null, 'SILENCE'],
      ['alpha', 'SILENCE'],
      ['beta', 'SILENCE'],
      ['gamma', 'SILENCE'],
    ]);
    for (const { customerId, startedAt, endedAt } of items.filter(({ customerId: of }) => of !== null)) {
      expect([customerId, startedAt, endedAt]).toEqual([customerId, iso(TODAY - 20 * DAY), iso(TODAY - 16 * DAY)]);
    }
    // The organization's days end with the present hour.
    const ofAll = items.find(({ customerId }) => customerId === null);
    expect(Math.abs(Date.parse(ofAll?.startedAt ?? '') - (TODAY - 20 * DAY))).toBeLessThan(DAY);
    expect(Math.abs(Date.parse(ofAll?.endedAt ?? '') - (TODAY - 16 * DAY))).toBeLessThan(DAY);
  });
});

describe('a burst of errors', () => {
  test('is found with both shares, for the organization and the customer whose calls failed', async () => {
    const startMs = TODAY - 4 * DAY + 9 * HOUR;
    const during = between(startMs, startMs + 8 * HOUR);
    const { items } = await read(
      await organization((customerId, atMs, { calls }) =>
        customerId === 'gamma' && during(atMs) ? { failed: Math.round(calls * 0.7) } : {},
      ),
    );
    const bursts = items.filter(({ kind }) => kind === 'ERROR_BURST');
    expect(items.every(({ kind, customerId }) => kind === 'ERROR_BURST' || customerId === 'gamma')).toBe(true);
    expect(bursts.map(({ customerId }) => customerId)).toEqual([null, 'gamma']);
    expect(bursts[0]).toMatchObject({ startedAt: iso(startMs), endedAt: iso(startMs + 8 * HOUR), unit: 'calls' });
    expect(bursts[1]).toMatchObject({ startedAt: iso(TODAY - 4 * DAY), endedAt: iso(TODAY - 3 * DAY), unit: 'calls' });
    for (const { observed, expected, evidence } of bursts) {
      expect(observed).toBeGreaterThan(5 * expected);
      expect(evidence.failedShare).toBeCloseTo(observed / Number(evidence.calls), 4);
      expect(evidence.usualFailedShare).toBeCloseTo(0.01, 1);
    }
  });
});

describe('a new expensive model', () => {
  test('is found with its name and its share, from its first use on', async () => {
    const sinceMs = TODAY - 12 * DAY;
    const tenant = await organization((customerId, atMs) =>
      customerId === 'gamma' && atMs >= sinceMs ? { model: 'openai/o1-pro', costNanoUsd: CALL_NANO_USD * 1.2 } : {},
    );
    const models = (await read(tenant)).items.filter(({ kind }) => kind === 'NEW_EXPENSIVE_MODEL');
    expect(
      models.map(({ customerId, startedAt, endedAt, unit, expected }) => [
        customerId,
        startedAt,
        endedAt,
        unit,
        expected,
      ]),
    ).toEqual([
      [null, iso(sinceMs), iso(sinceMs + 7 * DAY), 'USD', 0],
      ['gamma', iso(sinceMs), iso(sinceMs + 7 * DAY), 'USD', 0],
    ]);
    expect(models.map(({ evidence }) => evidence.modelKey)).toEqual(['openai/o1-pro', 'openai/o1-pro']);
    // Gamma makes half of the calls, now at 1.2 times the price: 0.6 of 1.1.
    expect(models[0]?.evidence.shareOfSpend).toBeCloseTo(0.6 / 1.1, 1);
    expect(models[1]).toMatchObject({ severity: 'HIGH', evidence: { shareOfSpend: 1, days: 7 } });
    expect(models[1]?.observed).toBeCloseTo(models[0]?.observed ?? 0, 3);
  });

  test('is not one that was used before, nor one first used outside the requested days', async () => {
    const early = between(TODAY - 55 * DAY, TODAY - 54 * DAY);
    const tenant = await organization((customerId, atMs) =>
      customerId === 'gamma' && (early(atMs) || atMs >= TODAY - 12 * DAY)
        ? { model: 'openai/o1-pro', costNanoUsd: CALL_NANO_USD * 1.2 }
        : {},
    );
    const models = async (query: Record<string, string>) =>
      (await read(tenant, query)).items
        .filter(({ kind }) => kind === 'NEW_EXPENSIVE_MODEL')
        .map(({ customerId }) => customerId);
    expect(await models({})).toEqual([]);
    expect(await models({ customerId: 'gamma' })).toEqual([]);
    // Within the last forty days it is new.
    expect(await models({ days: '40' })).toEqual([null, 'gamma']);
    expect(await models({ days: '40', customerId: 'gamma' })).toEqual(['gamma']);
  });

  test('is not one that is free, however many there are', async () => {
    const tenant = await organization((_, atMs) =>
      atMs >= TODAY - 12 * DAY ? { model: `own-model-${atMs}`, costNanoUsd: 0 } : {},
    );
    expect((await read(tenant)).items.filter(({ kind }) => kind === 'NEW_EXPENSIVE_MODEL')).toEqual([]);
  });
});

describe('what changed, and who did it', () => {
  const sinceMs = TODAY - 8 * DAY;
  const named = (items: Awaited<ReturnType<typeof read>>['items'], kind: string) =>
    items.filter((item) => item.kind === kind);

  test('dearer calls are found with the model and the feature that made them so', async () => {
    const { items } = await read(
      await organization((customerId, atMs) =>
        customerId === 'gamma' && atMs >= sinceMs
          ? { model: 'openai/gpt-4o', feature: 'search', costNanoUsd: 2.2 * CALL_NANO_USD }
          : {},
      ),
    );
    const [ofAll, ...others] = named(items, 'COST_PER_CALL_SHIFT').filter(({ customerId }) => customerId === null);
    expect(others).toEqual([]);
    expect(ofAll).toMatchObject({ startedAt: iso(sinceMs), endedAt: iso(TODAY), unit: 'USD', severity: 'MEDIUM' });
    // Half of the calls at 2.2 times the price.
    expect(ofAll?.expected).toBeCloseTo(0.002, 3);
    expect(ofAll?.observed).toBeCloseTo(0.003, 3);
    expect(ofAll?.summary).toBe(
      'A call cost $0.0032 from 8 Jun to 15 Jun; usual is $0.002 (1.6 times). Mostly model openai/gpt-4o, feature search, customer gamma.',
    );
    expect(ofAll?.explainedBy.map(({ dimension, key }) => [dimension, key])).toEqual([
      ['model', 'openai/gpt-4o'],
      ['feature', 'search'],
      ['customer', 'gamma'],
    ]);
    expect(
      named(items, 'NEW_EXPENSIVE_FEATURE').map(({ customerId, evidence }) => [customerId, evidence.feature]),
    ).toEqual([[null, 'search']]);
  });

  test('denied requests, a cold cache and a larger share are found, each in its unit', async () => {
    const denied = await organization((customerId, atMs, { calls }) =>
      customerId === 'beta' && between(sinceMs, sinceMs + 6 * HOUR)(atMs)
        ? { denied: 4 * calls, feature: 'agents' }
        : {},
    );
    const cold = await organization((_, atMs) => (atMs >= sinceMs ? { cached: 0.1 } : {}));
    const larger = await organization((customerId, atMs, { calls }) =>
      customerId === 'alpha' && atMs >= sinceMs ? { calls: calls * 4 } : {},
    );
    const [denial] = named((await read(denied)).items, 'DENIAL_BURST');
    expect(denial).toMatchObject({
      customerId: null,
      unit: 'calls',
      startedAt: iso(sinceMs),
      endedAt: iso(sinceMs + 6 * HOUR),
      explainedBy: [{ dimension: 'feature', key: 'agents', share: 1 }],
    });
    expect(named((await read(denied, { customerId: 'beta' })).items, 'DENIAL_BURST')).toHaveLength(1);
    const [drop] = named((await read(cold)).items, 'CACHE_RATE_DROP');
    expect(drop).toMatchObject({
      customerId: null,
      unit: 'share',
      startedAt: iso(sinceMs),
      observed: 0.1,
      expected: 0.6,
    });
    expect(drop?.summary).toBe('10 % of the input came from the cache from 8 Jun to 15 Jun; usual is 60 %.');
    const rises = named((await read(larger)).items, 'CUSTOMER_SHARE_RISE');
    expect(rises).toMatchObject([{ customerId: 'alpha', unit: 'share', startedAt: iso(sinceMs), endedAt: iso(TODAY) }]);
    // A sixth of the calls before, four ninths now.
    expect(rises[0]?.expected).toBeCloseTo(1 / 6, 1);
    expect(rises[0]?.observed).toBeCloseTo(4 / 9, 1);
  });

  test('every episode keeps its identity while it grows, and shares it with none', async () => {
    const tenant = await organization((customerId, atMs, { calls }) =>
      customerId === 'alpha' && atMs >= TODAY - 3 * DAY ? { calls: calls * 12, denied: calls } : {},
    );
    const at = async (nowMs: number) => {
      vi.setSystemTime(nowMs);
      const { items } = await read(tenant);
      vi.setSystemTime(NOW);
      return items;
    };
    const [early, late] = [await at(NOW - DAY), await at(NOW)];
    expect(early.length).toBeGreaterThan(0);
    const ids = late.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(early.map(({ id }) => id)));
  });
});

describe('the query', () => {
  test('covers fourteen whole days of every customer if requested, at any time of day', async () => {
    const sinceMs = TODAY - 2 * DAY;
    const tenant = await organization((customerId, atMs) =>
      customerId === 'gamma' && atMs >= sinceMs ? { calls: 0, failed: 0 } : {},
    );
    const data = await read(tenant, { days: '14' });
    expect(data.period).toEqual({ startedAt: iso(TODAY - 14 * DAY), endedAt: iso(PRESENT_HOUR) });
    const ofGamma = (items: typeof data.items) => items.filter(({ customerId }) => customerId === 'gamma');
    expect(ofGamma(data.items)).toMatchObject([{ kind: 'SILENCE', startedAt: iso(sinceMs), endedAt: iso(TODAY) }]);
    expect(ofGamma((await read(tenant, { days: '100' })).items)).toMatchObject([{ kind: 'SILENCE' }]);
    // Half of the organization's calls are gamma's, and without them its own are a drop, or nearly one.
    const others = data.items.filter(({ customerId }) => customerId !== 'gamma');
    expect(others.every(({ customerId, kind }) => customerId === null && kind === 'USAGE_DROP')).toBe(true);
  });

  test.each([
    ['days', { days: '13' }],
    ['days', { days: '101' }],
    ['days', { days: '20.5' }],
    ['days', { days: 'all' }],
    ['customerId', { customerId: '' }],
    ['customerId', { customerId: '..' }],
  ])('is 400 that names %s for %j', async (path, query) => {
    const { api } = await createTenant(operator);
    const { status, refusal } = await api.send('readUsageAnomalies', { query: query as Record<string, string> });
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
    expect((refusal.details as { path: string }[])[0]?.path).toBe(path);
  });

  test('refuses parameters that it does not have, by name', async () => {
    const { api } = await createTenant(operator);
    const query = { organizationId: 'other', sensitivity: 'high' };
    const { status, refusal } = await api.send('readUsageAnomalies', { query });
    expect(status).toBe(400);
    expect((refusal.details as { path: string }[]).map(({ path }) => path)).toEqual(Object.keys(query));
  });
});
