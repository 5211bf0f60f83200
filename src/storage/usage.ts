/**
 * Usage by hour in D1, summed by whatever dimension is asked for. Sums of money are read as text: above 2^53 a number
 * would be rounded.
 */
import { and, eq, gte, inArray, lt, type SQL, sql } from 'drizzle-orm';
import type { NanoUsd } from '../domain/money.ts';
import type { Env } from '../env.ts';
import { database } from './database.ts';
import { usageHours } from './schema.ts';

const HOUR_MS = 3_600_000;

export interface UsageFilter {
  fromMs: number;
  toMs: number;
  customerId?: string | undefined;
  feature?: string | undefined;
}

export interface UsageSums {
  calls: number;
  unpricedCalls: number;
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  searches: number;
  costNanoUsd: NanoUsd;
}

export const DIMENSIONS = {
  hour: usageHours.hourMs,
  customer: usageHours.customerId,
  feature: usageHours.feature,
  model: usageHours.model,
  provider: usageHours.provider,
  outcome: usageHours.outcome,
} as const;

export type Dimension = keyof typeof DIMENSIONS;

export type UsageGroup = UsageSums & { key: string };

const sumOf = (column: (typeof usageHours)['calls']) => sql<number>`SUM(${column})`.mapWith(Number);

const SUMS = {
  calls: sumOf(usageHours.calls as never),
  unpricedCalls: sumOf(usageHours.unpricedCalls as never),
  inputTokens: sumOf(usageHours.inputTokens as never),
  cachedInputTokens: sumOf(usageHours.cachedInputTokens as never),
  outputTokens: sumOf(usageHours.outputTokens as never),
  reasoningTokens: sumOf(usageHours.reasoningTokens as never),
  searches: sumOf(usageHours.searches as never),
  costNanoUsd: sql<NanoUsd>`CAST(SUM(${usageHours.costNanoUsd}) AS TEXT)`.mapWith((text: string) => BigInt(text)),
};

/** Groups of each dimension, the dearest first, at most so many; hours in order, all of them. They are of one moment, so that they agree. */
export async function sumUsage<D extends Dimension>(
  env: Env,
  organizationId: string,
  filter: UsageFilter,
  dimensions: readonly D[],
  groupsMax: number,
): Promise<Record<D, UsageGroup[]>> {
  const db = database(env.DB);
  const hoursMax = Math.ceil((filter.toMs - filter.fromMs) / HOUR_MS);
  const queries = dimensions.map((dimension) => {
    const column = DIMENSIONS[dimension];
    return db
      .select({ key: sql<string>`CAST(${column} AS TEXT)`, ...SUMS })
      .from(usageHours)
      .where(matching(organizationId, filter))
      .groupBy(column)
      .having(sql`SUM(${usageHours.calls}) > 0`)
      .orderBy(dimension === 'hour' ? sql`${column}` : sql`SUM(${usageHours.costNanoUsd}) DESC, SUM(${usageHours.calls}) DESC, ${column}`)
      .limit(dimension === 'hour' ? hoursMax : groupsMax);
  });
  const results = (await db.batch(queries as never)) as UsageGroup[][];
  return Object.fromEntries(dimensions.map((dimension, index) => [dimension, results[index] ?? []])) as Record<D, UsageGroup[]>;
}

function matching(organizationId: string, { fromMs, toMs, customerId, feature }: UsageFilter): SQL | undefined {
  return and(
    eq(usageHours.organizationId, organizationId),
    gte(usageHours.hourMs, fromMs),
    lt(usageHours.hourMs, toMs),
    customerId === undefined ? undefined : eq(usageHours.customerId, customerId),
    feature === undefined ? undefined : eq(usageHours.feature, feature),
  );
}

/** Calls and spend of a bucket of time, by outcome and model. Spend as a number: for estimates, not for bills. */
export interface SpendRow {
  customerId: string;
  startMs: number;
  outcome: string;
  /** Empty for models that cost nothing: their names are whatever callers sent, and as many. */
  model: string;
  calls: number;
  costUsd: number;
}

/** Ended calls in buckets of `bucketMs`, of the organization as a whole (`customerIds` null) or of some customers. */
export function readSpend(
  env: Env,
  organizationId: string,
  { fromMs, toMs, bucketMs, customerIds }: { fromMs: number; toMs: number; bucketMs: number; customerIds: readonly string[] | null },
): Promise<SpendRow[]> {
  const bucket = sql<number>`${usageHours.hourMs} / ${sql.raw(String(bucketMs))} * ${sql.raw(String(bucketMs))}`;
  const customer = customerIds === null ? sql<string>`''` : usageHours.customerId;
  const model = sql<string>`CASE WHEN ${usageHours.costNanoUsd} > 0 THEN ${usageHours.model} ELSE '' END`;
  return database(env.DB)
    .select({
      customerId: sql<string>`${customer}`,
      startMs: bucket.mapWith(Number),
      outcome: usageHours.outcome,
      model,
      calls: sql<number>`SUM(${usageHours.calls})`.mapWith(Number),
      costUsd: sql<number>`SUM(${usageHours.costNanoUsd}) / 1e9`.mapWith(Number),
    })
    .from(usageHours)
    .where(
      and(
        matching(organizationId, { fromMs, toMs }),
        inArray(usageHours.outcome, ['COMPLETED', 'FAILED']),
        customerIds === null ? undefined : inArray(usageHours.customerId, [...customerIds]),
      ),
    )
    .groupBy(sql`1`, sql`2`, sql`3`, sql`4`);
}

/** The customers that cost most in the time, the dearest first. */
export async function largestCustomers(env: Env, organizationId: string, fromMs: number, toMs: number, limit: number): Promise<string[]> {
  const rows = await database(env.DB)
    .select({ customerId: usageHours.customerId })
    .from(usageHours)
    .where(matching(organizationId, { fromMs, toMs }))
    .groupBy(usageHours.customerId)
    .orderBy(sql`SUM(${usageHours.costNanoUsd}) DESC, SUM(${usageHours.calls}) DESC, ${usageHours.customerId}`)
    .limit(limit);
  return rows.map(({ customerId }) => customerId);
}
