/**
 * The versions of plans that customers had, and for how long, in D1.
 *
 * A customer's row has its present version, the start of its subscription, and the time of its cancellation. Each event
 * `customer.plan_changed` names the version before it. If events are no longer kept, the customer counts as if it had
 * always had the version of the oldest one.
 */

import { sql } from 'drizzle-orm';
import { configDatabase, database } from '../config/database.ts';
import type { CustomerId, OrganizationId } from '../domain/ids.ts';
import type { Replenish } from '../domain/period.ts';
import type { Env } from '../env.ts';
import { eventIdsFrom } from '../platform/event-id.ts';
import { type AskedCustomers, customerIdsQuery } from './asked-customers.ts';
import { customers, organizationEvents, planVersions } from './schema/index.ts';

/**
 * The most changes of one customer's plan that a reading follows, newest first; before them, the oldest version counts.
 */
const CHANGES_MAX = 1_000;

export interface PlanSpan {
  usagePlanVersionId: string;
  startMs: number;
  /** Infinity if it continues. */
  endMs: number;
}

interface SubscriptionRow {
  customerId: CustomerId;
  usagePlanVersionId: string;
  createdAtMs: number;
  canceledAtMs: number | null;
  /** Earlier times and versions, newest first, as JSON. */
  changes: string;
}

/** The versions that each customer had from `fromMs` on, in order. A customer that D1 does not know is left out. */
export async function findPlanSpans(
  env: Env,
  organizationId: OrganizationId,
  asked: AskedCustomers,
  fromMs: number,
): Promise<Map<CustomerId, PlanSpan[]>> {
  const changes = sql`SELECT at_ms, record ->> 'previousUsagePlanVersionId' AS version FROM ${organizationEvents} events
    WHERE events.organization_id = ${organizationId} AND events.customer_id = somebody.customer_id
      AND type = 'customer.plan_changed' AND event_id >= ${eventIdsFrom(fromMs)} ORDER BY event_id DESC LIMIT ${CHANGES_MAX}`;
  const rows = await (await database(env, organizationId)).all<SubscriptionRow>(sql`
    SELECT customer_id AS customerId, usage_plan_version_id AS usagePlanVersionId, created_at_ms AS createdAtMs,
      canceled_at_ms AS canceledAtMs,
      (SELECT json_group_array(json_array(at_ms, version)) FROM (${changes})) AS changes
    FROM ${customerIdsQuery(organizationId, asked)} asked CROSS JOIN ${customers} somebody
      ON somebody.organization_id = ${organizationId} AND somebody.customer_id = asked.id`);
  return new Map(rows.map((row) => [row.customerId, planSpans(row)]));
}

function planSpans({ usagePlanVersionId, createdAtMs, canceledAtMs, changes }: SubscriptionRow): PlanSpan[] {
  const spans: PlanSpan[] = [];
  let [endMs, version] = [canceledAtMs ?? Number.POSITIVE_INFINITY, usagePlanVersionId];
  for (const [atMs, previous] of JSON.parse(changes) as [number, string][]) {
    if (atMs < endMs) {
      spans.push({ usagePlanVersionId: version, startMs: atMs, endMs });
      endMs = atMs;
    }
    version = previous;
  }
  if (createdAtMs < endMs) spans.push({ usagePlanVersionId: version, startMs: createdAtMs, endMs });
  return spans.reverse();
}

export interface VersionPrice {
  planId: string;
  name: string;
  /** `null` if the version has none. */
  priceUsd: string | null;
  replenish: Replenish;
}

/** The price that a customer of each version pays for a usage period. */
export async function findVersionPrices(
  env: Env,
  organizationId: OrganizationId,
  versionIds: readonly string[],
): Promise<Map<string, VersionPrice>> {
  const rows = await configDatabase(env).all<Omit<VersionPrice, 'replenish'> & { id: string; replenish: string }>(sql`
    SELECT usage_plan_version_id AS id, plan_id AS planId, content ->> 'name' AS name, content ->> 'priceUsd' AS priceUsd,
      content -> 'replenish' AS replenish
    FROM ${planVersions} WHERE organization_id = ${organizationId}
      AND usage_plan_version_id IN (SELECT value FROM json_each(${JSON.stringify(versionIds)}))`);
  return new Map(rows.map(({ id, replenish, ...row }) => [id, { ...row, replenish: JSON.parse(replenish) }]));
}
