/**
 * The search over customers, calls, plans, keys, models and organizations. Each kind has few results, the best matches
 * first. A key is searched and shown only by the parts that its list shows.
 *
 * Without an organization, the first organizations are searched.
 */

import { type Catalog, modelKeyOf } from '../catalog/model.ts';
import { currentCatalog } from '../config/catalog.ts';
import { findOrganizationNames, findOrganizations } from '../config/organizations.ts';
import { listOwnPrices } from '../config/prices.ts';
import { operations } from '../contract/operations.ts';
import type { Key, Organization } from '../contract/operator.ts';
import {
  FOUND_KINDS,
  FOUND_MAX,
  type FoundItem,
  type FoundKind,
  MATCHES,
  SEARCHED_ORGANIZATIONS_MAX,
} from '../contract/search.ts';
import { asCallId, type OrganizationId } from '../domain/ids.ts';
import { mappedModels } from '../domain/model-mappings.ts';
import type { Env } from '../env.ts';
import { findOldCall } from '../history/calls.ts';
import { ask, customerByCall } from '../objects/addresses.ts';
import { listCustomers } from '../readings/customer-list/list-customers.ts';
import { listKeyPage } from './keys.ts';
import { type Requester, read } from './operation.ts';
import { findOrganization, noOrganization, presentOrganization } from './organization.ts';
import { listPlanPage } from './plans.ts';

/** The most organizations that are searched by their names. */
const ORGANIZATION_NAMES_MAX = 200;
/** The most plans and keys of an organization that are searched. */
const PLANS_MAX = 200;
const KEYS_MAX = 200;
/** A shorter text is not the id of a call. */
const CALL_ID_LENGTH_MIN = 6;

type Match = FoundItem['match'];

/** A possible result, and the names that find it. */
type Candidate = Pick<FoundItem, 'kind' | 'id' | 'name'> &
  Partial<Pick<FoundItem, 'detail' | 'state'>> & { names: readonly (string | null | undefined)[] };

export const searchEverything = read(
  operations.searchEverything,
  async ({ env, defer, query: { q, organizationId } }) => {
    const own = organizationId === undefined ? null : await findOrganization(env, organizationId);
    if (organizationId !== undefined && !own) return noOrganization();
    const rows = own ? [] : await findOrganizations(env, null, SEARCHED_ORGANIZATIONS_MAX);
    const organizations = own ? [own] : rows.slice(0, SEARCHED_ORGANIZATIONS_MAX).map(presentOrganization);
    const [ofEach, { catalog }, names] = await Promise.all([
      Promise.all(organizations.map((organization) => searchOrganization({ env, defer }, organization, q))),
      currentCatalog(env, defer),
      findOrganizationNames(env, ORGANIZATION_NAMES_MAX),
    ]);
    const found = [...catalogModels(catalog, q), ...ofEach.flat(), ...organizationsNamed(names, q)];
    return {
      items: bestItems(found),
      searched: { organizations: organizations.length, isMore: rows.length > organizations.length },
    };
  },
);

/** The best results of each kind; kinds that match equally keep their order, and so do items. */
function bestItems(found: readonly FoundItem[]): FoundItem[] {
  const place = ({ match }: FoundItem) => MATCHES.indexOf(match);
  const ofKind = (kind: FoundKind) =>
    found
      .filter((item) => item.kind === kind)
      .sort((a, b) => place(a) - place(b))
      .slice(0, FOUND_MAX);
  return FOUND_KINDS.map(ofKind)
    .filter(([best]) => best !== undefined)
    .sort(([a], [b]) => place(a as FoundItem) - place(b as FoundItem))
    .flat();
}

