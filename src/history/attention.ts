/**
 * Counts of history that needs attention: one statement for all organizations of a database.
 *
 * Each count follows an index and stops at a bound, so that its cost does not grow with the history.
 */

import { type SQL, sql } from 'drizzle-orm';
import { namedDatabase } from '../config/database.ts';
import { CALLS_SEARCHED_MAX } from '../contract/call-list.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import type { DatabaseName } from '../platform/database-name.ts';
import { eventIdsFrom } from '../platform/event-id.ts';
import { calls, customers, DENIED, organizationEvents, UNPRICED } from './schema/index.ts';

/** Higher numbers are not counted. */
export const COUNTED_MAX = CALLS_SEARCHED_MAX;

/** The organizations of one database to count for. */
export interface Counting {
  database: DatabaseName;
  organizationIds: readonly OrganizationId[];
}

/** Calls without a price that began at this time or later. */
export function countUnpricedSince(env: Env, of: Counting, fromMs: number): Promise<Map<OrganizationId, number>> {
  return countByOrganization(
    env,
    of,
    sql`${calls} WHERE organization_id = asked.value AND started_at_ms >= ${fromMs} AND ${UNPRICED}`,
  );
}

/** Calls that began at this time or later and were denied. */
export function countDeniedSince(env: Env, of: Counting, fromMs: number): Promise<Map<OrganizationId, number>> {
  return countByOrganization(
    env,
    of,
    sql`${calls} WHERE organization_id = asked.value AND started_at_ms >= ${fromMs} AND ${DENIED}`,
  );
}

/** Customers that have used at least this share of a limit in their usage period. */
export function countNearLimit(
  env: Env,
  of: Counting,
  share: number,
  nowMs: number,
): Promise<Map<OrganizationId, number>> {
  return countByOrganization(
    env,
    of,
    sql`${customers} WHERE organization_id = asked.value AND worst_meter_share >= ${share} AND worst_meter IS NOT NULL
      AND next_replenish_at_ms > ${nowMs}`,
  );
}

/** Events of a type at this time or later. */
export function countEventsSince(
  env: Env,
  of: Counting,
  type: string,
  fromMs: number,
): Promise<Map<OrganizationId, number>> {
  return countByOrganization(
    env,
    of,
    sql`${organizationEvents} WHERE organization_id = asked.value AND type = ${type} AND event_id >= ${eventIdsFrom(fromMs)}`,
  );
}

/** By organization; a count above the bound means that there are more. */
async function countByOrganization(
  env: Env,
  { database, organizationIds }: Counting,
  rows: SQL,
): Promise<Map<OrganizationId, number>> {
  const found = await namedDatabase(env, database).all<{ organizationId: OrganizationId; count: number }>(sql`
    SELECT asked.value AS organizationId, (SELECT COUNT(*) FROM (SELECT 1 FROM ${rows} LIMIT ${COUNTED_MAX + 1})) AS count
    FROM json_each(${JSON.stringify(organizationIds)}) asked`);
  return new Map(found.map(({ organizationId, count }) => [organizationId, count]));
}
