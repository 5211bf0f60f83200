/**
 * The side of the console's pages: the search, the switch between organizations, and links to all pages in groups. All
 * names and paths of pages are listed here; the search finds pages by them.
 */

import type { FC } from 'hono/jsx';
import type { OperatorRole } from '../contract/roles.ts';
import { SEARCH_LENGTH_MAX } from '../contract/search.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { OrganizationName } from '../operator/known.ts';
import { ButtonForm, type FormSecrets } from '../ui/form.tsx';
import { ICON_PATH } from '../ui/stylesheet.ts';
import { CONSOLE_PATH, type ConsoleSession, organizationPath, SEARCH_PATH } from './context.ts';
import { mayOpen } from './page-roles.tsx';

/** The most organizations in the switch; the page of organizations lists all. */
export const SWITCHED_MAX = 20;

interface NavigationPage {
  /** The path below the console or the organization; empty for the first page of each. */
  path: string;
  title: string;
  /** Other paths that belong to the page. */
  also?: readonly string[];
}

export interface NavigationGroup {
  title: string;
  pages: readonly NavigationPage[];
}

export const ORGANIZATION_GROUPS: readonly NavigationGroup[] = [
  {
    title: 'Monitor',
    pages: [
      { path: '', title: 'Usage' },
      { path: 'margin', title: 'Margin' },
      { path: 'calls', title: 'Calls' },
      { path: 'anomalies', title: 'Anomalies' },
      { path: 'alerts', title: 'Alerts' },
      { path: 'events', title: 'Event log' },
    ],
  },
  {
    title: 'Customers',
    pages: [
      { path: 'customers', title: 'Customers' },
      { path: 'plans', title: 'Plans' },
    ],
  },
  {
    title: 'Models',
    pages: [
      { path: 'models', title: 'Models and prices', also: ['prices'] },
      { path: 'vendors', title: 'Vendors' },
      { path: 'compression', title: 'Compression' },
      { path: 'sampling', title: 'Sampling', also: ['samples'] },
    ],
  },
  {
    title: 'Settings',
    pages: [
      { path: 'keys', title: 'API keys' },
      { path: 'webhooks', title: 'Webhooks', also: ['new-webhook'] },
      { path: 'setup', title: 'Setup' },
      { path: 'settings', title: 'Settings' },
    ],
  },
];

export const SERVICE_GROUP: NavigationGroup = {
  title: 'Service',
  pages: [
    { path: '', title: 'Overview' },
    { path: 'organizations', title: 'Organizations' },
    { path: 'catalog', title: 'Model catalog' },
    { path: 'health', title: 'Health' },
    { path: 'operators', title: 'Operators' },
    { path: 'events', title: 'Full event log' },
  ],
};

export interface SideProps {
  path: string;
  /** The organization whose pages are listed: that of the page, or the only one. */
  organization: OrganizationName | undefined;
  /** Whether the page belongs to that organization. */
  isOfOrganization: boolean;
  /** The organizations of the switch; `hasMore` says whether there are more. */
  organizations: readonly OrganizationName[];
  hasMore: boolean;
  secrets: FormSecrets;
  session: ConsoleSession;
}

export const Side: FC<SideProps> = (props) => (
  <header class="side">
    <div class="side-rest">
      <Brand />
      <Menu {...props} />
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
        <Menu {...props} />
      </div>
    </details>
  </header>
);

/** The list of results over the page, which the script opens. */
export const Palette: FC<{ organization: OrganizationName | undefined }> = ({ organization }) => (
  <dialog class="palette" id="palette" aria-label="Search" data-org={organization?.organizationId}>
    <input
      type="text"
      role="combobox"
      aria-label="Search"
      aria-expanded="true"
      aria-controls="found"
      aria-autocomplete="list"
      placeholder="Customer, call ID, plan, key, model, page"
      autocomplete="off"
      spellcheck={false}
      maxlength={SEARCH_LENGTH_MAX}
    />
    <div id="found" role="listbox" aria-label="Results" />
    <p class="quiet hint" aria-live="polite" />
  </dialog>
);

