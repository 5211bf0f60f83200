/**
 * Webhooks of organizations in D1: the addresses for their events, and who disabled an endpoint. An endpoint's object
 * holds its deliveries.
 */

import { and, asc, eq, gt, sql } from 'drizzle-orm';
import type { DisabledReason } from '../contract/event-data.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { WebhookKey } from '../domain/webhook-delivery.ts';
import type { Env } from '../env.ts';
import { configDatabase, prepare, type Statement } from './database.ts';
import { webhooks } from './schema/index.ts';

export type WebhookRow = typeof webhooks.$inferSelect;

/** Webhooks by id; one more than requested shows whether more exist. */
export function findWebhooks(
  env: Env,
  organizationId: OrganizationId,
  after: string | null,
  limit: number,
): Promise<WebhookRow[]> {
  const isAfter = after === null ? undefined : gt(webhooks.webhookId, after);
  return configDatabase(env)
    .select()
    .from(webhooks)
    .where(and(eq(webhooks.organizationId, organizationId), isAfter))
    .orderBy(asc(webhooks.webhookId))
    .limit(limit + 1);
}

export async function findWebhook(env: Env, { organizationId, webhookId }: WebhookKey): Promise<WebhookRow | null> {
  const [row] = await configDatabase(env).select().from(webhooks).where(isWebhook({ organizationId, webhookId }));
  return row ?? null;
}

export function countWebhooks(env: Env, organizationId: OrganizationId): Promise<number> {
  return configDatabase(env).$count(webhooks, eq(webhooks.organizationId, organizationId));
}

/** The enabled webhooks of some organizations. */
export function findEnabledWebhooks(env: Env, organizationIds: readonly OrganizationId[]): Promise<WebhookKey[]> {
  return configDatabase(env)
    .select({ organizationId: webhooks.organizationId, webhookId: webhooks.webhookId })
    .from(webhooks)
    .where(
      and(
        sql`${webhooks.organizationId} IN (SELECT value FROM json_each(${JSON.stringify(organizationIds)}))`,
        eq(webhooks.enabled, true),
      ),
    );
}

/** The webhooks of some organizations that are enabled, or that the service disabled. */
export function findWatchedWebhooks(
  env: Env,
  organizationIds: readonly OrganizationId[],
  limit: number,
): Promise<Pick<WebhookRow, 'organizationId' | 'webhookId' | 'enabled'>[]> {
  return configDatabase(env)
    .select({
      organizationId: webhooks.organizationId,
      webhookId: webhooks.webhookId,
      enabled: webhooks.enabled,
    })
    .from(webhooks)
    .where(
      and(
        sql`${webhooks.organizationId} IN (SELECT value FROM json_each(${JSON.stringify(organizationIds)}))`,
        sql`(${webhooks.enabled} OR ${webhooks.disabledReason} IS NOT NULL)`,
      ),
    )
    .limit(limit);
}

/** Fails if a webhook with that id exists: each gets a secret of its own. */
export function insertWebhook(env: Env, row: WebhookRow): Statement {
  return configDatabase(env).insert(webhooks).values(row);
}

export function updateWebhook(
  env: Env,
  webhook: WebhookKey,
  change: Partial<Omit<WebhookRow, 'organizationId' | 'webhookId' | 'createdAtMs'>>,
): Statement {
  return configDatabase(env).update(webhooks).set(change).where(isWebhook(webhook));
}

export function deleteWebhook(env: Env, webhook: WebhookKey): Statement {
  return configDatabase(env).delete(webhooks).where(isWebhook(webhook));
}

const isWebhook = ({ organizationId, webhookId }: WebhookKey) =>
  and(eq(webhooks.organizationId, organizationId), eq(webhooks.webhookId, webhookId));

/** The service's own action on an endpoint that no longer takes events. */
export interface SwitchOff {
  reason: DisabledReason;
  atMs: number;
  /** The id in the event log; the same if it is sent again. */
  eventId: string;
  correlationId: string;
}

/**
 * Disables a webhook and records it in the event log, in one transaction. May be sent again. Returns `false`, and
 * changes nothing, if the webhook was changed since it was read.
 */
export async function switchWebhookOff(
  env: Env,
  { organizationId, webhookId, updatedAtMs }: WebhookKey & Pick<WebhookRow, 'updatedAtMs'>,
  { reason, atMs, eventId, correlationId }: SwitchOff,
): Promise<boolean> {
  const db = configDatabase(env);
  const isOff = sql`organization_id = ${organizationId} AND webhook_id = ${webhookId} AND disabled_at_ms = ${atMs} AND NOT enabled`;
  const [, , found] = await db.$client.batch([
    prepare(
      db,
      sql`UPDATE webhooks SET enabled = 0, disabled_at_ms = ${atMs}, disabled_reason = ${reason}, updated_at_ms = ${atMs}
        WHERE organization_id = ${organizationId} AND webhook_id = ${webhookId} AND updated_at_ms = ${updatedAtMs} AND enabled`,
    ),
    prepare(
      db,
      sql`INSERT INTO operator_events (event_id, at_ms, actor, action, organization_id, subject, before, after, correlation_id)
        SELECT ${eventId}, ${atMs}, 'service', 'webhook.disable', ${organizationId}, ${webhookId}, NULL, ${JSON.stringify({ enabled: false, reason })}, ${correlationId}
        FROM webhooks WHERE ${isOff} ON CONFLICT DO NOTHING`,
    ),
    prepare(db, sql`SELECT 1 FROM webhooks WHERE ${isOff}`),
  ]);
  return (found?.results.length ?? 0) > 0;
}
