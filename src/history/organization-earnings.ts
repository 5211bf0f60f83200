/**
 * The cost and the charges of an organization's usage in a period, in D1: in total, by feature and by model from
 * roll-ups, which do not grow with the number of calls, and by version of a plan from the running totals of its
 * customers.
 */

import { type SQL, sql } from 'drizzle-orm';
import { database, prepare } from '../config/database.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { eventIdsFrom } from '../platform/event-id.ts';
import { CUSTOMERS_READ_MAX } from './asked-customers.ts';
import {
  customers,
  featureDays,
  featureHours,
  meterEvents,
  organizationDays,
  organizationEvents,
  organizationHours,
  organizationSizes,
} from './schema/index.ts';
import { wholeDays } from './usage.ts';
import { COST_AND_CHARGE, type CostAndCharge, moreThanEarlier, summed, totalsBefore } from './usage-figures.ts';

export interface Period {
  fromMs: number;
  toMs: number;
}

/** The usage of one feature, model or version of a plan. */
export interface EarningsGroup extends CostAndCharge {
  key: string;
  completedCalls: number;
}

/** Time that customers had a version of a plan in a calendar month (UTC). */
interface PlanMonth {
  usagePlanVersionId: string;
  monthMs: number;
  subscribedMs: bigint;
}

/** The groupings of usage besides the total. Each takes time, so only the requested ones are read. */
export const GROUPINGS = ['plan', 'feature', 'model'] as const;
export type Grouping = (typeof GROUPINGS)[number];

export interface OrganizationEarnings {
  total: EarningsGroup;
  /** Highest cost first, at most as many as requested; empty if they were not requested. */
  features: EarningsGroup[];
  models: EarningsGroup[];
  /** `null` if there are too many customers, or if plans were not requested. */
  versions: EarningsGroup[] | null;
  planMonths: PlanMonth[];
  /** Customers of each version who had a subscription in the period. */
  subscribers: ReadonlyMap<string, number>;
}

const COST_SUMS = COST_AND_CHARGE.selectText(summed);
const SUMS = sql`${COST_SUMS}, CAST(SUM(CASE outcome WHEN 'COMPLETED' THEN calls ELSE 0 END) AS TEXT) AS completedCalls`;

type GroupRow = Record<string, unknown> & Record<'completedCalls' | 'key' | 'dimension', string>;

/** D1 binds numbers as floating-point ones; sums of milliseconds would lose their last digits in them. */
const whole = (value: number) => sql.raw(String(Math.trunc(value)));

/** All figures are of the same moment. Time after `untilMs` is in the future, so nobody was subscribed in it. */
export async function readOrganizationEarnings(
  env: Env,
  organizationId: OrganizationId,
  period: Period,
  { by, groupsMax, untilMs }: { by: readonly Grouping[]; groupsMax: number; untilMs: number },
): Promise<OrganizationEarnings> {
  const db = await database(env, organizationId);
  const passed = { fromMs: period.fromMs, toMs: Math.max(period.fromMs, Math.min(period.toMs, untilMs)) };
  const lists = (['feature', 'model'] as const).filter((dimension) => by.includes(dimension));
  const [total, size, months, subscribers, ...grouped] = (await db.$client.batch(
    [
      totalQuery(organizationId, period),
      sql`SELECT customers FROM ${organizationSizes} WHERE organization_id = ${organizationId}`,
      planMonthsQuery(organizationId, passed),
      sql`SELECT usage_plan_version_id AS version, COUNT(*) AS customers FROM ${subscribed(organizationId, passed)} GROUP BY 1`,
      ...(lists.length > 0 ? [groupsQuery(organizationId, period, lists, groupsMax)] : []),
      ...(by.includes('plan') ? [versionsQuery(organizationId, period)] : []),
    ].map((query) => prepare(db, query)),
  )) as unknown as [
    D1Result<GroupRow>,
    D1Result<{ customers: number }>,
    D1Result<{ version: string; monthMs: string; subscribedMs: string }>,
    D1Result<{ version: string; customers: number }>,
    ...D1Result<GroupRow>[],
  ];
  const groups = grouped.flatMap(({ results }) => results);
  const of = (dimension: string) => groups.filter((row) => row.dimension === dimension).map(toGroup);
  const hasPlans = by.includes('plan') && (size.results[0]?.customers ?? 0) <= CUSTOMERS_READ_MAX;
  return {
    total: toGroup(total.results[0] as GroupRow),
    features: of('feature'),
    models: of('model'),
    versions: hasPlans ? of('version') : null,
    planMonths: months.results.map(({ version, monthMs, subscribedMs }) => ({
      usagePlanVersionId: version,
      monthMs: Number(monthMs),
      subscribedMs: BigInt(subscribedMs),
    })),
    subscribers: new Map(subscribers.results.map(({ version, customers }) => [version, customers])),
  };
}

