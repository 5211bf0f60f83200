/**
 * The organization's key for a vendor, decrypted once per isolate: decrypting derives a key, which costs more than
 * everything else in a short call.
 */

import { openVendorKey } from '../config/vendor-keys.ts';
import type { Caller } from '../metering/caller.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import { remember } from '../platform/isolate-memory.ts';

/** The most decrypted keys that one isolate remembers, by their encrypted form: a changed key is a new entry. */
const KEYS_MAX = 1_000;

const decrypted = remember(() => new BoundedMap<string, string>(KEYS_MAX));

/** `null` if there is no key, or if it was encrypted under a secret that is no longer in use. */
export async function findVendorKey({ env, organization }: Caller, provider: string): Promise<string | null> {
  const sealed = organization.vendors.get(provider)?.sealedKey;
  if (sealed === undefined) return null;
  // An encrypted key is bound to its organization and vendor.
  const name = `${organization.organizationId} ${provider} ${sealed}`;
  const known = decrypted.value.get(name);
  if (known !== undefined) return known;
  const key = await openVendorKey(env, organization, provider);
  if (key === null) return null;
  decrypted.value.set(name, key);
  return key;
}
