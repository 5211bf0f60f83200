/**
 * The search over everything: customers, calls, plans, keys, models, organizations, pages of the console. Each kind is a
 * group of few results, exact matches first. Of a key only what its list shows is searched and shown.
 *
 * Within an organization its own things are searched; elsewhere those of the first organizations.
 */

import { type Catalog, modelKeyOf } from '../catalog/model.ts';
import type { Key, Organization } from '../contract/operator.ts';
import type { ListScope } from '../customer-list/filters.ts';
import { listCustomers } from '../customer-list/list-customers.ts';
import { asCallId, type OrganizationId } from '../domain/ids.ts';
import { mappedModels } from '../domain/model-mappings.ts';
import type { Env } from '../env.ts';
import { ask, customerByCall } from '../objects/addresses.ts';
import { keysOf } from '../operator/keys.ts';
import { organizationsOf } from '../operator/organizations.ts';
import { plansOf } from '../operator/plans.ts';
import { findOldCall } from '../storage/calls.ts';
import { findOrganizationNames } from '../storage/organizations.ts';
import { listOwnPrices } from '../storage/prices.ts';
import { CONSOLE_PATH, callPath, customerPath, organizationPath, planPath } from './context.ts';
import { ORGANIZATION_GROUPS, SERVICE_GROUP } from './navigation.tsx';
import { modelPath } from './pages/catalog.tsx';

/** Results of a group. */
const HITS_MAX = 6;
/** Organizations whose customers, calls, plans, keys and own models are searched from a page of the service. */
export const ORGANIZATIONS_SEARCHED_MAX = 10;
/** Organizations that are found by their names. */
const ORGANIZATION_NAMES_MAX = 200;
/** Plans and keys of an organization that are searched. */
const PLANS_MAX = 200;
const KEYS_MAX = 200;
/** What is shorter is no id of a call. */
const CALL_ID_LENGTH_MIN = 6;

export interface Hit {
  href: string;
  text: string;
  /** What tells it from others of its name. */
  sub: string;
}

export interface HitGroup {
  title: string;
  hits: Hit[];
}

export interface Found {
  groups: HitGroup[];
  /** There are more organizations than were searched. */
  isPartial: boolean;
}

interface Candidate extends Hit {
  /** What it is found by. */
  names: readonly (string | null | undefined)[];
}

/** How a result matches: the whole of a name, its beginning, or a part of it. */
type Rank = 0 | 1 | 2;
type Ranked = Hit & { rank: Rank };

export async function searchConsole(
  { env, defer }: Pick<ListScope, 'env' | 'defer'>,
  catalog: Catalog,
  own: Organization | null,
  query: string,
): Promise<Found> {
  if (query === '') return { groups: [group('Pages', pages(own, ''))], isPartial: false };
  const { organizations, isPartial } = own ? { organizations: [own], isPartial: false } : await firstOrganizations(env);
  const isSeveral = organizations.length > 1;
  const [ofEach, names] = await Promise.all([
    Promise.all(
      organizations.map((organization) => searchOrganization({ env, defer }, organization, query, isSeveral)),
    ),
    findOrganizationNames(env, ORGANIZATION_NAMES_MAX),
  ]);
  const all = (kind: keyof OrganizationHits) => ofEach.flatMap((hits) => hits[kind]);
  const groups = [
    group('Customers', all('customers')),
    group('Calls', all('calls')),
    group('Plans', all('plans')),
    group('API keys', all('keys')),
    group('Models', [...catalogModels(catalog, query), ...all('models')]),
    group('Organizations', organizationsNamed(names, query)),
    group('Pages', pages(own ?? (isSeveral ? null : (organizations[0] ?? null)), query)),
  ];
  const found = groups.filter(({ hits }) => hits.length > 0).sort((a, b) => a.best - b.best);
  return { groups: found.map(({ title, hits }) => ({ title, hits })), isPartial };
}

async function firstOrganizations(env: Env): Promise<{ organizations: Organization[]; isPartial: boolean }> {
  const { items, nextCursor } = await organizationsOf(env, { limit: ORGANIZATIONS_SEARCHED_MAX, after: null });
  return { organizations: items, isPartial: nextCursor !== null };
}

interface OrganizationHits {
  customers: Ranked[];
  calls: Ranked[];
  plans: Ranked[];
  keys: Ranked[];
  models: Ranked[];
}

async function searchOrganization(
  { env, defer }: Pick<ListScope, 'env' | 'defer'>,
  organization: Organization,
  query: string,
  isSeveral: boolean,
): Promise<OrganizationHits> {
  const { organizationId } = organization;
  // Where several organizations are searched, each result says whose it is.
  const of = isSeveral ? organization.name : '';
  const [customers, isCall, plans, keys, prices] = await Promise.all([
    listCustomers(
      { env, organization: { organizationId, retention: organization }, defer },
      { search: query, sort: 'customerId' },
      { limit: HITS_MAX, after: null },
    ),
    hasCall(env, organizationId, query),
    plansOf(env, organizationId, { limit: PLANS_MAX, after: null }),
    keysOf(env, organizationId, { limit: KEYS_MAX, after: null }),
    listOwnPrices(env, organizationId),
  ]);
  return {
    customers: customers.ok
      ? customers.data.items.map(({ customerId, customerFriendlyName: name, customerEmail }) => {
          const names = [customerId, name, customerEmail];
          const sub = described(name === null ? null : customerId, customerEmail, of);
          const href = customerPath({ organizationId, customerId });
          return { href, text: name ?? customerId, sub, rank: rankOf(query, names) ?? 2 };
        })
      : [],
    calls: isCall
      ? [{ href: callPath(organizationId, asCallId(query)), text: query, sub: described('Call', of), rank: 0 }]
      : [],
    plans: ranked(
      query,
      plans.items.map(({ planId, plan, archivedAt }) => ({
        href: planPath(organizationId, planId),
        text: plan.name,
        sub: described(planId, archivedAt ? 'archived' : null, of),
        names: [planId, plan.name],
      })),
    ),
    keys: keysFound(organizationId, keys.items, query, of),
    models: ownModels(
      organization,
      prices.map(({ modelKey }) => modelKey),
      query,
      of,
    ),
  };
}

