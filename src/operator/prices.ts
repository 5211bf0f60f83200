/**
 * An organization's own prices: each is recorded as a snapshot of its own and wins over the catalog. For each time, at
 * most one own price of a model comes into force, whatever spelling of the model set it.
 */

import type { z } from 'zod';
import { warned } from '../catalog/named-models.ts';
import { ownPriceKey } from '../catalog/prices.ts';
import { currentCatalog } from '../config/catalog.ts';
import {
  countOwnPrices,
  deleteOwnPrices,
  findOwnPrices,
  listOwnPrices,
  type OwnPriceRow,
  PRICES_MAX,
  saveOwnPrice,
} from '../config/prices.ts';
import { type Complete, complete } from '../contract/complete.ts';
import { refuse } from '../contract/errors.ts';
import { operations } from '../contract/operations.ts';
import type { OrganizationPrice, OwnRates } from '../contract/prices.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { sha256Hex } from '../platform/hash.ts';
import { makePage, type Page, type PageRequest } from '../platform/page.ts';
import { change, list } from './operation.ts';

type Price = Complete<z.infer<typeof OrganizationPrice>>;

export const setPrice = change(operations.setPrice, {
  action: 'price.put',
  subject: (_, { snapshotId }) => keyIn(snapshotId),
  decide: async ({ env, organization: { organizationId }, params, body, defer, nowMs }) => {
    const { effectiveFrom, strict, ...stated } = body;
    const { catalog } = await currentCatalog(env, defer);
    const modelKey = ownPriceKey(catalog, params.modelKey, nowMs);
    const effectiveFromMs = effectiveFrom === undefined ? 0 : Math.max(0, Date.parse(effectiveFrom));
    const prices = await findOwnPrices(env, organizationId, modelKey);
    const before = prices.find((price) => price.effectiveFromMs === effectiveFromMs);
    if (!before && (await countOwnPrices(env, organizationId)) >= PRICES_MAX) {
      return refuse('CONFLICT', `an organization has at most ${PRICES_MAX} prices of its own`);
    }
    const rates = { ...stated, ...(strict && { strict }) };
    const hash = await sha256Hex(canonicalJson({ organizationId, modelKey, rates }));
    const snapshotId = `organization/${modelKey}@${hash.slice(0, 12)}`;
    const row = { organizationId, modelKey, effectiveFromMs, snapshotId, rates, updatedAtMs: nowMs };
    return {
      before: before ? auditedPrice(before) : null,
      after: auditedPrice(row),
      statements: saveOwnPrice(env, row),
      replaces: true,
      data: { ...present(row), modelKey: params.modelKey, ...warned(catalog, [params.modelKey], nowMs) },
    };
  },
});

/** The model of a snapshot, in its one spelling; the answer has the requested spelling. */
function keyIn(snapshotId: string): string {
  return snapshotId.slice('organization/'.length, snapshotId.lastIndexOf('@'));
}

/** All own prices of an organization, and the time at which each was set, for the console. */
export async function listDatedPrices(env: Env, organizationId: OrganizationId): Promise<DatedPrice[]> {
  const rows = await listOwnPrices(env, organizationId);
  return rows.map((row) => ({ ...present(row), updatedAtMs: row.updatedAtMs }));
}

export type DatedPrice = Price & { updatedAtMs: number };

export const listPrices = list(operations.listPrices, async ({ env, params, page }) =>
  pageAfter(await listOwnPrices(env, params.org), page),
);

export const readPrices = list(operations.readPrices, async ({ env, params: { org, modelKey }, page, defer }) => {
  const { catalog } = await currentCatalog(env, defer);
  const prices = await findOwnPrices(env, org, ownPriceKey(catalog, modelKey, Date.now()));
  return prices.length === 0 ? noPrice() : pageAfter(prices, page);
});

/** An organization has so few prices that each page reads all of them. */
function pageAfter(prices: OwnPriceRow[], { limit, after }: PageRequest): Page<Price> {
  const priceId = ({ modelKey, effectiveFrom }: Price) => `${modelKey} ${effectiveFrom}`;
  const all = prices.map(present);
  const next = after === null ? 0 : all.findIndex((price) => priceId(price) === after) + 1;
  return makePage(all.slice(next, next + limit + 1), limit, priceId);
}

export const deletePrices = change(operations.deletePrices, {
  action: 'price.delete',
  subject: (_, { modelKey }) => modelKey,
  decide: async ({ env, params, query: { effectiveFrom }, defer, nowMs }) => {
    const modelKey = ownPriceKey((await currentCatalog(env, defer)).catalog, params.modelKey, nowMs);
    const fromMs = effectiveFrom === undefined ? undefined : Date.parse(effectiveFrom);
    const prices = (await findOwnPrices(env, params.org, modelKey)).filter(
      ({ effectiveFromMs }) => fromMs === undefined || effectiveFromMs === fromMs,
    );
    if (prices.length === 0) return noPrice();
    return {
      before: prices.map(auditedPrice),
      after: null,
      statements: [deleteOwnPrices(env, params.org, modelKey, fromMs)],
      replaces: true,
      data: { modelKey, deleted: prices.length },
    };
  },
});

function noPrice() {
  return refuse('NOT_FOUND', 'no such price');
}

type Stored = Pick<OwnPriceRow, 'modelKey' | 'effectiveFromMs' | 'snapshotId'> & { rates: OwnRates };

function present({ modelKey, effectiveFromMs, snapshotId, rates }: Stored): Price {
  return {
    modelKey,
    effectiveFrom: presentTime(effectiveFromMs),
    snapshotId,
    ...complete(rates),
    strict: rates.strict ?? false,
  };
}

function auditedPrice({ effectiveFromMs, rates }: Stored) {
  return effectiveFromMs === 0 ? rates : { ...rates, effectiveFrom: presentTime(effectiveFromMs) };
}

function presentTime(fromMs: number): string | null {
  return fromMs === 0 ? null : new Date(fromMs).toISOString();
}
