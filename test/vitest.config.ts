/**
 * Three projects: `node` for everything pure, `worker` for what runs inside workerd with real bindings, `e2e` for what drives
 * a server and its commands from outside.
 */
import { join } from 'node:path';
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin';
import { defineConfig } from 'vitest/config';

// wrangler reports which secrets it reads; the tests bring their own.
process.env.WRANGLER_LOG ??= 'error';

const root = join(import.meta.dirname, '..');

export default defineConfig(async () => ({
  root,
  test: {
    silent: 'passed-only' as const,
    projects: [
      {
        root,
        test: {
          name: 'node',
          include: ['test/unit/**/*.test.ts', 'test/property/**/*.test.ts'],
        },
      },
      {
        root,
        test: {
          name: 'e2e',
          // Of the crash suite and the fuzz, the short forms; the long ones are commands of their own.
          include: ['test/e2e/**/*.test.ts', 'test/crash/**/*.test.ts', 'test/fuzz/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          // Two servers at a time, and nothing beside them: two cores, and these tests mostly wait.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        root,
        plugins: [
          cloudflareTest({
            wrangler: { configPath: join(root, 'wrangler.toml') },
            miniflare: {
              bindings: {
                OPERATOR_TOKEN: 'test-operator-token-of-at-least-32-characters',
                VENDOR_KEY_SECRET: 'test-vendor-key-secret-of-32-characters',
                SESSION_SECRET: 'test-session-secret-of-at-least-32-characters',
                CONFIG_TTL_MS: 300,
                MIGRATIONS: await readD1Migrations(join(root, 'd1-migrations')),
              },
            },
          }),
        ],
        test: {
          name: 'worker',
          include: ['test/worker/**/*.test.ts', 'test/scenario/**/*.test.ts'],
          setupFiles: ['test/support/worker-setup.ts'],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
    ],
  },
}));
