/**
 * An unclear figure counts at its bound: a whole at the call's, a part at its whole if that costs more, a use at the
 * most that the request allows. A charged figure without a bound makes the usage unknown.
 */
import { describe, expect, test } from 'vitest';
import { atBound, type UnclearFigure, type UsageBound } from '../../src/domain/unclear-usage.ts';
import { rateCard, type ShortRates } from '../support/rate-cards.ts';
import { usage } from './fixtures.ts';

const BOUND: UsageBound = { inputTokens: 1_000, outputTokens: 200, uses: { webSearch: 5 }, promptTokens: 30 };
const RATES: ShortRates = { input: 4n, output: 10n, cachedInput: 1n, cacheWrite: 5n, audioInput: 9n, imageOutput: 30n };

const filled = (
  known: Parameters<typeof usage>[0],
  unclear: UnclearFigure[],
  { rates = RATES, bound = BOUND, totalTokens }: { rates?: ShortRates; bound?: UsageBound; totalTokens?: number } = {},
) => atBound(usage(known), { unclear, totalTokens }, bound, rateCard(rates));

describe('a whole', () => {
  test('counts at the bound of the call, and never below what the vendor proved', () => {
    expect(filled({ responseTokens: 7 }, ['inputTokens'])).toMatchObject({ inputTokens: 1_000, responseTokens: 7 });
    expect(filled({ inputTokens: 5_000 }, ['inputTokens'])?.inputTokens).toBe(5_000);
    expect(filled({ inputTokens: 9 }, ['responseTokens'])).toMatchObject({ inputTokens: 9, responseTokens: 200 });
  });

  test('without any bound is unknown, unless it costs nothing', () => {
    expect(atBound(usage({}), { unclear: ['inputTokens'] }, undefined, rateCard(RATES))).toBeNull();
    expect(atBound(usage({}), { unclear: ['inputTokens'] }, undefined, rateCard({ output: 1n }))).not.toBeNull();
  });
});

describe('a part', () => {
  const known = { inputTokens: 100, responseTokens: 50 };

  test('that costs more than its whole is the rest of the whole', () => {
    expect(filled({ ...known, cachedInputTokens: 30 }, ['cacheWriteInputTokens'])).toMatchObject({
      inputTokens: 100,
      cachedInputTokens: 30,
      cacheWriteInputTokens: 70,
    });
    expect(filled(known, ['audioInputTokens'])?.audioInputTokens).toBe(100);
    expect(filled(known, ['imageOutputTokens'])?.imageOutputTokens).toBe(50);
  });

  test('that costs less, or has no rate of its own, is left in its whole', () => {
    expect(filled(known, ['cachedInputTokens'])?.cachedInputTokens).toBe(0);
    expect(filled(known, ['imageInputTokens'])?.imageInputTokens ?? 0).toBe(0);
    expect(filled(known, ['cacheWriteInputTokens'], { rates: { input: 4n } })?.cacheWriteInputTokens).toBe(0);
  });

  test('of an unclear whole is the rest of its bound', () => {
    expect(filled({}, ['inputTokens', 'cacheWriteInputTokens'])).toMatchObject({
      inputTokens: 1_000,
      cacheWriteInputTokens: 1_000,
    });
  });

  test('of reasoning is the whole output, which costs the same', () => {
    expect(filled(known, ['reasoningTokens'])?.reasoningTokens).toBe(50);
  });
});

describe('a use', () => {
  const rates = { ...RATES, webSearch: 7n, audioSeconds: 3n, fileSearch: 2n };

  test('counts at what the request allows, and at least what was seen', () => {
    expect(filled({ searches: 2 }, ['searches'], { rates })?.searches).toBe(5);
    expect(filled({ searches: 8 }, ['searches'], { rates })?.searches).toBe(8);
  });

  test('that is charged and has no bound is unknown; that is not charged stays what was seen', () => {
    expect(filled({}, ['audioSeconds'], { rates })).toBeNull();
    expect(filled({}, ['fileSearch'], { rates })).toBeNull();
    expect(filled({ toolUses: { fileSearch: 2 } }, ['fileSearch'])).toMatchObject({ toolUses: { fileSearch: 2 } });
  });

  test('of files keeps the minutes of code beside it', () => {
    const bound = { ...BOUND, uses: { fileSearch: 3 } };
    expect(filled({ toolUses: { codeMinutes: 4 } }, ['fileSearch'], { rates, bound })?.toolUses).toEqual({
      fileSearch: 3,
      codeMinutes: 4,
    });
  });
});

test('of a total alone the prompt is what we count of it, the rest is output, and never more than was allowed', () => {
  const split = (totalTokens: number, bound: Partial<UsageBound> = {}) => {
    const found = filled({}, ['inputTokens', 'responseTokens'], { totalTokens, bound: { ...BOUND, ...bound } });
    return [found?.inputTokens, found?.responseTokens];
  };
  expect(split(100)).toEqual([30, 70]);
  expect(split(20)).toEqual([20, 0]);
  expect(split(100, { writtenTokens: 90 })).toEqual([10, 90]);
  expect(split(1_000)).toEqual([800, 200]);
  expect(split(100, { outputTokens: 0 })).toEqual([100, 0]);
});
