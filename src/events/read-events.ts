/**
 * Use cases: list and read an organization's events, from D1, and as CSV. They are as of the last projection, about a
 * second behind the customers' objects.
 */

import { type Answer, accept, refuse } from '../contract/errors.ts';
import type { EventsQuery, OrganizationEvent } from '../contract/events.ts';
import type { AnswerTo } from '../contract/operations.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import {
  findOrganizationEvents,
  findRecordedEvent,
  type OrganizationEventRow,
} from '../history/organization-events.ts';
import { formatCsv } from '../platform/csv.ts';
import type { Page, PageRequest } from '../platform/page.ts';
import { parseTime } from '../platform/time.ts';

/** The most lines of a CSV. */
const CSV_ROWS_MAX = 10_000;

/** A page of events, newest first; if `page` is `null`, as many as a CSV has. */
export async function readEvents(
  env: Env,
  organizationId: OrganizationId,
  { type, customerId, from, to }: Omit<EventsQuery, 'limit' | 'cursor'>,
  page: PageRequest | null,
): Promise<AnswerTo<'readEvents'>> {
  const filter = { type, customerId, fromMs: parseTime(from), toMs: parseTime(to) };
  const { items, nextCursor } = await findOrganizationEvents(
    env,
    organizationId,
    filter,
    page ?? { limit: CSV_ROWS_MAX, after: null },
  );
  return accept('EVENTS_READ', { items: items.map(present), nextCursor }, Date.now());
}

/** A line for each event; the last column has the data of its type as JSON. */
export function eventsCsv({ items }: Pick<Page<OrganizationEvent>, 'items'>): string {
  return formatCsv(
    {
      eventId: ({ eventId }: OrganizationEvent) => eventId,
      type: ({ type }) => type,
      timestamp: ({ timestamp }) => timestamp,
      customerId: ({ data }) => ('customerId' in data ? data.customerId : null),
      data: ({ data }) => JSON.stringify(data),
    },
    items,
  );
}

export async function readEvent(
  env: Env,
  organizationId: OrganizationId,
  eventId: string,
): Promise<Answer<OrganizationEvent>> {
  const event = await findRecordedEvent(env, organizationId, eventId);
  if (!event) return refuse('NOT_FOUND', 'no such event');
  return accept('EVENT_READ', present({ ...event, data: JSON.parse(event.data) }), Date.now());
}

/** The data was written by the recorder of its type. */
function present({ eventId, type, atMs, data }: OrganizationEventRow): OrganizationEvent {
  return { eventId, type, timestamp: new Date(atMs).toISOString(), data } as OrganizationEvent;
}
