/**
 * Composition root: the Worker's handlers and its Durable Object classes.
 */
import { createApp } from './app.ts';
import { BUILT_IN_CATALOG } from './catalog/built-in.ts';
import { priceSnapshots } from './catalog/prices.ts';
import type { Env } from './env.ts';
import { deleteExpired, recordPriceSnapshots } from './storage/housekeeping.ts';

export { CallDirectory } from '../durable-objects/call-directory.ts';
export { Customer } from '../durable-objects/customer.ts';

const app = createApp();

export default {
  fetch: app.fetch,

  /** Hourly housekeeping (wrangler.toml). */
  async scheduled(_controller, env) {
    const nowMs = Date.now();
    await recordPriceSnapshots(env, await priceSnapshots(BUILT_IN_CATALOG), nowMs);
    await deleteExpired(env, nowMs);
  },
} satisfies ExportedHandler<Env>;
