/**
 * Usage in D1, summed by whatever dimension is asked for. Sums are read as text: above 2^53 a number would be rounded,
 * which money must not be, and which numbers of tokens are here and not on their way.
 *
 * Of an organization as a whole, and of one of its features, the roll-ups are read, which do not grow with their calls;
 * where a customer narrows the usage, the hours themselves.
 */

import { type SQL, sql } from 'drizzle-orm';
import { SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';
import { type NanoUsd, nanoOfParts } from '../domain/money.ts';
import type { Env } from '../env.ts';
import { DAY_MS, HOUR_MS } from '../platform/time.ts';
import {
  customerRunningTotals,
  customerTotals,
  featureCustomerTotals,
  featureRunningTotals,
  featureUsage,
  organizationDays,
  organizationHours,
  usageHours,
} from './schema.ts';

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
  costUsd: usageHours.costUsd,
  costRestNanoUsd: usageHours.costRestNanoUsd,
} as const;

const COLUMNS = Object.values(SUMMED).map(({ name }) => name);
const FIGURE_COLUMNS = sql.raw(COLUMNS.join(', '));
/** Sums under the columns' own names, so that sums can be summed again. */
const SUMS = sql.raw(COLUMNS.map((name) => `SUM(${name}) AS ${name}`).join(', '));
/** The same columns as an answer has them, as text. */
const FIGURES = sql.raw(
  Object.entries(SUMMED)
    .map(([figure, { name }]) => `CAST(${name} AS TEXT) AS ${figure}`)
    .join(', '),
);
/**
 * A sum of cost as one number, to compare by: exact up to 9.2 billion dollars, beyond them SQLite's floating point, in
 * which sums that are a few millionths of a dollar apart may be the same.
 */
export const COST = sql.raw('(cost_usd * 1000000000 + cost_rest_nano_usd)');
/** By sums: in an expression a name is that of the column that is summed. */
const DEAREST = sql.raw('SUM(cost_usd) * 1000000000 + SUM(cost_rest_nano_usd) DESC, calls DESC, place');

/**
 * Of so many customers with the highest totals, enough cost much in a period too: the more are looked at first, the
 * fewer are later.
 */
const LEADERS_PER_GROUP = 2;

/** A batch of drizzle binds no values in statements that are written out. */
const DIALECT = new SQLiteAsyncDialect();

type GroupRow = Record<keyof typeof SUMMED | 'key', string> & { dimension: Dimension };

/**
 * Groups of each dimension, the dearest first, at most so many. Days are all there, in order; the key of a day is its
 * place in `days`. They are of one moment, so that they agree.
 */
export async function sumUsage<D extends Dimension>(
  env: Env,
  organizationId: string,
  filter: UsageFilter,
  dimensions: readonly D[],
  groupsMax: number,
  days: Days = [],
): Promise<Record<D, UsageGroup[]>> {
  const { customerId, feature } = filter;
  const queriesOf =
    customerId !== undefined ? customerQueries : feature !== undefined ? featureQueries : organizationQueries;
  const queries = queriesOf(scopeOf(organizationId, filter), dimensions, groupsMax, days);
  const results = await env.DB.batch<GroupRow>(queries.map((query) => prepare(env.DB, query)));
  const groups = Object.fromEntries(dimensions.map((dimension) => [dimension, [] as UsageGroup[]])) as Record<
    D,
    UsageGroup[]
  >;
  for (const row of results.flatMap((result) => result.results)) groups[row.dimension as D].push(groupOf(row));
  return groups;
}

function groupOf(row: GroupRow): UsageGroup {
  return {
    key: row.key,
    calls: Number(row.calls),
    unpricedCalls: Number(row.unpricedCalls),
    inputTokens: Number(row.inputTokens),
    cachedInputTokens: Number(row.cachedInputTokens),
    outputTokens: Number(row.outputTokens),
    reasoningTokens: Number(row.reasoningTokens),
    searches: Number(row.searches),
    costNanoUsd: nanoOfParts(row.costUsd, row.costRestNanoUsd),
  };
}

