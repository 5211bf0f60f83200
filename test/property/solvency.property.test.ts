/**
 * Nobody spends more than they have: whatever calls begin, take steps, end, are lost or time out, and whatever is
 * granted, revoked, settled or expires meanwhile, the balance less pending charges is never below zero and covers the
 * holds, as long as no call costs more than its bound. If a plan holds expected costs, the balance goes no further
 * below zero than the bounds of the calls that were open at the same time.
 *
 * Only a figure that comes after the deadline of its call can exceed that, because the hold was released then.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Account, changeWallet, expireDue } from '../../src/domain/account.ts';
import { beginCall, extendSteps } from '../../src/domain/begin-call.ts';
import { type CallBound, costAtMost } from '../../src/domain/bound.ts';
import { type BeginRequest, type Call, endCall, timeOutCall } from '../../src/domain/call.ts';
import { withMarkup } from '../../src/domain/charge.ts';
import { replaceEstimate } from '../../src/domain/correct-call.ts';
import { expectedCharge, shareOfBound } from '../../src/domain/expected-hold.ts';
import type { BoundAndStep } from '../../src/domain/hold.ts';
import { asCallId } from '../../src/domain/ids.ts';
import { endLostCall } from '../../src/domain/lost-call.ts';
import type { HoldPolicy } from '../../src/domain/plan.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import {
  availableUsd,
  expireCredits,
  giveBack,
  grantCredit,
  revokeCredit,
  settle,
  sumBalance,
} from '../../src/domain/wallet.ts';
import { rateCard } from '../support/rate-cards.ts';
import { account, plan, usage } from '../unit/fixtures.ts';

/** A nano-USD for each token of input, seven for each of output. */
const PRICE: ResolvedPrice = { available: true, card: rateCard({ input: '1000000', output: '7000000' }) };
const OUTPUT_RATE = '7000000';
const CENT = 10_000_000n;
const DEADLINE_MS = 40;

type Step =
  | { kind: 'grant'; nanoUsd: bigint; expiresInMs: number | null }
  | { kind: 'revoke'; pick: number }
  | {
      kind: 'begin';
      known: boolean;
      inSteps: boolean;
      fits: boolean;
      isOurs: boolean;
      input: number;
      output: number;
      holdUsd: number | null;
    }
  | { kind: 'extend'; pick: number; wanted: number }
  | { kind: 'end'; pick: number; share: number }
  | { kind: 'settle'; pick: number }
  | { kind: 'wait'; ms: number };

const pick = fc.nat(100);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('grant' as const),
      nanoUsd: fc.oneof(fc.bigInt({ min: 1n, max: 20_000n }), fc.constant(3n * CENT)),
      expiresInMs: fc.option(fc.integer({ min: 1, max: 60 }), { nil: null }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('revoke' as const), pick }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('begin' as const),
      known: fc.constantFrom(true, true, true, false),
      inSteps: fc.boolean(),
      fits: fc.boolean(),
      isOurs: fc.boolean(),
      input: fc.nat(2_000),
      output: fc.constantFrom(0, 30, 64, 500, 1_030, 5_000),
      holdUsd: fc.option(fc.constantFrom(0, 0.000001, 0.00002), { nil: null, freq: 2 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('extend' as const), pick, wanted: fc.nat(6_000) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('end' as const), pick, share: fc.nat(100) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('settle' as const), pick }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(25) }) },
);

/** How often each thing happened that the property is about. */
const NOTHING_SEEN = {
  calls: 0,
  held: 0,
  refused: 0,
  steps: 0,
  stepsRefused: 0,
  fitted: 0,
  ends: 0,
  lost: 0,
  late: 0,
  givenBack: 0,
  expired: 0,
};
let seen = { ...NOTHING_SEEN };
/** The same on plans that hold expected costs. */
let seenExpected = { held: 0, exceeded: 0, belowZero: 0 };

/** The books of one customer who has nothing but credit. */
class Books {
  nowMs = 1_000;
  account: Account;
  open: Call[] = [];
  /** Estimated at their deadline, and not replaced yet. */
  lost: Call[] = [];
  charges: { id: string; amount: bigint }[] = [];
  /** The amount that late figures may have taken beyond any hold. */
  beyond = 0n;
  /** The amount that the calls open after the last begin could take beyond their holds. */
  declared = 0n;
  /** The answers' shares of their bounds so far. */
  readonly shares = Array.from({ length: 20 }, () => 100_000);
  readonly markupPercent: number;
  readonly holds: HoldPolicy;
  #serial = 0;

  constructor(markupPercent: number, holds: HoldPolicy) {
    this.markupPercent = markupPercent;
    this.holds = holds;
    const limits = { standardCalls: 0, premiumCalls: 0 };
    this.account = account(plan({ replenish: null, limits, payg: { enabled: true, markupPercent, holds } }));
    this.account.subscription.nextReplenishAtMs = Number.MAX_SAFE_INTEGER;
  }

