/**
 * Vendor keys at rest: encrypted under VENDOR_KEY_SECRET, bound to their organization and vendor.
 */

import { and, eq, ne } from 'drizzle-orm';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { decryptText, encryptText } from '../platform/cipher.ts';
import { ServiceUnavailable } from '../platform/unavailable.ts';
import type { OrganizationConfig } from './credentials.ts';
import { configDatabase } from './database.ts';
import { vendorCredentials } from './schema/index.ts';

const HINT_LENGTH = 4;
/** The most keys with the same hint that are compared; if there are more, one of the others counts as the same. */
const COMPARED_MAX = 100;

const vendorKeyPurpose = (organizationId: OrganizationId, provider: string) =>
  `vendor key ${organizationId} ${provider}`;

export function sealVendorKey(
  env: Env,
  organizationId: OrganizationId,
  provider: string,
  key: string,
): Promise<string> {
  return encryptText(vendorKeySecret(env), vendorKeyPurpose(organizationId, provider), key);
}

/** The organization's key for a vendor; `null` if it has none, or if it was sealed under another secret. */
export async function openVendorKey(
  env: Env,
  { organizationId, vendors }: OrganizationConfig,
  provider: string,
): Promise<string | null> {
  const vendor = vendors.get(provider);
  return vendor
    ? decryptText(vendorKeySecret(env), vendorKeyPurpose(organizationId, provider), vendor.sealedKey)
    : null;
}

/** The end of a key, which distinguishes keys; empty for a short key, because it would reveal most of it. */
export function makeKeyHint(key: string): string {
  return key.length >= 4 * HINT_LENGTH ? key.slice(-HINT_LENGTH) : '';
}

/** Whether another organization has this key too, for any vendor. */
export async function isKeyShared(env: Env, organizationId: OrganizationId, key: string): Promise<boolean> {
  const { organizationId: otherId, provider, sealedKey, keyHint } = vendorCredentials;
  const others = await configDatabase(env)
    .select({ otherId, provider, sealedKey })
    .from(vendorCredentials)
    .where(and(eq(keyHint, makeKeyHint(key)), ne(otherId, organizationId)))
    .limit(COMPARED_MAX + 1);
  if (others.length > COMPARED_MAX) return true;
  const keys = others.map((row) =>
    decryptText(vendorKeySecret(env), vendorKeyPurpose(row.otherId, row.provider), row.sealedKey),
  );
  return (await Promise.all(keys)).includes(key);
}

function vendorKeySecret({ VENDOR_KEY_SECRET }: Env): string {
  if (!VENDOR_KEY_SECRET)
    throw new ServiceUnavailable('VENDOR_KEY_SECRET is not configured, so vendor keys cannot be kept');
  return VENDOR_KEY_SECRET;
}
