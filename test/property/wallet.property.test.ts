/**
 * The wallet against a naive purse of single coins: the order of spending, the times of expiry, and books that always
 * sum.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addUnsettled,
  availableUsd,
  type Credit,
  type CreditUnit,
  EMPTY_WALLET,
  expireCredits,
  grantCredit,
  hold,
  nextExpiryMs,
  release,
  revokeCredit,
  settle,
  spend,
  sumBalance,
  type Wallet,
} from '../../src/domain/wallet.ts';

const UNITS = ['USD', 'CUSTOM1', 'CUSTOM2', 'AGENTIC_API'] as const satisfies readonly CreditUnit[];

/** One nano-USD, or one unit of a slot: coins make the order of spending plain to see. */
interface Coin {
  unit: CreditUnit;
  creditId: string;
  grantedAtMs: number;
  expiresAtMs: number;
}

type Step =
  | { kind: 'grant'; unit: CreditUnit; amount: number; expiresInMs: number | null }
  | { kind: 'spend'; unit: CreditUnit; amount: number }
  | { kind: 'hold'; amount: number }
  | { kind: 'release'; pick: number }
  | { kind: 'charge'; pick: number; amount: number }
  | { kind: 'settle'; pick: number }
  | { kind: 'revoke'; pick: number }
  | { kind: 'wait'; ms: number };

const unit = fc.constantFrom<CreditUnit>('USD', 'USD', 'USD', ...UNITS);
const amount = fc.integer({ min: 1, max: 12 });
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('grant' as const),
      unit,
      amount,
      expiresInMs: fc.option(fc.integer({ min: 1, max: 8 }), { nil: null }),
    }),
    fc.record({ kind: fc.constant('spend' as const), unit, amount }),
    fc.record({ kind: fc.constant('hold' as const), amount }),
    fc.record({ kind: fc.constant('release' as const), pick: fc.nat(100) }),
    fc.record({ kind: fc.constant('charge' as const), pick: fc.nat(100), amount }),
    fc.record({ kind: fc.constant('settle' as const), pick: fc.nat(100) }),
    fc.record({ kind: fc.constant('revoke' as const), pick: fc.nat(100) }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(4) }),
  ),
  { maxLength: 40, size: 'max' },
);

/** The purse: coins, and the owed nano-USD while there are none. */
class Purse {
  coins: Coin[] = [];
  owed = 0;
  /** The holds of open calls, one by one, and pending charges. */
  holds: number[] = [];
  pending: number[] = [];

  claimed(): number {
    return [...this.holds, ...this.pending].reduce((sum, count) => sum + count, 0);
  }

  grant(of: CreditUnit, count: number, creditId: string, grantedAtMs: number, expiresAtMs: number): void {
    for (let coin = 0; coin < count; coin += 1) {
      if (of === 'USD' && this.owed > 0) this.owed -= 1;
      else this.coins.push({ unit: of, creditId, grantedAtMs, expiresAtMs });
    }
  }

  /** In the order of spending: those that expire first, among them the oldest. */
  inOrder(of: CreditUnit): Coin[] {
    const own = this.coins.filter(({ unit }) => unit === of);
    return own.sort((x, y) => Math.sign(x.expiresAtMs - y.expiresAtMs) || x.grantedAtMs - y.grantedAtMs);
  }

  /** Takes one coin after the other. */
  spend(of: CreditUnit, count: number): void {
    const taken = new Set(this.inOrder(of).slice(0, count));
    this.coins = this.coins.filter((coin) => !taken.has(coin));
    this.owed += count - taken.size;
  }

  /** Coins that somebody has a claim to stay. */
  expire(nowMs: number): void {
    const kept = new Set(this.inOrder('USD').slice(0, this.claimed()));
    this.coins = this.coins.filter((coin) => coin.expiresAtMs > nowMs || kept.has(coin));
  }

  /** The claimed rest of it ends with the claim. Nothing happens if all of it is claimed. */
  revoke(creditId: string, nowMs: number): void {
    const kept = new Set(this.inOrder('USD').slice(0, this.claimed()));
    const own = this.coins.filter((coin) => coin.creditId === creditId);
    if (own.every((coin) => kept.has(coin))) return;
    this.coins = this.coins.filter((coin) => coin.creditId !== creditId || kept.has(coin));
    for (const coin of own) coin.expiresAtMs = nowMs;
  }

