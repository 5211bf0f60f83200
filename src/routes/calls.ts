/**
 * Usage over HTTP: begin, end, make and read a call, increment a custom meter.
 */
import type { Hono } from 'hono';
import { operations } from '../contract/operations.ts';
import { beginCall } from '../metering/begin-call.ts';
import { endCall } from '../metering/end-call.ts';
import { incrementMeter } from '../metering/increment-meter.ts';
import { readCall } from '../metering/read-call.ts';
import { makeCall } from '../metering/unified-call.ts';
import type { AppEnv } from '../middleware/context.ts';
import { answerResponse } from '../middleware/errors.ts';
import { callerOf, headerKeyOf, mount } from './mount.ts';

export function mountCalls(app: Hono<AppEnv>): void {
  mount(app, operations.beginCall, async (c, { body }) =>
    answerResponse(c, await beginCall(callerOf(c), body, headerKeyOf(c))),
  );
  mount(app, operations.endCall, async (c, { body }) =>
    answerResponse(c, await endCall(callerOf(c), body, headerKeyOf(c))),
  );
  mount(app, operations.makeCall, async (c, { body }) =>
    answerResponse(c, await makeCall(callerOf(c), body, headerKeyOf(c))),
  );
  mount(app, operations.readCall, async (c, { params }) =>
    answerResponse(c, await readCall(callerOf(c), params.callId)),
  );
  mount(app, operations.incrementMeter, async (c, { body }) =>
    answerResponse(c, await incrementMeter(callerOf(c), body, headerKeyOf(c))),
  );
}
