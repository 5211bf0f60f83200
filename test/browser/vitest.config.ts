/**
 * Browser tests: `npm run test:browser`. One server and one Chromium, without parallel tests, because they use two
 * cores.
 */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

process.env.WRANGLER_LOG ??= 'error';

export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  test: {
    include: ['test/browser/**/*.test.ts'],
    silent: 'passed-only',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
});
