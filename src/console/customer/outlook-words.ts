/**
 * A customer's outlook in words: what pays for the next calls, one sentence each, and what runs out first.
 */
import { limitOf } from '../../domain/allowances.ts';
import { type MeterName, type MeterSlot, SLOT_METERS } from '../../domain/meters.ts';
import type { Unpaid } from '../../domain/next-payer.ts';
import type { Tier } from '../../domain/tiers.ts';
import { DAY_MS } from '../../platform/time.ts';
import type { Outlook } from '../../readings/forecast/outlook.ts';
import { calendarDay, count, dayMonth, distance, usd, words } from '../../ui/format.ts';
import type { Tone } from '../../ui/parts.tsx';

export interface Sentence {
  text: string;
  tone: Tone;
}

/** From this distance on a day is said with its year. */
const YEAR_FROM_MS = 300 * DAY_MS;

/** What pays next where it is not the plan's allowance; one sentence where it is for all. */
export function payerSentences(outlook: Outlook, nowMs: number): Sentence[] {
  const { isCanceled, tiers, slots } = outlook;
  if (isCanceled)
    return [{ text: 'The subscription is canceled: calls are denied until it is reactivated.', tone: 'bad' }];
  const sentences = [
    ...tiers.toReversed().flatMap(({ tier, payer }) => {
      const said = payer.by === 'nobody' && payer.instead ? replaced(outlook, payer.instead.tier, nowMs) : null;
      return said
        ? [{ text: `${goneOf(outlook, tier)}: ${said}`, tone: 'warn' as const }]
        : paidBy(outlook, tier, payer, nowMs);
    }),
    ...slots.flatMap(({ slot, payer, units }) => paidBy(outlook, slot, payer, nowMs, units)),
  ];
  if (sentences.length === 0) return [{ text: "The plan's allowance pays for every call.", tone: 'good' }];
  return isPaidByBalance(outlook) ? [...sentences, ...balanceLasts(outlook, nowMs)] : sentences;
}

function paidBy(
  outlook: Outlook,
  of: Tier | MeterSlot,
  payer: { by: 'allowance' | 'units' | 'balance' | 'counted' } | Unpaid,
  nowMs: number,
  units = 0n,
): Sentence[] {
  const gone = () => goneOf(outlook, of);
  switch (payer.by) {
    case 'allowance':
      return [];
    case 'units':
      return [{ text: `${gone()}: ${count(units)} purchased units pay.`, tone: 'info' }];
    case 'balance':
      return [{ text: `${gone()}: the balance of ${usd(outlook.balance?.balanceNanoUsd ?? 0n)} pays.`, tone: 'info' }];
    case 'counted':
      return [{ text: `${gone()}: usage goes on, and is counted.`, tone: 'info' }];
    case 'nobody':
      return [unpaid(outlook, of, payer.reason, nowMs)];
  }
}

function unpaid(outlook: Outlook, of: Tier | MeterSlot, reason: Unpaid['reason'], nowMs: number): Sentence {
  const gone = goneOf(outlook, of);
  const until = untilRenewal(outlook, nowMs);
  const denied = of in SLOT_METERS ? 'no more units are paid' : `${of} calls are denied`;
  switch (reason) {
    case 'CREDIT_REQUIRED':
      return { text: `${gone}, and nothing is left of the balance: ${denied} until credit is granted.`, tone: 'bad' };
    case 'BALANCE_HELD':
      return { text: `${gone}, and open calls hold the balance: ${denied} until they end.`, tone: 'warn' };
    default:
      // What is not included has not run out.
      return isUsedUp(outlook, of)
        ? { text: `${gone}, and nothing else pays: ${denied}${until}.`, tone: 'bad' }
        : { text: `${gone}.`, tone: 'plain' };
  }
}

function replaced(outlook: Outlook, instead: Tier, nowMs: number): string {
  return `${instead} models answer instead${untilRenewal(outlook, nowMs)}.`;
}

/** How long the balance lasts: by the forecast where that has an end, else at the rate of the latest week. */
function balanceLasts({ balance }: Outlook, nowMs: number): Sentence[] {
  if (balance?.runsOutAtMs != null)
    return [
      { text: `At the forecast pace the balance lasts until ${dayOf(balance.runsOutAtMs, nowMs)}.`, tone: 'warn' },
    ];
  if (balance?.lastsUntilMs == null) return [];
  return [
    { text: `At the last 7 days' rate the balance lasts until ${dayOf(balance.lastsUntilMs, nowMs)}.`, tone: 'plain' },
  ];
}

