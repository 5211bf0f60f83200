/**
 * Promise: a watch reports each event once, however often and with what gaps it looks: steps of days before a model
 * ends, episodes that grow, prices that a release changed.
 */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { NO_REVIEWS } from '../../src/catalog/reviews.ts';
import { ENDING_STEPS_DAYS } from '../../src/contract/event-data.ts';
import { OrganizationEvent } from '../../src/contract/events.ts';
import type { Anomaly } from '../../src/contract/readings.ts';
import { lowBalanceDays } from '../../src/domain/alerts.ts';
import { asCustomerId } from '../../src/domain/ids.ts';
import { NEWS_MS, newEpisodes } from '../../src/events/watch/anomaly-news.ts';
import { changedPrices } from '../../src/events/watch/catalog-news.ts';
import { type Memory, memoryKey, type News } from '../../src/events/watch/look.ts';
import { stepToTell } from '../../src/events/watch/model-news.ts';
import { eventsOfChange } from '../../src/events/watch/operator-news.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const iso = (atMs: number) => new Date(atMs).toISOString();

class Remembering implements Memory {
  readonly #values = new Map<string, string>();
  get(key: string): string | null {
    return this.#values.get(key) ?? null;
  }
  take({ remember = [] }: News): void {
    for (const { key, value } of remember) this.#values.set(key, value);
  }
}

