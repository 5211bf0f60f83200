/**
 * An organization's own prices: each is recorded as a snapshot of its own and wins over the catalog. A model has one
 * own price, whatever spelling set it.
 */
import { and, eq } from 'drizzle-orm';
import type { z } from 'zod';
import { ownPriceKey } from '../catalog/prices.ts';
import { type Answer, refuse } from '../contract/errors.ts';
import type { OrganizationPrice, SetPriceRequest } from '../contract/prices.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { Env } from '../env.ts';
import { sha256Hex } from '../platform/hash.ts';
import { currentCatalog } from '../storage/catalog.ts';
import { PRICES_MAX } from '../storage/credentials.ts';
import { database } from '../storage/database.ts';
import { organizationPrices, pricingSnapshots } from '../storage/schema.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

type Price = z.infer<typeof OrganizationPrice>;

export function setPrice(
  request: OperatorRequest,
  organizationId: string,
  asked: string,
  rates: SetPriceRequest,
  defer: (work: Promise<unknown>) => void,
): Promise<Answer<Price>> {
  return commitChange<Price>(request, async (nowMs) => {
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const modelKey = ownPriceKey((await currentCatalog(request.env, defer)).catalog, asked);
    const before = await findPrice(request.env, organizationId, modelKey);
    if (before === null && (await countPrices(request.env, organizationId)) >= PRICES_MAX) {
      return refuse('CONFLICT', `an organization has at most ${PRICES_MAX} prices of its own`);
    }
    const hash = await sha256Hex(canonicalJson({ organizationId, modelKey, rates }));
    const snapshotId = `organization/${modelKey}@${hash.slice(0, 12)}`;
    const row = { organizationId, modelKey, snapshotId, rates, updatedAtMs: nowMs };
    const snapshot = {
      snapshotId,
      provider: 'organization',
      modelKey,
      effectiveFrom: null,
      rates,
      source: `price of organization ${organizationId}`,
      catalogVersion: 'organization',
      recordedAtMs: nowMs,
    };
    const db = database(request.env.DB);
    const key = [organizationPrices.organizationId, organizationPrices.modelKey];
    return {
      action: 'price.put',
      organizationId,
      subject: modelKey,
      before,
      after: rates,
      statements: [
        db.insert(pricingSnapshots).values(snapshot).onConflictDoNothing(),
        db
          .insert(organizationPrices)
          .values(row)
          .onConflictDoUpdate({ target: key, set: { snapshotId, rates, updatedAtMs: nowMs } }),
      ],
      replaces: true,
      code: 'PRICE_SAVED',
      data: { modelKey: asked, snapshotId, ...rates },
    };
  });
}

function countPrices(env: Env, organizationId: string): Promise<number> {
  return database(env.DB).$count(organizationPrices, eq(organizationPrices.organizationId, organizationId));
}

async function findPrice(env: Env, organizationId: string, modelKey: string): Promise<SetPriceRequest | null> {
  const [row] = await database(env.DB)
    .select({ rates: organizationPrices.rates })
    .from(organizationPrices)
    .where(and(eq(organizationPrices.organizationId, organizationId), eq(organizationPrices.modelKey, modelKey)));
  return row?.rates ?? null;
}
