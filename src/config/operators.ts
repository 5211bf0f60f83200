/**
 * Named operators in D1. Each request reads the role of its operator, so a change applies from the next request on.
 */
import { asc, eq, gt } from 'drizzle-orm';
import type { Env } from '../env.ts';
import { configDatabase, type Statement } from './database.ts';
import { operators } from './schema/index.ts';

export type OperatorRow = typeof operators.$inferSelect;

/** Enough for every team that runs a service, and a bound if names are added by mistake. */
export const OPERATORS_MAX = 200;

export async function findOperator(env: Env, name: string): Promise<OperatorRow | null> {
  const rows = await configDatabase(env).select().from(operators).where(eq(operators.name, name)).limit(1);
  return rows[0] ?? null;
}

/** By name. */
export function findOperators(env: Env, after: string | null, limit: number): Promise<OperatorRow[]> {
  return configDatabase(env)
    .select()
    .from(operators)
    .where(after === null ? undefined : gt(operators.name, after))
    .orderBy(asc(operators.name))
    .limit(limit + 1);
}

export function countOperators(env: Env): Promise<number> {
  return configDatabase(env).$count(operators);
}

export function saveOperator(env: Env, row: OperatorRow): Statement {
  return configDatabase(env)
    .insert(operators)
    .values(row)
    .onConflictDoUpdate({ target: operators.name, set: { role: row.role, updatedAtMs: row.updatedAtMs } });
}

export function removeOperator(env: Env, name: string): Statement {
  return configDatabase(env).delete(operators).where(eq(operators.name, name));
}
