/**
 * A customer's outlook in words: a sentence for each payer of the next calls, and the first thing to run out.
 */
import { planLimit } from '../../domain/allowances.ts';
import { CAPABILITY_METERS } from '../../domain/entitlements.ts';
import { meterInText, meterTitle } from '../../domain/meter-names.ts';
import { type MeterName, type MeterSlot, SLOT_METERS } from '../../domain/meters.ts';
import { usd } from '../../domain/money.ts';
import type { Unpaid } from '../../domain/next-payer.ts';
import { CAPABILITIES, type Capability } from '../../domain/plan.ts';
import type { Tier } from '../../domain/tiers.ts';
import type { Outlook } from '../../readings/forecast/outlook.ts';
import { calendarDay, count, dayMonth, distance } from '../../ui/format.ts';
import type { Tone } from '../../ui/parts.tsx';

export interface Sentence {
  text: string;
  tone: Tone;
  /** The outcome of the next call or unit, in a word; absent from a sentence that only informs. */
  badge?: 'Allowance' | 'Unlimited' | 'Paid' | 'Counted' | 'Limited' | 'Denied' | 'Not paid';
}

/** A tier, a capability or a custom meter, whose next use somebody pays. */
type Of = Tier | Capability | MeterSlot;

/**
 * The payers of the next calls that are not the plan's allowance, one sentence each; a single sentence if the allowance
 * pays for all.
 */
export function payerSentences(outlook: Outlook, nowMs: number): Sentence[] {
  const { isCanceled, tiers, capabilities, slots } = outlook;
  if (isCanceled)
    return [
      {
        text: 'The subscription is canceled: calls are denied until it is reactivated.',
        tone: 'bad',
        badge: 'Denied',
      },
    ];
  const sentences = [
    ...tiers.toReversed().flatMap(({ tier, payer }) => {
      const said = payer.by === 'nobody' && payer.instead ? replaced(outlook, payer.instead.tier, nowMs) : null;
      return said
        ? [{ text: `${usedUpSentence(outlook, tier)}: ${said}`, tone: 'warn' as const, badge: 'Limited' as const }]
        : paidBy(outlook, tier, payer, nowMs);
    }),
    // The meters show the capabilities that a plan does not include.
    ...capabilities
      .filter(({ capability }) => isUsedUp(outlook, capability))
      .flatMap(({ capability, payer }) => paidBy(outlook, capability, payer, nowMs)),
    ...slots.flatMap(({ slot, payer, units }) => paidBy(outlook, slot, payer, nowMs, units)),
  ];
  if (sentences.length === 0)
    return outlook.meters.length === 0
      ? [{ text: 'The plan limits no calls: nothing is charged for them.', tone: 'good', badge: 'Unlimited' }]
      : [{ text: "The plan's allowance pays for every call.", tone: 'good', badge: 'Allowance' }];
  // Tiers that the plan does not include do not say who pays for the others.
  if (sentences.every(({ tone }) => tone === 'plain'))
    return [
      { text: "The plan's allowance pays for what it includes.", tone: 'good', badge: 'Allowance' },
      ...sentences,
    ];
  return isPaidByBalance(outlook) ? [...sentences, ...balanceLasts(outlook, nowMs)] : sentences;
}

function paidBy(
  outlook: Outlook,
  of: Of,
  payer: { by: 'allowance' | 'units' | 'balance' | 'counted' } | Unpaid,
  nowMs: number,
  units = 0n,
): Sentence[] {
  const gone = () => usedUpSentence(outlook, of);
  switch (payer.by) {
    case 'allowance':
      return [];
    case 'units':
      return [{ text: `${gone()}: ${count(units)} purchased units pay.`, tone: 'info', badge: 'Paid' }];
    case 'balance': {
      const balance = usd(outlook.balance?.balanceNanoUsd ?? 0n);
      return [{ text: `${gone()}: the balance of ${balance} pays.`, tone: 'info', badge: 'Paid' }];
    }
    case 'counted':
      return [{ text: `${gone()}: usage goes on, and is counted.`, tone: 'info', badge: 'Counted' }];
    case 'nobody':
      return [unpaid(outlook, of, payer.reason, nowMs)];
  }
}

