/**
 * Stripe in the view of a customer's object, without its HTTP: its accepted events, and the ways in which an answer is
 * lost.
 */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Report, Reporter } from '../../durable-objects/customer/commands/settlement.ts';

const DAY = 24 * 3_600_000;

/** How a request to Stripe fares. */
export type Fate = 'TAKEN' | 'REFUSED' | 'LIMITED' | 'LOST_BEFORE' | 'LOST_AFTER';

/** Stripe, which knows an identifier for a day. */
export class FakeStripe {
  readonly events: { id: string; subjectId: string; customer: string; amount: bigint; atMs: number }[] = [];
  readonly asked = new Map<string, bigint>();
  nowMs: number;
  fates: Fate[] = [];

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  readonly take: Reporter = async ({ chargeId: id, subjectId, stripeCustomerId: customer, amountNanoUsd: amount }) => {
    expect(this.asked.get(id) ?? amount).toBe(amount);
    this.asked.set(id, amount);
    const fate = this.fates.shift() ?? 'TAKEN';
    const lost: Report = { status: 'RETRY', reason: 'STRIPE_timeout', retryAfterMs: null };
    if (fate === 'LOST_BEFORE') return lost;
    if (fate === 'LIMITED') return { ...lost, reason: 'STRIPE_rate_limit', isNotThere: true };
    const isKnown = this.events.some((event) => event.id === id && this.nowMs - event.atMs < DAY);
    if (fate === 'REFUSED' && !isKnown) return { status: 'REJECTED', reason: 'STRIPE_resource_missing' };
    if (!isKnown) this.events.push({ id, subjectId, customer, amount, atMs: this.nowMs });
    return fate === 'LOST_AFTER' ? lost : { status: 'REPORTED' };
  };

  sum(subjectId: string): bigint {
    return this.events.reduce((sum, event) => (event.subjectId === subjectId ? sum + event.amount : sum), 0n);
  }
}

/** The fates of the next requests; later ones are accepted. */
export const fates: fc.Arbitrary<Fate[]> = fc.array(
  fc.constantFrom<Fate>('TAKEN', 'TAKEN', 'REFUSED', 'LIMITED', 'LOST_BEFORE', 'LOST_AFTER'),
  { maxLength: 4 },
);
