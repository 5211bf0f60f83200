/**
 * The events that an organization is told of: their types and their list. What operators did is the event
 * log, in `operator.ts`. The events of a customer's object are found by `events/customer-events.ts`, the others by the
 * organization's watch.
 */
import { z } from 'zod';
import { EVENTS, type EventType } from './event-data.ts';
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

type Fields = ReturnType<typeof eventRecord>['shape'];

/** The record of each type, with the data of that type alone. */
type EventRecord = {
  [Type in EventType]: z.ZodObject<
    Omit<Fields, 'type' | 'data'> & { type: z.ZodLiteral<Type>; data: (typeof EVENTS)[Type]['data'] }
  >;
}[EventType];

export const OrganizationEvent = z.discriminatedUnion(
  'type',
  EVENT_TYPES.map(eventRecord) as unknown as [EventRecord, ...EventRecord[]],
);

export type OrganizationEvent = z.infer<typeof OrganizationEvent>;

export const EventsQuery = ListQuery.extend({
  type: z.enum(EVENT_TYPES).optional().describe('Only this type'),
  customerId: customerId.optional().describe('Only this customer'),
  from: instant.optional().describe('At this instant or later'),
  to: instant.optional().describe('Before this instant'),
}).refine(endsAfterStart, ENDS_AFTER_START);

export type EventsQuery = z.infer<typeof EventsQuery>;
