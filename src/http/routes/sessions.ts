/**
 * Sessions over HTTP: tokens for a customer's browser, and for the usage widget.
 */
import type { Hono } from 'hono';
import { operations } from '../../contract/operations.ts';
import { createClientSession, createEmbedSession } from '../../metering/sessions.ts';
import type { AppEnv } from '../middleware/context.ts';
import { getCaller, mount } from './mount.ts';

export function mountSessions(app: Hono<AppEnv>): void {
  for (const operation of [operations.createClientSession, operations.createGatewaySession]) {
    mount(app, operation, (c, { body }) => createClientSession(getCaller(c), c.get('credential'), body));
  }
  mount(app, operations.createEmbedSession, (c, { body }) =>
    createEmbedSession(getCaller(c), c.get('credential'), body, new URL(c.req.url).origin),
  );
}
