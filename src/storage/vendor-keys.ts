/**
 * Vendors' keys at rest: encrypted under VENDOR_KEY_SECRET, bound to the organization and the vendor that they are for.
 */
import type { Env } from '../env.ts';
import { decryptText, encryptText } from '../platform/cipher.ts';
import { ServiceUnavailable } from '../platform/unavailable.ts';
import type { OrganizationConfig } from './credentials.ts';

const purposeOf = (organizationId: string, provider: string) => `vendor key ${organizationId} ${provider}`;

export function sealVendorKey(env: Env, organizationId: string, provider: string, key: string): Promise<string> {
  return encryptText(secretOf(env), purposeOf(organizationId, provider), key);
}

/** The organization's key for a vendor; `null` where it has none, or one that was sealed under another secret. */
export async function openVendorKey(
  env: Env,
  { organizationId, vendors }: OrganizationConfig,
  provider: string,
): Promise<string | null> {
  const vendor = vendors.get(provider);
  return vendor ? decryptText(secretOf(env), purposeOf(organizationId, provider), vendor.sealedKey) : null;
}

function secretOf({ VENDOR_KEY_SECRET }: Env): string {
  if (!VENDOR_KEY_SECRET)
    throw new ServiceUnavailable('VENDOR_KEY_SECRET is not configured, so vendor keys cannot be kept');
  return VENDOR_KEY_SECRET;
}
