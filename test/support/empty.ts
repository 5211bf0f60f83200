/**
 * Nothing stored, nothing in memory, and the tables as a deploy leaves them.
 */
import { reset } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { forgetAll } from '../../src/platform/isolate-memory.ts';

const { DB, SCHEMA } = env as unknown as { DB: D1Database; SCHEMA: string[] };

/** A database that work of before still uses is not deleted; that work ends with the first attempt. */
const RESETS_MAX = 5;

const hasTables = () => DB.prepare("SELECT 1 FROM sqlite_master WHERE name = 'd1_migrations'").first();

export async function emptyEverything(): Promise<void> {
  for (let resets = 0; resets === 0 || (resets < RESETS_MAX && (await hasTables())); resets += 1) await reset();
  forgetAll();
  await DB.batch(SCHEMA.map((statement) => DB.prepare(statement)));
}
