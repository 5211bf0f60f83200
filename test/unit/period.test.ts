/**
 * Usage periods are half-open, counted from their anchor, and follow the calendar: a monthly period anchored on the
 * 31st ends on the last day of a shorter month and returns to the 31st.
 */

import { describe, expect, test } from 'vitest';
import { openAccount, replenishDue } from '../../src/domain/account.ts';
import { asCustomerId, asOrganizationId } from '../../src/domain/ids.ts';
import { boundary, NEVER_MS, periodAt, type Replenish, type ReplenishUnit } from '../../src/domain/period.ts';
import { account, plan } from './fixtures.ts';

const at = (iso: string) => Date.parse(iso.length === 10 ? `${iso}T00:00:00Z` : iso);
const iso = (ms: number) => new Date(ms).toISOString().replace('T00:00:00.000Z', '');

describe('boundaries', () => {
  test.each<[string, string, number, ReplenishUnit, string[]]>([
    [
      'monthly on the 31st',
      '2026-01-31',
      1,
      'MONTH',
      ['2026-01-31', '2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31', '2026-06-30', '2026-07-31', '2026-08-31'],
    ],
    [
      'monthly on the 31st in a leap year',
      '2027-12-31',
      1,
      'MONTH',
      ['2027-12-31', '2028-01-31', '2028-02-29', '2028-03-31'],
    ],
    ['monthly on the 30th', '2026-01-30', 1, 'MONTH', ['2026-01-30', '2026-02-28', '2026-03-30', '2026-04-30']],
    ['monthly on the 29th in a leap year', '2028-01-29', 1, 'MONTH', ['2028-01-29', '2028-02-29', '2028-03-29']],
    ['monthly over the new year', '2026-11-15', 1, 'MONTH', ['2026-11-15', '2026-12-15', '2027-01-15', '2027-02-15']],
    [
      'every second month on the 31st',
      '2026-12-31',
      2,
      'MONTH',
      ['2026-12-31', '2027-02-28', '2027-04-30', '2027-06-30', '2027-08-31'],
    ],
    ['every 13th month', '2026-01-31', 13, 'MONTH', ['2026-01-31', '2027-02-28', '2028-03-31', '2029-04-30']],
    [
      'yearly on February 29',
      '2024-02-29',
      1,
      'YEAR',
      ['2024-02-29', '2025-02-28', '2026-02-28', '2027-02-28', '2028-02-29', '2029-02-28'],
    ],
    [
      'yearly on February 29 towards 2100, which is no leap year',
      '2096-02-29',
      4,
      'YEAR',
      ['2096-02-29', '2100-02-28', '2104-02-29'],
    ],
    ['yearly on February 28', '2027-02-28', 1, 'YEAR', ['2027-02-28', '2028-02-28']],
    ['every third day over a leap day', '2028-02-27', 3, 'DAY', ['2028-02-27', '2028-03-01', '2028-03-04']],
    ['weekly', '2026-12-28', 1, 'WEEK', ['2026-12-28', '2027-01-04', '2027-01-11']],
    ['every second week', '2026-12-28', 2, 'WEEK', ['2026-12-28', '2027-01-11', '2027-01-25']],
    ['every 12 hours', '2026-12-31', 12, 'HOUR', ['2026-12-31', '2026-12-31T12:00:00.000Z', '2027-01-01']],
    ['daily where clocks change elsewhere', '2026-03-28', 1, 'DAY', ['2026-03-28', '2026-03-29', '2026-03-30']],
  ])('%s', (_of, anchor, every, unit, expected) => {
    expect(expected.map((_, index) => iso(boundary(at(anchor), { every, unit }, index)))).toEqual(expected);
  });

  test('keep the time of day of their anchor, to the millisecond', () => {
    expect(iso(boundary(at('2026-01-31T23:59:59.999Z'), { every: 1, unit: 'MONTH' }, 1))).toBe(
      '2026-02-28T23:59:59.999Z',
    );
    expect(iso(boundary(at('2024-02-29T13:14:15.016Z'), { every: 1, unit: 'YEAR' }, 1))).toBe(
      '2025-02-28T13:14:15.016Z',
    );
  });
});

