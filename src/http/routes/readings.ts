/**
 * Readings over HTTP: usage summary and context, forecast, anomalies, model radar, events.
 */
import type { Hono } from 'hono';
import { operations } from '../../contract/operations.ts';
import { eventsCsv, readEvents } from '../../events/read-events.ts';
import { ledgerCsv, listLedger } from '../../metering/ledger.ts';
import { readAnomalies } from '../../readings/anomalies/read-anomalies.ts';
import { readForecast } from '../../readings/forecast/read-forecast.ts';
import { radarCsv } from '../../readings/radar/csv.ts';
import { readModelRadar } from '../../readings/radar/read-radar.ts';
import { summaryCsv } from '../../readings/usage/summary-csv.ts';
import { readUsageContext } from '../../readings/usage/usage-context.ts';
import { readUsageSummary } from '../../readings/usage/usage-summary.ts';
import type { AppEnv } from '../middleware/context.ts';
import { getCaller, mount, mountCsv, mountCsvList, mountList } from './mount.ts';

export function mountReadings(app: Hono<AppEnv>): void {
  mount(app, operations.readUsageContext, (c, { params, query }) =>
    readUsageContext(getCaller(c), params.customerId, query),
  );
  mount(app, operations.readForecast, (c, { params, query }) => readForecast(getCaller(c), params.customerId, query));
  mountCsvList(
    app,
    operations.listLedger,
    (c, page, { params, query }) => listLedger(getCaller(c), params.customerId, query, page),
    ledgerCsv,
  );
  mountList(app, operations.readUsageAnomalies, (c, page, { query }) => readAnomalies(getCaller(c), query, page));
  mountCsvList(
    app,
    operations.readEvents,
    (c, page, { query }) => {
      const { env, organization } = getCaller(c);
      return readEvents(env, organization.organizationId, query, page);
    },
    eventsCsv,
  );
  mountCsv(app, operations.readUsageSummary, (c, { query }) => readUsageSummary(getCaller(c), query), summaryCsv);
  mountCsvList(
    app,
    operations.readModelRadar,
    (c, page, { query }) => readModelRadar(getCaller(c), query, page),
    radarCsv,
  );
}