function unpaid(outlook: Outlook, of: Of, reason: Unpaid['reason'], nowMs: number): Sentence {
  const gone = usedUpSentence(outlook, of);
  const until = untilRenewal(outlook, nowMs);
  const denied = isSlot(of)
    ? 'more units are not paid'
    : isCapability(of)
      ? `${of} is denied`
      : `${of} calls are denied`;
  const badge = isSlot(of) ? 'Not paid' : 'Denied';
  switch (reason) {
    case 'CREDIT_REQUIRED':
      return {
        text: `${gone}, and nothing is left of the balance: ${denied} until credit is granted.`,
        tone: 'bad',
        badge,
      };
    case 'BALANCE_HELD':
      return { text: `${gone}, and open calls hold the balance: ${denied} until they end.`, tone: 'warn', badge };
    default:
      // An allowance that the plan does not include has not run out.
      return isUsedUp(outlook, of)
        ? { text: `${gone}, and nothing else pays: ${denied}${until}.`, tone: 'bad', badge }
        : { text: `${gone}.`, tone: 'plain' };
  }
}

function replaced(outlook: Outlook, instead: Tier, nowMs: number): string {
  return `${instead} models answer instead${untilRenewal(outlook, nowMs)}.`;
}

/** The time that the balance lasts: by the forecast if it has an end, else at the rate of the latest week. */
function balanceLasts({ balance }: Outlook, nowMs: number): Sentence[] {
  if (balance?.runsOutAtMs != null)
    return [
      {
        text: `At the forecast pace the balance lasts until ${dayWithYear({ atMs: balance.runsOutAtMs, nowMs })}.`,
        tone: 'warn',
        badge: 'Limited',
      },
    ];
  if (balance?.lastsUntilMs == null) return [];
  return [
    {
      text: `At the last 7 days' rate the balance lasts until ${dayWithYear({ atMs: balance.lastsUntilMs, nowMs })}.`,
      tone: 'plain',
    },
  ];
}

export function isPaidByBalance({ tiers, slots }: Outlook): boolean {
  return [...tiers, ...slots].some(
    ({ payer }) =>
      payer.by === 'balance' || (payer.by === 'nobody' && 'instead' in payer && payer.instead?.payer.by === 'balance'),
  );
}

/** The payer after a meter is used up; `null` if nobody pays. */
export function payersInPlace({ tiers, capabilities, slots }: Outlook, meter: MeterName): string | null {
  const payers = [
    ...tiers.map(({ tier, payer }) => ({ of: tier as Of, payer })),
    ...capabilities.map(({ capability, payer }) => ({ of: capability as Of, payer })),
    ...slots.map(({ slot, payer }) => ({ of: slot as Of, payer })),
  ];
  const by = payers.find(({ of }) => metersFor(of).includes(meter))?.payer.by;
  return by === 'balance'
    ? 'the balance pays'
    : by === 'units'
      ? 'bought units pay'
      : by === 'counted'
        ? 'counted'
        : null;
}

/** For example "The allowance of premium calls is used up", or "Free includes no premium calls". */
function usedUpSentence(outlook: Outlook, of: Of): string {
  const { plan, meters } = outlook;
  const usedUp = meters.find(({ meter, isUsedUp }) => isUsedUp && metersFor(of).includes(meter))?.meter;
  if (usedUp) return `The allowance of ${meterInText(usedUp, plan)} is used up`;
  const missing = metersFor(of).find((meter) => planLimit(plan, meter) === 0);
  return `${plan.name} includes no ${missing ? meterInText(missing, plan) : of}`;
}

function isUsedUp({ meters }: Outlook, of: Of): boolean {
  return meters.some(({ meter, isUsedUp }) => isUsedUp && metersFor(of).includes(meter));
}

