/**
 * Use case: anomalies in the usage of an organization and its largest customers, from the roll-ups in D1.
 *
 * The organization, and a customer named in the query, are read by the hour; the largest customers by the day, so that
 * the amount of data is bounded. Explanations are read only for the episodes of the page.
 */

import { keptPart } from '../../config/kept-part.ts';
import { accept } from '../../contract/errors.ts';
import type { AnswerTo } from '../../contract/operations.ts';
import type { AnomaliesData, AnomaliesQuery } from '../../contract/readings.ts';
import { asCustomerId, type CustomerId, type OrganizationId } from '../../domain/ids.ts';
import type { Env } from '../../env.ts';
import {
  readDailySpend,
  readHourlySpend,
  readOrganizationSpend,
  type SpendPeriod,
  type SpendRow,
} from '../../history/spend.ts';
import { sumUsage } from '../../history/usage.ts';
import { readUsageOfSpans, type Span } from '../../history/usage-of-spans.ts';
import type { Reader } from '../../metering/caller.ts';
import { makePage, type PageRequest } from '../../platform/page.ts';
import { DAY_MS, HOUR_MS } from '../../platform/time.ts';
import { dayBuckets, detectAnomalies, hourBuckets, type Used } from './detect.ts';
import { dayNumber, type Episode, episodeId, UNITS, type UsageBucket } from './episode.ts';
import { contributions, explainedSpans, type Usage } from './explain.ts';
import { episodeSentence } from './sentences.ts';
import { shareRises } from './shifts.ts';

const CUSTOMERS_MAX = 20;

/** An episode and its customer: `null` for the organization. */
interface Found {
  customerId: CustomerId | null;
  episode: Episode;
}

export async function readAnomalies(
  { env, organization }: Reader,
  { days, customerId }: AnomaliesQuery,
  { after, limit }: PageRequest,
  nowMs = Date.now(),
): Promise<AnswerTo<'readUsageAnomalies'>> {
  const { organizationId } = organization;
  const toMs = nowMs - (nowMs % HOUR_MS);
  // From midnight, so that the number of whole days does not depend on the time of day.
  const fromMs = toMs - (toMs % DAY_MS) - days * DAY_MS;
  const period = keptPart({ fromMs, toMs }, organization.retention, nowMs);
  const [hourly, largest] = await (customerId === undefined
    ? Promise.all([readOrganizationSpend(env, organizationId, period), largestCustomers(env, organizationId, period)])
    : Promise.all([readHourlySpend(env, organizationId, period, customerId), []]));
  const daily = largest.length === 0 ? [] : await readDailySpend(env, organizationId, period, largest);
  const all = series(hourBuckets, hourly, toMs);
  const spend = spendByDay(all);
  const firstMs = all[0]?.startMs ?? toMs;
  const found: Found[] = [
    ...detectAnomalies(all, 'hour').map((episode) => ({ customerId: customerId ?? null, episode })),
    ...largest.flatMap((id) => {
      const own = daily.filter((row) => row.customerId === id);
      // A share refers to the organization's days, also to those before the customer's first day.
      const days = dayBuckets(buildBuckets(own), { fromMs: firstMs, toMs });
      const shared = days.map(({ startMs }) => spend.get(dayNumber(startMs)) ?? 0);
      const episodes = [...detectAnomalies(series(dayBuckets, own, toMs), 'day'), ...shareRises(days, shared)];
      return episodes.map((episode) => ({ customerId: id, episode }));
    }),
  ].sort((a, b) => b.episode.startMs - a.episode.startMs);
  const first = after === null ? 0 : found.findIndex((item) => foundId(item) === after) + 1;
  const { items, nextCursor } = makePage(found.slice(first), limit, foundId);
  const data: AnomaliesData = {
    period: { startedAt: iso(fromMs), endedAt: iso(toMs) },
    asOf: iso(toMs),
    items: await explained(env, organizationId, items, daily),
    customersLookedAt: customerId === undefined ? largest.length : 1,
    nextCursor,
  };
  return accept('USAGE_ANOMALIES_READ', data, nowMs);
}