  id(): string {
    this.#serial += 1;
    return `id-${this.#serial}`;
  }

  /** In the object's order: calls whose deadline has come, then credits. */
  catchUp(): void {
    for (const call of this.open.filter(({ deadlineAtMs }) => deadlineAtMs <= this.nowMs)) {
      this.open = this.open.filter((each) => each !== call);
      if (!call.ifLost) {
        this.account = timeOutCall(this.account, call).account;
        continue;
      }
      const ended = endLostCall(this.account, call, call.ifLost, this.id());
      seen.lost += 1;
      this.lost.push(ended.call);
      this.#ended(ended);
    }
    const before = this.account;
    this.account = expireDue(this.account, this.nowMs);
    if (before !== this.account) seen.expired += 1;
  }

  #ended({ account: after, call }: { account: Account; call: Call }): void {
    this.account = after;
    const { chargeId, amountNanoUsd, status } = call.outcome?.charge ?? {};
    if (chargeId && status === 'PENDING') this.charges.push({ id: chargeId, amount: BigInt(amountNanoUsd ?? 0) });
    expect(call.credit).toMatchObject({ heldNanoUsd: '0' });
    const { expectation, exceededNanoUsd } = call.credit ?? {};
    if (!expectation?.isHeld) expect(exceededNanoUsd).toBeUndefined();
    else if (exceededNanoUsd !== undefined) seenExpected.exceeded += 1;
    if (!expectation || !call.outcome) return;
    if (expectation.isHeld) expect(BigInt(amountNanoUsd ?? 0)).toBeLessThanOrEqual(BigInt(expectation.boundNanoUsd));
    const share = shareOfBound(expectation, call.outcome);
    if (share !== null) this.shares.push(share);
  }

  run(step: Step): void {
    this.catchUp();
    if (step.kind === 'wait') {
      this.nowMs += step.ms;
      this.catchUp();
    } else if (step.kind === 'grant') {
      const granted = step.nanoUsd.toString();
      const expiresAtMs = step.expiresInMs === null ? null : this.nowMs + step.expiresInMs;
      const credit = {
        creditId: this.id(),
        unit: 'USD' as const,
        granted,
        remaining: granted,
        grantedAtMs: this.nowMs,
        expiresAtMs,
        reference: null,
      };
      this.account = changeWallet(this.account, grantCredit(this.account.wallet, credit));
    } else if (step.kind === 'revoke') {
      const { credits } = this.account.wallet;
      const { creditId = '' } = credits[step.pick % Math.max(1, credits.length)] ?? {};
      this.account = changeWallet(this.account, revokeCredit(this.account.wallet, creditId, 'why', this.nowMs));
    } else if (step.kind === 'begin') this.begin(step);
    else if (step.kind === 'extend') this.extend(step.pick, step.wanted);
    else if (step.kind === 'end') this.end(step.pick, step.share);
    else this.settle(step.pick);
  }

  begin({ known, inSteps, fits, isOurs, input, output, holdUsd }: Extract<Step, { kind: 'begin' }>): void {
    const cost = { inputNanoUsd: String(input + 18), outputNanoUsdPerMillion: OUTPUT_RATE };
    const ifLost = { modelUsed: 'm', inputTokens: input, price: PRICE };
    const bound: CallBound = {
      ...{ model: 'm', tier: null, outputTokens: output, answers: 1, inSteps, cost },
      ...(fits && { fitsBalance: true, thinks: true }),
      ...(isOurs && { ifLost }),
    };
    const request: BeginRequest = { requested: {}, pricingMode: 'standard', ...(holdUsd !== null && { holdUsd }) };
    const expectedOf = (_model: string, most: BoundAndStep) => expectedCharge(this.shares, most);
    const expected = { bounds: known ? [bound] : [], usualCharge: () => CENT, expectedCharge: expectedOf };
    const before = availableUsd(this.account.wallet);
    const { wallet } = this.account;
    const isHeld = wallet.held !== '0';
    // The part of an expired credit that holds keep ends with them.
    const free = availableUsd(expireCredits({ ...wallet, held: '0' }, this.nowMs));
    const {
      account: after,
      call,
      denial,
    } = beginCall(this.account, asCallId(this.id()), request, expected, {
      deadlineAtMs: this.nowMs + DEADLINE_MS,
      nowMs: this.nowMs,
    });
    seen.calls += 1;
    // Computed independently: the amount that would have to be available.
    const asked = holdUsd === null ? null : BigInt(Math.round(holdUsd * 1e9));
    const tokens = Math.min(inSteps ? 64 : fits ? 1_280 : output, output);
    const costs = (outputTokens: number) =>
      withMarkup({ costNanoUsd: BigInt(input + 18 + 7 * outputTokens), markupPercent: this.markupPercent });
    const own = known ? costs(tokens) : (asked ?? CENT);
    const usual = expectedOf('m', {
      boundNanoUsd: costs(output),
      stepNanoUsd: costs(Math.min(1_024, output)) - costs(0),
    });
    const needed = known && this.holds === 'EXPECTED' && usual !== null && usual < own ? usual : own;
    const least = asked !== null && asked > needed ? asked : needed;
    const covers = (available: bigint) => available > 0n && available >= least;
    expect([denial && { code: denial.code, meter: denial.meter }, call.status]).toEqual(
      covers(before)
        ? [null, 'IN_PROGRESS']
        : [
            { code: covers(free) && isHeld ? 'BALANCE_HELD' : 'CREDIT_REQUIRED', meter: 'standardCalls' },
            'NOT_ALLOWED',
          ],
    );
    if (denial) {
      seen.refused += 1;
      expect(after.wallet).toBe(this.account.wallet);
      expect(call.credit).toBeUndefined();
    } else {
      seen.held += 1;
      this.open.push(call);
      const { heldNanoUsd = '0', outputTokens = 0, steps, expectation } = call.credit ?? {};
      expect(BigInt(heldNanoUsd)).toBeGreaterThanOrEqual(least);
      this.declared = this.open.reduce((sum, each) => sum + mostBeyond(each), 0n);
      if (expectation?.isHeld) seenExpected.held += 1;
      // The vendor is sent no bound that is not held.
      if (known && !steps && !expectation?.isHeld) {
        expect(BigInt(heldNanoUsd)).toBeGreaterThanOrEqual(costs(outputTokens));
        if (outputTokens < output) seen.fitted += 1;
      }
    }
    this.account = after;
  }

  extend(pick: number, wanted: number): void {
    const streams = this.open.filter(({ credit }) => credit?.steps);
    const call = streams[pick % Math.max(1, streams.length)];
    const extended = call && extendSteps(this.account, call, wanted);
    if (!call || !extended) return;
    const { credit } = call;
    const heldTokens = credit?.steps?.heldTokens ?? 0;
    if (extended.heldTokens > heldTokens) seen.steps += 1;
    else if (wanted > heldTokens && heldTokens < (credit?.outputTokens ?? 0)) {
      seen.stepsRefused += 1;
      // Not even the smallest step would have fitted.
      const smallest = Math.min(heldTokens + 64, wanted, credit?.outputTokens ?? 0);
      const input = BigInt(credit?.steps?.inputNanoUsd ?? 0);
      const needed = withMarkup({ costNanoUsd: input + BigInt(7 * smallest), markupPercent: this.markupPercent });
      expect(needed).toBeGreaterThan(BigInt(credit?.heldNanoUsd ?? 0) + availableUsd(this.account.wallet));
    }
    expect(extended.heldTokens).toBeLessThanOrEqual(Math.max(heldTokens, Math.min(wanted, credit?.outputTokens ?? 0)));
    this.account = extended.account;
    this.open = this.open.map((each) => (each === call ? extended.call : each));
  }

  /** The most that a call may cost, without the markup: its hold. */
  private usageWithin(call: Call, share: number) {
    const { credit } = call;
    const { steps, outputTokens = 0 } = credit ?? {};
    const markup = this.markupPercent;
    if (steps) {
      const responseTokens = Math.floor((steps.heldTokens * share) / 100);
      return usage({ inputTokens: Number(steps.inputNanoUsd) - 18, responseTokens });
    }
    // A nano-USD for each token of input: as many as the hold pays for.
    const paid = BigInt(credit?.heldNanoUsd ?? 0) + mostBeyond(call);
    const most = (paid * 1_000_000n) / BigInt(Math.round((100 + markup) * 10_000));
    const responseTokens = Math.floor((Math.min(outputTokens, Number(most) / 7) * share) / 100);
    const inputTokens = Math.floor(((Number(most) - responseTokens * 7) * share) / 100);
    return usage({ inputTokens, responseTokens });
  }

  end(pick: number, share: number): void {
    // Late figures are rare enough.
    const calls = this.lost.length > 0 ? this.lost : this.open;
    const call = calls[pick % Math.max(1, calls.length)];
    if (!call) return;
    if (call.outcome) {
      this.endLate(call, share);
      return;
    }
    seen.ends += 1;
    this.open = this.open.filter((each) => each !== call);
    const report = { modelUsed: 'm', usage: this.usageWithin(call, share) };
    this.#ended(endCall(this.account, call, report, PRICE, this.id(), this.nowMs));
  }

  /** The figures come after the estimate, and may be higher or lower. */
  endLate(call: Call, share: number): void {
    this.lost = this.lost.filter((each) => each !== call);
    const responseTokens = Math.floor(((call.credit?.outputTokens ?? 0) * share) / 100);
    const report = {
      modelUsed: 'm',
      usage: usage({ inputTokens: call.outcome?.usage.inputTokens ?? 0, responseTokens }),
    };
    const ids = { chargeId: this.id(), differenceId: this.id() };
    const replaced = replaceEstimate(this.account, call, { report, price: PRICE }, this.nowMs, ids);
    if (!replaced) throw new Error('it was estimated');
    this.account = replaced.account;
    const { charge } = replaced.correction;
    if (!charge) return;
    const amount = BigInt(charge.amountNanoUsd ?? 0);
    if (amount > 0n) {
      seen.late += 1;
      this.beyond += amount;
    }
    this.charges.push({ id: charge.chargeId, amount });
  }

  settle(pick: number): void {
    const [charge] = this.charges.splice(pick % Math.max(1, this.charges.length), 1);
    if (!charge) return;
    const { wallet } = this.account;
    const { id: reference, amount } = charge;
    if (amount >= 0n) this.account = changeWallet(this.account, settle(wallet, amount, reference, this.nowMs));
    else {
      seen.givenBack += 1;
      // To a credit that expired long ago: nobody can spend the amount any more.
      const expired = {
        creditId: 'old',
        unit: 'USD' as const,
        granted: (-amount).toString(),
        remaining: '0',
        grantedAtMs: 0,
        expiresAtMs: 1,
        reference: null,
      };
      const payers = [[{ credit: expired, paid: -amount }]];
      const corrects = { reference: null, atMs: this.nowMs };
      const creditId = `returned-${reference}`;
      const back = { unit: 'USD' as const, amount: -amount, payers, reference, corrects, creditId };
      this.account = changeWallet(this.account, giveBack(wallet, back, this.nowMs));
    }
  }

  expectSolvent(): void {
    const { wallet } = this.account;
    const held = this.open.reduce((sum, { credit }) => sum + BigInt(credit?.heldNanoUsd ?? 0), 0n);
    const pending = this.charges.reduce((sum, { amount }) => (amount > 0n ? sum + amount : sum), 0n);
    const covers = ({ credit }: Call) =>
      !credit?.steps ||
      withMarkup({
        costNanoUsd: costAtMost(credit.steps, credit.steps.heldTokens),
        markupPercent: credit.markupPercent,
      }) <= BigInt(credit.heldNanoUsd);
    const holds = {
      'what is held is what open calls hold': BigInt(wallet.held) === held,
      'what is unsettled is what pending charges take': BigInt(wallet.unsettled) === pending,
      'the balance covers pending charges': sumBalance(wallet, 'USD') - pending + this.beyond + this.declared >= 0n,
      'and what is held': availableUsd(wallet) + this.beyond + this.declared >= 0n,
      'each step is held': this.open.every(covers),
    };
    const broken = Object.entries(holds).flatMap(([what, is]) => (is ? [] : [what]));
    if (sumBalance(wallet, 'USD') - pending + this.beyond < 0n) seenExpected.belowZero += 1;
    if (broken.length > 0) throw new Error(`${broken.join(', ')}: no more with ${JSON.stringify(wallet)}`);
  }
}

