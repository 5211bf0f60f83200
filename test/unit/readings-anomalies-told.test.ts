/**
 * The report of an episode: its sentence, its explanation, and its identity.
 */

import { describe, expect, test } from 'vitest';
import { ANOMALY_KINDS } from '../../src/contract/readings.ts';
import { asCustomerId } from '../../src/domain/ids.ts';
import { detectAnomalies, hourBuckets } from '../../src/readings/anomalies/detect.ts';
import { type Episode, episodeId, UNITS } from '../../src/readings/anomalies/episode.ts';
import { contributions, explainedSpans, type Usage } from '../../src/readings/anomalies/explain.ts';
import { episodeSentence } from '../../src/readings/anomalies/sentences.ts';
import { DAY_MS, HOUR_MS } from '../support/series.ts';

const DAY = Date.UTC(2026, 10, 13);

function episode(kind: Episode['kind'], figures: Partial<Episode> = {}): Episode {
  return {
    kind,
    startMs: DAY,
    endMs: DAY + DAY_MS,
    expected: 1.63,
    observed: 9.37,
    severity: 'HIGH',
    evidence: {},
    ...figures,
  };
}

describe('a sentence', () => {
  const rate = { calls: 101, failedShare: 0.594, usualFailedShare: 0.01 };
  test.each<[Episode, string]>([
    [episode('SPEND_SPIKE', { evidence: { ratio: 5.75 } }), 'Spent $9.37 on 13 Nov; usual is $1.63 (5.8 times).'],
    [
      episode('SPEND_SPIKE', { observed: 0.00042, expected: 0.0001, evidence: { ratio: 4.2 } }),
      'Spent $0.00042 on 13 Nov; usual is $0.0001 (4.2 times).',
    ],
    [
      episode('USAGE_DROP', { observed: 30, expected: 101.4, evidence: { ratio: 0.3 } }),
      '30 calls on 13 Nov; usual is 101 (30 % of it).',
    ],
    [
      episode('SILENCE', { endMs: DAY + 3 * DAY_MS, observed: 0, expected: 3421.9 }),
      'No calls from 13 Nov to 15 Nov; usual is 3,422.',
    ],
    [
      episode('ERROR_BURST', { observed: 60, evidence: rate }),
      '60 of 101 calls failed on 13 Nov (59.4 %); usual is 1 %.',
    ],
    [
      episode('DENIAL_BURST', { observed: 60, evidence: rate }),
      '60 of 101 requests were denied on 13 Nov (59.4 %); usual is 1 %.',
    ],
    [
      episode('NEW_EXPENSIVE_MODEL', { observed: 490, evidence: { modelKey: 'b/two', shareOfSpend: 0.7 } }),
      'b/two, a new model, cost $490.00 on 13 Nov: 70 % of the spend.',
    ],
    [
      episode('NEW_EXPENSIVE_FEATURE', { observed: 490, evidence: { feature: 'agents', shareOfSpend: 0.7 } }),
      'agents, a new feature, cost $490.00 on 13 Nov: 70 % of the spend.',
    ],
    [
      episode('COST_PER_CALL_SHIFT', { observed: 0.0123, expected: 0.0082, evidence: { ratio: 1.5 } }),
      'A call cost $0.012 on 13 Nov; usual is $0.0082 (1.5 times).',
    ],
    [
      episode('CACHE_RATE_DROP', { observed: 0.1204, expected: 0.58 }),
      '12 % of the input came from the cache on 13 Nov; usual is 58 %.',
    ],
    [
      episode('CUSTOMER_SHARE_RISE', { observed: 0.42, expected: 0.11 }),
      "42 % of the organization's spend on 13 Nov; usual is 11 %.",
    ],
  ])('%#', (of, sentence) => {
    expect(episodeSentence(of, [])).toBe(sentence);
  });

  test('says the hours of an episode that is no whole day', () => {
    const at = (startMs: number, endMs: number) =>
      episodeSentence(episode('SPEND_SPIKE', { startMs, endMs, evidence: { ratio: 2 } }), []).split(';')[0];
    expect(at(DAY + 14 * HOUR_MS, DAY + 17 * HOUR_MS)).toBe('Spent $9.37 on 13 Nov from 14:00 to 17:00 UTC');
    expect(at(DAY + 18 * HOUR_MS, DAY + DAY_MS)).toBe('Spent $9.37 on 13 Nov from 18:00 to 24:00 UTC');
    expect(at(DAY + 22 * HOUR_MS, DAY + 26 * HOUR_MS)).toBe('Spent $9.37 from 13 Nov 22:00 to 14 Nov 02:00 UTC');
  });

  test('names what most of the change comes from, and not the only one there is', () => {
    const of = { dimension: 'model', key: 'a/one', change: 5, share: 0.6, among: 2 } as const;
    const told = (...parts: Parameters<typeof episodeSentence>[1]) =>
      episodeSentence(episode('SPEND_SPIKE', { evidence: { ratio: 5.75 } }), parts).split('). ')[1];
    expect(told(of, { ...of, dimension: 'customer', key: 'alpha' })).toBe('Mostly model a/one, customer alpha.');
    expect(told({ ...of, share: 0.4 }, { ...of, dimension: 'feature', key: 'chat', among: 1 })).toBeUndefined();
  });

  test('there is one for every kind, and a unit', () => {
    for (const kind of ANOMALY_KINDS) {
      expect(episodeSentence(episode(kind), [])).toMatch(/^\S.*\.$/);
      expect(['USD', 'calls', 'share']).toContain(UNITS[kind]);
    }
  });
});

