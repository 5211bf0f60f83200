/**
 * The reversal of an increment: what of its units is given back, and by what.
 *
 * Without the mistake, later units of the same period would have been paid by what it took, so the given-back units come
 * from the margin of what it and the later units took: first those that nothing paid, then overage, then purchased
 * credits, and the included units last. A period whose plan changed after the event has no margin to price: there the
 * event's own funding is given back.
 */
import type { Account, SlotUsage } from './account.ts';
import { type Funding, type MeterEvent, priceOverage, tiersOf } from './custom-meter.ts';
import { METER_SLOTS, type MeterSlot } from './meters.ts';
import type { NanoUsd } from './money.ts';
import type { CustomMeter } from './plan.ts';

/** The meter's totals of the event's period as they are now, or were at its end. */
export interface PeriodTotals {
  usage: SlotUsage;
  /** The plan version at that time, and what it says of the meter; `null` where it does not enable it. */
  usagePlanVersionId: string;
  meter: CustomMeter | null;
}

/** The totals of every custom meter that was used in the account's period. */
export function totalsOf({ slots = {}, subscription }: Account): [MeterSlot, PeriodTotals][] {
  const { plan, usagePlanVersionId } = subscription.plan;
  return METER_SLOTS.flatMap((slot) => {
    const usage = slots[slot];
    const meter = plan.customMeters[slot];
    return usage ? [[slot, { usage, usagePlanVersionId, meter: meter?.enabled ? meter : null }]] : [];
  });
}

export interface Returned {
  /** The totals without the event. */
  usage: SlotUsage;
  /** Units given back, by what had paid; they sum to the event's amount, or to zero where the meter was unlimited. */
  funding: Funding;
  refundNanoUsd: NanoUsd;
}

type Source = keyof Funding;
/** From the margin inwards. */
const MARGIN: readonly Source[] = ['unfunded', 'overage', 'credits', 'included'];

export function reverseIncrement(event: MeterEvent, totals: PeriodTotals): Returned {
  const samePlan = totals.meter !== null && totals.usagePlanVersionId === event.usagePlanVersionId;
  const funding = event.unlimited || !samePlan || !event.totalsAfter ? event.funding : margin(event, totals.usage);
  const { overage } = funding;
  const [overageNow, chargedNow] = [BigInt(totals.usage.overage), BigInt(totals.usage.charged ?? 0)];
  const priced =
    totals.meter && samePlan
      ? priceOverage(tiersOf(totals.meter), overageNow - BigInt(overage), overageNow).totalNanoUsd
      : BigInt(event.charge?.amountNanoUsd ?? 0);
  // Never more than the period's charges, whatever was given back of them before.
  const refundNanoUsd = priced < chargedNow ? priced : chargedNow;
  return {
    usage: {
      usage: less(totals.usage.usage, event.amount),
      overage: less(totals.usage.overage, overage),
      credits: less(totals.usage.credits, funding.credits),
      unfunded: less(totals.usage.unfunded, funding.unfunded),
      charged: (chargedNow - refundNanoUsd).toString(),
    },
    funding,
    refundNanoUsd,
  };
}

/** The units of the event and of later ones that were paid worst, as many as the event has. */
function margin(event: MeterEvent, now: SlotUsage): Funding {
  const [totals, after] = [bySource(now), bySource(event.totalsAfter ?? now)];
  const taken: Record<Source, bigint> = { included: 0n, credits: 0n, overage: 0n, unfunded: 0n };
  let left = BigInt(event.amount);
  // What other reversals gave back already may not be there any more: then the rest comes from the whole period.
  for (const isOfPeriod of [false, true])
    for (const source of MARGIN) {
      const later = atLeastZero(totals[source] - after[source]);
      const most = isOfPeriod ? totals[source] : least(totals[source], BigInt(event.funding[source]) + later);
      const part = least(left, atLeastZero(most - taken[source]));
      taken[source] += part;
      left -= part;
    }
  return {
    included: Number(taken.included),
    credits: Number(taken.credits),
    overage: Number(taken.overage),
    unfunded: Number(taken.unfunded),
  };
}

function bySource({ usage, overage, credits = '0', unfunded = '0' }: SlotUsage): Record<Source, bigint> {
  const paid = { overage: BigInt(overage), credits: BigInt(credits), unfunded: BigInt(unfunded) };
  return { ...paid, included: atLeastZero(BigInt(usage) - paid.overage - paid.credits - paid.unfunded) };
}

const less = (total: string | undefined, units: number) => atLeastZero(BigInt(total ?? 0) - BigInt(units)).toString();
const atLeastZero = (value: bigint) => (value < 0n ? 0n : value);
const least = (a: bigint, b: bigint) => (a < b ? a : b);
