/**
 * Ids that say nothing by themselves are followed by what they name: `pro:v2 (Professional)`.
 *
 * A command says what its ids name. One more read for each kind has the names; an id without one there stays as it is.
 */
import { planIdOf } from '../domain/plan.ts';
import { callOperation, type Data, type OperationInput } from './operator-client.ts';
import type { Target } from './operator-target.ts';
import { creditName } from './operator-views.ts';

/** The names on one page of a list; ids on later pages stay without one. */
const NAMES_MAX = '200';
/** The organizations whose keys are read for a list of several organizations; the first in it. */
const KEY_ORGANIZATIONS_MAX = 20;

/** What the command asked for, and its answer. */
interface Asked {
  /** Parameters of the path. */
  params: Readonly<Record<string, string>>;
  /** The organization that the command names; `null` for a list of all organizations. */
  org: string | null;
  answer: unknown;
}

type Named = readonly [id: string, name: string];
type Read = (target: Target, asked: Asked) => Promise<Named[]>;

/** The fields that hold such an id, and how the names are read. */
const KINDS = {
  organizations: {
    fields: ['organizationId', 'subject'],
    async read(target) {
      const { items } = (await callOperation(target, 'listOrganizations', { query: { limit: NAMES_MAX } })).data;
      return items.map(({ organizationId, name }) => [organizationId, name]);
    },
  },
  plans: {
    fields: ['planId', 'usagePlanVersionId', 'defaultPlanId'],
    async read(target, { org }) {
      if (org === null) return [];
      const input = { params: { org }, query: { limit: NAMES_MAX } };
      const { items } = (await callOperation(target, 'listPlans', input)).data;
      return items.map(({ planId, plan }) => [planId, plan.name]);
    },
  },
  keys: {
    fields: ['actor', 'keyId'],
    async read(target, { org, answer }) {
      const organizations = org === null ? organizationsWithKeys(answer as Data<'listEvents'>) : [org];
      const keys = organizations.map(async (organizationId): Promise<Named[]> => {
        const input = { params: { org: organizationId }, query: { limit: NAMES_MAX } };
        const { items } = (await callOperation(target, 'listKeys', input)).data;
        return items.map(({ keyId, name }) => [keyId, name]);
      });
      return (await Promise.all(keys)).flat();
    },
  },
  credits: {
    fields: ['creditId'],
    async read(target, { params }) {
      const { credits } = (await callOperation(target, 'readCustomer', { params })).data;
      return credits.map((credit) => [credit.creditId, creditName(credit)]);
    },
  },
  newestCall: {
    fields: ['callId'],
    async read(target, { params, answer }) {
      const { lastCall } = answer as Data<'readOrganizationSetup'>;
      if (lastCall === null) return [];
      const input = { params: { ...params, callId: lastCall.callId } };
      const { customerId, modelUsed } = (await callOperation(target, 'readOrganizationCall', input)).data;
      return [[lastCall.callId, [modelUsed, `customer ${customerId}`].filter(Boolean).join(', ')]];
    },
  },
} satisfies Record<string, { fields: string[]; read: Read }>;

export type NamedKind = keyof typeof KINDS;

/** The answer with names behind its ids, for people to read. */
export async function withNames(
  kinds: readonly NamedKind[],
  target: Target,
  { params, query }: OperationInput,
  answer: unknown,
): Promise<unknown> {
  const org = params?.org ?? query?.organizationId ?? null;
  let named = answer;
  for (const kind of kinds) {
    const { fields, read }: { fields: string[]; read: Read } = KINDS[kind];
    // The answer counts also if the names cannot be read.
    const names = await read(target, { params: params ?? {}, org, answer }).catch(() => []);
    named = addNames(named, new Set(fields), new Map(names));
  }
  return named;
}

/** The organizations whose keys are actors in a list of events. */
function organizationsWithKeys({ items }: Data<'listEvents'>): string[] {
  const found = items.flatMap(({ actor, organizationId }) =>
    actor.startsWith('key_') && organizationId !== null ? [organizationId] : [],
  );
  return [...new Set(found)].slice(0, KEY_ORGANIZATIONS_MAX);
}

function addNames(value: unknown, fields: ReadonlySet<string>, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => addNames(item, fields, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, member]) => {
      if (typeof member !== 'string' || !fields.has(field)) return [field, addNames(member, fields, names)];
      const name = names.get(member) ?? names.get(planIdOf(member));
      return [field, name === undefined ? member : `${member} (${name})`];
    }),
  );
}
