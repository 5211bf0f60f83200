/**
 * A small reference model of a customer's money and meters: the results of plans, credits, calls and custom meters,
 * computed from the contract alone.
 *
 * Nothing of the product's arithmetic is used, only its shapes and the boundaries of periods. Everything is bigint:
 * quantities in thousandths of a unit, money in nano-USD. It walks through time one boundary at a time, and it is slow
 * and plain on purpose.
 */

import type { ChangeStrategy } from '../../src/domain/account.ts';
import type { CallStatus } from '../../src/domain/call.ts';
import type { Denial } from '../../src/domain/denial.ts';
import type { MeterName, MeterSlot } from '../../src/domain/meters.ts';
import { boundary, NEVER_MS } from '../../src/domain/period.ts';
import type { Plan } from '../../src/domain/plan.ts';
import type { UsageSource } from '../../src/domain/usage.ts';
import type { CreditUnit } from '../../src/domain/wallet.ts';
import {
  askedTokens,
  boundedTokens,
  chargeByHold,
  chargeUpTo,
  firstStep,
  type ModelBound,
  markedUp,
  type Need,
  needOf,
  nextStep,
  usualHold,
  type Written,
  writtenOf,
} from './reference-holds.ts';
import {
  type Ending,
  type Funding,
  gradedCost,
  type Price,
  ratePercent,
  referencePrice,
  type TierPart,
  usdToNano,
} from './reference-prices.ts';

export const SLOTS = ['CUSTOM1', 'CUSTOM2', 'AGENTIC_API'] as const satisfies readonly MeterSlot[];
const TIERS = ['standard', 'premium'] as const;
export type Tier = (typeof TIERS)[number];
const SLOT_METER = { CUSTOM1: 'customMeter1', CUSTOM2: 'customMeter2', AGENTIC_API: 'agenticApi' } as const;
const CAPABILITIES = { audio: 'audioSeconds', search: 'searches' } as const;
const DAY_MS = 86_400_000;
const MILLI = 1000n;
const UNKNOWN_RATE = 500;

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
  /** Below zero if it gives back. */
  amount: bigint;
  /** The charge that it corrects. */
  corrects: string | null;
  stripeCustomerId: string | null;
  /** It was made, or left the balance, while there was a reporter: it waits for that. */
  waits: boolean;
  dueAtMs: number;
  madeAtMs: number;
  debited: boolean;
  debitedAtMs: number;
  attempts: number;
  firstAttemptAtMs: number | null;
  /** Stripe may have it. */
  mayBeThere: boolean;
  /** It is listed as failed. */
  failed: boolean;
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
  /** Output tokens that an allowance pays for, at most. */
  bounded: Map<Tier, number>;
  onCredit: Tier[];
  markup: bigint;
  held: bigint;
  /** Its hold when it ended or timed out. */
  heldAtEnd: bigint;
  /**
   * The part of the hold for the prompt, `null` if that is not known; absent if the hold does not stand for a price.
   */
  heldForInput?: bigint | null;
  /** The most output tokens that credit pays for; `null` if no model is known. */
  outputTokens: number | null;
  /** They are fewer than were asked for, because the balance affords no more. */
  isFitted: boolean;
  steps: { input: bigint; rate: bigint; heldTokens: number } | null;
  /** The record to make at its deadline. */
  ifLost: { card: number | null; inputTokens: number; modelUsed: string; outputTokensMax: number } | null;
  /** Its hold when it ended with a higher charge. */
  exceeded: bigint | null;
  counted: Counted | null;
}

/** The amounts that an ended call counts. */
interface Counted {
  tier: Tier;
  calls: boolean;
  period: number;
  cost: bigint | null;
  /** `null` if the allowance paid. */
  markup: bigint | null;
  source: UsageSource;
  tokens: number;
  modelUsed: string | null;
}

export interface Ended {
  tier: Tier;
  took: Map<MeterName, bigint>;
  price: Price;
  settlement: Settlement | null;
  /** The hold stands for a use without a rate. */
  isByHold: boolean;
  /** For figures that replace an estimate: the change of the balance's payment. */
  difference: bigint | null;
}

/** The count of an answer without usage. */
export interface ModelEstimate {
  source: 'partial' | 'estimated';
  isWhole: boolean;
  outputTokensMax: number | null;
  /** How long the vendor worked, and the observed rate; `null` if not known. */
  workedMs: number | null;
  outputRate: number | null;
}

/** The result of a charge: in the contract's words. */
export interface Settlement {
  status: 'PENDING' | 'POSTED' | 'FAILED';
  amount: bigint | null;
  reason: string | null;
  /** The charge that it follows. */
  chargeId: string | null;
}

/** The request of a begin, and its known cost. */
export interface Beginning {
  hold: string | null;
  batch: boolean;
  bounds: readonly ModelBound[];
  refusesHeld: boolean;
}

