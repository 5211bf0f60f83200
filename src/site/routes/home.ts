/**
 * The first requests of people and monitors: the start page, `/health`, the icon; one address for each path; and errors
 * that a browser can show.
 */
import type { Hono, MiddlewareHandler } from 'hono';
import { LOOKUP_PATH } from '../../contract/model-lookup.ts';
import type { AppEnv } from '../../http/middleware/context.ts';
import { readSetup } from '../../operator/setup.ts';
import { SERVICE_VERSION } from '../../platform/version.ts';
import { errorPage, homePage } from '../home.tsx';
import { sendPage } from './public-page.ts';

const NO_STORE = 'no-store';
/** How long a monitor is told to wait if the service does not serve. */
const RETRY_AFTER_SECONDS = '5';

export function mountHome(app: Hono<AppEnv>): void {
  app.get('/', async (c) => {
    const { steps } = await readSetup(c.env, Date.now());
    return sendPage(c, { html: await homePage(steps, new URL(c.req.url).origin), cacheControl: NO_STORE });
  });
  app.get('/health', async (c) => {
    const { serves } = await readSetup(c.env, Date.now());
    c.header('Cache-Control', NO_STORE);
    if (serves) return c.json({ status: 'ok', version: SERVICE_VERSION });
    c.header('Retry-After', RETRY_AFTER_SECONDS);
    return c.json({ status: 'unavailable', version: SERVICE_VERSION }, 503);
  });
}

/**
 * A path with a slash at its end leads to the one without. Below `/v1`, the name of a model that is looked up may end
 * with one, and the gateway takes such a path unchanged.
 */
export const withoutSlashAtEnd: MiddlewareHandler<AppEnv> = async (c, next) => {
  const { path } = c.req;
  if (path.length === 1 || !path.endsWith('/') || path.startsWith('/v1')) return next();
  const { pathname, search } = new URL(c.req.url);
  // One slash at the beginning: two would begin the address of another host.
  return c.redirect(`/${pathname.replace(/^\/+|\/+$/g, '')}${search}`, 308);
};

/**
 * A browser that opens the address of a route for programs gets its error as a page. Browsers mark the addresses that
 * people open, and programs never do: so their answers stay the same.
 */
export const errorsForBrowsers: MiddlewareHandler<AppEnv> = async (c, next) => {
  await next();
  if (c.res.status < 400 || c.req.header('Sec-Fetch-Mode') !== 'navigate') return;
  const isJson = /\bjson\b/.test(c.res.headers.get('Content-Type') ?? '');
  if (!isJson || c.req.path.startsWith(LOOKUP_PATH)) return;
  const { error } = (await c.res.clone().json()) as { error?: { code?: unknown; message?: unknown } };
  // A vendor's own error may have another form, and passes unchanged.
  if (typeof error?.message !== 'string') return;
  const shown = { code: typeof error.code === 'string' ? error.code : null, message: error.message };
  const headers = new Headers(c.res.headers);
  headers.delete('Content-Length');
  const page = sendPage(c, { html: await errorPage(shown), status: 404, cacheControl: NO_STORE });
  for (const [name, value] of page.headers) headers.set(name, value);
  const { status } = c.res;
  c.res = undefined;
  c.res = new Response(page.body, { status, headers });
};
