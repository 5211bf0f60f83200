/**
 * A denial for lack of credit: with the stated output tokens, the same call passes, and with one more it does not; and
 * it passes when the needed amount is available.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { beginCall } from '../../src/domain/begin-call.ts';
import type { CallBound } from '../../src/domain/bound.ts';
import { asCallId } from '../../src/domain/ids.ts';
import { availableUsd, grantCredit, hold } from '../../src/domain/wallet.ts';
import { account, plan } from '../unit/fixtures.ts';

const CENT = 10_000_000n;

const bounds = fc.array(
  fc.record({
    tier: fc.constantFrom(null, 'standard' as const, 'premium' as const),
    outputTokens: fc.constantFrom(null, 0, 100, 300, 1_500, 4_000, 100_000),
    answers: fc.constantFrom(1, 1, 3),
    thinks: fc.boolean(),
    cannotBeLowered: fc.constantFrom(false, false, false, true),
    input: fc.nat(100_000),
    rate: fc.constantFrom(0, 7_000_000, 123_456_789),
  }),
  { minLength: 1, maxLength: 3 },
);

const settings = fc.record({
  bounds,
  maxOutputTokens: fc.constantFrom(undefined, null, 500, 50_000),
  markupPercent: fc.constantFrom(0, 33.3333),
  limitType: fc.constantFrom('BLOCK' as const, 'DOWNGRADE' as const),
  premium: fc.boolean(),
  available: fc.bigInt({ min: -10_000n, max: 1_000_000n }),
  held: fc.bigInt({ min: 0n, max: 500_000n }),
});

function withBalance(opened: Account, available: bigint, held: bigint): Account {
  const owned = available + held;
  const terms = { creditId: 'c', unit: 'USD', grantedAtMs: 0, expiresAtMs: null, reference: null } as const;
  const amount = owned.toString();
  const wallet =
    owned > 0n
      ? grantCredit(opened.wallet, { ...terms, granted: amount, remaining: amount })
      : { ...opened.wallet, overdraft: (-owned).toString() };
  return { ...opened, wallet: hold(wallet, held) };
}

/** The bounds of the same call with this bound of its output. */
const asked = (of: readonly CallBound[], tokens: number) =>
  of.map((bound) =>
    bound.cannotBeLowered ? bound : { ...bound, outputTokens: Math.min(bound.outputTokens ?? tokens, tokens) },
  );

test('a call with the tokens that its denial says passes, with one more it does not, nor with less than it needs', () => {
  const seen = { told: 0, none: 0 };
  fc.assert(
    fc.property(settings, ({ bounds: models, maxOutputTokens, markupPercent, limitType, premium, available, held }) => {
      const content = plan({
        limitType,
        limits: { standardCalls: 0, premiumCalls: 0 },
        payg: { enabled: true, markupPercent, ...(maxOutputTokens !== undefined && { maxOutputTokens }) },
      });
      const own = models.map(
        ({ input, rate, ...bound }): CallBound => ({
          ...bound,
          inSteps: false,
          cost: { inputNanoUsd: String(input), outputNanoUsdPerMillion: String(rate) },
        }),
      );
      const requested = premium ? { premium: true } : { standard: true };
      const begin = (from: Account, of: readonly CallBound[]) =>
        beginCall(
          from,
          asCallId('call'),
          { requested, pricingMode: 'standard' },
          { bounds: of, usualCharge: () => CENT },
          { deadlineAtMs: 3_600_000, nowMs: 0 },
        );
      const poor = withBalance(account(content), available, held);
      const { denial } = begin(poor, own);
      if (denial === null) return;
      const { money } = denial;
      if (!money) throw new Error('credit would have paid');
      expect(money).toMatchObject({ availableNanoUsd: available.toString(), heldNanoUsd: held.toString() });
      expect(availableUsd(poor.wallet)).toBe(available);
      const needed = BigInt(money.neededNanoUsd);
      const enough = needed > 0n ? needed : 1n;
      expect(begin(withBalance(account(content), enough, 0n), own).denial).toBeNull();
      // A lower tier may need less.
      if (!premium && available < needed - 1n)
        expect(begin(withBalance(account(content), needed - 1n, 0n), own).denial).not.toBeNull();
      const { maxTokensThatPass: tokens } = money;
      if (tokens === null) {
        seen.none += 1;
        const least = models.some(({ thinks }) => thinks) ? 1_280 : 256;
        expect(begin(poor, asked(own, least)).denial === null && models.every(({ tier }) => tier === null)).toBe(false);
        return;
      }
      seen.told += 1;
      expect(tokens).toBeGreaterThanOrEqual(256);
      expect(begin(poor, asked(own, tokens)).denial).toBeNull();
      expect(begin(poor, asked(own, tokens + 1)).denial).not.toBeNull();
    }),
    { numRuns: 5_000 },
  );
  expect(seen.told).toBeGreaterThan(300);
  expect(seen.none).toBeGreaterThan(300);
});
