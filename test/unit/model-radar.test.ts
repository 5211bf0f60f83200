/**
 * Promise: whether a model is on the radar follows from its dates, its successors and its price on the given day; the CSV
 * has every item and no formula.
 */
import { describe, expect, test } from 'vitest';
import { daysLeft } from '../../src/catalog/lifecycle.ts';
import type { Catalog, CatalogModel } from '../../src/catalog/model.ts';
import { NO_REVIEWS } from '../../src/catalog/reviews.ts';
import type { RadarItem } from '../../src/contract/model-radar.ts';
import { costOfTraffic } from '../../src/domain/traffic-cost.ts';
import { NO_USAGE } from '../../src/domain/usage.ts';
import { radarCsv } from '../../src/readings/radar/csv.ts';
import { modelsOnRadar, type NamedUse } from '../../src/readings/radar/models.ts';
import { replacementFor } from '../../src/readings/radar/replacement.ts';

const DAY = 86_400_000;
const SHUTDOWN = Date.parse('2027-01-14');
const SOURCE = { label: 'page', url: 'https://example.com', checkedAt: '2026-11-01' };

function model(name: string, lifecycle: Partial<CatalogModel['lifecycle']>, aliases: string[] = []): CatalogModel {
  return {
    ...{ provider: 'openai', model: name, displayName: name, family: 'x', kind: 'chat', aliases, preview: false },
    lifecycle: { status: 'ACTIVE', source: SOURCE, confidence: 'provider', ...lifecycle },
    releasedAt: '2024-01-01',
    modalities: { input: ['text'], output: ['text'] },
    ...{ capabilities: [], endpoints: [] },
  };
}

const OLD = model(
  'old-2024-08-06',
  { shutdownAt: '2027-01-14', announcedAt: '2026-08-01', replacement: 'openai/new' },
  ['old'],
);
const CATALOG: Catalog = {
  version: '2026-11-23',
  publishedAtMs: 0,
  models: [
    OLD,
    model('new', {}),
    model('gone', { shutdownAt: '2026-01-01', replacement: 'openai/new' }),
    model('named', { replacement: 'openai/new' }),
    model('undated', { announcedAt: '2026-08-01' }),
  ],
  transitions: [],
};

function use(key: string, costNanoUsd = 0n, unpricedCalls = 0): NamedUse {
  return { key, calls: 1, unpricedCalls, inputTokens: 10, outputTokens: 1, costNanoUsd };
}

const view = (nowMs: number, horizonDays = 180) => ({ catalog: CATALOG, reviews: NO_REVIEWS, nowMs, horizonDays });
const on = (nowMs: number, uses: NamedUse[], horizonDays?: number) => modelsOnRadar(view(nowMs, horizonDays), uses);

describe('days left', () => {
  test.each([90, 30, 7, 1])('%i days before the shutdown, at any hour of the day', (days) => {
    for (const hours of [0, 11, 23.999]) {
      const [item] = on(SHUTDOWN - days * DAY + hours * 3_600_000, [use('old')]);
      expect(item).toMatchObject({
        daysLeft: days,
        status: 'DEPRECATED',
        reasons: ['DEPRECATED', 'ENDING', 'OFFICIAL_SUCCESSOR'],
      });
    }
  });

  test.each([0, 1, 40])('%i days after it the model is retired, and ends no more', (days) => {
    const [item] = on(SHUTDOWN + days * DAY, [use('old')]);
    expect(item).toMatchObject({ status: 'RETIRED', reasons: ['RETIRED', 'OFFICIAL_SUCCESSOR'] });
    expect(item?.daysLeft).toBe(days === 0 ? 0 : -days);
  });

  test('there are none without a date', () => expect(daysLeft(model('x', {}), '2026-11-24')).toBeNull());
});

describe('on the radar', () => {
  test('the horizon is inclusive, and is no reason to hide what has no price', () => {
    const at = SHUTDOWN - 90 * DAY;
    expect(on(at, [use('old')], 90)).toHaveLength(1);
    expect(on(at, [use('old')], 89)).toHaveLength(0);
    expect(on(at, [use('old', 0n, 1)], 89)).toMatchObject([{ reasons: ['UNPRICED'], daysLeft: 90 }]);
  });

  test('all names of a model are one item', () => {
    const names = ['old', 'OLD-2024-08-06', 'openai/old-2024-08-06', 'azure/old'];
    const items = on(
      SHUTDOWN - DAY,
      names.map((name) => use(name, 5n)),
    );
    expect(items).toMatchObject([{ modelKey: 'openai/old-2024-08-06', names, calls: 4, costNanoUsd: 20n }]);
  });

  test('what ends first is first, then what costs most; a model in use without a successor is not there', () => {
    const uses = ['undated', 'old', 'new', 'gone', 'nobody', ''].map((key) => use(key, 1n, key === 'nobody' ? 1 : 0));
    expect(on(SHUTDOWN - 90 * DAY, [...uses, use('named', 9n)]).map(({ modelKey }) => modelKey)).toEqual([
      'openai/gone',
      'openai/old-2024-08-06',
      'openai/named',
      'nobody',
      'openai/undated',
    ]);
  });
});

