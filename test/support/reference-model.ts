/**
 * A small reference model of a customer's money and meters: what plans, credits, calls and custom meters come to,
 * worked out from the contract alone.
 *
 * Nothing of the product's arithmetic is used, only its shapes and the boundaries of periods. Everything is bigint:
 * quantities in thousandths of a unit, money in nano-USD. It walks through time one boundary at a time, and it is slow
 * and plain on purpose.
 */

import type { ChangeStrategy } from '../../src/domain/account.ts';
import type { CallStatus } from '../../src/domain/call.ts';
import type { MeterName, MeterSlot } from '../../src/domain/meters.ts';
import { boundary, NEVER_MS } from '../../src/domain/period.ts';
import type { Plan } from '../../src/domain/plan.ts';
import type { CreditUnit } from '../../src/domain/wallet.ts';
import {
  type Ending,
  type Funding,
  gradedCost,
  type Price,
  priceOf,
  ratePercent,
  type TierPart,
  usdToNano,
} from './reference-prices.ts';

export const SLOTS = ['CUSTOM1', 'CUSTOM2', 'AGENTIC_API'] as const satisfies readonly MeterSlot[];
export const TIERS = ['standard', 'premium'] as const;
export type Tier = (typeof TIERS)[number];
const SLOT_METER = { CUSTOM1: 'customMeter1', CUSTOM2: 'customMeter2', AGENTIC_API: 'agenticApi' } as const;
const CAPABILITIES = { audio: 'audioSeconds', search: 'searches' } as const;
const DAY_MS = 86_400_000;
const MILLI = 1000n;

export type Asked = Partial<Record<Tier | 'audio' | 'image' | 'search', boolean>>;
export type Allowed = Record<Tier | 'audio' | 'image' | 'search', boolean>;

export interface ModelCredit {
  creditId: string;
  unit: CreditUnit;
  remaining: bigint;
  grantedAtMs: number;
  expiresAtMs: number | null;
}

export interface ModelCharge {
  chargeId: string;
  subjectId: string;
  amount: bigint;
  stripeCustomerId: string | null;
  dueAtMs: number;
  debited: boolean;
  attempts: number;
  firstAttemptAtMs: number | null;
}

export interface ModelCall {
  callId: string;
  status: CallStatus;
  beganAtMs: number;
  deadlineAtMs: number;
  finishedAtMs: number | null;
  batch: boolean;
  allowed: Allowed;
  suggested: Tier | 'none';
  reserved: Map<MeterName, bigint>;
  onCredit: Tier[];
  markup: bigint;
  held: bigint;
}

/** What became of a charge: the words of the contract. */
export type Settlement = { status: 'PENDING' | 'POSTED' | 'FAILED'; amount: bigint | null; reason: string | null };

export interface Denial {
  rateLimited: true;
}

export class ReferenceModel {
  nowMs: number;
  readonly plans: readonly Plan[];
  plan = 0;
  pending: number | null = null;
  canceled = false;
  version = 1;
  cycle: { anchorMs: number; step: number; replenish: Plan['replenish'] };
  startMs: number;
  endMs: number;
  /** What ended calls and increments took of the allowances in this period, one by one. */
  taken: { meter: MeterName; milli: bigint }[] = [];
  slots: Record<MeterSlot, { usage: bigint; overage: bigint }> = noUnits();
  credits: ModelCredit[] = [];
  overdraft = 0n;
  readonly calls = new Map<string, ModelCall>();
  /** Charges on their way. */
  readonly charges = new Map<string, ModelCharge>();
  /** What is known of the charge of each call and each meter event that has one. */
  readonly settlements = new Map<string, Settlement>();
  readonly stripeCustomerId: string | null;

  constructor(plans: readonly Plan[], stripeCustomerId: string | null, nowMs: number) {
    this.plans = plans;
    this.stripeCustomerId = stripeCustomerId;
    this.nowMs = nowMs;
    const { replenish } = this.terms();
    this.cycle = { anchorMs: nowMs, step: 0, replenish };
    this.startMs = nowMs;
    this.endMs = endOf(this.cycle);
  }

