/**
 * Prices in D1: those that organizations set themselves, and every price that was ever in force, which never changes.
 */
import { and, asc, eq, ne } from 'drizzle-orm';
import type { PriceSnapshot } from '../catalog/prices.ts';
import type { SetPriceRequest } from '../contract/prices.ts';
import type { Env } from '../env.ts';
import { configDatabase, type Statement } from './database.ts';
import { organizationPrices, pricingSnapshots } from './schema/index.ts';

/** Own prices of one organization. */
export const PRICES_MAX = 1_000;
/** Recorded prices of one model that a list shows. */
const SNAPSHOTS_MAX = 200;
/** What own prices have as the provider of their snapshot. */
const OWN = 'organization';

export type OwnPrice = Pick<typeof organizationPrices.$inferSelect, 'modelKey' | 'rates' | 'updatedAtMs'>;
export type PriceSnapshotRow = typeof pricingSnapshots.$inferSelect;

export function listOwnPrices(env: Env, organizationId: string): Promise<OwnPrice[]> {
  const { modelKey, rates, updatedAtMs } = organizationPrices;
  return configDatabase(env)
    .select({ modelKey, rates, updatedAtMs })
    .from(organizationPrices)
    .where(eq(organizationPrices.organizationId, organizationId))
    .orderBy(asc(modelKey))
    .limit(PRICES_MAX);
}

export function countOwnPrices(env: Env, organizationId: string): Promise<number> {
  return configDatabase(env).$count(organizationPrices, eq(organizationPrices.organizationId, organizationId));
}

export async function findOwnPrice(
  env: Env,
  organizationId: string,
  modelKey: string,
): Promise<SetPriceRequest | null> {
  const [row] = await configDatabase(env)
    .select({ rates: organizationPrices.rates })
    .from(organizationPrices)
    .where(and(eq(organizationPrices.organizationId, organizationId), eq(organizationPrices.modelKey, modelKey)));
  return row?.rates ?? null;
}

/** Sets an own price, and records its snapshot. */
export function saveOwnPrice(env: Env, row: typeof organizationPrices.$inferInsert): Statement[] {
  const { organizationId, modelKey, snapshotId, rates, updatedAtMs } = row;
  const snapshot = {
    ...{ snapshotId, provider: OWN, modelKey, effectiveFrom: null, rates },
    ...{ source: `price of organization ${organizationId}`, catalogVersion: OWN, recordedAtMs: updatedAtMs },
  };
  return [
    configDatabase(env).insert(pricingSnapshots).values(snapshot).onConflictDoNothing(),
    configDatabase(env)
      .insert(organizationPrices)
      .values(row)
      .onConflictDoUpdate({
        target: [organizationPrices.organizationId, organizationPrices.modelKey],
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
  return rows.sort((a, b) => beginOf(a) - beginOf(b));
}

/** When a recorded price came into force: its day, else when it was recorded. */
export function beginOf({ effectiveFrom, recordedAtMs }: PriceSnapshotRow): number {
  return effectiveFrom === null ? recordedAtMs : Date.parse(`${effectiveFrom}T00:00:00Z`);
}