export type Begun =
  | { call: ModelCall; denial: Denial | null }
  /** Nothing is recorded of it. */
  | { refused: 'RATE_LIMITED' | 'BALANCE_HELD' };

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
  /** The amounts that ended calls and increments took of the allowances in this period, one by one. */
  taken: { meter: MeterName; milli: bigint; callId: string | null }[] = [];
  /** The number of the period. */
  period = 0;
  slots: Record<MeterSlot, { usage: bigint; overage: bigint }> = noUnits();
  credits: ModelCredit[] = [];
  overdraft = 0n;
  /** All credits that ever existed, and the payments of each. */
  readonly granted = new Map<string, { credit: ModelCredit; paid: bigint; revoked?: bigint }>();
  readonly calls = new Map<string, ModelCall>();
  /** Charges on their way. */
  readonly charges = new Map<string, ModelCharge>();
  /** The known facts of the charge of each call and each meter event that has one. */
  readonly settlements = new Map<string, Settlement>();
  readonly stripeCustomerId: string | null;
  /** Whether the object still has a call. */
  isKept: (callId: string) => boolean = () => true;

  constructor(plans: readonly Plan[], stripeCustomerId: string | null, nowMs: number) {
    this.plans = plans;
    this.stripeCustomerId = stripeCustomerId;
    this.nowMs = nowMs;
    const { replenish } = this.terms();
    this.cycle = { anchorMs: nowMs, step: 0, replenish };
    this.startMs = nowMs;
    this.endMs = cycleEnd(this.cycle);
  }

  terms(): Plan {
    return this.plans[this.plan] as Plan;
  }

  // --- time

  /**
   * Moves the clock: calls time out each in the period of its deadline, periods end one after the other, credits expire.
   */
  advance(toMs: number): void {
    this.nowMs = toMs;
    const overdue = this.openCalls().filter(({ deadlineAtMs }) => deadlineAtMs <= toMs);
    for (const call of overdue.sort((a, b) => a.deadlineAtMs - b.deadlineAtMs)) {
      this.#roll(call.deadlineAtMs);
      if (call.ifLost) this.#lose(call, call.ifLost);
      else this.#close(call, 'TIMEOUT', call.deadlineAtMs);
    }
    this.#roll(toMs);
    this.#expire();
  }

  #roll(toMs: number): void {
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
  }

  /**
   * The part of an expired USD credit that open calls hold and pending charges will take stays, as far as no other
   * credit pays it.
   */
  #expire(): void {
    const claims = this.#claims();
    for (const credit of this.credits) {
      const isOver = credit.expiresAtMs !== null && credit.expiresAtMs <= this.nowMs;
      if (isOver) credit.remaining = claims.get(credit.creditId) ?? 0n;
    }
    this.credits = this.credits.filter(({ remaining }) => remaining > 0n);
  }

  /** The balance if all open calls released their holds: of an expired credit, nothing. */
  #availableWithoutHolds(): bigint {
    const charged = this.#claims(this.unsettled());
    const stays = this.creditsInOrder('USD').map(({ creditId, remaining, expiresAtMs }) =>
      expiresAtMs !== null && expiresAtMs <= this.nowMs ? (charged.get(creditId) ?? 0n) : remaining,
    );
    return stays.reduce((sum, amount) => sum + amount, 0n) - this.overdraft - this.unsettled();
  }

  /** The amounts that open calls and pending charges would take of each USD credit. */
  #claims(amount = this.held() + this.unsettled()): Map<string, bigint> {
    let left = amount;
    const claims = new Map<string, bigint>();
    for (const { creditId, remaining } of this.creditsInOrder('USD')) {
      claims.set(creditId, remaining < left ? remaining : left);
      left -= remaining < left ? remaining : left;
    }
    return claims;
  }

  #startPeriod(startMs: number): void {
    this.startMs = startMs;
    this.endMs = cycleEnd(this.cycle);
    this.period += 1;
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
    if (strategy === 'IMMEDIATE_RESET') this.#startCycle(target);
    else if (target === this.plan) {
      if (this.pending !== null) this.version += 1;
      this.pending = null;
    } else if (strategy === 'IMMEDIATE_PRORATED') {
      this.plan = target;
      this.pending = null;
      this.version += 1;
      const { replenish } = this.terms();
      // A date stays. A plan that never replenishes has none, and a plan that does gets one if it is missing.
      if (replenish === null || this.cycle.replenish === null) {
        this.cycle = { anchorMs: this.nowMs, step: 0, replenish };
        this.endMs = cycleEnd(this.cycle);
      }
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

  /** The remaining amount of a meter; `null` is without a bound. */
  left(meter: MeterName): bigint | null {
    const limit = this.limit(meter);
    if (limit === null) return null;
    const used = this.consumed(meter) + this.reserved(meter);
    return used > limit ? 0n : limit - used;
  }

  #take(meter: MeterName, milli: bigint, callId: string | null = null): void {
    if (milli > 0n) this.taken.push({ meter, milli, callId });
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
    // An amount that a charge gives back has not arrived yet.
    const due = [...this.charges.values()].filter(({ debited, amount }) => !debited && amount > 0n);
    return due.reduce((sum, { amount }) => sum + amount, 0n);
  }

  available(): bigint {
    return this.balance('USD') - this.held() - this.unsettled();
  }

  grant(credit: ModelCredit): void {
    const repaid = credit.unit !== 'USD' ? 0n : this.overdraft < credit.remaining ? this.overdraft : credit.remaining;
    this.overdraft -= repaid;
    this.granted.set(credit.creditId, { credit, paid: repaid });
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
      const known = this.granted.get(credit.creditId);
      if (known) known.paid += part;
    }
    this.credits = this.credits.filter(({ remaining }) => remaining > 0n);
    if (left > 0n && unit !== 'USD') throw new Error(`the model spent ${left} ${unit} that nobody had`);
    this.overdraft += left;
  }

  /** Revokes the amount that no call and no charge claims. `null` if that is nothing. */
  revoke(creditId: string): bigint | null {
    const credit = this.credits.find((each) => each.creditId === creditId);
    if (!credit) throw new Error(`the model has no credit ${creditId}`);
    const kept = this.#claims().get(creditId) ?? 0n;
    const left = credit.remaining - kept;
    if (left === 0n) return null;
    credit.remaining = kept;
    // A claimed amount ends with the claim, and so does a later return.
    credit.expiresAtMs = this.nowMs;
    const known = this.granted.get(creditId);
    if (known) {
      known.credit.expiresAtMs = this.nowMs;
      known.revoked = left;
    }
    this.credits = this.credits.filter(({ remaining }) => remaining > 0n);
    return left;
  }

  /** Gives back: the overdraft is repaid first, then credits get no more than they paid; the rest is a new credit. */
  #giveBack(chargeId: string, amount: bigint, parts: readonly { creditId: string | null; amount: bigint }[]): void {
    const repaid = this.overdraft < amount ? this.overdraft : amount;
    const expected = new Map<string | null, bigint>(repaid > 0n ? [[null, repaid]] : []);
    for (const part of parts) {
      if (part.creditId === null) continue;
      expected.set(part.creditId, part.amount);
      const known = this.granted.get(part.creditId);
      const isOwn = part.creditId === `returned-${chargeId}`;
      if (!isOwn && (!known || part.amount > known.paid))
        throw new Error(`${part.creditId} got ${part.amount} too many`);
      if (known) known.paid -= part.amount;
      const live = this.credits.find(({ creditId }) => creditId === part.creditId);
      const own = { creditId: part.creditId, unit: 'USD' as const, grantedAtMs: this.nowMs, expiresAtMs: null };
      if (live) live.remaining += part.amount;
      else this.credits.push({ ...(known?.credit ?? own), remaining: part.amount });
      if (isOwn) this.granted.set(part.creditId, { credit: { ...own, remaining: 0n }, paid: 0n });
    }
    this.overdraft -= repaid;
    const sum = [...expected.values()].reduce((total, part) => total + part, 0n);
    const told = new Map(parts.map((part) => [part.creditId, part.amount]));
    if (sum !== amount || told.get(null) !== expected.get(null)) throw new Error(`${amount} came back as ${sum}`);
  }

  // --- calls

  openCalls(): ModelCall[] {
    return [...this.calls.values()].filter(({ status }) => status === 'IN_PROGRESS');
  }

  /** The present decision about a request, or that with another balance. */
  decide(
    request: Asked,
    need: (tiers: Tier[]) => bigint,
    gone: (tier: Tier) => boolean = (tier) => this.#isGone(tier),
    available = this.available(),
  ): Decision {
    const { limitType, features, payg } = this.terms();
    const asked = withDefault(request);
    const covers = (...tiers: Tier[]) => payg.enabled && available > 0n && available >= need(tiers);
    const may = (ok: boolean) => !this.canceled && (ok || limitType === 'NONE');
    const capability = (name: keyof typeof CAPABILITIES) =>
      asked[name] === true && features[name] && may(this.left(CAPABILITIES[name]) !== 0n);
    const premium = asked.premium === true && may(!gone('premium') || covers('premium'));
    const downgraded = asked.premium === true && !premium && limitType === 'DOWNGRADE';
    const wanted = (asked.standard === true || downgraded) && may(!gone('standard') || covers('standard'));
    const pays = (tier: Tier) => gone(tier) && covers(tier);
    // Either of them can be paid, but not whichever of them will run: the dearer one is wanted more.
    const standard = wanted && !(premium && pays('standard') && pays('premium') && !covers(...TIERS));
    const image = asked.image === true && features.image && !this.canceled;
    const allowed = { standard, premium, audio: capability('audio'), image, search: capability('search') };
    const onCredit = TIERS.filter((tier) => allowed[tier] && pays(tier));
    const tiers = asked.standard === true || asked.premium === true;
    const admitted = tiers ? standard || premium : allowed.audio || allowed.image || allowed.search;
    return { allowed, onCredit, downgraded: downgraded && !this.canceled, admitted };
  }

  #isGone(tier: Tier): boolean {
    return this.left(`${tier}Calls`) === 0n || this.left(`${tier}Tokens`) === 0n;
  }

  /** Whether the period ends, with a plan that has something of the meter then. */
  #renews(meter: MeterName): boolean {
    const next = this.plans[this.pending ?? this.plan] as Plan;
    return this.endMs < NEVER_MS && next.limits[meter as keyof Plan['limits']] !== 0;
  }

  /** Why a request is denied. */
  #denialOf(request: Asked, allowed: Allowed, need: (tiers: Tier[]) => bigint, gone: (tier: Tier) => boolean): Denial {
    if (this.canceled) return { code: 'SUBSCRIPTION_CANCELED' };
    const asked = withDefault(request);
    const { features, limits, limitType, payg } = this.terms();
    if (!asked.standard && !asked.premium) {
      const lacking = (['audio', 'image', 'search'] as const).filter((name) => asked[name] && !allowed[name]);
      const has = (name: (typeof lacking)[number]) => name !== 'image' && features[name];
      // One of them is enough: a capability that the plan does not include is not the reason beside one that is used
      // up.
      const open = lacking.filter((name) => has(name) && name !== 'image' && limits[CAPABILITIES[name]] !== 0);
      const among = open.length > 0 ? open : lacking.slice(0, 1);
      const name = among.find((one) => !has(one) || !this.#renews(CAPABILITIES[one as 'audio'])) ?? among[0];
      if (!name || name === 'image' || !features[name]) return { code: 'CAPABILITY_NOT_IN_PLAN' };
      return { code: 'ALLOWANCE_EXHAUSTED', meter: CAPABILITIES[name] };
    }
    const isOffered = asked.standard || limitType === 'DOWNGRADE';
    const tiers = (['premium', 'standard'] as const).filter((tier) => (tier === 'premium' ? asked.premium : isOffered));
    if (!tiers.every(gone)) throw new Error('something is used up');
    const isOpen = (tier: Tier) => limits[`${tier}Calls`] !== 0 && limits[`${tier}Tokens`] !== 0;
    const open = tiers.filter(isOpen);
    const blocking = (open.length > 0 ? open : tiers.slice(0, 1)).flatMap((tier) => {
      const [calls, tokens] = [`${tier}Calls`, `${tier}Tokens`] as const;
      const areCallsGone = this.left(calls) === 0n;
      return [...(areCallsGone ? [calls] : []), ...(!areCallsGone || this.left(tokens) === 0n ? [tokens] : [])];
    });
    const meter = blocking.find((name) => !this.#renews(name)) ?? (blocking[0] as MeterName);
    if (!payg.enabled) return { code: 'ALLOWANCE_EXHAUSTED', meter };
    const wouldPass = this.held() > 0n && this.decide(request, need, gone, this.#availableWithoutHolds()).admitted;
    return { code: wouldPass ? 'BALANCE_HELD' : 'CREDIT_REQUIRED', meter };
  }

  /** The output that the allowance of the tier lets a call write; `null` if it bounds nothing. */
  #written(tier: Tier, bounds: readonly ModelBound[]): Written | null {
    const { limitType, maxOutputTokens = null, reserveOutputTokens } = this.terms();
    if (limitType === 'NONE') return null;
    const left = this.left(`${tier}Tokens`);
    const own = bounds.filter((bound) => bound.tier === null || bound.tier === tier);
    return writtenOf(own, left === null ? null : Number(left / MILLI), { maxOutputTokens, reserveOutputTokens });
  }

  /** Admitted calls that began in the plan's window. */
  begunInWindow(): number {
    const windowMs = (this.terms().rollingCalls?.windowSeconds ?? 0) * 1000;
    return [...this.calls.values()].filter(
      (call) => call.status !== 'NOT_ALLOWED' && call.beganAtMs > this.nowMs - windowMs,
    ).length;
  }

  begin(callId: string, request: Asked, beginning: Partial<Beginning> = {}): Begun {
    const { hold = null, batch = false, bounds = [], refusesHeld = false } = beginning;
    const { rollingCalls, payg, limitType, reserveOutputTokens } = this.terms();
    if (rollingCalls && this.begunInWindow() >= rollingCalls.limit) return { refused: 'RATE_LIMITED' };
    const markup = ratePercent(payg.markupPercent);
    const planTokens = payg.maxOutputTokens === undefined ? 16_384 : payg.maxOutputTokens;
    const costs = this.#reported().flatMap(({ cost }) => (cost === null ? [] : [cost]));
    const terms = {
      planTokens,
      markup,
      asked: hold === null ? null : usdToNano(hold),
      usual: usualHold(costs, markup),
    };
    const need = (tiers: readonly Tier[]): Need => needOf(bounds, tiers, terms);
    const least = (tiers: readonly Tier[]) => need(tiers).least;
    const written = { standard: this.#written('standard', bounds), premium: this.#written('premium', bounds) };
    // Credit pays for a whole call rather than that the allowance cuts it.
    const paidWhole = (tier: Tier) => {
      const [part, { first, steps, outputTokens }] = [written[tier], need([tier])];
      if (!payg.enabled || !part || part.isAll || outputTokens === null || outputTokens <= part.tokens) return false;
      const whole = steps ? chargeUpTo(steps, outputTokens, markup) : first;
      return this.available() > 0n && this.available() >= (whole > first ? whole : first);
    };
    const isSpent = (tier: Tier) =>
      this.#isGone(tier) || (written[tier] !== null && !written[tier].isEnough) || paidWhole(tier);
    const spent = TIERS.filter(isSpent);
    const gone = (tier: Tier) => spent.includes(tier);
    const { allowed, onCredit, admitted } = this.decide(request, least, gone);
    const denial = admitted ? null : this.#denialOf(request, allowed, least, gone);
    if (refusesHeld && denial?.code === 'BALANCE_HELD') return { refused: 'BALANCE_HELD' };
    const reserved = new Map<MeterName, bigint>();
    const bounded = new Map<Tier, number>();
    if (admitted && allowed.search) reserved.set('searches', MILLI);
    for (const tier of TIERS) {
      if (!admitted || !allowed[tier] || onCredit.includes(tier)) continue;
      reserved.set(`${tier}Calls`, MILLI);
      const part = written[tier];
      if (part) bounded.set(tier, part.tokens);
      if (reserveOutputTokens === null) continue;
      if (part) {
        reserved.set(`${tier}Tokens`, BigInt(part.tokens) * MILLI);
        continue;
      }
      const left = limitType === 'NONE' ? null : this.left(`${tier}Tokens`);
      const known = bounds.filter((bound) => bound.tier === null || bound.tier === tier);
      const isBounded = known.length > 0 && known.every(({ outputTokens }) => outputTokens !== null);
      const asked = isBounded ? Math.max(...known.map(askedTokens)) : reserveOutputTokens;
      const wanted = BigInt(Math.min(reserveOutputTokens, asked)) * MILLI;
      reserved.set(`${tier}Tokens`, left !== null && left < wanted ? left : wanted);
    }
    const paid = admitted && onCredit.length > 0;
    const needed = paid ? need(onCredit) : null;
    const available = this.available();
    const held = !needed ? 0n : needed.first < available ? needed.first : available;
    const heldTokens = needed && firstStep(needed, held, markup);
    const outputTokens = needed && boundedTokens(needed, held, markup);
    const suggested = allowed.premium ? 'premium' : allowed.standard ? 'standard' : 'none';
    const call: ModelCall = {
      callId,
      status: admitted ? 'IN_PROGRESS' : 'NOT_ALLOWED',
      beganAtMs: this.nowMs,
      deadlineAtMs: this.nowMs + (batch ? 2 * DAY_MS : DAY_MS / 24),
      finishedAtMs: admitted ? null : this.nowMs,
      batch,
      allowed,
      suggested,
      reserved,
      bounded,
      onCredit: paid ? onCredit : [],
      markup,
      held,
      heldAtEnd: 0n,
      ...(needed && (needed.input !== null || bounds.some(({ lost }) => lost)) && { heldForInput: needed.input }),
      outputTokens,
      isFitted: needed !== null && outputTokens !== needed.outputTokens,
      steps: needed?.steps && heldTokens !== null ? { ...needed.steps, heldTokens } : null,
      ifLost: null,
      exceeded: null,
      counted: null,
    };
    const first = bounds.find(({ tier }) => tier === null || allowed[tier]);
    if (admitted && first?.lost) {
      const bound = this.outputBound(call, first.tier ?? suggested);
      const asked = askedTokens(first);
      call.ifLost = { ...first.lost, outputTokensMax: bound !== null && bound < asked ? bound : asked };
    }
    this.calls.set(callId, call);
    return { call, denial };
  }

  /** The output tokens that a call of the tier should stay within; `null` if nothing bounds them. */
  outputBound({ onCredit, outputTokens, reserved, bounded }: ModelCall, tier: Tier | 'none'): number | null {
    if (tier === 'none') return null;
    if (onCredit.includes(tier)) return outputTokens;
    if (bounded.has(tier)) return bounded.get(tier) ?? null;
    const tokens = reserved.get(`${tier}Tokens`);
    return tokens === undefined ? null : Number(tokens / MILLI);
  }

  /** Holds more output tokens; `null` if the call has no hold. */
  extend(call: ModelCall, wanted: number): number | null {
    const { steps, outputTokens, held, status, markup } = call;
    if (status !== 'IN_PROGRESS' || !steps || outputTokens === null) return null;
    const open = { steps, heldTokens: steps.heldTokens, held, outputTokens };
    const next = nextStep(open, wanted, this.available(), markup);
    call.held = next.held;
    call.steps = { ...steps, heldTokens: next.heldTokens };
    return next.heldTokens;
  }

  /** The counts of calls that ended and did not time out. */
  #reported(): Counted[] {
    return [...this.calls.values()].flatMap(({ status, counted }) =>
      counted && (status === 'COMPLETED' || status === 'FAILED') ? [counted] : [],
    );
  }

  /**
   * The output of a lost answer: the part that arrived, or the most for its time, within its bound. In steps, the bound
   * is the hold.
   */
  #lostOutput(
    call: ModelCall,
    tier: Tier,
    came: number,
    { outputTokensMax, workedMs, outputRate }: Omit<ModelEstimate, 'source' | 'isWhole'>,
  ): number {
    if (outputTokensMax === null) return came;
    const held = call.onCredit.includes(tier) && call.steps ? call.steps.heldTokens : null;
    // The count at the deadline is the most that a later estimate can be.
    const bound = Math.min(outputTokensMax, call.counted?.tokens ?? outputTokensMax);
    const most = Math.max(came, held !== null && held < bound ? held : bound);
    if (workedMs === null) return most;
    const thousandths = workedMs * (outputRate ?? UNKNOWN_RATE);
    return Math.min(most, Math.max(came, (thousandths + ((1_000 - (thousandths % 1_000)) % 1_000)) / 1_000));
  }

  void(call: ModelCall): void {
    this.#close(call, 'NOT_ALLOWED', this.nowMs);
  }

  #close(call: ModelCall, status: CallStatus, atMs: number): void {
    if (call.status === 'IN_PROGRESS') call.heldAtEnd = call.held;
    Object.assign(call, {
      status,
      finishedAtMs: atMs,
      reserved: new Map(),
      bounded: new Map(),
      held: 0n,
      steps: null,
      ifLost: null,
    });
  }

  /** Nothing was heard of the call until its deadline. */
  #lose(call: ModelCall, { card, inputTokens, modelUsed, outputTokensMax }: NonNullable<ModelCall['ifLost']>): void {
    const used = { inputTokens, cachedTokens: 0, tokens: 0, searches: 0, audioMilli: 0 };
    const ending = { card, modelUsed, isPremium: undefined, failed: true, batch: undefined, used };
    const known = { outputTokensMax, workedMs: null, outputRate: null };
    used.tokens = this.#lostOutput(call, this.#tierOf(call, ending).tier, 0, known);
    const { settlement } = this.#settleEnd(call, ending, 'estimated', call.deadlineAtMs);
    call.status = 'TIMEOUT';
    // The object's name for the charge is learned later.
    if (settlement?.status === 'PENDING')
      this.follow(`lost-${call.callId}`, call.callId, settlement.amount ?? 0n, this.stripeCustomerId);
  }

  /** The end of a call. Returns the amounts that it took of the allowances, and its cost. */
  end(call: ModelCall, reported: Ending, estimate: ModelEstimate | null = null): Ended {
    const { ending, source } = this.#withEstimate(call, reported, estimate);
    return call.counted ? this.#replace(call, ending, source) : this.#settleEnd(call, ending, source, this.nowMs);
  }

  /** A whole answer without usage is not estimated if the allowance pays. */
  #withEstimate(
    call: ModelCall,
    ending: Ending,
    estimate: ModelEstimate | null,
  ): { ending: Ending; source: UsageSource } {
    if (!estimate) return { ending, source: 'reported' };
    const { source, isWhole } = estimate;
    const { tier } = this.#tierOf(call, ending);
    const nothing = { inputTokens: 0, cachedTokens: 0, tokens: 0, searches: ending.used.searches, audioMilli: 0 };
    if (isWhole && !call.onCredit.includes(tier))
      return { ending: { ...ending, card: null, used: nothing }, source: 'reported' };
    const tokens = this.#lostOutput(call, tier, ending.used.tokens, estimate);
    return { ending: { ...ending, used: { ...ending.used, tokens } }, source };
  }

  #tierOf(call: ModelCall, ending: Ending): { tier: Tier; price: Price } {
    const price = referencePrice(ending, ending.batch ?? call.batch);
    const premium = ending.isPremium ?? price?.premium ?? call.suggested === 'premium';
    return { tier: premium ? 'premium' : 'standard', price };
  }

  /** The markup if credit pays for the tier: as the begin decided, or because the tier was neither allowed nor left. */
  #markupOf(call: ModelCall, tier: Tier): bigint | null {
    const late = !call.allowed[tier] && this.terms().payg.enabled && this.#isGone(tier);
    if (call.onCredit.includes(tier)) return call.markup;
    return late ? ratePercent(this.terms().payg.markupPercent) : null;
  }

  /** The amounts that the ending takes of the allowances, and its charge. */
  #outcome(call: ModelCall, ending: Ending, tier: Tier, price: Price, markup: bigint | null) {
    const { tokens, inputTokens, searches, audioMilli } = ending.used;
    const used = tokens + inputTokens + searches + audioMilli > 0;
    const modelRan = call.suggested !== 'none' || ending.modelUsed !== null || tokens + inputTokens > 0;
    const took = new Map<MeterName, bigint>();
    const ran = modelRan && (used || !ending.failed);
    if (markup === null && ran) took.set(`${tier}Calls`, MILLI);
    if (markup === null && tokens > 0) took.set(`${tier}Tokens`, BigInt(tokens) * MILLI);
    if (searches > 0) took.set('searches', BigInt(searches) * MILLI);
    if (audioMilli > 0) took.set('audioSeconds', BigInt(audioMilli));
    const known = price && markup !== null ? markedUp(price.cost, markup) : null;
    const { heldAtEnd: held, heldForInput: input } = call;
    const isByHold = markup !== null && input !== undefined && held > 0n && (price?.isPartial ?? true);
    const amount = isByHold ? chargeByHold({ held, input }, price, markup) : known;
    const isCharged = markup !== null && (known !== null || ran);
    return { took, ran, amount: isCharged ? amount : null, isCharged, isByHold: isCharged && isByHold };
  }

  #settleEnd(call: ModelCall, ending: Ending, source: UsageSource, atMs: number): Ended {
    const { held, status } = call;
    this.#close(call, ending.failed ? 'FAILED' : 'COMPLETED', atMs);
    const { tier, price } = this.#tierOf(call, ending);
    const markup = this.#markupOf(call, tier);
    const { took, ran, amount, isCharged, isByHold } = this.#outcome(call, ending, tier, price, markup);
    for (const [meter, milli] of took) this.#take(meter, milli, call.callId);
    const isBeyond = status === 'IN_PROGRESS' && isCharged && amount !== null && amount > held;
    if (call.onCredit.length > 0 && isBeyond) call.exceeded = held;
    call.counted = this.#countedOf(ending, {
      tier,
      price,
      source,
      ran,
      markup,
      period: this.period,
    });
    const settlement = isCharged ? this.#owe(call.callId, amount) : null;
    return { tier, took, price, settlement, isByHold, difference: null };
  }

  /** The cost of the calls that count in this period, as far as it is known. */
  periodCost(): bigint {
    const counted = [...this.calls.values()].filter((call) => call.counted?.period === this.period);
    return counted.reduce((sum, call) => sum + (call.counted?.cost ?? 0n), 0n);
  }

  #countedOf(
    { modelUsed, used: { tokens } }: Ending,
    { price, ran, ...of }: Pick<Counted, 'tier' | 'source' | 'markup' | 'period'> & { price: Price; ran: boolean },
  ): Counted {
    return { ...of, calls: ran, cost: price?.cost ?? null, tokens, modelUsed };
  }

  /**
   * Figures that replace an estimate, in the period of the estimate: for the same tier, the earlier payer pays again.
   */
  #replace(call: ModelCall, ending: Ending, source: UsageSource): Ended {
    const { counted: before } = call;
    if (!before) throw new Error('it was estimated');
    const isNow = before.period === this.period;
    this.taken = this.taken.filter(({ callId }) => callId !== call.callId);
    const { tier, price } = this.#tierOf(call, ending);
    const same = tier === before.tier && before.calls;
    const markup = same ? before.markup : this.#markupOf(call, tier);
    const { took, ran, amount, isCharged, isByHold } = this.#outcome(call, ending, tier, price, markup);
    if (isNow) for (const [meter, milli] of took) this.#take(meter, milli, call.callId);
    call.status = ending.failed ? 'FAILED' : 'COMPLETED';
    call.counted = this.#countedOf(ending, {
      tier,
      price,
      source,
      ran,
      markup,
      period: before.period,
    });
    const was = this.settlements.get(call.callId);
    const difference = (isCharged ? (amount ?? 0n) : 0n) - (was?.amount ?? 0n);
    this.settlements.delete(call.callId);
    let settlement: Settlement | null = null;
    if (isCharged) {
      settlement = this.#owe(call.callId, amount);
      // If nothing changes, the charge stays.
      if (settlement.status === 'PENDING' && difference === 0n && was) {
        settlement = was;
        this.settlements.set(call.callId, was);
      }
    }
    return { tier, took, price, settlement, isByHold, difference: difference === 0n ? null : difference };
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

  /** Makes a charge; its name is not known yet. */
  #owe(subjectId: string, amount: bigint | null): Settlement {
    const reason = amount === null ? 'PRICE_UNAVAILABLE' : null;
    const settlement: Settlement = {
      status: amount === null ? 'FAILED' : amount === 0n ? 'POSTED' : 'PENDING',
      amount,
      reason,
      chargeId: null,
    };
    this.settlements.set(subjectId, settlement);
    return settlement;
  }

  /** The last charge is pending. A charge that corrects another belongs to its subject only if it says so. */
  follow(
    chargeId: string,
    subjectId: string,
    amount: bigint,
    stripeCustomerId: string | null,
    corrects: string | null = null,
  ): void {
    const dueAtMs = this.nowMs + 5000;
    this.charges.set(chargeId, {
      chargeId,
      subjectId,
      amount,
      corrects,
      stripeCustomerId,
      // A customer with an id at Stripe has a key of Stripe's.
      waits: this.stripeCustomerId !== null,
      dueAtMs,
      madeAtMs: this.nowMs,
      debited: false,
      debitedAtMs: 0,
      attempts: 0,
      firstAttemptAtMs: null,
      mayBeThere: false,
      failed: false,
    });
    const settlement = this.settlements.get(subjectId);
    if (settlement?.status === 'PENDING' && settlement.chargeId === null) settlement.chargeId = chargeId;
  }

  /** Calls that were just found lost were found without a reporter. */
  lostWithoutStripe(): void {
    for (const charge of this.charges.values())
      if (charge.chargeId === `lost-${charge.subjectId}`) charge.waits = false;
  }

  /** The object provides its names for the charges of lost calls. */
  nameCharges(nameOf: (callId: string) => string | undefined): void {
    const charges = [...this.charges.values()];
    this.charges.clear();
    for (const charge of charges) {
      const isUnnamed = charge.chargeId === `lost-${charge.subjectId}`;
      const chargeId = isUnnamed ? nameOf(charge.subjectId) : charge.chargeId;
      if (chargeId === undefined) throw new Error(`the call ${charge.subjectId} has no charge`);
      const settlement = this.settlements.get(charge.subjectId);
      if (settlement?.chargeId === charge.chargeId) settlement.chargeId = chargeId;
      this.charges.set(chargeId, Object.assign(charge, { chargeId }));
    }
  }

  /** Charges that the balance has not paid, then those that are to be reported now. */
  chargesToSettle(): ModelCharge[] {
    const due = [...this.charges.values()].filter(({ debited, dueAtMs }) => !debited || dueAtMs <= this.nowMs);
    return due.sort((a, b) => Number(a.debited) - Number(b.debited) || a.dueAtMs - b.dueAtMs);
  }

  /**
   * Charges leave the balance, or return; those without a reporter are done. The others are reported at once, or wait
   * for a reporter.
   */
  debit(reports: boolean, returnsOf: (chargeId: string) => { creditId: string | null; amount: bigint }[]): void {
    for (const charge of this.chargesToSettle()) {
      if (!charge.debited && charge.amount > 0n) this.#spend('USD', charge.amount);
      if (!charge.debited && charge.amount < 0n)
        this.#giveBack(charge.chargeId, -charge.amount, returnsOf(charge.chargeId));
      if (!charge.debited) Object.assign(charge, { debitedAtMs: this.nowMs, dueAtMs: this.nowMs });
      charge.debited = true;
      const waited = this.nowMs - charge.debitedAtMs;
      if (!reports) charge.dueAtMs = this.nowMs + Math.min(3_600_000, Math.max(5_000, waited));
      charge.waits ||= reports;
      if (charge.stripeCustomerId === null || !charge.waits) this.conclude(charge, null);
    }
    this.#expire();
  }

  conclude(charge: ModelCharge, reason: string | null): void {
    this.charges.delete(charge.chargeId);
    const settlement = this.settlements.get(charge.subjectId);
    if (settlement?.chargeId === charge.chargeId)
      Object.assign(settlement, { status: reason === null ? 'POSTED' : 'FAILED', reason });
  }

  /** Stripe refuses the charge; `NEVER_MS` if it is not tried again. */
  refuse(charge: ModelCharge, reason: string, dueAtMs: number): void {
    this.conclude(charge, reason);
    this.charges.set(charge.chargeId, Object.assign(charge, { failed: true, dueAtMs }));
  }
}

interface Decision {
  allowed: Allowed;
  onCredit: Tier[];
  downgraded: boolean;
  admitted: boolean;
}

function withDefault(request: Asked): Asked {
  return Object.values(request).some((wanted) => wanted === true) ? request : { standard: true };
}

function cycleEnd({ anchorMs, step, replenish }: ReferenceModel['cycle']): number {
  return replenish === null ? NEVER_MS : boundary(anchorMs, replenish, step + 1);
}

function noUnits(): ReferenceModel['slots'] {
  return {
    CUSTOM1: { usage: 0n, overage: 0n },
    CUSTOM2: { usage: 0n, overage: 0n },
    AGENTIC_API: { usage: 0n, overage: 0n },
  };
}
