/**
 * The widget's sentences for a customer: the payer of the next call, the rest of a meter, and the effect if nothing
 * pays. A sentence says that something is over only if the next call would be denied.
 */
import { meterTitle } from '../../domain/meter-names.ts';
import { METERS } from '../../domain/meters.ts';
import { type NanoUsd, usd } from '../../domain/money.ts';
import { NEVER_MS } from '../../domain/period.ts';
import { DAY_MS } from '../../platform/time.ts';
import type { WidgetCredit, WidgetMeter, WidgetTier, WidgetUsage } from '../../readings/usage/widget.ts';
import { calendarDay, count, dayMonth } from '../../ui/format.ts';

export interface Sentence {
  /** `bad`: the next call is denied. `warn`: it runs, but not as requested, or may be the last one. */
  tone: 'bad' | 'warn' | 'plain';
  text: string;
}

/** A nearer day is shown without its year. */
const NEAR_MS = 300 * DAY_MS;

export function writeSentences(usage: WidgetUsage, nowMs: number): Sentence[] {
  const { canceledAtMs, tiers, balance } = usage;
  if (canceledAtMs !== null)
    return [
      { tone: 'bad', text: `Your subscription was canceled on ${nearDay(canceledAtMs, nowMs)}: calls are denied.` },
    ];
  const sentences: Sentence[] = [];
  const told = new Set<WidgetTier>();
  for (const tier of tiers) {
    if (told.has(tier) || tier.payer.by === 'allowance') continue;
    const alike = tiers.filter((other) => isAlike(tier, other));
    for (const each of alike) told.add(each);
    const sentence = tierSentence(alike, usage, nowMs);
    if (sentence) sentences.push(sentence);
  }
  if (usage.refused) sentences.push(refusedSentence(usage.refused));
  if (balance && balance.nanoUsd < 0n)
    sentences.push({
      tone: 'plain',
      text: `Your balance is overdrawn by ${usd(-balance.nanoUsd)}, which the next credit that you buy repays first.`,
    });
  return [...sentences, ...usage.unusable.map(unusableSentence)];
}

/** `Your latest denied call needed $1.06 of your balance, and $0.617 was free; calls in progress held $2.10.` */
function refusedSentence({ money, open }: NonNullable<WidgetUsage['refused']>): Sentence {
  const [needed, available, held] = [money.neededNanoUsd, money.availableNanoUsd, money.heldNanoUsd].map(BigInt) as [
    NanoUsd,
    NanoUsd,
    NanoUsd,
  ];
  // The needed amount is never rounded down, and the available one never up.
  const free = available > 0n ? usd(available, 'down') : 'nothing';
  const holders = open && open.batches > 0 ? 'calls and batches' : 'calls';
  const others = held > 0n ? `; ${holders} in progress held ${usd(held)}` : '';
  const shorter =
    money.maxTokensThatPass === null
      ? ''
      : ` With an answer of at most ${count(money.maxTokensThatPass)} tokens it would have run.`;
  return {
    tone: 'warn',
    text: `Your latest denied call needed ${usd(needed, 'up')} of your balance, and ${free} was free${others}.${shorter}`,
  };
}

function unusableSentence({ unit, amount, label }: WidgetCredit): Sentence {
  const text =
    unit === 'USD'
      ? `You have ${usd(amount, 'down')} of credit. This credit cannot be used on your plan.`
      : `You have ${count(amount)} bought units${label === null ? '' : ` of ${label}`}. They cannot be used on your plan.`;
  return { tone: 'plain', text };
}

/** Whether one sentence covers both. */
function isAlike(tier: WidgetTier, other: WidgetTier): boolean {
  const groupKey = ({ payer, isIncluded, isShort, exhausted }: WidgetTier) =>
    JSON.stringify([payer, isIncluded, isShort, exhausted?.replace(/^[a-z]+/, '')]);
  return groupKey(tier) === groupKey(other);
}

