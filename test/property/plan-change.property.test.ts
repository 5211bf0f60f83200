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
  migratePlan,
  openAccount,
  replenishDue,
  replenishNow,
} from '../../src/domain/account.ts';
import { boundary, NEVER_MS, type Replenish } from '../../src/domain/period.ts';
import type { PlanVersion } from '../../src/domain/plan.ts';
import { customerKey } from '../support/ids.ts';
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

const planVersion = (planId: string, version: number, replenish: Replenish): PlanVersion => ({
  planId,
  usagePlanVersionId: `${planId}:v${version}`,
  version,
  plan: plan({ name: planId, replenish }),
});

/** The naive model: the same facts, moved from one boundary to the next, one at a time. */
interface Naive {
  plan: PlanVersion;
  pending: PlanVersion | null;
  anchorMs: number;
  interval: Replenish;
  step: number;
  startMs: number;
  endMs: number;
  used: number;
}

const endOf = (anchorMs: number, interval: Replenish, step: number) =>
  interval === null ? NEVER_MS : boundary(anchorMs, interval, step + 1);

function begin(model: Naive, on: PlanVersion, nowMs: number): void {
  const interval = on.plan.replenish;
  const endMs = endOf(nowMs, interval, 0);
  Object.assign(model, { plan: on, pending: null, anchorMs: nowMs, interval, step: 0, startMs: nowMs, endMs, used: 0 });
}

/** Usage and date stay if both plans have a date; otherwise the date is the plan's, counted from now. */
function prorate(model: Naive, on: PlanVersion, nowMs: number): void {
  const interval = on.plan.replenish;
  model.plan = on;
  if (interval === null || model.interval === null)
    Object.assign(model, { anchorMs: nowMs, interval, step: 0, endMs: endOf(nowMs, interval, 0) });
}

function walk(model: Naive, nowMs: number): void {
  while (model.endMs <= nowMs) {
    const boundaryMs = model.endMs;
    const on = model.pending ?? model.plan;
    const interval = on.plan.replenish;
    if (JSON.stringify(interval) === JSON.stringify(model.interval)) {
      model.step += 1;
      const endMs = endOf(model.anchorMs, interval, model.step);
      Object.assign(model, { plan: on, pending: null, startMs: boundaryMs, endMs, used: 0 });
    } else begin(model, on, boundaryMs);
  }
}

const actions = fc.oneof(
  fc.record({ kind: fc.constant('use' as const), amount: fc.integer({ min: 1, max: 5 }) }),
  fc.record({
    kind: fc.constant('change' as const),
    plan: fc.nat(INTERVALS.length - 1),
    strategy: fc.constantFrom<ChangeStrategy>('IMMEDIATE_RESET', 'IMMEDIATE_PRORATED', 'AT_NEXT_REPLENISH'),
  }),
  // A newer version of the plan, with an interval of its own.
  fc.record({
    kind: fc.constant('migrate' as const),
    interval: fc.nat(INTERVALS.length - 1),
    when: fc.constantFrom('NOW' as const, 'AT_NEXT_REPLENISH' as const),
  }),
  fc.record({ kind: fc.constant('replenish' as const) }),
  fc.record({ kind: fc.constant('look' as const) }),
);

/** Up to 50 days ahead; 0 is the very same moment, and `toBoundary` lands exactly on the end of the period. */
const waits = fc.oneof(fc.constant('toBoundary' as const), fc.constant(0), fc.integer({ min: 1, max: 50 * DAY_MS }));

test('any history of usage, plan changes, migrations, replenishments and waits gives the same state as a naive model', () => {
  fc.assert(
    fc.property(
      fc.nat(INTERVALS.length - 1),
      fc.array(fc.tuple(waits, actions), { maxLength: 25 }),
      (first, history) => {
        let nowMs = START;
        /** The newest version of each plan. */
        const newest = INTERVALS.map((replenish, n) => planVersion(`p${n}`, 1, replenish));
        const newestOf = (n: number) => newest[n] as PlanVersion;
        const customer = { ...customerKey('o', 'c'), subscriptionId: 's', contact: {} };
        let account: Account = openAccount({ ...customer, plan: newestOf(first) }, nowMs);
        const model = {} as Naive;
        begin(model, newestOf(first), nowMs);
        for (const [wait, action] of history) {
          const boundaryMs = account.subscription.nextReplenishAtMs;
          if (wait === 'toBoundary') nowMs = boundaryMs < NEVER_MS ? boundaryMs : nowMs;
          else nowMs += wait;
          account = replenishDue(account, nowMs);
          walk(model, nowMs);
          if (action.kind === 'use') {
            const { meters } = account;
            const searches = (meters.consumed.searches ?? 0) + action.amount;
            account = { ...account, meters: { ...meters, consumed: { searches } } };
            model.used += action.amount;
          } else if (action.kind === 'replenish') {
            account = replenishNow(account, nowMs);
            begin(model, model.pending ?? model.plan, nowMs);
          } else if (action.kind === 'change') {
            const target = newestOf(action.plan);
            account = changePlan(account, target, action.strategy, nowMs);
            if (action.strategy === 'IMMEDIATE_RESET') begin(model, target, nowMs);
            else if (target === model.plan) model.pending = null;
            else if (action.strategy === 'AT_NEXT_REPLENISH') model.pending = target;
            else {
              prorate(model, target, nowMs);
              model.pending = null;
            }
          } else if (action.kind === 'migrate') {
            const { planId } = model.plan;
            const at = newest.findIndex((version) => version.planId === planId);
            const target = planVersion(planId, newestOf(at).version + 1, INTERVALS[action.interval] ?? null);
            newest[at] = target;
            account = migratePlan(account, target, action.when, nowMs);
            const isElsewhere = model.pending !== null && model.pending.planId !== planId;
            if (action.when === 'NOW') prorate(model, target, nowMs);
            if (!isElsewhere) model.pending = action.when === 'NOW' ? null : target;
          }
          const { subscription, meters } = account;
          expect({
            plan: subscription.plan.usagePlanVersionId,
            pending: subscription.pending?.usagePlanVersionId ?? null,
            startMs: subscription.lastReplenishedAtMs,
            endMs: subscription.nextReplenishAtMs,
            used: meters.consumed.searches ?? 0,
          }).toEqual({
            plan: model.plan.usagePlanVersionId,
            pending: model.pending?.usagePlanVersionId ?? null,
            startMs: model.startMs,
            endMs: model.endMs,
            used: model.used,
          });
          expect(subscription.lastReplenishedAtMs).toBeLessThanOrEqual(nowMs);
          expect(subscription.nextReplenishAtMs).toBeGreaterThan(nowMs);
          const { replenish } = subscription.plan.plan;
          expect(subscription.nextReplenishAtMs < NEVER_MS, 'who has a plan that replenishes has a date').toBe(
            replenish !== null,
          );
        }
      },
    ),
    { numRuns: 2_000 },
  );
});