  terms(): Plan {
    return this.plans[this.plan] as Plan;
  }

  // --- time

  /** Moves the clock: periods end one after the other, credits expire, calls time out. */
  advance(toMs: number): void {
    this.nowMs = toMs;
    if (this.endMs <= toMs) this.version += 1;
    while (this.endMs <= toMs) {
      const boundaryMs = this.endMs;
      this.plan = this.pending ?? this.plan;
      this.pending = null;
      const { replenish } = this.terms();
      const same = JSON.stringify(replenish) === JSON.stringify(this.cycle.replenish);
      this.cycle = same ? { ...this.cycle, step: this.cycle.step + 1 } : { anchorMs: boundaryMs, step: 0, replenish };
      this.#startPeriod(boundaryMs);
    }
    this.credits = this.credits.filter(({ expiresAtMs }) => expiresAtMs === null || expiresAtMs > toMs);
    for (const call of this.openCalls()) if (call.deadlineAtMs <= toMs) this.#close(call, 'TIMEOUT', call.deadlineAtMs);
  }

  #startPeriod(startMs: number): void {
    this.startMs = startMs;
    this.endMs = endOf(this.cycle);
    this.taken = [];
    this.slots = noUnits();
  }

  /** A full grant of a plan now, and a cycle that is counted from now. */
  #startCycle(plan: number): void {
    this.plan = plan;
    this.pending = null;
    this.cycle = { anchorMs: this.nowMs, step: 0, replenish: this.terms().replenish };
    this.#startPeriod(this.nowMs);
    this.version += 1;
  }

  // --- subscription

  changePlan(target: number, strategy: ChangeStrategy): void {
    if (target === this.plan) {
      if (this.pending !== null) this.version += 1;
      this.pending = null;
    } else if (strategy === 'IMMEDIATE_RESET') this.#startCycle(target);
    else if (strategy === 'IMMEDIATE_PRORATED') {
      this.plan = target;
      this.pending = null;
      this.version += 1;
    } else if (this.pending !== target) {
      this.pending = target;
      this.version += 1;
    }
  }

  replenish(): void {
    this.#startCycle(this.pending ?? this.plan);
  }

  setCanceled(canceled: boolean): void {
    if (this.canceled !== canceled) this.version += 1;
    this.canceled = canceled;
  }

  // --- meters

  /** The limit of a meter in thousandths; `null` is unlimited. */
  limit(meter: MeterName): bigint | null {
    const slot = SLOTS.find((name) => SLOT_METER[name] === meter);
    if (!slot) {
      const units = this.terms().limits[meter as keyof Plan['limits']];
      return units === null ? null : BigInt(units) * MILLI;
    }
    const terms = this.terms().customMeters[slot];
    if (!terms?.enabled) return 0n;
    return terms.unlimited ? null : BigInt(terms.included) * MILLI;
  }

  consumed(meter: MeterName): bigint {
    return this.taken.reduce((sum, item) => (item.meter === meter ? sum + item.milli : sum), 0n);
  }

  reserved(meter: MeterName): bigint {
    return this.openCalls().reduce((sum, call) => sum + (call.reserved.get(meter) ?? 0n), 0n);
  }

  /** What is left of a meter; `null` is without a bound. */
  left(meter: MeterName): bigint | null {
    const limit = this.limit(meter);
    if (limit === null) return null;
    const used = this.consumed(meter) + this.reserved(meter);
    return used > limit ? 0n : limit - used;
  }

  #take(meter: MeterName, milli: bigint): void {
    if (milli > 0n) this.taken.push({ meter, milli });
  }

  // --- wallet

  balance(unit: CreditUnit): bigint {
    const credit = this.credits.reduce((sum, { unit: of, remaining }) => (of === unit ? sum + remaining : sum), 0n);
    return unit === 'USD' ? credit - this.overdraft : credit;
  }

  held(): bigint {
    return this.openCalls().reduce((sum, call) => sum + call.held, 0n);
  }

  unsettled(): bigint {
    return [...this.charges.values()].reduce((sum, { debited, amount }) => (debited ? sum : sum + amount), 0n);
  }

  available(): bigint {
    return this.balance('USD') - this.held() - this.unsettled();
  }

  grant(credit: ModelCredit): void {
    const repaid = credit.unit !== 'USD' ? 0n : this.overdraft < credit.remaining ? this.overdraft : credit.remaining;
    this.overdraft -= repaid;
    if (credit.remaining > repaid) this.credits.push({ ...credit, remaining: credit.remaining - repaid });
  }

  /** Soonest expiry first, then the oldest. */
  creditsInOrder(unit?: CreditUnit): ModelCredit[] {
    const expiry = (credit: ModelCredit) => credit.expiresAtMs ?? Number.MAX_SAFE_INTEGER;
    const order = (a: ModelCredit, b: ModelCredit) =>
      expiry(a) - expiry(b) || a.grantedAtMs - b.grantedAtMs || (a.creditId < b.creditId ? -1 : 1);
    return this.credits.filter((credit) => unit === undefined || credit.unit === unit).sort(order);
  }

  #spend(unit: CreditUnit, amount: bigint): void {
    let left = amount;
    for (const credit of this.creditsInOrder(unit)) {
      const part = credit.remaining < left ? credit.remaining : left;
      credit.remaining -= part;
      left -= part;
    }
    this.credits = this.credits.filter(({ remaining }) => remaining > 0n);
    if (left > 0n && unit !== 'USD') throw new Error(`the model spent ${left} ${unit} that nobody had`);
    this.overdraft += left;
  }

  // --- calls

  openCalls(): ModelCall[] {
    return [...this.calls.values()].filter(({ status }) => status === 'IN_PROGRESS');
  }

  /** What a request gets now. */
  decide(request: Asked, held: bigint): { allowed: Allowed; onCredit: Tier[]; downgraded: boolean; admitted: boolean } {
    const { limitType, features, payg } = this.terms();
    const asked: Asked = Object.values(request).some((wanted) => wanted === true) ? request : { standard: true };
    const gone = (tier: Tier) => this.left(`${tier}Calls`) === 0n || this.left(`${tier}Tokens`) === 0n;
    const payable = payg.enabled && this.available() > 0n && this.available() >= held;
    const may = (ok: boolean) => !this.canceled && (ok || limitType === 'NONE');
    const capability = (name: keyof typeof CAPABILITIES) =>
      asked[name] === true && features[name] && may(this.left(CAPABILITIES[name]) !== 0n);
    const premium = asked.premium === true && may(!gone('premium') || payable);
    const downgraded = asked.premium === true && !premium && limitType === 'DOWNGRADE';
    const standard = (asked.standard === true || downgraded) && may(!gone('standard') || payable);
    const image = asked.image === true && features.image && !this.canceled;
    const allowed = { standard, premium, audio: capability('audio'), image, search: capability('search') };
    const onCredit = TIERS.filter((tier) => payable && allowed[tier] && gone(tier));
    const tiers = asked.standard === true || asked.premium === true;
    const admitted = tiers ? standard || premium : allowed.audio || allowed.image || allowed.search;
    return { allowed, onCredit, downgraded: downgraded && !this.canceled, admitted };
  }

  /** Admitted calls that began in the plan's window. */
  begunInWindow(): number {
    const windowMs = (this.terms().rollingCalls?.windowSeconds ?? 0) * 1000;
    return [...this.calls.values()].filter(
      (call) => call.status !== 'NOT_ALLOWED' && call.beganAtMs > this.nowMs - windowMs,
    ).length;
  }

  begin(callId: string, request: Asked, hold: string, batch: boolean): ModelCall | Denial {
    const { rollingCalls, payg, limitType, reserveOutputTokens } = this.terms();
    if (rollingCalls && this.begunInWindow() >= rollingCalls.limit) return { rateLimited: true };
    const { allowed, onCredit, admitted } = this.decide(request, usdToNano(hold));
    const reserved = new Map<MeterName, bigint>();
    for (const tier of TIERS) {
      if (!admitted || !allowed[tier] || onCredit.includes(tier)) continue;
      reserved.set(`${tier}Calls`, MILLI);
      if (reserveOutputTokens === null) continue;
      const left = limitType === 'NONE' ? null : this.left(`${tier}Tokens`);
      const wanted = BigInt(reserveOutputTokens) * MILLI;
      reserved.set(`${tier}Tokens`, left !== null && left < wanted ? left : wanted);
    }
    const paid = admitted && onCredit.length > 0;
    const call: ModelCall = {
      callId,
      status: admitted ? 'IN_PROGRESS' : 'NOT_ALLOWED',
      beganAtMs: this.nowMs,
      deadlineAtMs: this.nowMs + (batch ? 2 * DAY_MS : DAY_MS / 24),
      finishedAtMs: admitted ? null : this.nowMs,
      batch,
      allowed,
      suggested: allowed.premium ? 'premium' : allowed.standard ? 'standard' : 'none',
      reserved,
      onCredit: paid ? onCredit : [],
      markup: ratePercent(payg.markupPercent),
      held: paid ? usdToNano(hold) : 0n,
    };
    this.calls.set(callId, call);
    return call;
  }

  void(call: ModelCall): void {
    this.#close(call, 'NOT_ALLOWED', this.nowMs);
  }

  #close(call: ModelCall, status: CallStatus, atMs: number): void {
    Object.assign(call, { status, finishedAtMs: atMs, reserved: new Map(), held: 0n });
  }

  /** The end of a call. Answers what it took of the allowances, and what it cost. */
  end(
    call: ModelCall,
    ending: Ending,
  ): { tier: Tier; took: Map<MeterName, bigint>; price: Price; settlement: Settlement | null } {
    this.#close(call, ending.failed ? 'FAILED' : 'COMPLETED', this.nowMs);
    const price = priceOf(ending, ending.batch ?? call.batch);
    const premium = ending.isPremium ?? price?.premium ?? call.suggested === 'premium';
    const tier: Tier = premium ? 'premium' : 'standard';
    const gone = this.left(`${tier}Calls`) === 0n || this.left(`${tier}Tokens`) === 0n;
    const late = !call.allowed[tier] && this.terms().payg.enabled && gone;
    const markup = call.onCredit.includes(tier)
      ? call.markup
      : late
        ? ratePercent(this.terms().payg.markupPercent)
        : null;

    const { tokens, inputTokens, searches, audioMilli } = ending.used;
    const used = tokens + inputTokens + searches + audioMilli > 0;
    const modelRan = call.suggested !== 'none' || ending.modelUsed || tokens + inputTokens > 0;
    const took = new Map<MeterName, bigint>();
    const ran = modelRan && (used || !ending.failed);
    if (markup === null && ran) took.set(`${tier}Calls`, MILLI);
    if (markup === null && tokens > 0) took.set(`${tier}Tokens`, BigInt(tokens) * MILLI);
    if (searches > 0) took.set('searches', BigInt(searches) * MILLI);
    if (audioMilli > 0) took.set('audioSeconds', BigInt(audioMilli));
    for (const [meter, milli] of took) this.#take(meter, milli);

    // Rounded half up: 1 + markup is (1,000,000 + markup) / 1,000,000, as markup is in ten-thousandths of a percent.
    const amount = price && markup !== null ? (price.cost * (1_000_000n + markup) + 500_000n) / 1_000_000n : null;
    return {
      tier,
      took,
      price,
      settlement: markup === null || (amount === null && !ran) ? null : this.#owe(call.callId, amount),
    };
  }

  // --- custom meters

  enabled(slot: MeterSlot): boolean {
    return !this.canceled && this.terms().customMeters[slot]?.enabled === true;
  }

  increment(
    slot: MeterSlot,
    amount: bigint,
    eventId: string,
  ): { funding: Funding; parts: TierPart[]; settlement: Settlement | null } {
    const terms = this.terms().customMeters[slot];
    if (!terms) throw new Error(`${slot} is not in the plan`);
    const counted = this.slots[slot];
    counted.usage += amount;
    if (terms.unlimited)
      return { funding: { included: 0n, credits: 0n, overage: 0n, unfunded: 0n }, parts: [], settlement: null };
    const lesser = (a: bigint, b: bigint) => (a < b ? a : b);
    const included = lesser(amount, (this.left(SLOT_METER[slot]) ?? 0n) / MILLI);
    const credits = lesser(amount - included, terms.funding.credits ? this.balance(slot) : 0n);
    const rest = amount - included - credits;
    const payable =
      terms.funding.payg && this.terms().payg.enabled && terms.overage !== undefined && this.available() > 0n;
    const overage = payable ? rest : 0n;
    this.#take(SLOT_METER[slot], included * MILLI);
    this.#spend(slot, credits);
    const parts =
      overage > 0n && terms.overage ? gradedCost(terms.overage, counted.overage, counted.overage + overage) : [];
    counted.overage += overage;
    const owed = parts.reduce((sum, { cost }) => sum + cost, 0n);
    const settlement = overage > 0n ? this.#owe(eventId, owed) : null;
    return { funding: { included, credits, overage, unfunded: rest - overage }, parts, settlement };
  }

  // --- charges

  /** A charge is made; what it is called is not known yet. */
  #owe(subjectId: string, amount: bigint | null): Settlement {
    const reason = amount === null ? 'PRICE_UNAVAILABLE' : null;
    const settlement: Settlement = {
      status: amount === null ? 'FAILED' : amount === 0n ? 'POSTED' : 'PENDING',
      amount,
      reason,
    };
    this.settlements.set(subjectId, settlement);
    return settlement;
  }

  /** The charge that was made last is on its way. */
  follow(chargeId: string, subjectId: string, amount: bigint, stripeCustomerId: string | null): void {
    const dueAtMs = this.nowMs + 1000;
    this.charges.set(chargeId, {
      chargeId,
      subjectId,
      amount,
      stripeCustomerId,
      dueAtMs,
      debited: false,
      attempts: 0,
      firstAttemptAtMs: null,
    });
  }

  dueCharges(): ModelCharge[] {
    return [...this.charges.values()].filter(({ dueAtMs }) => dueAtMs <= this.nowMs);
  }

  /** Due charges leave the balance; those that nobody is to be told of are done. */
  debit(reports: boolean): void {
    for (const charge of this.dueCharges()) {
      if (!charge.debited) this.#spend('USD', charge.amount);
      charge.debited = true;
      if (!reports || charge.stripeCustomerId === null) this.conclude(charge, null);
    }
  }

  conclude(charge: ModelCharge, reason: string | null): void {
    this.charges.delete(charge.chargeId);
    const settlement = this.settlements.get(charge.subjectId);
    Object.assign(settlement ?? {}, { status: reason === null ? 'POSTED' : 'FAILED', reason });
  }
}

function endOf({ anchorMs, step, replenish }: ReferenceModel['cycle']): number {
  return replenish === null ? NEVER_MS : boundary(anchorMs, replenish, step + 1);
}

function noUnits(): ReferenceModel['slots'] {
  return {
    CUSTOM1: { usage: 0n, overage: 0n },
    CUSTOM2: { usage: 0n, overage: 0n },
    AGENTIC_API: { usage: 0n, overage: 0n },
  };
}
