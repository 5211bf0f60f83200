/**
 * Promise: a history with something that was taken back equals the history without it, but for the entries that say so.
 *
 * Random histories run in two real objects: in one the mistake happens and is reversed later, in the other it never does.
 * A failure prints its counterexample and the seed; VITE_SEED runs a seed again.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { balanceOf } from '../../src/domain/wallet.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';

const START = Date.UTC(2039, 5, 1, 12);
const HOUR = 3_600_000;
const RUNS = 100;
const SHRINK_MS_MAX = 30_000;
const seed = Number(process.env.VITE_SEED ?? Math.floor(Math.random() * 0x7fff_ffff));

type Step =
  | { kind: 'increment'; amount: number; mistake?: true }
  | { kind: 'credit'; units: number; expires: boolean }
  | { kind: 'settle' }
  | { kind: 'next period' }
  | { kind: 'reverse' };

const amount = fc.integer({ min: 1, max: 12 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('increment' as const), amount }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('credit' as const), units: amount, expires: fc.boolean() }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'settle' as const }) },
);
const steps = fc.array(step, { maxLength: 8 });
/** Before the mistake, between it and its reversal, and after that. */
const history = fc
  .tuple(steps, amount, steps, steps, fc.boolean())
  .map(([before, mistaken, between, after, isOver]): Step[] => [
    ...before,
    { kind: 'increment', amount: mistaken, mistake: true },
    ...between,
    ...(isOver ? [{ kind: 'next period' as const }] : []),
    { kind: 'reverse' },
    ...after,
  ]);

const plans = fc.record({
  included: fc.constantFrom(0, 5, 20),
  unlimited: fc.constantFrom(false, false, false, true),
  credits: fc.boolean(),
  payg: fc.boolean(),
  graduated: fc.boolean(),
});

function planOf({
  included,
  unlimited,
  credits,
  payg,
  graduated,
}: typeof plans extends fc.Arbitrary<infer P> ? P : never) {
  const single = { model: 'SINGLE', priceUsd: '0.133333333', per: '7' };
  const tiers = [
    { upTo: '4', priceUsd: '0.25', per: '3' },
    { upTo: '11', priceUsd: '0.1', per: '1' },
    { upTo: null, priceUsd: '0.01', per: '7' },
  ];
  const overage = graduated ? { model: 'GRADUATED', tiers } : single;
  return {
    name: 'test',
    limitType: 'BLOCK',
    replenish: { every: 1, unit: 'MONTH' },
    payg: { enabled: payg, markupPercent: 0 },
    customMeters: { CUSTOM1: { label: 'Pages', included, unlimited, funding: { credits, payg }, overage } },
  };
}

/** What the customer has left and has used, without what says how it came about. */
function stateOf(object: Clockwork) {
  const { meters, slots, wallet } = object.account() as Account;
  const {
    usage,
    overage,
    credits = '0',
    unfunded = '0',
    charged = '0',
  } = slots?.CUSTOM1 ?? { usage: '0', overage: '0' };
  const hours = object.query<{ units: number }>('SELECT hour_ms, custom1 AS units FROM usage_hours ORDER BY hour_ms');
  return {
    consumed: meters.consumed.customMeter1 ?? 0,
    slot: { usage, overage, credits, unfunded, charged },
    balances: [balanceOf(wallet, 'USD'), balanceOf(wallet, 'CUSTOM1')],
    credits: wallet.credits.map(({ unit, remaining, grantedAtMs }) => [unit, remaining, grantedAtMs]),
    unsettled: wallet.unsettled,
    hours: hours.filter(({ units }) => units > 0),
  };
}

async function run(plan: object, history: readonly Step[], withMistake: boolean) {
  let state: ReturnType<typeof stateOf> | undefined;
  await withObject(plan, async (object) => {
    let mistaken = '';
    let nowMs = START;
    object.begin('first', START);
    // There is always enough of it: what the balance pays does not depend on the mistake.
    accepted(object.grant('USD', 10n ** 12n, START));
    for (const next of history) {
      nowMs += 60_000;
      if (next.kind === 'credit') {
        const expiresAtMs = next.expires ? START + 9_000 * HOUR : null;
        accepted(object.grant('CUSTOM1', BigInt(next.units), nowMs, { expiresAtMs }));
      } else if (next.kind === 'increment' && (withMistake || !next.mistake)) {
        const { eventId } = accepted(object.increment(next.amount, nowMs));
        if (next.mistake) mistaken = eventId;
      } else if (next.kind === 'settle') await object.settle(nowMs);
      else if (next.kind === 'next period') accepted(object.replenish(nowMs));
      else if (next.kind === 'reverse' && withMistake) {
        const first = accepted(object.reverseMeterEvent(mistaken, nowMs));
        expect(accepted(object.reverseMeterEvent(mistaken, nowMs + 1))).toEqual(first);
      }
    }
    await object.settle(nowMs + HOUR);
    expect(object.rows('charges')).toBe(0);
    state = stateOf(object);
  });
  return state;
}

test(`a reversed increment leaves what a history without it would have left, with the seed ${seed}`, async () => {
  await fc.assert(
    fc.asyncProperty(plans, history, async (shape, steps) => {
      const plan = planOf(shape);
      expect(await run(plan, steps, true)).toEqual(await run(plan, steps, false));
    }),
    { seed, numRuns: RUNS, interruptAfterTimeLimit: SHRINK_MS_MAX },
  );
}, 90_000);
