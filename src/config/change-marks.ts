/**
 * When the configuration of an organization last changed, in KV: for an isolate that cannot read D1 while another one
 * can. A value that was read before the mark may be an old one, such as a key that was revoked since.
 */
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { log } from '../platform/log.ts';
import { HOUR_MS, SECOND_MS } from '../platform/time.ts';
import { withTimeout } from '../platform/timeout.ts';

/** Longer than any value is used that D1 does not confirm. */
const KEPT_SECONDS = (2 * HOUR_MS) / SECOND_MS;
/** A KV that does not answer counts as failed. */
const KV_TIMEOUT_MS = 2_000;

const markKey = (organizationId: OrganizationId) => `changed:${organizationId}`;

/** Call this after the commit of a change, also of one whose answer was lost. Best effort: D1 is the truth. */
export async function markChange({ KV }: Pick<Env, 'KV'>, organizationId: OrganizationId): Promise<void> {
  try {
    const put = KV.put(markKey(organizationId), String(Date.now()), { expirationTtl: KEPT_SECONDS });
    await withTimeout(put, KV_TIMEOUT_MS, 'KV');
  } catch (error) {
    log('warn', 'change_not_marked', { organizationId }, error);
  }
}

/**
 * Whether the configuration has changed, or may have, since a read began. Throws if KV fails. Clocks of isolates may differ:
 * a read that begins after the change is acknowledged, which is `CONFIG_TTL_MS` later, certainly has the new value.
 */
export async function hasChangedSince(
  { KV, CONFIG_TTL_MS }: Pick<Env, 'KV' | 'CONFIG_TTL_MS'>,
  organizationId: OrganizationId,
  readAtMs: number,
): Promise<boolean> {
  const changedAtMs = await withTimeout(KV.get(markKey(organizationId)), KV_TIMEOUT_MS, 'KV');
  return changedAtMs !== null && Number(changedAtMs) + CONFIG_TTL_MS / 2 > readAtMs;
}
