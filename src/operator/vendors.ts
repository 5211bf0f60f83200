/**
 * The vendors of an organization: their addresses and keys.
 */
import type { z } from 'zod';
import { type Answer, accept, refuse } from '../contract/errors.ts';
import {
  type DeletedVendor as DeletedVendorSchema,
  type SetVendorRequest,
  VENDOR_BASE_URLS,
  type Vendor,
} from '../contract/vendors.ts';
import { kindOfVendor } from '../domain/vendor-kind.ts';
import type { Env } from '../env.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import { keyHintOf, sealVendorKey } from '../storage/vendor-keys.ts';
import {
  countVendors,
  deleteVendor,
  findVendor,
  listVendors,
  saveVendor,
  VENDORS_MAX,
  type VendorRow,
} from '../storage/vendors.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

type DeletedVendor = z.infer<typeof DeletedVendorSchema>;

export function setVendor(
  request: OperatorRequest,
  organizationId: string,
  provider: string,
  { apiKey, baseUrl: given, kind: kindSet, useReportedCost = false, headers = {}, passthrough = [] }: SetVendorRequest,
): Promise<Answer<Vendor>> {
  return commitChange<Vendor>(request, async (nowMs) => {
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const baseUrl = given ?? (Object.hasOwn(VENDOR_BASE_URLS, provider) ? VENDOR_BASE_URLS[provider] : undefined);
    if (baseUrl === undefined) {
      const message = `is required, because the address of the vendor ${provider} is unknown`;
      return refuse('BAD_REQUEST', `baseUrl: ${message}`, { members: { details: [{ path: 'baseUrl', message }] } });
    }
    const kind = kindSet ?? kindOfVendor(provider, baseUrl);
    const before = await findVendor(request.env, organizationId, provider);
    if (!before && (await countVendors(request.env, organizationId)) >= VENDORS_MAX) {
      return refuse('CONFLICT', `an organization has at most ${VENDORS_MAX} vendors`);
    }
    const sealedKey = await sealVendorKey(request.env, organizationId, provider, apiKey);
    const saved = { provider, baseUrl, kind, keyHint: keyHintOf(apiKey), useReportedCost, headers, passthrough };
    return {
      action: 'vendor.put',
      organizationId,
      subject: provider,
      before: before ? present(before) : null,
      after: present(saved),
      statements: [saveVendor(request.env, { organizationId, ...saved, sealedKey, updatedAtMs: nowMs })],
      // Also a new vendor: isolates have cached the organization's configuration without it.
      replaces: true,
      code: 'VENDOR_SAVED',
      data: present(saved),
    };
  });
}

export async function listOrganizationVendors(
  env: Env,
  organizationId: string,
  { limit, after }: PageRequest,
): Promise<Answer<Page<Vendor>>> {
  if (!(await findOrganization(env, organizationId))) return noOrganization();
  const vendors = (await listVendors(env, organizationId)).map(present);
  const next = vendors.filter(({ provider }) => after === null || provider > after);
  return accept(
    'VENDORS_LISTED',
    pageOf(next.slice(0, limit + 1), limit, ({ provider }) => provider),
    Date.now(),
  );
}

export async function readVendor(env: Env, organizationId: string, provider: string): Promise<Answer<Vendor>> {
  if (!(await findOrganization(env, organizationId))) return noOrganization();
  const vendor = await findVendor(env, organizationId, provider);
  return vendor ? accept('VENDOR_READ', present(vendor), Date.now()) : noVendor();
}

export function removeVendor(
  request: OperatorRequest,
  organizationId: string,
  provider: string,
): Promise<Answer<DeletedVendor>> {
  return commitChange<DeletedVendor>(request, async () => {
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const vendor = await findVendor(request.env, organizationId, provider);
    if (!vendor) return noVendor();
    return {
      action: 'vendor.delete',
      organizationId,
      subject: provider,
      before: present(vendor),
      after: null,
      statements: [deleteVendor(request.env, organizationId, provider)],
      replaces: true,
      code: 'VENDOR_DELETED',
      data: { provider },
    };
  });
}

function noVendor() {
  return refuse('NOT_FOUND', 'no such vendor');
}

function present(row: Omit<VendorRow, 'updatedAtMs'>): Vendor {
  const { provider, baseUrl, kind, keyHint, useReportedCost, headers, passthrough } = row;
  return {
    provider,
    baseUrl,
    kind,
    keyHint,
    useReportedCost,
    ...(headers && Object.keys(headers).length > 0 && { headers }),
    ...(passthrough && passthrough.length > 0 && { passthrough }),
  };
}
