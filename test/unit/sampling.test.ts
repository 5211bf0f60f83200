/**
 * The sampling decision: its reasons in their order, its bounds, and rates that hold over many keys.
 */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { versionedPolicy } from '../../src/config/sampling.ts';
import { SamplingDecision } from '../../src/contract/sampling.ts';
import {
  candidateTokens,
  DEFAULT_SAMPLING_POLICY,
  decideSampling,
  decisionId,
  hashFraction,
  SAMPLING_REASONS,
  type SamplingCandidate,
  type SamplingPolicy,
  sampledText,
} from '../../src/domain/sampling.ts';
import { sha256Hex } from '../../src/platform/hash.ts';

const POLICY: SamplingPolicy = {
  rate: 0.5,
  minInputTokens: 100,
  features: { include: ['chat', 'search'], exclude: ['search', 'legal'] },
  customers: { exclude: ['secret'] },
  retentionDays: 7,
};

describe('a decision names the first rule that applies', () => {
  test.each<[string, Partial<SamplingCandidate>, number, string]>([
    [
      'a customer that is excluded, whatever else holds',
      { customerId: 'secret', feature: 'legal', inputTokens: 0 },
      0.9,
      'CUSTOMER_EXCLUDED',
    ],
    ['an excluded feature, also where it is included', { feature: 'search', inputTokens: 0 }, 0.9, 'FEATURE_EXCLUDED'],
    ['a feature that is not included', { feature: 'other', inputTokens: 0 }, 0.9, 'FEATURE_NOT_INCLUDED'],
    ['no feature, where some are included', { inputTokens: 0 }, 0.9, 'FEATURE_NOT_INCLUDED'],
    ['names by case', { customerId: 'Secret', feature: 'Chat' }, 0, 'FEATURE_NOT_INCLUDED'],
    ['one token too few', { feature: 'chat', inputTokens: 99 }, 0, 'BELOW_MIN_INPUT_TOKENS'],
    ['tokens enough', { feature: 'chat', inputTokens: 100 }, 0.499_999, 'SELECTED'],
    ['a fraction at the rate', { feature: 'chat' }, 0.5, 'NOT_SELECTED'],
    ['a customer that is not excluded', { customerId: 'open', feature: 'chat' }, 0, 'SELECTED'],
  ])('%s', (_of, candidate, fraction, reason) => {
    expect(decideSampling(POLICY, { inputTokens: 1_000, ...candidate }, fraction)).toEqual({
      sample: reason === 'SELECTED',
      reason,
    });
  });

  test('and the contract has the same names, in the same order', () => {
    expect(SamplingDecision.shape.reason.options).toEqual(SAMPLING_REASONS);
  });
});

test('the default policy samples nothing', () => {
  expect(decideSampling(DEFAULT_SAMPLING_POLICY, { inputTokens: 1e9 }, 0)).toEqual({
    sample: false,
    reason: 'NOT_SELECTED',
  });
});

test.each([
  [{}, 0],
  [{ inputTokens: 7, inputCharacters: 4_000 }, 7],
  [{ inputCharacters: 0 }, 0],
  [{ inputCharacters: 1 }, 1],
  [{ inputCharacters: 4 }, 1],
  [{ inputCharacters: 5 }, 2],
])('%j are %i tokens', (counts, tokens) => expect(candidateTokens(counts)).toBe(tokens));

test('a fraction is at least 0 and below 1, exactly the first 52 bits', () => {
  expect(hashFraction('0'.repeat(64))).toBe(0);
  expect(hashFraction(`8${'0'.repeat(63)}`)).toBe(0.5);
  expect(hashFraction(`0000000000001${'f'.repeat(51)}`)).toBe(2 ** -52);
  expect(hashFraction('f'.repeat(64))).toBe(1 - 2 ** -52);
});

test('a known key always gets the same decision, by any client in any language', async () => {
  const text = sampledText('sp_0123456789abcdef', 'key-1');
  const hash = await sha256Hex(text);
  // printf sp_0123456789abcdef:key-1 | sha256sum
  expect(hash).toBe('77e8026d01c431610a969f068417171e491fc51351c99513f91586424fb0fb8b');
  expect(hashFraction(hash)).toBe(0x77e8026d01c43 / 2 ** 52);
  expect(decisionId(hash)).toBe('sd_491fc51351c99513f91586424fb0fb8b');
});

describe('a policy version', () => {
  test('follows from the content alone', async () => {
    const { version } = await versionedPolicy(POLICY);
    expect(version).toMatch(/^sp_[0-9a-f]{16}$/);
    const reordered = Object.fromEntries(
      Object.entries(structuredClone(POLICY)).reverse(),
    ) as unknown as SamplingPolicy;
    expect((await versionedPolicy(reordered)).version).toBe(version);
  });

  test.each<Partial<SamplingPolicy>>([
    { rate: 0.500_000_1 },
    { minInputTokens: 101 },
    { features: { include: ['chat'], exclude: ['search', 'legal'] } },
    { features: { include: ['chat', 'search'], exclude: ['search'] } },
    { customers: { exclude: [] } },
    { retentionDays: 8 },
  ])('is another one with %j', async (change) => {
    expect((await versionedPolicy({ ...POLICY, ...change })).version).not.toBe((await versionedPolicy(POLICY)).version);
  });
});

describe('over 100,000 keys', () => {
  const KEYS = 100_000;
  // 4.9 standard deviations: a fair hash fails once in a million policies, and these keys are always the same.
  const DEVIATIONS = 4.9;
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  const fractions = (version: string) =>
    Float64Array.from({ length: KEYS }, (_, key) => hashFraction(sha256(sampledText(version, `key-${key}`))));

  test('every rate is met, and two policy versions decide independently', () => {
    const [a, b] = [fractions('sp_0123456789abcdef'), fractions('sp_fedcba9876543210')];
    for (const rate of [0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.9, 0.999, 1]) {
      const policy = { ...DEFAULT_SAMPLING_POLICY, rate };
      const kept = (of: Float64Array) =>
        of.reduce((sum, fraction) => sum + Number(decideSampling(policy, { inputTokens: 1 }, fraction).sample), 0);
      const tolerance = DEVIATIONS * Math.sqrt(KEYS * rate * (1 - rate));
      for (const of of [a, b]) expect(Math.abs(kept(of) - KEYS * rate)).toBeLessThanOrEqual(tolerance);
    }
    const both = a.reduce((sum, fraction, key) => sum + Number(fraction < 0.5 && (b[key] ?? 1) < 0.5), 0);
    expect(Math.abs(both - KEYS / 4)).toBeLessThanOrEqual(DEVIATIONS * Math.sqrt((KEYS * 3) / 16));
  });
});
