/**
 * Named operators: their roles, which admins give and revoke.
 */

import {
  countOperators,
  findOperator,
  findOperators,
  OPERATORS_MAX,
  type OperatorRow,
  removeOperator,
  saveOperator,
} from '../config/operators.ts';
import { refuse } from '../contract/errors.ts';
import { operations } from '../contract/operations.ts';
import type { NamedOperator } from '../contract/operators.ts';
import { makePage } from '../platform/page.ts';
import { change, list, read } from './operation.ts';

const noOperator = () => refuse('NOT_FOUND', 'no such operator');

export const listOperators = list(operations.listOperators, async ({ env, page: { after, limit } }) => {
  const page = makePage(await findOperators(env, after, limit), limit, ({ name }) => name);
  return { ...page, items: page.items.map(present) };
});

export const readOperator = read(operations.readOperator, async ({ env, params }) => {
  const row = await findOperator(env, params.name);
  return row ? present(row) : noOperator();
});

export const putOperator = change(operations.putOperator, {
  action: 'operator.put',
  subject: ({ params }) => params.name,
  decide: async ({ env, params: { name }, body: { role }, nowMs }) => {
    const before = await findOperator(env, name);
    if (before?.role === role) return { unchanged: present(before) };
    if (!before && (await countOperators(env)) >= OPERATORS_MAX)
      return refuse('CONFLICT', `there are at most ${OPERATORS_MAX} named operators`);
    const row = { name, role, createdAtMs: before?.createdAtMs ?? nowMs, updatedAtMs: nowMs };
    const after = present(row);
    return { before: before && present(before), after, statements: [saveOperator(env, row)], data: after };
  },
});

export const deleteOperator = change(operations.deleteOperator, {
  action: 'operator.delete',
  subject: ({ params }) => params.name,
  decide: async ({ env, params: { name } }) => {
    const before = await findOperator(env, name);
    if (!before) return noOperator();
    return { before: present(before), after: null, statements: [removeOperator(env, name)], data: { name } };
  },
});

function present({ name, role, createdAtMs, updatedAtMs }: OperatorRow): NamedOperator {
  const iso = (atMs: number) => new Date(atMs).toISOString();
  return { name, role, createdAt: iso(createdAtMs), updatedAt: iso(updatedAtMs) };
}
