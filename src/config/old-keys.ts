/**
 * API keys from before keys had a checksum. An isolate keeps a list of them, so that a request with an invalid key
 * costs no read of D1.
 *
 * No such key is created any more, so what is not on the list is no key. (A Worker of the version before may still
 * create one during an upgrade; it works everywhere a minute later, when all lists have been read again.) Where there
 * is no list, because D1 is away, another request is reading it or there are too many keys, each key is looked up in
 * D1.
 */
import { sql } from 'drizzle-orm';
import type { Env } from '../env.ts';
import { remember } from '../platform/isolate-memory.ts';
import { log } from '../platform/log.ts';
import { withTimeout } from '../platform/timeout.ts';
import { configDatabase } from './database.ts';
import { apiKeys, WITHOUT_CHECKSUM } from './schema/index.ts';

/** Keys that an isolate remembers. */
const OLD_KEYS_MAX = 10_000;
const LIFE_MS = 60_000;
/** A read that takes longer counts as failed, and the next one begins no earlier than this after it. */
const READ_TIMEOUT_MS = 3_000;
/**
 * Digits of a hash that the list holds: 64 bits. A key that agrees in them by chance is looked up in D1, and not found.
 */
const SHORT_HASH_LENGTH = 16;

interface OldKeys {
  /** `null` where there are more than can be remembered. */
  shortHashes: ReadonlySet<string> | null;
  readAtMs: number;
}

const known = remember<OldKeys | null>(() => null);
const triedAtMs = remember(() => Number.NEGATIVE_INFINITY);

/** Whether a key without a checksum has to be looked up; it is unknown or revoked where not. */
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
