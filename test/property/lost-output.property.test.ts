/**
 * Promise: the output of a lost answer is never below its received part, never above its bound, and never less for more
 * time, a higher rate or more text; if no answer showed the rate, it counts as 500 tokens a second.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type LostOutput, lostOutput } from '../../src/domain/lost-call.ts';
import { measureOutputRate, OUTPUT_RATE_MAX, OUTPUT_RATE_MIN } from '../../src/domain/output-rate.ts';

const tokens = fc.nat(200_000);
const worked = fc.record({ ms: fc.nat(700_000), answers: fc.integer({ min: 1, max: 128 }) });
const lost: fc.Arbitrary<LostOutput> = fc.record(
  {
    outputTokensMax: tokens,
    shown: tokens,
    heldTokens: fc.option(tokens, { nil: undefined }),
    worked: fc.option(worked, { nil: undefined }),
    outputRate: fc.integer({ min: OUTPUT_RATE_MIN, max: OUTPUT_RATE_MAX }),
  },
  { requiredKeys: ['outputTokensMax', 'shown'] },
);
const lostTokens = (of: LostOutput) => lostOutput(of).tokens;

describe('the output of a lost answer', () => {
  test('is at least what came, and at most the bound or what is held in steps', () => {
    fc.assert(
      fc.property(lost, (of) => {
        const { shown, outputTokensMax, heldTokens = outputTokensMax } = of;
        expect(lostTokens(of)).toBeGreaterThanOrEqual(shown);
        expect(lostTokens(of)).toBeLessThanOrEqual(Math.max(shown, Math.min(outputTokensMax, heldTokens)));
      }),
    );
  });

  test('is the bound if nobody knows when the vendor was done', () => {
    fc.assert(
      fc.property(lost, (of) => {
        const { shown, outputTokensMax, heldTokens = outputTokensMax } = of;
        const most = Math.max(shown, Math.min(outputTokensMax, heldTokens));
        expect(lostTokens({ ...of, worked: undefined })).toBe(most);
        expect(lostTokens(of)).toBeLessThanOrEqual(most);
      }),
    );
  });

  test('does not fall with time, rate, text or bound', () => {
    const more = fc.record({ ms: fc.nat(60_000), rate: fc.nat(1_000), shown: fc.nat(1_000), bound: fc.nat(10_000) });
    fc.assert(
      fc.property(lost, worked, fc.integer({ min: 1, max: 4_000 }), more, (of, { ms, answers }, outputRate, by) => {
        const before = { ...of, worked: { ms, answers }, outputRate };
        const least = lostTokens(before);
        expect(lostTokens({ ...before, worked: { ms: ms + by.ms, answers } })).toBeGreaterThanOrEqual(least);
        expect(lostTokens({ ...before, outputRate: outputRate + by.rate })).toBeGreaterThanOrEqual(least);
        expect(lostTokens({ ...before, shown: of.shown + by.shown })).toBeGreaterThanOrEqual(least);
        const outputTokensMax = of.outputTokensMax + by.bound;
        expect(lostTokens({ ...before, outputTokensMax })).toBeGreaterThanOrEqual(least);
      }),
    );
  });

  test('is what its basis says', () => {
    fc.assert(
      fc.property(lost, (of) => {
        const { shown, outputTokensMax, heldTokens, worked: time, outputRate = 500 } = of;
        const { tokens: counted, basis } = lostOutput(of);
        const inTime = time ? Math.ceil((time.ms * outputRate * time.answers) / 1_000) : 0;
        expect(counted).toBe({ text: shown, held: heldTokens, time: inTime, bound: outputTokensMax }[basis]);
      }),
    );
  });

  test('of an abandoned stream of 300 tokens is about that', () => {
    const stream = { outputTokensMax: 16_384, shown: 300 };
    expect(lostOutput({ ...stream, worked: { ms: 4_000, answers: 1 }, outputRate: 100 })).toEqual({
      tokens: 400,
      basis: 'time',
    });
    expect(lostOutput({ ...stream, worked: { ms: 3_000, answers: 1 }, outputRate: 100 })).toEqual({
      tokens: 300,
      basis: 'text',
    });
    expect(lostOutput({ ...stream, worked: { ms: 4_000, answers: 1 } })).toEqual({ tokens: 2_000, basis: 'time' });
  });
});

describe('the rate that an answer tells', () => {
  test('is its tokens by its seconds, of one answer, rounded up', () => {
    expect(measureOutputRate(1_000, { ms: 3_000, answers: 1 })).toBe(334);
    expect(measureOutputRate(8_000, { ms: 3_000, answers: 8 })).toBe(334);
  });

  test('is none if it is short or came too fast, and never below the lowest', () => {
    expect(measureOutputRate(255, { ms: 3_000, answers: 1 })).toBeUndefined();
    expect(measureOutputRate(2_040, { ms: 3_000, answers: 8 })).toBeUndefined();
    expect(measureOutputRate(900, { ms: 999, answers: 1 })).toBeUndefined();
    expect(measureOutputRate(100_000, { ms: 3_000, answers: 1 })).toBeUndefined();
    expect(measureOutputRate(300, { ms: 300_000, answers: 1 })).toBe(OUTPUT_RATE_MIN);
    fc.assert(
      fc.property(fc.nat(1_000_000), worked, (output, time) => {
        const rate = measureOutputRate(output, time) ?? OUTPUT_RATE_MIN;
        expect([rate >= OUTPUT_RATE_MIN, rate <= OUTPUT_RATE_MAX, Number.isInteger(rate)]).toEqual([true, true, true]);
      }),
    );
  });
});