describe('steps of days', () => {
  test('are each told at most once, in their order, and never before their time or past a nearer one', () => {
    const looks = fc.uniqueArray(fc.integer({ min: -5, max: 120 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(looks, (days) => {
        let toldStep: number | null = null;
        const told: { step: number; daysLeft: number }[] = [];
        for (const daysLeft of days.toSorted((a, b) => b - a)) {
          // A second look on the same day finds nothing more.
          for (const again of [false, true]) {
            const step = stepToTell(daysLeft, toldStep);
            if (again) expect(step).toBeNull();
            if (step === null) continue;
            told.push({ step, daysLeft });
            toldStep = step;
          }
        }
        const steps = told.map(({ step }) => step);
        expect(steps).toEqual([...new Set(steps)].sort((a, b) => b - a));
        for (const { step, daysLeft } of told) {
          expect(daysLeft).toBeLessThanOrEqual(step);
          expect(ENDING_STEPS_DAYS.filter((days) => days < step && daysLeft <= days)).toEqual([]);
        }
        // Each step in which somebody looked is told.
        const within = (daysLeft: number) => ENDING_STEPS_DAYS.filter((days) => daysLeft <= days).at(-1);
        const looked = new Set(days.filter((left) => left > 0).map(within));
        looked.delete(undefined);
        expect(new Set(steps)).toEqual(looked);
      }),
    );
  });

  test('tell nothing of a model that has ended, or ends later than in the widest step', () => {
    expect([0, -1, 91, 1_000].map((days) => stepToTell(days, null))).toEqual([null, null, null, null]);
  });
});

describe('episodes', () => {
  const NOW = Date.UTC(2027, 0, 20);
  const episode = (startMs: number, endMs: number, more: Partial<Anomaly> = {}): Anomaly => ({
    id: `SPEND_SPIKE:${iso(startMs).slice(0, 10)}::`,
    customerId: null,
    kind: 'SPEND_SPIKE',
    summary: 'Spent $9.00; a usual day is $1.00 (9.0 times)',
    explainedBy: [],
    startedAt: iso(startMs),
    endedAt: iso(endMs),
    unit: 'USD',
    expected: 1,
    observed: 9,
    severity: 'HIGH',
    evidence: {},
    ...more,
  });

  test('of two new models at the same time are two', () => {
    const ofModel = (model: string) =>
      episode(NOW, NOW + HOUR, { kind: 'NEW_EXPENSIVE_MODEL', id: `NEW_EXPENSIVE_MODEL:2027-01-20::${model}` });
    const memory = new Remembering();
    const first = newEpisodes([ofModel('a'), ofModel('b')], memory, NOW + DAY);
    memory.take(first);
    expect(first.events).toHaveLength(2);
    expect(newEpisodes([ofModel('a'), ofModel('b')], memory, NOW + DAY).events).toEqual([]);
  });

  test('that grow or shrink at their ends are told once, and each of their own is told', () => {
    const parts = fc.array(
      fc.record({ gap: fc.integer({ min: 1, max: 30 }), length: fc.integer({ min: 1, max: 20 }) }),
      { minLength: 1, maxLength: 8 },
    );
    fc.assert(
      fc.property(parts, fc.integer({ min: 1, max: 12 }), (list, step) => {
        let at = NOW;
        const spans = list.map(({ gap, length }) => {
          const startMs = at + gap * HOUR;
          at = startMs + length * HOUR;
          return { startMs, endMs: at };
        });
        const memory = new Remembering();
        const told: string[] = [];
        for (let nowMs = NOW; nowMs <= at + DAY; nowMs += step * HOUR) {
          const seen = spans
            .filter(({ startMs }) => startMs < nowMs)
            .map(({ startMs, endMs }) => episode(startMs, Math.min(endMs, nowMs)));
          const news = newEpisodes(seen.toReversed(), memory, nowMs);
          memory.take(news);
          told.push(...(news.events ?? []).map(({ data }) => ('startedAt' in data ? data.startedAt : '')));
        }
        expect(told).toEqual(spans.map(({ startMs }) => iso(startMs)));
      }),
    );
  });

  test('of another kind or customer are others, and old ones are no news', () => {
    const others = [
      episode(NOW - 2 * HOUR, NOW - HOUR),
      episode(NOW - 2 * HOUR, NOW - HOUR, { kind: 'ERROR_BURST' }),
      episode(NOW - 2 * HOUR, NOW - HOUR, { customerId: asCustomerId('ann') }),
      episode(NOW - NEWS_MS - 2 * HOUR, NOW - NEWS_MS - HOUR, { customerId: asCustomerId('old') }),
    ];
    const { events, remember } = newEpisodes(others, new Remembering(), NOW);
    expect(events?.map(({ data }) => data)).toEqual(others.slice(0, 3));
    expect(remember?.map(({ customerId }) => customerId)).toEqual([null, null, 'ann']);
  });
});

test('keys of what is remembered do not run into each other', () => {
  const parts = fc.array(fc.oneof(fc.string(), fc.constant(null)), { maxLength: 3 });
  fc.assert(
    fc.property(parts, parts, (a, b) => {
      expect(memoryKey('k', ...a) === memoryKey('k', ...b)).toBe(JSON.stringify(a) === JSON.stringify(b));
    }),
  );
});

test('the price of a model in use is told of under each of its names, once, and not if an own price is in force', () => {
  const nowMs = Date.UTC(2026, 10, 24);
  const model = BUILT_IN_CATALOG.models.find((one) => one.model === 'gpt-4o-mini-2024-07-18');
  if (!model?.pricing) throw new Error('the catalog has the model');
  const view = { catalog: BUILT_IN_CATALOG, reviews: NO_REVIEWS, nowMs, horizonDays: 0 };
  const modelKey = 'openai/gpt-4o-mini-2024-07-18';
  const repriced = [{ modelKey, before: null, after: model.pricing }];
  const differences = { added: [], removed: [], repriced, lifecycle: [], other: [] };
  const use = (key: string) => ({ key, calls: 1, unpricedCalls: 0, inputTokens: 1, outputTokens: 1, costNanoUsd: 1n });
  const told = (prices: Map<string, { fromMs: number }[]>, ...names: string[]) =>
    changedPrices(differences, view, prices as never, names.map(use)).length;
  const own = (fromMs: number) => new Map([[modelKey, [{ fromMs }]]]);
  expect(told(new Map(), 'gpt-4o-mini', modelKey)).toBe(1);
  expect(told(new Map(), 'gpt-5', '')).toBe(0);
  expect(told(own(nowMs), modelKey)).toBe(0);
  expect(told(own(nowMs + 1), modelKey)).toBe(1);
});

test('days of the plan stand before those of the organization, and null is none', () => {
  const days = (plan: number | null | undefined, organization?: number | null) =>
    lowBalanceDays(plan === undefined ? {} : { alerts: { balanceBelowDays: plan } }, {
      balanceBelowDays: organization,
    });
  expect([days(3, 5), days(undefined, 5), days(null, 5), days(undefined, null), days(undefined)]).toEqual([
    ...[3, 5, null, null, null],
  ]);
});

test('what a change of a key tells is what the contract says, and nothing of its secret', () => {
  const after = {
    keyId: 'key_1',
    name: 'n',
    prefix: 'utk-',
    hint: 'abcd',
    scopes: null,
    createdAt: '',
    revokedAt: null,
  };
  for (const action of ['key.create', 'key.revoke']) {
    const [found] = eventsOfChange({ action, subject: 'key_1', eventId: 'evt_1', atMs: 0, before: null, after });
    const event = { eventId: 'evt_1', type: found?.type, timestamp: iso(0), data: found?.data };
    expect(OrganizationEvent.parse(event)).toEqual(event);
    expect(JSON.stringify(event)).not.toContain('abcd');
  }
});
