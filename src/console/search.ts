/**
 * Results of the search: the things that the operator's search finds, with their links, and pages of the console.
 */
import type { Organization } from '../contract/operator.ts';
import type { OperatorRole } from '../contract/roles.ts';
import { FOUND_MAX, type FoundItem, type FoundKind, MATCHES, type SearchData } from '../contract/search.ts';
import { asCallId, asCustomerId } from '../domain/ids.ts';
import { matchNames } from '../operator/search.ts';
import { CONSOLE_PATH, callPath, customerPath, modelPath, organizationPath, planPath } from './context.ts';
import { ORGANIZATION_GROUPS, SERVICE_GROUP } from './navigation.tsx';
import { mayOpen } from './page-roles.tsx';

interface Hit {
  href: string;
  text: string;
  /** A detail that distinguishes things with the same name. */
  sub: string;
}

export interface HitGroup {
  title: string;
  hits: readonly Hit[];
}

type Matched = Hit & Pick<FoundItem, 'match'>;

const TITLES: Readonly<Record<FoundKind, string>> = {
  CUSTOMER: 'Customers',
  CALL: 'Calls',
  PLAN: 'Plans',
  KEY: 'API keys',
  MODEL: 'Models',
  ORGANIZATION: 'Organizations',
};

/** Groups of results; the group with the best match is first. */
export function groupHits({ items, searched }: SearchData, pages: readonly Matched[]): HitGroup[] {
  // If several organizations were searched, each result names its own.
  const isSeveral = searched.organizations > 1;
  const things = [...Map.groupBy(items, ({ kind }) => kind)].map(([kind, found]) => ({
    title: TITLES[kind],
    hits: found.map((item) => toHit(item, isSeveral)),
  }));
  return [...things, { title: 'Pages', hits: pages }]
    .filter(({ hits }) => hits.length > 0)
    .sort((a, b) => matchRank(a.hits[0]) - matchRank(b.hits[0]));
}

const matchRank = (hit: Matched | undefined) => MATCHES.indexOf(hit?.match ?? 'PART');

function toHit(item: FoundItem, isSeveral: boolean): Matched {
  const { kind, id, name, detail, state, organizationName, match } = item;
  const what = kind === 'CALL' ? 'Call' : kind === 'KEY' || name === null ? null : id;
  const of = isSeveral && kind !== 'ORGANIZATION' ? organizationName : null;
  const sub = [what, detail, state?.toLowerCase(), of].filter(Boolean).join(' · ');
  return { href: hitHref(item), text: name ?? id, sub, match };
}

function hitHref({ kind, id, organizationId }: FoundItem): string {
  if (organizationId === null) return modelPath(id);
  switch (kind) {
    case 'CUSTOMER':
      return customerPath({ organizationId, customerId: asCustomerId(id) });
    case 'CALL':
      return callPath(organizationId, asCallId(id));
    case 'PLAN':
      return planPath(organizationId, id);
    case 'KEY':
      return organizationPath(organizationId, 'keys', id);
    case 'MODEL':
      return organizationPath(organizationId, 'models');
    case 'ORGANIZATION':
      return organizationPath(organizationId);
  }
}

/** The pages of the console, of the service and of one organization, whose titles match and that the role may open. */
export function pagesFound(
  organization: Pick<Organization, 'organizationId'> | null,
  query: string,
  role: OperatorRole,
): Matched[] {
  const below = organization && organizationPath(organization.organizationId);
  const at = (base: string, path: string) => (path === '' ? base : `${base}/${path}`);
  const listed = [
    ...(below === null ? [] : ORGANIZATION_GROUPS.map((one) => ({ ...one, base: below }))),
    { ...SERVICE_GROUP, base: CONSOLE_PATH },
  ];
  const candidates = listed.flatMap(({ title: group, pages, base }) =>
    pages.map(({ path, title }): Hit => ({ href: at(base, path), text: title, sub: group })),
  );
  const forms = [
    ...(below === null
      ? []
      : [
          ['New plan', `${below}/new-plan`],
          ['New API key', `${below}/keys/new`],
          ['New webhook', `${below}/new-webhook`],
          ['Samples', `${below}/samples`],
        ]),
    ['New organization', `${CONSOLE_PATH}/organizations/new`],
    ['Publish a catalog', `${CONSOLE_PATH}/catalog/publish`],
  ].map(([text = '', href = '']): Hit => ({ href, text, sub: '' }));
  return [...candidates, ...forms]
    .filter(({ href }) => mayOpen(role, href))
    .flatMap((hit) => {
      const match = matchNames(query, [hit.text]);
      return match === null ? [] : [{ ...hit, match }];
    })
    .sort((a, b) => matchRank(a) - matchRank(b))
    .slice(0, FOUND_MAX);
}
