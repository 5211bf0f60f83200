/**
 * Sends public pages with a content security policy (no scripts, nothing from other origins), an entity tag and a cache
 * lifetime, and their errors. A costly page is kept under its meaning, and is limited for each address if it can be
 * requested in any number of ways.
 */

import { Hono } from 'hono';
import { refuseManyPages } from '../../http/middleware/address-limits.ts';
import type { AppContext, AppEnv } from '../../http/middleware/context.ts';
import { logThrown, pageStatus } from '../../http/middleware/error-envelopes.ts';
import type { BoundedMap } from '../../platform/bounded-map.ts';
import { contentHash } from '../../platform/content-hash.ts';
import { isMatching } from '../../platform/etag.ts';
import { ORIGIN } from '../docs/template.ts';

const CONTENT_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/** For pages that have a script of their own. */
const SCRIPTED_POLICY = `${CONTENT_POLICY}; script-src 'self'; connect-src 'self'`;
const ALLOW = 'GET, HEAD';
/** The most characters of a search that count. */
const SEARCH_LENGTH_MAX = 300;

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

/** A page in the form in which it is sent. */
interface MadePage {
  bytes: Uint8Array;
  etag: string;
}

/** The pages that an isolate keeps, by their meaning. */
export type KeptPages = BoundedMap<string, MadePage>;

interface Kept {
  /**
   * A page that can be requested in any number of ways has a map of its own, so that it replaces no other, and is
   * counted for its address.
   */
  kept: KeptPages;
  meaning: string;
  isCounted: boolean;
}

export function sendPage(c: AppContext, { html, ...answer }: PageAnswer): Response {
  return send(c, madePage(html), answer);
}

/**
 * Sends the page that `make` makes. `meaning` has everything on which the page depends besides the origin and the
 * purpose of `kept`: no parameter that the page does not know, and only one spelling of the same. A page with status
 * 404 is not kept.
 */
export async function sendKeptPage(
  c: AppContext,
  { kept, meaning, isCounted, ...how }: Kept & Omit<PageAnswer, 'html' | 'status'>,
  make: () => Promise<Pick<PageAnswer, 'html' | 'status'>>,
): Promise<Response> {
  const key = `${requestOrigin(c)} ${meaning}`;
  const known = kept.get(key);
  if (known) return send(c, known, how);
  const refusal = isCounted ? await refuseManyPages(c) : null;
  if (refusal) {
    c.header('Cache-Control', 'no-store');
    return c.text(`${refusal.message}.`, pageStatus(c, refusal));
  }
  const { html, status = 200 } = await make();
  const page = madePage(html);
  if (status === 200) kept.set(key, page);
  return send(c, page, { ...how, status });
}

export function requestOrigin(c: AppContext): string {
  return new URL(c.req.url).origin;
}

/** The meaning of a search: its words in small letters, one space between them, and a limited number of characters. */
export function searchedText(c: AppContext): string {
  return (c.req.query('q') ?? '').toLowerCase().split(/\s+/).join(' ').trim().slice(0, SEARCH_LENGTH_MAX).trim();
}

function madePage(html: string): MadePage {
  const etag = `W/"${contentHash(html)}-${html.length.toString(36)}"`;
  return { bytes: new TextEncoder().encode(html), etag };
}

function send(
  c: AppContext,
  { bytes, etag }: MadePage,
  { status = 200, cacheControl, scripted = false }: Omit<PageAnswer, 'html'>,
): Response {
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
  return new Response(bytes as Uint8Array<ArrayBuffer>, { status, headers });
}

/** The file beside the Worker at the path of the request, as it is; `null` if there is none. */
export async function sendFile(c: AppContext, cacheControl: string): Promise<Response | null> {
  const answer = await c.env.ASSETS.fetch(ORIGIN + c.req.path);
  if (!answer.ok) return null;
  const headers = {
    'Content-Type': answer.headers.get('Content-Type') ?? 'application/octet-stream',
    'Cache-Control': cacheControl,
    'X-Content-Type-Options': 'nosniff',
  };
  return new Response(answer.body, { headers });
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