describe('the replacement', () => {
  const replacements = async (nowMs: number, reviews = NO_REVIEWS) => {
    const at = { ...view(nowMs), reviews };
    const items = modelsOnRadar(at, [use('old'), use('named'), use('new'), use('nobody', 0n, 1)]);
    return Object.fromEntries(
      await Promise.all(items.map(async (item) => [item.modelKey, await replacementFor(at, item)] as const)),
    );
  };

  test("is the vendor's, also of a model that is still in use; of an unknown name there is none", async () => {
    expect(await replacements(SHUTDOWN - 90 * DAY)).toMatchObject({
      'openai/old-2024-08-06': { modelKey: 'openai/new', source: 'provider' },
      'openai/named': { modelKey: 'openai/new', source: 'provider' },
      nobody: { modelKey: null, source: 'none', warnings: [expect.stringContaining('nobody is not in the catalog')] },
    });
  });

  test('is the reviewed one if the vendor names none, with the reason of the review', async () => {
    const review = {
      ...{ modelKey: 'openai/new', replacementModelKey: 'openai/named', reason: 'cheaper' },
      reviewedAtMs: SHUTDOWN,
    };
    const found = await replacements(SHUTDOWN - 90 * DAY, new Map([['openai/new', review]]));
    expect(found['openai/new']).toMatchObject({ modelKey: 'openai/named', source: 'admin_review' });
    expect(found['openai/new']?.warnings.join()).toContain('cheaper');
  });
});

describe('the cost of traffic', () => {
  const card = {
    ...{ snapshotId: 's', provider: 'openai', modelKey: 'openai/new' },
    rates: [
      { component: 'input', nanoUsdPerMillion: '1000000000' },
      { component: 'output', nanoUsdPerMillion: '2000000000' },
      { component: 'input', nanoUsdPerMillion: '3000000000', when: { promptTokensAbove: 200 } },
    ],
  } as const;
  const traffic = (change: object, promptTokensAbove = 0) => ({
    ...{ mode: 'standard' as const, promptTokensAbove },
    usage: { ...NO_USAGE, ...change },
  });
  const cost = (...all: ReturnType<typeof traffic>[]) => costOfTraffic({ ...card, rates: [...card.rates] }, all);

  test('goes by the size of the prompts and not by their sum', () => {
    expect(cost(traffic({ inputTokens: 1_000_000 })).nanoUsd).toBe(1_000_000_000n);
    expect(cost(traffic({ inputTokens: 1_000_000 }, 200)).nanoUsd).toBe(3_000_000_000n);
  });

  test('is without what has no rate, and names it with its conditions', () => {
    const found = cost(
      traffic({ inputTokens: 1_000_000, imageOutputTokens: 7, responseTokens: 7, searches: 2, audio: 1 }),
      traffic({ inputTokens: 5, serviceTier: 'flex' }),
    );
    expect(found.nanoUsd).toBe(1_000_000_000n);
    expect(found.notPriced).toEqual(['imageOutput', 'webSearch', 'audio', 'input (serviceTier flex)']);
  });

  test('is not known, and not zero, if nothing that costs has a rate', () => {
    expect(cost(traffic({ searches: 2 }))).toMatchObject({ nanoUsd: null, notPriced: ['webSearch'] });
    expect(cost(traffic({})).nanoUsd).toBe(0n);
  });
});

describe('as CSV', () => {
  const item = (change: Partial<RadarItem>): RadarItem => ({
    ...{ modelKey: 'openai/old', status: 'RETIRED', shutdownAt: '2026-01-01', daysLeft: -5, reasons: ['RETIRED'] },
    replacement: { modelKey: null, source: 'none', warnings: [] },
    usage: { calls: 1, inputTokens: 2, outputTokens: 3, costUSD: 0.5, costUsdNano: '500000000' },
    ...{ replacementCostUSD: null, replacementCostUsdNano: null },
    ...{ replacementDifferenceUsdNano: null, replacementDifferencePercent: null },
    ...{ notPriced: [], customerCount: 0, customers: [] },
    ...{ features: [], mappings: [], plans: [], ...change },
  });

  test('numbers stay numbers, and quotes and commas are quoted', () => {
    const csv = radarCsv({ items: [item({ features: ['a,b', 'say "x"'] })] });
    expect(csv.split('\r\n')[1]).toBe(
      'openai/old,RETIRED,2026-01-01,-5,RETIRED,,none,,1,2,3,0.5,500000000,,,,,,0,,"a,b; say ""x""",,',
    );
  });
});
