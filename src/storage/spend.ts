/**
 * Ended calls and spend over time, of an organization and of its customers, and the models that they began to use: the
 * input of anomaly detection. Spend is a floating-point number here, because it is for estimates and not for bills.
 *
 * Of each model that is new in the period, only the week after its first use is read, so what is read does not grow
 * with the number of models.
 */

import { type SQL, sql } from 'drizzle-orm';
import type { Env } from '../env.ts';
import { DAY_MS, HOUR_MS, WEEK_MS } from '../platform/time.ts';
import { ANOMALY_DAYS_MIN } from '../readings/anomalies/episode.ts';
import { type Database, database } from './database.ts';
import { customerDays, organizationDays, organizationHours, usageHours } from './schema/index.ts';
import { COST } from './usage.ts';

/** A model is not new if its first use is within this time of the first use of any model. */
const KNOWN_MS = ANOMALY_DAYS_MIN * DAY_MS;
const SPENT = sql.raw('(SUM(cost_usd) + SUM(cost_rest_nano_usd) / 1e9)');

export interface SpendPeriod {
  fromMs: number;
  toMs: number;
}

/** A bucket of time with usage. */
export interface SpendRow {
  /** Empty for the organization as a whole. */
  customerId: string;
  startMs: number;
  /** `null` in the row of all models, which every bucket has. */
  model: string | null;
  calls: number;
  failedCalls: number;
  costUsd: number;
}

/** Spend of the organization by hour. */
export async function readOrganizationSpend(
  env: Env,
  organizationId: string,
  { fromMs, toMs }: SpendPeriod,
): Promise<SpendRow[]> {
  const days = sql`${organizationDays} WHERE organization_id = ${organizationId} AND day_ms >= ${fromMs} AND day_ms < ${toMs}`;
  // Which models are new is read from the days; then each hour of their first week is looked up by its key.
  return (await database(env, organizationId)).all<SpendRow>(sql`
    WITH RECURSIVE first_use AS MATERIALIZED (
      SELECT key, MIN(day_ms) AS first_ms FROM ${days} AND dimension = 'model' AND ${COST} > 0
      GROUP BY key HAVING MIN(day_ms) > ${KNOWN_MS - DAY_MS} + (
        SELECT MIN(day_ms) FROM ${days} AND dimension = 'outcome' AND key IN ('COMPLETED', 'FAILED') AND calls > 0)),
    hours (after_ms) AS (SELECT 0 UNION ALL SELECT after_ms + ${HOUR_MS} FROM hours WHERE after_ms < ${WEEK_MS + DAY_MS})
    SELECT '' AS customerId, hour_ms AS startMs, NULL AS model, SUM(calls) AS calls,
      SUM(CASE WHEN key = 'FAILED' THEN calls ELSE 0 END) AS failedCalls, ${SPENT} AS costUsd
    FROM ${organizationHours}
    WHERE organization_id = ${organizationId} AND dimension = 'outcome' AND hour_ms >= ${fromMs} AND hour_ms < ${toMs}
      AND key IN ('COMPLETED', 'FAILED')
    GROUP BY hour_ms HAVING SUM(calls) > 0
    UNION ALL
    SELECT '', used.hour_ms, used.key, used.calls, 0, ${COST} / 1e9
    FROM first_use CROSS JOIN hours CROSS JOIN ${organizationHours} used
    WHERE used.organization_id = ${organizationId} AND used.dimension = 'model' AND used.hour_ms = first_ms + after_ms
      AND used.hour_ms < ${toMs} AND used.key = first_use.key AND ${COST} > 0`);
}

/** Spend of customers by day. */
export async function readDailySpend(
  env: Env,
  organizationId: string,
  period: SpendPeriod,
  customerIds: readonly string[],
): Promise<SpendRow[]> {
  const spent = sql`SELECT customer_id, day_ms AS start_ms, paid_model AS model, calls, failed_calls, cost_usd, cost_rest_nano_usd FROM ${customerDays}
    WHERE organization_id = ${organizationId} AND customer_id IN (SELECT value FROM json_each(${JSON.stringify(customerIds)}))
      AND day_ms >= ${period.fromMs} AND day_ms < ${period.toMs}`;
  return readSpent(await database(env, organizationId), spent);
}

/** Spend of one customer by hour. */
export async function readHourlySpend(
  env: Env,
  organizationId: string,
  period: SpendPeriod,
  customerId: string,
): Promise<SpendRow[]> {
  const spent = sql`SELECT customer_id, hour_ms AS start_ms, model, SUM(calls) AS calls,
      SUM(CASE WHEN outcome = 'FAILED' THEN calls ELSE 0 END) AS failed_calls, SUM(cost_usd) AS cost_usd,
      SUM(cost_rest_nano_usd) AS cost_rest_nano_usd
    FROM ${usageHours}
    WHERE organization_id = ${organizationId} AND customer_id = ${customerId} AND hour_ms >= ${period.fromMs} AND hour_ms < ${period.toMs}
      AND outcome IN ('COMPLETED', 'FAILED')
    GROUP BY customer_id, hour_ms, model`;
  return readSpent(await database(env, organizationId), spent);
}

/** `spent` has a row for each customer, bucket and model. */
function readSpent(db: Database, spent: SQL): Promise<SpendRow[]> {
  return db.all<SpendRow>(sql`
    WITH spent AS MATERIALIZED (${spent}),
    beginning AS MATERIALIZED (SELECT customer_id, MIN(start_ms) AS start_ms FROM spent WHERE calls > 0 GROUP BY customer_id),
    first_use AS MATERIALIZED (
      SELECT spent.customer_id, model, MIN(spent.start_ms) AS first_ms, beginning.start_ms AS beginning_ms
      FROM spent JOIN beginning ON beginning.customer_id = spent.customer_id WHERE ${COST} > 0
      GROUP BY spent.customer_id, model HAVING MIN(spent.start_ms) >= beginning_ms + ${KNOWN_MS})
    SELECT customer_id AS customerId, start_ms AS startMs, NULL AS model, SUM(calls) AS calls, SUM(failed_calls) AS failedCalls,
      ${SPENT} AS costUsd
    FROM spent GROUP BY customer_id, start_ms HAVING SUM(calls) > 0
    UNION ALL
    SELECT spent.customer_id, start_ms, spent.model, calls, failed_calls, ${COST} / 1e9
    FROM spent JOIN first_use ON first_use.customer_id = spent.customer_id AND first_use.model = spent.model
    WHERE start_ms < first_ms + ${WEEK_MS} AND ${COST} > 0`);
}
