/**
 * Announcements of a customer's object to the operator, in KV: that its changes cannot be sent to D1, and that D1
 * refused some.
 *
 * The changes themselves are in the object. An announcement expires, so that one that is never withdrawn does not stay
 * for ever; that of changes set aside is renewed while there are any.
 */

import { backlogKey, setAsideKey } from '../../src/env.ts';
import { log } from '../../src/platform/log.ts';
import { MINUTE_MS } from '../../src/platform/time.ts';
import type { CustomerStore } from './store.ts';

const TTL_SECONDS = 24 * 3600;
/** Before an announcement expires. */
const RENEWAL_MS = (TTL_SECONDS / 2) * 1000;
/** After KV did not take an announcement. */
const RETRY_MS = 5 * MINUTE_MS;

export interface Announcer {
  kv: KVNamespace;
  objectId: string;
}

/** Announces since when the oldest change waits, or that none waits any more. */
export function announceBacklog(
  announcer: Announcer,
  organizationId: string,
  oldestMs: number | null,
): Promise<boolean> {
  return announce(announcer, backlogKey(organizationId, announcer.objectId), oldestMs === null ? null : { oldestMs });
}

/** Announces what is set aside, where that is due. */
export async function announceSetAside(announcer: Announcer, store: CustomerStore, now: () => number): Promise<void> {
  const organizationId = store.account()?.organizationId;
  if (organizationId === undefined || !store.isAnnouncementDue(now())) return;
  const announced = store.setAside.state();
  const isAnnounced = await announce(
    announcer,
    setAsideKey(organizationId, announcer.objectId),
    announced.rows === 0 ? null : announced,
  );
  const nowMs = now();
  store.transaction(nowMs, () => {
    const { rows, oldestMs } = store.setAside.state();
    if (!isAnnounced) store.announceAt(nowMs + RETRY_MS);
    // Still due where it changed meanwhile.
    else if (rows === announced.rows && oldestMs === announced.oldestMs)
      store.announceAt(rows === 0 ? null : nowMs + RENEWAL_MS);
  });
}

/** For a customer who is erased. */
export async function withdrawAnnouncements(announcer: Announcer, organizationId: string): Promise<void> {
  await announceBacklog(announcer, organizationId, null);
  await announce(announcer, setAsideKey(organizationId, announcer.objectId), null);
}

/** Returns whether KV took it. */
async function announce({ kv, objectId }: Announcer, key: string, metadata: object | null): Promise<boolean> {
  try {
    if (metadata === null) await kv.delete(key);
    else await kv.put(key, '', { metadata, expirationTtl: TTL_SECONDS });
    return true;
  } catch (error) {
    log('warn', 'not_announced', { objectId }, error);
    return false;
  }
}
