/**
 * Named operators: their roles, given and taken back by admins.
 */
import { type Answer, accept, refuse } from '../contract/errors.ts';
import type { NamedOperator, PutOperatorRequest } from '../contract/operators.ts';
import type { Env } from '../env.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import {
  countOperators,
  findOperator,
  findOperators,
  OPERATORS_MAX,
  type OperatorRow,
  removeOperator,
  saveOperator,
} from '../storage/operators.ts';
import { commitChange, type OperatorRequest } from './change.ts';

const noOperator = () => refuse('NOT_FOUND', 'no such operator');

export async function listOperators(env: Env, { after, limit }: PageRequest): Promise<Answer<Page<NamedOperator>>> {
  const page = pageOf(await findOperators(env, after, limit), limit, ({ name }) => name);
  return accept('OPERATORS_LISTED', { ...page, items: page.items.map(present) }, Date.now());
}

export async function readOperator(env: Env, name: string): Promise<Answer<NamedOperator>> {
  const row = await findOperator(env, name);
  return row ? accept('OPERATOR_READ', present(row), Date.now()) : noOperator();
}

export function putOperator(
  request: OperatorRequest,
  name: string,
  { role }: PutOperatorRequest,
): Promise<Answer<NamedOperator>> {
  return commitChange<NamedOperator>(request, async (nowMs) => {
    const { env } = request;
    const before = await findOperator(env, name);
    if (before?.role === role) return accept('OPERATOR_SAVED', present(before), nowMs);
    if (!before && (await countOperators(env)) >= OPERATORS_MAX)
      return refuse('CONFLICT', `there are at most ${OPERATORS_MAX} named operators`);
    const row = { name, role, createdAtMs: before?.createdAtMs ?? nowMs, updatedAtMs: nowMs };
    return {
      action: 'operator.put',
      organizationId: null,
      subject: name,
      before: before && present(before),
      after: present(row),
      statements: [saveOperator(env, row)],
      replaces: false,
      code: 'OPERATOR_SAVED',
      data: present(row),
    };
  });
}

export function deleteOperator(request: OperatorRequest, name: string): Promise<Answer<{ name: string }>> {
  return commitChange<{ name: string }>(request, async () => {
    const { env } = request;
    const before = await findOperator(env, name);
    if (!before) return noOperator();
    return {
      action: 'operator.delete',
      organizationId: null,
      subject: name,
      before: present(before),
      after: null,
      statements: [removeOperator(env, name)],
      replaces: false,
      code: 'OPERATOR_REMOVED',
      data: { name },
    };
  });
}

function present({ name, role, createdAtMs, updatedAtMs }: OperatorRow): NamedOperator {
  const iso = (atMs: number) => new Date(atMs).toISOString();
  return { name, role, createdAt: iso(createdAtMs), updatedAt: iso(updatedAtMs) };
}
