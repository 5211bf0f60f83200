/**
 * Before each worker test file: nothing stored, nothing in memory, and the migrations as a deploy applies them. The
 * files share one workerd, whose start costs more than most of them.
 */
import { applyD1Migrations, type D1Migration, reset } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { vi } from 'vitest';

const { DB, MIGRATIONS } = env as unknown as { DB: D1Database; MIGRATIONS: D1Migration[] };

await reset();
vi.resetModules();
await applyD1Migrations(DB, MIGRATIONS);
