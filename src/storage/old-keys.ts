/**
 * API keys from before keys had a checksum: an isolate knows which there are, so that what is no key costs no read.
 *
 * What is not on the list is no key, because no such key is made any more. Only while the service is upgraded may a
 * Worker of the version before still make one; it works everywhere once the lists from before are a minute old. Where
 * the list cannot be had (D1 is away, another request is reading it, there are too many keys), each key is looked up by
 * itself.
 */
import { sql } from 'drizzle-orm';
import type { Env } from '../env.ts';
import { log } from '../platform/log.ts';
import { withTimeout } from '../platform/timeout.ts';
import { database } from './database.ts';
import { apiKeys, WITHOUT_CHECKSUM } from './schema.ts';

/** Keys that an isolate remembers. */
const OLD_KEYS_MAX = 10_000;
const LIFE_MS = 60_000;
/** A read that does not end counts as failed, and after a failure the list is left alone for as long. */
const READ_TIMEOUT_MS = 3_000;
/** Of a hash in hexadecimal: 64 bits. Who is taken for another key by them is looked up, and not found. */
const SHORT_HASH_LENGTH = 16;

interface OldKeys {
  /** `null` where there are more than can be remembered. */
  shortHashes: ReadonlySet<string> | null;
  readAtMs: number;
}

let known: OldKeys | null = null;
let triedAtMs = Number.NEGATIVE_INFINITY;

/** Whether a key without a checksum has to be looked up; it is unknown or revoked where not. */
export async function mayBeOldKey(env: Env, keyHash: string, nowMs: number): Promise<boolean> {
  if (!isFresh(nowMs) && nowMs - triedAtMs >= READ_TIMEOUT_MS) {
    triedAtMs = nowMs;
    await readOldKeys(env, nowMs);
  }
  return !isFresh(nowMs) || !known?.shortHashes || known.shortHashes.has(keyHash.slice(0, SHORT_HASH_LENGTH));
}

function isFresh(nowMs: number): boolean {
  return known !== null && nowMs - known.readAtMs < LIFE_MS;
}

async function readOldKeys(env: Env, nowMs: number): Promise<void> {
  const read = database(env.DB)
    .select({ shortHash: sql<string>`substr(${apiKeys.keyHash}, 1, ${SHORT_HASH_LENGTH})` })
    .from(apiKeys)
    .where(WITHOUT_CHECKSUM)
    .limit(OLD_KEYS_MAX + 1);
  try {
    const rows = await withTimeout(read, READ_TIMEOUT_MS, 'the list of keys without a checksum');
    known = {
      shortHashes: rows.length > OLD_KEYS_MAX ? null : new Set(rows.map((row) => row.shortHash)),
      readAtMs: nowMs,
    };
  } catch (error) {
    log('warn', 'old_keys_unread', {}, error);
  }
}
