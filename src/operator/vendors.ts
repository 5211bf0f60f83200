/**
 * The vendors of an organization: their addresses and keys.
 */
import { and, eq } from 'drizzle-orm';
import { type Answer, refuse } from '../contract/errors.ts';
import { type SetVendorRequest, VENDOR_BASE_URLS, type Vendor } from '../contract/vendors.ts';
import { VENDORS_MAX } from '../storage/credentials.ts';
import { database } from '../storage/database.ts';
import { vendorCredentials } from '../storage/schema.ts';
import { sealVendorKey } from '../storage/vendor-keys.ts';
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
    const db = database(request.env.DB);
    const [before] = await db
      .select()
      .from(vendorCredentials)
      .where(and(eq(vendorCredentials.organizationId, organizationId), eq(vendorCredentials.provider, provider)));
    if (
      !before &&
      (await db.$count(vendorCredentials, eq(vendorCredentials.organizationId, organizationId))) >= VENDORS_MAX
    ) {
      return refuse('CONFLICT', `an organization has at most ${VENDORS_MAX} vendors`);
    }
    const sealedKey = await sealVendorKey(request.env, organizationId, provider, apiKey);
    // Of a short key, a hint would be most of it.
    const keyHint = apiKey.length >= 4 * HINT_LENGTH ? apiKey.slice(-HINT_LENGTH) : '';
    const values = { baseUrl, sealedKey, keyHint, updatedAtMs: nowMs };
    return {
      action: 'vendor.put',
      organizationId,
      subject: provider,
      before: before ? { baseUrl: before.baseUrl, keyHint: before.keyHint } : null,
      after: { baseUrl, keyHint },
      statements: [
        db
          .insert(vendorCredentials)
          .values({ organizationId, provider, ...values })
          .onConflictDoUpdate({ target: [vendorCredentials.organizationId, vendorCredentials.provider], set: values }),
      ],
      // Another vendor of the organization is new to isolates that know its configuration without it.
      replaces: true,
      code: 'VENDOR_SAVED',
      data: { provider, baseUrl, keyHint },
    };
  });
}
