/**
 * The operator's console at `/console`: its protection and its pages.
 *
 * The pages are forms and links, and work without script. The content security policy allows one script of the
 * service's own. A form is accepted only from this origin and with the CSRF token of its session. The form's operation
 * determines the role that it requires (`send.ts`).
 */

import { Hono, type MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';
import { HTTPException } from 'hono/http-exception';
import { secureHeaders } from 'hono/secure-headers';
import { timingSafeEqual } from 'hono/utils/buffer';
import type { OperatorRole } from '../contract/roles.ts';
import { asOrganizationId } from '../domain/ids.ts';
import type { AppEnv } from '../http/middleware/context.ts';
import { logAndRefuse, onNotFound, pageStatus } from '../http/middleware/error-envelopes.ts';
import { readKnown } from '../operator/known.ts';
import { findOrganization } from '../operator/organization.ts';
import { Code } from '../ui/parts.tsx';
import { ICON, ICON_PATH, STYLESHEET, STYLESHEET_PATH } from '../ui/stylesheet.ts';
import { deferrer } from './caller.ts';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleEnv } from './context.ts';
import { readForm, readFormWith } from './form-body.ts';
import { SWITCHED_MAX } from './navigation.tsx';
import { CATALOG_FORM } from './pages/catalog-publication.tsx';
import { mountPages } from './pages.ts';
import { SESSION_PATH } from './paths.ts';
import { RoleRequired } from './send.ts';
import { isConsoleConfigured, readSession } from './session.ts';
import { Problem, page, plainPage } from './shell.tsx';
import { mountSignIn, mountSignOut, SIGN_IN_PATH } from './sign-in.tsx';
import { submittedIn } from './submitted.ts';

/** The limit for every form except the one that publishes a catalog. */
const FORM_BYTES_MAX = 64 * 1_024;

const HEADERS = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    connectSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'"],
    fontSrc: ["'self'"],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
  },
  xFrameOptions: 'DENY',
  // With `no-referrer`, forms would have the origin "null".
  referrerPolicy: 'same-origin',
});

export function mountConsole(app: Hono<AppEnv>): void {
  const kept = { 'Cache-Control': 'public, max-age=31536000, immutable', 'X-Content-Type-Options': 'nosniff' };
  app.get(STYLESHEET_PATH, (c) => c.body(STYLESHEET, 200, { ...kept, 'Content-Type': 'text/css; charset=utf-8' }));
  app.on('GET', [ICON_PATH, '/favicon.ico'], (c) =>
    c.body(ICON, 200, { ...kept, 'Content-Type': 'image/svg+xml', 'Cache-Control': 'public, max-age=86400' }),
  );
  app.route(CONSOLE_PATH, createConsole());
}

function createConsole(): Hono<ConsoleEnv> {
  const pages = new Hono<ConsoleEnv>();
  pages.onError(onPageError);
  pages.use(async (c, next) => (isConsoleConfigured(c.env) ? next() : onNotFound(c as never)));
  pages.use(HEADERS, csrf());
  mountSignIn(pages);
  pages.use(requireSession, requireFormToken, loadKnown);
  mountSignOut(pages);
  pages.get(SESSION_PATH.slice(CONSOLE_PATH.length), (c) => c.json({ csrf: c.get('session').csrf }));
  pages.use('/organizations/:org/*', loadOrganization);
  mountPages(pages);
  pages.all('*', (c) => notFound(c));
  return pages;
}

/** Redirects to the sign-in page, which returns to the requested page. */
const requireSession: MiddlewareHandler<ConsoleEnv> = async (c, next) => {
  const session = await readSession(c, Date.now());
  if (!session) {
    const { pathname, search } = new URL(c.req.url);
    const query =
      c.req.method === 'GET' && pathname !== CONSOLE_PATH ? `?${new URLSearchParams({ next: pathname + search })}` : '';
    return c.redirect(SIGN_IN_PATH + query, 303);
  }
  if ('refused' in session) return noRole(c, session.name);
  c.set('session', session);
  return next();
};

