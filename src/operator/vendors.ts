/**
 * The vendors of an organization: their addresses and keys.
 */
import { type Answer, refuse } from '../contract/errors.ts';
import { type SetVendorRequest, VENDOR_BASE_URLS, type Vendor } from '../contract/vendors.ts';
import { sealVendorKey } from '../storage/vendor-keys.ts';
import { countVendors, findVendor, saveVendor, VENDORS_MAX } from '../storage/vendors.ts';
import { commitChange, type OperatorRequest } from './change.ts';
import { findOrganization, noOrganization } from './organizations.ts';

const HINT_LENGTH = 4;

export function setVendor(
  request: OperatorRequest,
  organizationId: string,
  provider: string,
  { apiKey, baseUrl: given }: SetVendorRequest,
): Promise<Answer<Vendor>> {
  return commitChange<Vendor>(request, async (nowMs) => {
    if (!(await findOrganization(request.env, organizationId))) return noOrganization();
    const baseUrl = given ?? (Object.hasOwn(VENDOR_BASE_URLS, provider) ? VENDOR_BASE_URLS[provider] : undefined);
    if (baseUrl === undefined) {
      const message = `is required, because ${provider} is not a vendor whose address is known`;
      return refuse('BAD_REQUEST', `baseUrl: ${message}`, { members: { details: [{ path: 'baseUrl', message }] } });
    }
    const before = await findVendor(request.env, organizationId, provider);
    if (!before && (await countVendors(request.env, organizationId)) >= VENDORS_MAX) {
      return refuse('CONFLICT', `an organization has at most ${VENDORS_MAX} vendors`);
    }
    const sealedKey = await sealVendorKey(request.env, organizationId, provider, apiKey);
    // A hint of a short key would give away most of it.
    const keyHint = apiKey.length >= 4 * HINT_LENGTH ? apiKey.slice(-HINT_LENGTH) : '';
    return {
      action: 'vendor.put',
      organizationId,
      subject: provider,
      before: before ? { baseUrl: before.baseUrl, keyHint: before.keyHint } : null,
      after: { baseUrl, keyHint },
      statements: [
        saveVendor(request.env, { organizationId, provider, baseUrl, sealedKey, keyHint, updatedAtMs: nowMs }),
      ],
      // Also a new vendor: isolates have cached the organization's configuration without it.
      replaces: true,
      code: 'VENDOR_SAVED',
      data: { provider, baseUrl, keyHint },
    };
  });
}
