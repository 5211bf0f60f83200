/**
 * The reversal of an increment: what of its units is given back, and by what.
 *
 * Without the mistake, later units of the same period would have been paid by what it took, so the given-back units come
 * from the margin of what it and the later units took: first those that nothing paid, then overage, then purchased
 * credits, and the included units last. What came before it is found in the totals that it recorded, without the
 * increments among them that were reversed since. A period whose plan changed after the event has no margin to price:
 * there the event's own funding is given back.
 */
import type { Account, ReversedIncrement, SlotUsage } from './account.ts';
import { type Funding, type MeterEvent, priceOverage, tiersOf } from './custom-meter.ts';
import { METER_SLOTS, type MeterSlot } from './meters.ts';
import type { NanoUsd } from './money.ts';
import type { Mistake } from './payers.ts';
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
  /** Tells which credits get those that credits had paid. */
  mistake: Mistake;
  refundNanoUsd: NanoUsd;
}

/** Where an increment stood. */
type Place = Omit<ReversedIncrement, 'reversedAt'>;
/** The totals that an increment found, and the same of the credits. */
interface Standing {
  found: Units;
  mistake: Mistake;
}

type Source = keyof Funding;
type Units = Record<Source, bigint>;
/** From the margin inwards. */
const MARGIN: readonly Source[] = ['unfunded', 'overage', 'credits', 'included'];
/** Reversed increments of a period that are remembered. Beyond it, the oldest count as if they had come before all. */
const REVERSED_MAX = 50;

export function reverseIncrement(event: MeterEvent, totals: PeriodTotals): Returned {
  const samePlan = totals.meter !== null && totals.usagePlanVersionId === event.usagePlanVersionId;
  const funding = event.unlimited || !samePlan || !event.totalsAfter ? event.funding : margin(event, totals.usage);
  const { overage } = funding;
  const { increments = 0 } = totals.usage;
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
      increments,
      reversed: [...(totals.usage.reversed ?? []), { ...placeOf(event), reversedAt: increments }].slice(-REVERSED_MAX),
    },
    funding,
    mistake: standing(totals.usage.reversed ?? [], placeOf(event)).mistake,
    refundNanoUsd,
  };
}

/** The units of the event and of later ones that were paid worst, as many as the event has. */
function margin(event: MeterEvent, now: SlotUsage): Funding {
  const totals = bySource(now);
  const amount = BigInt(event.amount);
  const before = standing(now.reversed ?? [], placeOf(event)).found;
  const own = takeMargin(subtract(totals, before), amount);
  // Where less is left since then, the rest comes from the whole period.
  const rest = takeMargin(subtract(totals, own), amount - MARGIN.reduce((sum, source) => sum + own[source], 0n));
  const of = (source: Source) => Number(own[source] + rest[source]);
  return { included: of('included'), credits: of('credits'), overage: of('overage'), unfunded: of('unfunded') };
}

/** Where the event stood: its number, and the totals that it found. */
function placeOf({ eventId, atMs, amount, funding, totalsAfter }: MeterEvent): Place {
  const { usage = '0', overage = '0', credits, unfunded, increments = 0 } = totalsAfter ?? {};
  return {
    eventId,
    atMs,
    amount,
    number: increments,
    before: {
      usage: less(usage, amount),
      overage: less(overage, funding.overage),
      credits: less(credits, funding.credits),
      unfunded: less(unfunded, funding.unfunded),
    },
  };
}

/** What an increment found, and which credits paid before it, in a history without the increments before it that were reversed after it. */
function standing(reversed: readonly ReversedIncrement[], place: Place): Standing {
  const known: { of: ReversedIncrement; standing: Standing }[] = [];
  const standingOf = ({ number, before, eventId, atMs = 0 }: Place): Standing => {
    const earlier: { mistake: Mistake; freed: bigint }[] = [];
    let found = bySource(before);
    for (const { of, standing } of known) {
      if (of.number >= number || number > of.reversedAt) continue;
      const taken = takeMargin(subtract(found, standing.found), BigInt(of.amount));
      found = subtract(found, taken);
      if (of.eventId !== undefined) earlier.push({ mistake: standing.mistake, freed: taken.credits });
    }
    return { found, mistake: { reference: eventId ?? null, atMs, earlier } };
  };
  for (const of of [...reversed].sort((a, b) => a.number - b.number)) known.push({ of, standing: standingOf(of) });
  return standingOf(place);
}

/** As many of the units as there are, the worst paid ones. */
function takeMargin(units: Units, amount: bigint): Units {
  const taken: Units = { included: 0n, credits: 0n, overage: 0n, unfunded: 0n };
  let left = amount;
  for (const source of MARGIN) {
    taken[source] = least(left, units[source]);
    left -= taken[source];
  }
  return taken;
}

function subtract(from: Units, units: Units): Units {
  const of = (source: Source) => atLeastZero(from[source] - units[source]);
  return { included: of('included'), credits: of('credits'), overage: of('overage'), unfunded: of('unfunded') };
}

function bySource({ usage, overage, credits = '0', unfunded = '0' }: ReversedIncrement['before']): Units {
  const paid = { overage: BigInt(overage), credits: BigInt(credits), unfunded: BigInt(unfunded) };
  return { ...paid, included: atLeastZero(BigInt(usage) - paid.overage - paid.credits - paid.unfunded) };
}

const less = (total: string | undefined, units: number) => atLeastZero(BigInt(total ?? 0) - BigInt(units)).toString();
const atLeastZero = (value: bigint) => (value < 0n ? 0n : value);
const least = (a: bigint, b: bigint) => (a < b ? a : b);
