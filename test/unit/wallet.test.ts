/**
 * The wallet by example: the order of spending, the instant of expiry, an overdraft and its repayment, and the entries.
 */
import { describe, expect, test } from 'vitest';
import { newCharge, pendingAmount, settled, withMarkup } from '../../src/domain/charge.ts';
import {
  addUnsettled,
  type Credit,
  EMPTY_WALLET,
  expireCredits,
  grantCredit,
  revokeCredit,
  spend,
  sumBalance,
  type Wallet,
} from '../../src/domain/wallet.ts';

const credit = (creditId: string, granted: string, change: Partial<Credit> = {}): Credit => {
  const { unit = 'USD', grantedAtMs = 0, expiresAtMs = null, reference = null } = change;
  return { creditId, unit, granted, remaining: granted, grantedAtMs, expiresAtMs, reference };
};
const grantAll = (...credits: Credit[]): Wallet => credits.reduce(grantCredit, EMPTY_WALLET);
const left = (wallet: Wallet) => wallet.credits.map(({ creditId, remaining }) => [creditId, remaining]);
const story = (wallet: Wallet) =>
  wallet.entries.map(({ cause, amount, balance, creditId }) => [cause, amount, balance, creditId]);

describe('spending', () => {
  const wallet = grantAll(
    credit('old', '10', { grantedAtMs: 1 }),
    credit('new', '10', { grantedAtMs: 5 }),
    credit('late', '10', { grantedAtMs: 1, expiresAtMs: 900 }),
    credit('soon-new', '10', { grantedAtMs: 4, expiresAtMs: 500 }),
    credit('soon-old', '10', { grantedAtMs: 3, expiresAtMs: 500 }),
  );

  test('writes an entry for each used credit, with the balance after it', () => {
    expect(story(spend({ ...wallet, entries: [] }, 'USD', 25n, 'charge', 6))).toEqual([
      ['SPEND', '-10', '40', 'soon-old'],
      ['SPEND', '-10', '30', 'soon-new'],
      ['SPEND', '-5', '25', 'late'],
    ]);
  });

  test('more units of a slot than available throws and does not overdraw', () => {
    expect(() => spend(grantAll(credit('a', '3', { unit: 'CUSTOM1' })), 'CUSTOM1', 4n, 'event', 1)).toThrow(
      'CUSTOM1 has 3 units, not 4',
    );
  });
});

describe('an overdraft', () => {
  const overdrawn = spend(grantAll(credit('a', '100')), 'USD', 130n, 'charge', 1);

  test('is the amount beyond the credits, in an entry without a credit', () => {
    expect([sumBalance(overdrawn, 'USD'), overdrawn.credits, overdrawn.overdraft]).toEqual([-30n, [], '30']);
    expect(story(overdrawn).slice(1)).toEqual([
      ['SPEND', '-100', '0', 'a'],
      ['SPEND', '-30', '-30', null],
    ]);
  });
});

describe('expiry', () => {
  const wallet = grantAll(
    credit('a', '7', { expiresAtMs: 1_000, reference: 'order 1' }),
    credit('b', '3', { unit: 'CUSTOM1', expiresAtMs: 1_000 }),
    credit('c', '5', { expiresAtMs: 1_001 }),
    credit('d', '9'),
  );

  test('is dated at that instant however late it is applied, and removes only the unspent amount', () => {
    const late = expireCredits({ ...spend(wallet, 'USD', 4n, 'charge', 10), entries: [] }, 5_000);
    expect(late.entries).toEqual([
      { atMs: 1_000, unit: 'USD', cause: 'EXPIRY', amount: '-3', balance: '14', creditId: 'a', reference: 'order 1' },
      { atMs: 1_000, unit: 'CUSTOM1', cause: 'EXPIRY', amount: '-3', balance: '0', creditId: 'b', reference: null },
      { atMs: 1_001, unit: 'USD', cause: 'EXPIRY', amount: '-5', balance: '9', creditId: 'c', reference: null },
    ]);
  });
});

