/**
 * The databases that have the organizations' history: how full each is, and when it will be full.
 */
import { type Answer, accept } from '../contract/errors.ts';
import type { Database, Health } from '../contract/operator.ts';
import type { Env } from '../env.ts';
import { countOrganizations, type DatabaseSizes, isNearlyFull, readDatabaseSizes } from '../storage/sizes.ts';

export async function listDatabases(env: Env): Promise<Answer<{ items: Database[] }>> {
  const nowMs = Date.now();
  const [sizes, organizations] = await Promise.all([readDatabaseSizes(env, nowMs), countOrganizations(env)]);
  const items = presentSizes(sizes).databases.map((database) => ({
    ...database,
    organizations: organizations.get(database.name) ?? 0,
  }));
  return accept('DATABASES_LISTED', { items }, nowMs);
}

/** Sizes as health shows them. */
export function presentSizes({ databases, organizations }: DatabaseSizes): NonNullable<Health['d1']> {
  return {
    bytes: databases.reduce((sum, { bytes }) => sum + bytes, 0),
    databases: databases.map(({ fullAtMs, ...database }) => ({
      ...database,
      fullAt: fullAtMs === null ? null : new Date(fullAtMs).toISOString(),
      isNearlyFull: isNearlyFull(database),
    })),
    organizations,
  };
}
