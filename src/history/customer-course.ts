/**
 * Recent activity of the customers of a page, from D1: the cost of days, failed calls, their use of some models,
 * and the beginning of their usage period.
 */

import { sql } from 'drizzle-orm';
import { database, prepare } from '../config/database.ts';
import type { CustomerId, OrganizationId } from '../domain/ids.ts';
import { type NanoUsd, nanoOfParts } from '../domain/money.ts';
import type { Env } from '../env.ts';
import { customerDays, customers } from './schema/index.ts';
import { totalsBefore } from './usage-figures.ts';

export interface CustomerCourse {
  /** The beginning of the usage period; `null` if D1 does not know the customer yet. */
  periodFromMs: number | null;
  /** Between each border and the next. */
  spans: { costNanoUsd: NanoUsd; calls: number; unpricedCalls: number }[];
  /** The completed and failed calls since a UTC day. */
  recentCalls: number;
  recentlyFailed: number;
  /** The named models that have cost something since a UTC day. */
  models: string[];
}

export interface CourseQuery {
  customerIds: readonly CustomerId[];
  /** Whole hours, in order. */
  borders: readonly number[];
  failedSinceMs: number;
  models: readonly string[];
  modelsSinceMs: number;
}

interface Row {
  customerId: CustomerId;
  /** JSON. */
  value: string;
}

/** The total that had been used before each border. */
type Total = [place: number, costUsd: string, costRest: string, calls: number, unpricedCalls: number];

/** For every requested customer. */
export async function readCustomerCourses(
  env: Env,
  organizationId: OrganizationId,
  { customerIds, borders, failedSinceMs, models, modelsSinceMs }: CourseQuery,
): Promise<Map<CustomerId, CustomerCourse>> {
  const courses = new Map<CustomerId, CustomerCourse>(
    customerIds.map((customerId) => [
      customerId,
      {
        periodFromMs: null,
        spans: borders.slice(1).map(() => ({ costNanoUsd: 0n, calls: 0, unpricedCalls: 0 })),
        recentCalls: 0,
        recentlyFailed: 0,
        models: [],
      },
    ]),
  );
  if (customerIds.length === 0) return courses;
  const db = await database(env, organizationId);
  const ids = sql`json_each(${JSON.stringify(customerIds)})`;
  const ofOrganization = sql`organization_id = ${organizationId}`;
  const totals = sql`SELECT who.value AS customerId,
      json_group_array(json_array(border.key, CAST(cost_usd AS TEXT), CAST(cost_rest_nano_usd AS TEXT), calls, unpriced_calls)) AS value
    FROM ${ids} who CROSS JOIN json_each(${JSON.stringify(borders)}) border
    CROSS JOIN ${totalsBefore('totals', { among: (table) => sql`${table}.${ofOrganization}`, customer: sql.raw('who.value'), atMs: sql.raw('border.value') })}
    GROUP BY who.key`;
  const ended = sql`SELECT customer_id AS customerId, json_array(SUM(calls), SUM(failed_calls)) AS value FROM ${customerDays}
    WHERE ${ofOrganization} AND customer_id IN (SELECT value FROM ${ids}) AND day_ms >= ${failedSinceMs} GROUP BY 1`;
  const used = sql`SELECT customer_id AS customerId, json_group_array(DISTINCT paid_model) AS value
    FROM ${customerDays} INDEXED BY customer_days_by_model
    WHERE ${ofOrganization} AND paid_model IN (SELECT value FROM json_each(${JSON.stringify(models)}))
      AND customer_id IN (SELECT value FROM ${ids}) AND day_ms >= ${modelsSinceMs} AND calls > 0 GROUP BY 1`;
  const periods = sql`SELECT customer_id AS customerId, CAST(last_replenished_at_ms AS TEXT) AS value FROM ${customers}
    WHERE ${ofOrganization} AND customer_id IN (SELECT value FROM ${ids})`;
  const queries = [totals, ended, periods, ...(models.length > 0 ? [used] : [])];
  const results = await db.$client.batch<Row>(queries.map((query) => prepare(db, query)));
  const [ofTotals = [], ofEnded = [], ofPeriods = [], ofUsed = []] = results.map((result) => result.results);
  for (const { customerId, value } of ofTotals) {
    const course = courses.get(customerId);
    if (course) course.spans = splitSpans(borders.length, JSON.parse(value) as Total[]);
  }
  for (const { customerId, value } of ofPeriods) {
    const course = courses.get(customerId);
    if (course) course.periodFromMs = Number(value);
  }
  for (const { customerId, value } of ofEnded) {
    const [calls, failed] = JSON.parse(value) as [number, number];
    Object.assign(courses.get(customerId) ?? {}, { recentCalls: calls, recentlyFailed: failed });
  }
  for (const { customerId, value } of ofUsed)
    Object.assign(courses.get(customerId) ?? {}, { models: JSON.parse(value) });
  return courses;
}

/** A border before the first use has no total. */
function splitSpans(borders: number, totals: readonly Total[]): CustomerCourse['spans'] {
  const at = Array.from({ length: borders }, () => ({ costNanoUsd: 0n, calls: 0, unpricedCalls: 0 }));
  for (const [place, costUsd, costRest, calls, unpricedCalls] of totals)
    at[place] = { costNanoUsd: nanoOfParts(costUsd, costRest), calls, unpricedCalls };
  return at.slice(1).map((total, index) => {
    const before = at[index] ?? total;
    return {
      costNanoUsd: total.costNanoUsd - before.costNanoUsd,
      calls: total.calls - before.calls,
      unpricedCalls: total.unpricedCalls - before.unpricedCalls,
    };
  });
}
