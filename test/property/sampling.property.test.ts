/**
 * Whatever the policy and the call: a decision depends only on the key and the version, and a higher rate keeps every
 * call of a lower one.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  decideSampling,
  hashFraction,
  SAMPLING_REASONS,
  type SamplingPolicy,
  sampledText,
} from '../../src/domain/sampling.ts';
import { sha256Hex } from '../../src/platform/hash.ts';

const name = fc.constantFrom('a', 'b', 'c', 'd');
const names = fc.uniqueArray(name);
const policies: fc.Arbitrary<SamplingPolicy> = fc.record({
  rate: fc.double({ min: 0, max: 1, noNaN: true }),
  minInputTokens: fc.nat(20),
  features: fc.record({ include: names, exclude: names }),
  customers: fc.record({ exclude: names }),
  retentionDays: fc.integer({ min: 1, max: 365 }),
});
const candidates = fc.record({
  customerId: fc.option(name, { nil: undefined }),
  feature: fc.option(name, { nil: undefined }),
  inputTokens: fc.nat(20),
});
const fractions = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const DEFAULT_POLICY: SamplingPolicy = {
  rate: 0.5,
  minInputTokens: 0,
  features: { include: [], exclude: [] },
  customers: { exclude: [] },
  retentionDays: 30,
};

const fraction = async (version: string, key: string) => hashFraction(await sha256Hex(sampledText(version, key)));

test('two eligible calls with the same key are both sampled or both not', async () => {
  await fc.assert(
    fc.asyncProperty(
      policies,
      candidates,
      candidates,
      fc.string(),
      fc.string(),
      async (policy, one, other, version, key) => {
        const share = await fraction(version, key);
        expect(await fraction(version, key)).toBe(share);
        const eligible = [one, other]
          .map((candidate) => decideSampling(policy, candidate, share).reason)
          .filter(isByRate);
        expect(new Set(eligible).size).toBeLessThanOrEqual(1);
      },
    ),
  );
});

test('the same call always gets the same decision, and only SELECTED is a sample', () => {
  fc.assert(
    fc.property(policies, candidates, fractions, (policy, candidate, share) => {
      const decision = decideSampling(policy, candidate, share);
      expect(decideSampling(structuredClone(policy), { ...candidate }, share)).toEqual(decision);
      expect(SAMPLING_REASONS).toContain(decision.reason);
      expect(decision.sample).toBe(decision.reason === 'SELECTED');
    }),
  );
});

test('a decision by any rule other than the rate does not depend on the key', () => {
  fc.assert(
    fc.property(policies, candidates, fractions, fractions, (policy, candidate, one, other) => {
      const [a, b] = [one, other].map((share) => decideSampling(policy, candidate, share).reason);
      expect(isByRate(a ?? '')).toBe(isByRate(b ?? ''));
      if (!isByRate(a ?? '')) expect(a).toBe(b);
    }),
  );
});

test('a higher rate samples every call that a lower rate samples', () => {
  fc.assert(
    fc.property(
      policies,
      candidates,
      fractions,
      fc.double({ min: 0, max: 1, noNaN: true }),
      (policy, candidate, share, rate) => {
        const [lower, higher] = [Math.min(policy.rate, rate), Math.max(policy.rate, rate)];
        const kept = decideSampling({ ...policy, rate: lower }, candidate, share).sample;
        if (kept) expect(decideSampling({ ...policy, rate: higher }, candidate, share).sample).toBe(true);
      },
    ),
  );
});

test('rate 1 samples every eligible key, rate 0 none', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.string(), async (version, key) => {
      const share = await fraction(version, key);
      expect(decideSampling({ ...DEFAULT_POLICY, rate: 1 }, { inputTokens: 0 }, share).sample).toBe(true);
      expect(decideSampling({ ...DEFAULT_POLICY, rate: 0 }, { inputTokens: 0 }, share).sample).toBe(false);
    }),
  );
});

function isByRate(reason: string): boolean {
  return reason === 'SELECTED' || reason === 'NOT_SELECTED';
}
