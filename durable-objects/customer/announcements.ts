/**
 * What a customer's object tells the operator in KV: that its changes cannot be sent to D1, and that D1 refused some.
 *
 * The changes themselves are in the object. An announcement ends by itself, so one that nobody takes back does not stay
 * for good; what is set aside is announced again while it lasts.
 */

import { backlogKey, setAsideKey } from '../../src/env.ts';
import { log } from '../../src/platform/log.ts';
import { MINUTE_MS } from '../../src/platform/time.ts';
import type { CustomerStore } from './store.ts';

const TTL_SECONDS = 24 * 3600;
/** What is set aside is announced again in time before the last announcement ends. */
const RENEWAL_MS = (TTL_SECONDS / 2) * 1000;
/** KV did not take an announcement: it is tried again. */
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
  const told = store.setAside.state();
  const isTold = await announce(
    announcer,
    setAsideKey(organizationId, announcer.objectId),
    told.rows === 0 ? null : told,
  );
  const nowMs = now();
  store.transaction(nowMs, () => {
    const { rows, oldestMs } = store.setAside.state();
    if (!isTold) store.announceAt(nowMs + RETRY_MS);
    // What changed meanwhile stays due.
    else if (rows === told.rows && oldestMs === told.oldestMs) store.announceAt(rows === 0 ? null : nowMs + RENEWAL_MS);
  });
}

/** For a customer who is erased. */
export async function takeBackAnnouncements(announcer: Announcer, organizationId: string): Promise<void> {
  await announceBacklog(announcer, organizationId, null);
  await announce(announcer, setAsideKey(organizationId, announcer.objectId), null);
}

/** Answers whether KV took it. */
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
