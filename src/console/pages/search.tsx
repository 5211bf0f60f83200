/**
 * The search over everything, as a page and as the list that the console's script opens over other pages.
 */

import type { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { Organization } from '../../contract/operator.ts';
import { SEARCH_LENGTH_MAX, SEARCHED_ORGANIZATIONS_MAX, type SearchData } from '../../contract/search.ts';
import { asOrganizationId } from '../../domain/ids.ts';
import { findOrganization } from '../../operator/organization.ts';
import { searchEverything } from '../../operator/search.ts';
import { plural } from '../../ui/format.ts';
import { Card, Empty } from '../../ui/parts.tsx';
import { type ConsoleContext, type ConsoleEnv, SEARCH_PATH } from '../context.ts';
import { groupHits, type HitGroup, pagesFound } from '../search.ts';
import { load } from '../send.ts';
import { page } from '../shell.tsx';

export function mountSearch(app: Hono<ConsoleEnv>): void {
  app.get('/search', async (c) => {
    const found = await searched(c);
    const { query, organization } = found;
    if (organization) c.set('organization', organization);
    return page(
      c,
      { title: 'Search', sub: query === '' ? undefined : countResults(found) },
      <>
        <SearchForm query={query} organization={organization} />
        <Results {...found} />
      </>,
    );
  });

  app.get('/search/list', async (c) => c.html(<Options {...(await searched(c))} />));
}

interface Found {
  query: string;
  /** The organization that is searched; `null` if the first organizations are. */
  organization: Organization | null;
  groups: HitGroup[];
  /** Whether there are more organizations than were searched. */
  isPartial: boolean;
}

const NOTHING: SearchData = { items: [], searched: { organizations: 0, isMore: false } };

/** The things and pages that match; only pages if nothing is typed. */
async function searched(c: ConsoleContext): Promise<Found> {
  const query = (c.req.query('q') ?? '').trim().slice(0, SEARCH_LENGTH_MAX);
  const asked = c.req.query('org') ?? '';
  const organization = asked === '' ? null : await findOrganization(c.env, asOrganizationId(asked));
  const organizationId = organization?.organizationId;
  const answer = query === '' ? null : await load(c, searchEverything, { query: { q: query, organizationId } });
  const found = answer?.ok ? answer.data : NOTHING;
  const { items } = c.get('organizations');
  const only = found.searched.organizations === 1 ? (items[0] ?? null) : null;
  const groups = groupHits(found, pagesFound(organization ?? only, query, c.get('session').operator.role));
  return { query, organization, groups, isPartial: found.searched.isMore };
}

const countResults = ({ groups }: Found) =>
  plural(
    groups.reduce((sum, { hits }) => sum + hits.length, 0),
    'result',
  );

const SearchForm: FC<Pick<Found, 'query' | 'organization'>> = ({ query, organization }) => (
  <search aria-label="Everything">
    <form method="get" action={SEARCH_PATH} class="filters">
      {organization && <input type="hidden" name="org" value={organization.organizationId} />}
      <div class="field">
        <label for="q">Search</label>
        <input
          id="q"
          name="q"
          type="search"
          value={query}
          placeholder="Customer, call ID, plan, key, model, page"
          autocomplete="off"
          spellcheck={false}
          maxlength={SEARCH_LENGTH_MAX}
        />
      </div>
      <button type="submit">Search</button>
    </form>
  </search>
);

const Results: FC<Found> = ({ query, groups, isPartial }) => (
  <>
    {groups.length === 0 && (
      <Card>
        <Empty title={`No results for “${query}”`}>
          The search covers customers (ID, name, e-mail), call IDs, plans, API keys (name, ID, last four characters),
          models, organizations and pages.
        </Empty>
      </Card>
    )}
    {groups.map(({ title, hits }) => (
      <Card title={title}>
        <ul class="hits">
          {hits.map(({ href, text, sub }) => (
            <li>
              <a href={href}>{text}</a> {sub && <span class="quiet">{sub}</span>}
            </li>
          ))}
        </ul>
      </Card>
    ))}
    {isPartial && (
      <p class="quiet">
        Customers, calls, plans and keys of the first {SEARCHED_ORGANIZATIONS_MAX} organizations were searched. Open an
        organization to search it.
      </p>
    )}
  </>
);

const Options: FC<Found> = (found) => {
  const { query } = found;
  const says = found.groups.length === 0 ? `No results for “${query}”` : query === '' ? '' : countResults(found);
  let place = 0;
  return (
    <div id="found" role="listbox" aria-label="Results" data-says={says}>
      {found.groups.map(({ title, hits }) => (
        // biome-ignore lint/a11y/useSemanticElements: a group of a listbox
        <div role="group" aria-label={title}>
          <div class="found-title" aria-hidden="true">
            {title}
          </div>
          {hits.map(({ href, text, sub }) => {
            place += 1;
            return (
              <a role="option" aria-selected="false" tabindex={-1} id={`found-${place}`} href={href}>
                <span>{text}</span>
                {sub && <span class="quiet">{sub}</span>}
              </a>
            );
          })}
        </div>
      ))}
    </div>
  );
};
