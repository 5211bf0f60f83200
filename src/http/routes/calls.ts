/**
 * Usage over HTTP: begin, end, make, read and list calls, increment a custom meter, take back a mistake.
 */
import type { Hono } from 'hono';
import { operations } from '../../contract/operations.ts';
import { makeCall } from '../../gateway/service-calls/unified-call.ts';
import { beginCall } from '../../metering/begin-call.ts';
import { amendCall, BY_APPLICATION, type Corrector, reverseCall, reverseMeterEvent } from '../../metering/correct.ts';
import { endCall } from '../../metering/end-call.ts';
import { incrementMeter } from '../../metering/increment-meter.ts';
import { callsCsv, readCalls } from '../../metering/list-calls.ts';
import { readCall } from '../../metering/read-call.ts';
import type { AppContext, AppEnv } from '../middleware/context.ts';
import { getCaller, headerKey, mount, mountCsvList } from './mount.ts';

export function mountCalls(app: Hono<AppEnv>): void {
  mount(app, operations.beginCall, (c, { body }) => beginCall(getCaller(c), body, headerKey(c)));
  mount(app, operations.endCall, (c, { body }) => endCall(getCaller(c), body, headerKey(c)));
  mount(app, operations.makeCall, (c, { body }) => makeCall(getCaller(c), body, headerKey(c), () => c.req.raw.signal));
  mountCsvList(
    app,
    operations.listCalls,
    (c, page, { query }) => {
      const { env, organization } = getCaller(c);
      return readCalls(env, organization.organizationId, query, page);
    },
    callsCsv,
  );
  mount(app, operations.readCall, (c, { params }) => readCall(getCaller(c), params.callId));
  mount(app, operations.incrementMeter, (c, { body }) => incrementMeter(getCaller(c), body, headerKey(c)));
  mount(app, operations.reverseCall, (c, { params, body }) => reverseCall(buildCorrector(c), params.callId, body));
  mount(app, operations.amendCall, (c, { params, body }) =>
    amendCall({ ...getCaller(c), by: BY_APPLICATION }, params.callId, body, headerKey(c)),
  );
  mount(app, operations.reverseMeterEvent, (c, { params, body }) =>
    reverseMeterEvent(buildCorrector(c), params.eventId, body),
  );
}

function buildCorrector(c: AppContext): Corrector {
  const { env, organization, limits } = getCaller(c);
  return { env, organizationId: organization.organizationId, by: BY_APPLICATION, limits };
}
