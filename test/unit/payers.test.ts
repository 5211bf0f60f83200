/**
 * The credits that get back the amount of a mistake, by ledgers that were computed by hand: A and Z never expire; B
 * expires, and is spent before them.
 */
import { expect, test } from 'vitest';
import { findPayers, mistakenCharge } from '../../src/domain/payers.ts';
import { type Credit, type CreditUnit, EMPTY_WALLET, giveBack, type LedgerEntry } from '../../src/domain/wallet.ts';

const credit = (
  creditId: string,
  unit: CreditUnit,
  grantedAtMs: number,
  expiresAtMs: number | null = null,
): Credit => ({
  creditId,
  unit,
  granted: '8',
  remaining: '8',
  grantedAtMs,
  expiresAtMs,
  reference: null,
});

const spent = (unit: CreditUnit, atMs: number, reference: string, creditId: string, amount: number): LedgerEntry => ({
  atMs,
  unit,
  cause: 'SPEND',
  amount: `-${amount}`,
  balance: '8',
  creditId,
  reference,
});

test('an increment that found a credit used up by an earlier mistake gives back to that credit', () => {
  const credits = [credit('A', 'CUSTOM1', 0), credit('B', 'CUSTOM1', 3, 1_000)];
  // The first increment took a unit of A, and the second found none. After B was granted, a third one took eight of it.
  const entries = [spent('CUSTOM1', 1, 'first', 'A', 1), spent('CUSTOM1', 4, 'third', 'B', 8)];
  // The first was reversed, which gave back no unit: without it, the third would have had A's unit as well.
  const first = { reference: 'first', atMs: 1, earlier: [] };
  const second = { reference: 'second', atMs: 2, earlier: [{ mistake: first, freed: 1n }] };
  const back = { unit: 'CUSTOM1', amount: 1n, reference: 'second', corrects: second, creditId: 'own' } as const;
  const { credits: after } = giveBack(EMPTY_WALLET, { ...back, payers: findPayers(entries, credits, second) }, 5);
  expect(after.map(({ creditId, remaining }) => [creditId, remaining])).toEqual([['A', '1']]);
});

test('a charge that another credit would have paid without an earlier mistake gives back to that credit', () => {
  const credits = [credit('A', 'USD', 0), credit('Z', 'USD', 1), credit('B', 'USD', 4, 1_000)];
  const entries: LedgerEntry[] = [
    spent('USD', 2, 'first', 'A', 1),
    spent('USD', 3, 'second', 'Z', 1),
    spent('USD', 5, 'third', 'B', 8),
    // Without the first one, A would have paid the second one instead of Z.
    {
      ...{ atMs: 6, unit: 'USD', cause: 'RETURN', amount: '1', balance: '8', creditId: 'Z', reference: 'back' },
      corrects: { reference: 'first', atMs: 2 },
    },
  ];
  const second = mistakenCharge(entries, { reference: 'second', atMs: 3 });
  const back = { unit: 'USD', amount: 1n, reference: 'again', corrects: second, creditId: 'own' } as const;
  const { credits: after } = giveBack(EMPTY_WALLET, { ...back, payers: findPayers(entries, credits, second) }, 7);
  expect(after.map(({ creditId, remaining }) => [creditId, remaining])).toEqual([['A', '1']]);
});
