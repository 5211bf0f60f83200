/**
 * Increments of the custom meters: the source that funds each unit, and the cost of overage.
 *
 * Units come first from the included allowance, then from purchased credits of the slot; then they are overage on the
 * USD balance, if the meter's funding allows it. The rest is recorded as unfunded. Overage is priced at once: tiers
 * count the overage units of the period, and the running total of a tier is rounded, so that many small increments cost
 * exactly as much as one large one.
 */

import { type Account, periodNumber, type SlotUsage } from './account.ts';
import { summarize } from './allowances.ts';
import { type Billed, type Charge, newCharge, pendingAmount } from './charge.ts';
import type { Correction } from './correction.ts';
import type { CustomerId } from './ids.ts';
import type { Labels } from './labels.ts';
import { addQuantities, type MeterSlot, SLOT_METERS } from './meters.ts';
import { divideHalfUp, type NanoUsd, parseUsd } from './money.ts';
import { type CustomMeter, hasOverage, type OverageTier } from './plan.ts';
import { listRuns, runsOfFunding, totalsOfRuns } from './unit-runs.ts';
import { addUnsettled, availableUsd, spend, sumBalance } from './wallet.ts';

export interface IncrementRequest extends Labels {
  slot: MeterSlot;
  /** A positive safe integer. */
  amount: number;
  metadata?: Record<string, unknown> | undefined;
}

/** The part of an increment that fell into one tier of the overage price. */
export interface OverageComponent {
  tierIndex: number;
  /** Last overage unit of the tier; `null` on the last one. */
  upTo: string | null;
  unitsExact: string;
  /** The rate: nano-USD of `priceQuantity` units. */
  priceNanoUsd: string;
  priceQuantity: string;
}

/** The sources of an increment's units. They sum to its amount; on an unlimited meter all are zero. */
export interface Funding {
  included: number;
  credits: number;
  overage: number;
  unfunded: number;
}

export interface MeterEvent extends IncrementRequest {
  eventId: string;
  customerId: CustomerId;
  atMs: number;
  usagePlanVersionId: string;
  unlimited: boolean;
  funding: Funding;
  components: OverageComponent[];
  /** All units of the period, paid by any source, as decimal strings. */
  periodUsageBefore: string;
  periodUsageAfter: string;
  charge: Charge | null;
  /**
   * The usage period in which the event counts, and the meter's totals of that period including it. Absent in older
   * events.
   */
  period?: number;
  totalsAfter?: SlotUsage;
  /** The billing provider's customer for the charge. Absent if there is none, and in older events. */
  stripeCustomerId?: string;
  /** The same as for calls. */
  billed?: Billed | null;
  /** Present if the event was a mistake, and no longer counts. */
  reversal?: MeterReversal;
  revision: number;
}

/** How an event was reversed. */
export interface MeterReversal extends Correction {
  /** The returned units, by their earlier source. */
  returned: Funding;
  /** The amount that the balance gets back, as a charge below zero; `null` if that is nothing. */
  charge: Charge | null;
}

export interface Incremented {
  account: Account;
  event: MeterEvent;
  meter: CustomMeter;
}

/** Records an increment; `null` if the plan does not enable the slot. */
export function incrementMeter(
  account: Account,
  request: IncrementRequest,
  ids: { eventId: string; chargeId: string },
  nowMs: number,
): Incremented | null {
  const { plan, usagePlanVersionId } = account.subscription.plan;
  const { slot, amount } = request;
  const meter = plan.customMeters[slot];
  if (!meter?.enabled) return null;

  const before: SlotUsage = account.slots?.[slot] ?? { usage: '0', overage: '0' };
  const funding = meter.unlimited
    ? { included: 0, credits: 0, overage: 0, unfunded: 0 }
    : fund(account, meter, slot, amount);
  const overageBefore = BigInt(before.overage);
  const overageAfter = overageBefore + BigInt(funding.overage);
  const priced = priceOverage(overageTiers(meter), { before: overageBefore, after: overageAfter });
  const charge =
    funding.overage > 0 ? newCharge(ids.chargeId, { amountNanoUsd: priced.totalNanoUsd, markupPercent: null }) : null;
  const after: SlotUsage = {
    usage: sum(before.usage, amount),
    ...totalsOfRuns([...listRuns(before), ...runsOfFunding(funding)]),
    credits: sum(before.credits, funding.credits),
    charged: sum(before.charged, priced.totalNanoUsd),
    increments: (before.increments ?? 0) + 1,
  };
  const slots = { ...account.slots, [slot]: { ...after, ...(before.reversed && { reversed: before.reversed }) } };

  const revision = account.revision + 1;
  const { stripeCustomerId } = account.contact;
  const subject = { kind: 'meter_event', id: ids.eventId } as const;
  const paid =
    funding.credits > 0
      ? spend(account.wallet, slot, BigInt(funding.credits), ids.eventId, nowMs, { subject })
      : account.wallet;
  return {
    account: {
      ...account,
      revision,
      meters: {
        ...account.meters,
        consumed: addQuantities(account.meters.consumed, { [SLOT_METERS[slot]]: funding.included }),
      },
      slots,
      wallet: addUnsettled(paid, pendingAmount(charge)),
    },
    event: {
      ...request,
      eventId: ids.eventId,
      customerId: account.customerId,
      atMs: nowMs,
      usagePlanVersionId,
      unlimited: meter.unlimited,
      funding,
      components: priced.components,
      periodUsageBefore: before.usage,
      periodUsageAfter: after.usage,
      charge,
      ...(charge && stripeCustomerId !== undefined && { stripeCustomerId }),
      period: periodNumber(account),
      totalsAfter: after,
      revision,
    },
    meter,
  };
}

