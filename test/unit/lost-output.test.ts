/**
 * Promise: for a lost answer, prompt and uses count as the most that its vendor can count, unless the vendor reported
 * them; for a whole answer they count by our own count.
 */
import { describe, expect, test } from 'vitest';
import type { CallBound } from '../../src/domain/bound.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import type { Usage } from '../../src/domain/usage.ts';
import { callBound } from '../../src/gateway/demand/call-bound.ts';
import { inputBound } from '../../src/gateway/demand/input.ts';
import { seenOutput, uncountedOutput, unseenOutput } from '../../src/gateway/service-calls/output.ts';
import type { Admission } from '../../src/objects/customer-commands.ts';
import { rateCard } from '../support/rate-cards.ts';
import { usage } from './fixtures.ts';

const PRICE: ResolvedPrice = { available: true, card: rateCard({ input: '1000000', output: '10000000' }) };
const UNBOUNDED = { outputTokens: {} } as Admission;
const bound = (change: Partial<CallBound> = {}): CallBound => ({
  tier: null,
  outputTokens: 4_000,
  answers: 2,
  inSteps: false,
  cost: null,
  ifLost: {
    inputTokens: 100,
    inputTokensMax: 450,
    uses: { audioSeconds: 6 },
    usesMax: { audioSeconds: 60 },
    price: PRICE,
  },
  ...change,
});
const of = (change?: Partial<CallBound>) => ({ tier: 'standard' as const, bound: bound(change) });
const ASKED = { atMs: 1_000, leftAtMs: 9_500 };
const partial = (reported: Partial<Usage>) => ({ partial: usage(reported), outputTokens: 30 });

test('a request carries the most that its vendor can count for it, beside our count', () => {
  const body = { model: 'm', messages: [{ role: 'user', content: 'Ein Satz mit Umlauten: äöü.' }] };
  const counted = inputBound({ kind: 'openai', model: 'm', body, contextTokens: undefined, fillsContext: false });
  const request = { provider: 'openai', kind: 'openai' as const, model: 'm', path: 'chat/completions', body };
  const terms = { price: PRICE, limits: {}, tier: null, onDowngrade: false, inSteps: false, asIs: false };
  const opened = { allowUnpricedModels: false, creditOpen: [] };
  const { ifLost } = callBound({ ...request, ...terms }, 'standard', opened);
  expect(ifLost).toMatchObject({ inputTokens: counted.estimate, inputTokensMax: counted.atMost });
  expect(counted.atMost).toBeGreaterThan(counted.estimate);
});

describe('an answer that was lost', () => {
  test('counts prompt and uses at their bound, with the time of all its answers', () => {
    expect(unseenOutput(of(), UNBOUNDED, ASKED)).toEqual({
      usage: usage({ inputTokens: 450, audioSeconds: 60 }),
      source: 'estimated',
      isWhole: false,
      outputTokensMax: 8_000,
      worked: { ms: 8_500, answers: 2 },
    });
    expect(unseenOutput(of(), { outputTokens: { standard: 900 } } as Admission, ASKED).outputTokensMax).toBe(900);
  });

  test('counts by our count if it began before bounds were kept', () => {
    const before = { inputTokens: 100, uses: { audioSeconds: 6 }, price: PRICE };
    expect(unseenOutput(of({ ifLost: before }), UNBOUNDED, ASKED).usage).toMatchObject({
      inputTokens: 100,
      audioSeconds: 6,
    });
  });

  test('has the prompt that its vendor reported, also if that is less; one that it did not report is not free', () => {
    const seen = (reported: Partial<Usage>) => seenOutput(of(), UNBOUNDED, partial(reported), false, ASKED);
    expect(seen({ inputTokens: 12, responseTokens: 1 })).toMatchObject({
      usage: { inputTokens: 12, responseTokens: 30 },
      source: 'partial',
      worked: { ms: 8_500, answers: 2 },
    });
    expect(seen({ responseTokens: 77 }).usage).toMatchObject({ inputTokens: 450, responseTokens: 77 });
  });
});

test('a whole answer counts as we count it, and as its bound if its output cannot be counted', () => {
  const whole = seenOutput(of(), UNBOUNDED, { partial: null, outputTokens: 30 }, true, ASKED);
  expect(whole).toEqual({
    usage: usage({ inputTokens: 100, audioSeconds: 6, responseTokens: 30 }),
    source: 'estimated',
    isWhole: true,
  });
  const uncounted = uncountedOutput(of(), UNBOUNDED);
  expect(uncounted).toMatchObject({ usage: { inputTokens: 100 }, isWhole: true, outputTokensMax: 8_000 });
  expect(uncounted).not.toHaveProperty('worked');
});