  balance(of: CreditUnit): bigint {
    return BigInt(this.coins.filter(({ unit }) => unit === of).length - (of === 'USD' ? this.owed : 0));
  }
}

/** The entries since `before` explain, one by one, how its balances became those of `after`. */
function expectEntriesToExplain(before: Wallet, after: Wallet): void {
  const balances = new Map(UNITS.map((of) => [of, sumBalance(before, of)]));
  for (const entry of after.entries.slice(before.entries.length)) {
    const next = (balances.get(entry.unit) ?? 0n) + BigInt(entry.amount);
    expect(BigInt(entry.balance)).toBe(next);
    expect(entry.amount).not.toBe('0');
    balances.set(entry.unit, next);
  }
  expect([...balances]).toEqual(UNITS.map((of) => [of, sumBalance(after, of)]));
}

test('any history leaves the same balances as a model with single coins, and ledger entries explain each change', () => {
  fc.assert(
    fc.property(steps, (history) => {
      let wallet = EMPTY_WALLET;
      let nowMs = 1_000;
      const purse = new Purse();
      for (const [index, step] of history.entries()) {
        const before = wallet;
        // Grants at the same instant have no order; here each has an instant of its own.
        nowMs += 1;
        if (step.kind === 'wait') nowMs += step.ms;
        wallet = expireCredits(wallet, nowMs);
        purse.expire(nowMs);
        if (step.kind === 'grant') {
          const creditId = `credit-${index}`;
          const expiresAtMs = step.expiresInMs === null ? null : nowMs + step.expiresInMs;
          const granted = String(step.amount);
          const credit = {
            creditId,
            unit: step.unit,
            granted,
            remaining: granted,
            grantedAtMs: nowMs,
            expiresAtMs,
            reference: null,
          };
          wallet = grantCredit(wallet, credit);
          purse.grant(step.unit, step.amount, creditId, nowMs, expiresAtMs ?? Number.POSITIVE_INFINITY);
        } else if (step.kind === 'hold') {
          wallet = hold(wallet, BigInt(step.amount));
          purse.holds.push(step.amount);
        } else if (step.kind === 'release' && purse.holds.length > 0) {
          const [held = 0] = purse.holds.splice(step.pick % purse.holds.length, 1);
          wallet = release(wallet, BigInt(held));
        } else if (step.kind === 'charge' && purse.holds.length > 0) {
          const [held = 0] = purse.holds.splice(step.pick % purse.holds.length, 1);
          wallet = addUnsettled(release(wallet, BigInt(held)), BigInt(step.amount));
          purse.pending.push(step.amount);
        } else if (step.kind === 'settle' && purse.pending.length > 0) {
          const [due = 0] = purse.pending.splice(step.pick % purse.pending.length, 1);
          wallet = settle(wallet, BigInt(due), 'charge', nowMs);
          purse.spend('USD', due);
        } else if (step.kind === 'spend') {
          const all = sumBalance(wallet, step.unit);
          const count = step.unit === 'USD' ? step.amount : Math.min(step.amount, Number(all));
          wallet = spend(wallet, step.unit, BigInt(count), 'event', nowMs);
          purse.spend(step.unit, count);
        }
        if (step.kind === 'revoke' && wallet.credits.length > 0) {
          const { creditId = '' } = wallet.credits[step.pick % wallet.credits.length] ?? {};
          wallet = revokeCredit(wallet, creditId, 'why', nowMs);
          purse.revoke(creditId, nowMs);
        }
        expectEntriesToExplain(before, wallet);
        for (const of of UNITS) expect([of, sumBalance(wallet, of)]).toEqual([of, purse.balance(of)]);
        expect(BigInt(wallet.overdraft)).toBe(BigInt(purse.owed));
        for (const credit of wallet.credits) {
          expect(BigInt(credit.remaining)).toBe(
            BigInt(purse.coins.filter(({ creditId }) => creditId === credit.creditId).length),
          );
          expect(BigInt(credit.remaining)).toBeGreaterThan(0n);
        }
        const expiries = purse.coins
          .map(({ expiresAtMs }) => expiresAtMs)
          .filter((atMs) => Number.isFinite(atMs) && atMs > nowMs);
        expect(nextExpiryMs(wallet, nowMs)).toBe(expiries.length === 0 ? null : Math.min(...expiries));
        // A purse in debt has no credit: a grant repays first.
        expect(purse.owed === 0 || wallet.credits.every((credit) => credit.unit !== 'USD')).toBe(true);
        expect(BigInt(wallet.held) + BigInt(wallet.unsettled)).toBe(BigInt(purse.claimed()));
      }
    }),
    { numRuns: 1_000 },
  );
});