function prepare(db: D1Database, query: SQL): D1PreparedStatement {
  const { sql: text, params } = DIALECT.sqlToQuery(query);
  return db.prepare(text).bind(...params);
}

/** Whose usage is summed, and when it was. */
interface Scope extends UsageFilter {
  organizationId: string;
  /** What a customer used in all, and by the end of an hour: of anything, or of the feature. */
  totals: typeof customerTotals | typeof featureCustomerTotals;
  runningTotals: typeof customerRunningTotals | typeof featureRunningTotals;
  /** The condition that their rows are of the organization, and of the feature where there is one. */
  among: (table: SQL) => SQL;
}

function scopeOf(organizationId: string, filter: UsageFilter): Scope {
  const ofOrganization = (table: SQL) => sql`${table}.organization_id = ${organizationId}`;
  return filter.feature === undefined
    ? { ...filter, organizationId, totals: customerTotals, runningTotals: customerRunningTotals, among: ofOrganization }
    : {
        ...{ ...filter, organizationId, totals: featureCustomerTotals, runningTotals: featureRunningTotals },
        among: (table) => sql`${ofOrganization(table)} AND ${table}.feature = ${filter.feature}`,
      };
}

/** From the roll-ups: days as they are summed already, hours where days are cut, customers as differences. */
function organizationQueries(scope: Scope, dimensions: readonly Dimension[], groupsMax: number, days: Days): SQL[] {
  const { organizationId, fromMs, toMs } = scope;
  const queries: SQL[] = [];
  if (dimensions.includes('day')) {
    // Every call has an outcome, and there are only four of them.
    const hours = sql`${organizationHours} WHERE organization_id = ${organizationId} AND dimension = 'outcome'
      AND hour_ms >= ${fromMs} AND hour_ms < ${toMs}`;
    queries.push(groupsOf('day', dayAmong(days), hours, sql`place`, days.length));
  }
  const lists = dimensions.filter((dimension) => dimension !== 'day' && dimension !== 'customer');
  if (lists.length > 0) {
    const among = sql`organization_id = ${organizationId} AND dimension IN ${lists}`;
    const parts = wholeDays(scope).map(({ unit, startMs, endMs }) => {
      const [table, at] =
        unit === 'day' ? [organizationDays, sql.raw('day_ms')] : [organizationHours, sql.raw('hour_ms')];
      return sql`SELECT dimension, key, ${FIGURE_COLUMNS} FROM ${table} WHERE ${among} AND ${at} >= ${startMs} AND ${at} < ${endMs}`;
    });
    const grouped = sql`WITH grouped AS MATERIALIZED (
      SELECT dimension, key, ${SUMS} FROM (${sql.join(parts, sql` UNION ALL `)}) GROUP BY dimension, key)`;
    const groups = lists.map((dimension) =>
      groupsOf(dimension, sql.raw('key'), sql.raw(`grouped WHERE dimension = '${dimension}'`), DEAREST, groupsMax),
    );
    queries.push(sql`${grouped} ${sql.join(groups, sql` UNION ALL `)}`);
  }
  if (dimensions.includes('customer')) queries.push(dearestCustomers(scope, groupsMax));
  return queries;
}

