/**
 * The calls of all organizations of a database by the hour of their end, and by outcome: for the health of the service.
 */
import { sql } from 'drizzle-orm';
import { namedDatabase } from '../config/database.ts';
import type { Env } from '../env.ts';
import type { DatabaseName } from '../platform/database-name.ts';
import { organizationHours, organizationSizes } from './schema/index.ts';

/** The most organizations that are summed: those with the most customers. Each has at most five rows for an hour. */
const SUMMED_ORGANIZATIONS_MAX = 1_000;

export interface OutcomeHour {
  hourMs: number;
  outcome: string;
  calls: number;
}

export async function findOutcomeHours(
  env: Env,
  name: DatabaseName,
  fromMs: number,
): Promise<{ hours: OutcomeHour[]; isTruncated: boolean }> {
  const db = namedDatabase(env, name);
  const [hours, [{ organizations } = { organizations: 0 }]] = await Promise.all([
    db.all<OutcomeHour>(sql`
      WITH largest AS MATERIALIZED (
        SELECT organization_id FROM ${organizationSizes} ORDER BY customers DESC LIMIT ${SUMMED_ORGANIZATIONS_MAX})
      SELECT hour_ms AS hourMs, key AS outcome, SUM(calls) AS calls
      FROM largest CROSS JOIN ${organizationHours} used
      WHERE used.organization_id = largest.organization_id AND dimension = 'outcome' AND hour_ms >= ${fromMs}
      GROUP BY hour_ms, key`),
    db.all<{ organizations: number }>(sql`SELECT COUNT(*) AS organizations FROM ${organizationSizes}`),
  ]);
  return { hours, isTruncated: organizations > SUMMED_ORGANIZATIONS_MAX };
}
