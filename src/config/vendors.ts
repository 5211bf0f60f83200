/**
 * Vendors of organizations in D1: their addresses and encrypted keys.
 */

import { and, asc, eq } from 'drizzle-orm';
import type { OrganizationId } from '../domain/ids.ts';
import { kindNamed, type VendorKind } from '../domain/vendor-kind.ts';
import type { Env } from '../env.ts';
import { configDatabase, type Statement } from './database.ts';
import { vendorCredentials } from './schema/index.ts';

/** The most vendors of one organization. */
export const VENDORS_MAX = 100;

export interface VendorRow
  extends Pick<
    typeof vendorCredentials.$inferSelect,
    'provider' | 'baseUrl' | 'keyHint' | 'useReportedCost' | 'headers' | 'passthrough' | 'updatedAtMs'
  > {
  kind: VendorKind;
}

/** Without their keys. */
const COLUMNS = {
  provider: vendorCredentials.provider,
  baseUrl: vendorCredentials.baseUrl,
  kind: vendorCredentials.kind,
  keyHint: vendorCredentials.keyHint,
  useReportedCost: vendorCredentials.useReportedCost,
  headers: vendorCredentials.headers,
  passthrough: vendorCredentials.passthrough,
  updatedAtMs: vendorCredentials.updatedAtMs,
};

export async function listVendors(env: Env, organizationId: OrganizationId): Promise<VendorRow[]> {
  const rows = await configDatabase(env)
    .select(COLUMNS)
    .from(vendorCredentials)
    .where(eq(vendorCredentials.organizationId, organizationId))
    .orderBy(asc(vendorCredentials.provider))
    .limit(VENDORS_MAX);
  return rows.map(withKind);
}

export async function findVendor(
  env: Env,
  organizationId: OrganizationId,
  provider: string,
): Promise<VendorRow | null> {
  const [row] = await configDatabase(env)
    .select(COLUMNS)
    .from(vendorCredentials)
    .where(and(eq(vendorCredentials.organizationId, organizationId), eq(vendorCredentials.provider, provider)));
  return row ? withKind(row) : null;
}

/** A row that a version without kinds wrote has the kind of its name in that version. */
export function withKind<Row extends { provider: string; kind: VendorKind | null }>(
  row: Row,
): Row & { kind: VendorKind } {
  return { ...row, kind: row.kind ?? kindNamed(row.provider) };
}

export function countVendors(env: Env, organizationId: OrganizationId): Promise<number> {
  return configDatabase(env).$count(vendorCredentials, eq(vendorCredentials.organizationId, organizationId));
}

export function saveVendor(env: Env, row: typeof vendorCredentials.$inferInsert): Statement {
  const { organizationId, provider: _, ...values } = row;
  return configDatabase(env)
    .insert(vendorCredentials)
    .values(row)
    .onConflictDoUpdate({ target: [vendorCredentials.organizationId, vendorCredentials.provider], set: values });
}

export function deleteVendor(env: Env, organizationId: OrganizationId, provider: string): Statement {
  return configDatabase(env)
    .delete(vendorCredentials)
    .where(and(eq(vendorCredentials.organizationId, organizationId), eq(vendorCredentials.provider, provider)));
}
