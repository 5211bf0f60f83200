/**
 * The course of usage in D1: the usage of each hour or UTC day of a period, in total and by some models.
 *
 * For an organization or one of its features it reads roll-ups, whose rows do not grow with the number of calls; for a
 * customer it reads that customer's hours.
 */

import { type SQL, sql } from 'drizzle-orm';
import { database, prepare } from '../config/database.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { DAY_MS, HOUR_MS } from '../platform/time.ts';
import { featureDays, featureHours, organizationDays, organizationHours, usageHours } from './schema/index.ts';
import type { UsageFilter } from './usage.ts';
import { FigureSet, summed } from './usage-figures.ts';

export type Step = 'hour' | 'day';

export const STEP_MS: Record<Step, number> = { hour: HOUR_MS, day: DAY_MS };

const FIGURES = new FigureSet(['calls', 'unpricedCalls', 'inputTokens', 'outputTokens', 'costNanoUsd']);
const SUMS = FIGURES.selectText(summed);

/** The place of usage in the period. */
interface Place {
  /** Steps since the start of the period. */
  place: number;
  /** `null` means all models. */
  model: string | null;
}

export type CourseUsage = Place & ReturnType<typeof FIGURES.read>;

/** Steps without usage have no row. The period begins and ends at the start of a step. */
export async function findUsageCourse(
  env: Env,
  organizationId: OrganizationId,
  filter: UsageFilter,
  step: Step,
  models: readonly string[],
): Promise<CourseUsage[]> {
  const db = await database(env, organizationId);
  const { all, ofModels } = courseQuery(organizationId, filter, step, models);
  // Literals, because D1 binds numbers as floating-point ones, and the position is a quotient of integers.
  const place = sql.raw(`(at_ms - ${filter.fromMs}) / ${STEP_MS[step]}`);
  const queries = [
    sql`SELECT ${place} AS place, NULL AS model, ${SUMS} FROM (${all}) GROUP BY 1`,
    ...(models.length > 0 ? [sql`SELECT ${place} AS place, model, ${SUMS} FROM (${ofModels}) GROUP BY 1, 2`] : []),
  ];
  const results = await db.$client.batch<Place & Record<string, unknown>>(queries.map((query) => prepare(db, query)));
  return results.flatMap(({ results: rows }) =>
    rows.map((row) => ({ place: row.place, model: row.model, ...FIGURES.read(row) })),
  );
}

/** The rows of the period: all of them, and the rows of the models. */
function courseQuery(
  organizationId: OrganizationId,
  { fromMs, toMs, customerId, feature }: UsageFilter,
  step: Step,
  models: readonly string[],
): { all: SQL; ofModels: SQL } {
  const figures = sql.raw(FIGURES.columns.join(', '));
  const named = sql.raw(step === 'day' ? 'day_ms' : 'hour_ms');
  if (customerId !== undefined) {
    const ofFeature = feature === undefined ? sql`` : sql`AND feature = ${feature}`;
    const all = sql`SELECT hour_ms AS at_ms, model, ${figures} FROM ${usageHours}
      WHERE organization_id = ${organizationId} AND customer_id = ${customerId}
        AND hour_ms >= ${fromMs} AND hour_ms < ${toMs} ${ofFeature}`;
    return { all, ofModels: sql`SELECT * FROM (${all}) WHERE model IN ${models}` };
  }
  const among = sql`organization_id = ${organizationId} AND ${named} >= ${fromMs} AND ${named} < ${toMs}`;
  if (feature !== undefined) {
    const all = sql`SELECT ${named} AS at_ms, model, ${figures} FROM ${step === 'day' ? featureDays : featureHours}
      WHERE ${among} AND feature = ${feature}`;
    return { all, ofModels: sql`SELECT * FROM (${all}) WHERE model IN ${models}` };
  }
  const table = step === 'day' ? organizationDays : organizationHours;
  // Every call has an outcome, and there are only four of them.
  return {
    all: sql`SELECT ${named} AS at_ms, ${figures} FROM ${table} WHERE ${among} AND dimension = 'outcome'`,
    ofModels: sql`SELECT ${named} AS at_ms, key AS model, ${figures} FROM ${table}
      WHERE ${among} AND dimension = 'model' AND key IN ${models}`,
  };
}
