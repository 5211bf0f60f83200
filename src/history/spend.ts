/**
 * Ended calls, denied requests, input and spend over time, of an organization and of its customers, and the models and
 * features that they began to use: the input of anomaly detection. Spend is a floating-point number here, because it is
 * for estimates and not for bills.
 *
 * For each model and feature that is new in the period, only the week after its first use is read, so the amount of
 * data does not grow with their number.
 */

import { type SQL, sql } from 'drizzle-orm';
import { type Database, database } from '../config/database.ts';
import { ANOMALY_DAYS_MIN } from '../contract/readings.ts';
import type { CustomerId, OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { DAY_MS, HOUR_MS, WEEK_MS } from '../platform/time.ts';
import { customerDays, organizationDays, organizationHours, usageHours } from './schema/index.ts';
import { COST } from './usage.ts';

/** A model or feature is not new if its first use is within this time of the first use of any. */
const KNOWN_MS = ANOMALY_DAYS_MIN * DAY_MS;
const SPENT = sql.raw('(SUM(cost_usd) + SUM(cost_rest_nano_usd) / 1e9)');

export interface SpendPeriod {
  fromMs: number;
  toMs: number;
}

/** A bucket of time with usage. */
export interface SpendRow {
  /** Empty for the organization as a whole. */
  customerId: CustomerId;
  startMs: number;
  /** The subject of the spend: all, which every bucket has, or a new model or feature. */
  dimension: 'all' | 'model' | 'feature';
  /** Its name; empty in the row of `all`. */
  key: string;
  calls: number;
  failedCalls: number;
  /** Only for hours. */
  deniedCalls: number;
  inputTokens: number;
  cachedInputTokens: number;
  costUsd: number;
}

const ENDED = sql.raw("('COMPLETED', 'FAILED', 'NOT_ALLOWED')");
/** Calls by outcome, from a column that has it. A denied request is not one of the calls. */
const callsBy = (outcome: string) =>
  sql.raw(`SUM(CASE ${outcome} WHEN 'NOT_ALLOWED' THEN 0 ELSE calls END) AS calls,
    SUM(CASE ${outcome} WHEN 'FAILED' THEN calls ELSE 0 END) AS failed_calls,
    SUM(CASE ${outcome} WHEN 'NOT_ALLOWED' THEN calls ELSE 0 END) AS denied_calls,
    SUM(input_tokens) AS input_tokens, SUM(cached_input_tokens) AS cached_input_tokens`);
const NOTHING = sql.raw('0, 0, 0, 0, 0');

/** Spend of the organization by hour. */
export async function readOrganizationSpend(
  env: Env,
  organizationId: OrganizationId,
  { fromMs, toMs }: SpendPeriod,
): Promise<SpendRow[]> {
  const days = sql`${organizationDays} WHERE organization_id = ${organizationId} AND day_ms >= ${fromMs} AND day_ms < ${toMs}`;
  // New models and features are read from the days; then each hour of the first week is looked up by its key.
  return (await database(env, organizationId)).all<SpendRow>(sql`
    WITH RECURSIVE first_use AS MATERIALIZED (
      SELECT dimension, key, MIN(day_ms) AS first_ms FROM ${days} AND dimension IN ('model', 'feature') AND key <> '' AND ${COST} > 0
      GROUP BY dimension, key HAVING MIN(day_ms) > ${KNOWN_MS - DAY_MS} + (
        SELECT MIN(day_ms) FROM ${days} AND dimension = 'outcome' AND key IN ('COMPLETED', 'FAILED') AND calls > 0)),
    hours (after_ms) AS (SELECT 0 UNION ALL SELECT after_ms + ${HOUR_MS} FROM hours WHERE after_ms < ${WEEK_MS + DAY_MS}),
    used AS (
      SELECT hour_ms, ${callsBy('key')}, ${SPENT} AS cost
      FROM ${organizationHours}
      WHERE organization_id = ${organizationId} AND dimension = 'outcome' AND hour_ms >= ${fromMs} AND hour_ms < ${toMs} AND key IN ${ENDED}
      GROUP BY hour_ms HAVING SUM(calls) > 0)
    SELECT '' AS customerId, hour_ms AS startMs, 'all' AS dimension, '' AS key, calls, failed_calls AS failedCalls,
      denied_calls AS deniedCalls, input_tokens AS inputTokens, cached_input_tokens AS cachedInputTokens, cost AS costUsd
    FROM used
    UNION ALL
    SELECT '', used.hour_ms, used.dimension, used.key, ${NOTHING}, ${COST} / 1e9
    FROM first_use CROSS JOIN hours CROSS JOIN ${organizationHours} used
    WHERE used.organization_id = ${organizationId} AND used.dimension = first_use.dimension AND used.hour_ms = first_ms + after_ms
      AND used.hour_ms < ${toMs} AND used.key = first_use.key AND ${COST} > 0`);
}

/** Spend of customers by day. */
export async function readDailySpend(
  env: Env,
  organizationId: OrganizationId,
  period: SpendPeriod,
  customerIds: readonly CustomerId[],
): Promise<SpendRow[]> {
  const spent = sql`SELECT customer_id, day_ms AS start_ms, paid_model AS model, calls, failed_calls, 0 AS denied_calls, 0 AS input_tokens,
      0 AS cached_input_tokens, cost_usd, cost_rest_nano_usd FROM ${customerDays}
    WHERE organization_id = ${organizationId} AND customer_id IN (SELECT value FROM json_each(${JSON.stringify(customerIds)}))
      AND day_ms >= ${period.fromMs} AND day_ms < ${period.toMs}`;
  return readSpent(await database(env, organizationId), spent, ['model']);
}

/** Spend of one customer by hour. */
export async function readHourlySpend(
  env: Env,
  organizationId: OrganizationId,
  period: SpendPeriod,
  customerId: CustomerId,
): Promise<SpendRow[]> {
  const spent = sql`SELECT customer_id, hour_ms AS start_ms, model, feature, ${callsBy('outcome')}, SUM(cost_usd) AS cost_usd,
      SUM(cost_rest_nano_usd) AS cost_rest_nano_usd
    FROM ${usageHours}
    WHERE organization_id = ${organizationId} AND customer_id = ${customerId} AND hour_ms >= ${period.fromMs} AND hour_ms < ${period.toMs}
      AND outcome IN ${ENDED}
    GROUP BY customer_id, hour_ms, model, feature`;
  return readSpent(await database(env, organizationId), spent, ['model', 'feature']);
}

/** `spent` has rows of a customer, a bucket and a model, and also of a feature if features are requested. */
function readSpent(db: Database, spent: SQL, dimensions: readonly ('model' | 'feature')[]): Promise<SpendRow[]> {
  // For each key: its first call, and its first call that cost something.
  const firstUses = dimensions.map(
    (dimension) => sql`SELECT ${sql.raw(`'${dimension}'`)} AS dimension, customer_id, ${sql.raw(dimension)} AS key,
      MIN(CASE WHEN calls > 0 THEN start_ms END) AS called_ms, MIN(CASE WHEN ${COST} > 0 THEN start_ms END) AS first_ms
    FROM spent GROUP BY customer_id, key`,
  );
  const weeksOfNewcomers = dimensions.map(
    (dimension) => sql`SELECT spent.customer_id, start_ms, dimension, key, ${NOTHING}, ${SPENT}
    FROM newcomers CROSS JOIN spent ON spent.customer_id = newcomers.customer_id AND spent.${sql.raw(dimension)} = key
    WHERE dimension = ${sql.raw(`'${dimension}'`)} AND start_ms < first_ms + ${WEEK_MS} AND ${COST} > 0
    GROUP BY spent.customer_id, start_ms, key`,
  );
  return db.all<SpendRow>(sql`
    WITH spent AS MATERIALIZED (${spent}),
    first_uses AS MATERIALIZED (${sql.join(firstUses, sql` UNION ALL `)}),
    newcomers AS MATERIALIZED (
      SELECT customer_id, dimension, key, first_ms FROM first_uses WHERE key <> '' AND first_ms >= ${KNOWN_MS} + (
        SELECT MIN(called_ms) FROM first_uses any_use WHERE any_use.customer_id = first_uses.customer_id))
    SELECT customer_id AS customerId, start_ms AS startMs, 'all' AS dimension, '' AS key, SUM(calls) AS calls,
      SUM(failed_calls) AS failedCalls, SUM(denied_calls) AS deniedCalls, SUM(input_tokens) AS inputTokens,
      SUM(cached_input_tokens) AS cachedInputTokens, ${SPENT} AS costUsd
    FROM spent GROUP BY customer_id, start_ms HAVING SUM(calls) + SUM(denied_calls) > 0
    UNION ALL ${sql.join(weeksOfNewcomers, sql` UNION ALL `)}`);
}
