/**
 * Promise: the autopilot of a mapping replaces a model on its day and not before, by the provider's statement or a
 * review, and only if price, capabilities, credentials and the replacement's own life are certainly right.
 */
import { describe, expect, test } from 'vitest';
import type { Catalog, CatalogModel } from '../../src/catalog/model.ts';
import { NO_REVIEWS, type Reviews } from '../../src/catalog/reviews.ts';
import type { AutopilotEntry } from '../../src/domain/model-mappings.ts';
import { buildRate, type RateCard } from '../../src/domain/price.ts';
import type { Traffic } from '../../src/domain/traffic-cost.ts';
import { NO_USAGE } from '../../src/domain/usage.ts';
import {
  decideSwitch,
  dueSwitch,
  findSuccessor,
  priceChange,
  type SwitchFacts,
} from '../../src/readings/radar/autopilot.ts';

const DAY = 86_400_000;
const SHUTDOWN = Date.parse('2027-01-14');
const SOURCE = { label: 'page', url: 'https://example.com', checkedAt: '2026-11-01' };

type Facts = Partial<Omit<CatalogModel, 'lifecycle'>>;

function model(name: string, lifecycle: Partial<CatalogModel['lifecycle']> = {}, facts: Facts = {}): CatalogModel {
  return {
    ...{ provider: 'openai', model: name, displayName: name, family: 'x', kind: 'chat', aliases: [], preview: false },
    lifecycle: { status: 'ACTIVE', source: SOURCE, confidence: 'provider', ...lifecycle },
    releasedAt: '2024-01-01',
    modalities: { input: ['text'], output: ['text'] },
    ...{ capabilities: ['tools', 'vision'], endpoints: [] },
    ...facts,
  };
}

const ENDS = { shutdownAt: '2027-01-14', announcedAt: '2026-08-01' };
const ending = (name: string, replacement: string, more: Partial<CatalogModel['lifecycle']> = {}) =>
  model(name, { ...ENDS, replacement, ...more });

const CATALOG: Catalog = {
  version: '2026-11-23',
  publishedAtMs: 0,
  models: [
    { ...ending('old', 'openai/new'), aliases: ['old-alias'] },
    model('new'),
    model('bare', {}, { capabilities: [] }),
    model('elder', { ...ENDS, replacement: 'openai/new' }),
    model('preview', {}, { preview: true }),
    model('closed', {}, { availability: { access: 'limited', note: 'on request', source: SOURCE } }),
    model('other-kind', {}, { kind: 'embedding' }),
    ending('to-bare', 'openai/bare'),
    ending('to-elder', 'openai/elder'),
    ending('to-preview', 'openai/preview'),
    ending('to-closed', 'openai/closed'),
    ending('to-kind', 'openai/other-kind'),
    ending('to-outside', 'openai/not-here'),
    ending('to-loop', 'openai/to-loop'),
    ending('by-hearsay', 'openai/new', { confidence: 'secondary' }),
    ending('with-note', 'openai/new', { replacementNote: 'only with another parameter' }),
    model('alone', ENDS),
    model('undated', { announcedAt: '2026-08-01', replacement: 'openai/new' }),
  ],
  transitions: [],
};

const entry = (name: string, more: Partial<AutopilotEntry> = {}): AutopilotEntry => ({
  ...{ model: name, switchTo: 'official', switchDaysBefore: 14, maxPriceIncreasePercent: 0, requiredCapabilities: [] },
  ...more,
});
const view = (nowMs: number, reviews: Reviews = NO_REVIEWS) => ({ catalog: CATALOG, reviews, nowMs });
const card = (inputUsd: string, outputUsd = inputUsd): RateCard => ({
  ...{ snapshotId: 's', provider: 'openai', modelKey: 'openai/x' },
  rates: [buildRate('input', inputUsd, 1_000_000), buildRate('output', outputUsd, 1_000_000)],
});
const SAME: SwitchFacts = {
  vendors: new Set(['openai']),
  prices: { from: card('1'), to: card('1') },
  traffic: [],
};
const traffic = (inputTokens: number, responseTokens: number): Traffic[] => [
  { mode: 'standard', usage: { ...NO_USAGE, inputTokens, responseTokens }, promptTokensAbove: 0 },
];
const reviewed = (modelKey: string, replacementModelKey: string): Reviews =>
  new Map([[modelKey, { modelKey, replacementModelKey, reason: 'measured', reviewedAtMs: Date.UTC(2026, 10, 1) }]]);