export function isPaidByBalance({ tiers, slots }: Outlook): boolean {
  return [...tiers, ...slots].some(
    ({ payer }) =>
      payer.by === 'balance' || (payer.by === 'nobody' && 'instead' in payer && payer.instead?.payer.by === 'balance'),
  );
}

/** "The allowance of premium calls is used up", or "Free includes no premium calls". */
function goneOf(outlook: Outlook, of: Tier | MeterSlot): string {
  const meters = metersOf(of);
  const usedUp = outlook.meters.find(({ meter, isUsedUp }) => isUsedUp && meters.includes(meter))?.meter;
  if (usedUp) return `The allowance of ${nameOf(usedUp)} is used up`;
  const missing = meters.find((meter) => limitOf(outlook.plan, meter) === 0) ?? meters[0];
  return `${outlook.plan.name} includes no ${nameOf(missing)}`;
}

function isUsedUp({ meters }: Outlook, of: Tier | MeterSlot): boolean {
  return meters.some(({ meter, isUsedUp }) => isUsedUp && metersOf(of).includes(meter));
}

function metersOf(of: Tier | MeterSlot): [MeterName, ...MeterName[]] {
  return isSlot(of) ? [SLOT_METERS[of]] : [`${of}Calls`, `${of}Tokens`];
}

function isSlot(of: Tier | MeterSlot): of is MeterSlot {
  return of in SLOT_METERS;
}

const nameOf = (meter: MeterName) => words(meter).toLowerCase().replace('api', 'API');

function untilRenewal({ renewsAtMs }: Outlook, nowMs: number): string {
  return renewsAtMs === null ? '' : ` until ${dayOf(renewsAtMs, nowMs)}`;
}

function dayOf(atMs: number, nowMs: number): string {
  return Math.abs(atMs - nowMs) < YEAR_FROM_MS ? dayMonth(atMs) : calendarDay(atMs);
}

export interface RunsOut {
  value: string;
  note: string;
  /** What explains it: the meters below, or the balance. */
  of: 'meters' | 'balance';
}

/** What runs out first: what is gone and unpaid already, else the earliest end before the renewal. */
export function runsOutFirst(outlook: Outlook, nowMs: number): RunsOut {
  const { isCanceled, renewsAtMs, meters, tiers, slots, balance, isForecast } = outlook;
  if (isCanceled) return { value: 'Canceled', note: 'calls are denied', of: 'meters' };
  const gone = [
    ...tiers.toReversed().map(({ tier, payer }) => ({ of: tier, payer })),
    ...slots.map(({ slot, payer }) => ({ of: slot, payer })),
  ];
  for (const { of, payer } of gone) {
    if (payer.by !== 'nobody') continue;
    if (payer.reason === 'CREDIT_REQUIRED')
      return { value: 'Now', note: 'nothing is left of the balance', of: 'balance' };
    const used = meters.find(({ meter, isUsedUp }) => isUsedUp && metersOf(of).includes(meter));
    if (used) return { value: 'Now', note: `${nameOf(used.meter)} are used up`, of: 'meters' };
  }
  const ends = [
    ...meters.map(({ meter, runsOutAtMs }) => ({ name: words(meter), atMs: runsOutAtMs, of: 'meters' as const })),
    { name: 'The balance', atMs: balance?.runsOutAtMs ?? null, of: 'balance' as const },
  ].flatMap(({ atMs, ...end }) => (atMs === null ? [] : [{ ...end, atMs }]));
  const [first] = ends.toSorted((a, b) => a.atMs - b.atMs);
  if (first)
    return {
      value: sentenceCase(distance(first.atMs, nowMs)),
      note: `${first.name}, about ${dayOf(first.atMs, nowMs)}`,
      of: first.of,
    };
  if (!isForecast) return { value: 'Not known yet', note: 'a forecast needs 7 days of history', of: 'meters' };
  const isOnBalance = isPaidByBalance(outlook);
  if (meters.length === 0 && !isOnBalance) return { value: 'Never', note: 'the plan limits no meter', of: 'meters' };
  const lasts =
    isOnBalance && balance?.lastsUntilMs != null
      ? `the balance lasts until ${dayOf(balance.lastsUntilMs, nowMs)} at the last 7 days' rate`
      : null;
  if (renewsAtMs === null)
    return { value: 'Not in sight', note: lasts ?? 'at the forecast pace', of: lasts ? 'balance' : 'meters' };
  return {
    value: 'Not before renewal',
    note: lasts ?? `on ${dayOf(renewsAtMs, nowMs)}`,
    of: lasts ? 'balance' : 'meters',
  };
}

function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
