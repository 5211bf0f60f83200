/**
 * The API reference over HTTP: the OpenAPI document, and its pages.
 *
 * Both are generated at the first request, for the request's origin, which the examples contain.
 */

import type { Hono } from 'hono';
import { openApiDocument } from '../contract/openapi/document.ts';
import type { OpenApiDocument } from '../contract/openapi/types.ts';
import type { AppContext, AppEnv } from '../middleware/context.ts';
import { docsNotFoundPage, operationPage, overviewPage, schemaPage } from '../pages/docs/pages.tsx';
import { PAGES_STYLESHEET, PAGES_STYLESHEET_PATH } from '../pages/stylesheet.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import { contentHash } from '../platform/content-hash.ts';
import { isMatching } from '../platform/etag.ts';
import { SERVICE_VERSION } from '../platform/version.ts';
import { CACHED_FOREVER, publicRoutes, sendPage } from './public-page.ts';

export const DOCS_PATH = '/docs';
const DOCUMENT_PATH = '/openapi.json';
/** Origins whose document an isolate keeps in memory. */
const ORIGINS_MAX = 4;
const QUERY_LENGTH_MAX = 300;
const CACHE_CONTROL = 'public, max-age=300, stale-while-revalidate=3600';

interface Served {
  document: OpenApiDocument;
  text: string;
  etag: string;
}

const served = new BoundedMap<string, Served>(ORIGINS_MAX);

/** The document for the origin of the request. */
function servedTo(c: AppContext): Served {
  const { origin } = new URL(c.req.url);
  const known = served.get(origin);
  if (known) return known;
  const document = openApiDocument(SERVICE_VERSION, origin);
  const text = JSON.stringify(document);
  const made = { document, text, etag: `"${contentHash(text)}"` };
  served.set(origin, made);
  return made;
}

export function mountDocs(app: Hono<AppEnv>): void {
  app.get(PAGES_STYLESHEET_PATH, (c) =>
    c.body(PAGES_STYLESHEET, 200, { ...CACHED_FOREVER, 'Content-Type': 'text/css; charset=utf-8' }),
  );
  app.route(
    DOCUMENT_PATH,
    publicRoutes('openapi', (document) => void document.get('/', sendDocument)),
  );
  app.route(DOCS_PATH, publicRoutes('docs', mountPages));
}

/** Readable from any origin, for tools in browsers. */
function sendDocument(c: AppContext): Response {
  const { text, etag } = servedTo(c);
  const headers = {
    'Cache-Control': CACHE_CONTROL,
    ETag: etag,
    'Access-Control-Allow-Origin': '*',
    'X-Content-Type-Options': 'nosniff',
  };
  if (isMatching(c.req.header('If-None-Match'), etag)) return new Response(null, { status: 304, headers });
  return new Response(text, { headers: { ...headers, 'Content-Type': 'application/json' } });
}

function mountPages(pages: Hono<AppEnv>): void {
  pages.get('/', async (c) => {
    const query = (c.req.query('q') ?? '').trim().slice(0, QUERY_LENGTH_MAX);
    return sendPage(c, { html: await overviewPage(servedTo(c).document, query), cacheControl: CACHE_CONTROL });
  });
  pages.get('/schemas/:name', (c) => sendOrNotFound(c, schemaPage(servedTo(c).document, c.req.param('name'))));
  pages.get('/:operationId', (c) => sendOrNotFound(c, operationPage(servedTo(c).document, c.req.param('operationId'))));
  pages.get('/*', (c) => sendOrNotFound(c, null));
}

async function sendOrNotFound(c: AppContext, page: Promise<string> | null): Promise<Response> {
  if (page) return sendPage(c, { html: await page, cacheControl: CACHE_CONTROL });
  return sendPage(c, { html: await docsNotFoundPage(), status: 404, cacheControl: CACHE_CONTROL });
}
