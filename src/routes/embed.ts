/**
 * The usage widget over HTTP: the page for the frame, what it reads anew, its scripts.
 *
 * A token is all that says whose usage is shown, and where: nothing else of an address is read. Only the origins that the
 * token names may frame the page, and none where it names none.
 */
import type { Hono } from 'hono';
import { readWidgetUsage } from '../metering/widget.ts';
import { type AppContext, type AppEnv, deferrer } from '../middleware/context.ts';
import { type EmbedSession, embedSession } from '../middleware/embed-session.ts';
import { EMBED_SCRIPT, EMBED_SCRIPT_PATH, WIDGET_SCRIPT, WIDGET_SCRIPT_PATH } from '../pages/embed/scripts.ts';
import { WIDGET_STYLESHEET, WIDGET_STYLESHEET_PATH } from '../pages/embed/stylesheet.ts';
import { endedPage, type WidgetProps, widgetPage, widgetPart } from '../pages/embed/widget.tsx';
import { KEPT_FOR_GOOD, publicRoutes } from './public-page.ts';

export const EMBED_PATH = '/embed';
const SCRIPT_TYPE = 'text/javascript; charset=utf-8';

export function mountEmbed(app: Hono<AppEnv>): void {
  // Pages of other origins load it, also those that isolate themselves; it may change, so it is kept for a while only.
  const script = { 'Content-Type': SCRIPT_TYPE, 'Cache-Control': 'public, max-age=3600', 'X-Content-Type-Options': 'nosniff' };
  app.get(EMBED_SCRIPT_PATH, (c) => c.body(EMBED_SCRIPT, 200, { ...script, 'Cross-Origin-Resource-Policy': 'cross-origin' }));
  app.get(WIDGET_SCRIPT_PATH, (c) => c.body(WIDGET_SCRIPT, 200, { ...KEPT_FOR_GOOD, 'Content-Type': SCRIPT_TYPE }));
  app.get(WIDGET_STYLESHEET_PATH, (c) => c.body(WIDGET_STYLESHEET, 200, { ...KEPT_FOR_GOOD, 'Content-Type': 'text/css; charset=utf-8' }));
  app.route(
    EMBED_PATH,
    publicRoutes('embed', (embed) => {
      embed.get('/', sendWidget);
      embed.get('/data', sendPart);
    }),
  );
}

async function sendWidget(c: AppContext): Promise<Response> {
  const nowMs = Date.now();
  const session = await embedSession(c, c.req.query('token') ?? '', nowMs);
  if (!session) return respond(await endedPage(), 401, []);
  return respond(await widgetPage(await propsOf(c, session, nowMs)), 200, session.origins);
}

async function sendPart(c: AppContext): Promise<Response> {
  const nowMs = Date.now();
  const token = /^bearer +(\S+)$/i.exec(c.req.header('Authorization') ?? '')?.[1] ?? '';
  const session = await embedSession(c, token, nowMs);
  if (!session) return respond(await endedPage(), 401, []);
  return respond(await widgetPart(await propsOf(c, session, nowMs)), 200, []);
}

async function propsOf(c: AppContext, session: EmbedSession, nowMs: number): Promise<WidgetProps> {
  const { organization, customerId, ...shown } = session;
  const usage = await readWidgetUsage({ env: c.env, organization, defer: deferrer(c) }, customerId, nowMs);
  return { ...shown, nowMs, usage };
}

function respond(body: string, status: 200 | 401, origins: readonly string[]): Response {
  const ancestors = origins.length === 0 ? "'none'" : origins.join(' ');
  const policy = `default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors ${ancestors}`;
  return new Response(body, {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'private, no-store',
      'Content-Security-Policy': policy,
      'X-Content-Type-Options': 'nosniff',
      // The address has the token in it.
      'Referrer-Policy': 'no-referrer',
      ...(origins.length === 0 && { 'X-Frame-Options': 'DENY' }),
      ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
    },
  });
}
