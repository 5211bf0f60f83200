/**
 * Ids that say nothing by themselves are followed by what they name: `pro:v2 (Professional)`.
 *
 * A command says what its ids name. One more read for each kind has the names; an id without one there stays as it is.
 */
import { planIdOf } from '../domain/plan.ts';
import { callOperation, type OperationInput } from './operator-client.ts';
import type { Target } from './operator-target.ts';

/** The names on one page of a list; ids on later pages stay without one. */
const NAMES_MAX = '200';

type Read = (target: Target, input: OperationInput) => Promise<(readonly [id: string, name: string])[]>;

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
    async read(target, input) {
      const { items } = (await callOperation(target, 'listPlans', input)).data;
      return items.map(({ planId, plan }) => [planId, plan.name]);
    },
  },
  keys: {
    fields: ['actor'],
    async read(target, input) {
      const { items } = (await callOperation(target, 'listKeys', input)).data;
      return items.map(({ keyId, name }) => [keyId, name]);
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
  const org = params?.org ?? query?.organizationId;
  let named = answer;
  for (const kind of kinds) {
    if (org === undefined && kind !== 'organizations') continue;
    const { fields, read }: { fields: string[]; read: Read } = KINDS[kind];
    // The answer counts also if the names cannot be read.
    const names = await read(target, { params: { org: org ?? '' }, query: { limit: NAMES_MAX } }).catch(() => []);
    named = addNames(named, new Set(fields), new Map(names));
  }
  return named;
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
