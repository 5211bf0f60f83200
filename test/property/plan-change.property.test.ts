/**
 * Plan changes and replenishment against a naive model that walks from boundary to boundary: no grant twice, no gap, no
 * overlap, whatever is changed when.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Account,
  type ChangeStrategy,
  changePlan,
  openAccount,
  replenishDue,
  replenishNow,
} from '../../src/domain/account.ts';
import { boundary, NEVER_MS, type Replenish } from '../../src/domain/period.ts';
import type { PlanVersion } from '../../src/domain/plan.ts';
import { plan } from '../unit/fixtures.ts';

const DAY_MS = 86_400_000;
const START = Date.UTC(2027, 11, 31, 22, 30);

const INTERVALS: Replenish[] = [
  { every: 1, unit: 'MONTH' },
  { every: 3, unit: 'DAY' },
  { every: 1, unit: 'WEEK' },
  { every: 36, unit: 'HOUR' },
  { every: 1, unit: 'YEAR' },
  null,
];

const versions: PlanVersion[] = INTERVALS.map((replenish, n) => ({
  planId: `p${n}`,
  usagePlanVersionId: `p${n}:v1`,
  version: 1,
  plan: plan({ name: `p${n}`, replenish, limits: { ...plan({}).limits, searches: 10 * (n + 1) } }),
}));

/** The naive model: the same facts, moved from one boundary to the next, one at a time. */
interface Naive {
  plan: number;
  pending: number | null;
  anchorMs: number;
  interval: Replenish;
  step: number;
  startMs: number;
  endMs: number;
  used: number;
}

const endOf = (anchorMs: number, interval: Replenish, step: number) =>
  interval === null ? NEVER_MS : boundary(anchorMs, interval, step + 1);

function begin(model: Naive, planIndex: number, nowMs: number): void {
  const interval = INTERVALS[planIndex] ?? null;
  Object.assign(model, {
    plan: planIndex,
    pending: null,
    anchorMs: nowMs,
    interval,
    step: 0,
    startMs: nowMs,
    endMs: endOf(nowMs, interval, 0),
    used: 0,
  });
}

function walk(model: Naive, nowMs: number): void {
  while (model.endMs <= nowMs) {
    const boundaryMs = model.endMs;
    const planIndex = model.pending ?? model.plan;
    const interval = INTERVALS[planIndex] ?? null;
    if (JSON.stringify(interval) === JSON.stringify(model.interval)) {
      model.step += 1;
      Object.assign(model, {
        plan: planIndex,
        pending: null,
        startMs: boundaryMs,
        endMs: endOf(model.anchorMs, interval, model.step),
        used: 0,
      });
    } else begin(model, planIndex, boundaryMs);
  }
}

const actions = fc.oneof(
  fc.record({ kind: fc.constant('use' as const), amount: fc.integer({ min: 1, max: 5 }) }),
  fc.record({
    kind: fc.constant('change' as const),
    plan: fc.nat(versions.length - 1),
    strategy: fc.constantFrom<ChangeStrategy>('IMMEDIATE_RESET', 'IMMEDIATE_PRORATED', 'AT_NEXT_REPLENISH'),
  }),
  fc.record({ kind: fc.constant('replenish' as const) }),
  fc.record({ kind: fc.constant('look' as const) }),
);

/** Up to 50 days ahead; 0 is the very same moment, and `toBoundary` lands exactly on the end of the period. */
const waits = fc.oneof(fc.constant('toBoundary' as const), fc.constant(0), fc.integer({ min: 1, max: 50 * DAY_MS }));

test('any history of usage, plan changes, replenishments and waits gives the same state as a naive model', () => {
  fc.assert(
    fc.property(
      fc.nat(versions.length - 1),
      fc.array(fc.tuple(waits, actions), { maxLength: 25 }),
      (first, history) => {
        let nowMs = START;
        let account: Account = openAccount(
          {
            organizationId: 'o',
            customerId: 'c',
            subscriptionId: 's',
            plan: versions[first] as PlanVersion,
            contact: {},
          },
          nowMs,
        );
        const model = {} as Naive;
        begin(model, first, nowMs);
        for (const [wait, action] of history) {
          const boundaryMs = account.subscription.nextReplenishAtMs;
          if (wait === 'toBoundary') nowMs = boundaryMs < NEVER_MS ? boundaryMs : nowMs;
          else nowMs += wait;
          account = replenishDue(account, nowMs);
          walk(model, nowMs);
          if (action.kind === 'use') {
            account = {
              ...account,
              meters: {
                ...account.meters,
                consumed: { searches: (account.meters.consumed.searches ?? 0) + action.amount },
              },
            };
            model.used += action.amount;
          } else if (action.kind === 'replenish') {
            account = replenishNow(account, nowMs);
            begin(model, model.pending ?? model.plan, nowMs);
          } else if (action.kind === 'change') {
            account = changePlan(account, versions[action.plan] as PlanVersion, action.strategy, nowMs);
            if (action.plan === model.plan) model.pending = null;
            else if (action.strategy === 'IMMEDIATE_RESET') begin(model, action.plan, nowMs);
            else if (action.strategy === 'AT_NEXT_REPLENISH') model.pending = action.plan;
            else Object.assign(model, { plan: action.plan, pending: null });
          }
          const { subscription, meters } = account;
          expect({
            plan: subscription.plan.planId,
            pending: subscription.pending?.planId ?? null,
            startMs: subscription.lastReplenishedAtMs,
            endMs: subscription.nextReplenishAtMs,
            used: meters.consumed.searches ?? 0,
          }).toEqual({
            plan: `p${model.plan}`,
            pending: model.pending === null ? null : `p${model.pending}`,
            startMs: model.startMs,
            endMs: model.endMs,
            used: model.used,
          });
          expect(subscription.lastReplenishedAtMs).toBeLessThanOrEqual(nowMs);
          expect(subscription.nextReplenishAtMs).toBeGreaterThan(nowMs);
        }
      },
    ),
    { numRuns: 2_000 },
  );
});