export const Brand: FC = () => (
  <a class="brand" href={CONSOLE_PATH}>
    <img src={ICON_PATH} alt="" width="26" height="26" />
    Callmeter
  </a>
);

const Menu: FC<SideProps> = (props) => {
  const { path, organization, isOfOrganization, secrets, session } = props;
  return (
    <>
      {(organization || props.organizations.length > 0) && <Switcher {...props} />}
      <SearchField organizationId={organization?.organizationId} />
      <nav aria-label="Console">
        {organization &&
          ORGANIZATION_GROUPS.map((group) => (
            <Group
              group={group}
              base={organizationPath(organization.organizationId)}
              path={isOfOrganization ? path : ''}
              role={session.operator.role}
            />
          ))}
        <Group
          group={SERVICE_GROUP}
          base={CONSOLE_PATH}
          path={isOfOrganization ? '' : path}
          role={session.operator.role}
        />
      </nav>
      <div class="sign-out">
        <SignOut secrets={secrets} session={session} />
      </div>
    </>
  );
};

/** The search field. It leads to the search page; with script it opens the list over the page instead. */
const SearchField: FC<{ organizationId: OrganizationId | undefined }> = ({ organizationId }) => (
  <search aria-label="Console">
    <form method="get" action={SEARCH_PATH} class="side-search">
      {organizationId !== undefined && <input type="hidden" name="org" value={organizationId} />}
      <input
        type="search"
        name="q"
        aria-label="Search"
        placeholder="Search"
        autocomplete="off"
        spellcheck={false}
        maxlength={SEARCH_LENGTH_MAX}
        data-search
      />
    </form>
  </search>
);

/** Links to the same page of another organization, if it has that page. */
const Switcher: FC<SideProps> = ({ path, organization, isOfOrganization, organizations, hasMore, session }) => {
  const here = organization?.organizationId;
  const known = organizations.some(({ organizationId }) => organizationId === here);
  const listed = organization && !known ? [organization, ...organizations] : organizations;
  const found = isOfOrganization && here !== undefined ? findSection(path, organizationPath(here)) : '';
  const section = here !== undefined && mayOpen(session.operator.role, organizationPath(here, found)) ? found : '';
  return (
    <details class="switcher">
      <summary>
        <span class="unseen">Organization: </span>
        <span class="switcher-name">{organization?.name ?? 'All organizations'}</span>
      </summary>
      <ul>
        {listed.map(({ organizationId, name }) => (
          <li>
            <a
              href={section === '' ? organizationPath(organizationId) : organizationPath(organizationId, section)}
              aria-current={organizationId === here ? 'true' : undefined}
            >
              {name}
            </a>
          </li>
        ))}
        <li class="apart">
          <a href={`${CONSOLE_PATH}/organizations`}>{hasMore ? 'All organizations' : 'Manage organizations'}</a>
        </li>
        <li>
          <a href={`${CONSOLE_PATH}/organizations/new`}>New organization</a>
        </li>
      </ul>
    </details>
  );
};

/** The navigation's page for a path; the first one if there is none. */
function findSection(path: string, base: string): string {
  const pages = ORGANIZATION_GROUPS.flatMap((group) => group.pages);
  return pages.find((page) => isHere(page, base, path))?.path ?? '';
}

function isHere({ path: name, also = [] }: NavigationPage, base: string, path: string): boolean {
  if (name === '') return path === base;
  return [name, ...also].some((one) => path === `${base}/${one}` || path.startsWith(`${base}/${one}/`));
}

interface GroupProps {
  group: NavigationGroup;
  base: string;
  path: string;
  role: OperatorRole;
}

/** The pages of a group that the role may open. */
const Group: FC<GroupProps> = ({ group, base, path, role }) => (
  <div>
    <h2>{group.title}</h2>
    <ul>
      {group.pages
        .map((page) => ({ ...page, href: page.path === '' ? base : `${base}/${page.path}` }))
        .filter(({ href }) => mayOpen(role, href))
        .map((page) => (
          <li>
            <a href={page.href} aria-current={isHere(page, base, path) ? 'page' : undefined}>
              {page.title}
            </a>
          </li>
        ))}
    </ul>
  </div>
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
