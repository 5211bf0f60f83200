/**
 * The layout of the console's pages: document, heading and confirmations. The side is in `navigation.tsx`.
 */

import { html } from 'hono/html';
import type { Child, FC, PropsWithChildren } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import scripts from '#scripts';
import type { Catalog } from '../catalog/model.ts';
import type { Organization } from '../contract/operator.ts';
import type { KnownOrganizations } from '../operator/known.ts';
import { Document } from '../ui/document.tsx';
import type { FormSecrets, Sends } from '../ui/form.tsx';
import { Notice } from '../ui/parts.tsx';
import { type ConsoleContext, organizationPath } from './context.ts';
import { DONE } from './done.ts';
import { KnownModels } from './model-name.tsx';
import { Brand, Palette, Side } from './navigation.tsx';
import { ReaderRole } from './page-roles.tsx';
import { lackedRole } from './send.ts';

interface Crumb {
  text: string;
  href: string;
}

interface PageProps {
  title: string;
  sub?: Child;
  crumbs?: readonly Crumb[];
  actions?: Child;
  /** Seconds after which the page reloads if no script runs. */
  refreshSeconds?: number;
  status?: ContentfulStatusCode;
}

/** The hidden fields of a form; each form has its own submission id. */
export function formSecrets(c: ConsoleContext): FormSecrets {
  const { csrf } = c.get('session');
  const needs = (of: Sends | undefined) => (of ? lackedRole(c, of.operation) : null);
  return { csrf, nonce: crypto.randomUUID(), needs };
}

export function page(
  c: ConsoleContext,
  { status = 200, ...props }: PageProps,
  content: Child,
): Response | Promise<Response> {
  const what = c.req.query('done') ?? '';
  const done = Object.hasOwn(DONE, what) ? DONE[what] : undefined;
  const organization = c.get('organization') as Organization | undefined;
  const known = c.get('organizations') as KnownOrganizations | undefined;
  // If there is only one organization, its pages are also listed beside the pages of the service.
  const shownOrganization = organization ?? (known?.items.length === 1 ? known.items[0] : undefined);
  const catalog = c.get('catalog') as Catalog | undefined;
  const crumbs = [
    ...(organization ? [{ text: organization.name, href: organizationPath(organization.organizationId) }] : []),
    ...(props.crumbs ?? []),
  ];
  return c.html(
    html`<!doctype html>${(
      <Document title={`${props.title} · Callmeter`} refreshSeconds={props.refreshSeconds} script={scripts.console}>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <div class="frame">
          <Side
            path={c.req.path}
            organization={shownOrganization}
            isOfOrganization={organization !== undefined}
            organizations={known?.items ?? []}
            hasMore={known?.hasMore ?? false}
            secrets={formSecrets(c)}
            session={c.get('session')}
          />
          <main class="main" id="main">
            <ReaderRole.Provider value={c.get('session').operator.role}>
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
            </ReaderRole.Provider>
          </main>
        </div>
        <Palette organization={shownOrganization} />
      </Document>
    )}`,
    status,
  );
}

const Crumbs: FC<{ crumbs: readonly Crumb[]; title: string }> = ({ crumbs, title }) => (
  <nav class="crumbs" aria-label="Breadcrumb">
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

export const Problem: FC<PropsWithChildren<{ title: string }>> = ({ title, children }) => (
  <>
    <h1>{title}</h1>
    <div class="quiet">{children}</div>
  </>
);