const foundId = ({ customerId, episode }: Found) => episodeId(episode, customerId);

/** Starts at the first use: earlier days are not usual days, and the first model is not a new one. */
function series(fill: typeof hourBuckets, rows: readonly SpendRow[], toMs: number): UsageBucket[] {
  const buckets = buildBuckets(rows);
  const firstMs = buckets.reduce((first, { startMs }) => Math.min(first, startMs), toMs);
  return fill(buckets, { fromMs: firstMs, toMs });
}

/** The spend of each UTC day. */
function spendByDay(buckets: readonly UsageBucket[]): ReadonlyMap<number, number> {
  const spend = new Map<number, number>();
  for (const bucket of buckets) {
    const day = dayNumber(bucket.startMs);
    spend.set(day, (spend.get(day) ?? 0) + bucket.spend);
  }
  return spend;
}

/** The customers with the highest cost in the period, highest first. */
async function largestCustomers(env: Env, organizationId: OrganizationId, period: SpendPeriod): Promise<CustomerId[]> {
  const { customer } = await sumUsage(env, organizationId, period, ['customer'], CUSTOMERS_MAX);
  return customer.map(({ key }) => asCustomerId(key));
}

/** Combines a row of all usage and the rows of new models and features into one bucket. */
function buildBuckets(rows: readonly SpendRow[]): Used[] {
  const buckets = new Map<number, Used>();
  const newcomers: SpendRow[] = [];
  for (const row of rows) {
    if (row.dimension !== 'all') newcomers.push(row);
    else {
      const { startMs, costUsd: spend, calls, failedCalls, deniedCalls, inputTokens, cachedInputTokens } = row;
      buckets.set(startMs, { startMs, spend, calls, failedCalls, deniedCalls, inputTokens, cachedInputTokens });
    }
  }
  for (const { startMs, dimension, key, costUsd } of newcomers) {
    const bucket = buckets.get(startMs) ?? { startMs };
    const of = dimension === 'model' ? 'models' : 'features';
    buckets.set(startMs, { ...bucket, [of]: { ...bucket[of], [key]: costUsd } });
  }
  return [...buckets.values()];
}

/** The items of the answer, with their explanations. `daily` has the days of the customers that are searched. */
async function explained(
  env: Env,
  organizationId: OrganizationId,
  found: readonly Found[],
  daily: readonly SpendRow[],
): Promise<AnomaliesData['items']> {
  const spans = found.map(({ customerId, episode }) => explainedSpans(episode, customerId));
  const usage = await readUsageOfSpans(env, organizationId, spans.flat());
  return found.map(({ customerId, episode }, at) => {
    const [now, before] = spans[at] as [Span, Span];
    const explainedBy = contributions(
      episode.kind,
      {
        now: usage.filter(({ place }) => place === 2 * at),
        before: usage.filter(({ place }) => place === 2 * at + 1),
      },
      customerId === null
        ? { now: customerDays(daily, now), before: customerDays(daily, before) }
        : { now: [], before: [] },
    );
    return {
      id: episodeId(episode, customerId),
      customerId,
      kind: episode.kind,
      summary: episodeSentence(episode, explainedBy),
      startedAt: iso(episode.startMs),
      endedAt: iso(episode.endMs),
      unit: UNITS[episode.kind],
      expected: episode.expected,
      observed: episode.observed,
      severity: episode.severity,
      explainedBy,
      evidence: episode.evidence,
    };
  });
}

/** The usage of customers on the days of a span. */
function customerDays(daily: readonly SpendRow[], { fromMs, toMs }: Span): Usage[] {
  const none = { feature: '', model: '', inputTokens: 0, cachedInputTokens: 0 };
  return daily
    .filter(({ dimension, startMs }) => dimension === 'all' && startMs < toMs && startMs + DAY_MS > fromMs)
    .flatMap(({ customerId, calls, failedCalls, costUsd }) => [
      { ...none, customerId, outcome: 'COMPLETED', calls: calls - failedCalls, costUsd },
      { ...none, customerId, outcome: 'FAILED', calls: failedCalls, costUsd: 0 },
    ]);
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
