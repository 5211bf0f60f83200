/**
 * API keys in D1, for operators' lists and changes. `credentials.ts` finds the key of a request.
 */

import { and, desc, eq, inArray, sql } from 'drizzle-orm';
import type { KeyId, OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { configDatabase, type Statement } from './database.ts';
import { apiKeys } from './schema/index.ts';

export type KeyRow = typeof apiKeys.$inferSelect;

export async function findKey(env: Env, organizationId: OrganizationId, keyId: KeyId): Promise<KeyRow | null> {
  const [row] = await configDatabase(env).select().from(apiKeys).where(isKey(organizationId, keyId));
  return row ?? null;
}

/** Keys, the newest first, after the one with that id; one more than requested shows whether more exist. */
export function findKeys(
  env: Env,
  organizationId: OrganizationId,
  after: string | null,
  limit: number,
): Promise<KeyRow[]> {
  const { createdAtMs, keyId } = apiKeys;
  const isAfter =
    after === null
      ? undefined
      : sql`(${createdAtMs}, ${keyId}) < (SELECT last.created_at_ms, last.key_id FROM api_keys last WHERE last.key_id = ${after})`;
  return configDatabase(env)
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.organizationId, organizationId), isAfter))
    .orderBy(desc(createdAtMs), desc(keyId))
    .limit(limit + 1);
}

export function insertKey(env: Env, row: KeyRow): Statement {
  return configDatabase(env).insert(apiKeys).values(row);
}

export function updateKeyRow(
  env: Env,
  { organizationId, keyId }: KeyRow,
  change: Partial<Pick<KeyRow, 'name' | 'scopes' | 'models' | 'features' | 'expiresAtMs' | 'revokedAtMs'>>,
): Statement {
  return configDatabase(env).update(apiKeys).set(change).where(isKey(organizationId, keyId));
}

const isKey = (organizationId: OrganizationId, keyId: KeyId) =>
  and(eq(apiKeys.organizationId, organizationId), eq(apiKeys.keyId, keyId));

/** The names of the organization's keys with these ids. */
export async function findKeyNames(
  env: Env,
  organizationId: OrganizationId,
  keyIds: readonly KeyId[],
): Promise<Map<string, string>> {
  if (keyIds.length === 0) return new Map();
  const rows = await configDatabase(env)
    .select({ keyId: apiKeys.keyId, name: apiKeys.name })
    .from(apiKeys)
    .where(and(eq(apiKeys.organizationId, organizationId), inArray(apiKeys.keyId, [...keyIds])));
  return new Map(rows.map(({ keyId, name }) => [keyId, name]));
}
