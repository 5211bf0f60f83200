/**
 * The vendors of an organization: their addresses and keys.
 */

import { makeKeyHint, sealVendorKey } from '../config/vendor-keys.ts';
import {
  countVendors,
  deleteVendor as deleteRow,
  findVendor,
  listVendors as findVendors,
  saveVendor,
  VENDORS_MAX,
  type VendorRow,
} from '../config/vendors.ts';
import type { Complete } from '../contract/complete.ts';
import { badRequest, refuse } from '../contract/errors.ts';
import { operations } from '../contract/operations.ts';
import { VENDOR_BASE_URLS, type Vendor } from '../contract/vendors.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { kindOfVendor } from '../domain/vendor-kind.ts';
import type { Env } from '../env.ts';
import { makePage } from '../platform/page.ts';
import { change, list, read } from './operation.ts';

export const setVendor = change(operations.setVendor, {
  action: 'vendor.put',
  subject: ({ params }) => params.provider,
  decide: async ({ env, params: { org, provider }, body, nowMs }) => {
    const { apiKey, baseUrl: given, kind: kindSet, useReportedCost = false, headers = {}, passthrough = [] } = body;
    const baseUrl = given ?? (Object.hasOwn(VENDOR_BASE_URLS, provider) ? VENDOR_BASE_URLS[provider] : undefined);
    if (baseUrl === undefined) {
      const message = `is required, because the address of the vendor ${provider} is unknown`;
      return badRequest({ path: 'baseUrl', message });
    }
    const before = await findVendor(env, org, provider);
    if (!before && (await countVendors(env, org)) >= VENDORS_MAX)
      return refuse('CONFLICT', `an organization has at most ${VENDORS_MAX} vendors`);
    const kind = kindSet ?? kindOfVendor(provider, baseUrl);
    const sealedKey = await sealVendorKey(env, org, provider, apiKey);
    const keyHint = makeKeyHint(apiKey);
    const row = { provider, baseUrl, kind, keyHint, useReportedCost, headers, passthrough, updatedAtMs: nowMs };
    return {
      before: before && present(before),
      after: present(row),
      statements: [saveVendor(env, { organizationId: org, ...row, sealedKey })],
      // Also true for a new vendor: isolates have cached the organization's configuration without it.
      replaces: true,
      data: present(row),
    };
  },
});

/** All vendors of an organization, and the time at which each was set, for the console. */
export async function listDatedVendors(
  env: Env,
  organizationId: OrganizationId,
): Promise<(Vendor & { updatedAtMs: number })[]> {
  const rows = await findVendors(env, organizationId);
  return rows.map((row) => ({ ...present(row), updatedAtMs: row.updatedAtMs }));
}

export const listVendors = list(operations.listVendors, async ({ env, params, page: { limit, after } }) => {
  const vendors = (await findVendors(env, params.org)).map(present);
  const next = vendors.filter(({ provider }) => after === null || provider > after);
  return makePage(next.slice(0, limit + 1), limit, ({ provider }) => provider);
});

export const readVendor = read(operations.readVendor, async ({ env, params: { org, provider } }) => {
  const vendor = await findVendor(env, org, provider);
  return vendor ? present(vendor) : noVendor();
});

export const deleteVendor = change(operations.deleteVendor, {
  action: 'vendor.delete',
  subject: ({ params }) => params.provider,
  decide: async ({ env, params: { org, provider } }) => {
    const vendor = await findVendor(env, org, provider);
    if (!vendor) return noVendor();
    return {
      before: present(vendor),
      after: null,
      statements: [deleteRow(env, org, provider)],
      replaces: true,
      data: { provider },
    };
  },
});

const noVendor = () => refuse('NOT_FOUND', 'no such vendor');

function present(row: VendorRow): Complete<Vendor> {
  const { provider, baseUrl, kind, keyHint, useReportedCost, headers, passthrough } = row;
  return {
    provider,
    baseUrl,
    kind,
    keyHint,
    useReportedCost,
    headers: headers && Object.keys(headers).length > 0 ? headers : undefined,
    passthrough: passthrough && passthrough.length > 0 ? passthrough : undefined,
  };
}
