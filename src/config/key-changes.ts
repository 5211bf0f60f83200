/**
 * The number of changes that each key made in the present UTC hour, in D1: all isolates share the count.
 */

import { sql } from 'drizzle-orm';
import type { KeyId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { HOUR_MS } from '../platform/time.ts';
import { configDatabase } from './database.ts';

/** The most changes of one key in an hour. */
export const KEY_CHANGES_MAX = 600;

/**
 * Counts a change. If the change is not allowed, writes nothing and returns the time of the next allowed one; otherwise
 * `null`.
 */
export async function countKeyChange(env: Pick<Env, 'DB'>, keyId: KeyId, nowMs: number): Promise<number | null> {
  const hourMs = nowMs - (nowMs % HOUR_MS);
  const counted = await configDatabase(env).all(
    sql`INSERT INTO key_changes (key_id, hour_ms, changes) VALUES (${keyId}, ${hourMs}, 1)
      ON CONFLICT (key_id) DO UPDATE SET
        changes = CASE WHEN hour_ms = excluded.hour_ms THEN changes + 1 ELSE 1 END, hour_ms = excluded.hour_ms
      WHERE changes < ${KEY_CHANGES_MAX} OR hour_ms <> excluded.hour_ms RETURNING 1`,
  );
  return counted.length > 0 ? null : hourMs + HOUR_MS;
}

/** Undoes the last count, because that request changed nothing. A key without changes has no row. */
export async function takeBackKeyChange(env: Pick<Env, 'DB'>, keyId: KeyId): Promise<void> {
  const { $client } = configDatabase(env);
  await $client.batch([
    $client.prepare('UPDATE key_changes SET changes = changes - 1 WHERE key_id = ?').bind(keyId),
    $client.prepare('DELETE FROM key_changes WHERE key_id = ? AND changes <= 0').bind(keyId),
  ]);
}
