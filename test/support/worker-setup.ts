/**
 * Before each worker test file: nothing stored, nothing in memory, and the tables as a deploy leaves them. The files
 * share one workerd and its modules, because starting the one and evaluating the others costs more than most files.
 */
import { reset } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { forgetAll } from '../../src/platform/isolate-memory.ts';

const { DB, SCHEMA } = env as unknown as { DB: D1Database; SCHEMA: string[] };

/** A database that work of the file before still uses is not deleted; that work ends with the first attempt. */
const RESETS_MAX = 5;

const hasTables = () => DB.prepare("SELECT 1 FROM sqlite_master WHERE name = 'd1_migrations'").first();

for (let resets = 0; resets === 0 || (resets < RESETS_MAX && (await hasTables())); resets += 1) await reset();
forgetAll();
await DB.batch(SCHEMA.map((statement) => DB.prepare(statement)));
