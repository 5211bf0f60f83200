/**
 * Use cases: list and read the events that an organization is told of, from D1. They are as of the last projection, a second
 * or so behind the customers' objects.
 */
import { type Answer, accept, refuse } from '../contract/errors.ts';
import type { EventsQuery, OrganizationEvent } from '../contract/events.ts';
import type { Env } from '../env.ts';
import type { Page, PageRequest } from '../platform/page.ts';
import {
  findOrganizationEvents,
  findRecordedEvent,
  type OrganizationEventRow,
} from '../storage/organization-events.ts';

export async function readEvents(
  env: Env,
  organizationId: string,
  { type, customerId, from, to }: Omit<EventsQuery, 'limit' | 'cursor'>,
  page: PageRequest,
): Promise<Answer<Page<OrganizationEvent>>> {
  const msOf = (at: string | undefined) => (at === undefined ? undefined : Date.parse(at));
  const filter = { type, customerId, fromMs: msOf(from), toMs: msOf(to) };
  const { items, nextCursor } = await findOrganizationEvents(env, organizationId, filter, page);
  return accept('EVENTS_READ', { items: items.map(present), nextCursor }, Date.now());
}

export async function readEvent(env: Env, organizationId: string, eventId: string): Promise<Answer<OrganizationEvent>> {
  const event = await findRecordedEvent(env, organizationId, eventId);
  if (!event) return refuse('NOT_FOUND', 'no such event');
  return accept('EVENT_READ', present({ ...event, data: JSON.parse(event.data) }), Date.now());
}

/** The data is what the recorder of the type wrote. */
function present({ eventId, type, atMs, data }: OrganizationEventRow): OrganizationEvent {
  return { eventId, type, timestamp: new Date(atMs).toISOString(), data } as OrganizationEvent;
}
