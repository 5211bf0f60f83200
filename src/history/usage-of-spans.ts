/**
 * Usage of short spans of time by model and feature, of an organization or one of its customers, and of the same hours
 * of the week before: it explains an episode.
 */

import { sql } from 'drizzle-orm';
import { database, prepare } from '../config/database.ts';
import type { CustomerId, OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { DAY_MS } from '../platform/time.ts';
import { featureHours, organizationDays, usageHours } from './schema/index.ts';

export interface Span {
  /** `null` for the organization as a whole. */
  customerId: CustomerId | null;
  fromMs: number;
  toMs: number;
}

export interface SpanUsage {
  /** The position of its span among the requested ones. */
  place: number;
  feature: string;
  model: string;
  outcome: string;
  calls: number;
  inputTokens: number;
  cachedInputTokens: number;
  costUsd: number;
}

/** The most rows of one reading of spans: beyond them, the smallest contributions are not known. */
const ROWS_MAX = 5_000;

const FIGURES = sql.raw(`feature, model, outcome, SUM(calls) AS calls, SUM(input_tokens) AS inputTokens,
  SUM(cached_input_tokens) AS cachedInputTokens, SUM(cost_usd) + SUM(cost_rest_nano_usd) / 1e9 AS costUsd`);
const GROUPED = sql.raw(`GROUP BY place, feature, model, outcome ORDER BY costUsd DESC, calls DESC LIMIT ${ROWS_MAX}`);

export async function readUsageOfSpans(
  env: Env,
  organizationId: OrganizationId,
  spans: readonly Span[],
): Promise<SpanUsage[]> {
  if (spans.length === 0) return [];
  const db = await database(env, organizationId);
  const asked = sql`WITH spans AS MATERIALIZED (
    SELECT key AS place, value ->> 'customerId' AS customer_id, value ->> 'fromMs' AS from_ms, value ->> 'toMs' AS to_ms
    FROM json_each(${JSON.stringify(spans)}))`;
  // The features of a day come from its sums; then the hours of each are looked up by their key.
  const ofAll = sql`${asked} SELECT place, ${FIGURES} FROM (
    SELECT spans.place, hours.* FROM spans
    CROSS JOIN ${organizationDays} days ON days.organization_id = ${organizationId} AND days.dimension = 'feature'
      AND days.day_ms >= from_ms / ${DAY_MS} * ${DAY_MS} AND days.day_ms < to_ms
    CROSS JOIN ${featureHours} hours ON hours.organization_id = ${organizationId} AND hours.feature = days.key
      AND hours.hour_ms >= MAX(from_ms, days.day_ms) AND hours.hour_ms < MIN(to_ms, days.day_ms + ${DAY_MS})
    WHERE spans.customer_id IS NULL) ${GROUPED}`;
  const ofCustomers = sql`${asked} SELECT place, ${FIGURES} FROM (
    SELECT spans.place, hours.* FROM spans
    CROSS JOIN ${usageHours} hours ON hours.organization_id = ${organizationId} AND hours.customer_id = spans.customer_id
      AND hours.hour_ms >= from_ms AND hours.hour_ms < to_ms
    WHERE spans.customer_id IS NOT NULL) ${GROUPED}`;
  const queries = [
    ...(spans.some(({ customerId }) => customerId === null) ? [ofAll] : []),
    ...(spans.some(({ customerId }) => customerId !== null) ? [ofCustomers] : []),
  ];
  const results = await db.$client.batch<SpanUsage>(queries.map((query) => prepare(db, query)));
  return results.flatMap(({ results: rows }) => rows);
}
