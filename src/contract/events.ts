/**
 * The events of an organization: their types and their list. Operators' actions are in the event log, in `operator.ts`.
 * `domain/customer-events.ts` finds the events of a customer's object, the organization's watch finds the others.
 */
import { z } from 'zod';
import { DATA } from './event-data.ts';
import { customerId, instant, ListQuery } from './fields.ts';
import { ENDS_AFTER_START, endsAfterStart } from './samples.ts';

/** The number of days for which events are kept. */
export const EVENT_RETENTION_DAYS = 90;

export type EventType = keyof typeof DATA;

export const EVENT_TYPES = Object.keys(DATA) as [EventType, ...EventType[]];

/** The meaning of each type. */
export const EVENT_MEANINGS: Record<EventType, string> = {
  'customer.created': 'A customer was created',
  'customer.plan_changed': 'The subscription moved to another plan, or to another version of its plan',
  'customer.replenished': 'A new usage period began, on its date or by hand',
  'meter.threshold_reached': 'The usage of a limited meter reached thresholds',
  'meter.recovered': 'The usage of a meter is below a threshold that it had reached',
  'balance.low':
    'The USD balance fell below the amount, or the days of forecast spend, of the plan or the organization',
  'balance.exhausted': 'The USD balance is used up',
  'balance.overdrawn': 'The USD balance fell below zero: a call or an increment cost more than it held',
  'call.denied': 'A call was denied: the first of the customer for this reason in the usage period',
  'call.unpriced': 'A call has no known cost: the first of its customer, model, reason and UTC day',
  'charge.failed': 'The billing provider refused a charge, or did not say whether it has it',
  'forecast.will_run_out': 'A limited meter is forecast to run out before the usage period ends',
  'model.deprecated': 'A model in use is deprecated, or retired',
  'model.ending': 'A model in use ends within 90, 30, 7 or 1 days',
  'price.changed': 'The price of a model in use changed, or an own price was set or removed',
  'catalog.published': 'Another catalog release is in use',
  'key.created': 'An API key was created',
  'key.revoked': 'An API key was revoked',
  'projection.lagging': 'Changes wait for minutes to reach lists and readings',
  'anomaly.detected': 'An episode of unusual usage began',
  'webhook.disabled': 'Callmeter disabled a webhook',
  'model.switched': 'The autopilot of a mapping replaced a model before its end',
  'model.switch_refused':
    'The day of a switch has come, and the autopilot does not switch; recorded once for each set of reasons',
};

const item = <Type extends EventType, Data extends z.ZodObject>(type: Type, data: Data) =>
  z.object({
    eventId: z.string().describe('Event id: it sorts by time, and stays the same however often the event is sent'),
    type: z.literal(type).describe(EVENT_MEANINGS[type]),
    timestamp: instant.describe('When it happened'),
    data: data.describe('What happened'),
  });

export const OrganizationEvent = z.discriminatedUnion('type', [
  item('customer.created', DATA['customer.created']),
  item('customer.plan_changed', DATA['customer.plan_changed']),
  item('customer.replenished', DATA['customer.replenished']),
  item('meter.threshold_reached', DATA['meter.threshold_reached']),
  item('meter.recovered', DATA['meter.recovered']),
  item('balance.low', DATA['balance.low']),
  item('balance.exhausted', DATA['balance.exhausted']),
  item('balance.overdrawn', DATA['balance.overdrawn']),
  item('call.denied', DATA['call.denied']),
  item('call.unpriced', DATA['call.unpriced']),
  item('charge.failed', DATA['charge.failed']),
  item('forecast.will_run_out', DATA['forecast.will_run_out']),
  item('model.deprecated', DATA['model.deprecated']),
  item('model.ending', DATA['model.ending']),
  item('price.changed', DATA['price.changed']),
  item('catalog.published', DATA['catalog.published']),
  item('key.created', DATA['key.created']),
  item('key.revoked', DATA['key.revoked']),
  item('projection.lagging', DATA['projection.lagging']),
  item('anomaly.detected', DATA['anomaly.detected']),
  item('model.switched', DATA['model.switched']),
  item('model.switch_refused', DATA['model.switch_refused']),
  item('webhook.disabled', DATA['webhook.disabled']),
]);

export type OrganizationEvent = z.infer<typeof OrganizationEvent>;

export const EventsQuery = ListQuery.extend({
  type: z.enum(EVENT_TYPES).optional().describe('Only this type'),
  customerId: customerId.optional().describe('Only this customer'),
  from: instant.optional().describe('At this instant or later'),
  to: instant.optional().describe('Before this instant'),
}).refine(endsAfterStart, ENDS_AFTER_START);

export type EventsQuery = z.infer<typeof EventsQuery>;
