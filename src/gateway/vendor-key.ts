/**
 * The organization's key for a vendor, opened once per isolate: opening one derives a key, which costs more than all
 * else that a short call does here.
 */

import type { Caller } from '../metering/caller.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import { openVendorKey } from '../storage/vendor-keys.ts';

/** Opened keys that one isolate remembers, by their sealed form: a changed key is another one. */
const KEYS_MAX = 1_000;

const opened = new BoundedMap<string, string>(KEYS_MAX);

/** `null` where there is none, or one that was sealed under another secret. */
export async function vendorKeyOf({ env, organization }: Caller, provider: string): Promise<string | null> {
  const sealed = organization.vendors.get(provider)?.sealedKey;
  if (sealed === undefined) return null;
  // A sealed key is bound to organization and vendor.
  const name = `${organization.organizationId} ${provider} ${sealed}`;
  const known = opened.get(name);
  if (known !== undefined) return known;
  const key = await openVendorKey(env, organization, provider);
  if (key === null) return null;
  opened.set(name, key);
  return key;
}
