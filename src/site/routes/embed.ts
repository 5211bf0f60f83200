/**
 * The usage widget over HTTP: the page in the frame, its refresh, its scripts.
 *
 * The session token identifies the customer and the origins that may embed the widget. It is sent in a body or a
 * header, never in an address, because addresses are logged: the frame's address has it in the fragment, and the first
 * page, which shows nothing and may be embedded anywhere, posts it.
 */

import type { Hono } from 'hono';
import scripts from '#scripts';
import { type AppContext, type AppEnv, deferrer } from '../../http/middleware/context.ts';
import { pageStatus } from '../../http/middleware/error-envelopes.ts';
import { type EmbedSession, embedSession } from '../../metering/embed-session.ts';
import { countSessionRequest } from '../../metering/session-requests.ts';
import { readRequest } from '../../platform/bytes.ts';
import { readWidgetUsage } from '../../readings/usage/widget.ts';
import { WIDGET_STYLESHEET, WIDGET_STYLESHEET_PATH } from '../embed/stylesheet.ts';
import { endedPage, openingPage, type WidgetProps, widgetPage, widgetPart } from '../embed/widget.tsx';
import { CACHED_FOREVER, publicRoutes, sendFile } from './public-page.ts';

const EMBED_PATH = '/embed';
/** Enough for a form with a token of ten origins. */
const FORM_BYTES_MAX = 16 * 1024;

export function mountEmbed(app: Hono<AppEnv>): void {
  app.get(scripts.embed, async (c) => {
    // It may change, so it is cached for a limited time.
    const file = await sendScript(c, 'public, max-age=3600');
    // Pages of other origins load it, also cross-origin isolated ones.
    file.headers.set('Cross-Origin-Resource-Policy', 'cross-origin');
    return file;
  });
  app.on('GET', [scripts.opening, scripts.widget], (c) => sendScript(c, CACHED_FOREVER['Cache-Control']));
  app.get(WIDGET_STYLESHEET_PATH, (c) =>
    c.body(WIDGET_STYLESHEET, 200, { ...CACHED_FOREVER, 'Content-Type': 'text/css; charset=utf-8' }),
  );
  app.route(
    EMBED_PATH,
    publicRoutes('embed', (embed) => {
      embed.get('/', sendOpening);
      embed.post('/', sendWidget);
      embed.all('/', (c) => c.text('this page answers GET, HEAD, POST', 405, { Allow: 'GET, HEAD, POST' }));
      embed.get('/data', sendPart);
    }),
  );
}

async function sendScript(c: AppContext, cacheControl: string): Promise<Response> {
  const file = await sendFile(c, cacheControl);
  if (!file) throw new Error(`the script ${c.req.path} is missing beside the Worker`);
  return file;
}

async function sendOpening(c: AppContext): Promise<Response> {
  if (c.req.query('token') !== undefined) return respond(await endedPage(), 401, []);
  return respond(await openingPage(EMBED_PATH), 200, ['*'], "'self'");
}

async function sendWidget(c: AppContext): Promise<Response> {
  const nowMs = Date.now();
  const form = await readRequest(c.req.raw, FORM_BYTES_MAX);
  if (form === null) return c.text(`the form must have at most ${FORM_BYTES_MAX} bytes`, 413);
  const token = new URLSearchParams(new TextDecoder().decode(form)).get('token') ?? '';
  const session = await embedSession(c.env, token, nowMs, deferrer(c));
  if (!session) return respond(await endedPage(), 401, []);
  const limited = await refuseMany(c, session);
  if (limited) return limited;
  return respond(await widgetPage(await readWidgetProps(c, session, nowMs), token), 200, session.origins);
}

async function sendPart(c: AppContext): Promise<Response> {
  const nowMs = Date.now();
  const token = /^bearer +(\S+)$/i.exec(c.req.header('Authorization') ?? '')?.[1] ?? '';
  const session = await embedSession(c.env, token, nowMs, deferrer(c));
  if (!session) return respond(await endedPage(), 401, []);
  const limited = await refuseMany(c, session);
  if (limited) return limited;
  return respond(await widgetPart(await readWidgetProps(c, session, nowMs)), 200, []);
}

/** 429 if the session made too many requests in this minute: the widget is free. */
async function refuseMany(c: AppContext, { organization, customerId, holder }: EmbedSession): Promise<Response | null> {
  const counted = await countSessionRequest({ env: c.env, organization }, customerId, holder);
  return counted.ok ? null : c.text(counted.refusal.message, pageStatus(c, counted.refusal));
}

async function readWidgetProps(c: AppContext, session: EmbedSession, nowMs: number): Promise<WidgetProps> {
  const { organization, customerId, holder: _, ...shown } = session;
  const usage = await readWidgetUsage({ env: c.env, organization, defer: deferrer(c) }, customerId, nowMs);
  return { ...shown, nowMs, usage };
}

/** Headers with the allowed embedding origins and form targets. */
function respond(body: string, status: 200 | 401, origins: readonly string[], formAction = "'none'"): Response {
  const ancestors = origins.length === 0 ? "'none'" : origins.join(' ');
  const policy = `default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action ${formAction}; frame-ancestors ${ancestors}`;
  return new Response(body, {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'private, no-store',
      'Content-Security-Policy': policy,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      ...(origins.length === 0 && { 'X-Frame-Options': 'DENY' }),
      ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
    },
  });
}