describe('a charge', () => {
  test.each([
    // 1,000 x 1.125.
    [1_000n, 12.5, 1_125n],
    // 3 x 1.5 = 4.5, half up.
    [3n, 50, 5n],
    // 1 x 1.333333 is nearer to 1.
    [1n, 33.3333, 1n],
    // 1,000,000 x 1.000001: the smallest markup there is.
    [1_000_000n, 0.0001, 1_000_001n],
    // 499,999 x 0.000001 is just below a half, and 500,000 is a half.
    [499_999n, 0.0001, 499_999n],
    [500_000n, 0.0001, 500_001n],
    // 0.07 is no exact double; 10,000,000 x 1.0007 is exact all the same.
    [10_000_000n, 0.07, 10_007_000n],
    // The largest markup: a hundred and one times.
    [9_007_199_254_740_993n, 10_000, 909_727_124_728_840_293n],
    [0n, 250.75, 0n],
  ])('of %d nano-USD with %d percent is %d', (cost, markup, charge) => {
    expect(withMarkup({ costNanoUsd: cost, markupPercent: markup })).toBe(charge);
  });

  test('settles as paid, or as failed with its reason', () => {
    const charge = newCharge('c', { amountNanoUsd: 5n, markupPercent: 10 });
    expect(settled(charge, null)).toEqual({ ...charge, status: 'POSTED', failureReason: null });
    expect(settled(charge, 'BILLING_REFUSED')).toEqual({
      ...charge,
      status: 'FAILED',
      failureReason: 'BILLING_REFUSED',
    });
    expect(pendingAmount(settled(charge, null))).toBe(0n);
  });

  test('waits for settlement, unless it is zero or has no price', () => {
    expect(newCharge('c', { amountNanoUsd: 5n, markupPercent: 10 })).toMatchObject({
      status: 'PENDING',
      amountNanoUsd: '5',
      failureReason: null,
    });
    expect(newCharge('c', { amountNanoUsd: 0n, markupPercent: 10 })).toMatchObject({
      status: 'POSTED',
      amountNanoUsd: '0',
      failureReason: null,
    });
    expect(newCharge('c', { amountNanoUsd: null, markupPercent: 10 })).toMatchObject({
      status: 'FAILED',
      amountNanoUsd: null,
      failureReason: 'PRICE_UNAVAILABLE',
    });
    expect(
      [
        newCharge('c', { amountNanoUsd: 5n, markupPercent: 10 }),
        newCharge('c', { amountNanoUsd: 0n, markupPercent: 10 }),
        newCharge('c', { amountNanoUsd: null, markupPercent: 10 }),
        null,
      ].map(pendingAmount),
    ).toEqual([5n, 0n, 0n, 0n]);
  });
});

describe('a revocation', () => {
  const wallet = grantAll(
    credit('a', '10', { expiresAtMs: 100 }),
    credit('b', '20'),
    credit('c', '5', { unit: 'CUSTOM1' }),
  );

  test('takes back what is not spent of the credit, and nothing of the others', () => {
    const spent = { ...spend(wallet, 'USD', 14n, 'charge', 1), entries: [] };
    const revoked = revokeCredit(spent, 'b', 'granted twice', 2);
    expect(left(revoked)).toEqual([['c', '5']]);
    expect(revoked.entries).toEqual([
      { atMs: 2, unit: 'USD', cause: 'REVOKE', amount: '-16', balance: '0', creditId: 'b', reference: 'granted twice' },
    ]);
  });

  test('leaves what pending charges will take', () => {
    const pending = addUnsettled(wallet, 12n);
    const revoked = revokeCredit(pending, 'b', 'why', 2);
    expect(left(revoked)).toEqual([
      ['b', '2'],
      ['a', '10'],
      ['c', '5'],
    ]);
    // The part that they do not take in the end also goes.
    expect(left(expireCredits({ ...revoked, unsettled: '1' }, 2))).toEqual([
      ['b', '1'],
      ['a', '10'],
      ['c', '5'],
    ]);
    expect(revokeCredit(pending, 'a', 'why', 2)).toBe(pending);
  });

  test('of a credit that the wallet does not have changes nothing', () => {
    expect(revokeCredit(wallet, 'z', 'why', 2)).toBe(wallet);
  });
});
