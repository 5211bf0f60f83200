/**
 * Before each worker test file: the migrations, as a deploy applies them.
 */
import { applyD1Migrations, type D1Migration } from 'cloudflare:test';
import { env } from 'cloudflare:workers';

const { DB, MIGRATIONS } = env as unknown as { DB: D1Database; MIGRATIONS: D1Migration[] };

await applyD1Migrations(DB, MIGRATIONS);
