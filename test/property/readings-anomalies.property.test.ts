/**
 * Anomalies are found and little else is: over hundreds of seeded histories with one injected episode each, recall and
 * precision are at least 0.9, by kind and together, and a clean history rarely raises an alarm.
 *
 * An episode that is found matches an injected one of the same kind when they share a moment. Every other one is false.
 */
import { expect, test } from 'vitest';
import { ANOMALY_KINDS } from '../../src/contract/readings.ts';
import { detectAnomalies } from '../../src/readings/anomalies/detect.ts';
import {
  type AnomalyKind,
  type Episode,
  NO_USAGE,
  UNITS,
  type UsageBucket,
} from '../../src/readings/anomalies/episode.ts';
import { shareRises } from '../../src/readings/anomalies/shifts.ts';
import {
  type Chance,
  chance,
  DAY_MS,
  flatProfile,
  HOUR_MS,
  officeProfile,
  waveProfile,
  weekOf,
} from '../support/series.ts';
import { missOf, sampleOf } from '../support/sweep.ts';

const CASES = 150;
/** None of these seeds was looked at while the constants were chosen. */
const FIRST_SEED = 800_000;
const SEEDS = Array.from({ length: CASES }, (_, at) => FIRST_SEED + at);
/** Histories of each kind of episode in a sample. */
const CASES_IN_SAMPLE = 50;

interface Found {
  hits: number;
  misses: number;
  falseAlarms: number;
  /** Histories with at least one false alarm. */
  disturbed: number;
}

function measure(kind: AnomalyKind | null, seeds: readonly number[]): Found {
  const found: Found = { hits: 0, misses: 0, falseAlarms: 0, disturbed: 0 };
  for (const seed of seeds) {
    const { buckets, injected, resolution } = anomalyCase(seed, kind);
    const episodes = detectAnomalies(buckets, resolution);
    const matches = injected.map((truth) =>
      episodes.filter(
        (episode) => episode.kind === truth.kind && episode.startMs < truth.endMs && truth.startMs < episode.endMs,
      ),
    );
    const hits = matches.filter((match) => match.length > 0).length;
    found.hits += hits;
    found.misses += matches.length - hits;
    const matched = new Set(matches.flat());
    const others = episodes.filter(
      (episode) => !matched.has(episode) && !injected.some((truth) => follows(episode, truth)),
    ).length;
    found.falseAlarms += others;
    if (others > 0) found.disturbed += 1;
  }
  return found;
}

/** Days of dearer calls are also days of more spend. */
const follows = (episode: InjectedEpisode, truth: InjectedEpisode) =>
  truth.kind === 'COST_PER_CALL_SHIFT' &&
  episode.kind === 'SPEND_SPIKE' &&
  episode.startMs < truth.endMs &&
  truth.startMs < episode.endMs;

const recall = ({ hits, misses }: Found) => hits / (hits + misses);
const precision = ({ hits, falseAlarms }: Found) => hits / (hits + falseAlarms);

test('injected episodes are found, and nothing else', () => {
  const all: Found = { hits: 0, misses: 0, falseAlarms: 0, disturbed: 0 };
  const seeds = sampleOf(SEEDS, CASES_IN_SAMPLE);
  // The rise of a share is found in two series: of the customer, and of the organization.
  const kinds = ANOMALY_KINDS.filter((kind) => kind !== 'CUSTOMER_SHARE_RISE');
  /** The required share, less the possible deviation in a sample of so many kinds of cases. */
  const least = (share: number, of: number) => share - missOf(share, of * seeds.length, of * CASES);
  for (const kind of kinds) {
    const found = measure(kind, seeds);
    console.log(`${kind.padEnd(20)} recall ${recall(found).toFixed(3)}  precision ${precision(found).toFixed(3)}`);
    expect(recall(found), kind).toBeGreaterThanOrEqual(least(0.9, 1));
    expect(precision(found), kind).toBeGreaterThanOrEqual(least(0.9, 1));
    for (const name of ['hits', 'misses', 'falseAlarms', 'disturbed'] as const) all[name] += found[name];
  }
  expect(recall(all)).toBeGreaterThanOrEqual(least(0.95, kinds.length));
  expect(precision(all)).toBeGreaterThanOrEqual(least(0.93, kinds.length));
});

test('at most 1 of 16 histories without anomalies raises an alarm', () => {
  const { disturbed } = measure(null, SEEDS);
  console.log(`clean                disturbed ${(disturbed / CASES).toFixed(3)}`);
  expect(disturbed / CASES).toBeLessThanOrEqual(1 / 16);
});