function tierSentence(alike: WidgetTier[], usage: WidgetUsage, nowMs: number): Sentence | null {
  const [first] = alike;
  if (!first) return null;
  const { payer, isIncluded, isShort } = first;
  const what = tiersNoun(alike, isIncluded ? ' and ' : ' or ');
  const calls = `${alike.map(({ tier }) => tier).join(' and ')} calls`;
  const used = isIncluded ? `Your plan's ${what} are used up` : `Your plan includes no ${what}`;
  const balance = usage.balance?.nanoUsd ?? 0n;
  const [until, again] = renewalWords(usage, isIncluded, nowMs);
  switch (payer.by) {
    case 'allowance':
    case 'units':
      return null;
    case 'counted':
      return { tone: 'plain', text: `${used}. There is no limit: further ${calls} are counted.` };
    case 'balance':
      return isShort
        ? {
            tone: 'warn',
            text: `${used}. Your balance of ${usd(balance)} may be too low for the next call. One usually needs ${usd(usage.usualNanoUsd, 'up')}.`,
          }
        : { tone: 'plain', text: `${used}. Your balance of ${usd(balance)} pays from here.` };
  }
  const spent = payer.reason === 'CREDIT_REQUIRED' ? ', and nothing is left of your balance' : '';
  if (payer.instead) {
    const pays = payer.instead.payer.by === 'balance' ? `, paid by your balance of ${usd(balance)}` : '';
    return { tone: 'warn', text: `${used}${spent}: ${payer.instead.tier} models answer${until}${pays}.` };
  }
  switch (payer.reason) {
    case 'BALANCE_HELD':
      return {
        tone: 'warn',
        text: `${used}. Calls in progress hold your balance: the next one has to wait for them. They hold ${usd(usage.balance?.heldNanoUsd ?? 0n)} of ${usd(balance)}.`,
      };
    case 'CREDIT_REQUIRED':
      return { tone: 'bad', text: `${used}${spent}: ${calls} are denied${until}.` };
    default:
      // A quantity that the plan does not include cannot run out.
      return isIncluded ? { tone: 'bad', text: `${used}: ${calls} are denied${until}.${again}` } : null;
  }
}

/** `premium calls`; `standard and premium tokens`. */
function tiersNoun(tiers: WidgetTier[], joint: string): string {
  const [first] = tiers;
  const unit = first?.exhausted?.endsWith('Tokens') ? 'tokens' : 'calls';
  return `${tiers.map(({ tier }) => tier).join(joint)} ${unit}`;
}

/** ` until 1 Dec`, for an allowance that is renewed. */
function renewalWords({ renewsAtMs }: WidgetUsage, isIncluded: boolean, nowMs: number): [string, string] {
  if (!isIncluded) return ['', ''];
  return renewsAtMs >= NEVER_MS ? ['', ' They do not renew.'] : [` until ${nearDay(renewsAtMs, nowMs)}`, ''];
}

/** The sentence under a meter; `null` if the figures suffice. */
export function meterSentence(meter: WidgetMeter, usage: WidgetUsage, nowMs: number): Sentence | null {
  const { limit, remaining, payer, bought, runsOutAtMs } = meter;
  if (usage.canceledAtMs !== null) return null;
  if (isNotInPlan(meter)) return { tone: 'plain', text: 'Not in your plan' };
  if (limit === null) return null;
  if (remaining > 0) {
    const more = bought ? ` and ${count(bought.left)} of ${count(bought.units)} bought units` : '';
    const end = runsOutAtMs === null ? '' : `; used up about ${nearDay(runsOutAtMs, nowMs)} at this pace`;
    return { tone: 'plain', text: `${count(remaining)} left${more}${end}` };
  }
  const used = limit > 0 ? 'used up: ' : '';
  switch (payer.by) {
    case 'allowance':
      return null;
    case 'units':
      return {
        tone: 'plain',
        text: `${used}${count(bought?.left ?? 0)} of ${count(bought?.units ?? 0)} bought units left`,
      };
    case 'balance':
      return { tone: 'plain', text: `${used}your balance pays` };
    case 'counted':
      return { tone: 'plain', text: `${used}no limit, counted` };
  }
  if ('instead' in payer && payer.instead) return { tone: 'warn', text: `${used}${payer.instead.tier} models answer` };
  if (payer.reason === 'BALANCE_HELD') return { tone: 'warn', text: `${used}calls in progress hold your balance` };
  return { tone: 'bad', text: 'nothing left' };
}

/**
 * Whether the plan does not include it, and nothing else pays for it. A custom meter may exist only by purchased units.
 */
export function isNotInPlan({ limit, payer, name }: WidgetMeter): boolean {
  if (payer.by !== 'nobody') return false;
  if (payer.reason === 'METER_NOT_ENABLED' || payer.reason === 'CAPABILITY_NOT_IN_PLAN') return true;
  return limit === 0 && METERS[name].slot === null;
}

/** How long the balance lasts; `null` if that is not known. */
export function balanceSentence({ balance, renewsAtMs }: WidgetUsage, nowMs: number): string | null {
  if (!balance?.runsOutAtMs) return null;
  if (balance.runsOutAtMs !== 'lasts')
    return `At this pace it lasts until about ${nearDay(balance.runsOutAtMs, nowMs)}.`;
  return renewsAtMs >= NEVER_MS ? null : 'At this pace it lasts until your plan renews.';
}

export function meterName({ name, label }: WidgetMeter): string {
  return meterTitle(name, label);
}

function nearDay(atMs: number, nowMs: number): string {
  return Math.abs(atMs - nowMs) < NEAR_MS ? dayMonth(atMs) : calendarDay(atMs);
}
