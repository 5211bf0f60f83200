/**
 * The reversal of an increment: the units that are given back, and by which source.
 *
 * Without the mistake, its source would have paid for later units of the same period. So the units to give back are
 * those of the increment and of later ones: first those beyond included and purchased units, the earliest first,
 * whether the balance paid for them or nothing did; then purchased ones, and the included ones last. Units that the
 * balance did not pay for are never charged afterwards: the customer was told that they are blocked. The state before
 * the event follows from the totals that it recorded, without earlier increments that were reversed since. If the plan
 * changed after the event, the period has no last units to price: then the event's own funding is given back.
 */
import type { Account, ReversedIncrement, SlotUsage } from './account.ts';
import { type Funding, type MeterEvent, overageTiers, priceOverage } from './custom-meter.ts';
import { METER_SLOTS, type MeterSlot } from './meters.ts';
import type { NanoUsd } from './money.ts';
import type { Mistake } from './payers.ts';
import type { CustomMeter } from './plan.ts';
import {
  listRuns,
  type Run,
  type RunTotals,
  runsOfFunding,
  splitRuns,
  totalsOfRuns,
  unitsBy,
  unitsIn,
} from './unit-runs.ts';

/** The present totals of the meter in the event's period, or those at its end. */
export interface PeriodTotals {
  usage: SlotUsage;
  /** The plan version at that time, and its entry for the meter; `null` if it does not enable the meter. */
  usagePlanVersionId: string;
  meter: CustomMeter | null;
}

/** The totals of every custom meter that was used in the account's period. */
export function slotTotals({ slots = {}, subscription }: Account): [MeterSlot, PeriodTotals][] {
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
  /**
   * The units given back, by their earlier source; they sum to the event's amount, or to zero if the meter was
   * unlimited.
   */
  funding: Funding;
  /** Determines the credits that get back the units paid by credits. */
  mistake: Mistake;
  refundNanoUsd: NanoUsd;
}

/** The position of an increment. */
type Place = Omit<ReversedIncrement, 'reversedAt'>;
/** The totals before an increment, and the same for credits. */
interface Standing {
  found: Units;
  mistake: Mistake;
}

interface Units {
  included: bigint;
  credits: bigint;
  /** The units that are neither included nor purchased. */
  beyond: readonly Run[];
}

const NO_UNITS: Units = { included: 0n, credits: 0n, beyond: [] };
/**
 * The most reversed increments of a period that are remembered. Beyond it, the oldest count as if they were the first
 * of all.
 */
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
      ? priceOverage(overageTiers(totals.meter), { before: overageNow - BigInt(overage), after: overageNow })
          .totalNanoUsd
      : BigInt(event.charge?.amountNanoUsd ?? 0);
  // Never more than the period's charges, whatever was given back before.
  const refundNanoUsd = priced < chargedNow ? priced : chargedNow;
  return {
    usage: {
      usage: less(totals.usage.usage, event.amount),
      ...beyond,
      credits: less(totals.usage.credits, funding.credits),
      charged: (chargedNow - refundNanoUsd).toString(),
      increments,
      reversed: [...(totals.usage.reversed ?? []), { ...locateEvent(event), reversedAt: increments }].slice(
        -REVERSED_MAX,
      ),
    },
    funding,
    mistake: standing(totals.usage.reversed ?? [], locateEvent(event)).mistake,
    refundNanoUsd,
  };
}

/** The units given back, and the rest beyond included and purchased units. */
type GivenBack = { funding: Funding } & RunTotals;

/** The event's position among others does not matter here: of the remaining units, overage counts as the earlier. */
function ownFunding({ funding }: MeterEvent, now: SlotUsage): GivenBack {
  return { funding, ...beyondLess(now, funding) };
}

function beyondLess({ overage, unfunded }: SlotUsage, funding: Funding): RunTotals {
  return { overage: less(overage, funding.overage), unfunded: less(unfunded, funding.unfunded) };
}

/**
 * The units of the event and of later ones that would not exist, or that a nearer source would pay for, without the
 * event.
 */
function displaced(event: MeterEvent, now: SlotUsage): GivenBack {
  const amount = BigInt(event.amount);
  const own = takeOut(reversedUnits(now), standing(now.reversed ?? [], locateEvent(event)).found, amount);
  // If fewer units are left since then, the rest comes from the whole period.
  const rest = takeOut(own.left, NO_UNITS, amount - own.count);
  const of = (source: keyof Funding) => Number(own.taken[source] + rest.taken[source]);
  return {
    funding: { included: of('included'), credits: of('credits'), overage: of('overage'), unfunded: of('unfunded') },
    ...totalsOfRuns(rest.left.beyond),
  };
}

/** The position of the event: its number, and the totals before it. */
function locateEvent({ eventId, atMs, amount, funding, totalsAfter }: MeterEvent): Place {
  const after: SlotUsage = totalsAfter ?? { usage: '0', overage: '0' };
  return {
    eventId,
    atMs,
    amount,
    number: after.increments ?? 0,
    before: {
      usage: less(after.usage, amount),
      credits: less(after.credits, funding.credits),
      ...(after.turns ? runsBefore(listRuns(after), funding) : beyondLess(after, funding)),
    },
  };
}

/** The runs without the last ones, which belong to the increment. */
function runsBefore(runs: readonly Run[], funding: Funding): RunTotals {
  const [before] = splitRuns(runs, unitsIn(runs) - unitsIn(runsOfFunding(funding)));
  return totalsOfRuns(before);
}

/**
 * The totals before an increment, and the credits that paid before it, in a history without the earlier increments that
 * were reversed after it.
 */
function standing(reversed: readonly ReversedIncrement[], place: Place): Standing {
  const known: { of: ReversedIncrement; standing: Standing }[] = [];
  const findStanding = ({ number, before, eventId, atMs = 0 }: Place): Standing => {
    const earlier: { mistake: Mistake; freed: bigint }[] = [];
    let found = reversedUnits(before);
    for (const { of, standing } of known) {
      if (of.number >= number || number > of.reversedAt) continue;
      const { taken, left } = takeOut(found, standing.found, BigInt(of.amount));
      found = left;
      if (of.eventId !== undefined) earlier.push({ mistake: standing.mistake, freed: taken.credits });
    }
    return { found, mistake: { reference: eventId ?? null, atMs, earlier } };
  };
  for (const of of [...reversed].sort((a, b) => a.number - b.number)) known.push({ of, standing: findStanding(of) });
  return findStanding(place);
}

/** As many of the units after `found` as exist: from beyond the allowance inwards. */
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

function reversedUnits({ usage, credits = '0', ...beyond }: ReversedIncrement['before']): Units {
  const runs = listRuns(beyond);
  return {
    included: atLeastZero(BigInt(usage) - BigInt(credits) - unitsIn(runs)),
    credits: BigInt(credits),
    beyond: runs,
  };
}

const less = (total: string | undefined, units: number) => atLeastZero(BigInt(total ?? 0) - BigInt(units)).toString();
const atLeastZero = (value: bigint) => (value < 0n ? 0n : value);
const least = (a: bigint, b: bigint) => (a < b ? a : b);
