/**
 * The records of an organization, in the form that its own key reads; and the earnings of its usage, which only the
 * operator reads.
 */
import { operations } from '../contract/operations.ts';
import { eventsCsv, readEvents } from '../events/read-events.ts';
import { ledgerCsv, listLedger } from '../metering/ledger.ts';
import { readAnomalies } from '../readings/anomalies/read-anomalies.ts';
import { readForecast } from '../readings/forecast/read-forecast.ts';
import { listMargins, marginsCsv } from '../readings/margin/list-margins.ts';
import { readMargin, readCustomerMargin as readMarginOf } from '../readings/margin/read-margin.ts';
import { radarCsv } from '../readings/radar/csv.ts';
import { readModelRadar } from '../readings/radar/read-radar.ts';
import { readUsageContext } from '../readings/usage/usage-context.ts';
import { readUsageSummary } from '../readings/usage/usage-summary.ts';
import { asTenant, csvList, list, read } from './operation.ts';

export const readOrganizationUsage = read(operations.readOrganizationUsage, (request) =>
  asTenant(request, (caller) => readUsageSummary(caller, request.query)),
);

export const readOrganizationAnomalies = list(operations.readOrganizationAnomalies, (request) =>
  asTenant(request, (caller) => readAnomalies(caller, request.query, request.page)),
);

export const readOrganizationUsageContext = read(operations.readOrganizationUsageContext, (request) =>
  asTenant(request, (caller) => readUsageContext(caller, request.params.customerId, request.query)),
);

export const readOrganizationForecast = read(operations.readOrganizationForecast, (request) =>
  asTenant(request, (caller) => readForecast(caller, request.params.customerId, request.query)),
);

export const listCustomerLedger = csvList(
  operations.listCustomerLedger,
  (request) =>
    asTenant(request, (caller) => listLedger(caller, request.params.customerId, request.query, request.page)),
  ledgerCsv,
);

export const readOrganizationMargin = read(operations.readOrganizationMargin, (request) =>
  asTenant(request, (caller) => readMargin(caller, request.query)),
);

export const listCustomerMargins = csvList(
  operations.listCustomerMargins,
  (request) => asTenant(request, (caller) => listMargins(caller, request.query, request.page)),
  marginsCsv,
);

export const readCustomerMargin = read(operations.readCustomerMargin, (request) =>
  asTenant(request, (caller) => readMarginOf(caller, request.params.customerId, request.query)),
);

export const readOrganizationModelRadar = csvList(
  operations.readOrganizationModelRadar,
  (request) => asTenant(request, (caller) => readModelRadar(caller, request.query, request.page)),
  radarCsv,
);

export const readOrganizationEvents = csvList(
  operations.readOrganizationEvents,
  ({ env, params, query, page }) => readEvents(env, params.org, query, page),
  eventsCsv,
);
