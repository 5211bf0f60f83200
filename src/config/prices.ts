/**
 * Prices in D1: the organizations' own, and every price that was ever in force, which never changes.
 */

import { and, asc, desc, eq, ne } from 'drizzle-orm';
import type { PriceSnapshot } from '../catalog/prices.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { configDatabase, type Statement } from './database.ts';
import { organizationPrices, pricingSnapshots } from './schema/index.ts';

/** The most own prices of one organization. */
export const PRICES_MAX = 1_000;
/** The most recorded prices of one model that a list shows. */
const SNAPSHOTS_MAX = 200;
/** The provider of own prices in their snapshots. */
const OWN = 'organization';

export type OwnPriceRow = Omit<typeof organizationPrices.$inferSelect, 'organizationId'>;
export type PriceSnapshotRow = typeof pricingSnapshots.$inferSelect;

const COLUMNS = {
  modelKey: organizationPrices.modelKey,
  effectiveFromMs: organizationPrices.effectiveFromMs,
  snapshotId: organizationPrices.snapshotId,
  rates: organizationPrices.rates,
  updatedAtMs: organizationPrices.updatedAtMs,
};

const of = (organizationId: OrganizationId) => eq(organizationPrices.organizationId, organizationId);

/** By model; the price of each that came into force last is first. */
export function listOwnPrices(env: Env, organizationId: OrganizationId): Promise<OwnPriceRow[]> {
  return configDatabase(env)
    .select(COLUMNS)
    .from(organizationPrices)
    .where(of(organizationId))
    .orderBy(asc(organizationPrices.modelKey), desc(organizationPrices.effectiveFromMs))
    .limit(PRICES_MAX);
}

/** The prices of one model; the one that came into force last is first. */
export function findOwnPrices(env: Env, organizationId: OrganizationId, modelKey: string): Promise<OwnPriceRow[]> {
  return configDatabase(env)
    .select(COLUMNS)
    .from(organizationPrices)
    .where(and(of(organizationId), eq(organizationPrices.modelKey, modelKey)))
    .orderBy(desc(organizationPrices.effectiveFromMs))
    .limit(PRICES_MAX);
}

export function countOwnPrices(env: Env, organizationId: OrganizationId): Promise<number> {
  return configDatabase(env).$count(organizationPrices, of(organizationId));
}

/** Removes the prices of a model, or the one that is in force from a given time. Their snapshots stay. */
export function deleteOwnPrices(
  env: Env,
  organizationId: OrganizationId,
  modelKey: string,
  effectiveFromMs: number | undefined,
): Statement {
  return configDatabase(env)
    .delete(organizationPrices)
    .where(
      and(
        of(organizationId),
        eq(organizationPrices.modelKey, modelKey),
        effectiveFromMs === undefined ? undefined : eq(organizationPrices.effectiveFromMs, effectiveFromMs),
      ),
    );
}

/** Sets an own price, and records its snapshot. */
export function saveOwnPrice(env: Env, row: typeof organizationPrices.$inferInsert): Statement[] {
  const { organizationId, modelKey, effectiveFromMs, snapshotId, rates, updatedAtMs } = row;
  const effectiveFrom = effectiveFromMs === 0 ? null : new Date(effectiveFromMs).toISOString();
  const snapshot = {
    ...{ snapshotId, provider: OWN, modelKey, effectiveFrom, rates },
    ...{ source: `price of organization ${organizationId}`, catalogVersion: OWN, recordedAtMs: updatedAtMs },
  };
  return [
    configDatabase(env).insert(pricingSnapshots).values(snapshot).onConflictDoNothing(),
    configDatabase(env)
      .insert(organizationPrices)
      .values(row)
      .onConflictDoUpdate({
        target: [organizationPrices.organizationId, organizationPrices.modelKey, organizationPrices.effectiveFromMs],
        set: { snapshotId, rates, updatedAtMs },
      }),
  ];
}

/** Records prices that D1 does not have yet. */
export async function recordPriceSnapshots(
  env: Env,
  snapshots: readonly PriceSnapshot[],
  nowMs: number,
): Promise<void> {
  await configDatabase(env)
    .$client.prepare(
      `INSERT INTO pricing_snapshots (snapshot_id, provider, model_key, effective_from, rates, source, catalog_version, recorded_at_ms)
       SELECT value ->> 'snapshotId', value ->> 'provider', value ->> 'modelKey', value ->> 'effectiveFrom', value -> 'rates',
         value ->> 'source', value ->> 'catalogVersion', ?2
       FROM json_each(?1) WHERE true ON CONFLICT (snapshot_id) DO NOTHING`,
    )
    .bind(JSON.stringify(snapshots), nowMs)
    .run();
}

/** Recorded prices of a model in the order in which they came into force, without those of organizations. */
export async function listPriceSnapshots(env: Env, modelKey: string): Promise<PriceSnapshotRow[]> {
  const rows = await configDatabase(env)
    .select()
    .from(pricingSnapshots)
    .where(and(eq(pricingSnapshots.modelKey, modelKey), ne(pricingSnapshots.provider, OWN)))
    .orderBy(asc(pricingSnapshots.recordedAtMs))
    .limit(SNAPSHOTS_MAX);
  return rows.sort((a, b) => inForceFromMs(a) - inForceFromMs(b));
}

/** The time at which a recorded price came into force: its day, or else the time of the record. */
export function inForceFromMs({ effectiveFrom, recordedAtMs }: PriceSnapshotRow): number {
  return effectiveFrom === null ? recordedAtMs : Date.parse(`${effectiveFrom}T00:00:00Z`);
}
