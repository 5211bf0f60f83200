/**
 * Usage by hour in D1, summed by whatever dimension is asked for. Sums of money are read as text: above 2^53 a number
 * would be rounded.
 */
import { and, eq, gte, inArray, lt, type SQL, sql } from 'drizzle-orm';
import { SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';
import type { NanoUsd } from '../domain/money.ts';
import type { Env } from '../env.ts';
import { database } from './database.ts';
import { usageHours } from './schema.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export interface UsageFilter {
  fromMs: number;
  toMs: number;
  customerId?: string | undefined;
  feature?: string | undefined;
}

/** Days that follow each other without a gap, of whatever length the clock gives them. */
type Days = readonly { startMs: number; endMs: number }[];

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

export type Dimension = keyof typeof DIMENSIONS | 'day';

export type UsageGroup = UsageSums & { key: string };

const SUMMED = {
  calls: usageHours.calls,
  unpricedCalls: usageHours.unpricedCalls,
  inputTokens: usageHours.inputTokens,
  cachedInputTokens: usageHours.cachedInputTokens,
  outputTokens: usageHours.outputTokens,
  reasoningTokens: usageHours.reasoningTokens,
  searches: usageHours.searches,
  costNanoUsd: usageHours.costNanoUsd,
} as const;

/** Sums under the columns' own names, so that sums can be summed again. */
const SUMS = sql.raw(
  Object.values(SUMMED)
    .map(({ name }) => `SUM(${name}) AS ${name}`)
    .join(', '),
);
/** The same columns as an answer has them, money as text. */
const FIGURES = sql.raw(
  Object.entries(SUMMED)
    .map(([figure, { name }]) => `${figure === 'costNanoUsd' ? `CAST(${name} AS TEXT)` : name} AS ${figure}`)
    .join(', '),
);

/** A batch of drizzle binds no values in statements that are written out. */
const DIALECT = new SQLiteAsyncDialect();

type GroupRow = Omit<UsageSums, 'costNanoUsd'> & { dimension: Dimension; key: string; costNanoUsd: string };

/**
 * Groups of each dimension, the dearest first, at most so many. Hours and days are all there, in order; the key of a day is
 * its place in `days`. They are of one moment, so that they agree.
 */
export async function sumUsage<D extends Dimension>(
  env: Env,
  organizationId: string,
  filter: UsageFilter,
  dimensions: readonly D[],
  groupsMax: number,
  days: Days = [],
): Promise<Record<D, UsageGroup[]>> {
  const where = matching(organizationId, filter);
  const hoursMax = Math.ceil((filter.toMs - filter.fromMs) / HOUR_MS);
  const queries = dimensions.filter(isTime).map((dimension) => {
    const place = dimension === 'day' ? dayAmong(days) : sql.raw(usageHours.hourMs.name);
    return groupsOf(dimension, place, sql`${usageHours} WHERE ${where}`, sql`place`, hoursMax);
  });
  const lists = dimensions.filter((dimension) => !isTime(dimension));
  if (lists.length > 0) {
    // The hours are read once for all lists. D1 takes up to five parts of a UNION.
    const columns = sql.raw(lists.map((dimension) => DIMENSIONS[dimension as Listed].name).join(', '));
    const dearest = sql.raw('cost_nano_usd DESC, calls DESC, place');
    const parts = lists.map((dimension) =>
      groupsOf(dimension, sql.raw(DIMENSIONS[dimension as Listed].name), sql.raw('combined'), dearest, groupsMax),
    );
    queries.push(sql`WITH combined AS MATERIALIZED (SELECT ${columns}, ${SUMS} FROM ${usageHours} WHERE ${where} GROUP BY ${columns})
      ${sql.join(parts, sql` UNION ALL `)}`);
  }
  const results = await env.DB.batch<GroupRow>(queries.map((query) => prepare(env.DB, query)));
  const groups = Object.fromEntries(dimensions.map((dimension) => [dimension, [] as UsageGroup[]])) as Record<D, UsageGroup[]>;
  for (const { dimension, costNanoUsd, ...group } of results.flatMap((result) => result.results)) {
    groups[dimension as D].push({ ...group, costNanoUsd: BigInt(costNanoUsd) });
  }
  return groups;
}

function prepare(db: D1Database, query: SQL): D1PreparedStatement {
  const { sql: text, params } = DIALECT.sqlToQuery(query);
  return db.prepare(text).bind(...params);
}

type Listed = Exclude<Dimension, 'hour' | 'day'>;

function isTime(dimension: Dimension): boolean {
  return dimension === 'hour' || dimension === 'day';
}

/** The groups of one dimension in order. A call that moved to another group leaves an empty one behind, which is none. */
function groupsOf(dimension: Dimension, place: SQL, from: SQL, order: SQL, groupsMax: number): SQL {
  return sql`SELECT ${sql.raw(`'${dimension}'`)} AS dimension, CAST(place AS TEXT) AS key, ${FIGURES} FROM (
    SELECT ${place} AS place, ${SUMS} FROM ${from} GROUP BY 1 HAVING SUM(calls) > 0 ORDER BY ${order} LIMIT ${groupsMax})`;
}

/** The place in `days` of the one in which an hour starts. Days of 24 hours are counted off; where the clock changes, a case begins. */
function dayAmong(days: Days): SQL {
  const cases: string[] = [];
  let first = 0;
  for (const [index, { startMs, endMs }] of days.entries()) {
    if (endMs - startMs === DAY_MS && index < days.length - 1) continue;
    // A longer day, always the last of its case, has hours beyond the 24th.
    const place = `MIN(${index}, ${first} + (hour_ms - ${days[first]?.startMs}) / ${DAY_MS})`;
    cases.push(`WHEN hour_ms < ${endMs} THEN ${place}`);
    first = index + 1;
  }
  return sql.raw(`CASE ${cases.join(' ')} END`);
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