describe('what explains an episode', () => {
  const usage = (model: string, calls: number, costUsd: number, more: Partial<Usage> = {}): Usage => ({
    model,
    feature: 'chat',
    outcome: 'COMPLETED',
    calls,
    costUsd,
    inputTokens: 1_000 * calls,
    cachedInputTokens: 500 * calls,
    ...more,
  });
  const none = { now: [], before: [] };

  test('is what contributed a fifth or more of the change, the largest first', () => {
    const before = [usage('a', 10, 1), usage('b', 10, 1), usage('c', 10, 1)];
    const now = [usage('a', 10, 7), usage('b', 10, 4), usage('c', 10, 2), usage('d', 1, 0)];
    expect(contributions('SPEND_SPIKE', { now, before }, none)).toEqual([
      { dimension: 'model', key: 'a', change: 6, share: 0.6, among: 4 },
      { dimension: 'model', key: 'b', change: 3, share: 0.3, among: 4 },
      { dimension: 'feature', key: 'chat', change: 10, share: 1, among: 1 },
    ]);
  });

  test('is measured in failed calls, denied ones, the cost of a call or the cached part of the input', () => {
    const of = (kind: Episode['kind'], now: Usage[], before: Usage[]) =>
      contributions(kind, { now, before }, none).find(({ dimension }) => dimension === 'model');
    expect(of('ERROR_BURST', [usage('a', 50, 0, { outcome: 'FAILED' }), usage('b', 900, 9)], [])).toMatchObject({
      key: 'a',
      change: 50,
    });
    expect(of('DENIAL_BURST', [usage('a', 50, 0, { outcome: 'NOT_ALLOWED' }), usage('b', 900, 9)], [])).toMatchObject({
      key: 'a',
      change: 50,
    });
    expect(of('USAGE_DROP', [usage('a', 10, 1)], [usage('a', 100, 1), usage('b', 5, 1)])).toMatchObject({
      key: 'a',
      change: -90,
    });
    // A call cost 0.1 and costs 0.2, although there are twice as many calls.
    expect(of('COST_PER_CALL_SHIFT', [usage('a', 20, 4)], [usage('a', 10, 1)])).toMatchObject({ change: 0.1 });
    expect(
      of(
        'CACHE_RATE_DROP',
        [usage('a', 10, 1, { cachedInputTokens: 0 }), usage('b', 10, 1)],
        [usage('a', 10, 1), usage('b', 10, 1)],
      ),
    ).toMatchObject({ key: 'a', change: -0.25, share: 1 });
  });

  test('names customers, and nothing if nothing changed', () => {
    const customers = { now: [usage('', 1, 8, { customerId: asCustomerId('alpha'), feature: '' })], before: [] };
    const all = { now: [usage('a', 1, 10)], before: [] };
    expect(contributions('SPEND_SPIKE', all, customers)).toContainEqual({
      dimension: 'customer',
      key: 'alpha',
      change: 8,
      share: 0.8,
      among: 1,
    });
    expect(contributions('SPEND_SPIKE', { now: all.now, before: all.now }, customers)).toEqual([]);
    expect(contributions('SPEND_SPIKE', none, none)).toEqual([]);
  });

  test('is looked for in the same hours of a week before, and in the first week of a long episode', () => {
    const short = { startMs: DAY + HOUR_MS, endMs: DAY + 4 * HOUR_MS };
    expect(explainedSpans(short, asCustomerId('alpha'))).toEqual([
      { customerId: 'alpha', fromMs: short.startMs, toMs: short.endMs },
      { customerId: 'alpha', fromMs: short.startMs - 7 * DAY_MS, toMs: short.endMs - 7 * DAY_MS },
    ]);
    const [now, before] = explainedSpans({ startMs: DAY, endMs: DAY + 20 * DAY_MS }, null);
    expect([now.fromMs, now.toMs, before.fromMs, before.toMs]).toEqual([DAY, DAY + 7 * DAY_MS, DAY - 7 * DAY_MS, DAY]);
  });
});

