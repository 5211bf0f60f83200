/**
 * The record of the objects that organizations had vendors keep, in D1.
 */

import { and, eq, lt, sql } from 'drizzle-orm';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { configDatabase } from './database.ts';
import { vendorObjects } from './schema/index.ts';

/** Rows that one run of the housekeeping deletes. */
const DELETE_ROWS_MAX = 10_000;

/** Records that the organization has made these; the record is kept until the given time. */
export async function recordVendorObjects(
  env: Env,
  organizationId: OrganizationId,
  objectIds: readonly string[],
  forgetAtMs: number,
): Promise<void> {
  if (objectIds.length === 0) return;
  // A statement has at most 100 parameters.
  await configDatabase(env).run(
    sql`INSERT INTO vendor_objects (organization_id, object_id, forget_at_ms)
      SELECT ${organizationId}, value, ${forgetAtMs} FROM json_each(${JSON.stringify(objectIds)}) WHERE true
      ON CONFLICT DO NOTHING`,
  );
}

/** The ids among these that the organization has made. */
export async function findVendorObjects(
  env: Env,
  organizationId: OrganizationId,
  objectIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await configDatabase(env)
    .select({ objectId: vendorObjects.objectId })
    .from(vendorObjects)
    .where(
      and(
        eq(vendorObjects.organizationId, organizationId),
        sql`${vendorObjects.objectId} IN (SELECT value FROM json_each(${JSON.stringify(objectIds)}))`,
      ),
    );
  return new Set(rows.map(({ objectId }) => objectId));
}

export async function forgetVendorObject(env: Env, organizationId: OrganizationId, objectId: string): Promise<void> {
  await configDatabase(env)
    .delete(vendorObjects)
    .where(and(eq(vendorObjects.organizationId, organizationId), eq(vendorObjects.objectId, objectId)));
}

/** The next run does the rest. */
export async function deleteOldVendorObjects(env: Env, nowMs: number): Promise<void> {
  const old = sql`SELECT rowid FROM vendor_objects WHERE ${lt(vendorObjects.forgetAtMs, nowMs)} LIMIT ${DELETE_ROWS_MAX}`;
  await configDatabase(env).delete(vendorObjects).where(sql`rowid IN (${old})`);
}
