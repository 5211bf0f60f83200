/**
 * Sends public pages with a content security policy (no scripts, nothing from other origins), an entity tag and a cache
 * lifetime, and their errors.
 */

import { Hono } from 'hono';
import type { AppContext, AppEnv } from '../middleware/context.ts';
import { logThrown, pageStatus } from '../middleware/error-envelopes.ts';
import { contentHash } from '../platform/content-hash.ts';
import { isMatching } from '../platform/etag.ts';

const CONTENT_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/** For pages that have a script of their own. */
const SCRIPTED_POLICY = `${CONTENT_POLICY}; script-src 'self'; connect-src 'self'`;
const ALLOW = 'GET, HEAD';

/** For files whose address contains a hash of their content. */
export const CACHED_FOREVER = {
  'Cache-Control': 'public, max-age=31536000, immutable',
  'X-Content-Type-Options': 'nosniff',
};

const THROWN_TEXT = {
  SERVICE_UNAVAILABLE: 'This page cannot be shown for the moment; try again.',
  INTERNAL_ERROR: 'The service failed; try again.',
};

export interface PageAnswer {
  html: string;
  status?: 200 | 404;
  cacheControl: string;
  /** The page has a script of this origin, which may ask this origin. */
  scripted?: boolean;
}

export function sendPage(c: AppContext, { html, status = 200, cacheControl, scripted = false }: PageAnswer): Response {
  const etag = `W/"${contentHash(html)}-${html.length.toString(36)}"`;
  const headers = new Headers({
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': cacheControl,
    'Content-Security-Policy': scripted ? SCRIPTED_POLICY : CONTENT_POLICY,
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'strict-origin-when-cross-origin',
    ETag: etag,
  });
  // The comparison is weak, on both sides.
  if (status === 200 && isMatching(c.req.header('If-None-Match'), etag.slice('W/'.length)))
    return new Response(null, { status: 304, headers });
  return new Response(html, { status, headers });
}

/** Routes that answer only GET. An error is a line of text. */
export function publicRoutes(name: string, mount: (app: Hono<AppEnv>) => void): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  mount(app);
  app.all('*', (c) => {
    c.header('Allow', ALLOW);
    return c.text(`this page answers ${ALLOW}`, 405);
  });
  app.onError((error, c) => {
    const refusal = logThrown('page_failed', { page: name }, error);
    c.header('Cache-Control', 'no-store');
    return c.text(THROWN_TEXT[refusal.code], pageStatus(c, refusal));
  });
  return app;
}
