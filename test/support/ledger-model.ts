/**
 * A model of an organization's ledger: the present amount of each call and each increment of its customers, computed
 * from the contract alone. Every sum is one over these entries: of a summary, a margin, a balance, an allowance, the
 * archive and Stripe.
 *
 * It is small because its customers always have enough on their balance, so that no decision depends on money; the
 * other model decides who may call on credit (reference-model.ts). Money is in nano-USD.
 */
import type { ChangeStrategy } from '../../src/domain/account.ts';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
/** The length of a usage period, of both plans. */
const PERIOD_MS = 36 * HOUR;
const DEADLINE_MS = HOUR;
/** A call has so many corrections at most; a reversal always passes. */
const CORRECTIONS_MAX = 50;

export const TIERS = ['standard', 'premium'] as const;
export type Tier = (typeof TIERS)[number];
export const SLOTS = ['CUSTOM1', 'CUSTOM2'] as const;
export type Slot = (typeof SLOTS)[number];

/** Units that the plan includes; beyond them the balance pays for the first meter, and purchased units for the second. */
export const INCLUDED: Record<Slot, number> = { CUSTOM1: 3, CUSTOM2: 2 };
/** The price of a unit of CUSTOM1 beyond the included ones. */
export const UNIT_NANO = 1_000_000n;

export interface PlanTerms {
  calls: Record<Tier, number>;
  /** The balance pays for usage beyond the allowances. */
  isPaid: boolean;
}
/** Thousandths of the cost that are charged. */
const MARKUP = 1_125n;

export interface Report {
  inputTokens: number;
  responseTokens: number;
  /** Nano-USD of a token. */
  rates: { input: bigint; output: bigint };
  model: string;
  isFailed: boolean;
}

export interface LedgerCall {
  callId: string;
  customerId: string;
  feature: string;
  tier: Tier;
  beganAtMs: number;
  status: 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'TIMEOUT' | 'NOT_ALLOWED';
  isOnCredit: boolean;
  /** When it ended or timed out: the hour in which it counts. */
  finishedAtMs: number | null;
  report: Report | null;
  /** The usage period in which it ended. */
  period: number | null;
  corrections: number;
  /** The last report, if the last correction was an amendment. */
  amendedTo: string | null;
  isReversed: boolean;
}

export interface LedgerIncrement {
  eventId: string;
  customerId: string;
  slot: Slot;
  amount: number;
  atMs: number;
  period: number;
  plan: number;
  /** Units by their first payer. */
  funding: Funding;
  /** The return of its reversal: units by their payer, and money. */
  returned: (Funding & { nano: bigint }) | null;
}

export interface Funding {
  included: number;
  credits: number;
  overage: number;
  unfunded: number;
}

export interface LedgerCustomer {
  customerId: string;
  /** Its customer id at Stripe. */
  stripe: string | null;
  plan: number;
  pending: number | null;
  endMs: number;
  startMs: number;
  period: number;
  granted: bigint;
  units: number;
}

export interface Figures {
  calls: number;
  inputTokens: number;
  outputTokens: number;
  costUsdNano: string;
}

/** The scope of a summary. */
export interface Scope {
  fromMs: number;
  toMs: number;
  customerId?: string;
  feature?: string;
}

interface Entry extends Pick<LedgerCall, 'customerId' | 'feature'> {
  atMs: number;
  outcome: LedgerCall['status'];
  report: Report | null;
  charge: bigint;
}

export class LedgerModel {
  nowMs: number;
  readonly plans: readonly PlanTerms[];
  readonly customers = new Map<string, LedgerCustomer>();
  readonly calls = new Map<string, LedgerCall>();
  readonly increments = new Map<string, LedgerIncrement>();
  /** Periods of customers in which the plan changed: no single plan determines the payer of a unit. */
  readonly #mixed = new Set<string>();

  constructor(plans: readonly PlanTerms[], nowMs: number) {
    this.plans = plans;
    this.nowMs = nowMs;
  }

