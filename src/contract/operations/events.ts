/**
 * An organization's events: its own list, and the operator's.
 */
import { EventsQuery, OrganizationEvent } from '../events.ts';
import { pageSchema } from '../fields.ts';
import { apiKey, type Operation, operation, organizationParam, viewer } from './operation.ts';

export const events = {
  readEvents: operation({
    operationId: 'readEvents',
    summary: 'List the events of the last 90 days, newest first',
    method: 'GET',
    path: '/events',
    security: apiKey('events:read'),
    query: EventsQuery,
    code: 'EVENTS_READ',
    data: pageSchema(OrganizationEvent),
    csv: true,
  }),
  readOrganizationEvents: operation({
    operationId: 'readOrganizationEvents',
    summary: 'List the events of an organization, newest first',
    method: 'GET',
    path: '/operator/organizations/{org}/events',
    security: viewer,
    params: organizationParam,
    query: EventsQuery,
    code: 'EVENTS_READ',
    data: pageSchema(OrganizationEvent),
    csv: true,
  }),
} as const satisfies Record<string, Operation>;
