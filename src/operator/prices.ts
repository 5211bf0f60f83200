/**
 * An organization's own prices: each is recorded as a snapshot of its own and wins over the catalog. A model has one
 * own price, whatever spelling of the model set it.
 */
import type { z } from 'zod';
import { ownPriceKey } from '../catalog/prices.ts';
import { type Answer, refuse } from '../contract/errors.ts';
import type { OrganizationPrice, SetPriceRequest } from '../contract/prices.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { sha256Hex } from '../platform/hash.ts';
import { currentCatalog } from '../storage/catalog.ts';
import { countOwnPrices, findOwnPrice, PRICES_MAX, saveOwnPrice } from '../storage/prices.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

type Price = z.infer<typeof OrganizationPrice>;

export function setPrice(
  request: OperatorRequest,
  organizationId: string,
  requested: string,
  rates: SetPriceRequest,
  defer: (work: Promise<unknown>) => void,
): Promise<Answer<Price>> {
  return commitChange<Price>(request, async (nowMs) => {
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const modelKey = ownPriceKey((await currentCatalog(request.env, defer)).catalog, requested, nowMs);
    const before = await findOwnPrice(request.env, organizationId, modelKey);
    if (before === null && (await countOwnPrices(request.env, organizationId)) >= PRICES_MAX) {
      return refuse('CONFLICT', `an organization has at most ${PRICES_MAX} prices of its own`);
    }
    const hash = await sha256Hex(canonicalJson({ organizationId, modelKey, rates }));
    const snapshotId = `organization/${modelKey}@${hash.slice(0, 12)}`;
    const row = { organizationId, modelKey, snapshotId, rates, updatedAtMs: nowMs };
    return {
      action: 'price.put',
      organizationId,
      subject: modelKey,
      before,
      after: rates,
      statements: saveOwnPrice(request.env, row),
      replaces: true,
      code: 'PRICE_SAVED',
      data: { modelKey: requested, snapshotId, ...rates },
    };
  });
}