/** The same within a feature. */
function featureQueries(scope: Scope, dimensions: readonly Dimension[], groupsMax: number, days: Days): SQL[] {
  const { organizationId, fromMs, toMs, feature, among } = scope;
  const queries: SQL[] = [];
  if (dimensions.includes('day')) {
    // Hours are looked up one by one: those of an organization stand together with all its features.
    const hours = sql`WITH RECURSIVE hours (at_ms) AS (
      SELECT ${Math.ceil(fromMs / HOUR_MS) * HOUR_MS} UNION ALL SELECT at_ms + ${HOUR_MS} FROM hours WHERE at_ms + ${HOUR_MS} < ${toMs})`;
    const used = sql`hours CROSS JOIN ${organizationHours}
      WHERE organization_id = ${organizationId} AND dimension = 'feature' AND hour_ms = at_ms AND key = ${feature}`;
    queries.push(sql`${hours} ${groupsOf('day', dayAmong(days), used, sql`place`, days.length)}`);
  }
  const lists = dimensions.filter((dimension) => dimension !== 'day' && dimension !== 'customer');
  if (lists.length > 0) {
    const parts = wholeDays(scope).map(
      ({ unit, startMs, endMs }) => sql`SELECT feature, provider, model, outcome, ${FIGURE_COLUMNS} FROM ${featureUsage}
        WHERE ${among(sql`${featureUsage}`)} AND unit = ${unit} AND start_ms >= ${startMs} AND start_ms < ${endMs}`,
    );
    queries.push(listsOf(lists, sql`(${sql.join(parts, sql` UNION ALL `)})`, groupsMax));
  }
  if (dimensions.includes('customer')) queries.push(dearestCustomers(scope, groupsMax));
  return queries;
}

/** The UTC days that lie in the period as a whole, and the hours around them. */
function wholeDays({ fromMs, toMs }: UsageFilter): { unit: 'day' | 'hour'; startMs: number; endMs: number }[] {
  const firstMs = Math.min(Math.ceil(fromMs / DAY_MS) * DAY_MS, toMs);
  const lastMs = Math.max(Math.floor(toMs / DAY_MS) * DAY_MS, firstMs);
  return [
    { unit: 'day', startMs: firstMs, endMs: lastMs },
    { unit: 'hour', startMs: fromMs, endMs: firstMs },
    { unit: 'hour', startMs: lastMs, endMs: toMs },
  ];
}

/** Every customer's total at the end less the one at the beginning: two rows of each, however long the period. */
function dearestCustomers(scope: Scope, groupsMax: number): SQL {
  const { runningTotals, among, fromMs, toMs } = scope;
  const differences = sql.raw(
    COLUMNS.map((name) => `later.${name} - COALESCE(earlier.${name}, 0) AS ${name}`).join(', '),
  );
  const total = (name: SQL, atMs: number) => sql`${runningTotals} ${name}
    ON ${among(name)} AND ${name}.customer_id = dear.customer_id AND ${name}.hour_ms = (SELECT MAX(hour_ms) FROM ${runningTotals} other
      WHERE ${among(sql.raw('other'))} AND other.customer_id = dear.customer_id AND other.hour_ms < ${atMs})`;
  return sql`WITH ${costOfCustomers(scope, groupsMax)},
    dear AS MATERIALIZED (
      SELECT customer_id FROM costs WHERE cost >= COALESCE((SELECT cost FROM costs ORDER BY cost DESC LIMIT 1 OFFSET ${groupsMax - 1}), 0)),
    combined AS (SELECT dear.customer_id, ${differences} FROM dear JOIN ${total(sql.raw('later'), toMs)}
      LEFT JOIN ${total(sql.raw('earlier'), fromMs)})
    ${groupsOf('customer', sql.raw('customer_id'), sql.raw('combined'), DEAREST, groupsMax)}`;
}

/**
 * `costs`: what customers cost in the period, of all who may be among the dearest. Nobody cost more in it than ever, so
 * those whose cost was never as high as what enough of the customers with the highest totals cost in it need not be
 * looked at.
 */
function costOfCustomers({ totals, runningTotals, among, fromMs, toMs }: Scope, groupsMax: number): SQL {
  const costBefore = (atMs: number) => sql`COALESCE((SELECT ${COST} FROM ${runningTotals}
    WHERE ${among(sql`${runningTotals}`)} AND customer_id = everybody.customer_id AND hour_ms < ${atMs} ORDER BY hour_ms DESC LIMIT 1), 0)`;
  const cost = sql`CASE WHEN last_hour_ms < ${toMs} THEN total ELSE ${costBefore(toMs)} END - ${costBefore(fromMs)} AS cost`;
  return sql`everybody AS MATERIALIZED (
      SELECT customer_id, last_hour_ms, ${COST} AS total FROM ${totals} WHERE ${among(sql`${totals}`)}),
    leaders AS (SELECT ${cost} FROM (SELECT * FROM everybody ORDER BY total DESC LIMIT ${LEADERS_PER_GROUP * groupsMax}) everybody),
    costs AS MATERIALIZED (SELECT customer_id, ${cost} FROM everybody
      WHERE total >= COALESCE((SELECT cost FROM leaders ORDER BY cost DESC LIMIT 1 OFFSET ${groupsMax - 1}), 0))`;
}

