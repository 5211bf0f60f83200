/**
 * The steps of a history of one customer: the commands to its object and their effect in the model of the ledger. Every
 * answer must equal the model's.
 */

import fc from 'fast-check';
import { expect } from 'vitest';
import type { Answer } from '../../src/contract/errors.ts';
import type { Call } from '../../src/domain/call.ts';
import { asCallId, type OrganizationId } from '../../src/domain/ids.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { sumBalance } from '../../src/domain/wallet.ts';
import { findOldCall } from '../../src/history/calls.ts';
import { findOldMeterEvent } from '../../src/history/meter-events.ts';
import { usage } from '../unit/fixtures.ts';
import { type FakeStripe, type Fate, fates } from './fake-stripe.ts';
import {
  DAY,
  HOUR,
  INCLUDED,
  type LedgerCall,
  type LedgerIncrement,
  type LedgerModel,
  type Report,
  reportText,
  SLOTS,
  TIERS,
  type Tier,
  UNIT_NANO,
} from './ledger-model.ts';
import { accepted, type Clockwork } from './object.ts';
import { rateCard } from './rate-cards.ts';
import { DATABASES } from './unreliable-d1.ts';
import { bindings } from './worker.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** How long an object keeps a finished call, and an increment, that D1 has. */
const KEPT_CALL_MS = 7 * DAY;
const KEPT_EVENT_MS = HOUR;
const ANSWERS_MS = 48 * HOUR;
const CORRECTABLE_MS = 400 * DAY;
const RECENT = 8;

/** Two models of each tier: prices of a token in nano-USD. Above 4 USD per million output tokens a model is premium. */
const MODELS: Record<Tier, readonly Report['rates'][]> = {
  standard: [
    { input: 1_000n, output: 4_000n },
    { input: 3_000n, output: 2_000n },
  ],
  premium: [
    { input: 2_000n, output: 8_000n },
    { input: 5_000n, output: 40_000n },
  ],
};

const oneOf = fc.constantFrom;
const report = fc.record({
  inputTokens: oneOf(0, 10, 1_000, 25_000),
  responseTokens: oneOf(0, 7, 500),
  model: oneOf(0, 1),
  isFailed: oneOf(false, false, false, true),
});
type Told = typeof report extends fc.Arbitrary<infer T> ? T : never;

/** Mostly moments; sometimes over a deadline, or to the end of a period. Days pass between the rounds. */
const waits = fc.oneof(
  { weight: 30, arbitrary: oneOf(0, SECOND, 20 * SECOND) },
  { weight: 4, arbitrary: oneOf(MINUTE, 20 * MINUTE, 2 * HOUR) },
  { weight: 2, arbitrary: oneOf('to the end of the period', 'almost to it') },
);