describe('the identity of an episode', () => {
  test('is its kind, the day on which it began, whose it is, and what is new', () => {
    expect(episodeId(episode('SPEND_SPIKE', { startMs: DAY + 5 * HOUR_MS }), null)).toBe('SPEND_SPIKE:2026-11-13::');
    const model = episode('NEW_EXPENSIVE_MODEL', { evidence: { modelKey: 'b/two' } });
    expect(episodeId(model, asCustomerId('a:b'))).toBe('NEW_EXPENSIVE_MODEL:2026-11-13:a%3Ab:b%2Ftwo');
  });

  test('stays the same at every hour at which a growing episode is read, and no two share it', () => {
    const startMs = DAY - 40 * DAY_MS;
    const spikeMs = DAY - 2 * DAY_MS + 9 * HOUR_MS;
    const hours = Array.from({ length: 42 * 24 }, (_, hour) => {
      const atMs = startMs + hour * HOUR_MS;
      const usual = 20 + ((hour * 7919) % 5) + 10 * Math.sin((hour / 24) * 2 * Math.PI);
      const calls = Math.round(atMs >= spikeMs ? 12 * usual : usual);
      return { startMs: atMs, spend: calls, calls, failedCalls: atMs >= spikeMs ? Math.round(calls / 2) : 0 };
    });
    const seen = new Map<string, number>();
    let readings = 0;
    for (let toMs = spikeMs + 4 * HOUR_MS; toMs <= DAY + DAY_MS; toMs += HOUR_MS) {
      const ids = detectAnomalies(hourBuckets(hours, { fromMs: startMs, toMs }), 'hour').map((found) =>
        episodeId(found, null),
      );
      expect(new Set(ids).size).toBe(ids.length);
      for (const id of ids) seen.set(id, (seen.get(id) ?? 0) + 1);
      readings += 1;
    }
    expect([...seen.keys()].sort()).toEqual(['ERROR_BURST:2026-11-11::', 'SPEND_SPIKE:2026-11-11::']);
    for (const times of seen.values()) expect(times).toBe(readings);
  });
});