  provision(customerId: string, stripe: string | null): void {
    const { nowMs: startMs } = this;
    const account = { plan: 0, pending: null, startMs, endMs: startMs + PERIOD_MS, period: 0, granted: 0n, units: 0 };
    this.customers.set(customerId, { customerId, stripe, ...account });
  }

  customer(customerId: string): LedgerCustomer {
    return found(this.customers.get(customerId));
  }

  callsOf(customerId: string): LedgerCall[] {
    return [...this.calls.values()].filter((call) => call.customerId === customerId);
  }

  incrementsOf(customerId: string): LedgerIncrement[] {
    return [...this.increments.values()].filter((event) => event.customerId === customerId);
  }

  /** Time passes for everybody: calls time out at their deadlines, periods end. */
  advance(ms: number): void {
    this.nowMs += ms;
    for (const call of this.calls.values())
      if (call.status === 'IN_PROGRESS' && call.beganAtMs + DEADLINE_MS <= this.nowMs)
        Object.assign(call, { status: 'TIMEOUT', finishedAtMs: call.beganAtMs + DEADLINE_MS });
    for (const customer of this.customers.values())
      while (customer.endMs <= this.nowMs) {
        this.#startPeriod(customer, customer.endMs);
        customer.plan = customer.pending ?? customer.plan;
        customer.pending = null;
      }
  }