function toGroup(row: GroupRow): EarningsGroup {
  return { key: row.key, completedCalls: Number(row.completedCalls), ...COST_AND_CHARGE.read(row) };
}

const FIGURE_NAMES = sql.raw(COST_AND_CHARGE.columns.join(', '));

/** One row: the sum of all outcomes. */
function totalQuery(organizationId: OrganizationId, period: Period): SQL {
  const parts = wholeDays(period).map(({ unit, startMs, endMs }) => {
    const [all, at] = unit === 'day' ? [organizationDays, sql.raw('day_ms')] : [organizationHours, sql.raw('hour_ms')];
    return sql`SELECT key AS outcome, ${FIGURE_NAMES} FROM ${all}
      WHERE organization_id = ${organizationId} AND dimension = 'outcome' AND ${at} >= ${startMs} AND ${at} < ${endMs}`;
  });
  return sql`SELECT 'total' AS dimension, '' AS key, ${SUMS} FROM (
    ${sql.join(parts, sql` UNION ALL `)}
    UNION ALL SELECT '', 0, 0, 0, 0, COALESCE(SUM(charged_usd), 0), COALESCE(SUM(charged_rest_nano_usd), 0) FROM ${chargedEvents(organizationId, period)})`;
}

/** By feature, by model, or both. Charges of custom meters belong to the feature that their increments name. */
function groupsQuery(
  organizationId: OrganizationId,
  period: Period,
  dimensions: readonly ('feature' | 'model')[],
  groupsMax: number,
): SQL {
  // The features of the period come from the sums of all; then each is looked up by its key.
  const parts = wholeDays(period).map(({ unit, startMs, endMs }) => {
    const [all, used, at] =
      unit === 'day'
        ? [organizationDays, featureDays, sql.raw('day_ms')]
        : [organizationHours, featureHours, sql.raw('hour_ms')];
    return sql`SELECT used.feature, model, outcome, ${FIGURE_NAMES} FROM (
        SELECT DISTINCT key FROM ${all} WHERE organization_id = ${organizationId} AND dimension = 'feature'
          AND ${at} >= ${startMs} AND ${at} < ${endMs}) features
      CROSS JOIN ${used} used ON used.organization_id = ${organizationId} AND used.feature = features.key
        AND used.${at} >= ${startMs} AND used.${at} < ${endMs}`;
  });
  const list = (dimension: 'feature' | 'model') =>
    sql`SELECT * FROM (SELECT ${sql.raw(`'${dimension}' AS dimension, ${dimension} AS key`)}, ${SUMS} FROM used
      WHERE ${sql.raw(dimension)} IS NOT NULL GROUP BY ${sql.raw(dimension)}
      HAVING SUM(calls) > 0 OR SUM(charge_usd) <> 0 OR SUM(charge_rest_nano_usd) <> 0
      ORDER BY SUM(cost_usd) * 1000000000 + SUM(cost_rest_nano_usd) DESC, SUM(calls) DESC, 2 LIMIT ${groupsMax})`;
  return sql`WITH used AS MATERIALIZED (
      ${sql.join(parts, sql` UNION ALL `)}
      UNION ALL
      SELECT COALESCE(feature, ''), NULL, '', 0, 0, 0, 0, SUM(charged_usd), SUM(charged_rest_nano_usd)
      FROM ${chargedEvents(organizationId, period)} GROUP BY feature)
    ${sql.join(dimensions.map(list), sql` UNION ALL `)}`;
}

const chargedEvents = (organizationId: OrganizationId, { fromMs, toMs }: Period) =>
  sql`${meterEvents} INDEXED BY meter_events_charged
    WHERE organization_id = ${organizationId} AND at_ms >= ${fromMs} AND at_ms < ${toMs} AND charge_nano_usd IS NOT NULL`;

/** Customers with a subscription in the period. */
const subscribed = (organizationId: OrganizationId, { fromMs, toMs }: Period) =>
  sql`${customers} INDEXED BY customers_by_plan_version WHERE organization_id = ${organizationId}
    AND created_at_ms < ${whole(toMs)} AND (canceled_at_ms IS NULL OR canceled_at_ms > ${whole(fromMs)})`;

