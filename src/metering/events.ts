/**
 * Use case: list the events that an organization is told of, from D1. They are as of the last projection, a second or so
 * behind the customers' objects.
 */
import { type Answer, accept } from '../contract/errors.ts';
import type { EventsQuery, OrganizationEvent } from '../contract/events.ts';
import type { Env } from '../env.ts';
import type { Page, PageRequest } from '../platform/page.ts';
import { findOrganizationEvents, type OrganizationEventRow } from '../storage/organization-events.ts';

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

/** The data is what the recorder of the type wrote. */
function present({ eventId, type, atMs, data }: OrganizationEventRow): OrganizationEvent {
  return { eventId, type, timestamp: new Date(atMs).toISOString(), data } as OrganizationEvent;
}
