/**
 * Small rules of the console: the differences between two documents, the destination after a sign-in, the reason of a
 * denial, and a margin as a share of the revenue.
 */

import { describe, expect, test } from 'vitest';
import { allFields, changedFields } from '../../src/console/changed-fields.ts';
import { customerPath, ownPath } from '../../src/console/context.ts';
import { denialSentence } from '../../src/console/denial-sentence.ts';
import { marginShare } from '../../src/console/margin-view.tsx';
import { DENIAL_CODES } from '../../src/domain/denial.ts';
import { customerKey } from '../support/ids.ts';

describe('changes', () => {
  test('are named by their path, whatever the order of members', () => {
    const before = { a: 1, deep: { x: [1, 2], y: null }, gone: true };
    const after = { deep: { y: null, x: [1, 3] }, a: 1, added: 'new' };
    expect(changedFields(before, after)).toEqual([
      { field: 'deep.x', before: [1, 2], after: [1, 3] },
      { field: 'gone', before: true, after: undefined },
      { field: 'added', before: undefined, after: 'new' },
    ]);
    expect(changedFields(after, { ...after })).toEqual([]);
    expect(allFields(before, after).map(({ field, changed }) => [field, changed])).toEqual([
      ['a', false],
      ['deep.x', true],
      ['deep.y', false],
      ['gone', true],
      ['added', true],
    ]);
  });

  test('of a new object list every field', () => {
    expect(changedFields(null, { a: { b: 1 } })).toEqual([{ field: 'a.b', before: undefined, after: 1 }]);
    expect(changedFields(null, null)).toEqual([]);
    expect(changedFields({ a: 1 }, { a: { b: 1 } })).toEqual([{ field: 'a', before: 1, after: { b: 1 } }]);
  });

  test('are one field where people see one thing', () => {
    expect(changedFields({ replenish: { every: 1, unit: 'DAY' } }, { replenish: { every: 1, unit: 'MONTH' } })).toEqual(
      [{ field: 'replenish', before: { every: 1, unit: 'DAY' }, after: { every: 1, unit: 'MONTH' } }],
    );
  });
});

test('a path in a query leads only into the console', () => {
  expect(ownPath('/console/events?cursor=1')).toBe('/console/events?cursor=1');
  for (const foreign of [
    undefined,
    '',
    '//evil.test',
    '/console\\evil',
    '/consoles',
    'https://evil.test/console',
    '/console/\\evil.test',
  ]) {
    expect(ownPath(foreign)).toBe('/console');
  }
});

test('an id with any character is one segment of a path', () => {
  expect(customerPath(customerKey('org', 'a/b?c#d ü'), 'plan')).toBe(
    '/console/organizations/org/customers/a%2Fb%3Fc%23d%20%C3%BC/plan',
  );
});

describe('the sentence of a denial', () => {
  const denial = {
    requested: ['premium'],
    capability: null,
    meter: 'premiumCalls',
    limit: 0,
    used: 0,
    usagePlanVersionId: 'free:v1',
  } as const;
  const sentence = (more: Partial<Parameters<typeof denialSentence>[0]>) =>
    denialSentence({ code: 'ALLOWANCE_EXHAUSTED', ...denial, requested: [...denial.requested], ...more }, 'Free');

  test('says what was asked for, and which figure stood in the way', () => {
    expect(sentence({})).toBe('Asked for premium. Denied: Free includes 0 premium calls.');
    expect(sentence({ limit: 1_500, used: 1_502, meter: 'standardTokens', requested: ['standard'] })).toBe(
      'Asked for standard. Denied: 1,502 of the 1,500 standard tokens of Free were used.',
    );
    expect(sentence({ requested: ['standard', 'premium', 'search'], meter: 'searches', capability: 'search' })).toBe(
      'Asked for standard, premium and search. Denied: Free includes 0 searches.',
    );
  });

  test('is one of its own for each reason', () => {
    const none = { meter: null, limit: null, used: null };
    expect(sentence({ code: 'SUBSCRIPTION_CANCELED', ...none })).toBe(
      'Asked for premium. Denied: the subscription was canceled.',
    );
    expect(sentence({ code: 'CAPABILITY_NOT_IN_PLAN', ...none, requested: ['search'], capability: 'search' })).toBe(
      'Asked for search. Denied: Free does not include search.',
    );
    expect(sentence({ code: 'CREDIT_REQUIRED' })).toBe(
      'Asked for premium. Denied: Free includes 0 premium calls, and the balance did not cover the call.',
    );
    expect(sentence({ code: 'BALANCE_HELD' })).toBe(
      'Asked for premium. Denied: Free includes 0 premium calls, and open calls and batches held the balance that the call needed.',
    );
    expect(sentence({ code: 'TIER_NOT_REQUESTED', ...none })).toBe(
      'Asked for premium. Denied: the model is of a tier that was not asked for.',
    );
    const all = DENIAL_CODES.map((code) => sentence({ code, ...none }));
    expect(new Set(all).size).toBe(DENIAL_CODES.length);
  });
});

test.each([
  [30n, 100n, '30.0%'],
  [-15n, 10n, '-150.0%'],
  [-100n, 10n, '-1000.0%'],
  [-101n, 10n, 'below -1,000%'],
  [0n, 10n, '0.0%'],
  [-5n, 0n, null],
])('a margin of %s of a revenue of %s is shown as %s', (margin, revenue, shown) => {
  expect(marginShare({ marginNanoUsd: margin, revenueNanoUsd: revenue })).toBe(shown);
});