/** Changes of plans since the start of the period: the time before each belongs to another version. */
const planChanges = (organizationId: OrganizationId, fromMs: number) =>
  sql`(SELECT customer_id, at_ms, record ->> 'previousUsagePlanVersionId' AS previous, record ->> 'usagePlanVersionId' AS version
    FROM ${organizationEvents}
    WHERE organization_id = ${organizationId} AND type = 'customer.plan_changed' AND event_id >= ${eventIdsFrom(fromMs)})`;

/**
 * The time that customers had each version, by month. First every customer counts with the present version from the
 * start. Then each change moves the time before it from the later version to the earlier one, so that a chain of
 * changes leaves each version its own time.
 */
function planMonthsQuery(organizationId: OrganizationId, period: Period): SQL {
  const { fromMs, toMs } = period;
  const months = JSON.stringify(listMonths(period));
  const before = (version: string, sign: 1 | -1) =>
    sql`SELECT changed.${sql.raw(version)}, MAX(created_at_ms, ${whole(fromMs)}),
        MIN(COALESCE(canceled_at_ms, ${whole(toMs)}), at_ms, ${whole(toMs)}), ${whole(sign)}
      FROM ${planChanges(organizationId, fromMs)} changed
      CROSS JOIN ${customers} ON organization_id = ${organizationId} AND customers.customer_id = changed.customer_id`;
  return sql`WITH months AS (SELECT value ->> 0 AS month_ms, value ->> 1 AS start_ms, value ->> 2 AS end_ms FROM json_each(${months})),
    spans AS MATERIALIZED (
      SELECT usage_plan_version_id AS version, MAX(created_at_ms, ${whole(fromMs)}) AS start_ms,
        MIN(COALESCE(canceled_at_ms, ${whole(toMs)}), ${whole(toMs)}) AS end_ms, COUNT(*) AS customers
      FROM ${subscribed(organizationId, period)} GROUP BY 1, 2, 3
      UNION ALL ${before('previous', 1)} UNION ALL ${before('version', -1)})
    SELECT version, CAST(month_ms AS TEXT) AS monthMs,
      CAST(SUM(customers * (MIN(spans.end_ms, months.end_ms) - MAX(spans.start_ms, months.start_ms))) AS TEXT) AS subscribedMs
    FROM spans CROSS JOIN months ON spans.start_ms < months.end_ms AND spans.end_ms > months.start_ms GROUP BY 1, 2`;
}

/** The calendar months (UTC) of a period: the start of each, and its part of the period. */
function listMonths({ fromMs, toMs }: Period): [number, number, number][] {
  const months: [number, number, number][] = [];
  for (let startMs = fromMs; startMs < toMs; startMs = months.at(-1)?.[2] ?? toMs) {
    const at = new Date(startMs);
    const monthMs = Date.UTC(at.getUTCFullYear(), at.getUTCMonth());
    months.push([monthMs, startMs, Math.min(toMs, Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1))]);
  }
  return months;
}

/** The usage of customers while they had each version, computed in the same way, to the hour of a change. */
function versionsQuery(organizationId: OrganizationId, { fromMs, toMs }: Period): SQL {
  const among = (table: SQL) => sql`${table}.organization_id = ${organizationId}`;
  const before = (name: string, atMs: SQL) =>
    totalsBefore(name, { among, customer: sql.raw('uses.customer_id'), atMs });
  const change = (version: string, sign: 1 | -1) =>
    sql`SELECT changed.customer_id, ${sql.raw(version)}, MIN(at_ms, ${whole(toMs)}), ${whole(sign)} FROM ${planChanges(organizationId, fromMs)} changed`;
  const differences = COST_AND_CHARGE.select((name) => `sign * (${moreThanEarlier(name)})`);
  return sql`WITH uses (customer_id, version, end_ms, sign) AS MATERIALIZED (
      SELECT customer_id, usage_plan_version_id, ${whole(toMs)}, 1 FROM ${customers} WHERE organization_id = ${organizationId}
        AND (SELECT customers FROM ${organizationSizes} WHERE organization_id = ${organizationId}) <= ${CUSTOMERS_READ_MAX}
      UNION ALL ${change('previous', 1)} UNION ALL ${change('version', -1)}),
    used AS (
      SELECT version, ${differences} FROM uses
      CROSS JOIN ${before('later', sql.raw('uses.end_ms'))} AND later.hour_ms >= ${whole(fromMs)}
      LEFT JOIN ${before('earlier', whole(fromMs))}
      UNION ALL
      SELECT usage_plan_version_id, 0, 0, 0, 0, charged_usd, charged_rest_nano_usd FROM ${chargedEvents(organizationId, { fromMs, toMs })})
    SELECT 'version' AS dimension, version AS key, '0' AS completedCalls, ${COST_SUMS} FROM used GROUP BY version`;
}
