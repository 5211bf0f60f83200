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
/** A change is committed at most this long after its mark, by any isolate's clock. */
const COMMIT_MS_MAX = 30 * SECOND_MS;
/** A KV that does not answer counts as failed. */
const KV_TIMEOUT_MS = 2_000;

const markKey = (organizationId: OrganizationId) => `changed:${organizationId}`;

/** Call this beside the commit of a change, so that a commit whose answer is lost is marked too. Best effort. */
export async function markChange({ KV }: Pick<Env, 'KV'>, organizationId: OrganizationId): Promise<void> {
  try {
    const put = KV.put(markKey(organizationId), String(Date.now()), { expirationTtl: KEPT_SECONDS });
    await withTimeout(put, KV_TIMEOUT_MS, 'KV');
  } catch (error) {
    log('warn', 'change_not_marked', { organizationId }, error);
  }
}

/** Whether the configuration has changed, or may have, since a read began. Throws if KV fails. */
export async function hasChangedSince(
  { KV }: Pick<Env, 'KV'>,
  organizationId: OrganizationId,
  readAtMs: number,
): Promise<boolean> {
  const changedAtMs = await withTimeout(KV.get(markKey(organizationId)), KV_TIMEOUT_MS, 'KV');
  return changedAtMs !== null && Number(changedAtMs) + COMMIT_MS_MAX > readAtMs;
}