test('a customer who takes far more of the spend is found, and others are not', () => {
  let hits = 0;
  let others = 0;
  for (const seed of SEEDS) {
    const c = chance(seed);
    const share = c.between(0.05, 0.3);
    const start = Math.floor(c.between(14, 50));
    const length = Math.floor(c.between(4, 10));
    const days = Array.from({ length: 60 }, (_, day) => {
      const all = 1_000 * c.lognormal(0.2);
      const risen = day >= start && day < start + length ? share + 0.3 : share;
      const [usual, spend] = [all * share * c.lognormal(0.2), all * Math.min(1, risen * c.lognormal(0.2))];
      const bucket = { ...NO_USAGE, startMs: day * DAY_MS, endMs: (day + 1) * DAY_MS, calls: 100 };
      return { all, usual: { ...bucket, spend: usual }, risen: { ...bucket, spend } };
    });
    const all = days.map((day) => day.all);
    const found = shareRises(
      days.map(({ risen }) => risen),
      all,
    );
    if (found.some(({ startMs, endMs }) => startMs < (start + length) * DAY_MS && start * DAY_MS < endMs)) hits += 1;
    others += shareRises(
      days.map(({ usual }) => usual),
      all,
    ).length;
  }
  expect(hits / CASES).toBeGreaterThanOrEqual(0.9);
  expect(others / CASES).toBeLessThanOrEqual(0.02);
});

const GRADES = ['LOW', 'MEDIUM', 'HIGH'];
/** What a whole history costs, in USD. */
const WORTH_USD = [0.02, 1, 30, 1_000, 100_000];
/** An episode of less is low. */
const LOW_BELOW = { USD: 1, calls: 10 };

test('the same episodes are no less severe if they are worth more, and those worth little are low', () => {
  const seen = new Set<string>();
  for (const seed of SEEDS.slice(0, CASES_IN_SAMPLE))
    for (const kind of ANOMALY_KINDS.filter((one) => one !== 'CUSTOMER_SHARE_RISE')) {
      const { buckets, resolution } = anomalyCase(seed, kind);
      const total = buckets.reduce((sum, { spend }) => sum + spend, 0);
      let before: Episode[] | undefined;
      for (const worthUsd of WORTH_USD) {
        const episodes = detectAnomalies(atOtherPrices(buckets, worthUsd / total), resolution);
        for (const [at, { kind: found, startMs, severity }] of (before ?? []).entries()) {
          expect(episodes[at]).toMatchObject({ kind: found, startMs });
          expect(GRADES.indexOf(episodes[at]?.severity ?? '')).toBeGreaterThanOrEqual(GRADES.indexOf(severity));
        }
        for (const { kind: found, expected, observed, severity } of episodes) {
          seen.add(`${found} ${severity}`);
          const unit = UNITS[found] === 'calls' ? 'calls' : 'USD';
          const amount = unit === 'USD' ? worthUsd : Math.max(observed, expected);
          if (amount < LOW_BELOW[unit]) expect(severity, found).toBe('LOW');
        }
        before = episodes;
      }
    }
  // More than low is said of every kind that was injected.
  expect([...seen].filter((one) => one.endsWith('MEDIUM'))).toHaveLength(ANOMALY_KINDS.length - 1);
});

/** The same history at other prices. */
function atOtherPrices(buckets: readonly UsageBucket[], times: number): UsageBucket[] {
  const scaled = (amounts: UsageBucket['models']) =>
    Object.fromEntries(Object.entries(amounts).map(([key, amount]) => [key, amount * times]));
  return buckets.map((bucket) => ({
    ...bucket,
    spend: bucket.spend * times,
    models: scaled(bucket.models),
    features: scaled(bucket.features),
  }));
}

interface InjectedEpisode {
  kind: AnomalyKind;
  startMs: number;
  endMs: number;
}

interface AnomalyCase {
  resolution: 'hour' | 'day';
  buckets: UsageBucket[];
  injected: InjectedEpisode[];
}

/** One hour of the usage that an anomaly case bends before it draws. */
interface HourRate {
  calls: number;
  failedShare: number;
  /** Spend of a call. */
  price: number;
  newModelShare: number;
  newFeatureShare: number;
  deniedShare: number;
  /** Share of the input that comes from the cache. */
  cachedShare: number;
}

const ANOMALY_TEXTURES = ['weekly', 'drifting', 'growing', 'flat'] as const;

/** A history of usage with at most one injected episode; without `kind` it is clean. */
function anomalyCase(seed: number, kind: InjectedEpisode['kind'] | null): AnomalyCase {
  const c = chance(seed * 6_101 + (kind === null ? 17 : kind.length * 977));
  const startMs = Date.UTC(2026, 0, 1 + Math.floor(c.between(0, 7)));
  const days = c.pick([28, 45, 60, 90]);
  const resolution = c.pick(['hour', 'day'] as const);
  const rates = usualRates(c, startMs, days);
  const injected = kind === null ? [] : [inject(c, rates, startMs, kind, resolution)];
  return { resolution, buckets: drawBuckets(c, rates, startMs, resolution), injected };
}

