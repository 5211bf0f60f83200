/**
 * Sessions over HTTP: tokens for a customer's browser, and for the usage widget.
 */
import type { Hono } from 'hono';
import { operations } from '../contract/operations.ts';
import { createClientSession, createEmbedSession } from '../metering/sessions.ts';
import type { AppEnv } from '../middleware/context.ts';
import { answerResponse } from '../middleware/errors.ts';
import { callerOf, mount } from './mount.ts';

export function mountSessions(app: Hono<AppEnv>): void {
  for (const operation of [operations.createClientSession, operations.createGatewaySession]) {
    mount(app, operation, async (c, { body }) =>
      answerResponse(c, await createClientSession(callerOf(c), c.get('credential'), body)),
    );
  }
  mount(app, operations.createEmbedSession, async (c, { body }) =>
    answerResponse(c, await createEmbedSession(callerOf(c), c.get('credential'), body, new URL(c.req.url).origin)),
  );
}
