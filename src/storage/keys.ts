/**
 * API keys in D1, as operators list and change them. How requests find their key is in `credentials.ts`.
 */
import { and, asc, eq, gt } from 'drizzle-orm';
import type { Env } from '../env.ts';
import { configDatabase, type Statement } from './database.ts';
import { apiKeys } from './schema/index.ts';

export type KeyRow = typeof apiKeys.$inferSelect;

export async function findKey(env: Env, organizationId: string, keyId: string): Promise<KeyRow | null> {
  const [row] = await configDatabase(env).select().from(apiKeys).where(isKey(organizationId, keyId));
  return row ?? null;
}

/** Keys by id; one more than asked for tells whether there are more. */
export function findKeys(env: Env, organizationId: string, after: string | null, limit: number): Promise<KeyRow[]> {
  return configDatabase(env)
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.organizationId, organizationId), after === null ? undefined : gt(apiKeys.keyId, after)))
    .orderBy(asc(apiKeys.keyId))
    .limit(limit + 1);
}

export function insertKey(env: Env, row: KeyRow): Statement {
  return configDatabase(env).insert(apiKeys).values(row);
}

export function updateKeyRow(
  env: Env,
  { organizationId, keyId }: KeyRow,
  change: Partial<Pick<KeyRow, 'name' | 'scopes' | 'revokedAtMs'>>,
): Statement {
  return configDatabase(env).update(apiKeys).set(change).where(isKey(organizationId, keyId));
}

const isKey = (organizationId: string, keyId: string) =>
  and(eq(apiKeys.organizationId, organizationId), eq(apiKeys.keyId, keyId));