/** Among those that D1 has, and those that are open. */
async function hasCall(env: Env, organizationId: OrganizationId, query: string): Promise<boolean> {
  if (query.length < CALL_ID_LENGTH_MIN || /\s/.test(query)) return false;
  const callId = asCallId(query);
  if (await findOldCall(env, organizationId, callId)) return true;
  const address = await customerByCall(env, organizationId, callId);
  return address !== null && (await ask(address, (customer) => customer.readCall(organizationId, callId))) !== null;
}

/** By name and id, and by the beginning and the end that the list shows, also of a key that is pasted as a whole. */
function keysFound(organizationId: OrganizationId, keys: readonly Key[], query: string, of: string): Ranked[] {
  return ranked(
    query,
    keys.map(({ keyId, name, prefix, hint, revokedAt }) => ({
      href: organizationPath(organizationId, 'keys', keyId),
      text: name,
      sub: described(`${prefix}…${hint}`, revokedAt === null ? null : 'revoked', of),
      names: [
        name,
        keyId,
        `${prefix}…${hint}`,
        hint,
        ...(query.startsWith(prefix) && query.endsWith(hint) && query.length > prefix.length ? [query] : []),
      ],
    })),
  );
}

function catalogModels({ models }: Catalog, query: string): Ranked[] {
  return ranked(
    query,
    models.map((model) => ({
      href: modelPath(modelKeyOf(model)),
      text: model.displayName,
      sub: modelKeyOf(model),
      names: [modelKeyOf(model), model.model, model.displayName, ...model.aliases],
    })),
  );
}

/** What the organization has a price of its own for, and what its mappings name. */
function ownModels({ organizationId, models }: Organization, priced: string[], query: string, of: string): Ranked[] {
  const own = (text: string, what: string) => ({
    href: organizationPath(organizationId, 'models'),
    text,
    sub: described(what, of),
    names: [text],
  });
  return ranked(query, [
    ...[...new Set(priced)].map((key) => own(key, 'own price')),
    ...(models ? [...new Set(mappedModels(models))].map((name) => own(name, 'in a mapping')) : []),
    ...Object.keys(models?.aliases ?? {}).map((name) => own(name, 'alias')),
  ]);
}

function organizationsNamed(
  names: readonly { organizationId: OrganizationId; name: string }[],
  query: string,
): Ranked[] {
  return ranked(
    query,
    names.map(({ organizationId, name }) => ({
      href: organizationPath(organizationId),
      text: name,
      sub: organizationId,
      names: [organizationId, name],
    })),
  );
}

function pages(organization: Organization | null, query: string): Ranked[] {
  const below = organization && organizationPath(organization.organizationId);
  const at = (base: string, path: string) => (path === '' ? base : `${base}/${path}`);
  const listed = [
    ...(below === null ? [] : ORGANIZATION_GROUPS.map((one) => ({ ...one, base: below }))),
    { ...SERVICE_GROUP, base: CONSOLE_PATH },
  ];
  const candidates = listed.flatMap(({ title: group, pages, base }) =>
    pages.map(({ path, title }) => ({ href: at(base, path), text: title, sub: group, names: [title] })),
  );
  const forms = [
    ...(below === null
      ? []
      : [
          ['New plan', `${below}/plans/new`],
          ['New API key', `${below}/keys/new`],
          ['New webhook', `${below}/new-webhook`],
          ['Samples', `${below}/samples`],
        ]),
    ['New organization', `${CONSOLE_PATH}/organizations/new`],
    ['Publish a catalog', `${CONSOLE_PATH}/catalog/publish`],
  ].map(([text = '', href = '']) => ({ href, text, sub: '', names: [text] }));
  return ranked(query, [...candidates, ...forms]);
}

function ranked(query: string, candidates: readonly Candidate[]): Ranked[] {
  return candidates.flatMap(({ names, ...hit }) => {
    const rank = rankOf(query, names);
    return rank === null ? [] : [{ ...hit, rank }];
  });
}

function rankOf(query: string, names: readonly (string | null | undefined)[]): Rank | null {
  const sought = query.toLowerCase();
  const lower = names.flatMap((name) => (name ? [name.toLowerCase()] : []));
  if (lower.includes(sought)) return 0;
  if (lower.some((name) => name.startsWith(sought))) return 1;
  return lower.some((name) => name.includes(sought)) ? 2 : null;
}

/** The best of a kind, in the order in which they came where they match alike. */
function group(title: string, hits: readonly Ranked[]): HitGroup & { best: Rank } {
  const best = hits.toSorted((a, b) => a.rank - b.rank).slice(0, HITS_MAX);
  return {
    title,
    best: best[0]?.rank ?? 2,
    hits: best.map(({ href, text, sub }) => ({ href, text, sub })),
  };
}

function described(...parts: readonly (string | null | undefined)[]): string {
  return parts.filter(Boolean).join(' · ');
}
