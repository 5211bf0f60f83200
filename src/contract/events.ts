/**
 * The events that an organization is told of: their types and their list. What operators did is the event
 * log, in `operator.ts`. The events of a customer's object are found by `events/customer-events.ts`, the others by the
 * organization's watch.
 */
import { z } from 'zod';
import { EVENTS, type EventData, type EventType } from './event-data.ts';
import { customerId, instant, ListQuery } from './fields.ts';
import { ENDS_AFTER_START, endsAfterStart } from './samples.ts';

/** The number of days for which events are kept. */
export const EVENT_RETENTION_DAYS = 90;

export const EVENT_TYPES = Object.keys(EVENTS) as [EventType, ...EventType[]];

const eventRecord = (type: EventType) =>
  z.object({
    eventId: z.string().describe('Event id: it sorts by time, and stays the same however often the event is sent'),
    type: z.literal(type).describe(EVENTS[type].meaning),
    timestamp: instant.describe('When it happened'),
    data: EVENTS[type].data.describe('What happened'),
  });

/** An event, with the data of its type. */
export type OrganizationEvent = {
  [Type in EventType]: { eventId: string; type: Type; timestamp: string; data: EventData[Type] };
}[EventType];

type Records = [ReturnType<typeof eventRecord>, ...ReturnType<typeof eventRecord>[]];

/** A list made by `map` does not tell the compiler that each record has the data of its own type. */
export const OrganizationEvent = z.discriminatedUnion(
  'type',
  EVENT_TYPES.map(eventRecord) as Records,
) as unknown as z.ZodType<OrganizationEvent>;

export const EventsQuery = ListQuery.extend({
  type: z.enum(EVENT_TYPES).optional().describe('Only this type'),
  customerId: customerId.optional().describe('Only this customer'),
  from: instant.optional().describe('At this instant or later'),
  to: instant.optional().describe('Before this instant'),
}).refine(endsAfterStart, ENDS_AFTER_START);

export type EventsQuery = z.infer<typeof EventsQuery>;
