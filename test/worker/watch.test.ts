/**
 * Promise: an organization gets each event once that no single customer's transaction finds: keys and prices, catalog
 * releases, models that end, anomalies, forecasts, lists that lag. Neither another run, nor an object that starts
 * again, nor a temporarily unavailable D1 loses one or repeats it.
 */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { StoredWatch } from '../../durable-objects/organization-watch/store.ts';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import type { EventType, WatchEvent } from '../../src/contract/event-data.ts';
import type { OrganizationEvent } from '../../src/contract/events.ts';
import type { Anomaly } from '../../src/contract/readings.ts';
import { asCustomerId, asKeyId, asOrganizationId, type OrganizationId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import { CUSTOMERS_PER_STEP } from '../../src/events/watch/customer-news.ts';
import { LAG_MS } from '../../src/events/watch/lag.ts';
import { runWatch } from '../../src/events/watch/run.ts';
import { wakeAfterChange, wakeWatches } from '../../src/objects/watches.ts';
import { runAutopilot } from '../../src/operator/autopilot.ts';
import { calendarDay } from '../../src/ui/format.ts';
import { createTenant } from '../support/api.ts';
import { type ReportHour, writeObjectHours, writeReportHours } from '../support/history.ts';
import { bindings, deliverToD1, operator } from '../support/worker.ts';
import { Visitor } from './console-visitor.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** A Wednesday. */
const NOW = Date.UTC(2027, 0, 20, 10, 30);
const MODEL = 'openai/gpt-5.1-2025-11-13';
const SHUTDOWN = '2027-04-01';
const daysBefore = (days: number) => Date.parse(SHUTDOWN) - days * DAY + 12 * HOUR;
const iso = (atMs: number) => new Date(atMs).toISOString();

const watchOf = (organizationId: string) => bindings.ORGANIZATION_WATCHES.getByName(organizationId);

/** One without a key: nothing wakes its watch but the test. */
async function organization(plan?: object): Promise<OrganizationId> {
  const created = (await operator.send('createOrganization', { body: { name: 'Watched' } })).data;
  const organizationId = asOrganizationId(created.organizationId);
  const params = { org: organizationId };
  if (plan) {
    await operator.send('putPlan', { params: { ...params, planId: 'test' }, body: plan as never });
    await operator.send('updateOrganization', { params, body: { defaultPlanId: 'test' } });
  }
  return organizationId;
}

/** A run at that time, in an object that remembers only its stored data. Returns the time of its next look. */
function run(organizationId: OrganizationId, nowMs: number, env: Partial<Env> = {}): Promise<number | null> {
  return runInDurableObject(watchOf(organizationId), async (_, { storage }) => {
    await storage.deleteAlarm();
    const look = { env: { ...bindings, ...env }, organizationId, nowMs, defer: () => undefined };
    return runWatch({ ...look, runAutopilot: () => runAutopilot(look) }, new StoredWatch(storage));
  });
}

const inStore = <Result>(organizationId: string, read: (store: StoredWatch) => Result) =>
  runInDurableObject(watchOf(organizationId), (_, { storage }) => read(new StoredWatch(storage)));

/** The organization's events, the oldest first. */
async function told(organizationId: string, ...types: EventType[]): Promise<OrganizationEvent[]> {
  const { items } = (await operator.send('readOrganizationEvents', { params: { org: organizationId } })).data;
  return items.filter(({ type }) => types.length === 0 || types.includes(type)).reverse();
}

const eventData = (events: OrganizationEvent[]) => events.map(({ data }) => data);

function used(organizationId: string, atMs: number, more: Partial<ReportHour> = {}): Promise<void> {
  const hour = { customerId: 'ann', model: MODEL, calls: 4, costNanoUsd: 1_500_000_000, atMs: atMs - (atMs % HOUR) };
  return writeReportHours(organizationId, [{ ...hour, ...more }]);
}

/** D1 as long as `isAway` answers no for the text of a statement. */
function d1Without(isAway: (sql: string) => boolean, seen: string[] = []): D1Database {
  return new Proxy(bindings.DB, {
    get(target, name) {
      if (name === 'prepare')
        return (sql: string) => {
          if (isAway(sql)) throw new Error('D1_ERROR: Network connection lost.');
          seen.push(sql);
          return target.prepare(sql);
        };
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

const isInsert = (sql: string) => sql.includes('INSERT INTO organization_events');

describe('changes by operators', () => {
  test('of keys and own prices are told at their own time, without a secret, and others are not', async () => {
    const org = await organization();
    const params = { org };
    const { keyId, key } = (await operator.send('createKey', { params, body: { name: 'App', scopes: ['usage:read'] } }))
      .data;
    await operator.send('updateKey', { params: { ...params, keyId }, body: { name: 'Application' } });
    const rotated = (await operator.send('rotateKey', { params: { ...params, keyId }, body: {} })).data;
    await operator.send('revokeKey', { params: { ...params, keyId } });
    const price = { ...params, modelKey: 'ft:mine' };
    const rates = { inputUsdPerMillion: 1, outputUsdPerMillion: 2 };
    await operator.send('setPrice', { params: price, body: rates });
    await operator.send('setPrice', { params: price, body: { ...rates, outputUsdPerMillion: 3 } });
    const later = { ...rates, effectiveFrom: '2027-06-01T00:00:00.000Z' };
    await operator.send('setPrice', { params: price, body: later });
    await operator.send('deletePrices', { params: price });
    await run(org, Date.now());
    const events = await told(org);
    expect(JSON.stringify(events)).not.toContain(key.slice(-4));
    const log = (await operator.send('listEvents', { query: { organizationId: org } })).data.items;
    expect(events.filter(({ data }) => 'keyId' in data && data.keyId === keyId).slice(0, 1)).toEqual([
      {
        eventId: log.find(({ action }) => action === 'key.create')?.eventId,
        type: 'key.created',
        timestamp: log.find(({ action }) => action === 'key.create')?.at,
        data: { keyId, name: 'App', prefix: 'utk-', scopes: ['usage:read'] },
      },
    ]);
    const ofPrice = { modelKey: 'ft:mine', source: 'organization', effectiveFrom: null };
    const [cheap, dear] = [rates, { ...rates, outputUsdPerMillion: 3 }];
    const expected = [
      ['key.created', { keyId, name: 'App', prefix: 'utk-', scopes: ['usage:read'] }],
      ['key.created', { keyId: rotated.keyId, name: 'Application', prefix: 'utk-', scopes: ['usage:read'] }],
      ['key.revoked', { keyId, name: 'Application', prefix: 'utk-' }],
      ['price.changed', { ...ofPrice, before: null, after: cheap }],
      ['price.changed', { ...ofPrice, before: cheap, after: dear }],
      ['price.changed', { ...ofPrice, effectiveFrom: later.effectiveFrom, before: null, after: cheap }],
    ];
    expect(events.slice(0, 6).map(({ type, data }) => [type, data])).toEqual(expected);
    // Both prices of the model went with one change.
    const gone = [
      { ...ofPrice, before: dear, after: null },
      { ...ofPrice, effectiveFrom: later.effectiveFrom, before: cheap, after: null },
    ];
    expect(eventData(events.slice(6))).toEqual(expect.arrayContaining(gone));
    expect(events).toHaveLength(8);
    for (const hours of [0, 1, 2, 30, 80 * 24]) await run(org, Date.now() + hours * HOUR);
    expect(await told(org)).toEqual(events);
  });

  test('wake the watch, whose alarm tells of them, also after it was evicted', async () => {
    const { organizationId } = await createTenant(operator);
    await evictDurableObject(watchOf(organizationId));
    await runDurableObjectAlarm(watchOf(organizationId));
    await vi.waitFor(async () => expect(await told(organizationId, 'key.created')).toHaveLength(1), 60_000);
    await evictDurableObject(watchOf(organizationId));
    await run(organizationId, Date.now() + HOUR);
    expect(await told(organizationId, 'key.created')).toHaveLength(1);
  });

  test('are made although the watch cannot be woken, and only those that are told of wake it', async () => {
    const asked: string[] = [];
    const wake = async (organizationId: string) => {
      asked.push(organizationId);
      throw new Error('the watch is overloaded');
    };
    const env = { ORGANIZATION_WATCHES: { getByName: () => ({ wake }) } } as unknown as Env;
    await wakeAfterChange(env, asOrganizationId('told'), 'key.create');
    await wakeAfterChange(env, asOrganizationId('not told'), 'plan.put');
    await wakeAfterChange(env, null, 'price.put');
    expect(asked).toEqual(['told']);
  });

  test('made before the first look of a watch are told if they are of its last day', async () => {
    const org = await organization();
    await operator.send('createKey', { params: { org }, body: { name: 'Old' } });
    await run(org, Date.now() + 2 * DAY);
    expect(await told(org)).toEqual([]);
  });
});

describe('a watch', () => {
  test('tells what it found while D1 was away when D1 is back, once, and looks again sooner', async () => {
    const org = await organization();
    await used(org, NOW);
    const away = { DB: d1Without(isInsert) };
    const next = [await run(org, NOW, away), await run(org, NOW + HOUR, away)];
    expect(next.map((atMs, n) => (atMs ?? 0) - NOW - n * HOUR)).toEqual([5_000, 5_000]);
    expect(await told(org)).toEqual([]);
    expect(await inStore(org, (store) => store.countWaiting())).toBe(2);
    await run(org, NOW + 2 * HOUR);
    const events = await told(org);
    expect(events.map(({ type }) => type)).toEqual(['model.deprecated', 'model.ending']);
    expect(events.map(({ timestamp }) => timestamp)).toEqual([iso(NOW), iso(NOW)]);
    await run(org, NOW + 3 * HOUR);
    expect(await told(org)).toEqual(events);
  });

  test('that was stopped after D1 had its events sends them again, and nobody sees it', async () => {
    const org = await organization();
    await used(org, NOW);
    await run(org, NOW, { DB: d1Without(isInsert) });
    const waiting = await inStore(org, (store) => store.waiting(10));
    await run(org, NOW + HOUR);
    const events = await told(org);
    await runInDurableObject(watchOf(org), (_, { storage }) => {
      for (const { eventId, type, atMs, data } of waiting)
        storage.sql.exec(
          'INSERT INTO waiting (event_id, type, at_ms, data) VALUES (?, ?, ?, ?)',
          ...[eventId, type, atMs, JSON.stringify(data)],
        );
    });
    await run(org, NOW + 2 * HOUR);
    expect(await told(org)).toEqual(events);
  });

  test('finds with its other steps what it can if one fails', async () => {
    const org = await organization();
    await used(org, NOW);
    await operator.send('createKey', { params: { org }, body: { name: 'k' } });
    await run(org, NOW, { DB: d1Without((sql) => sql.includes('operator_events')) });
    expect((await told(org)).map(({ type }) => type)).toEqual(['model.deprecated', 'model.ending']);
  });

  test('asks D1 four times in an hour without news, and sleeps if there were no calls for 30 days', async () => {
    const org = await organization();
    await used(org, NOW);
    await run(org, NOW);
    const seen: string[] = [];
    // An isolate that has just read the catalog does not read its reviews again.
    await scheduler.wait(2 * Number(bindings.CONFIG_TTL_MS));
    expect(await run(org, NOW + HOUR, { DB: d1Without(() => false, seen) })).toBe(NOW + 2 * HOUR);
    const tables = ['operator_events', 'organizations', 'organization_days', 'catalog_reviews'];
    expect(seen.map((sql) => tables.find((table) => sql.includes(table)))).toEqual(tables);
    expect(await run(org, NOW + 31 * DAY)).toBeNull();
    await wakeWatches(bindings, [org, org], NOW + 32 * DAY);
    const alarm = () => runInDurableObject(watchOf(org), (_, { storage }) => storage.getAlarm());
    expect(await alarm()).not.toBeNull();
    await runInDurableObject(watchOf(org), (_, { storage }) => storage.deleteAlarm());
    await wakeWatches(bindings, [org], NOW + 32 * DAY + HOUR - 1);
    expect(await alarm()).toBeNull();
  });
});

describe('a model in use that ends', () => {
  test('is told of at 90, 30, 7 and 1 days, and its deprecation once', async () => {
    const org = await organization();
    await operator.send('setModels', { params: { org }, body: { standard: ['gpt-5.1-2025-11-13'], premium: [] } });
    for (const days of [100, 75, 50, 25, 5]) await used(org, daysBefore(days));
    const perDay: Record<number, unknown[]> = {};
    let before = 0;
    for (const days of [95, 91, 90, 89, 60, 31, 30, 29, 15, 8, 7, 6, 2, 1, 0, -1]) {
      await run(org, daysBefore(days));
      const events = await told(org, 'model.deprecated', 'model.ending');
      if (events.length > before)
        perDay[days] = events.slice(before).map(({ type, data }) => [type, 'step' in data && data.step]);
      before = events.length;
    }
    expect(perDay).toEqual({
      95: [['model.deprecated', false]],
      90: [['model.ending', 90]],
      30: [['model.ending', 30]],
      7: [['model.ending', 7]],
      1: [['model.ending', 1]],
    });
    expect(eventData(await told(org, 'model.ending'))[1]).toEqual({
      modelKey: MODEL,
      status: 'DEPRECATED',
      shutdownAt: SHUTDOWN,
      daysLeft: 30,
      step: 30,
      replacement: { modelKey: expect.any(String), source: 'computed' },
      calls: 4,
      costUsd: '1.5',
      mappings: ['service/standard'],
    });
  });

  test('is told of by the nearest step alone if it is within several at first', async () => {
    const org = await organization();
    await used(org, daysBefore(20));
    await run(org, daysBefore(20));
    await run(org, daysBefore(19));
    await run(org, daysBefore(7));
    expect(eventData(await told(org, 'model.ending'))).toMatchObject([
      { step: 30, daysLeft: 20 },
      { step: 7, daysLeft: 7 },
    ]);
  });

  test('is no news to an organization that does not use it', async () => {
    const org = await organization();
    await used(org, NOW, { model: 'no-such-model' });
    await run(org, NOW);
    expect(await told(org)).toEqual([]);
  });
});

describe('a catalog release', () => {
  test('is told of once, with the prices of models in use that it changed and that no own price stands for', async () => {
    const [org, later] = [await organization(), await organization()];
    const priced = BUILT_IN_CATALOG.models.filter(({ provider, pricing }) => provider === 'anthropic' && pricing);
    const [first, second, unused] = priced;
    if (!first?.pricing || !second || !unused) throw new Error('the catalog has three models with a price');
    const modelKey = ({ provider, model }: typeof first) => `${provider}/${model}`;
    for (const model of [first, second]) await used(org, NOW, { model: modelKey(model) });
    await operator.send('setPrice', {
      params: { org, modelKey: modelKey(second) },
      body: { inputUsdPerMillion: 1, outputUsdPerMillion: 2 },
    });
    await run(org, NOW);
    const seen = (await told(org)).length;
    const changed = new Set([first, second, unused]);
    const models = BUILT_IN_CATALOG.models.map((model) =>
      changed.has(model) && model.pricing
        ? { ...model, pricing: { ...model.pricing, outputUsdPerMillion: (model.pricing.outputUsdPerMillion ?? 0) + 1 } }
        : model,
    );
    const { version } = (await operator.send('publishCatalog', { body: { models, version: '2027-01-20' } as never }))
      .data;
    await used(later, NOW);
    for (const hours of [1, 2]) for (const one of [org, later]) await run(one, NOW + hours * HOUR);
    expect(eventData((await told(org)).slice(seen))).toEqual([
      {
        version,
        previousVersion: BUILT_IN_CATALOG.version,
        publishedAt: expect.any(String),
        ...{ added: 0, removed: 0, repriced: 3, lifecycle: 0 },
      },
      {
        modelKey: modelKey(first),
        source: 'catalog',
        effectiveFrom: null,
        before: first.pricing,
        after: models.find(({ model }) => model === first.model)?.pricing,
      },
    ]);
    expect(await told(later, 'catalog.published', 'price.changed')).toEqual([]);
  });
});

test('changes that wait for minutes are told of once, until none does any more', async () => {
  const org = await organization();
  await used(org, NOW);
  const waitingSince = async (sinceMs: number | null, nowMs: number) => {
    const state = { changes: 7, lateChanges: 0, lateCustomers: 0, oldestMs: sinceMs };
    const answer = { waiting: state, setAside: { rows: 0, oldestMs: null }, failures: 0, lastError: null };
    await run(org, nowMs, { PROJECTORS: { getByName: () => ({ state: async () => answer }) } as never });
    return (await told(org, 'projection.lagging')).length;
  };
  const counts = [
    await waitingSince(NOW - LAG_MS + 1, NOW),
    await waitingSince(NOW, NOW + HOUR),
    await waitingSince(NOW, NOW + 2 * HOUR),
    await waitingSince(null, NOW + 3 * HOUR),
    await waitingSince(NOW + 3 * HOUR, NOW + 4 * HOUR),
  ];
  expect(counts).toEqual([0, 1, 1, 1, 2]);
  const [first] = await told(org, 'projection.lagging');
  expect(first?.data).toEqual({ waitingSince: iso(NOW), changes: 8 * 7 });
});

test('an episode of unusual usage is told of once, whoever looks how often', async () => {
  const org = await organization();
  const hours: ReportHour[] = [];
  for (let atMs = NOW - (NOW % DAY) - 40 * DAY; atMs < NOW - HOUR; atMs += HOUR)
    hours.push({
      customerId: 'ann',
      model: 'openai/gpt-6-luna',
      atMs,
      calls: 100 + ((atMs / HOUR) % 7),
      costNanoUsd: 1e9,
    });
  // Ten hours long a hundred times as much, yesterday.
  const yesterday = NOW - (NOW % DAY) - DAY;
  for (const hour of hours)
    if (hour.atMs >= yesterday + 8 * HOUR && hour.atMs < yesterday + 18 * HOUR) hour.costNanoUsd = 1e11;
  await writeReportHours(org, hours);
  for (const days of [0, 0.1, 1, 2, 5]) await run(org, NOW + days * DAY);
  const events = await told(org, 'anomaly.detected');
  const spikes = events.flatMap(({ data }) => ('kind' in data && data.kind === 'SPEND_SPIKE' ? [data] : []));
  expect(spikes.map(({ customerId }) => customerId).sort()).toEqual([null, 'ann'].sort());
  expect(spikes.find(({ customerId }) => customerId === null)).toMatchObject({
    startedAt: iso(yesterday + 8 * HOUR),
    endedAt: iso(yesterday + 18 * HOUR),
    unit: 'USD',
  });
});

describe('forecasts', () => {
  const PLAN = {
    name: 'P',
    limitType: 'NONE',
    limits: { standardCalls: 1_000, premiumCalls: 500 },
    payg: { enabled: true },
    customMeters: { CUSTOM1: { label: 'Pages', included: 5_000, funding: { credits: true } } },
    alerts: { balanceBelowDays: 10 },
  };

  beforeAll(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOW });
    return () => vi.useRealTimers();
  });

  /** A customer with the same use in every hour of 40 days, who was there when the period began 21 days ago. */
  async function customer(org: string, customerId: string): Promise<void> {
    const params = { org };
    vi.setSystemTime(NOW - 51 * DAY);
    const { key } = (await operator.send('createKey', { params, body: { name: 'k' } })).data;
    const api = operator.with(key);
    await api.send('provisionCustomer', { body: { customerId } });
    const present = NOW - (NOW % HOUR);
    const hour = { completedCalls: 2, outputTokens: 100, costNanoUsd: 100_000_000, custom1: 10 };
    const hours = Array.from({ length: 40 * 24 }, (_, ago) => ({ ...hour, atMs: present - (ago + 1) * HOUR }));
    await writeObjectHours(org, customerId, hours);
    vi.setSystemTime(NOW);
    await used(org, NOW - 2 * HOUR, { customerId, model: 'openai/gpt-6-luna' });
  }

  /** The consumption of ended calls and increments in the period. */
  async function consume(org: string, customerId: string, consumed: object): Promise<void> {
    // Brings the account into the present period.
    await operator.send('readCustomer', { params: { org, customerId } });
    const stub = bindings.CUSTOMERS.getByName(`${org}:${customerId}`);
    await runInDurableObject(stub, (_, { storage }) => {
      storage.sql.exec(
        `UPDATE account SET value = json_set(value, '$.meters.consumed', json(?)) WHERE id = 1`,
        JSON.stringify(consumed),
      );
    });
    await evictDurableObject(stub);
  }

  /** All alarm steps of the day. */
  async function runDay(org: string, nowMs: number): Promise<number> {
    let runs = 0;
    vi.setSystemTime(nowMs);
    for (let nextMs: number | null = nowMs; nextMs !== null && nextMs < nowMs + HOUR; runs += 1)
      nextMs = await run(asOrganizationId(org), nextMs);
    return runs;
  }

  test('tell of meters that run out before the period ends, at most once a day', async () => {
    const org = await organization(PLAN);
    await customer(org, 'ann');
    // 21 days of 48 calls, a quarter of them premium. 10 days are to come, with 120 premium calls.
    await consume(org, 'ann', { standardCalls: 756, premiumCalls: 252, customMeter1: 4_800 });
    await runDay(org, NOW);
    await runDay(org, NOW + 2 * HOUR);
    const events = await told(org, 'forecast.will_run_out');
    expect(events.map(({ data }) => 'meter' in data && data.meter).sort()).toEqual(['customMeter1', 'standardCalls']);
    for (const { data } of events) {
      if (!('expectedAt' in data)) throw new Error('another event');
      // 200 units at 240 a day, and 244 calls at 36 a day.
      const days = data.meter === 'customMeter1' ? 200 / 240 : 244 / 36;
      expect(Math.abs(Date.parse(data.expectedAt) - NOW - days * DAY)).toBeLessThan(3 * HOUR);
      expect(Date.parse(data.earliestAt)).toBeLessThanOrEqual(Date.parse(data.expectedAt));
      expect(data.periodEndsAt > data.expectedAt).toBe(true);
    }
    await used(org, NOW + DAY - HOUR, { model: 'openai/gpt-6-luna' });
    await runDay(org, NOW + DAY);
    expect(await told(org, 'forecast.will_run_out')).toHaveLength(4);
  });

  test('tell of a balance that lasts for fewer days than the plan wants, again only after it rose above', async () => {
    const org = await organization({ ...PLAN, limitType: 'BLOCK', limits: { standardCalls: 0 } });
    const params = { org, customerId: 'payer' };
    vi.setSystemTime(NOW - 22 * DAY);
    const { key } = (await operator.send('createKey', { params, body: { name: 'k' } })).data;
    const rates = { inputUsdPerMillion: 0, outputUsdPerMillion: 1 };
    await operator.send('setPrice', { params: { org, modelKey: 'mine' }, body: rates });
    const grant = async (amountUsd: string) =>
      (await operator.send('grantCredit', { params, body: { kind: 'USD', amountUsd } })).data.creditId;
    await operator.with(key).send('provisionCustomer', { body: { customerId: 'payer' } });
    await grant('79.2');
    /** A day with a call of 2.40 USD, and the run after it. */
    const day = async (ago: number) => {
      vi.setSystemTime(NOW - ago * DAY - HOUR);
      const { callId } = (await operator.with(key).send('beginCall', { body: { customerId: 'payer' } })).data;
      const end = { callId, modelUsed: 'mine', inputTokens: 0, responseTokens: 2_400_000 };
      await operator.with(key).send('endCall', { body: end });
      await deliverToD1(org, 'payer');
      await runDay(org, NOW - ago * DAY);
      return (await told(org, 'balance.low')).length;
    };
    const counts: number[] = [];
    // After the last of them 24 USD are left, which last for ten days.
    for (let ago = 21; ago >= -1; ago -= 1) counts.push(await day(ago));
    expect(counts).toEqual(counts.map(() => 0));
    expect([await day(-2), await day(-3)]).toEqual([1, 1]);
    const data = { customerId: 'payer', balanceUsd: '21.6', daysLeft: expect.closeTo(9, 0), belowDays: 10 };
    expect(eventData(await told(org, 'balance.low'))).toEqual([data]);
    const creditId = await grant('40');
    expect(await day(-4)).toBe(1);
    await operator.send('revokeCredit', { params: { ...params, creditId }, body: { reason: 'a test' } });
    expect(await day(-5)).toBe(2);
  });

  test('are made of a bounded number of customers at a time, those with the highest cost first', async () => {
    const org = await organization(PLAN);
    const hours = Array.from({ length: CUSTOMERS_PER_STEP + 5 }, (_, n) => ({
      customerId: `c${n}`,
      model: 'openai/gpt-6-luna',
      calls: 1,
      costNanoUsd: (n + 1) * 1e6,
      atMs: NOW - 3 * HOUR - (NOW % HOUR),
    }));
    await writeReportHours(org, hours);
    const nextMs = await run(org, NOW);
    expect(await inStore(org, (store) => store.customers(100))).toEqual(['c4', 'c3', 'c2', 'c1', 'c0']);
    expect(nextMs).toBe(NOW + 1_000);
    expect(await run(org, NOW + 1_000)).toBe(NOW + HOUR);
    expect(await inStore(org, (store) => store.customers(100))).toEqual([]);
  });
});

test('the console says what each event is of', async () => {
  const org = await organization();
  const replacement = { modelKey: 'openai/gpt-6-luna', source: 'computed' } as const;
  const usage = { calls: 4, costUsd: '1.5', mappings: [] };
  const status = 'DEPRECATED' as const;
  const ofModel = { modelKey: MODEL, status, replacement, ...usage };
  const at = {
    expectedAt: iso(NOW + DAY),
    earliestAt: iso(NOW + DAY),
    latestAt: null,
    periodEndsAt: iso(NOW + 9 * DAY),
  };
  const counts = { added: 1, removed: 0, repriced: 2, lifecycle: 3 };
  const spike: Anomaly = {
    ...{ id: 'SPEND_SPIKE:2027-01-20::', customerId: null, startedAt: iso(NOW), endedAt: iso(NOW) },
    kind: 'SPEND_SPIKE',
    unit: 'USD',
    severity: 'HIGH',
    ...{ expected: 1, observed: 9, explainedBy: [], evidence: {} },
    summary: 'Spent $9.00; a usual day is $1.00 (9.0 times)',
  };
  const events: [WatchEvent, string][] = [
    [
      {
        type: 'forecast.will_run_out',
        data: { customerId: asCustomerId('ann'), meter: 'premiumCalls', used: 402, limit: 500, ...at, quality: 'HIGH' },
      },
      'premium calls will run out about 21 Jan 2027, 10:30 UTC: 402 of 500 used',
    ],
    [
      {
        type: 'balance.low',
        data: { customerId: asCustomerId('ann'), balanceUsd: '21.6', daysLeft: 8.5, belowDays: 10 },
      },
      'the balance is low: $21.60 left, enough for 8.5 days, below 10 days',
    ],
    [
      { type: 'model.deprecated', data: { ...ofModel, shutdownAt: null, daysLeft: null } },
      'is deprecated; openai/gpt-6-luna may replace it',
    ],
    [
      { type: 'model.ending', data: { ...ofModel, shutdownAt: SHUTDOWN, daysLeft: 30, step: 30 } },
      `ends on ${calendarDay(Date.parse(SHUTDOWN))}, in 30 days; openai/gpt-6-luna may replace it`,
    ],
    [
      {
        type: 'price.changed',
        data: { modelKey: 'ft:mine', source: 'organization', effectiveFrom: null, before: null, after: {} },
      },
      'the own price of ft:mine was set',
    ],
    [
      { type: 'catalog.published', data: { version: 'b', previousVersion: 'a', publishedAt: iso(NOW), ...counts } },
      'the catalog b is in use, after a: 2 with another price, 3 with other dates',
    ],
    [
      { type: 'key.created', data: { keyId: asKeyId('key_1'), name: 'App', prefix: 'utk-', scopes: null } },
      'the API key App was created',
    ],
    [
      { type: 'key.revoked', data: { keyId: asKeyId('key_2'), name: 'Old', prefix: 'utk-' } },
      'the API key Old was revoked',
    ],
    [
      { type: 'projection.lagging', data: { waitingSince: iso(NOW - HOUR), changes: 7 } },
      '7 changes not in lists and reports yet, the oldest since',
    ],
    [{ type: 'anomaly.detected', data: spike }, 'spent $9.00; a usual day is $1.00 (9.0 times)'],
  ];
  await inStore(org, (store) => store.commit({ events: events.map(([event]) => ({ ...event, atMs: NOW })) }));
  await run(org, NOW);
  expect(eventData(await told(org))).toEqual(events.map(([{ data }]) => data));
  const visitor = new Visitor();
  await visitor.signIn();
  const { text } = await visitor.read(`/console/organizations/${org}/alerts`);
  for (const [, says] of events) expect(text.toLowerCase()).toContain(says.toLowerCase());
});

describe('a customer who is erased', () => {
  test('is erased from what waits in the watch', async () => {
    const org = await organization({ name: 'P', limitType: 'NONE' });
    const { key } = (await operator.send('createKey', { params: { org }, body: { name: 'k' } })).data;
    for (const customerId of ['gone', 'stays'])
      await operator.with(key).send('provisionCustomer', { body: { customerId } });
    await inStore(org, (store) => {
      const data = { balanceUsd: '1', daysLeft: 1, belowDays: 2 };
      for (const customerId of ['gone', 'stays'])
        store.commit(
          {
            events: [
              { type: 'balance.low', atMs: Date.now(), data: { customerId: asCustomerId(customerId), ...data } },
            ],
            remember: [{ key: `low ${customerId}`, value: '', untilMs: null, customerId: asCustomerId(customerId) }],
          },
          [customerId],
        );
    });
    const params = { org, customerId: 'gone' };
    const { erased } = (await operator.send('eraseCustomer', { params })).data;
    expect(erased.events).toBeGreaterThanOrEqual(1);
    const left = await inStore(org, (store) => [
      store.waiting(10).map(({ customerId }) => customerId),
      store.customers(10),
      store.get('low gone'),
      store.get('low stays'),
    ]);
    expect(left).toEqual([['stays'], ['stays'], null, '']);
    await run(org, Date.now());
    expect((await told(org, 'balance.low')).map(({ data }) => 'customerId' in data && data.customerId)).toEqual([
      'stays',
    ]);
  });
});

describe('the autopilot of a mapping', () => {
  /** 14 days before gpt-4o-mini ends, which is replaced with gpt-6-luna at a lower price. */
  const SWITCH_DAY = Date.UTC(2026, 11, 31);
  const entry = { model: 'openai/gpt-4o-mini', switchTo: 'official' };

  /** A change of the configuration is logged by the clock of its time. */
  async function runThen(organizationId: string, nowMs: number): Promise<number | null> {
    vi.useFakeTimers({ toFake: ['Date'], now: nowMs });
    try {
      return await run(asOrganizationId(organizationId), nowMs);
    } finally {
      vi.useRealTimers();
    }
  }

  test('switches on its day and not before, also if nobody calls, and is told once', async () => {
    const org = await organization();
    const params = { org };
    await operator.send('setVendor', { params: { ...params, provider: 'openai' }, body: { apiKey: 'sk-test' } });
    await operator.send('setModels', { params, body: { standard: [entry] } as never });
    const mapped = async () => {
      const models = (await operator.send('readOrganization', { params })).data.models;
      return models?.standard.map((one) => (typeof one === 'string' ? one : one.model));
    };
    expect(await runThen(org, SWITCH_DAY - HOUR)).toBe(SWITCH_DAY);
    expect([await mapped(), await told(org, 'model.switched')]).toEqual([['openai/gpt-4o-mini'], []]);
    await runThen(org, SWITCH_DAY);
    await runThen(org, SWITCH_DAY + HOUR);
    await runThen(org, SWITCH_DAY + 2 * DAY);
    expect(await mapped()).toEqual(['openai/gpt-6-luna']);
    expect(eventData(await told(org, 'model.switched', 'model.switch_refused'))).toMatchObject([
      { mapping: 'standard', from: 'openai/gpt-4o-mini', to: 'openai/gpt-6-luna', priceBasis: 'typical_call' },
    ]);
  });

  test('tells once that it leaves a model, and again for another reason', async () => {
    const org = await organization();
    const params = { org };
    await operator.send('setModels', { params, body: { standard: [entry] } as never });
    for (const hours of [0, 1, 30]) await runThen(org, SWITCH_DAY + hours * HOUR);
    const reasons = async () =>
      (await told(org, 'model.switch_refused')).map(({ data }) =>
        (data as { reasons: { code: string }[] }).reasons.map(({ code }) => code),
      );
    expect(await reasons()).toEqual([['NO_CREDENTIALS']]);
    const body = { standard: [{ ...entry, requiredCapabilities: ['computer_use'] }] } as never;
    await operator.send('setModels', { params, body });
    for (const hours of [40, 41]) await runThen(org, SWITCH_DAY + hours * HOUR);
    expect(await reasons()).toEqual([['NO_CREDENTIALS'], ['CAPABILITY', 'NO_CREDENTIALS']]);
  });
});

test('what a watch finds wakes the webhooks of the organization', async () => {
  const org = await organization();
  const params = { org, webhookId: 'ops' };
  // Nobody listens there: the delivery waits for its next attempt.
  await operator.send('putWebhook', { params, body: { url: 'http://127.0.0.1:9/', types: ['key.created'] } as never });
  await operator.send('createKey', { params: { org }, body: { name: 'k' } });
  await run(org, Date.now());
  const sent = async () => (await operator.send('listDeliveries', { params })).data.items;
  await vi.waitFor(async () => expect(await sent()).toMatchObject([{ type: 'key.created' }]), 60_000);
});

describe('a call without a price', () => {
  test('is told of once for a customer, model, reason and day', async () => {
    const tenant = await createTenant(operator, { name: 'P', limitType: 'NONE' });
    const { organizationId, api } = tenant;
    const end = async (customerId: string, more: object) => {
      const { callId } = (await api.send('beginCall', { body: { customerId } })).data;
      await api.send('endCall', { body: { callId, inputTokens: 1, responseTokens: 1, ...more } });
      return callId;
    };
    const first = await end('ann', { modelUsed: 'acme/one', providerUsed: 'acme' });
    await end('ann', { modelUsed: 'acme/one' });
    await end('ann', { modelUsed: 'gpt-4o-mini', serviceTier: 'other' });
    await end('ann', { modelUsed: 'gpt-4o-mini', serviceTier: 'ultrafast' });
    await deliverToD1(organizationId, 'ann');
    await end('bob', { modelUsed: 'acme/one' });
    await end('bob', { modelUsed: 'acme/two' });
    await end('bob', { modelUsed: 'gpt-4o-mini' });
    await end('bob', {});
    await deliverToD1(organizationId, 'bob');
    const events = eventData(await told(organizationId, 'call.unpriced'));
    expect(events).toMatchObject([
      { customerId: 'ann', callId: first, modelUsed: 'acme/one', providerUsed: 'acme', reason: 'MODEL_NOT_IN_CATALOG' },
      { modelUsed: 'gpt-4o-mini', reason: 'RATE_NOT_IN_CATALOG: input, output (serviceTier other)' },
      { modelUsed: 'gpt-4o-mini', reason: 'RATE_NOT_IN_CATALOG: input, output (serviceTier ultrafast)' },
      { customerId: 'bob', modelUsed: 'acme/one' },
      { customerId: 'bob', modelUsed: 'acme/two', feature: null, atStakeUsd: '0' },
    ]);
  });
});
