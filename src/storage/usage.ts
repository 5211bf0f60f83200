/**
 * Usage in D1, summed by whatever dimension is asked for. Sums of money are read as text: above 2^53 a number would be
 * rounded.
 *
 * Of an organization as a whole the roll-ups are read, which do not grow with its customers' combinations; where a filter
 * narrows the usage, the hours themselves.
 */
import { and, eq, gte, lt, type SQL, sql } from 'drizzle-orm';
import { SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';
import type { NanoUsd } from '../domain/money.ts';
import { DAY_MS } from '../domain/readings/calendar.ts';
import type { Env } from '../env.ts';
import { customerRunningTotals, customerTotals, organizationDays, organizationHours, usageHours } from './schema.ts';

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

/** Dimensions whose groups are listed, with the column of an hour that has the key. */
const LISTED = {
  customer: usageHours.customerId,
  feature: usageHours.feature,
  model: usageHours.model,
  provider: usageHours.provider,
  outcome: usageHours.outcome,
} as const;

type Listed = keyof typeof LISTED;

export type Dimension = Listed | 'day';

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

const COLUMNS = Object.values(SUMMED).map(({ name }) => name);
/** Sums under the columns' own names, so that sums can be summed again. */
const SUMS = sql.raw(COLUMNS.map((name) => `SUM(${name}) AS ${name}`).join(', '));
/** The same columns as an answer has them, money as text. */
const FIGURES = sql.raw(
  Object.entries(SUMMED)
    .map(([figure, { name }]) => `${figure === 'costNanoUsd' ? `CAST(${name} AS TEXT)` : name} AS ${figure}`)
    .join(', '),
);
const DEAREST = sql.raw('cost_nano_usd DESC, calls DESC, place');

/** A batch of drizzle binds no values in statements that are written out. */
const DIALECT = new SQLiteAsyncDialect();

type GroupRow = Omit<UsageSums, 'costNanoUsd'> & { dimension: Dimension; key: string; costNanoUsd: string };

/**
 * Groups of each dimension, the dearest first, at most so many. Days are all there, in order; the key of a day is its place
 * in `days`. They are of one moment, so that they agree.
 */
export async function sumUsage<D extends Dimension>(
  env: Env,
  organizationId: string,
  filter: UsageFilter,
  dimensions: readonly D[],
  groupsMax: number,
  days: Days = [],
): Promise<Record<D, UsageGroup[]>> {
  const isWhole = filter.customerId === undefined && filter.feature === undefined;
  const queries = (isWhole ? wholeQueries : narrowedQueries)(organizationId, filter, dimensions, groupsMax, days);
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

/** From the roll-ups: days as they are summed already, hours where days are cut, customers as differences. */
function wholeQueries(organizationId: string, filter: UsageFilter, dimensions: readonly Dimension[], groupsMax: number, days: Days): SQL[] {
  const queries: SQL[] = [];
  if (dimensions.includes('day')) {
    // Every call has an outcome, and there are only four of them.
    const hours = sql`${organizationHours} WHERE organization_id = ${organizationId} AND dimension = 'outcome'
      AND hour_ms >= ${filter.fromMs} AND hour_ms < ${filter.toMs}`;
    queries.push(groupsOf('day', dayAmong(days), hours, sql`place`, days.length));
  }
  const lists = dimensions.filter((dimension) => dimension !== 'day' && dimension !== 'customer');
  if (lists.length > 0) {
    const grouped = sql`WITH grouped AS MATERIALIZED (
      SELECT dimension, key, ${SUMS} FROM (${rollups(organizationId, filter, lists)}) GROUP BY dimension, key)`;
    const parts = lists.map((dimension) =>
      groupsOf(dimension, sql.raw('key'), sql.raw(`grouped WHERE dimension = '${dimension}'`), DEAREST, groupsMax),
    );
    queries.push(sql`${grouped} ${sql.join(parts, sql` UNION ALL `)}`);
  }
  if (dimensions.includes('customer')) queries.push(dearestCustomers(organizationId, filter, groupsMax));
  return queries;
}

/** The UTC days that lie in the period as a whole, and the hours around them. */
function rollups(organizationId: string, { fromMs, toMs }: UsageFilter, lists: readonly string[]): SQL {
  const firstMs = Math.min(Math.ceil(fromMs / DAY_MS) * DAY_MS, toMs);
  const lastMs = Math.max(Math.floor(toMs / DAY_MS) * DAY_MS, firstMs);
  const among = sql`organization_id = ${organizationId} AND dimension IN ${lists}`;
  const columns = sql.raw(`dimension, key, ${COLUMNS.join(', ')}`);
  const hours = (startMs: number, endMs: number) =>
    sql`SELECT ${columns} FROM ${organizationHours} WHERE ${among} AND hour_ms >= ${startMs} AND hour_ms < ${endMs}`;
  return sql`SELECT ${columns} FROM ${organizationDays} WHERE ${among} AND day_ms >= ${firstMs} AND day_ms < ${lastMs}
    UNION ALL ${hours(fromMs, firstMs)} UNION ALL ${hours(lastMs, toMs)}`;
}

/** Every customer's total at the end less the one at the beginning: two rows of each, however long the period. */
function dearestCustomers(organizationId: string, { fromMs, toMs }: UsageFilter, groupsMax: number): SQL {
  const differences = sql.raw(COLUMNS.map((name) => `later.${name} - COALESCE(earlier.${name}, 0) AS ${name}`).join(', '));
  const total = (name: 'later' | 'earlier', atMs: number) => sql`${customerRunningTotals} ${sql.raw(name)}
    ON ${sql.raw(name)}.organization_id = ${organizationId} AND ${sql.raw(name)}.customer_id = dear.customer_id
    AND ${sql.raw(name)}.hour_ms = (SELECT MAX(hour_ms) FROM ${customerRunningTotals}
      WHERE organization_id = ${organizationId} AND customer_id = dear.customer_id AND hour_ms < ${atMs})`;
  return sql`WITH ${costOfCustomers(organizationId, { fromMs, toMs }, groupsMax)},
    dear AS MATERIALIZED (
      SELECT customer_id FROM costs WHERE cost >= COALESCE((SELECT cost FROM costs ORDER BY cost DESC LIMIT 1 OFFSET ${groupsMax - 1}), 0)),
    combined AS (SELECT dear.customer_id, ${differences} FROM dear JOIN ${total('later', toMs)} LEFT JOIN ${total('earlier', fromMs)})
    ${groupsOf('customer', sql.raw('customer_id'), sql.raw('combined'), DEAREST, groupsMax)}`;
}

/**
 * `costs`: what customers cost in the period, of all who may be among the dearest. Nobody cost more in it than ever, so those
 * whose cost was never as high as that of the customers with the highest total in the period need not be looked at.
 */
function costOfCustomers(organizationId: string, { fromMs, toMs }: UsageFilter, groupsMax: number): SQL {
  const costBefore = (atMs: number) => sql`COALESCE((SELECT cost_nano_usd FROM ${customerRunningTotals}
    WHERE organization_id = ${organizationId} AND customer_id = everybody.customer_id AND hour_ms < ${atMs} ORDER BY hour_ms DESC LIMIT 1), 0)`;
  const cost = sql`CASE WHEN last_hour_ms < ${toMs} THEN total ELSE ${costBefore(toMs)} END - ${costBefore(fromMs)} AS cost`;
  return sql`everybody AS MATERIALIZED (
      SELECT customer_id, last_hour_ms, cost_nano_usd AS total FROM ${customerTotals} WHERE organization_id = ${organizationId}),
    leaders AS (SELECT ${cost} FROM (SELECT * FROM everybody ORDER BY total DESC LIMIT ${groupsMax}) everybody),
    costs AS MATERIALIZED (SELECT customer_id, ${cost} FROM everybody
      WHERE total >= COALESCE((SELECT MIN(cost) FROM leaders HAVING COUNT(*) = ${groupsMax}), 0))`;
}

/** From the hours, which are read once for all lists. D1 takes up to five parts of a UNION. */
function narrowedQueries(
  organizationId: string,
  filter: UsageFilter,
  dimensions: readonly Dimension[],
  groupsMax: number,
  days: Days,
): SQL[] {
  const { fromMs, toMs, customerId, feature } = filter;
  const where = and(
    eq(usageHours.organizationId, organizationId),
    gte(usageHours.hourMs, fromMs),
    lt(usageHours.hourMs, toMs),
    customerId === undefined ? undefined : eq(usageHours.customerId, customerId),
    feature === undefined ? undefined : eq(usageHours.feature, feature),
  );
  const byDay = dimensions.includes('day')
    ? [groupsOf('day', dayAmong(days), sql`${usageHours} WHERE ${where}`, sql`place`, days.length)]
    : [];
  const lists = dimensions.filter((dimension) => dimension !== 'day');
  if (lists.length === 0) return byDay;
  const columns = sql.raw(lists.map((dimension) => LISTED[dimension].name).join(', '));
  const parts = lists.map((dimension) => groupsOf(dimension, sql.raw(LISTED[dimension].name), sql.raw('combined'), DEAREST, groupsMax));
  return [
    ...byDay,
    sql`WITH combined AS MATERIALIZED (SELECT ${columns}, ${SUMS} FROM ${usageHours} WHERE ${where} GROUP BY ${columns})
      ${sql.join(parts, sql` UNION ALL `)}`,
  ];
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
