/**
 * The amount of a call or an increment that the billing provider has accepted, and the amount that it comes to now. The
 * provider gets the difference: so a correction asks back nothing that the provider never had, and gives back
 * everything that it has.
 */
import type { Call, CallOutcome } from './call.ts';
import type { Charge } from './charge.ts';
import { countedOutcome } from './correct-call.ts';
import type { MeterEvent } from './custom-meter.ts';
import type { NanoUsd } from './money.ts';

export type BilledCall = Pick<Call, 'outcome' | 'reversedAtMs' | 'corrections' | 'billed'>;
export type BilledMeterEvent = Pick<MeterEvent, 'charge' | 'reversal' | 'billed'>;

/** The total to bill to one of the provider's customers, and the amount billed so far. */
export interface Position {
  target: NanoUsd;
  accepted: NanoUsd;
}

export function positionOfCall(call: BilledCall, stripeCustomerId: string): Position {
  const counted = countedOutcome(call);
  const target = counted?.stripeCustomerId === stripeCustomerId ? chargeAmount(counted.charge) : 0n;
  return { target, accepted: withAccepted(call, stripeCustomerId, linksOfCall) };
}

/** An increment is billed to one customer at the provider. */
export function positionOfMeterEvent(event: BilledMeterEvent, stripeCustomerId: string): Position {
  const target = chargeAmount(event.charge) + chargeAmount(event.reversal?.charge);
  return { target, accepted: withAccepted(event, stripeCustomerId, linksOfMeterEvent) };
}

function chargeAmount(charge: Charge | null | undefined): NanoUsd {
  return BigInt(charge?.amountNanoUsd ?? 0);
}

/** A charge, and the one that it corrects. */
interface Link {
  charge: Charge | null | undefined;
  corrects: Charge | null | undefined;
}

/**
 * Before the accepted amount was stored, a charge was reported unless it corrected a refused one, and was POSTED when
 * the provider had it.
 */
function withAccepted<Subject extends Pick<Call, 'billed'>>(
  subject: Subject,
  stripeCustomerId: string,
  findLinks: (subject: Subject, stripeCustomerId: string) => Link[],
): NanoUsd {
  const { billed } = subject;
  if (billed !== undefined) return BigInt(billed?.[stripeCustomerId] ?? 0);
  return findLinks(subject, stripeCustomerId)
    .filter(({ charge, corrects }) => charge?.status === 'POSTED' && !isRefused(corrects))
    .reduce((sum, { charge }) => sum + chargeAmount(charge), 0n);
}

/** A charge without a price failed for that reason, and was not refused. */
function isRefused(charge: Charge | null | undefined): boolean {
  return charge?.status === 'FAILED' && charge.amountNanoUsd !== null;
}

function linksOfCall({ outcome, corrections = [] }: BilledCall, stripeCustomerId: string): Link[] {
  const first = corrections[0] ? corrections[0].previous : outcome;
  const billedTo = (of: CallOutcome | null) => of?.stripeCustomerId === stripeCustomerId;
  return [
    ...(billedTo(first) ? [{ charge: first?.charge, corrects: null }] : []),
    ...corrections
      .filter(({ previous }) => billedTo(previous))
      .map(({ previous, charge }) => ({ charge, corrects: previous?.charge })),
  ];
}

function linksOfMeterEvent({ charge, reversal }: BilledMeterEvent): Link[] {
  return [
    { charge, corrects: null },
    { charge: reversal?.charge, corrects: charge },
  ];
}