const credits: fc.Arbitrary<Credit[]> = fc
  .array(
    fc.record({
      unit: fc.constantFrom<CreditUnit>(...UNITS),
      amount: fc.bigInt({ min: 1n, max: 10n ** 19n }),
      grantedAtMs: fc.nat(5),
      expiresAtMs: fc.option(fc.integer({ min: 10, max: 15 }), { nil: null }),
    }),
    { minLength: 1, maxLength: 20 },
  )
  .map((list) =>
    list.map(({ amount: granted, ...credit }, index) => {
      const text = granted.toString();
      return { ...credit, creditId: `credit-${index}`, granted: text, remaining: text, reference: null };
    }),
  );

const grantAll = (list: readonly Credit[]) => list.reduce(grantCredit, EMPTY_WALLET);

test('the order in which credits are granted does not change the order in which they are spent', () => {
  const shuffled = credits.chain((list) =>
    fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
  );
  fc.assert(
    fc.property(shuffled, ([list, other]) => {
      expect(grantAll(other).credits).toEqual(grantAll(list).credits);
    }),
  );
});

test('spending in parts leaves the same credits as spending at once', () => {
  fc.assert(
    fc.property(credits, fc.array(fc.bigInt({ min: 1n, max: 10n ** 19n }), { maxLength: 8 }), (list, parts) => {
      const inParts = parts.reduce((wallet, part) => spend(wallet, 'USD', part, 'charge', 6), grantAll(list));
      const sum = parts.reduce((total, part) => total + part, 0n);
      const atOnce = sum === 0n ? grantAll(list) : spend(grantAll(list), 'USD', sum, 'charge', 6);
      expect([inParts.credits, inParts.overdraft]).toEqual([atOnce.credits, atOnce.overdraft]);
      expect(sumBalance(inParts, 'USD')).toBe(sumBalance(grantAll(list), 'USD') - sum);
    }),
  );
});

test('a credit can be spent until the millisecond before it expires, and not later', () => {
  fc.assert(
    fc.property(credits, fc.integer({ min: 9, max: 16 }), (list, nowMs) => {
      const after = expireCredits(grantAll(list), nowMs);
      const live = list.filter(({ expiresAtMs }) => expiresAtMs === null || nowMs < expiresAtMs);
      expect(new Set(after.credits.map(({ creditId }) => creditId))).toEqual(
        new Set(live.map(({ creditId }) => creditId)),
      );
      expectEntriesToExplain(grantAll(list), after);
      expect(expireCredits(after, nowMs)).toBe(after);
    }),
  );
});

test('holds and unsettled charges lower the available amount but not the balance, and leave no residue', () => {
  const money = fc.bigInt({ min: 0n, max: 10n ** 18n });
  fc.assert(
    fc.property(credits, money, money, (list, held, promised) => {
      const wallet = grantAll(list);
      const busy = addUnsettled(hold(wallet, held), promised);
      expect(sumBalance(busy, 'USD')).toBe(sumBalance(wallet, 'USD'));
      expect(availableUsd(busy)).toBe(sumBalance(wallet, 'USD') - held - promised);
      expect(release(busy, held)).toEqual(addUnsettled(wallet, promised));
      // The amount that a charge gives back cannot be spent on its way.
      expect(addUnsettled(busy, -promised)).toBe(busy);
      const settled = settle(busy, promised, 'charge', 6);
      expect(availableUsd(settled)).toBe(availableUsd(busy));
      expect(sumBalance(settled, 'USD')).toBe(sumBalance(wallet, 'USD') - promised);
    }),
  );
});