/**
 * From the customer's hours, which are read once for all lists; days are differences, as customers are of an
 * organization.
 */
function customerQueries(scope: Scope, dimensions: readonly Dimension[], groupsMax: number, days: Days): SQL[] {
  const { fromMs, toMs, customerId, among } = scope;
  const queries = dimensions.includes('day') ? [daysOfCustomer(scope, days)] : [];
  const lists = dimensions.filter((dimension) => dimension !== 'day');
  if (lists.length === 0) return queries;
  const where = sql`${among(sql`${usageHours}`)} AND customer_id = ${customerId} AND hour_ms >= ${fromMs} AND hour_ms < ${toMs}`;
  return [...queries, listsOf(lists, sql`${usageHours} WHERE ${where}`, groupsMax)];
}

/** What a customer had used by each border of days, less what it was by the one before. */
function daysOfCustomer({ runningTotals, among, customerId }: Scope, days: Days): SQL {
  const borders = [...days.slice(0, 1).map(({ startMs }) => startMs), ...days.map(({ endMs }) => endMs)];
  const own = (table: SQL) => sql`${among(table)} AND ${table}.customer_id = ${customerId}`;
  const later = sql.raw(COLUMNS.map((name) => `COALESCE(later.${name}, 0) AS ${name}`).join(', '));
  const differences = sql.raw(
    COLUMNS.map((name) => `${name} - LAG(${name}) OVER (ORDER BY border) AS ${name}`).join(', '),
  );
  const from = sql`(SELECT border - 1 AS day, ${differences} FROM (
    SELECT borders.key AS border, ${later} FROM json_each(${JSON.stringify(borders)}) borders
    LEFT JOIN ${runningTotals} later ON ${own(sql.raw('later'))} AND later.hour_ms = (SELECT MAX(hour_ms) FROM ${runningTotals} other
      WHERE ${own(sql.raw('other'))} AND other.hour_ms < borders.value)))`;
  return groupsOf('day', sql.raw('day'), from, sql`place`, days.length);
}

/** The groups of each list, from rows that have all their columns. D1 takes up to five parts of a UNION. */
function listsOf(lists: readonly Listed[], from: SQL, groupsMax: number): SQL {
  const columns = sql.raw(lists.map((dimension) => LISTED[dimension].name).join(', '));
  const parts = lists.map((dimension) =>
    groupsOf(dimension, sql.raw(LISTED[dimension].name), sql.raw('combined'), DEAREST, groupsMax),
  );
  return sql`WITH combined AS MATERIALIZED (SELECT ${columns}, ${SUMS} FROM ${from} GROUP BY ${columns})
    ${sql.join(parts, sql` UNION ALL `)}`;
}

/**
 * The groups of one dimension in order. A call that moved to another group leaves an empty one behind, which is none.
 */
function groupsOf(dimension: Dimension, place: SQL, from: SQL, order: SQL, groupsMax: number): SQL {
  return sql`SELECT ${sql.raw(`'${dimension}'`)} AS dimension, CAST(place AS TEXT) AS key, ${FIGURES} FROM (
    SELECT ${place} AS place, ${SUMS} FROM ${from} GROUP BY 1 HAVING SUM(calls) > 0 ORDER BY ${order} LIMIT ${groupsMax})`;
}

/**
 * The place in `days` of the one in which an hour starts. Days of 24 hours are counted off; where the clock changes, a
 * case begins.
 */
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
