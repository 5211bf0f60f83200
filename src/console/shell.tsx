/**
 * The layout of the console's pages: document, navigation, heading, and confirmations.
 */
import { html } from 'hono/html';
import type { Child, FC, PropsWithChildren } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Catalog } from '../catalog/model.ts';
import type { Organization } from '../contract/operator.ts';
import { includesRole } from '../contract/roles.ts';
import { Document } from '../ui/document.tsx';
import { ButtonForm, type FormSecrets } from '../ui/form.tsx';
import { Notice } from '../ui/parts.tsx';
import { ICON_PATH } from '../ui/stylesheet.ts';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleSession, organizationPath } from './context.ts';
import { DONE } from './done.ts';
import { KnownModels } from './model-name.tsx';
import { roleFor } from './roles.ts';
import { CONSOLE_SCRIPT_PATH } from './script.ts';

export interface Crumb {
  text: string;
  href: string;
}

interface PageProps {
  title: string;
  sub?: Child;
  crumbs?: readonly Crumb[];
  actions?: Child;
  /** Seconds after which the page reloads where no script runs. */
  refreshSeconds?: number;
  status?: ContentfulStatusCode;
}

/** The hidden fields of a form; each form has its own submission id. */
export function secretsOf(c: ConsoleContext): FormSecrets {
  const { csrf, operator } = c.get('session');
  const needs = (action: string) => {
    const required = roleFor('POST', action.split('?', 1)[0] ?? '');
    return includesRole(operator.role, required) ? null : required;
  };
  return { csrf, nonce: crypto.randomUUID(), needs };
}

/** Renders a page of the console. */
export function page(
  c: ConsoleContext,
  { status = 200, ...props }: PageProps,
  content: Child,
): Response | Promise<Response> {
  const what = c.req.query('done') ?? '';
  const done = Object.hasOwn(DONE, what) ? DONE[what] : undefined;
  const organization = c.get('organization') as Organization | undefined;
  const catalog = c.get('catalog') as Catalog | undefined;
  const crumbs = [
    ...(organization ? [{ text: organization.name, href: organizationPath(organization.organizationId) }] : []),
    ...(props.crumbs ?? []),
  ];
  return c.html(
    html`<!doctype html>${(
      <Document title={`${props.title} · Callmeter`} refreshSeconds={props.refreshSeconds} script={CONSOLE_SCRIPT_PATH}>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <div class="frame">
          <Side path={c.req.path} organization={organization} secrets={secretsOf(c)} session={c.get('session')} />
          <main class="main" id="main">
            {crumbs.length > 0 && <Crumbs crumbs={crumbs} title={props.title} />}
            <header class="page-head">
              <div>
                <h1>{props.title}</h1>
                {props.sub && <p class="sub">{props.sub}</p>}
              </div>
              {props.actions && <div class="actions">{props.actions}</div>}
            </header>
            {done && <Notice tone="good">{done}</Notice>}
            <KnownModels.Provider value={catalog ? { catalog, nowMs: Date.now() } : null}>
              {content}
            </KnownModels.Provider>
          </main>
        </div>
      </Document>
    )}`,
    status,
  );
}

const Crumbs: FC<{ crumbs: readonly Crumb[]; title: string }> = ({ crumbs, title }) => (
  <nav class="crumbs" aria-label="Where this is">
    <ol>
      {crumbs
        .filter(({ text }) => text !== title)
        .map(({ text, href }) => (
          <li>
            <a href={href}>{text}</a>
          </li>
        ))}
      <li aria-current="page">{title}</li>
    </ol>
  </nav>
);

interface SideProps {
  path: string;
  organization: Organization | undefined;
  secrets: FormSecrets;
  session: ConsoleSession;
}

const Side: FC<SideProps> = ({ path, organization, secrets, session }) => (
  <header class="side">
    <div class="side-rest">
      <Brand />
      <Navigation path={path} organization={organization} />
      <div class="sign-out">
        <SignOut secrets={secrets} session={session} />
      </div>
    </div>
    <details class="side-menu">
      <summary>
        <span class="brand">
          <img src={ICON_PATH} alt="" width="26" height="26" />
          Callmeter
        </span>
        <span class="menu-word">Menu</span>
      </summary>
      <div>
        <Navigation path={path} organization={organization} />
        <SignOut secrets={secrets} session={session} />
      </div>
    </details>
  </header>
);

export const Brand: FC = () => (
  <a class="brand" href={CONSOLE_PATH}>
    <img src={ICON_PATH} alt="" width="26" height="26" />
    Callmeter
  </a>
);

const SignOut: FC<{ secrets: FormSecrets; session: ConsoleSession }> = ({ secrets, session: { operator, by } }) => (
  <>
    {by === 'access' && (
      <p class="quiet hint">
        {operator.name}, {operator.role}
      </p>
    )}
    <ButtonForm action={`${CONSOLE_PATH}/sign-out`} secrets={secrets}>
      Sign out
    </ButtonForm>
  </>
);

const SERVICE_PAGES: readonly (readonly [string, string])[] = [
  ['', 'Overview'],
  ['organizations', 'Organizations'],
  ['catalog', 'Model catalog'],
  ['operators', 'Operators'],
  ['events', 'Operator events'],
  ['health', 'Health'],
];

const ORGANIZATION_PAGES: readonly (readonly [string, string])[] = [
  ['', 'Usage'],
  ['setup', 'Setup'],
  ['anomalies', 'Anomalies'],
  ['alerts', 'Alerts'],
  ['webhooks', 'Webhooks'],
  ['customers', 'Customers'],
  ['calls', 'Calls'],
  ['plans', 'Plans'],
  ['keys', 'API keys'],
  ['models', 'Models and prices'],
  ['vendors', 'Vendors'],
  ['sampling', 'Sampling'],
  ['compression', 'Compression'],
  ['events', 'Events'],
  ['settings', 'Settings'],
];

const Navigation: FC<{ path: string; organization: Organization | undefined }> = ({ path, organization }) => (
  <nav aria-label="Console">
    {organization && (
      <Links
        title={organization.name}
        base={organizationPath(organization.organizationId)}
        pages={ORGANIZATION_PAGES}
        path={path}
      />
    )}
    <Links title="Service" base={CONSOLE_PATH} pages={SERVICE_PAGES} path={organization ? '' : path} />
  </nav>
);

interface LinksProps {
  title: string;
  base: string;
  pages: readonly (readonly [string, string])[];
  path: string;
}

const Links: FC<LinksProps> = ({ title, base, pages, path }) => (
  <div>
    <h2>{title}</h2>
    <ul>
      {pages.map(([name, text]) => {
        const href = name === '' ? base : `${base}/${name}`;
        const here = path === href || (name !== '' && path.startsWith(`${href}/`));
        return (
          <li>
            <a href={href} aria-current={here ? 'page' : undefined}>
              {text}
            </a>
          </li>
        );
      })}
    </ul>
  </div>
);

/** A page without navigation: the sign-in and error pages. */
export function plainPage(
  c: ConsoleContext,
  title: string,
  status: ContentfulStatusCode,
  content: Child,
): Response | Promise<Response> {
  return c.html(
    html`<!doctype html>${(
      <Document title={`${title} · Callmeter`}>
        <main class="alone">
          <div class="card">
            <Brand />
            {content}
          </div>
        </main>
      </Document>
    )}`,
    status,
  );
}

/** An error message. */
export const Problem: FC<PropsWithChildren<{ title: string }>> = ({ title, children }) => (
  <>
    <h1>{title}</h1>
    <div class="quiet">{children}</div>
  </>
);