  #startPeriod(customer: LedgerCustomer, startMs: number): void {
    Object.assign(customer, { startMs, endMs: startMs + PERIOD_MS, period: customer.period + 1 });
  }

  #terms({ plan }: LedgerCustomer): PlanTerms {
    return found(this.plans[plan]);
  }

  // --- the subscription

  changePlan(customerId: string, plan: number, strategy: ChangeStrategy): void {
    const customer = this.customer(customerId);
    if (strategy === 'IMMEDIATE_RESET') {
      this.#startPeriod(customer, this.nowMs);
      Object.assign(customer, { plan, pending: null });
    } else if (plan === customer.plan) customer.pending = null;
    else if (strategy === 'IMMEDIATE_PRORATED') {
      this.#mixed.add(`${customerId} ${customer.period}`);
      Object.assign(customer, { plan, pending: null });
    } else customer.pending = plan;
  }

  replenish(customerId: string): void {
    const customer = this.customer(customerId);
    this.#startPeriod(customer, this.nowMs);
    Object.assign(customer, { plan: customer.pending ?? customer.plan, pending: null });
  }

  // --- calls

  begin(callId: string, customerId: string, tier: Tier, feature: string): LedgerCall {
    const customer = this.customer(customerId);
    const { calls, isPaid } = this.#terms(customer);
    const isIncluded = this.usedCalls(customer, tier) < calls[tier];
    const isAllowed = isIncluded || isPaid;
    const call: LedgerCall = {
      ...{ callId, customerId, tier, feature, beganAtMs: this.nowMs },
      status: isAllowed ? 'IN_PROGRESS' : 'NOT_ALLOWED',
      isOnCredit: !isIncluded,
      finishedAtMs: isAllowed ? null : this.nowMs,
      ...{ report: null, period: null, corrections: 0, amendedTo: null, isReversed: false },
    };
    this.calls.set(callId, call);
    return call;
  }

  mayEnd({ status, isReversed }: LedgerCall): boolean {
    return status === 'IN_PROGRESS' || (status === 'TIMEOUT' && !isReversed);
  }

  end(call: LedgerCall, report: Report): void {
    const { period } = this.customer(call.customerId);
    Object.assign(call, { status: reportStatus(report), finishedAtMs: this.nowMs, report, period });
  }

  mayAmend({ status, isReversed, corrections }: LedgerCall): boolean {
    return status !== 'IN_PROGRESS' && status !== 'NOT_ALLOWED' && !isReversed && corrections < CORRECTIONS_MAX;
  }

  /** Its present amount counts in the hour and the period of its end; a call that timed out ends now. */
  amend(call: LedgerCall, report: Report): void {
    if (call.report) Object.assign(call, { status: reportStatus(report), report });
    else this.end(call, report);
    Object.assign(call, { corrections: call.corrections + 1, amendedTo: reportText(report) });
  }

  reverse(call: LedgerCall): void {
    Object.assign(call, { isReversed: true, corrections: call.corrections + 1, amendedTo: null });
  }

  costOf({ report, isReversed }: Pick<LedgerCall, 'report' | 'isReversed'>): bigint {
    return report && !isReversed ? reportCost(report) : 0n;
  }

  /** The amount that the balance pays for the call. */
  chargeOf(call: LedgerCall): bigint {
    return call.isOnCredit ? (this.costOf(call) * MARKUP) / 1_000n : 0n;
  }

  /** The amounts that the call takes of the allowances, by meter. */
  tookOf({ report, isOnCredit, isReversed, tier }: LedgerCall): Record<string, number> {
    if (!report || isOnCredit || isReversed) return {};
    const { inputTokens, responseTokens, isFailed } = report;
    return {
      ...((!isFailed || inputTokens + responseTokens > 0) && { [`${tier}Calls`]: 1 }),
      ...(responseTokens > 0 && { [`${tier}Tokens`]: responseTokens }),
    };
  }

  /** The calls of the present period that took of the allowance, and those that still may. */
  usedCalls({ customerId, period }: LedgerCustomer, tier: Tier): number {
    const own = this.callsOf(customerId).filter((call) => call.tier === tier && !call.isOnCredit);
    const taken = own.filter((call) => call.period === period && this.tookOf(call)[`${tier}Calls`] === 1);
    return taken.length + own.filter(({ status }) => status === 'IN_PROGRESS').length;
  }

  // --- custom meters

  /** Units of a period that count. */
  unitsIn(customerId: string, slot: Slot, period: number): number {
    const own = this.#inPeriod(customerId, slot, period).filter(({ returned }) => !returned);
    return own.reduce((sum, { amount }) => sum + amount, 0);
  }

  #inPeriod(customerId: string, slot: Slot, period: number): LedgerIncrement[] {
    return this.incrementsOf(customerId).filter((event) => event.slot === slot && event.period === period);
  }

  /** The payers of further units now. */
  fund(customerId: string, slot: Slot, amount: number): Funding {
    const customer = this.customer(customerId);
    const used = this.#inPeriod(customerId, slot, customer.period).reduce(
      (sum, { funding, returned }) => sum + funding.included - (returned?.included ?? 0),
      0,
    );
    const included = Math.min(amount, Math.max(0, INCLUDED[slot] - used));
    const rest = amount - included;
    if (slot === 'CUSTOM2') return { included, credits: rest, overage: 0, unfunded: 0 };
    const { isPaid } = this.#terms(customer);
    return { included, credits: 0, overage: isPaid ? rest : 0, unfunded: isPaid ? 0 : rest };
  }

  increment(eventId: string, customerId: string, slot: Slot, amount: number): LedgerIncrement {
    const { plan, period } = this.customer(customerId);
    const funding = this.fund(customerId, slot, amount);
    const event = { eventId, customerId, slot, amount, atMs: this.nowMs, plan, period, funding, returned: null };
    this.increments.set(eventId, event);
    return event;
  }

  /**
   * The return of an increment's reversal: the difference to the period without it. `null` if the plan changed in the
   * period, so that it is not known.
   */
  returnedBy(event: LedgerIncrement): Funding | null {
    const { customerId, slot, period } = event;
    if (this.#mixed.has(`${customerId} ${period}`)) return null;
    const isPaid = this.plans[event.plan]?.isPaid ?? false;
    const before = this.unitsIn(customerId, slot, period);
    const after = before - event.amount;
    const beyond = Math.max(0, before - INCLUDED[slot]) - Math.max(0, after - INCLUDED[slot]);
    const included = event.amount - beyond;
    if (slot === 'CUSTOM2') return { included, credits: beyond, overage: 0, unfunded: 0 };
    return { included, credits: 0, overage: isPaid ? beyond : 0, unfunded: isPaid ? 0 : beyond };
  }

  /**
   * The amount that the balance pays for the increment: negative if its reversal gave back amounts that later ones had
   * paid.
   */
  paidFor({ funding, returned }: LedgerIncrement): bigint {
    return BigInt(funding.overage) * UNIT_NANO - (returned?.nano ?? 0n);
  }

  // --- sums

  #entries({ fromMs, toMs, customerId, feature }: Scope): Entry[] {
    const entries: Entry[] = [];
    for (const call of this.calls.values()) {
      const { finishedAtMs, status, report, isReversed } = call;
      if (finishedAtMs === null || isReversed) continue;
      const hourMs = Math.floor(finishedAtMs / HOUR) * HOUR;
      if (hourMs < fromMs || hourMs >= toMs) continue;
      if ((customerId ?? call.customerId) !== call.customerId || (feature ?? call.feature) !== call.feature) continue;
      const of = { customerId: call.customerId, feature: call.feature, atMs: hourMs };
      entries.push({ ...of, outcome: status, report, charge: this.chargeOf(call) });
    }
    return entries;
  }

  /** The figures of the calls in a scope, by the key that `idempotencyKey` returns for each. */
  figures(scope: Scope, keyOf: (entry: Entry) => string): Map<string, Figures> {
    const groups = Map.groupBy(this.#entries(scope), keyOf);
    return new Map([...groups].map(([key, entries]) => [key, sumFigures(entries)]));
  }

  total(scope: Scope): Figures {
    return sumFigures(this.#entries(scope));
  }

  /** The amount that calls and increments charged to the balances in a period. */
  charged(scope: Scope): bigint {
    const ofCalls = this.#entries(scope).reduce((sum, { charge }) => sum + charge, 0n);
    const ofMeters = [...this.increments.values()].filter(
      ({ customerId, atMs }) =>
        (scope.customerId ?? customerId) === customerId && atMs >= scope.fromMs && atMs < scope.toMs,
    );
    return ofMeters.reduce((sum, event) => sum + this.paidFor(event), ofCalls);
  }

  /** The amount of each call and increment of a customer, by its id: Stripe has to end with it. */
  targets(customerId: string): Map<string, bigint> {
    return new Map([
      ...this.callsOf(customerId).map((call) => [call.callId, this.chargeOf(call)] as const),
      ...this.incrementsOf(customerId).map((event) => [event.eventId, this.paidFor(event)] as const),
    ]);
  }

  /** The balance when every charge was taken from it. */
  balance(customerId: string): bigint {
    return [...this.targets(customerId).values()].reduce(
      (left, paid) => left - paid,
      this.customer(customerId).granted,
    );
  }

  unitsLeft(customerId: string): number {
    const spent = this.incrementsOf(customerId).map(
      ({ funding, returned }) => funding.credits - (returned?.credits ?? 0),
    );
    return spent.reduce((left, units) => left - units, this.customer(customerId).units);
  }
}

export const reportText = (report: Report) =>
  JSON.stringify(report, (_, value) => (typeof value === 'bigint' ? String(value) : value));

const reportStatus = ({ isFailed }: Report) => (isFailed ? 'FAILED' : 'COMPLETED');

function reportCost({ inputTokens, responseTokens, rates }: Report): bigint {
  return BigInt(inputTokens) * rates.input + BigInt(responseTokens) * rates.output;
}

function sumFigures(entries: readonly Entry[]): Figures {
  const sum = (of: (report: Report) => number) =>
    entries.reduce((all, { report }) => all + (report ? of(report) : 0), 0);
  const cost = entries.reduce((all, { report }) => all + (report ? reportCost(report) : 0n), 0n);
  return {
    calls: entries.length,
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ responseTokens }) => responseTokens),
    costUsdNano: cost.toString(),
  };
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the model does not have it');
  return value;
}
