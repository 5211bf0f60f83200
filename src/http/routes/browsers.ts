/**
 * Web pages of other origins may call every route of the metering interface that takes session tokens: CORS by the
 * table of operations. The gateway does the same for its own.
 */
import type { Hono } from 'hono';
import { cors } from 'hono/cors';
import { CORRELATION_HEADER, REPLAY_HEADER } from '../../contract/envelope.ts';
import { type Operation, operations } from '../../contract/operations.ts';
import type { AppEnv } from '../middleware/context.ts';
import { honoPath } from './mount.ts';

/** How long browsers cache the answer to a preflight. */
const PREFLIGHT_SECONDS = 7_200;

/** Call before the routes are mounted. */
export function mountBrowserAccess(app: Hono<AppEnv>): void {
  const open = Object.values<Operation>(operations).filter(({ security }) => 'clientScope' in security);
  for (const [path, ofPath] of Map.groupBy(open, honoPath)) {
    const allowMethods = ofPath.map(({ method }) => method as string);
    const exposeHeaders = [CORRELATION_HEADER, REPLAY_HEADER, 'Retry-After'];
    const answer = cors({ origin: '*', allowMethods, exposeHeaders, maxAge: PREFLIGHT_SECONDS });
    const methods = new Set(['OPTIONS', ...allowMethods]);
    // Only browsers send `Origin`. A path may have other methods, which take no session token.
    app.use(path, (c, next) =>
      c.req.header('Origin') !== undefined && methods.has(c.req.method) ? answer(c, next) : next(),
    );
  }
}
