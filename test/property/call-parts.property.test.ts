/**
 * The cost and usage of a call with parts are the sums of its parts, in any order; and if a part gets its price later,
 * the result is the same as with that price at once.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { beginCall } from '../../src/domain/begin-call.ts';
import { type Call, endCall } from '../../src/domain/call.ts';
import type { PricedPart } from '../../src/domain/call-parts.ts';
import { withMarkup } from '../../src/domain/charge.ts';
import { type NewPrices, type PartPrice, repriceCall, reverseCall } from '../../src/domain/correct-call.ts';
import { asCallId } from '../../src/domain/ids.ts';
import type { PricingMode, ResolvedPrice } from '../../src/domain/pricing.ts';
import { knownCost, rateCard } from '../support/rate-cards.ts';
import { account, NOTHING_KNOWN, plan, usage } from '../unit/fixtures.ts';

const NOW = 1_000_000;
const WHY = { atMs: NOW + 60_000, reason: 'a price came', by: 'operator' };
const IDS = { chargeId: 'again', differenceId: 'difference' };
const UNKNOWN: ResolvedPrice = { available: false, reason: 'MODEL_NOT_IN_CATALOG' };

const tokens = fc.nat({ max: 10_000 });
const part = fc.record({
  used: fc.record({
    inputTokens: tokens,
    responseTokens: fc.integer({ min: 1, max: 10_000 }),
    searches: fc.nat({ max: 3 }),
  }),
  output: fc.constantFrom('0', '2000000001', '70000000000'),
  name: fc.constantFrom('one', 'two', 'three'),
  usageSource: fc.constantFrom(undefined, 'estimated' as const),
});
const history = fc.record({
  own: part,
  others: fc.array(part, { minLength: 1, maxLength: 6 }),
  mode: fc.constantFrom<PricingMode>('standard', 'batch'),
  consumed: fc.record({ standardCalls: fc.nat({ max: 3 }), premiumCalls: fc.nat({ max: 3 }) }),
  markupPercent: fc.constantFrom(0, 20, 33.3333),
});
type History = typeof history extends fc.Arbitrary<infer Value> ? Value : never;

function priced({ used, output, name, usageSource }: History['own']): PricedPart & { price: { available: true } } {
  const rates = { input: '1000000007', output, webSearch: '10000000000' };
  const card = rateCard(rates, [], { modelKey: `made/${name}`, snapshotId: `made/${name}@1` });
  return { modelUsed: name, usage: usage(used), usageSource, price: { available: true, card } };
}

function begun({ mode, consumed, markupPercent }: History) {
  const rules = plan({ limits: { standardCalls: 2, premiumCalls: 2 }, payg: { enabled: true, markupPercent } });
  const open = account(rules, { consumed, reserved: {} });
  return beginCall(open, asCallId('c'), { requested: {}, pricingMode: mode }, NOTHING_KNOWN, {
    deadlineAtMs: NOW + 60_000,
    nowMs: NOW,
  });
}

function ended(from: { account: Account; call: Call }, own: PricedPart, parts: PricedPart[]) {
  const { price, ...report } = own;
  return endCall(from.account, from.call, { ...report, parts }, price, 'charge', NOW + 1);
}

const requireOutcome = ({ call }: { call: Call }) => {
  if (!call.outcome) throw new Error('an ended call has an outcome');
  return call.outcome;
};
const finalCost = (of: { call: Call }) => {
  const { price } = requireOutcome(of);
  if (price.status !== 'FINAL') throw new Error(price.reason);
  return price;
};
const usedMeters = ({ meters }: Account) =>
  Object.fromEntries(Object.entries(meters.consumed).filter(([, used]) => used !== 0));

test('the cost, the lines and the usage are the sum of those of the parts; their order does not matter', () => {
  fc.assert(
    fc.property(history, (value) => {
      const [own, parts] = [priced(value.own), value.others.map(priced)];
      const all = [own, ...parts];
      const from = begun(value);
      const whole = ended(from, own, parts);
      const costs = all.map(({ price, usage: used }) => knownCost(price.card, used, value.mode));
      const { costNanoUsd, breakdown } = finalCost(whole);
      expect(BigInt(costNanoUsd)).toBe(costs.reduce((sum, { totalNanoUsd }) => sum + totalNanoUsd, 0n));
      const lines = breakdown.lines.reduce((sum, { costUsdNano }) => sum + BigInt(costUsdNano), 0n);
      expect(lines.toString()).toBe(breakdown.standardCostUsdNano);
      const models = costs.flatMap(({ lines: its }, at) => its.map(() => (at === 0 ? undefined : costs[at]?.modelKey)));
      expect(breakdown.lines.map(({ model }) => model)).toEqual(models);
      for (const name of ['inputTokens', 'responseTokens', 'searches'] as const)
        expect(requireOutcome(whole).usage[name]).toBe(all.reduce((sum, { usage: used }) => sum + used[name], 0));

      const turned = ended(from, own, parts.toReversed());
      expect(finalCost(turned).costNanoUsd).toBe(costNanoUsd);
      expect([turned.account, requireOutcome(turned).usage]).toEqual([whole.account, requireOutcome(whole).usage]);
    }),
  );
});

test('each part takes its tokens from the allowance of its own tier, or is charged if credit pays for that tier', () => {
  fc.assert(
    fc.property(history, (value) => {
      const [own, parts] = [priced(value.own), value.others.map(priced)];
      const whole = requireOutcome(ended(begun(value), own, parts));
      const recorded = whole.parts ?? [];
      const tokensAtTier = (tier: string) =>
        recorded
          .filter((one) => one.tier === tier && !one.onCredit)
          .reduce((sum, { usage: used }) => sum + used.responseTokens, 0);
      expect([whole.consumed.standardTokens ?? 0, whole.consumed.premiumTokens ?? 0]).toEqual([
        tokensAtTier('standard'),
        tokensAtTier('premium'),
      ]);
      const onCredit = [own, ...parts].filter((_, at) => recorded[at]?.onCredit);
      const cost = onCredit.reduce(
        (sum, { price, usage: used }) => sum + knownCost(price.card, used, value.mode).totalNanoUsd,
        0n,
      );
      expect(whole.charge?.amountNanoUsd ?? null).toBe(
        onCredit.length === 0 ? null : withMarkup({ costNanoUsd: cost, markupPercent: value.markupPercent }).toString(),
      );
    }),
  );
});

test('a call whose parts are priced later ends as one that is priced at once, and a reversal takes all of it back', () => {
  fc.assert(
    fc.property(history, fc.nat(), fc.boolean(), (value, which, ownToo) => {
      const [own, parts] = [priced(value.own), value.others.map(priced)];
      const from = begun(value);
      const atOnce = ended(from, own, parts);
      const lacks = which % parts.length;
      const late = ended(
        from,
        ownToo ? { ...own, price: UNKNOWN } : own,
        parts.map((one, at) => (at === lacks ? { ...one, price: UNKNOWN } : one)),
      );
      expect(requireOutcome(late).price).toEqual({ status: 'UNAVAILABLE', reason: 'MODEL_NOT_IN_CATALOG' });
      const prices = { price: own.price, parts: parts.map(({ modelUsed, price }) => ({ modelUsed, price })) };
      const missing: PartPrice[] = prices.parts.map((one, at) => (at === lacks ? { ...one, price: UNKNOWN } : one));
      const reprice = (found: NewPrices) => repriceCall(late.account, late.call, { ...found, jobId: 'job' }, WHY, IDS);
      expect(reprice({ ...prices, parts: missing }), 'a part still has no price').toBeNull();
      expect(reprice({ ...prices, parts: [] }), 'the prices of other parts').toBeNull();
      const repriced = reprice(prices);
      if (!repriced) throw new Error('the call lacks a price alone');
      expect(usedMeters(repriced.account)).toEqual(usedMeters(atOnce.account));
      expect(repriced.account.wallet).toEqual(atOnce.account.wallet);
      const { charge: _charge, ...outcome } = requireOutcome(repriced);
      const { charge: _expected, ...others } = requireOutcome(atOnce);
      expect(outcome).toEqual(others);

      const reversed = reverseCall(repriced.account, repriced.call, WHY, 'back');
      expect(usedMeters(reversed.account)).toEqual(usedMeters(from.account));
      const paid = BigInt(requireOutcome(repriced).charge?.amountNanoUsd ?? 0);
      expect(BigInt(reversed.correction.charge?.amountNanoUsd ?? 0)).toBe(-paid);
      expect(reversed.account.onBalance).toEqual(from.account.onBalance);
    }),
  );
});