const pick = fc.nat(999);
const step = fc.oneof(
  { weight: 9, arbitrary: fc.record({ do: oneOf('begin' as const), tier: oneOf(...TIERS), feature: oneOf('a', 'b') }) },
  { weight: 9, arbitrary: fc.record({ do: oneOf('end' as const), pick, report }) },
  { weight: 6, arbitrary: fc.record({ do: oneOf('amend' as const), pick, report }) },
  { weight: 3, arbitrary: fc.record({ do: oneOf('reverse' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ do: oneOf('compress' as const), pick }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: oneOf('increment' as const), slot: oneOf(...SLOTS), amount: oneOf(1, 2, 4, 7) }),
  },
  { weight: 3, arbitrary: fc.record({ do: oneOf('reverse an increment' as const), pick }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: oneOf('change plan' as const),
      plan: oneOf(0, 1),
      strategy: oneOf('IMMEDIATE_RESET' as const, 'IMMEDIATE_PRORATED' as const, 'AT_NEXT_REPLENISH' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: oneOf('replenish' as const, 'grant' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: oneOf('settle' as const), fates }) },
  { weight: 1, arbitrary: fc.record({ do: oneOf('settle without a key' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: oneOf('deliver' as const),
      to: oneOf('there' as const, 'away' as const, 'late' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: oneOf('send again' as const, 'wake' as const, 'restart' as const) }) },
);

export const ledgerSteps = fc.array(fc.tuple(waits, step), { maxLength: 20, size: 'max' });
export type LedgerStep = typeof ledgerSteps extends fc.Arbitrary<(infer S)[]> ? S : never;

/** The events that a run must have seen to prove anything. */
export const SIGHTS = [
  'call denied',
  'call on credit',
  'late end',
  'amended from history',
  'reversed from history',
  'increment blocked',
  'increment charged',
  'increment reversed',
  'replay',
  'refused by Stripe',
  'unknown whether Stripe has it',
] as const;
type Sight = (typeof SIGHTS)[number];

/**
 * For all histories: the steps, the number of times that all objects were ended by force, and the number of each event
 * worth having.
 */
export interface Walked {
  steps: number;
  kills: number;
  seen: Partial<Record<Sight, number>>;
}
export const walked: Walked = { steps: 0, kills: 0, seen: {} };

function note(sight: Sight): void {
  walked.seen[sight] = (walked.seen[sight] ?? 0) + 1;
}

/** The data that all customers of a history share. */
export interface Ledger {
  organizationId: OrganizationId;
  plans: readonly object[];
  /** Days that calls and increments are kept in D1. */
  keptDays: { calls: number; increments: number };
  model: LedgerModel;
  stripe: FakeStripe;
  /** The last write of each customer, and how it is sent again. */
  last: Map<string, { atMs: number; answer: object; repeat: (object: Clockwork) => Answer<unknown> }>;
  serial: number;
}

/** A customer of the history, inside its object. */
export class Walk {
  readonly #ledger: Ledger;
  readonly #model: LedgerModel;
  readonly #object: Clockwork;
  readonly #customerId: string;

  constructor(ledger: Ledger, object: Clockwork, customerId: string) {
    this.#ledger = ledger;
    this.#model = ledger.model;
    this.#object = object;
    this.#customerId = customerId;
  }

  get #nowMs(): number {
    return this.#model.nowMs;
  }

  async take([wait, next]: LedgerStep): Promise<void> {
    walked.steps += 1;
    const { endMs } = this.#model.customer(this.#customerId);
    const leftMs = endMs - this.#nowMs;
    this.#model.advance(typeof wait === 'number' ? wait : wait === 'almost to it' ? Math.max(0, leftMs - 1) : leftMs);
    switch (next.do) {
      case 'begin':
        return this.#begin(next.tier, next.feature);
      case 'end':
        return this.#withCall(next.pick, (call) => this.#end(call, told(call, next.report)));
      case 'amend':
        return this.#withCall(next.pick, (call) => this.#amend(call, told(call, next.report)));
      case 'reverse':
        return this.#withCall(next.pick, (call) => this.#reverse(call));
      case 'compress':
        return this.#withCall(next.pick, (call) => this.#compress(call));
      case 'increment':
        return this.#increment(next.slot, next.amount);
      case 'reverse an increment': {
        const event = chosen(this.#model.incrementsOf(this.#customerId), next.pick);
        return event && this.#reverseIncrement(event);
      }
      case 'change plan': {
        const changed = this.#object.changePlan(this.#ledger.plans[next.plan] as object, next.strategy, this.#nowMs);
        this.#model.changePlan(this.#customerId, next.plan, next.strategy);
        return this.#expectSubscription(accepted(changed).subscription);
      }
      case 'replenish': {
        const replenished = accepted(this.#object.replenish(this.#nowMs));
        this.#model.replenish(this.#customerId);
        return this.#expectSubscription(replenished.subscription);
      }
      case 'grant':
        accepted(this.#object.grant('USD', UNIT_NANO, this.#nowMs));
        this.#model.customer(this.#customerId).granted += UNIT_NANO;
        return;
      case 'settle':
        return this.settle(next.fates);
      case 'settle without a key':
        return this.#object.settle(this.#nowMs);
      case 'deliver':
        return this.deliver(DATABASES[next.to]);
      case 'send again':
        return this.#sendAgain();
      case 'wake':
        return this.#object.housekeep(this.#nowMs);
      case 'restart':
        return this.#object.restart();
    }
  }

  // --- calls

  async #withCall(at: number, work: (call: LedgerCall) => void | Promise<void>): Promise<void> {
    const call = chosen(this.#model.callsOf(this.#customerId), at);
    if (call) await work(call);
  }

  #begin(tier: Tier, feature: string): void {
    const callId = `call-${this.#ledger.serial}`;
    this.#ledger.serial += 1;
    const { data } = this.#send((object) =>
      object.begin(callId, this.#nowMs, { requested: { [tier]: true }, holdUsd: 0.01, feature }),
    );
    const call = this.#model.begin(callId, this.#customerId, tier, feature);
    const isAllowed = call.status !== 'NOT_ALLOWED';
    if (!isAllowed) note('call denied');
    if (isAllowed && call.isOnCredit) note('call on credit');
    expect([callId, data.allowed[tier]]).toEqual([callId, isAllowed]);
    this.#expectMeters(data.meters);
  }

  #end(call: LedgerCall, reported: Report): void {
    const { callId } = call;
    const end = (object = this.#object) => object.end(callId, this.#nowMs, wireOf(reported), resolvedPrice(reported));
    if (!this.#model.mayEnd(call)) {
      const answer = end();
      // The very end that was recorded.
      if (answer.ok) expect([callId, answer.replayed]).toEqual([callId, true]);
      else expect(['CALL_ALREADY_FINALIZED', 'CALL_NOT_FOUND']).toContain(answer.refusal.code);
      return;
    }
    if (this.#isGone(call) && this.#object.seen(callId) === null) {
      expectRefused(end(), 'CALL_NOT_FOUND');
      return;
    }
    if (call.status === 'TIMEOUT') note('late end');
    const { data } = this.#send(end);
    this.#model.end(call, reported);
    const cost = this.#model.costOf(call).toString();
    expect([callId, data.status, data.costUsdNano]).toEqual([callId, call.status, cost]);
    expect([callId, data.metered?.tokens]).toEqual([callId, reported.responseTokens]);
  }

  async #amend(call: LedgerCall, reported: Report): Promise<void> {
    const { callId } = call;
    const found = await this.#findOld(call);
    const amend = () =>
      this.#object.amendCall(callId, this.#nowMs, wireOf(reported), resolvedPrice(reported), found.old);
    if (found.isGone) return expectRefused(amend(), 'CALL_NOT_FOUND');
    const isSame = call.amendedTo === reportText(reported);
    if (this.#isTooOld(call) || !(isSame || this.#model.mayAmend(call))) return expectRefused(amend(), 'CONFLICT');
    const answer = amend();
    if (isBehind(answer)) return;
    expect([callId, accepted(answer) && answer.ok && answer.replayed]).toEqual([callId, isSame]);
    if (isSame) return;
    if (found.old) note('amended from history');
    const isCurrent = call.report === null || call.period === this.#model.customer(this.#customerId).period;
    const [costBefore, charge, took] = this.#worth(call);
    this.#model.amend(call, reported);
    const [cost, chargeAfter, takes] = this.#worth(call);
    expect([callId, accepted(answer)]).toEqual([
      callId,
      expect.objectContaining({
        status: call.status,
        costUsdNano: cost,
        previousCostUsdNano: costBefore,
        differenceNanoUsd: (chargeAfter - charge).toString(),
        returned: isCurrent ? took : {},
        taken: isCurrent ? takes : {},
      }),
    ]);
  }

  async #reverse(call: LedgerCall): Promise<void> {
    const { callId, status } = call;
    const found = await this.#findOld(call);
    const answer = this.#object.reverseCall(callId, this.#nowMs, found.old);
    if (found.isGone) return expectRefused(answer, 'CALL_NOT_FOUND');
    if (!call.isReversed && (this.#isTooOld(call) || status === 'IN_PROGRESS' || status === 'NOT_ALLOWED'))
      return expectRefused(answer, 'CONFLICT');
    if (isBehind(answer)) return;
    expect([callId, accepted(answer) && answer.ok && answer.replayed === true]).toEqual([callId, call.isReversed]);
    if (call.isReversed) return;
    if (found.old) note('reversed from history');
    const isCurrent = call.period === this.#model.customer(this.#customerId).period;
    const [cost, charge, took] = this.#worth(call);
    this.#model.reverse(call);
    const expected = { status, costUsdNano: cost, refundNanoUsd: charge.toString(), returned: isCurrent ? took : {} };
    expect([callId, accepted(answer)]).toEqual([callId, expect.objectContaining(expected)]);
  }

  #compress(call: LedgerCall): void {
    const isThere = this.#object.seen(call.callId) !== null;
    const answer = this.#object.compress(call.callId, this.#nowMs);
    if (isThere || answer.ok) accepted(answer);
    else expect([call.callId, this.#isGone(call)]).toEqual([call.callId, true]);
  }

  /** The cost of a call, its charge, and the amounts that it takes of the allowances. */
  #worth(call: LedgerCall): [cost: string | null, charge: bigint, took: Record<string, number>] {
    const cost = call.report ? this.#model.costOf(call).toString() : null;
    return [cost, this.#model.chargeOf(call), this.#model.tookOf(call)];
  }

  /** The object may keep the call no longer. */
  #isGone({ finishedAtMs }: LedgerCall): boolean {
    return finishedAtMs !== null && this.#nowMs - finishedAtMs >= KEPT_CALL_MS;
  }

  #isTooOld({ beganAtMs, isReversed }: LedgerCall): boolean {
    return !isReversed && this.#nowMs - beganAtMs > CORRECTABLE_MS;
  }

  /** A call that the object has not, as the service finds it; that nobody has it must be because of its age. */
  async #findOld(call: LedgerCall): Promise<{ old: Call | null; isGone: boolean }> {
    if (this.#object.seen(call.callId)) return { old: null, isGone: false };
    const find = () => findOldCall(bindings, this.#ledger.organizationId, asCallId(call.callId));
    const mayBeGone = this.#isGone(call) && this.#nowMs - call.beganAtMs > this.#ledger.keptDays.calls * DAY;
    let old = await find();
    if (old === null && this.#isGone(call) && !mayBeGone) {
      // D1 was away for longer than the object keeps it: its projector has it.
      await this.deliver();
      old = await find();
    }
    const isGone = old === null && this.#object.seen(call.callId) === null;
    if (isGone) expect([call.callId, mayBeGone || call.status === 'NOT_ALLOWED']).toEqual([call.callId, true]);
    return { old, isGone };
  }

  // --- custom meters

  #increment(slot: (typeof SLOTS)[number], amount: number): void {
    const key = `increment-${this.#ledger.serial}`;
    this.#ledger.serial += 1;
    const { period } = this.#model.customer(this.#customerId);
    const before = this.#model.unitsIn(this.#customerId, slot, period);
    const { data } = this.#send((object) => object.increment(amount, this.#nowMs, { slot, key }));
    const { funding } = this.#model.increment(data.eventId, this.#customerId, slot, amount);
    if (funding.unfunded > 0) note('increment blocked');
    if (funding.overage > 0) note('increment charged');
    expect([data.blocked, data.meter.periodUsageBefore, data.meter.periodUsageAfter]).toEqual([
      funding.unfunded > 0,
      String(before),
      String(before + amount),
    ]);
  }

  async #reverseIncrement(event: LedgerIncrement): Promise<void> {
    const { eventId, atMs, amount } = event;
    const old = await findOldMeterEvent(bindings, this.#ledger.organizationId, eventId);
    const answer = this.#object.reverseMeterEvent(eventId, this.#nowMs, old);
    const ageMs = this.#nowMs - atMs;
    if (!answer.ok && answer.refusal.code === 'NOT_FOUND') {
      expect([eventId, old]).toEqual([eventId, null]);
      expect(ageMs).toBeGreaterThan(KEPT_EVENT_MS);
      if (ageMs > this.#ledger.keptDays.increments * DAY) return;
      // D1 was away for longer than the object keeps it: its projector has it.
      await this.deliver();
      expect((await findOldMeterEvent(bindings, this.#ledger.organizationId, eventId))?.eventId).toBe(eventId);
      return;
    }
    if (!event.returned && ageMs > CORRECTABLE_MS) return expectRefused(answer, 'CONFLICT');
    if (isBehind(answer)) return;
    const { returned, refundNanoUsd } = accepted(answer);
    expect([eventId, answer.ok && answer.replayed === true]).toEqual([eventId, event.returned !== null]);
    if (event.returned) return;
    note('increment reversed');
    const units = this.#model.returnedBy(event);
    const { included, credits, overage, unfunded } = returned;
    if (units)
      expect([eventId, returned, refundNanoUsd]).toEqual([eventId, units, String(BigInt(units.overage) * UNIT_NANO)]);
    else expect([eventId, included + credits + overage + unfunded]).toEqual([eventId, amount]);
    event.returned = { ...returned, nano: BigInt(refundNanoUsd) };
  }

  // --- the customer

  /** Sends a write, and keeps it to be sent again. */
  #send<Data>(repeat: (object: Clockwork) => Answer<Data>): { data: Data } {
    const answer = repeat(this.#object);
    const data = accepted(answer);
    expect(answer.ok && answer.replayed).toBe(false);
    this.#ledger.last.set(this.#customerId, { atMs: this.#nowMs, answer: data as object, repeat });
    return { data };
  }

  #sendAgain(): void {
    const last = this.#ledger.last.get(this.#customerId);
    if (!last || this.#nowMs - last.atMs >= ANSWERS_MS - HOUR) return;
    note('replay');
    const answer = last.repeat(this.#object);
    expect([accepted(answer), answer.ok && answer.replayed]).toEqual([last.answer, true]);
  }

  /** Charges are taken from the balance and told, with these fates of the first requests. */
  async settle(nextFates: readonly Fate[]): Promise<void> {
    const { stripe: provider } = this.#ledger;
    const { stripe } = this.#model.customer(this.#customerId);
    provider.nowMs = this.#nowMs;
    provider.fates = [...nextFates];
    await this.#object.settle(this.#nowMs, stripe === null ? null : provider.take);
    this.#expectSums();
  }

  /** Stripe and the balance equal the ledger, except for pending changes. */
  #expectSums(): void {
    const { stripe } = this.#model.customer(this.#customerId);
    const open = this.charges();
    for (const { failure_reason: reason } of open)
      if (reason !== null) note(reason.endsWith('unknown') ? 'unknown whether Stripe has it' : 'refused by Stripe');
    const waiting = new Set(open.map(({ subject_id }) => subject_id));
    for (const [subjectId, target] of stripe === null ? [] : this.#model.targets(this.#customerId))
      if (!waiting.has(subjectId)) expect([subjectId, this.#ledger.stripe.sum(subjectId)]).toEqual([subjectId, target]);
    const account = this.#object.account();
    if (!account || open.some(({ debited_at_ms }) => debited_at_ms === null)) return;
    expect(sumBalance(account.wallet, 'USD')).toBe(this.#model.balance(this.#customerId));
    expect(sumBalance(account.wallet, 'CUSTOM2')).toBe(BigInt(this.#model.unitsLeft(this.#customerId)));
  }

  /** Charges that are not settled. */
  charges() {
    return this.#object.query<{
      subject_id: string;
      debited_at_ms: number | null;
      due_at_ms: number;
      failure_reason: string | null;
    }>('SELECT subject_id, debited_at_ms, due_at_ms, failure_reason FROM charges');
  }

  async deliver(db = bindings.DB): Promise<void> {
    for (let more = true; more; ) ({ more } = await this.#object.deliver(db, this.#nowMs));
  }

  wake(): void {
    this.#object.housekeep(this.#nowMs);
  }

  /** The object's figures of the present period. */
  expectPeriod(): void {
    const { subscription, meters } = accepted(this.#object.usage(this.#nowMs));
    this.#expectSubscription(subscription);
    this.#expectMeters(meters);
    const { period } = this.#model.customer(this.#customerId);
    const ended = this.#model.callsOf(this.#customerId).filter((call) => call.period === period && !call.isReversed);
    const tokens = ended.reduce((sum, { report: of }) => sum + (of?.inputTokens ?? 0), 0);
    const units = this.#model.unitsIn(this.#customerId, 'CUSTOM1', period);
    expect(this.#object.recorded(this.#nowMs, 'inputTokens')).toBe(tokens);
    expect(this.#object.recorded(this.#nowMs, 'customMeter1')).toBe(units);
  }

  #expectMeters(meters: Record<string, { used: number; remaining: number } | undefined>): void {
    const customer = this.#model.customer(this.#customerId);
    for (const tier of TIERS)
      expect([tier, meters[`${tier}Calls`]?.used]).toEqual([tier, this.#model.usedCalls(customer, tier)]);
    expect(meters.customMeter1?.used).toBe(
      INCLUDED.CUSTOM1 - this.#model.fund(this.#customerId, 'CUSTOM1', 99).included,
    );
  }

  #expectSubscription(of: { usagePlanVersionId: string; lastReplenishedAt: string; nextReplenishAt: string }): void {
    const { plan, startMs, endMs } = this.#model.customer(this.#customerId);
    const { name } = this.#ledger.plans[plan] as { name: string };
    const [lastReplenishedAt, nextReplenishAt] = [startMs, endMs].map((atMs) => new Date(atMs).toISOString());
    expect(of).toMatchObject({ usagePlanVersionId: `${name}:v1`, lastReplenishedAt, nextReplenishAt });
  }
}

/** Mostly one of the last. */
function chosen<Item>(items: readonly Item[], at: number): Item | undefined {
  const among = at < 500 ? items.slice(-RECENT) : items;
  return among[at % Math.max(1, among.length)];
}

function told({ tier }: LedgerCall, { model, ...of }: Told): Report {
  return { ...of, model: `${tier}-${model}`, rates: MODELS[tier][model] as Report['rates'] };
}

const wireOf = ({ inputTokens, responseTokens, model, isFailed }: Report) => ({
  usage: usage({ inputTokens, responseTokens }),
  modelUsed: model,
  ...(isFailed && { error: { code: 'E', message: 'failed' } }),
});

function resolvedPrice({ rates, model }: Report): ResolvedPrice {
  const perMillion = { input: rates.input * 1_000_000n, output: rates.output * 1_000_000n };
  return { available: true, card: rateCard(perMillion, [], { modelKey: `made/${model}` }) };
}

function expectRefused(answer: Answer<unknown>, code: string): void {
  expect(answer).toMatchObject({ ok: false, refusal: { code } });
}

/** D1 does not have an earlier correction yet: nothing was changed. */
function isBehind(answer: Answer<unknown>): boolean {
  return !answer.ok && answer.refusal.code === 'SERVICE_UNAVAILABLE';
}
