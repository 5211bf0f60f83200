/**
 * The API reference over HTTP: the OpenAPI document, the pages, their search, and the files that pages load, including
 * the console's.
 *
 * They are files beside the Worker (src/site/docs/site.ts). Here the request's origin replaces the placeholder in their
 * examples, and the answer gets its headers.
 */
import type { Hono } from 'hono';
import type { AppContext, AppEnv } from '../../http/middleware/context.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { contentHash } from '../../platform/content-hash.ts';
import { isMatching } from '../../platform/etag.ts';
import { remember } from '../../platform/isolate-memory.ts';
import { searchResults } from '../docs/results.tsx';
import { findEntries, type SearchEntry } from '../docs/search.ts';
import { INDEX_FILE, NOT_FOUND_FILE, ORIGIN, QUERY, RESULTS, SEARCH_FILE } from '../docs/template.ts';
import { PAGES_STYLESHEET, PAGES_STYLESHEET_PATH } from '../stylesheet.ts';
import {
  CACHED_FOREVER,
  type KeptPages,
  publicRoutes,
  searchedText,
  sendFile,
  sendKeptPage,
  sendPage,
} from './public-page.ts';

const DOCS_PATH = '/docs';
const DOCUMENT_PATH = '/openapi.json';
const DEMO_KEY_PATH = '/demo-key';
/** The most searches that one isolate keeps, each of up to 100 KB. */
const SEARCHES_KEPT_MAX = 40;
const CACHE_CONTROL = 'public, max-age=300, stale-while-revalidate=3600';
/** A page's path, which is also a file's. */
const PAGE = /^\/docs(?:\/[\w-]+){0,2}$/;
/**
 * The files that pages load: the scripts, a style, and the font with its licence. Their names contain a hash of the
 * content.
 */
const ASSET = '(?:docs|console)-[0-9a-f]+\\.(?:css|js)|inter-[\\d.]+\\.(?:woff2|txt)';
const PICTURE = /^\/docs\/[\w/-]+\.(?:png|svg)$/;
/** An address that only programs on the server's own machine reach. */
const LOOPBACK: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];

const keptSearches = remember<KeptPages>(() => new BoundedMap(SEARCHES_KEPT_MAX));

export function mountDocs(app: Hono<AppEnv>): void {
  app.get(PAGES_STYLESHEET_PATH, (c) =>
    c.body(PAGES_STYLESHEET, 200, { ...CACHED_FOREVER, 'Content-Type': 'text/css; charset=utf-8' }),
  );
  app.get(`/assets/:name{${ASSET}}`, (c) => sendFileOr404(c, CACHED_FOREVER['Cache-Control']));
  app.route(
    DOCUMENT_PATH,
    publicRoutes('openapi', (document) => void document.get('/', sendDocument)),
  );
  app.route(DOCS_PATH, publicRoutes('docs', mountPages));
}

/** Readable from any origin, for tools in browsers. */
async function sendDocument(c: AppContext): Promise<Response> {
  const text = await readFile(c, DOCUMENT_PATH);
  if (text === null) throw new Error('the OpenAPI document is missing beside the Worker');
  const etag = `"${contentHash(text)}"`;
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
  pages.get('/', (c) => {
    const query = searchedText(c);
    return query === '' ? sendDocsPage(c, `${DOCS_PATH}.html`) : sendSearch(c, query);
  });
  pages.get(DEMO_KEY_PATH, sendDemoKey);
  pages.get('/*', (c) => {
    const { path } = c.req;
    if (PICTURE.test(path)) return sendFileOr404(c, CACHE_CONTROL);
    return PAGE.test(path) ? sendDocsPage(c, `${path}.html`) : sendNotFound(c);
  });
}

async function sendFileOr404(c: AppContext, cacheControl: string): Promise<Response> {
  return (await sendFile(c, cacheControl)) ?? sendNotFound(c);
}

async function sendDocsPage(c: AppContext, file: string): Promise<Response> {
  const html = file === SEARCH_FILE || file === NOT_FOUND_FILE ? null : await readFile(c, file);
  return html === null ? sendNotFound(c) : sendPage(c, { html, cacheControl: CACHE_CONTROL, scripted: true });
}

async function sendNotFound(c: AppContext): Promise<Response> {
  const html = (await readFile(c, NOT_FOUND_FILE)) ?? '';
  return sendPage(c, { html, status: 404, cacheControl: CACHE_CONTROL, scripted: true });
}

function sendSearch(c: AppContext, query: string): Promise<Response> {
  const kept = { kept: keptSearches.value, meaning: query, isCounted: true };
  const how = { ...kept, cacheControl: CACHE_CONTROL, scripted: true };
  return sendKeptPage(c, how, async () => {
    const [page, index] = await Promise.all([readFile(c, SEARCH_FILE), readFile(c, INDEX_FILE)]);
    const found = findEntries(JSON.parse(index ?? '[]') as SearchEntry[], query);
    const results = await searchResults(found, query);
    // A function, because a text as the replacement gives `$` a special meaning.
    return { html: (page ?? '').replaceAll(QUERY, () => escaped(query)).replace(RESULTS, () => results) };
  });
}

/**
 * The key of the demo organization, for the page's form. No other page may read it, and only an address of the machine
 * itself leads to it, so that neither a site in the reader's browser nor another machine can get it.
 */
function sendDemoKey(c: AppContext): Response {
  const { DEMO_API_KEY: key } = c.env;
  const isOwnPage = c.req.header('Sec-Fetch-Site') === 'same-origin';
  const isLocal = LOOPBACK.includes(new URL(c.req.url).hostname);
  c.header('Cache-Control', 'no-store');
  if (key === undefined || !isOwnPage || !isLocal) return c.json({ error: 'there is no demo key here' }, 404);
  return c.json({ key });
}

/** A file of text, for the origin of the request; `null` if there is none. */
async function readFile(c: AppContext, path: string): Promise<string | null> {
  const answer = await c.env.ASSETS.fetch(ORIGIN + path);
  if (!answer.ok) return null;
  return (await answer.text()).replaceAll(ORIGIN, new URL(c.req.url).origin);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
