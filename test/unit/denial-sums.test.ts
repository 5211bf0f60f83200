/**
 * The amounts of a denial, as figures and as sentences: plain examples.
 */
import { describe, expect, test } from 'vitest';
import { type DenialFigures, pastSumsSentence, presentFigures, sumsSentence } from '../../src/contract/denial.ts';
import { type RecordedDenial, withOpenWork } from '../../src/domain/denial.ts';
import { NEVER_MS } from '../../src/domain/period.ts';
import { account, plan } from './fixtures.ts';

const RECORDED: RecordedDenial = {
  ...{ code: 'BALANCE_HELD', meter: 'premiumCalls', limit: 100, used: 100 },
  money: {
    ...{ neededNanoUsd: '1058976001', availableNanoUsd: '617924500', heldNanoUsd: '2100000000' },
    maxTokensThatPass: 3_400,
  },
  open: { calls: 3, batches: 0 },
  resetsAtMs: Date.UTC(2026, 11, 1),
};

const MONEY: DenialFigures = { neededUsd: 1.058976001, availableUsd: 0.6179245, heldUsd: 2.1, openCalls: 3 };

describe('the figures', () => {
  test('are dollars as numbers and instants, each only if it says something', () => {
    expect(presentFigures(RECORDED)).toEqual({
      ...{ meter: 'premiumCalls', limit: 100, used: 100, ...MONEY },
      ...{ resetsAt: '2026-12-01T00:00:00.000Z', maxTokensThatPass: 3_400 },
    });
    expect(presentFigures({ ...RECORDED, open: { calls: 0, batches: 2 }, resetsAtMs: null })).toMatchObject({
      ...{ openCalls: 0, openBatches: 2, resetsAt: null },
    });
    expect(presentFigures({ code: 'ALLOWANCE_EXHAUSTED', meter: 'searches', limit: 10, used: 10 })).toEqual({
      ...{ meter: 'searches', limit: 10, used: 10 },
    });
    expect(presentFigures({ code: 'SUBSCRIPTION_CANCELED' })).toEqual({});
  });
});

describe('the meter of a denial', () => {
  const denied: RecordedDenial = { code: 'ALLOWANCE_EXHAUSTED', meter: 'premiumCalls' };
  const open = () => ({ calls: 1, batches: 0 });
  const resets = (premiumCalls: number, more: object = {}) =>
    withOpenWork(denied, { ...account(plan({ limits: { premiumCalls } })).subscription, ...more }, open).resetsAtMs;

  test('renews with the period, if the plan has any of it then', () => {
    expect(resets(5, { nextReplenishAtMs: 7_000 })).toBe(7_000);
    expect(resets(0, { nextReplenishAtMs: 7_000 })).toBeNull();
    expect(resets(5, { nextReplenishAtMs: NEVER_MS })).toBeNull();
    const pending = account(plan({ limits: { premiumCalls: 9 } })).subscription.plan;
    expect(resets(0, { nextReplenishAtMs: 7_000, pending })).toBe(7_000);
  });

  test('is needed for anything to be open or to renew', () => {
    const canceled: RecordedDenial = { code: 'SUBSCRIPTION_CANCELED' };
    const { subscription } = account(plan({}));
    expect(withOpenWork(canceled, subscription, open)).toEqual(canceled);
  });
});

describe('the sentence', () => {
  test('says what is needed, what there is, what is held and what would pass', () => {
    expect(sumsSentence({ ...MONEY, maxTokensThatPass: 3_400 })).toBe(
      'The call needs $1.06, and $0.617 is available; 3 open calls hold $2.10. With at most 3,400 output tokens it would pass.',
    );
    expect(pastSumsSentence({ ...MONEY, maxTokensThatPass: 3_400 })).toBe(
      'The call needed $1.06, and $0.617 was available; 3 open calls held $2.10. With at most 3,400 output tokens it would have passed.',
    );
  });

  test.each<[string, DenialFigures, string]>([
    [
      'a held sum of one call',
      { openCalls: 1 },
      'The call needs $1.06, and $0.617 is available; 1 open call holds $2.10.',
    ],
    [
      'of calls and batches',
      { openCalls: 2, openBatches: 1 },
      'The call needs $1.06, and $0.617 is available; 2 open calls and 1 batch hold $2.10.',
    ],
    ['nothing held', { heldUsd: 0 }, 'The call needs $1.06, and $0.617 is available.'],
    [
      'sums that are nearly the same',
      { neededUsd: 1.061, availableUsd: 1.0609, heldUsd: 0 },
      'The call needs $1.07, and $1.06 is available.',
    ],
    [
      'sums below a cent',
      { neededUsd: 0.000042516, availableUsd: 0.0000001, heldUsd: 0 },
      'The call needs $0.0000426, and $0.0000001 is available.',
    ],
    [
      'an overdrawn balance, and a call that costs nothing',
      { neededUsd: 0, availableUsd: -0.12, heldUsd: 0 },
      'The call needs credit, and -$0.12 is available.',
    ],
  ])('tells %s', (_, change, words) => {
    expect(sumsSentence({ ...MONEY, ...change })).toBe(words);
  });

  test('says of an allowance what is used and when it renews', () => {
    const used = { meter: 'premiumTokens', limit: 250_000, used: 250_000 } as const;
    expect(sumsSentence({ ...used, openCalls: 0, resetsAt: '2026-12-01T00:00:00.000Z' })).toBe(
      'premiumTokens: 250,000 of 250,000 are used; they renew on 2026-12-01 at 00:00 UTC.',
    );
    expect(sumsSentence({ ...used, openCalls: 2, resetsAt: null })).toBe(
      'premiumTokens: 250,000 of 250,000 are used, with what 2 open calls reserve.',
    );
    expect(sumsSentence({ ...MONEY, ...used, openCalls: 0, heldUsd: 0, resetsAt: '2026-12-01T12:30:00.000Z' })).toBe(
      'The call needs $1.06, and $0.617 is available. premiumTokens: 250,000 of 250,000 are used; they renew on 2026-12-01 at 12:30 UTC.',
    );
  });

  test('says nothing of a plan on credit alone, nor of a denial without sums', () => {
    expect(sumsSentence({ meter: 'premiumCalls', limit: 0, used: 0, openCalls: 1, resetsAt: null })).toBe('');
    expect(sumsSentence({ meter: 'premiumCalls' })).toBe('');
    expect(sumsSentence({})).toBe('');
  });
});
