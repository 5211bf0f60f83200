/**
 * Older API keys, without a checksum. An isolate keeps a list of them, so that a request with an invalid key costs no
 * read of D1.
 *
 * No such key is created any more, so a key that is not in the list does not exist. (During an upgrade, a Worker of the
 * previous version may still create one; it works everywhere a minute later, when all lists have been read again.) If
 * there is no list, because D1 is unavailable, another request is reading it or there are too many keys, each key is
 * looked up in D1.
 */
import { sql } from 'drizzle-orm';
import type { Env } from '../env.ts';
import { remember } from '../platform/isolate-memory.ts';
import { log } from '../platform/log.ts';
import { withTimeout } from '../platform/timeout.ts';
import { configDatabase } from './database.ts';
import { apiKeys, WITHOUT_CHECKSUM } from './schema/index.ts';

/** The most keys that an isolate remembers. */
const OLD_KEYS_MAX = 10_000;
const LIFE_MS = 60_000;
/** A longer read counts as failed, and the next one begins this much later at the earliest. */
const READ_TIMEOUT_MS = 3_000;
/** The digits of a hash in the list: 64 bits. A key that agrees in them by chance is looked up in D1, and not found. */
const SHORT_HASH_LENGTH = 16;

interface OldKeys {
  /** `null` if there are more than can be remembered. */
  shortHashes: ReadonlySet<string> | null;
  readAtMs: number;
}

const known = remember<OldKeys | null>(() => null);
const triedAtMs = remember(() => Number.NEGATIVE_INFINITY);

/** Whether a key without a checksum has to be looked up; otherwise it is unknown or revoked. */
export async function mayBeOldKey(env: Env, keyHash: string, nowMs: number): Promise<boolean> {
  if (!isFresh(nowMs) && nowMs - triedAtMs.value >= READ_TIMEOUT_MS) {
    triedAtMs.value = nowMs;
    await readOldKeys(env, nowMs);
  }
  const shortHashes = isFresh(nowMs) ? known.value?.shortHashes : null;
  return !shortHashes || shortHashes.has(keyHash.slice(0, SHORT_HASH_LENGTH));
}

function isFresh(nowMs: number): boolean {
  return known.value !== null && nowMs - known.value.readAtMs < LIFE_MS;
}

async function readOldKeys(env: Env, nowMs: number): Promise<void> {
  const read = configDatabase(env)
    .select({ shortHash: sql<string>`substr(${apiKeys.keyHash}, 1, ${SHORT_HASH_LENGTH})` })
    .from(apiKeys)
    .where(WITHOUT_CHECKSUM)
    .limit(OLD_KEYS_MAX + 1);
  try {
    const rows = await withTimeout(read, READ_TIMEOUT_MS, 'the list of keys without a checksum');
    known.value = {
      shortHashes: rows.length > OLD_KEYS_MAX ? null : new Set(rows.map((row) => row.shortHash)),
      readAtMs: nowMs,
    };
  } catch (error) {
    log('warn', 'old_keys_unread', {}, error);
  }
}
