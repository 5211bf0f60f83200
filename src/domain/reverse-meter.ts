/**
 * The reversal of an increment: what of its units is given back, and by what.
 *
 * Without the mistake, later units of the same period would have been paid by what it took. So what is given back are units
 * of it and of later increments: first those beyond what is included and purchased, the earliest of them first, whether
 * the balance paid them or nothing did; then purchased ones, and the included ones last. What the balance did not pay it
 * never pays afterwards: its customer was told that it is blocked. What came before the event is found in the totals that
 * it recorded, without the increments among them that were reversed since. A period whose plan changed after the event
 * has no last units to price: there the event's own funding is given back.
 */
import type { Account, ReversedIncrement, SlotUsage } from './account.ts';
import { type Funding, type MeterEvent, priceOverage, tiersOf } from './custom-meter.ts';
import { METER_SLOTS, type MeterSlot } from './meters.ts';
import type { NanoUsd } from './money.ts';
import type { Mistake } from './payers.ts';
import type { CustomMeter } from './plan.ts';
import {
  type Run,
  type RunTotals,
  runsOf,
  runsOfFunding,
  splitRuns,
  totalsOfRuns,
  unitsBy,
  unitsIn,
} from './unit-runs.ts';

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

interface Units {
  included: bigint;
  credits: bigint;
  /** Those that are neither. */
  beyond: readonly Run[];
}

const NO_UNITS: Units = { included: 0n, credits: 0n, beyond: [] };
/** Reversed increments of a period that are remembered. Beyond it, the oldest count as if they had come before all. */
const REVERSED_MAX = 50;

export function reverseIncrement(event: MeterEvent, totals: PeriodTotals): Returned {
  const samePlan = totals.meter !== null && totals.usagePlanVersionId === event.usagePlanVersionId;
  const isOwn = event.unlimited || !samePlan || !event.totalsAfter;
  const { funding, ...beyond } = isOwn ? ownFunding(event, totals.usage) : displaced(event, totals.usage);
  const { overage } = funding;
  const { increments = 0 } = totals.usage;
  const [overageNow, chargedNow] = [BigInt(totals.usage.overage), BigInt(totals.usage.charged ?? 0)];
  const priced =
    totals.meter && samePlan
      ? priceOverage(tiersOf(totals.meter), { before: overageNow - BigInt(overage), after: overageNow }).totalNanoUsd
      : BigInt(event.charge?.amountNanoUsd ?? 0);
  // Never more than the period's charges, whatever was given back of them before.
  const refundNanoUsd = priced < chargedNow ? priced : chargedNow;
  return {
    usage: {
      usage: less(totals.usage.usage, event.amount),
      ...beyond,
      credits: less(totals.usage.credits, funding.credits),
      charged: (chargedNow - refundNanoUsd).toString(),
      increments,
      reversed: [...(totals.usage.reversed ?? []), { ...placeOf(event), reversedAt: increments }].slice(-REVERSED_MAX),
    },
    funding,
    mistake: standing(totals.usage.reversed ?? [], placeOf(event)).mistake,
    refundNanoUsd,
  };
}

/** What is given back, and what is left beyond included and purchased units. */
type GivenBack = { funding: Funding } & RunTotals;

/** Where the event stood among others is not asked: of what is left, overage counts as the earlier. */
function ownFunding({ funding }: MeterEvent, now: SlotUsage): GivenBack {
  return { funding, ...beyondLess(now, funding) };
}

function beyondLess({ overage, unfunded }: SlotUsage, funding: Funding): RunTotals {
  return { overage: less(overage, funding.overage), unfunded: less(unfunded, funding.unfunded) };
}

/** The units of the event and of later ones that would not be there, or would be paid by less, without the event. */
function displaced(event: MeterEvent, now: SlotUsage): GivenBack {
  const amount = BigInt(event.amount);
  const own = takeOut(unitsOf(now), standing(now.reversed ?? [], placeOf(event)).found, amount);
  // Where less is left since then, the rest comes from the whole period.
  const rest = takeOut(own.left, NO_UNITS, amount - own.count);
  const of = (source: keyof Funding) => Number(own.taken[source] + rest.taken[source]);
  return {
    funding: { included: of('included'), credits: of('credits'), overage: of('overage'), unfunded: of('unfunded') },
    ...totalsOfRuns(rest.left.beyond),
  };
}

/** Where the event stood: its number, and the totals that it found. */
function placeOf({ eventId, atMs, amount, funding, totalsAfter }: MeterEvent): Place {
  const after: SlotUsage = totalsAfter ?? { usage: '0', overage: '0' };
  return {
    eventId,
    atMs,
    amount,
    number: after.increments ?? 0,
    before: {
      usage: less(after.usage, amount),
      credits: less(after.credits, funding.credits),
      ...(after.turns ? runsBefore(runsOf(after), funding) : beyondLess(after, funding)),
    },
  };
}

/** Without the last ones, which are those of the increment. */
function runsBefore(runs: readonly Run[], funding: Funding): RunTotals {
  const [before] = splitRuns(runs, unitsIn(runs) - unitsIn(runsOfFunding(funding)));
  return totalsOfRuns(before);
}

/** What an increment found, and which credits paid before it, in a history without the increments before it that were reversed after it. */
function standing(reversed: readonly ReversedIncrement[], place: Place): Standing {
  const known: { of: ReversedIncrement; standing: Standing }[] = [];
  const standingOf = ({ number, before, eventId, atMs = 0 }: Place): Standing => {
    const earlier: { mistake: Mistake; freed: bigint }[] = [];
    let found = unitsOf(before);
    for (const { of, standing } of known) {
      if (of.number >= number || number > of.reversedAt) continue;
      const { taken, left } = takeOut(found, standing.found, BigInt(of.amount));
      found = left;
      if (of.eventId !== undefined) earlier.push({ mistake: standing.mistake, freed: taken.credits });
    }
    return { found, mistake: { reference: eventId ?? null, atMs, earlier } };
  };
  for (const of of [...reversed].sort((a, b) => a.number - b.number)) known.push({ of, standing: standingOf(of) });
  return standingOf(place);
}

/** As many units as there are of those that came after `found`: from beyond the allowance inwards. */
function takeOut(
  all: Units,
  found: Units,
  amount: bigint,
): { taken: Record<keyof Funding, bigint>; count: bigint; left: Units } {
  const [before, later] = splitRuns(all.beyond, unitsIn(found.beyond));
  const [freed, others] = splitRuns(later, amount);
  const inner = amount - unitsIn(freed);
  const credits = least(inner, atLeastZero(all.credits - found.credits));
  const included = least(inner - credits, atLeastZero(all.included - found.included));
  return {
    taken: { included, credits, overage: unitsBy(freed, 'overage'), unfunded: unitsBy(freed, 'unfunded') },
    count: unitsIn(freed) + credits + included,
    left: { included: all.included - included, credits: all.credits - credits, beyond: [...before, ...others] },
  };
}

function unitsOf({ usage, credits = '0', ...beyond }: ReversedIncrement['before']): Units {
  const runs = runsOf(beyond);
  return {
    included: atLeastZero(BigInt(usage) - BigInt(credits) - unitsIn(runs)),
    credits: BigInt(credits),
    beyond: runs,
  };
}

const less = (total: string | undefined, units: number) => atLeastZero(BigInt(total ?? 0) - BigInt(units)).toString();
const atLeastZero = (value: bigint) => (value < 0n ? 0n : value);
const least = (a: bigint, b: bigint) => (a < b ? a : b);
