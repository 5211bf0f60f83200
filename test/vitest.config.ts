/**
 * Three projects: `node` for everything pure, `worker` for tests inside workerd with real bindings, `e2e` for tests
 * that drive a server and its commands from outside. Made for two cores.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin';
import { defineConfig } from 'vitest/config';
import { buildSite } from '../src/cli/build-site.ts';
import { schemaOf } from './support/schema.ts';

// wrangler reports which secrets it reads; the tests bring their own.
process.env.WRANGLER_LOG ??= 'error';

/** It only ends tests that hang: a loaded machine is slow, and no test asserts how long something takes. */
const TIMEOUT_MS = 180_000;
/** How long `expect.poll` waits; less than a test may take, so that its own message is seen. */
const WAIT_MS = 60_000;
/** Node compiles programs that tests start often only once. */
const COMPILE_CACHE = { NODE_COMPILE_CACHE: join(tmpdir(), 'callmeter-compile-cache') };

const root = join(import.meta.dirname, '..');

// The Worker under test is bundled without wrangler's own command for its files.
await buildSite();

export default defineConfig(async () => ({
  root,
  test: {
    silent: 'passed-only' as const,
    reporters: ['default', './test/closing-report.ts'],
    // Most tests wait for a while. Without this, one file at a time on two cores.
    maxWorkers: 4,
    projects: [
      {
        root,
        test: {
          name: 'node',
          include: ['test/unit/**/*.test.ts', 'test/property/**/*.test.ts'],
          // Pure code leaves nothing behind that the next file could meet.
          isolate: false,
          env: COMPILE_CACHE,
          testTimeout: TIMEOUT_MS,
          hookTimeout: TIMEOUT_MS,
        },
      },
      {
        root,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/e2e/prepared-state.ts'],
          // Files have servers and vendors of their own, or share them by intent.
          isolate: false,
          env: COMPILE_CACHE,
          testTimeout: TIMEOUT_MS,
          hookTimeout: TIMEOUT_MS,
          // Four servers at a time, and nothing beside them: these tests mostly wait.
          maxWorkers: 4,
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
                CONFIG_TTL_MS: 100,
                SCHEMA: schemaOf(await readD1Migrations(join(root, 'd1-migrations'))),
              },
            },
          }),
        ],
        test: {
          name: 'worker',
          include: ['test/worker/**/*.test.ts', 'test/scenario/**/*.test.ts'],
          setupFiles: ['test/support/worker-setup.ts'],
          // A workerd for each file would cost more than most files; the setup gives each an empty one.
          isolate: false,
          expect: { poll: { timeout: WAIT_MS } },
          testTimeout: TIMEOUT_MS,
          hookTimeout: TIMEOUT_MS,
        },
      },
    ],
  },
}));
