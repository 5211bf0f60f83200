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
import { callerOf, headerKeyOf, mount, mountCsvList } from './mount.ts';

export function mountCalls(app: Hono<AppEnv>): void {
  mount(app, operations.beginCall, (c, { body }) => beginCall(callerOf(c), body, headerKeyOf(c)));
  mount(app, operations.endCall, (c, { body }) => endCall(callerOf(c), body, headerKeyOf(c)));
  mount(app, operations.makeCall, (c, { body }) => makeCall(callerOf(c), body, headerKeyOf(c), () => c.req.raw.signal));
  mountCsvList(
    app,
    operations.listCalls,
    (c, page, { query }) => {
      const { env, organization } = callerOf(c);
      return readCalls(env, organization.organizationId, query, page);
    },
    callsCsv,
  );
  mount(app, operations.readCall, (c, { params }) => readCall(callerOf(c), params.callId));
  mount(app, operations.incrementMeter, (c, { body }) => incrementMeter(callerOf(c), body, headerKeyOf(c)));
  mount(app, operations.reverseCall, (c, { params, body }) => reverseCall(correctorOf(c), params.callId, body));
  mount(app, operations.amendCall, (c, { params, body }) =>
    amendCall({ ...callerOf(c), by: BY_APPLICATION }, params.callId, body, headerKeyOf(c)),
  );
  mount(app, operations.reverseMeterEvent, (c, { params, body }) =>
    reverseMeterEvent(correctorOf(c), params.eventId, body),
  );
}

function correctorOf(c: AppContext): Corrector {
  const { env, organization, limits } = callerOf(c);
  return { env, organizationId: organization.organizationId, by: BY_APPLICATION, limits };
}