async function searchOrganization(
  { env, defer }: Pick<Requester, 'env' | 'defer'>,
  organization: Organization,
  query: string,
): Promise<FoundItem[]> {
  const { organizationId } = organization;
  const [customers, isCall, plans, keys, prices] = await Promise.all([
    listCustomers(
      { env, organization: { organizationId, retention: organization }, defer },
      { search: query, sort: 'customerId' },
      { limit: FOUND_MAX, after: null },
    ),
    hasCall(env, organizationId, query),
    listPlanPage(env, organizationId, { limit: PLANS_MAX, after: null }),
    listKeyPage(env, organizationId, { limit: KEYS_MAX, after: null }),
    listOwnPrices(env, organizationId),
  ]);
  const found = customers.ok
    ? customers.data.items.map(({ customerId: id, customerFriendlyName: name, customerEmail: detail }) => {
        const match = matchNames(query, [id, name, detail]) ?? 'PART';
        return present({ kind: 'CUSTOMER', id, name, detail }, match, organization);
      })
    : [];
  return [
    ...found,
    ...(isCall ? [present({ kind: 'CALL', id: query, name: null }, 'WHOLE', organization)] : []),
    ...matching(
      query,
      [
        ...plans.items.map(
          ({ planId, plan: { name }, archivedAt }): Candidate => ({
            ...{ kind: 'PLAN', id: planId, name, names: [planId, name] },
            state: archivedAt ? 'ARCHIVED' : null,
          }),
        ),
        ...keys.items.map((key) => keyCandidate(key, query)),
        ...ownModels(
          organization,
          prices.map(({ modelKey }) => modelKey),
        ),
      ],
      organization,
    ),
  ];
}

/** Whether D1 has the call, or it is among the open ones. */
async function hasCall(env: Env, organizationId: OrganizationId, query: string): Promise<boolean> {
  if (query.length < CALL_ID_LENGTH_MIN || /\s/.test(query)) return false;
  const callId = asCallId(query);
  if (await findOldCall(env, organizationId, callId)) return true;
  const address = await customerByCall(env, organizationId, callId);
  return address !== null && (await ask(address, (customer) => customer.readCall(organizationId, callId))) !== null;
}

/** A key is found by name and id, and by the beginning and end that the list shows, also if the whole key is pasted. */
function keyCandidate({ keyId, name, prefix, hint, revokedAt }: Key, query: string): Candidate {
  const isPasted = query.startsWith(prefix) && query.endsWith(hint) && query.length > prefix.length;
  const detail = `${prefix}…${hint}`;
  return {
    ...{ kind: 'KEY', id: keyId, name, detail },
    state: revokedAt === null ? null : 'REVOKED',
    names: [name, keyId, detail, hint, ...(isPasted ? [query] : [])],
  };
}

function catalogModels({ models }: Catalog, query: string): FoundItem[] {
  const candidates = models.map((model): Candidate => {
    const id = modelKeyOf(model);
    const { displayName: name, aliases } = model;
    return { kind: 'MODEL', id, name, names: [id, model.model, name, ...aliases] };
  });
  return matching(query, candidates, null);
}

/** The models that the organization prices itself, and the models in its mappings. */
function ownModels({ models }: Organization, priced: readonly string[]): Candidate[] {
  const own = (id: string, detail: string): Candidate => ({ kind: 'MODEL', id, name: null, detail, names: [id] });
  return [
    ...[...new Set(priced)].map((key) => own(key, 'own price')),
    ...(models ? [...new Set(mappedModels(models))].map((name) => own(name, 'in a mapping')) : []),
    ...Object.keys(models?.aliases ?? {}).map((name) => own(name, 'alias')),
  ];
}

function organizationsNamed(names: readonly Owner[], query: string): FoundItem[] {
  return names.flatMap((owner) => {
    const { organizationId: id, name } = owner;
    return matching(query, [{ kind: 'ORGANIZATION', id, name, names: [id, name] }], owner);
  });
}

type Owner = Pick<Organization, 'organizationId' | 'name'>;

function matching(query: string, candidates: readonly Candidate[], owner: Owner | null): FoundItem[] {
  return candidates.flatMap((candidate) => {
    const match = matchNames(query, candidate.names);
    return match === null ? [] : [present(candidate, match, owner)];
  });
}

function present(
  { kind, id, name, detail = null, state = null }: Omit<Candidate, 'names'>,
  match: Match,
  owner: Owner | null,
): FoundItem {
  const whose = { organizationId: owner?.organizationId ?? null, organizationName: owner?.name ?? null };
  return { kind, id, name, detail, state, ...whose, match };
}

/** How one of the names matches; `null` if none does. */
export function matchNames(query: string, names: readonly (string | null | undefined)[]): Match | null {
  const sought = query.toLowerCase();
  const lower = names.flatMap((name) => (name ? [name.toLowerCase()] : []));
  if (lower.includes(sought)) return 'WHOLE';
  if (lower.some((name) => name.startsWith(sought))) return 'BEGINNING';
  return lower.some((name) => name.includes(sought)) ? 'PART' : null;
}
