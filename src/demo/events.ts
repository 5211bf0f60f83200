/**
 * Generates a demo customer's history as events in order of time. Deterministic: the same profile, days and end give
 * the same history, because randomness comes from a seed and time from the caller.
 */

import { DAY_MS, HOUR_MS } from '../platform/time.ts';
import type { DemoCustomer, FeatureUse, ModelUse } from './people.ts';
import { type Random, seededRandom, weightedFrom } from './random.ts';

/** Share of calls that are never ended, as after a crash of the application. */
const FORGOTTEN_SHARE = 0.002;
/** Share of a vendor's calls that fail on the day of its outage. */
const OUTAGE_SHARE = 0.55;

export interface BegunCall {
  kind: 'call';
  atMs: number;
  endsAtMs: number;
  /** 128 bits, as in a derived key. */
  hash: string;
  user: string;
  feature: FeatureUse;
  model: ModelUse;
  tag: string;
  usage: {
    inputTokens: number;
    cachedInputTokens: number;
    responseTokens: number;
    reasoningTokens: number;
    searches: number;
  };
  /** Prompt tokens before compression; `null` if there was none. */
  originalTokens: number | null;
  error: { code: string; message: string } | null;
  forgotten: boolean;
}

export type DemoEvent =
  | BegunCall
  | { kind: 'increment'; atMs: number; slot: DemoCustomer['meters'][number]['slot']; amount: number; feature: string }
  | { kind: 'credit'; atMs: number; credit: DemoCustomer['credits'][number] }
  | { kind: 'upgrade'; atMs: number; planId: string };

const ERRORS = [
  { code: 'rate_limit_exceeded', message: 'The vendor answered 429: too many requests' },
  { code: 'overloaded_error', message: 'The vendor answered 529: overloaded' },
  { code: 'context_length_exceeded', message: 'The prompt is longer than the context of the model' },
];

/** The customer's events from its first day until `untilMs` (exclusive), in order. */
export function simulateEvents(customer: DemoCustomer, untilMs: number): DemoEvent[] {
  const random = seededRandom(customer.customerId);
  const firstMs = startOfDayMs(untilMs) - customer.cameDaysAgo * DAY_MS;
  const events: DemoEvent[] = [];
  for (let day = 0; day <= customer.cameDaysAgo; day += 1) {
    const startMs = firstMs + day * DAY_MS;
    const daysAgo = customer.cameDaysAgo - day;
    events.push(...simulateCalls(customer, startMs, daysAgo, random), ...simulateIncrements(customer, startMs, random));
  }
  for (const credit of customer.credits)
    events.push({ kind: 'credit', atMs: startOfDayMs(untilMs) - credit.daysAgo * DAY_MS + 9 * HOUR_MS, credit });
  const { upgrade } = customer;
  if (upgrade)
    events.push({
      kind: 'upgrade',
      atMs: startOfDayMs(untilMs) - upgrade.daysAgo * DAY_MS + 10 * HOUR_MS,
      planId: upgrade.planId,
    });
  return events.filter(({ atMs }) => atMs < untilMs).toSorted((one, other) => one.atMs - other.atMs);
}

function simulateCalls(customer: DemoCustomer, startMs: number, daysAgo: number, random: Random): BegunCall[] {
  const { callsPerDay, startShare, cameDaysAgo, spike } = customer;
  const grown = startShare + (1 - startShare) * (1 - daysAgo / Math.max(1, cameDaysAgo));
  const usual = callsPerDay * grown * weekdayShare(customer, startMs) * (0.8 + 0.4 * random());
  const calls = Array.from({ length: Math.round(usual) }, () =>
    simulateCall(customer, startMs, daysAgo, weightedFrom(customer.features, random), random),
  );
  if (spike?.daysAgo !== daysAgo) return calls;
  const feature = customer.features.find((candidate) => candidate.feature === spike.feature);
  if (!feature) throw new Error(`${customer.customerId} has no feature ${spike.feature}`);
  const more = Math.round(callsPerDay * (spike.factor - 1));
  return [...calls, ...Array.from({ length: more }, () => simulateCall(customer, startMs, daysAgo, feature, random))];
}

function simulateCall(
  customer: DemoCustomer,
  startMs: number,
  daysAgo: number,
  feature: FeatureUse,
  random: Random,
): BegunCall {
  const model = weightedFrom(customer.models, random);
  const atMs = startMs + timeOfDay(customer.busiestHour, random);
  const inputTokens = spread(feature.inputTokens, random);
  const responseTokens = spread(feature.outputTokens, random);
  const searches = random() < feature.searchShare ? 1 + Math.floor(random() * 3) : 0;
  const isDown = customer.outage?.daysAgo === daysAgo && customer.outage.provider === model.provider;
  const failed = random() < (isDown ? OUTAGE_SHARE : customer.failureShare);
  const usage = failed
    ? { inputTokens: 0, cachedInputTokens: 0, responseTokens: 0, reasoningTokens: 0, searches: 0 }
    : {
        inputTokens,
        cachedInputTokens: Math.floor(inputTokens * feature.cachedShare * random()),
        responseTokens,
        reasoningTokens: model.tier === 'premium' ? Math.floor(responseTokens * 0.4 * random()) : 0,
        searches,
      };
  return {
    kind: 'call',
    atMs,
    endsAtMs: atMs + 700 + responseTokens * 8 + Math.floor(random() * 1_500),
    hash: Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join(''),
    user: `user-${1 + Math.floor(random() ** 2 * customer.users)}`,
    feature,
    model,
    tag: random() < 0.7 ? 'web' : 'api',
    usage,
    originalTokens:
      !failed && random() < feature.compressedShare ? Math.round(inputTokens * (1.1 + 0.3 * random())) : null,
    error: failed ? ((isDown ? ERRORS[1] : ERRORS[Math.floor(random() * ERRORS.length)]) ?? null) : null,
    forgotten: random() < FORGOTTEN_SHARE,
  };
}

function simulateIncrements(customer: DemoCustomer, startMs: number, random: Random): DemoEvent[] {
  return customer.meters.flatMap(({ slot, perDay, amount, feature }) => {
    const times = Math.round(perDay * weekdayShare(customer, startMs) * (0.6 + 0.8 * random()));
    return Array.from({ length: times }, () => ({
      kind: 'increment' as const,
      atMs: startMs + timeOfDay(customer.busiestHour, random),
      slot,
      amount: spread(amount, random),
      feature,
    }));
  });
}

function weekdayShare({ weekendShare }: DemoCustomer, startMs: number): number {
  return [0, 6].includes(new Date(startMs).getUTCDay()) ? weekendShare : 1;
}

/** An hour near the busiest one. The mean of three random numbers is nearly normal. */
function timeOfDay(busiestHour: number, random: Random): number {
  const bell = (random() + random() + random()) / 3 - 0.5;
  const hour = (busiestHour + bell * 20 + 24) % 24;
  return Math.floor(hour * HOUR_MS);
}

/** A factor of 0.5 to slightly above 2, more often below 1 than above. */
function spread(usual: number, random: Random): number {
  return Math.max(1, Math.round(usual * (0.5 + 1.6 * random() ** 2)));
}

function startOfDayMs(atMs: number): number {
  return atMs - (atMs % DAY_MS);
}
