/**
 * The public model lookup over HTTP: discovery and resolution, without a credential and from any origin.
 *
 * The key is read from the raw path, because it may contain `/`, percent-encoded or not.
 */

import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { LOOKUP_PATH } from '../../contract/model-lookup.ts';
import { cachedAnswer, type LookupAnswer, lookUp, remainingDayMs } from '../../lookup/look-up-model.ts';
import { isMatching } from '../../platform/etag.ts';
import { refuseManyLookups } from '../middleware/address-limits.ts';
import { type AppEnv, deferrer } from '../middleware/context.ts';
import { logThrown, lookupRefusalResponse } from '../middleware/error-envelopes.ts';

const ALLOW = 'GET, OPTIONS';
const MAX_AGE_SECONDS = 300;
const STALE_SECONDS = 3_600;
const PREFLIGHT_SECONDS = 86_400;

/**
 * The cached answer, if there is one. Checked before the router runs, which would cost more than the answer.
 */
export function cachedLookup(request: Request, env: AppEnv['Bindings']): Response | null {
  if (request.method !== 'GET') return null;
  const asked = askedPath(request.url);
  const nowMs = Date.now();
  const answer = asked === null ? null : cachedAnswer(env, asked, nowMs);
  return answer && send(request, answer, nowMs);
}

export function modelLookup(): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.use(
    cors({
      origin: '*',
      allowMethods: ['GET', 'OPTIONS'],
      exposeHeaders: ['ETag', 'Retry-After'],
      maxAge: PREFLIGHT_SECONDS,
    }),
  );
  app.get('*', async (c, next) => {
    // The router answers HEAD like GET; the contract has only GET.
    if (c.req.raw.method === 'HEAD') return next();
    const nowMs = Date.now();
    const asked = askedPath(c.req.raw.url) ?? '';
    const found = await lookUp(c.env, asked, c.req.query(), nowMs, deferrer(c), () => refuseManyLookups(c));
    return found.ok ? send(c.req.raw, found.answer, nowMs) : lookupRefusalResponse(c, found.refusal);
  });
  app.all('*', (c) => {
    c.header('Allow', ALLOW);
    return lookupRefusalResponse(c, { code: 'METHOD_NOT_ALLOWED', message: `this route answers ${ALLOW}` });
  });
  app.onError((error, c) => lookupRefusalResponse(c, logThrown('lookup_failed', {}, error)));
  return app;
}

/** Raw path and query after the lookup's own path; `null` for the address of another route. */
function askedPath(url: string): string | null {
  const path = url.indexOf('/', url.indexOf('//') + 2);
  return url.startsWith(LOOKUP_PATH, path) ? url.slice(path + LOOKUP_PATH.length) : null;
}

function send(request: Request, answer: LookupAnswer, nowMs: number): Response {
  // Created once: for a cached answer, headers are most of the cost.
  answer.headers ??= new Headers({
    'Content-Type': 'application/json',
    'Cache-Control': cacheControl(MAX_AGE_SECONDS + STALE_SECONDS),
    'X-Content-Type-Options': 'nosniff',
    ETag: answer.etag,
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': 'ETag',
  });
  let { headers } = answer;
  const leftSeconds = Math.floor(remainingDayMs(nowMs) / 1000);
  if (leftSeconds < MAX_AGE_SECONDS + STALE_SECONDS) {
    headers = new Headers(headers);
    headers.set('Cache-Control', cacheControl(leftSeconds));
  }
  if (isMatching(request.headers.get('If-None-Match'), answer.etag))
    return new Response(null, { status: 304, headers });
  return new Response(answer.body, { headers });
}

/** Ends with the UTC day, when the answer expires. */
function cacheControl(leftSeconds: number): string {
  const maxAge = Math.min(MAX_AGE_SECONDS, leftSeconds);
  return `public, max-age=${maxAge}, stale-while-revalidate=${Math.min(STALE_SECONDS, leftSeconds - maxAge)}`;
}
