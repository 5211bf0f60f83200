/**
 * An episode as one sentence for people: the event, its time, the usual value, and the explanation.
 */
import { DAY_MS, HOUR_MS } from '../../platform/time.ts';
import { type Episode, episodeSubject } from './episode.ts';
import type { Contribution } from './explain.ts';

/** The least share of the change that a contribution needs to be named in the sentence. */
const MOSTLY = 0.5;
/** Significant digits of an amount below a dollar. */
const SMALL_DIGITS = 2;

const numbers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const cents = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const small = new Intl.NumberFormat('en-US', { maximumSignificantDigits: SMALL_DIGITS, maximumFractionDigits: 9 });
const dates = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });

const usd = (amount: number) => `$${amount === 0 || amount >= 1 ? cents.format(amount) : small.format(amount)}`;
const whole = (count: number) => numbers.format(count < 10 ? count : Math.round(count));
const percent = (share: number) => `${numbers.format(100 * share)} %`;
const calls = (count: number) => (count === 0 ? 'No calls' : count === 1 ? '1 call' : `${whole(count)} calls`);
const times = (ratio: number) => `${numbers.format(ratio)} times`;
const figure = (value: unknown) => Number(value ?? 0);

export function episodeSentence(episode: Episode, explainedBy: readonly Contribution[]): string {
  return [whatHappened(episode), ...mostly(episode, explainedBy)].join(' ');
}

function whatHappened({ kind, startMs, endMs, expected, observed, evidence }: Episode): string {
  const when = timeWords({ startMs, endMs });
  const subject = episodeSubject(evidence);
  switch (kind) {
    case 'SPEND_SPIKE':
      return `Spent ${usd(observed)} ${when}; usual is ${usd(expected)} (${times(figure(evidence.ratio))}).`;
    case 'USAGE_DROP':
      return `${calls(observed)} ${when}; usual is ${whole(expected)} (${percent(figure(evidence.ratio))} of it).`;
    case 'SILENCE':
      return `${calls(observed)} ${when}; usual is ${whole(expected)}.`;
    case 'ERROR_BURST':
      return `${whole(observed)} of ${calls(figure(evidence.calls))} failed ${when} (${percent(figure(evidence.failedShare))}); usual is ${percent(figure(evidence.usualFailedShare))}.`;
    case 'DENIAL_BURST':
      return `${whole(observed)} of ${whole(figure(evidence.calls))} requests were denied ${when} (${percent(figure(evidence.failedShare))}); usual is ${percent(figure(evidence.usualFailedShare))}.`;
    case 'NEW_EXPENSIVE_MODEL':
      return `${subject}, a new model, cost ${usd(observed)} ${when}: ${percent(figure(evidence.shareOfSpend))} of the spend.`;
    case 'NEW_EXPENSIVE_FEATURE':
      return `${subject}, a new feature, cost ${usd(observed)} ${when}: ${percent(figure(evidence.shareOfSpend))} of the spend.`;
    case 'COST_PER_CALL_SHIFT':
      return `A call cost ${usd(observed)} ${when}; usual is ${usd(expected)} (${times(figure(evidence.ratio))}).`;
    case 'CACHE_RATE_DROP':
      return `${percent(observed)} of the input came from the cache ${when}; usual is ${percent(expected)}.`;
    case 'CUSTOMER_SHARE_RISE':
      return `${percent(observed)} of the organization's spend ${when}; usual is ${percent(expected)}.`;
  }
}

/** The largest contribution of each dimension, if it is most of the change and not the subject of the sentence. */
function mostly({ kind, evidence }: Episode, explainedBy: readonly Contribution[]): string[] {
  // A silence has no larger contributions: all of it is silent.
  if (kind === 'SILENCE') return [];
  const named = new Map<string, string>();
  for (const { dimension, key, share, among } of explainedBy)
    if (share >= MOSTLY && among > 1 && !named.has(dimension) && key !== episodeSubject(evidence))
      named.set(dimension, key);
  const parts = [...named].map(([dimension, key]) => `${dimension} ${key}`);
  return parts.length === 0 ? [] : [`Mostly ${parts.join(', ')}.`];
}

/** `on 13 Nov`, `from 13 to 15 Nov`, `on 13 Nov from 14:00 to 17:00 UTC`. */
function timeWords({ startMs, endMs }: { startMs: number; endMs: number }): string {
  const lastMs = endMs - HOUR_MS;
  const [first, last] = [dates.format(startMs), dates.format(lastMs)];
  if (startMs % DAY_MS === 0 && endMs % DAY_MS === 0)
    return first === last ? `on ${first}` : `from ${first} to ${last}`;
  const [from, to] = [clock.format(startMs), clock.format(endMs)];
  return first === last
    ? `on ${first} from ${from} to ${endMs % DAY_MS === 0 ? '24:00' : to} UTC`
    : `from ${first} ${from} to ${dates.format(endMs)} ${to} UTC`;
}
