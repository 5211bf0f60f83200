/**
 * A list by its address is read in its own form, and a list without a known form is an error, never silence.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readList } from '../../src/catalog/lists.ts';
import { type CatalogNews, untoldNews } from '../../src/catalog/news.ts';
import { PACKAGES } from '../support/packages-of-release.ts';

const DAY = '2026-11-23';
const read = (raw: unknown, address = 'https://lists.example/a/list.json?token=secret') =>
  readList(raw, { address: new URL(address), day: DAY });
const fixture = (name: string) => JSON.parse(readFileSync(join(import.meta.dirname, '../fixtures', name), 'utf8'));

/** As model-eol publishes it. */
const eol = (models: object[], others: object = {}) => ({
  spec: 'model-eol/0.1',
  publisher: 'anthropic',
  models,
  ...others,
});

describe('a list in the form of', () => {
  test('model-eol says ids and ends, and the day that it names', () => {
    const models = [
      { id: 'claude-opus-4-5-20251101', shutdown: '2027-01-22', replacement: 'claude-opus-5-5' },
      { id: 'claude-opus-5', shutdown: '2027-07-24', date_precision: 'tentative' },
      { id: 'claude-sonnet-5', shutdown: 'soon' },
      { id: 'All legacy models' },
    ];
    expect(read(eol(models, { generated: '2026-11-22T22:28:01.292Z' }))).toEqual([
      {
        source: 'lists.example/a/list.json of 2026-11-22',
        date: '2026-11-22',
        provider: 'anthropic',
        ids: ['claude-opus-4-5-20251101', 'claude-opus-5', 'claude-sonnet-5'],
        ends: { 'claude-opus-4-5-20251101': '2027-01-22' },
        prices: {},
      },
    ]);
  });

  test('LiteLLM says ids, prices and ends, as of the day on which it is read', () => {
    const [openai] = read(fixture('litellm-sample.json'));
    expect(openai?.source).toBe(`lists.example/a/list.json, read ${DAY}`);
    expect(openai?.prices['gpt-4o']).toEqual({ input: 2.5, output: 10, cachedInput: 1.25, cacheWrite: undefined });
    expect(Object.values(openai?.ends ?? {})).toEqual(
      expect.arrayContaining([expect.stringMatching(/^\d{4}-\d\d-\d\d$/)]),
    );
  });

  test('models.dev says ids and prices', () => {
    const facts = read(fixture('models-dev-sample.json'));
    expect(facts.map(({ provider }) => provider)).toEqual(['openai', 'anthropic', 'google']);
    expect(facts[0]?.prices['gpt-4o']).toMatchObject({ input: 2.5, output: 10, cachedInput: 1.25 });
  });

  test('genai-prices says the prices that are in force, of the three providers alone', () => {
    const model = (id: string, prices: unknown) => ({ id, match: { equals: id }, prices });
    const step = (prices: object, constraint?: object) => ({ prices, ...(constraint && { constraint }) });
    const list = [
      { id: 'avian', models: [model('Meta-Llama-3.1', { input_mtok: 1, output_mtok: 1 })] },
      {
        id: 'anthropic',
        models: [
          model('claude-a', { input_mtok: { base: 3, tiers: [] }, output_mtok: 15, cache_read_mtok: 0.3 }),
          model('claude-b', [
            step({ input_mtok: 6, output_mtok: 30 }),
            step({ input_mtok: 3, output_mtok: 15 }, { start_date: '2026-03-13' }),
            step({ input_mtok: 1, output_mtok: 5 }, { start_date: '2027-01-01' }),
            step({ input_mtok: 2, output_mtok: 10 }, { start_time: '00:30:00Z', end_time: '16:30:00Z' }),
          ]),
          model('claude-images', { requests_kcount: 4 }),
        ],
      },
    ];
    expect(read(list)).toMatchObject([
      {
        provider: 'anthropic',
        prices: { 'claude-a': { input: 3, output: 15, cachedInput: 0.3 }, 'claude-b': { input: 3, output: 15 } },
      },
    ]);
  });

  test('pi-ai says the prices of the provider that its file is named after', () => {
    const files = PACKAGES.get('@earendil-works/pi-ai')?.files ?? {};
    const text = files['dist/providers/data/anthropic.json'] ?? '';
    const raw = JSON.parse(text);
    expect(read(raw, 'https://npm.example/pi-ai@1.5.2/dist/providers/data/anthropic.json')).toMatchObject([
      { provider: 'anthropic', prices: { 'claude-fable-5-2': { input: 8, output: 40 } } },
    ]);
    expect(() => read(raw)).toThrow('none of the forms');
  });
});

test.each([
  ['nothing', null, 'none of the forms'],
  ['text', 'gpt-7', 'none of the forms'],
  ['an object of another kind', { models: [{ id: 'gpt-7' }] }, 'none of the forms'],
  ['a list of another kind', [1, 2, 3], 'names no model'],
  ['an empty list', [], 'names no model'],
  ['a damaged list', [{ id: 'openai', models: 'all' }], 'none of genai-prices'],
  ['another provider', eol([{ id: 'mistral-large' }], { publisher: 'mistral' }), 'another provider'],
  ['no model', eol([{ id: 'All legacy models' }]), 'names no model'],
  [
    'more models than there can be',
    eol(Array.from({ length: 5_001 }, (_, n) => ({ id: `claude-${n}` }))),
    'more than 5000',
  ],
])('%s is no list', (_name, raw, why) => {
  expect(() => read(raw)).toThrow(why);
});

describe('what was told', () => {
  const end = (modelKey: string, shutdownAt: string, by: string) => ({
    modelKey,
    shutdownAt,
    ours: null,
    reportedBy: [by],
  });
  const price = (usdPerMillion: number): CatalogNews['prices'][number] => ({
    modelKey: 'openai/a',
    rate: 'input',
    usdPerMillion,
    ours: 1,
    reportedBy: ['x'],
  });
  const news = (ends: CatalogNews['ends'], more: Partial<CatalogNews> = {}): CatalogNews => ({
    ends,
    missing: [],
    prices: [],
    ...more,
  });

  test('is no news again, whoever says it and whatever the catalog has meanwhile', () => {
    const told = news([end('openai/a', '2027-01-01', 'x')], { prices: [price(2)] });
    const now = news([{ ...end('openai/a', '2027-01-01', 'y'), ours: '2027-02-01' }], {
      prices: [{ ...price(2), ours: 3 }],
    });
    expect(untoldNews(now, [told], 10)).toEqual({ ends: [], missing: [], prices: [], more: 0 });
  });

  test('of another day or rate is', () => {
    const told = news([end('openai/a', '2027-01-01', 'x')], { prices: [price(2)] });
    const now = news([end('openai/a', '2027-01-02', 'x')], { prices: [price(3)] });
    expect(untoldNews(now, [told], 10)).toEqual({ ...now, more: 0 });
  });

  test('is bounded, the ends first, and counts what is left', () => {
    const now = news([end('openai/a', '2027-01-01', 'x'), end('openai/b', '2027-01-01', 'x')], {
      missing: [{ modelKey: 'openai/c', nearest: null, reportedBy: ['x'] }],
      prices: [price(2), price(3)],
    });
    expect(untoldNews(now, [], 1)).toEqual({ ends: now.ends.slice(0, 1), missing: [], prices: [], more: 4 });
    expect(untoldNews(now, [], 4)).toEqual({ ...now, prices: [price(2)], more: 1 });
    expect(untoldNews(now, [untoldNews(now, [], 4)], 4)).toEqual({ ...news([]), prices: [price(3)], more: 0 });
  });
});
