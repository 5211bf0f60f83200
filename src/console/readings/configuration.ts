/**
 * What an organization is configured with, as far as it is no secret: its own prices and its vendors. And the prices
 * that were ever recorded for a model.
 */
import { asc, eq } from 'drizzle-orm';
import type { SetPriceRequest } from '../../contract/prices.ts';
import { DEFAULT_SAMPLING_POLICY } from '../../domain/sampling.ts';
import type { Env } from '../../env.ts';
import { database } from '../../storage/database.ts';
import { type VersionedPolicy, versionedPolicy } from '../../storage/sampling.ts';
import { organizationPrices, organizations, pricingSnapshots, vendorCredentials } from '../../storage/schema.ts';

/** As many as are in force. */
const PRICES_MAX = 1_000;
const VENDORS_MAX = 100;
/** Recorded prices of one model that are shown. */
const SNAPSHOTS_MAX = 200;

export interface OwnPrice {
  modelKey: string;
  rates: SetPriceRequest;
  updatedAtMs: number;
}

export function listOwnPrices(env: Env, organizationId: string): Promise<OwnPrice[]> {
  const { modelKey, rates, updatedAtMs } = organizationPrices;
  return database(env.DB)
    .select({ modelKey, rates, updatedAtMs })
    .from(organizationPrices)
    .where(eq(organizationPrices.organizationId, organizationId))
    .orderBy(asc(modelKey))
    .limit(PRICES_MAX);
}

export interface VendorRow {
  provider: string;
  baseUrl: string;
  keyHint: string;
  updatedAtMs: number;
}

/** Without their keys. */
export function listVendors(env: Env, organizationId: string): Promise<VendorRow[]> {
  const { provider, baseUrl, keyHint, updatedAtMs } = vendorCredentials;
  return database(env.DB)
    .select({ provider, baseUrl, keyHint, updatedAtMs })
    .from(vendorCredentials)
    .where(eq(vendorCredentials.organizationId, organizationId))
    .orderBy(asc(provider))
    .limit(VENDORS_MAX);
}

/** The sampling policy in force, with its version. */
export async function readSamplingPolicy(env: Env, organizationId: string): Promise<VersionedPolicy> {
  const [row] = await database(env.DB)
    .select({ sampling: organizations.sampling })
    .from(organizations)
    .where(eq(organizations.organizationId, organizationId));
  return versionedPolicy(row?.sampling ?? DEFAULT_SAMPLING_POLICY);
}

export type PriceSnapshotRow = typeof pricingSnapshots.$inferSelect;

/**
 * Recorded prices of a model in the order in which they came into force; organizations' own ones are not among them.
 */
export async function listPriceSnapshots(env: Env, modelKey: string): Promise<PriceSnapshotRow[]> {
  const rows = await database(env.DB)
    .select()
    .from(pricingSnapshots)
    .where(eq(pricingSnapshots.modelKey, modelKey))
    .orderBy(asc(pricingSnapshots.recordedAtMs))
    .limit(SNAPSHOTS_MAX);
  return rows.filter(({ provider }) => provider !== 'organization').sort((a, b) => beginOf(a) - beginOf(b));
}

/** When a recorded price came into force: its day, else when it was recorded. */
export function beginOf({ effectiveFrom, recordedAtMs }: PriceSnapshotRow): number {
  return effectiveFrom === null ? recordedAtMs : Date.parse(`${effectiveFrom}T00:00:00Z`);
}