/** The amount that an open call may cost beyond its hold: zero, unless the hold is an expected cost. */
function mostBeyond({ credit }: Call): bigint {
  if (!credit?.expectation?.isHeld) return 0n;
  const beyond = BigInt(credit.expectation.boundNanoUsd) - BigInt(credit.heldNanoUsd);
  return beyond > 0n ? beyond : 0n;
}

test.each([
  ['EXACT', 'the balance'],
  ['EXPECTED', 'more than the bounds of the calls that are open together'],
] as const)(
  'on a plan with %s holds no order of begins, steps, ends, deadlines, settlements, grants, revocations and expiries overdraws %s',
  (holds, _what) => {
    seen = { ...NOTHING_SEEN };
    seenExpected = { held: 0, exceeded: 0, belowZero: 0 };
    const histories = fc.array(step, { maxLength: 60, size: 'max' });
    fc.assert(
      fc.property(fc.constantFrom(0, 0.0001, 12.5, 33.3333, 250.75), histories, (markupPercent, history) => {
        const books = new Books(markupPercent, holds);
        for (const step of history) {
          books.run(step);
          books.expectSolvent();
        }
      }),
      // Figures above a bound come late and seldom.
      { numRuns: holds === 'EXACT' ? 10_000 : 3_000 },
    );
    console.log(`solvency, ${holds}: ${JSON.stringify({ ...seen, ...seenExpected })}`);
    if (holds === 'EXACT') expect(seenExpected).toEqual({ held: 0, exceeded: 0, belowZero: 0 });
    const happened = holds === 'EXACT' ? seen : seenExpected;
    for (const [what, times] of Object.entries(happened)) expect([what, times > 20]).toEqual([what, true]);
  },
);