function usualRates(c: Chance, startMs: number, days: number): HourRate[] {
  const texture = c.pick(ANOMALY_TEXTURES);
  const week = texture === 'weekly' || texture === 'growing' ? weekOf(c) : [1, 1, 1, 1, 1, 1, 1];
  const profile = c.pick([flatProfile, officeProfile, waveProfile]);
  const size = c.logBetween(60, 5_000);
  const noise = c.pick([0, 0.1, 0.2]);
  const growth = texture === 'growing' ? c.between(0.99, 1.015) : 1;
  const failedShare = c.pick([0.002, 0.01, 0.03, 0.08]);
  let level = 1;
  const rates: HourRate[] = [];
  for (let day = 0; day < days; day += 1) {
    if (texture === 'drifting') level *= Math.exp(0.04 * c.normal());
    const weekday = new Date(startMs + day * DAY_MS).getUTCDay();
    const rate = size * level * growth ** day * (week[weekday] ?? 1) * c.lognormal(noise);
    for (let hour = 0; hour < 24; hour += 1) {
      rates.push({
        calls: rate * profile(weekday, hour),
        failedShare,
        price: 1,
        newModelShare: 0,
        newFeatureShare: 0,
        deniedShare: 0.01,
        cachedShare: 0.5,
      });
    }
  }
  return rates;
}

function inject(
  c: Chance,
  rates: HourRate[],
  startMs: number,
  kind: InjectedEpisode['kind'],
  resolution: 'hour' | 'day',
): InjectedEpisode {
  const byHours =
    resolution === 'hour' &&
    c.uniform() < 0.5 &&
    (kind === 'SPEND_SPIKE' || kind === 'ERROR_BURST' || kind === 'DENIAL_BURST');
  const lasting = kind === 'SILENCE' || kind === 'COST_PER_CALL_SHIFT' || kind === 'CACHE_RATE_DROP';
  const length = byHours ? Math.floor(c.between(3, 9)) : 24 * Math.floor(c.between(lasting ? 3 : 1, lasting ? 10 : 4));
  const firstDay = Math.floor(c.between(16, rates.length / 24 - Math.ceil(length / 24)));
  // By hours: within the working day, which has usage to change.
  const start = firstDay * 24 + (byHours ? 9 : 0);
  const isNew = kind === 'NEW_EXPENSIVE_MODEL' || kind === 'NEW_EXPENSIVE_FEATURE';
  const end = isNew ? Math.min(rates.length, start + 7 * 24) : start + length;
  const factor = byHours ? c.between(6, 15) : c.between(3, 8);
  const failed = c.between(0.25, 0.8);
  const share = c.between(0.35, 0.8);
  const fall = c.between(0.1, 0.3);
  const dearer = c.between(1.35, 1.6);
  for (let at = start; at < (isNew ? rates.length : end); at += 1) {
    const rate = rates[at] as HourRate;
    if (kind === 'SPEND_SPIKE') rate.calls *= factor;
    else if (kind === 'USAGE_DROP') rate.calls *= fall;
    else if (kind === 'SILENCE') rate.calls = 0;
    else if (kind === 'ERROR_BURST') rate.failedShare = failed;
    else if (kind === 'DENIAL_BURST') rate.deniedShare = failed;
    else if (kind === 'COST_PER_CALL_SHIFT') rate.price *= dearer;
    else if (kind === 'CACHE_RATE_DROP') rate.cachedShare *= fall;
    else if (kind === 'NEW_EXPENSIVE_FEATURE') rate.newFeatureShare = share;
    else rate.newModelShare = share;
  }
  return { kind, startMs: startMs + start * HOUR_MS, endMs: startMs + end * HOUR_MS };
}

function drawBuckets(
  c: Chance,
  rates: readonly HourRate[],
  startMs: number,
  resolution: 'hour' | 'day',
): AnomalyCase['buckets'] {
  const size = resolution === 'hour' ? 1 : 24;
  const spread = c.pick([0.2, 0.6]);
  // A random sequence of its own, so that the other draws do not depend on it.
  const other = chance(startMs + rates.length);
  const buckets: AnomalyCase['buckets'] = [];
  for (let at = 0; at < rates.length; at += size) {
    const bucketMs = startMs + at * HOUR_MS;
    const bucket = {
      ...NO_USAGE,
      startMs: bucketMs,
      endMs: bucketMs + size * HOUR_MS,
      models: {} as Record<string, number>,
      features: {} as Record<string, number>,
    };
    for (const rate of rates.slice(at, at + size)) {
      const calls = c.poisson(rate.calls);
      bucket.calls += calls;
      bucket.failedCalls += Math.min(calls, c.poisson(calls * rate.failedShare));
      // The mean price of so many calls varies less the more there are.
      const spend = calls * rate.price * (calls > 0 ? c.lognormal(spread / Math.sqrt(calls)) : 1);
      bucket.spend += spend;
      bucket.deniedCalls += other.poisson((calls * rate.deniedShare) / (1 - rate.deniedShare));
      const tokens = calls * 1_000;
      bucket.inputTokens += tokens;
      bucket.cachedInputTokens += Math.round(tokens * Math.min(1, rate.cachedShare * other.lognormal(0.1)));
      if (rate.newFeatureShare * spend > 0)
        bucket.features.new = (bucket.features.new ?? 0) + rate.newFeatureShare * spend;
      for (const [model, share] of [
        ['a/old', 1 - rate.newModelShare],
        ['b/new', rate.newModelShare],
      ] as const) {
        if (share * spend > 0) bucket.models[model] = (bucket.models[model] ?? 0) + share * spend;
      }
    }
    buckets.push(bucket);
  }
  return buckets;
}
