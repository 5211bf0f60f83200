/**
 * The events that an organization is told of, as the operator reads them.
 */
import { operations } from '../contract/operations.ts';
import { eventsCsv, readEvents } from '../metering/events.ts';
import { csvList } from './operation.ts';

export const readOrganizationEvents = csvList(
  operations.readOrganizationEvents,
  ({ env, params, query, page }) => readEvents(env, params.org, query, page),
  eventsCsv,
);