function sum(total: string | undefined, amount: number | bigint): string {
  return (BigInt(total ?? 0) + BigInt(amount)).toString();
}

/**
 * Included units first, then credits of the slot, then overage while the USD balance is above zero; the rest is
 * unfunded.
 */
function fund(account: Account, meter: CustomMeter, slot: MeterSlot, amount: number): Funding {
  const { plan } = account.subscription.plan;
  const { remaining } = summarize(plan, account.meters, SLOT_METERS[slot]);
  const included = Math.min(amount, remaining);
  const credits = Math.min(amount - included, Number(purchasedUnits(account, meter, slot)));
  const left = amount - included - credits;
  const onBalance = paysOverage(account, meter);
  return { included, credits, overage: onBalance ? left : 0, unfunded: onBalance ? 0 : left };
}

/** The purchased units that the meter may take. */
export function purchasedUnits(account: Account, meter: CustomMeter, slot: MeterSlot): bigint {
  return meter.funding.credits ? sumBalance(account.wallet, slot) : 0n;
}

/** Whether the USD balance pays for units beyond the allowance and the purchased ones. */
export function paysOverage({ subscription, wallet }: Account, meter: CustomMeter): boolean {
  return hasOverage(subscription.plan.plan, meter) && availableUsd(wallet) > 0n;
}

/** A single price is one tier without an upper bound. */
export function overageTiers({ overage }: CustomMeter): readonly OverageTier[] {
  if (!overage) return [];
  return overage.model === 'SINGLE' ? [{ upTo: null, priceUsd: overage.priceUsd, per: overage.per }] : overage.tiers;
}

/** Prices the overage units from `before` (exclusive) to `after` (inclusive) of the period, by tier. */
export function priceOverage(
  tiers: readonly OverageTier[],
  { before, after }: { before: bigint; after: bigint },
): { components: OverageComponent[]; totalNanoUsd: NanoUsd } {
  const components: OverageComponent[] = [];
  let totalNanoUsd = 0n;
  let tierStart = 0n;
  for (const [tierIndex, { upTo, priceUsd, per }] of tiers.entries()) {
    const tierEnd = upTo === null ? null : BigInt(upTo);
    const within = (units: bigint) => clamp(units, tierStart, tierEnd) - tierStart;
    const [from, to] = [within(before), within(after)];
    if (to > from) {
      const priceNanoUsd = parseUsd(priceUsd);
      if (priceNanoUsd === null) throw new RangeError(`not an amount of USD: ${priceUsd}`);
      const unitsCost = (units: bigint) => divideHalfUp(units * priceNanoUsd, BigInt(per));
      totalNanoUsd += unitsCost(to) - unitsCost(from);
      components.push({
        tierIndex,
        upTo,
        unitsExact: (to - from).toString(),
        priceNanoUsd: priceNanoUsd.toString(),
        priceQuantity: per,
      });
    }
    if (tierEnd === null) break;
    tierStart = tierEnd;
  }
  return { components, totalNanoUsd };
}

function clamp(value: bigint, low: bigint, high: bigint | null): bigint {
  if (value < low) return low;
  return high !== null && value > high ? high : value;
}
