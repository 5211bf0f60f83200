/**
 * The databases with the organizations' history: how full each of them is, and when it will be full.
 */
import { operations } from '../contract/operations.ts';
import type { Health } from '../contract/operator.ts';
import { countOrganizations, type DatabaseSizes, isNearlyFull, readDatabaseSizes } from '../history/sizes.ts';
import { read } from './operation.ts';

export const listDatabases = read(operations.listDatabases, async ({ env }) => {
  const [sizes, organizations] = await Promise.all([readDatabaseSizes(env, Date.now()), countOrganizations(env)]);
  const items = presentSizes(sizes).databases.map((database) => ({
    ...database,
    organizations: organizations.get(database.name) ?? 0,
  }));
  return { items };
});

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