/** Runs after the session check: without a session the service reads no form. */
const requireFormToken: MiddlewareHandler<ConsoleEnv> = async (c, next) => {
  if (c.req.method === 'GET' || c.req.method === 'HEAD') return next();
  const token = c.get('session').csrf;
  const isCatalog = CATALOG_FORM.paths.includes(c.req.path);
  const body = isCatalog
    ? await readFormWith(token, c.req.raw, CATALOG_FORM.bytesMax)
    : await readForm(c.req.raw, FORM_BYTES_MAX);
  if (body.kind === 'too large') return tooLarge(c, body.bound);
  if (body.kind === 'foreign') return foreignForm(c);
  const submitted = await submittedIn(body.data);
  if (!(await timingSafeEqual(submitted.csrf, token))) return foreignForm(c);
  c.set('submitted', submitted);
  return next();
};

/** Loads the catalog, because pages mark models that end, and the organizations of the navigation. */
const loadKnown: MiddlewareHandler<ConsoleEnv> = async (c, next) => {
  const { catalog, organizations } = await readKnown({ env: c.env, defer: deferrer(c) }, SWITCHED_MAX);
  c.set('catalog', catalog);
  c.set('organizations', organizations);
  return next();
};

const loadOrganization: MiddlewareHandler<ConsoleEnv> = async (c, next) => {
  const organizationId = asOrganizationId(c.req.param('org') ?? '');
  if (organizationId === 'new') return next();
  const organization = await findOrganization(c.env, organizationId);
  if (!organization) return notFound(c);
  c.set('organization', organization);
  return next();
};

function notFound(c: ConsoleContext) {
  const text = 'It may have been erased, or the address is mistyped.';
  return page(c, { title: 'Not found', status: 404 }, <p class="quiet">{text}</p>);
}

function noRole(c: ConsoleContext, name: string) {
  return plainPage(
    c,
    'No role',
    403,
    <Problem title="You have no role yet">
      <p>
        Cloudflare Access let you in as <Code>{name}</Code>. An admin gives you a role under Operators, or with{' '}
        <Code>npm run operator -- operators put {name} --role viewer</Code>.
      </p>
      <p>
        <a href={SIGN_IN_PATH}>Sign in with the operator token</a>
      </p>
    </Problem>,
  );
}

function roleRequired(c: ConsoleContext, required: OperatorRole) {
  const { name, role } = c.get('session').operator;
  return plainPage(
    c,
    'Not permitted',
    403,
    <Problem title={`This needs the role ${required}`}>
      <p>
        You are signed in as <Code>{name}</Code>, {role}. Nothing was changed.
      </p>
      <p>
        <a href={CONSOLE_PATH}>Back to the console</a>
      </p>
    </Problem>,
  );
}

function foreignForm(c: ConsoleContext) {
  return plainPage(
    c,
    'Not accepted',
    403,
    <Problem title="This form was not accepted">
      <p>It is from an earlier session or from another site, and nothing was changed.</p>
      <p>
        <a href={CONSOLE_PATH}>Back to the console</a>
      </p>
    </Problem>,
  );
}

function tooLarge(c: ConsoleContext, bound: string) {
  return plainPage(
    c,
    'Too large',
    413,
    <Problem title="This form is too large">
      <p>This form takes {bound}. Nothing was changed.</p>
    </Problem>,
  );
}

function onPageError(error: Error, c: ConsoleContext) {
  if (error instanceof RoleRequired) return roleRequired(c, error.role);
  if (error instanceof HTTPException && error.status === 403) return foreignForm(c);
  const refusal = logAndRefuse(c, error);
  const unavailable = refusal.code === 'SERVICE_UNAVAILABLE';
  return plainPage(
    c,
    'The request failed',
    pageStatus(c, refusal),
    <Problem title={unavailable ? 'Not reachable for the moment' : 'The service failed'}>
      <p>{unavailable ? `${refusal.message}. ` : ''}You can send a form again: it counts once.</p>
      <p>
        Correlation id <code>{c.get('correlationId')}</code>
      </p>
    </Problem>,
  );
}