function decide(
  of: AutopilotEntry,
  {
    nowMs = SHUTDOWN,
    reviews = NO_REVIEWS,
    ...facts
  }: Partial<SwitchFacts> & { nowMs?: number; reviews?: Reviews } = {},
) {
  const on = view(nowMs, reviews);
  const due = dueSwitch(on, 'standard', of);
  if (!due) return null;
  return decideSwitch(on, due, findSuccessor(on, due), { ...SAME, ...facts });
}
const refusalCodes = (decision: ReturnType<typeof decide>) =>
  decision?.to === null ? decision.refused.reasons.map(({ code }) => code) : decision?.to;

describe('the day', () => {
  test.each([0, 1, 14, 90])('is the shutdown less %i days, at 00:00 UTC, and each later one', (switchDaysBefore) => {
    const of = entry('old', { switchDaysBefore });
    const fromMs = SHUTDOWN - switchDaysBefore * DAY;
    expect(decide(of, { nowMs: fromMs - 1 })).toBeNull();
    for (const nowMs of [fromMs, fromMs + DAY - 1, fromMs + DAY, SHUTDOWN + 400 * DAY])
      expect(refusalCodes(decide(of, { nowMs }))).toBe('openai/new');
  });

  test('does not come for a model without a date, in use, of another day, or unknown', () => {
    for (const name of ['undated', 'new', 'unheard-of', 'old-2026-01-01'])
      expect(decide(entry(name), { nowMs: SHUTDOWN + DAY })).toBeNull();
  });
});

describe('the replacement', () => {
  test("is the provider's, under every name of the model, with what it costs and why", () => {
    for (const name of ['old', 'openai/old', 'old-alias']) {
      expect(decide(entry(name))).toEqual({
        to: 'openai/new',
        switched: {
          ...{ mapping: 'standard', source: 'official', from: name, to: 'openai/new', shutdownAt: '2027-01-14' },
          ...{ priceChangePercent: 0, priceBasis: 'typical_call', warnings: [] },
          reason: 'openai/old ends on 2027-01-14; openai replaces openai/old with it',
        },
      });
    }
  });

  test('that is itself on its way out is followed to a live one, as the lookup does', () => {
    expect(refusalCodes(decide(entry('to-elder')))).toBe('openai/new');
  });

  test('is the reviewed one if the entry says so, and no other', () => {
    const of = entry('old', { switchTo: 'reviewed' });
    expect(refusalCodes(decide(of))).toEqual(['NO_REPLACEMENT']);
    const decision = decide(of, { reviews: reviewed('openai/old', 'openai/preview') });
    expect(decision).toMatchObject({
      to: 'openai/preview',
      switched: {
        source: 'reviewed',
        reason: expect.stringContaining('reviewed by an operator on 2026-11-01: measured'),
      },
    });
    expect(
      refusalCodes(decide(of, { reviews: reviewed('openai/old', 'openai/elder'), nowMs: SHUTDOWN - DAY })),
    ).toEqual(['REPLACEMENT_ENDS']);
    expect(refusalCodes(decide(of, { reviews: reviewed('openai/old', 'openai/elder') }))).toEqual(['NO_REPLACEMENT']);
    expect(refusalCodes(decide(of, { reviews: reviewed('openai/old', 'openai/other-kind') }))).toEqual(['OTHER_KIND']);
  });

  test.each([
    ['alone', 'NO_REPLACEMENT'],
    ['to-outside', 'NO_REPLACEMENT'],
    ['to-loop', 'NO_REPLACEMENT'],
    ['by-hearsay', 'NOT_UNCONDITIONAL'],
    ['with-note', 'NOT_UNCONDITIONAL'],
    ['to-preview', 'PREVIEW'],
    ['to-closed', 'LIMITED'],
    ['to-kind', 'OTHER_KIND'],
  ])('of %s is none that the autopilot takes: %s', (name, code) => {
    expect(refusalCodes(decide(entry(name)))).toEqual([code]);
  });

  test('needs credentials, and a model at another channel has other dates', () => {
    expect(refusalCodes(decide(entry('old'), { vendors: new Set(['azure-openai']) }))).toEqual(['NO_CREDENTIALS']);
    for (const name of ['azure-openai/old', 'azure/old'])
      expect(refusalCodes(decide(entry(name)))).toEqual(['OTHER_CHANNEL']);
  });

  test('must be known to have what is required: unknown is a refusal', () => {
    const needs = (name: string, requiredCapabilities: string[]) =>
      refusalCodes(decide(entry(name, { requiredCapabilities })));
    expect(needs('old', ['tools', 'vision'])).toBe('openai/new');
    expect(needs('old', ['tools', 'web_search'])).toEqual(['CAPABILITY']);
    expect(needs('to-bare', ['tools'])).toEqual(['CAPABILITY']);
    expect(needs('to-bare', [])).toBe('openai/bare');
  });
});

