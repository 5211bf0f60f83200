/**
 * The event log in D1: the actions of operators and of the service itself.
 */

import { and, asc, desc, eq, gte, inArray, lt } from 'drizzle-orm';
import type { OperatorAction } from '../contract/operator-actions.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { newEventId } from '../platform/event-id.ts';
import { configDatabase } from './database.ts';
import { operatorEvents } from './schema/index.ts';

/** The actor in the event log. */
const ACTOR = 'service';

export interface ServiceEvent {
  action: OperatorAction;
  organizationId: OrganizationId;
  subject: string;
  after: unknown;
  correlationId: string;
}

export async function recordServiceEvent(env: Pick<Env, 'DB'>, event: ServiceEvent, nowMs: number): Promise<void> {
  await configDatabase(env)
    .insert(operatorEvents)
    .values({ ...event, eventId: newEventId(nowMs), atMs: nowMs, actor: ACTOR, before: null });
}

export type EventRow = typeof operatorEvents.$inferSelect;

/** An absent field does not filter. */
export interface EventSelection {
  organizationId?: OrganizationId | undefined;
  actor?: string | undefined;
  actions?: readonly OperatorAction[] | undefined;
  subject?: string | undefined;
  /** This id and later ones. Ids sort by the time of the change: `eventIdsFrom` makes one from an instant. */
  fromId?: string | undefined;
  /** Ids before this one. */
  beforeId?: string | undefined;
}

/** At most `limit` events. */
export function findEvents(
  env: Env,
  { organizationId, actor, actions, subject, fromId, beforeId }: EventSelection,
  order: 'newest' | 'oldest',
  limit: number,
): Promise<EventRow[]> {
  const { eventId } = operatorEvents;
  return configDatabase(env)
    .select()
    .from(operatorEvents)
    .where(
      and(
        organizationId === undefined ? undefined : eq(operatorEvents.organizationId, organizationId),
        subject === undefined ? undefined : eq(operatorEvents.subject, subject),
        actor === undefined ? undefined : eq(operatorEvents.actor, actor),
        actions === undefined ? undefined : inArray(operatorEvents.action, [...actions]),
        fromId === undefined ? undefined : gte(eventId, fromId),
        beforeId === undefined ? undefined : lt(eventId, beforeId),
      ),
    )
    .orderBy(order === 'newest' ? desc(eventId) : asc(eventId))
    .limit(limit);
}