function metersFor(of: Of): MeterName[] {
  if (isSlot(of)) return [SLOT_METERS[of]];
  if (!isCapability(of)) return [`${of}Calls`, `${of}Tokens`];
  const meter = CAPABILITY_METERS[of];
  return meter === null ? [] : [meter];
}

function isSlot(of: Of): of is MeterSlot {
  return Object.hasOwn(SLOT_METERS, of);
}

function isCapability(of: Of): of is Capability {
  return (CAPABILITIES as readonly string[]).includes(of);
}

function untilRenewal({ renewsAtMs }: Outlook, nowMs: number): string {
  return renewsAtMs === null ? '' : ` until ${dayWithYear({ atMs: renewsAtMs, nowMs })}`;
}

/** The day, with its year if that is not the present one. */
function dayWithYear({ atMs, nowMs }: { atMs: number; nowMs: number }): string {
  const [year, present] = [atMs, nowMs].map((ms) => new Date(ms).getUTCFullYear());
  return year === present ? dayMonth(atMs) : calendarDay(atMs);
}

export interface RunsOut {
  value: string;
  note: string;
  /** The part of the page that explains it: the meters below, or the balance. */
  of: 'meters' | 'balance';
}

/**
 * The first thing to run out: an allowance that is used up and unpaid already, else the earliest end before the
 * renewal.
 */
export function runsOutFirst(outlook: Outlook, nowMs: number): RunsOut {
  const { plan, isCanceled, renewsAtMs, meters, balance, isForecast } = outlook;
  if (isCanceled) return { value: 'Canceled', note: 'calls are denied', of: 'meters' };
  const unpaidNow = [
    ...outlook.tiers.toReversed().map(({ tier, payer }) => ({ of: tier, payer })),
    ...outlook.capabilities.map(({ capability, payer }) => ({ of: capability, payer })),
    ...outlook.slots.map(({ slot, payer }) => ({ of: slot, payer })),
  ];
  for (const { of, payer } of unpaidNow) {
    if (payer.by !== 'nobody') continue;
    if (payer.reason === 'CREDIT_REQUIRED')
      return { value: 'Now', note: 'nothing is left of the balance', of: 'balance' };
    const used = meters.find(({ meter, isUsedUp }) => isUsedUp && metersFor(of).includes(meter));
    if (used) return { value: 'Now', note: `${meterTitle(used.meter, plan)}: used up`, of: 'meters' };
  }
  const ends = [
    ...meters.map(({ meter, runsOutAtMs }) => ({
      name: meterTitle(meter, plan),
      atMs: runsOutAtMs,
      of: 'meters' as const,
    })),
    { name: 'The balance', atMs: balance?.runsOutAtMs ?? null, of: 'balance' as const },
  ].flatMap(({ atMs, ...end }) => (atMs === null ? [] : [{ ...end, atMs }]));
  const [first] = ends.toSorted((a, b) => a.atMs - b.atMs);
  if (first)
    return {
      value: sentenceCase(distance(first.atMs, nowMs)),
      note: `${first.name}, about ${dayWithYear({ atMs: first.atMs, nowMs })}`,
      of: first.of,
    };
  if (!isForecast) return { value: 'Not known yet', note: 'a forecast needs 7 days of history', of: 'meters' };
  const isOnBalance = isPaidByBalance(outlook);
  if (meters.length === 0 && !isOnBalance) return { value: 'Never', note: 'the plan limits no meter', of: 'meters' };
  const lasts =
    isOnBalance && balance?.lastsUntilMs != null
      ? `the balance lasts until ${dayWithYear({ atMs: balance.lastsUntilMs, nowMs })} at the last 7 days' rate`
      : null;
  if (renewsAtMs === null)
    return { value: 'Not in sight', note: lasts ?? 'at the forecast pace', of: lasts ? 'balance' : 'meters' };
  return {
    value: 'Not before renewal',
    note: lasts ?? `on ${dayWithYear({ atMs: renewsAtMs, nowMs })}`,
    of: lasts ? 'balance' : 'meters',
  };
}

function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
