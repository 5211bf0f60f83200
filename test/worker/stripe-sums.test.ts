/**
 * Promise: whatever Stripe answers and whenever calls are corrected, Stripe's total ends equal to the ledger's, except
 * for listed failures; and no event is ever sent so late, or so changed, that it could be billed twice.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { FakeStripe, type Fate, fates } from '../support/fake-stripe.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';
import { rateCard } from '../support/rate-cards.ts';
import { usage } from '../unit/fixtures.ts';

const START = Date.UTC(2039, 5, 1, 12);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const RUNS = 60;
/** Stripe and the object agree on nothing sooner: a refused event waits for an hour at most. */
const QUIET_STEPS = 30;
const PLAN = {
  name: 'test',
  limitType: 'BLOCK',
  limits: { premiumCalls: 0, standardCalls: 0 },
  payg: { enabled: true, markupPercent: 0 },
  customMeters: {
    CUSTOM1: { label: 'Pages', funding: { payg: true }, overage: { model: 'SINGLE', priceUsd: '0.001', per: '1' } },
  },
};
const PRICE: ResolvedPrice = { available: true, card: rateCard({ input: '1000000000', output: '1' }) };
const report = (inputTokens: number) => ({ usage: usage({ inputTokens }), modelUsed: 'm' });

type Step =
  | { do: 'call' | 'increment'; amount: number }
  | { do: 'amend'; pick: number; amount: number }
  | { do: 'reverse'; pick: number }
  | { do: 'wait'; ms: number }
  | { do: 'settle'; fates: Fate[] }
  /** As in a deployment without a key. */
  | { do: 'settle without a key' };

const amounts = fc.constantFrom(1_000, 4_000, 5_000);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constantFrom('call' as const, 'increment' as const), amount: amounts }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('amend' as const), pick: fc.nat(5), amount: amounts }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('reverse' as const), pick: fc.nat(9) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('wait' as const),
        ms: fc.constantFrom(1_000, 10_000, MINUTE, 6 * MINUTE, 2 * HOUR, 25 * HOUR),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant('settle' as const), fates }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('settle without a key' as const) }) },
  ),
  { minLength: 8, maxLength: 30 },
);

/** A customer whose calls and increments are charged, and reported to Stripe. */
class Books {
  readonly stripe = new FakeStripe(START);
  readonly calls: string[] = [];
  readonly increments: { eventId: string; nano: bigint; isReversed: boolean }[] = [];
  readonly object: Clockwork;
  nowMs = START;

  constructor(object: Clockwork) {
    this.object = object;
  }

  async run(step: Step): Promise<void> {
    const { object, nowMs } = this;
    const pickOf = <Item>(items: Item[], pick: number): Item | undefined => items[pick % Math.max(1, items.length)];
    if (step.do === 'wait') this.nowMs += step.ms;
    else if (step.do === 'call') {
      const callId = `call-${this.calls.length}`;
      accepted(object.begin(callId, nowMs));
      accepted(object.end(callId, nowMs, report(step.amount), PRICE));
      this.calls.push(callId);
    } else if (step.do === 'increment') {
      const { eventId } = accepted(object.increment(step.amount / 1_000, nowMs));
      this.increments.push({ eventId, nano: BigInt(step.amount) * 1_000n, isReversed: false });
    } else if (step.do === 'amend') {
      const callId = pickOf(this.calls, step.pick);
      // A reversed call is not amended.
      if (callId !== undefined) object.amendCall(callId, nowMs, report(step.amount), PRICE);
    } else if (step.do === 'reverse') {
      const subject = pickOf<string | Books['increments'][number]>([...this.calls, ...this.increments], step.pick);
      if (typeof subject === 'string') accepted(object.reverseCall(subject, nowMs));
      else if (subject) {
        accepted(object.reverseMeterEvent(subject.eventId, nowMs));
        subject.isReversed = true;
      }
    } else if (step.do === 'settle') {
      this.stripe.fates = [...step.fates];
      await this.settle();
    } else await object.settle(nowMs, null);
  }

  async settle(): Promise<void> {
    this.stripe.nowMs = this.nowMs;
    await this.object.settle(this.nowMs, this.stripe.take);
  }

  /** The ledger's amount of each call and each increment, by its id. */
  counted(): Map<string, bigint> {
    const ofCalls = this.calls.map((callId) => {
      const call = this.object.seen(callId);
      const isReversed = call?.reversedAtMs !== undefined;
      return [callId, isReversed ? 0n : BigInt(call?.outcome?.charge?.amountNanoUsd ?? 0)] as const;
    });
    return new Map([
      ...ofCalls,
      ...this.increments.map(({ eventId, nano, isReversed }) => [eventId, isReversed ? 0n : nano] as const),
    ]);
  }

  listed(): Map<string, { reason: string; nextAttemptAt: string | null }> {
    const { failedCharges } = accepted(this.object.inspect(this.nowMs));
    return new Map(failedCharges.map(({ subjectId, ...charge }) => [subjectId, charge]));
  }
}

test('Stripe sums to the ledger after any answers, corrections and waits, but for what is listed as unknown', async () => {
  const seen = { unknown: 0, refused: 0, negative: 0 };
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      await withObject(
        PLAN,
        async (object) => {
          accepted(object.begin('first', START));
          accepted(object.grant('USD', 10n ** 12n, START));
          const books = new Books(object);
          for (const step of sequence) {
            await books.run(step);
            // Stripe is never asked to return more than it got.
            for (const subjectId of books.counted().keys())
              expect(books.stripe.sum(subjectId)).toBeGreaterThanOrEqual(0n);
            for (const callId of books.calls) {
              const call = object.seen(callId);
              if (call?.reversedAtMs === undefined && call?.outcome?.charge?.status === 'POSTED')
                expect([callId, books.stripe.sum(callId)]).toEqual([callId, books.counted().get(callId)]);
            }
          }
          books.stripe.fates = [];
          seen.refused += [...books.listed().values()].filter(({ reason }) => reason.endsWith('missing')).length;
          for (let round = 0; round < QUIET_STEPS; round += 1) {
            books.nowMs += 2 * MINUTE * (round + 1);
            await books.settle();
          }
          const listed = books.listed();
          for (const [subjectId, nano] of books.counted()) {
            const failed = listed.get(subjectId);
            if (failed) expect(failed.nextAttemptAt).toBeNull();
            else expect([subjectId, books.stripe.sum(subjectId)]).toEqual([subjectId, nano]);
            if (failed?.reason === 'STRIPE_outcome_unknown') seen.unknown += 1;
          }
          seen.negative += books.stripe.events.filter(({ amount }) => amount < 0n).length;
        },
        { stripeCustomerId: 'cus_1' },
      );
    }),
    { numRuns: RUNS },
  );
  for (const times of Object.values(seen)) expect(times).toBeGreaterThan(0);
});
