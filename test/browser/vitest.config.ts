/**
 * Browser tests: `npm run test:browser`. One server for all (shared.ts), and two files at a time, for two cores.
 */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

process.env.WRANGLER_LOG ??= 'error';

export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  test: {
    include: ['test/browser/**/*.test.ts'],
    globalSetup: ['test/browser/shared.ts'],
    silent: 'passed-only',
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 2,
    // Files share Chromium and the contract's schemas, which each would load again.
    isolate: false,
  },
});
