/**
 * Whatever is used, given back, replenished or moved to another plan: each threshold is reported once until usage falls
 * below it, none is missed, and a change reports at most one threshold of a meter.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { balanceFall, type Consumption, crossings } from '../../src/domain/alerts.ts';
import { plan } from '../unit/fixtures.ts';

type Step =
  | { kind: 'use'; amount: number }
  | { kind: 'giveBack'; amount: number }
  | { kind: 'replenish' }
  | { kind: 'plan'; limit: number | null };

const limits = fc.option(fc.integer({ min: 0, max: 500 }), { nil: null });
const amounts = fc.oneof(fc.nat(60), fc.nat(700));
const steps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('use' as const), amount: amounts }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('giveBack' as const), amount: amounts }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'replenish' as const }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('plan' as const), limit: limits }) },
  ),
  { maxLength: 40 },
);
const thresholds = fc.uniqueArray(fc.integer({ min: 1, max: 200 }), { maxLength: 6 });

/** The thresholds that are reached, in whole numbers. */
function reachedOf(all: readonly number[], used: number, limit: number | null): Set<number> {
  return new Set(limit === null || limit === 0 ? [] : all.filter((threshold) => used * 100 >= threshold * limit));
}

function next({ plan: present, consumed }: Consumption, step: Step): Consumption {
  const used = consumed.standardTokens ?? 0;
  switch (step.kind) {
    case 'use':
      return { plan: present, consumed: { ...consumed, standardTokens: used + step.amount } };
    case 'giveBack':
      return { plan: present, consumed: { ...consumed, standardTokens: Math.max(0, used - step.amount) } };
    case 'replenish':
      return { plan: present, consumed: {} };
    case 'plan':
      return { plan: { ...present, limits: { ...present.limits, standardTokens: step.limit } }, consumed };
  }
}

test('what was told is what is reached, after every change', () => {
  fc.assert(
    fc.property(thresholds, limits, steps, (thresholdsPercent, limit, changes) => {
      let now: Consumption = {
        plan: plan({ limits: { standardTokens: limit }, alerts: { thresholdsPercent } }),
        consumed: {},
      };
      let told = new Set<number>();
      for (const change of changes) {
        const after = next(now, change);
        const used = after.consumed.standardTokens ?? 0;
        const reached = reachedOf(thresholdsPercent, used, after.plan.limits.standardTokens);
        const found = crossings(now, after);
        expect(found.length).toBeLessThanOrEqual(1);
        const [crossing] = found;
        if (crossing?.crossed) {
          expect(crossing.crossed.length).toBeGreaterThan(0);
          expect(crossing.crossed.filter((threshold) => told.has(threshold))).toEqual([]);
          expect(crossing.crossed).toEqual(crossing.crossed.toSorted((a, b) => a - b));
          expect(crossing.threshold).toBe(crossing.crossed.at(-1));
          told = new Set([...told, ...crossing.crossed]);
        } else if (crossing) {
          expect(crossing.threshold).toBe(Math.max(...told));
          expect(reached.has(crossing.threshold)).toBe(false);
          told = new Set([...told].filter((threshold) => reached.has(threshold)));
        }
        if (crossing)
          expect(crossing).toMatchObject({ meter: 'standardTokens', used, limit: after.plan.limits.standardTokens });
        expect(told).toEqual(reached);
        now = after;
      }
    }),
  );
});

test('a limit up to 90 trillion reaches a threshold at its exact unit', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000 }),
      fc.integer({ min: 1, max: 20_000_000_000 }),
      (threshold, hundredths) => {
        const limit = hundredths * 100;
        const content = plan({ limits: { searches: limit }, alerts: { thresholdsPercent: [threshold] } });
        const at = (searches: number) => ({ plan: content, consumed: { searches } });
        const unit = hundredths * threshold;
        expect(crossings(at(0), at(unit - 1))).toEqual([]);
        expect(crossings(at(unit - 1), at(unit))).toMatchObject([
          { meter: 'searches', threshold, crossed: [threshold] },
        ]);
      },
    ),
  );
});

test('plans with other thresholds tell nothing of usage that stays', () => {
  fc.assert(
    fc.property(thresholds, thresholds, fc.nat(700), (before, after, premiumCalls) => {
      const on = (thresholdsPercent: number[]) => ({
        plan: plan({ limits: { premiumCalls: 300 }, alerts: { thresholdsPercent } }),
        consumed: { premiumCalls },
      });
      expect(crossings(on(before), on(after))).toEqual([]);
    }),
  );
});

test('a balance is low once, and used up once, until it rises again', () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt({ min: -4_000_000_000n, max: 4_000_000_000n }), { maxLength: 40 }), (changes) => {
      let balance = 8_000_000_000n;
      const levelOf = (amount: bigint) => (amount <= 0n ? 2 : amount < 5_000_000_000n ? 1 : 0);
      for (const change of changes) {
        const after = balance + change;
        const worsens = levelOf(after) > levelOf(balance);
        const expected = worsens ? (levelOf(after) === 2 ? 'exhausted' : 'low') : null;
        expect(balanceFall({ below: 5_000_000_000n, before: balance, after })).toBe(expected);
        balance = after;
      }
    }),
  );
});
