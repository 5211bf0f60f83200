/**
 * Usage in D1, summed by dimension.
 *
 * Usage of an organization or of one of its features is read from roll-ups, which do not grow with the number of calls;
 * usage of one customer is read from that customer's hours.
 */

import { type SQL, sql } from 'drizzle-orm';
import { database, prepare } from '../config/database.ts';
import type { CustomerId, OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { DAY_MS, HOUR_MS, WEEK_MS } from '../platform/time.ts';
import { SPAN_WEEKS } from './roll-ups.ts';
import {
  customerCostBounds,
  customerRunningTotals,
  customerWeeks,
  featureCostBounds,
  featureCustomerWeeks,
  featureDays,
  featureHours,
  featureRunningTotals,
  organizationDays,
  organizationHours,
  usageHours,
} from './schema/index.ts';
import { FigureSet, moreThanEarlier, summed, totalsBefore } from './usage-figures.ts';

export interface UsageFilter {
  fromMs: number;
  toMs: number;
  customerId?: CustomerId | undefined;
  feature?: string | undefined;
}

/** Days of a time zone, without gaps between them; if the clock changes, they are shorter or longer than 24 hours. */
type Days = readonly { startMs: number; endMs: number }[];

const FIGURES = new FigureSet([
  'calls',
  'unpricedCalls',
  'inputTokens',
  'cachedInputTokens',
  'outputTokens',
  'reasoningTokens',
  'searches',
  'provisionalCalls',
  'provisionalCostNanoUsd',
  'costNanoUsd',
  'chargedNanoUsd',
]);

export type UsageSums = ReturnType<typeof FIGURES.read>;

/** Dimensions whose groups are listed, with the column of `usage_hours` that has their key. */
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

const COLUMNS = sql.raw(FIGURES.columns.join(', '));
/** Sums under the names of their columns, so that they can be summed again. */
const SUMS = FIGURES.select(summed);
/**
 * A sum of cost as one number, for comparisons: exact up to 9.2 billion dollars. Beyond, it is a floating-point number:
 * sums that differ by a few millionths of a dollar may be equal.
 */
export const COST = sql.raw('(cost_usd * 1000000000 + cost_rest_nano_usd)');
/** Highest cost first. It sums again, because in an expression a name means the column and not its sum. */
const BY_COST = sql.raw('SUM(cost_usd) * 1000000000 + SUM(cost_rest_nano_usd) DESC, calls DESC, place');

/**
 * The number of customers, for each listed group, with the highest cost in spans of the period that are compared first.
 * Most of them also have a high cost in the period: the more are compared first, the fewer are left to look at.
 */
const LEADERS_PER_GROUP = 2;
/**
 * The most customers of one span that are looked at: those with the highest cost. More could matter only if thousands
 * of customers have about the same cost.
 */
const LOOKED_AT_MAX = 2_000;

type GroupRow = Record<string, string> & { key: string; dimension: Dimension };

/**
 * The groups of each dimension, highest cost first, at most `groupsMax`. All days are listed, in order; the key of a
 * day is its position in `days`. All groups are read at the same moment, so that their sums agree.
 */
export async function sumUsage<D extends Dimension>(
  env: Env,
  organizationId: OrganizationId,
  filter: UsageFilter,
  dimensions: readonly D[],
  groupsMax: number,
  days: Days = [],
): Promise<Record<D, UsageGroup[]>> {
  const { customerId, feature } = filter;
  const queriesOf =
    customerId !== undefined ? customerQueries : feature !== undefined ? featureQueries : organizationQueries;
  const queries = queriesOf(chooseScope(organizationId, filter), dimensions, groupsMax, days);
  const db = await database(env, organizationId);
  const results = await db.$client.batch<GroupRow>(queries.map((query) => prepare(db, query)));
  const groups = Object.fromEntries(dimensions.map((dimension) => [dimension, [] as UsageGroup[]])) as Record<
    D,
    UsageGroup[]
  >;
  for (const row of results.flatMap((result) => result.results))
    groups[row.dimension as D].push({ key: row.key, ...FIGURES.read(row) });
  return groups;
}

/** The organization whose usage is summed, and the period. */
interface Scope extends UsageFilter {
  organizationId: OrganizationId;
  /** A customer's totals by the end of each hour, and bounds of its cost: for all usage, or for the feature. */
  bounds: typeof customerCostBounds | typeof featureCostBounds;
  /** Its cost by week, from before bounds were kept. */
  formerWeeks: typeof customerWeeks | typeof featureCustomerWeeks;
  runningTotals: typeof customerRunningTotals | typeof featureRunningTotals;
  /** The condition that selects the organization's rows, and the feature's if there is one. */
  among: (table: SQL) => SQL;
}

function chooseScope(organizationId: OrganizationId, filter: UsageFilter): Scope {
  const ofOrganization = (table: SQL) => sql`${table}.organization_id = ${organizationId}`;
  const own = { ...filter, organizationId };
  return filter.feature === undefined
    ? {
        ...{ ...own, bounds: customerCostBounds, formerWeeks: customerWeeks, runningTotals: customerRunningTotals },
        among: ofOrganization,
      }
    : {
        ...{
          ...own,
          bounds: featureCostBounds,
          formerWeeks: featureCustomerWeeks,
          runningTotals: featureRunningTotals,
        },
        among: (table) => sql`${ofOrganization(table)} AND ${table}.feature = ${filter.feature}`,
      };
}

/** From roll-ups: whole days from days, parts of days from hours, customers as differences of running totals. */
function organizationQueries(scope: Scope, dimensions: readonly Dimension[], groupsMax: number, days: Days): SQL[] {
  const { organizationId, fromMs, toMs } = scope;
  const queries: SQL[] = [];
  if (dimensions.includes('day')) {
    // Every call has an outcome, and there are only four of them.
    const hours = sql`${organizationHours} WHERE organization_id = ${organizationId} AND dimension = 'outcome'
      AND hour_ms >= ${fromMs} AND hour_ms < ${toMs}`;
    queries.push(dimensionQuery('day', dayAmong(days), hours, sql`place`, days.length));
  }
  const lists = dimensions.filter((dimension) => dimension !== 'day' && dimension !== 'customer');
  if (lists.length > 0) {
    const among = sql`organization_id = ${organizationId} AND dimension IN ${lists}`;
    const parts = wholeDays(scope).map(({ unit, startMs, endMs }) => {
      const [table, at] =
        unit === 'day' ? [organizationDays, sql.raw('day_ms')] : [organizationHours, sql.raw('hour_ms')];
      return sql`SELECT dimension, key, ${COLUMNS} FROM ${table} WHERE ${among} AND ${at} >= ${startMs} AND ${at} < ${endMs}`;
    });
    const grouped = sql`WITH grouped AS MATERIALIZED (
      SELECT dimension, key, ${SUMS} FROM (${sql.join(parts, sql` UNION ALL `)}) GROUP BY dimension, key)`;
    const groups = lists.map((dimension) =>
      dimensionQuery(
        dimension,
        sql.raw('key'),
        sql.raw(`grouped WHERE dimension = '${dimension}'`),
        BY_COST,
        groupsMax,
      ),
    );
    queries.push(sql`${grouped} ${sql.join(groups, sql` UNION ALL `)}`);
  }
  if (dimensions.includes('customer')) queries.push(topCustomersByCost(scope, groupsMax));
  return queries;
}

/** The same within a feature. */
function featureQueries(scope: Scope, dimensions: readonly Dimension[], groupsMax: number, days: Days): SQL[] {
  const { organizationId, fromMs, toMs, feature, among } = scope;
  const queries: SQL[] = [];
  if (dimensions.includes('day')) {
    // Each hour is looked up by its key, because a range of hours has the rows of all features.
    const hours = sql`WITH RECURSIVE hours (at_ms) AS (
      SELECT ${Math.ceil(fromMs / HOUR_MS) * HOUR_MS} UNION ALL SELECT at_ms + ${HOUR_MS} FROM hours WHERE at_ms + ${HOUR_MS} < ${toMs})`;
    const used = sql`hours CROSS JOIN ${organizationHours}
      WHERE organization_id = ${organizationId} AND dimension = 'feature' AND hour_ms = at_ms AND key = ${feature}`;
    queries.push(sql`${hours} ${dimensionQuery('day', dayAmong(days), used, sql`place`, days.length)}`);
  }
  const lists = dimensions.filter((dimension) => dimension !== 'day' && dimension !== 'customer');
  if (lists.length > 0) {
    const parts = wholeDays(scope).map(({ unit, startMs, endMs }) => {
      const [table, at] = unit === 'day' ? [featureDays, sql.raw('day_ms')] : [featureHours, sql.raw('hour_ms')];
      return sql`SELECT feature, provider, model, outcome, ${COLUMNS} FROM ${table}
        WHERE ${among(sql`${table}`)} AND ${at} >= ${startMs} AND ${at} < ${endMs}`;
    });
    queries.push(listsQuery(lists, sql`(${sql.join(parts, sql` UNION ALL `)})`, groupsMax));
  }
  if (dimensions.includes('customer')) queries.push(topCustomersByCost(scope, groupsMax));
  return queries;
}

/** The whole UTC days in the period, and the hours around them. */
export function wholeDays({
  fromMs,
  toMs,
}: Pick<UsageFilter, 'fromMs' | 'toMs'>): { unit: 'day' | 'hour'; startMs: number; endMs: number }[] {
  const firstMs = Math.min(Math.ceil(fromMs / DAY_MS) * DAY_MS, toMs);
  const lastMs = Math.max(Math.floor(toMs / DAY_MS) * DAY_MS, firstMs);
  return [
    { unit: 'day', startMs: firstMs, endMs: lastMs },
    { unit: 'hour', startMs: fromMs, endMs: firstMs },
    { unit: 'hour', startMs: lastMs, endMs: toMs },
  ];
}

/**
 * The customers with the highest cost in the period. A customer's usage in it is the difference of two running totals:
 * two rows for any period. CROSS JOIN keeps SQLite from reading the totals of all customers first.
 */
function topCustomersByCost(scope: Scope, groupsMax: number): SQL {
  const { runningTotals, among, fromMs, toMs } = scope;
  const before = (name: string, atMs: number) =>
    totalsBefore(name, { table: runningTotals, among, customer: sql.raw('top.customer_id'), atMs: sql`${atMs}` });
  return sql`WITH ${costOfCustomers(scope, groupsMax)},
    top AS MATERIALIZED (
      SELECT customer_id FROM costs WHERE cost >= COALESCE((SELECT cost FROM costs ORDER BY cost DESC LIMIT 1 OFFSET ${groupsMax - 1}), 0)),
    combined AS (SELECT top.customer_id, ${FIGURES.select(moreThanEarlier)} FROM top CROSS JOIN ${before('later', toMs)}
      LEFT JOIN ${before('earlier', fromMs)})
    ${dimensionQuery('customer', sql.raw('customer_id'), sql.raw('combined'), BY_COST, groupsMax)}`;
}

/**
 * `costs`: the cost of the period, for every customer who may be among the highest. A customer whose cost in the period
 * is at least another's has at least an equal share of that cost in one of its spans. So after enough customers with
 * the highest costs of spans are compared, customers below such a share of the lowest cost among them need not be
 * looked at.
 */
function costOfCustomers({ bounds, formerWeeks, runningTotals, among, fromMs, toMs }: Scope, groupsMax: number): SQL {
  const costBefore = (atMs: number) => sql`COALESCE((SELECT ${COST} FROM ${runningTotals}
    WHERE ${among(sql`${runningTotals}`)} AND customer_id = somebody.customer_id AND hour_ms < ${atMs} ORDER BY hour_ms DESC LIMIT 1), 0)`;
  const cost = sql`${costBefore(toMs)} - ${costBefore(fromMs)} AS cost`;
  // A list as JSON, because only a function in FROM may depend on the row before it.
  const highestOf = (shown: SQL, found: SQL, limit: number) => sql`spans CROSS JOIN json_each((
    SELECT json_group_array(${shown}) FROM (${found} LIMIT ${limit}))) highest`;
  const ofSpan = (where: SQL) => sql`SELECT customer_id, cost_at_most AS cost FROM ${bounds}
    WHERE ${among(sql`${bounds}`)} AND ${bounds}.weeks = spans.weeks AND ${bounds}.start_ms = spans.start_ms ${where}
    ORDER BY cost_at_most DESC, calls_at_most DESC`;
  const ofWeek = (where: SQL) => sql`SELECT customer_id, ${COST} AS cost FROM ${formerWeeks}
    WHERE ${among(sql`${formerWeeks}`)} AND week_ms = spans.start_ms AND spans.weeks = ${SPAN_WEEKS.short} ${where} ORDER BY ${COST} DESC, calls DESC`;
  const first = sql`json_array(customer_id, cost)`;
  const share = sql`(SELECT cost FROM lowest) / (SELECT COUNT(*) FROM spans)`;
  return sql`${spansOf({ fromMs, toMs }, sql`SELECT 1 FROM ${formerWeeks} WHERE ${among(sql`${formerWeeks}`)} AND week_ms > ${fromMs - WEEK_MS}`)},
    leaders AS (
      SELECT value ->> 0 AS customer_id FROM (
        SELECT highest.value FROM ${highestOf(first, ofSpan(sql``), groupsMax)}
        UNION ALL SELECT highest.value FROM ${highestOf(first, ofWeek(sql``), groupsMax)})
      GROUP BY 1 ORDER BY TOTAL(value ->> 1) DESC LIMIT ${LEADERS_PER_GROUP * groupsMax}),
    lowest AS MATERIALIZED (
      SELECT COALESCE((SELECT ${cost} FROM leaders somebody ORDER BY cost DESC LIMIT 1 OFFSET ${groupsMax - 1}), 0) AS cost),
    everybody AS (
      SELECT highest.value AS customer_id FROM ${highestOf(sql`customer_id`, ofSpan(sql`AND cost_at_most >= ${share}`), LOOKED_AT_MAX)}
      UNION SELECT highest.value FROM ${highestOf(sql`customer_id`, ofWeek(sql`AND ${COST} >= ${share}`), LOOKED_AT_MAX)}),
    costs AS MATERIALIZED (SELECT customer_id, ${cost} FROM everybody somebody)`;
}

/**
 * `spans`: those that contain a period. Long ones only count what happened since bounds are kept, so a period with
 * `former` weeks has short ones.
 */
function spansOf(period: Pick<UsageFilter, 'fromMs' | 'toMs'>, former: SQL): SQL {
  const list = (weeks: number, where: SQL) =>
    sql`SELECT ${sql.raw(String(weeks))} AS weeks, value AS start_ms FROM json_each(${JSON.stringify(startsOfSpans(period, weeks))}) ${where}`;
  const { short, long } = SPAN_WEEKS;
  if (period.toMs - period.fromMs < long * WEEK_MS) return sql`spans AS MATERIALIZED (${list(short, sql``)})`;
  return sql`spans AS MATERIALIZED (
    ${list(short, sql`WHERE EXISTS (${former})`)} UNION ALL ${list(long, sql`WHERE NOT EXISTS (${former})`)})`;
}

/** The spans that contain a period. */
function startsOfSpans({ fromMs, toMs }: Pick<UsageFilter, 'fromMs' | 'toMs'>, weeks: number): number[] {
  const spanMs = weeks * WEEK_MS;
  const firstMs = Math.floor(fromMs / spanMs) * spanMs;
  return Array.from({ length: Math.ceil((toMs - firstMs) / spanMs) }, (_, index) => firstMs + index * spanMs);
}

/** From the customer's hours, read once for all lists; days are differences of running totals. */
function customerQueries(scope: Scope, dimensions: readonly Dimension[], groupsMax: number, days: Days): SQL[] {
  const { fromMs, toMs, customerId, among } = scope;
  const queries = dimensions.includes('day') ? [daysOfCustomer(scope, days)] : [];
  const lists = dimensions.filter((dimension) => dimension !== 'day');
  if (lists.length === 0) return queries;
  const where = sql`${among(sql`${usageHours}`)} AND customer_id = ${customerId} AND hour_ms >= ${fromMs} AND hour_ms < ${toMs}`;
  return [...queries, listsQuery(lists, sql`${usageHours} WHERE ${where}`, groupsMax)];
}

/** A customer's running total at the end of each day, less the one at its start, as far as it is in the period. */
function daysOfCustomer({ runningTotals, among, customerId, fromMs, toMs }: Scope, days: Days): SQL {
  const borders = [...days.slice(0, 1).map(({ startMs }) => startMs), ...days.map(({ endMs }) => endMs)].map((atMs) =>
    Math.min(Math.max(atMs, fromMs), toMs),
  );
  const later = FIGURES.select((name) => `COALESCE(later.${name}, 0)`);
  const differences = FIGURES.select((name) => `${name} - LAG(${name}) OVER (ORDER BY border)`);
  const from = sql`(SELECT border - 1 AS day, ${differences} FROM (
    SELECT borders.key AS border, ${later} FROM json_each(${JSON.stringify(borders)}) borders
    LEFT JOIN ${totalsBefore('later', { table: runningTotals, among, customer: sql`${customerId}`, atMs: sql.raw('borders.value') })}))`;
  return dimensionQuery('day', sql.raw('day'), from, sql`place`, days.length);
}

/** The groups of each list, from rows that have all their columns. D1 allows five parts of a UNION. */
function listsQuery(lists: readonly Listed[], from: SQL, groupsMax: number): SQL {
  const columns = sql.raw(lists.map((dimension) => LISTED[dimension].name).join(', '));
  const parts = lists.map((dimension) =>
    dimensionQuery(dimension, sql.raw(LISTED[dimension].name), sql.raw('combined'), BY_COST, groupsMax),
  );
  return sql`WITH combined AS MATERIALIZED (SELECT ${columns}, ${SUMS} FROM ${from} GROUP BY ${columns})
    ${sql.join(parts, sql` UNION ALL `)}`;
}

/** The groups of one dimension in order. A group without calls, left behind by a call that changed, is not listed. */
function dimensionQuery(dimension: Dimension, place: SQL, from: SQL, order: SQL, groupsMax: number): SQL {
  return sql`SELECT ${sql.raw(`'${dimension}'`)} AS dimension, CAST(place AS TEXT) AS key, ${FIGURES.selectText((name) => name)} FROM (
    SELECT ${place} AS place, ${SUMS} FROM ${from} GROUP BY 1 HAVING SUM(calls) > 0 ORDER BY ${order} LIMIT ${groupsMax})`;
}

/**
 * The position in `days` of the day that contains the start of an hour. Days of 24 hours are counted; each day on which
 * the clock changes ends a case.
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
