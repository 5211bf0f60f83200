/**
 * Use case: anomalies in the usage of an organization and its largest customers, from the roll-ups in D1.
 *
 * The organization, and a customer named in the query, are read by the hour; the largest customers by the day, so that
 * the amount of data is bounded.
 */

import { type Answer, accept } from '../../contract/errors.ts';
import type { AnomaliesData, AnomaliesQuery } from '../../contract/readings.ts';
import type { Env } from '../../env.ts';
import type { Caller } from '../../metering/caller.ts';
import { type PageRequest, pageOf } from '../../platform/page.ts';
import { DAY_MS, HOUR_MS } from '../../platform/time.ts';
import { usageKeptSinceMs } from '../../storage/retention.ts';
import {
  readDailySpend,
  readHourlySpend,
  readOrganizationSpend,
  type SpendPeriod,
  type SpendRow,
} from '../../storage/spend.ts';
import { sumUsage } from '../../storage/usage.ts';
import { dayBuckets, detectAnomalies, hourBuckets } from './detect.ts';
import type { Episode, UsageBucket } from './episode.ts';

const CUSTOMERS_MAX = 20;

type Bucket = Omit<UsageBucket, 'endMs'>;

export async function readAnomalies(
  { env, organization }: Caller,
  { days, customerId }: AnomaliesQuery,
  { after, limit }: PageRequest,
  nowMs = Date.now(),
): Promise<Answer<AnomaliesData>> {
  const { organizationId } = organization;
  const toMs = nowMs - (nowMs % HOUR_MS);
  // From midnight, so that the number of whole days does not depend on the time of day.
  const fromMs = toMs - (toMs % DAY_MS) - days * DAY_MS;
  const period = { fromMs, toMs };
  const [hourly, largest] = await (customerId === undefined
    ? Promise.all([
        readOrganizationSpend(env, organizationId, period),
        largestCustomers(env, organization, period, nowMs),
      ])
    : Promise.all([readHourlySpend(env, organizationId, period, customerId), []]));
  const daily = largest.length === 0 ? [] : await readDailySpend(env, organizationId, period, largest);
  const items = [
    ...present(customerId ?? null, detectAnomalies(series(hourBuckets, hourly, toMs), 'hour')),
    ...largest.flatMap((id) => {
      const own = daily.filter((row) => row.customerId === id);
      return present(id, detectAnomalies(series(dayBuckets, own, toMs), 'day'));
    }),
  ].sort((a, b) => (a.startedAt === b.startedAt ? 0 : a.startedAt < b.startedAt ? 1 : -1));
  const data: AnomaliesData = {
    period: { startedAt: iso(fromMs), endedAt: iso(toMs) },
    asOf: iso(toMs),
    ...pageOf(items.slice(after === null ? 0 : items.findIndex((item) => idOf(item) === after) + 1), limit, idOf),
    customersLookedAt: customerId === undefined ? largest.length : 1,
  };
  return accept('USAGE_ANOMALIES_READ', data, nowMs);
}

function idOf({ startedAt, kind, customerId }: AnomaliesData['items'][number]): string {
  return `${startedAt} ${kind} ${customerId ?? ''}`;
}

/** Starts at the first use: days before it are not usual days, and the first model is not a new one. */
function series(fill: typeof hourBuckets, rows: readonly SpendRow[], toMs: number): UsageBucket[] {
  const buckets = bucketsOf(rows);
  const firstMs = buckets.reduce((first, { startMs }) => Math.min(first, startMs), toMs);
  return fill(buckets, firstMs, toMs);
}

/** The customers with the highest cost in the days of the period whose usage is kept, highest first. */
async function largestCustomers(
  env: Env,
  { organizationId, retention }: Caller['organization'],
  { fromMs, toMs }: SpendPeriod,
  nowMs: number,
): Promise<string[]> {
  const keptFromMs = Math.min(Math.max(fromMs, usageKeptSinceMs(retention, nowMs)), toMs);
  const { customer } = await sumUsage(env, organizationId, { fromMs: keptFromMs, toMs }, ['customer'], CUSTOMERS_MAX);
  return customer.map(({ key }) => key);
}

/** Combines a row of totals and the rows of its models into one bucket. */
function bucketsOf(rows: readonly SpendRow[]): Bucket[] {
  const buckets = new Map<number, Bucket>();
  for (const { startMs, model, calls, failedCalls, costUsd } of rows) {
    const bucket = buckets.get(startMs) ?? { startMs, spend: 0, calls: 0, failedCalls: 0, models: {} };
    if (model === null) buckets.set(startMs, { ...bucket, spend: costUsd, calls, failedCalls });
    else buckets.set(startMs, { ...bucket, models: { ...bucket.models, [model]: costUsd } });
  }
  return [...buckets.values()];
}

function present(customerId: string | null, episodes: readonly Episode[]): AnomaliesData['items'] {
  return episodes.map(({ kind, startMs, endMs, expected, observed, severity, evidence }) => ({
    customerId,
    kind,
    startedAt: iso(startMs),
    endedAt: iso(endMs),
    unit: kind === 'SILENCE' || kind === 'ERROR_BURST' ? 'calls' : 'USD',
    expected,
    observed,
    severity,
    evidence,
  }));
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