describe('the period that contains a moment', () => {
  const monthly: Replenish = { every: 1, unit: 'MONTH' };
  const anchor = at('2026-01-31T10:00:00Z');
  const february = { index: 1, startMs: at('2026-02-28T10:00:00Z'), endMs: at('2026-03-31T10:00:00Z') };

  test('is the first one before the anchor and at the anchor', () => {
    const first = { index: 0, startMs: anchor, endMs: february.startMs };
    expect([
      periodAt(anchor, monthly, anchor - 1),
      periodAt(anchor, monthly, anchor - 1e12),
      periodAt(anchor, monthly, anchor),
    ]).toEqual([first, first, first]);
  });
});

describe('a plan that never replenishes', () => {
  test('has an end that is still a valid date', () => {
    expect(new Date(NEVER_MS).toISOString()).toBe('9999-12-31T23:59:59.999Z');
  });
});

test.each<ReplenishUnit>(['HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR'])(
  'no boundary of a %s lies after the end of time',
  (unit) => {
    expect(boundary(at('2026-01-31'), { every: 1000, unit }, 1e9)).toBe(NEVER_MS);
    const last = periodAt(at('9990-06-15'), { every: 1000, unit }, at('9999-12-31T23:00:00Z'));
    expect(last.startMs).toBeLessThanOrEqual(at('9999-12-31T23:00:00Z'));
    expect(last.endMs).toBe(NEVER_MS);
  },
);

describe('an account', () => {
  const version = (replenish: Replenish) => ({
    planId: 'p',
    usagePlanVersionId: 'v',
    version: 1,
    plan: plan({ replenish }),
  });
  const open = (replenish: Replenish, nowMs: number) =>
    openAccount(
      {
        organizationId: asOrganizationId('o'),
        customerId: asCustomerId('c'),
        subscriptionId: 's',
        plan: version(replenish),
        contact: {},
      },
      nowMs,
    );

  test('is anchored at the moment it is opened', () => {
    expect(open({ every: 1, unit: 'MONTH' }, at('2026-01-31')).subscription).toMatchObject({
      cycle: { anchorMs: at('2026-01-31'), replenish: { every: 1, unit: 'MONTH' } },
      lastReplenishedAtMs: at('2026-01-31'),
      nextReplenishAtMs: at('2026-02-28'),
    });
    expect(open(null, 5).subscription.nextReplenishAtMs).toBe(NEVER_MS);
  });

  test('is replenished exactly at its boundary: consumption returns to zero, reservations stay', () => {
    const before = {
      ...open({ every: 1, unit: 'MONTH' }, at('2026-01-31')),
      meters: { consumed: { searches: 4 }, reserved: { searches: 1 } },
    };
    expect(replenishDue(before, at('2026-02-28') - 1)).toBe(before);
    const after = replenishDue(before, at('2026-02-28'));
    expect(after.meters).toEqual({ consumed: {}, reserved: { searches: 1 } });
    expect(after.subscription).toMatchObject({
      version: 2,
      cycle: { anchorMs: at('2026-01-31'), replenish: { every: 1, unit: 'MONTH' } },
      lastReplenishedAtMs: at('2026-02-28'),
      nextReplenishAtMs: at('2026-03-31'),
    });
  });

  test('that missed several periods continues in the current one', () => {
    const woken = replenishDue(open({ every: 1, unit: 'MONTH' }, at('2026-01-31')), at('2026-07-04'));
    expect(woken.subscription).toMatchObject({
      lastReplenishedAtMs: at('2026-06-30'),
      nextReplenishAtMs: at('2026-07-31'),
    });
  });

  test('that never replenishes keeps its consumption', () => {
    const before = account(plan({ replenish: null }), { consumed: { searches: 4 }, reserved: {} });
    before.subscription.nextReplenishAtMs = NEVER_MS;
    expect(replenishDue(before, at('2126-01-01'))).toBe(before);
  });
});
