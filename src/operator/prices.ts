/**
 * An organization's own prices: each is recorded as a snapshot of its own and wins over the catalog. A model has one own
 * price for each time from which one is in force, whatever spelling of the model set it.
 */

import type { z } from 'zod';
import { warned } from '../catalog/named-models.ts';
import { ownPriceKey } from '../catalog/prices.ts';
import { type Answer, accept, refuse } from '../contract/errors.ts';
import type { DeletedPrices, OrganizationPrice, OwnRates, SavedPrice, SetPriceRequest } from '../contract/prices.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { sha256Hex } from '../platform/hash.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import { currentCatalog } from '../storage/catalog.ts';
import {
  countOwnPrices,
  deleteOwnPrices,
  findOwnPrices,
  listOwnPrices,
  type OwnPriceRow,
  PRICES_MAX,
  saveOwnPrice,
} from '../storage/prices.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

type Price = z.infer<typeof OrganizationPrice>;
type Saved = z.infer<typeof SavedPrice>;
type Deleted = z.infer<typeof DeletedPrices>;
type Defer = (work: Promise<unknown>) => void;

export function setPrice(
  request: OperatorRequest,
  organizationId: OrganizationId,
  requested: string,
  { effectiveFrom, strict, ...stated }: SetPriceRequest,
  defer: Defer,
): Promise<Answer<Saved>> {
  return commitChange<Saved>(request, async (nowMs) => {
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const { catalog } = await currentCatalog(request.env, defer);
    const modelKey = ownPriceKey(catalog, requested, nowMs);
    const effectiveFromMs = effectiveFrom === undefined ? 0 : Math.max(0, Date.parse(effectiveFrom));
    const prices = await findOwnPrices(request.env, organizationId, modelKey);
    const before = prices.find((price) => price.effectiveFromMs === effectiveFromMs);
    if (!before && (await countOwnPrices(request.env, organizationId)) >= PRICES_MAX) {
      return refuse('CONFLICT', `an organization has at most ${PRICES_MAX} prices of its own`);
    }
    const rates = { ...stated, ...(strict && { strict }) };
    const hash = await sha256Hex(canonicalJson({ organizationId, modelKey, rates }));
    const snapshotId = `organization/${modelKey}@${hash.slice(0, 12)}`;
    const row = { organizationId, modelKey, effectiveFromMs, snapshotId, rates, updatedAtMs: nowMs };
    return {
      action: 'price.put',
      organizationId,
      subject: modelKey,
      before: before ? auditOf(before) : null,
      after: auditOf(row),
      statements: saveOwnPrice(request.env, row),
      replaces: true,
      code: 'PRICE_SAVED',
      data: { ...present(row), modelKey: requested, ...warned(catalog, [requested], nowMs) },
    };
  });
}

export async function listPrices(
  env: Env,
  organizationId: OrganizationId,
  page: PageRequest,
): Promise<Answer<Page<Price>>> {
  if (!(await findOrganization(env, organizationId))) return noOrganization();
  return accept('PRICES_LISTED', pageAfter(await listOwnPrices(env, organizationId), page), Date.now());
}

/** The prices of one model. */
export async function readPrices(
  env: Env,
  organizationId: OrganizationId,
  requested: string,
  page: PageRequest,
  defer: Defer,
): Promise<Answer<Page<Price>>> {
  if (!(await findOrganization(env, organizationId))) return noOrganization();
  const modelKey = ownPriceKey((await currentCatalog(env, defer)).catalog, requested, Date.now());
  const prices = await findOwnPrices(env, organizationId, modelKey);
  return prices.length === 0 ? noPrice() : accept('PRICES_LISTED', pageAfter(prices, page), Date.now());
}

/** An organization has so few prices that all of them are read for each page. */
function pageAfter(prices: OwnPriceRow[], { limit, after }: PageRequest): Page<Price> {
  const idOf = ({ modelKey, effectiveFrom }: Price) => `${modelKey} ${effectiveFrom}`;
  const all = prices.map(present);
  const next = after === null ? 0 : all.findIndex((price) => idOf(price) === after) + 1;
  return pageOf(all.slice(next, next + limit + 1), limit, idOf);
}

export function deletePrices(
  request: OperatorRequest,
  organizationId: OrganizationId,
  requested: string,
  effectiveFrom: string | undefined,
  defer: Defer,
): Promise<Answer<Deleted>> {
  return commitChange<Deleted>(request, async (nowMs) => {
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const modelKey = ownPriceKey((await currentCatalog(request.env, defer)).catalog, requested, nowMs);
    const fromMs = effectiveFrom === undefined ? undefined : Date.parse(effectiveFrom);
    const prices = (await findOwnPrices(request.env, organizationId, modelKey)).filter(
      ({ effectiveFromMs }) => fromMs === undefined || effectiveFromMs === fromMs,
    );
    if (prices.length === 0) return noPrice();
    return {
      action: 'price.delete',
      organizationId,
      subject: modelKey,
      before: prices.map(auditOf),
      after: null,
      statements: [deleteOwnPrices(request.env, organizationId, modelKey, fromMs)],
      replaces: true,
      code: 'PRICE_DELETED',
      data: { modelKey, deleted: prices.length },
    };
  });
}

function noPrice() {
  return refuse('NOT_FOUND', 'no such price');
}

type Stored = Pick<OwnPriceRow, 'modelKey' | 'effectiveFromMs' | 'snapshotId'> & { rates: OwnRates };

function present({ modelKey, effectiveFromMs, snapshotId, rates }: Stored): Price {
  return { modelKey, effectiveFrom: presentTime(effectiveFromMs), snapshotId, ...rates, strict: rates.strict ?? false };
}

function auditOf({ effectiveFromMs, rates }: Stored) {
  return effectiveFromMs === 0 ? rates : { ...rates, effectiveFrom: presentTime(effectiveFromMs) };
}

function presentTime(fromMs: number): string | null {
  return fromMs === 0 ? null : new Date(fromMs).toISOString();
}
