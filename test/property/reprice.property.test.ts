/**
 * A call that gets its price later ends in the same state as with that price at once: allowance, balance, tier and
 * cost. A second time changes nothing.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { beginCall } from '../../src/domain/begin-call.ts';
import { endCall } from '../../src/domain/call.ts';
import { amendCall, repriceCall, repricedCost, reverseCall } from '../../src/domain/correct-call.ts';
import { asCallId } from '../../src/domain/ids.ts';
import type { PricingUnavailableReason, ResolvedPrice } from '../../src/domain/pricing.ts';
import { rateCard } from '../support/rate-cards.ts';
import { account, NOTHING_KNOWN, plan, usage } from '../unit/fixtures.ts';

const NOW = 1_000_000;
const LATER = NOW + 60_000;
const WHY = { atMs: LATER, reason: 'a price came', by: 'operator' };
const IDS = { chargeId: 'again', differenceId: 'difference' };

const tokens = fc.nat({ max: 10_000 });
const history = fc.record({
  used: fc.record({ inputTokens: tokens, responseTokens: tokens, searches: fc.nat({ max: 3 }) }),
  output: fc.constantFrom('0', '2000000001', '7000000000'),
  usageSource: fc.constantFrom(undefined, 'partial' as const, 'estimated' as const),
  isPremium: fc.option(fc.boolean(), { nil: undefined }),
  failed: fc.boolean(),
  mode: fc.constantFrom('standard' as const, 'batch' as const),
  consumed: fc.record({ standardCalls: fc.nat({ max: 3 }), premiumCalls: fc.nat({ max: 3 }) }),
  markupPercent: fc.constantFrom(0, 20, 33.3333),
  requested: fc.constantFrom({}, { premium: true }, { standard: true }),
  reason: fc.constantFrom<PricingUnavailableReason>(
    'MODEL_NOT_IN_CATALOG',
    'PRICE_NOT_IN_CATALOG',
    'RATE_NOT_IN_CATALOG: audioInput',
  ),
});

/** The consumption of each meter, without the unused ones. */
const usedMeters = ({ meters }: Account) =>
  Object.fromEntries(Object.entries(meters.consumed).filter(([, used]) => used !== 0));

test('a call that is priced later ends as one that is priced at once, and only once; what the job gave it is known ever after', () => {
  fc.assert(
    fc.property(history, ({ used, output, failed, mode, consumed, markupPercent, requested, reason, ...reported }) => {
      const rules = plan({ limits: { standardCalls: 2, premiumCalls: 2 }, payg: { enabled: true, markupPercent } });
      const begun = beginCall(
        account(rules, { consumed, reserved: {} }),
        asCallId('c'),
        { requested, pricingMode: mode },
        NOTHING_KNOWN,
        { deadlineAtMs: LATER, nowMs: NOW },
      );
      const report = {
        modelUsed: 'm',
        usage: usage(used),
        ...reported,
        ...(failed && { error: { code: 'E', message: 'failed' } }),
      };
      const price: ResolvedPrice = {
        available: true,
        card: rateCard({ input: '1000000007', output, webSearch: '10000000000' }),
      };
      const end = (resolved: ResolvedPrice) => endCall(begun.account, begun.call, report, resolved, 'charge', NOW + 1);
      const atOnce = end(price);
      const late = end({ available: false, reason });
      const repriced = repriceCall(late.account, late.call, { price, jobId: 'job' }, WHY, IDS);
      if (!repriced) throw new Error('the call lacks a price alone');
      expect(usedMeters(repriced.account)).toEqual(usedMeters(atOnce.account));
      expect(repriced.account.wallet).toEqual(atOnce.account.wallet);
      const { charge, ...outcome } = repriced.call.outcome ?? { charge: null };
      const { charge: expected, ...others } = atOnce.call.outcome ?? { charge: null };
      expect(outcome).toEqual(others);
      expect([charge?.amountNanoUsd, charge?.markupPercent]).toEqual([
        expected?.amountNanoUsd,
        expected?.markupPercent,
      ]);
      expect(repriced.call.corrections).toMatchObject([
        { kind: 'REPRICED', previous: late.call.outcome, jobId: 'job' },
      ]);
      expect(repriceCall(repriced.account, repriced.call, { price, jobId: 'next' }, WHY, IDS)).toBeNull();

      const final = repriced.call.outcome?.price;
      const cost = final?.status === 'FINAL' ? BigInt(final.costNanoUsd) : null;
      const amendment = { report: { ...report, usage: usage({}) }, price, fingerprint: 'f' };
      const amended = amendCall(repriced.account, repriced.call, amendment, WHY, IDS);
      const reversed = reverseCall(repriced.account, repriced.call, WHY, 'back');
      for (const later of [repriced, amended, reversed])
        expect(later && repricedCost(later.call, 'job'), 'whatever is corrected since').toBe(cost);
      expect(repricedCost(repriced.call, 'next')).toBeNull();
    }),
    { numRuns: 1_000 },
  );
});

test('without usage there is nothing to price', () => {
  const begun = beginCall(account(plan()), asCallId('c'), { requested: {}, pricingMode: 'standard' }, NOTHING_KNOWN, {
    deadlineAtMs: LATER,
    nowMs: NOW,
  });
  const price: ResolvedPrice = { available: true, card: rateCard({ input: '1', output: '1' }) };
  for (const reason of ['USAGE_NOT_REPORTED', 'USAGE_IMPLAUSIBLE'] as const) {
    const ended = endCall(begun.account, begun.call, { usage: usage({}) }, { available: false, reason }, 'charge', NOW);
    expect(repriceCall(ended.account, ended.call, { price, jobId: 'job' }, WHY, IDS)).toBeNull();
  }
});