describe('the price', () => {
  const at = (to: string, maxPriceIncreasePercent: number, more: Partial<SwitchFacts> = {}) =>
    refusalCodes(
      decide(entry('old', { maxPriceIncreasePercent }), { prices: { from: card('1'), to: card(to) }, ...more }),
    );

  test('is at most the bound: at it and below it the switch is made, above it refused', () => {
    expect(at('1', 0)).toBe('openai/new');
    expect(at('0.5', 0)).toBe('openai/new');
    expect(at('1.000001', 0)).toEqual(['PRICE']);
    expect(at('1.1', 10)).toBe('openai/new');
    expect(at('1.100001', 10)).toEqual(['PRICE']);
    expect(at('1.125', 12.5)).toBe('openai/new');
  });

  test('is of the calls of the last 30 days if there were any, else of a typical call', () => {
    // Dearer input and cheaper output: which of the two it is depends on the calls.
    const prices = { from: card('1', '4'), to: card('2', '1') };
    const of = entry('old');
    expect(decide(of, { prices })).toMatchObject({ to: null, refused: { reasons: [{ code: 'PRICE' }] } });
    const written = decide(of, { prices, traffic: traffic(1_000_000, 1_000_000) });
    expect(written).toMatchObject({
      to: 'openai/new',
      switched: { priceBasis: 'last_30_days', priceChangePercent: -40 },
    });
    const refused = decide(of, { prices, traffic: traffic(1_000_000, 0) });
    expect(refused).toMatchObject({
      refused: {
        reasons: [{ message: '+100% for the calls of the last 30 days is above maxPriceIncreasePercent 0' }],
      },
    });
  });

  test('that is not known, of either or of a component, is a refusal', () => {
    expect(at('1', 1_000, { prices: { from: null, to: card('1') } })).toEqual(['PRICE_UNKNOWN']);
    expect(at('1', 1_000, { prices: { from: card('1'), to: null } })).toEqual(['PRICE_UNKNOWN']);
    expect(at('1', 1_000, { prices: { from: card('0'), to: card('1') } })).toEqual(['PRICE_UNKNOWN']);
    const searched = [{ ...traffic(10, 10)[0], usage: { ...NO_USAGE, inputTokens: 10, searches: 3 } }] as Traffic[];
    const change = priceChange({ prices: { from: card('1'), to: card('1') }, traffic: searched });
    expect(change).toMatchObject({
      percent: null,
      unknown: ['webSearch of the model', 'webSearch of the replacement'],
    });
    expect(at('1', 1_000, { traffic: searched })).toEqual(['PRICE_UNKNOWN']);
    expect(at('0', 0, { prices: { from: card('0'), to: card('0') } })).toBe('openai/new');
  });

  test('and every other reason are told together', () => {
    const decision = decide(entry('to-preview', { requiredCapabilities: ['web_search'] }), {
      ...{ vendors: new Set<string>(), prices: { from: card('1'), to: card('3') } },
    });
    expect(decision).toMatchObject({ refused: { model: 'to-preview', replacement: 'openai/preview' } });
    expect(refusalCodes(decision)).toEqual(['PREVIEW', 'CAPABILITY', 'NO_CREDENTIALS', 'PRICE']);
  });
});
