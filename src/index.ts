/**
 * Composition root: the Worker's handlers and its Durable Object classes.
 */
import { createApp } from './app.ts';
import { priceSnapshots } from './catalog/prices.ts';
import { currentCatalog } from './config/catalog.ts';
import { recordPriceSnapshots } from './config/prices.ts';
import type { Env } from './env.ts';
import { runArchive } from './history/archive/run.ts';
import { deleteExpired } from './history/housekeeping.ts';
import { cachedLookup } from './http/routes/model-lookup.ts';
import { hearNews } from './operator/catalog-news.ts';
import { type CronOutcome, recordRun } from './operator/service-figures.ts';
import { importUpstream } from './operator/upstream.ts';
import { errorText, log } from './platform/log.ts';

export { CallDirectory } from '../durable-objects/call-directory.ts';
export { CompressionJob } from '../durable-objects/compression-job.ts';
export { Customer } from '../durable-objects/customer.ts';
export { CustomerBatches } from '../durable-objects/customer-batches.ts';
export { GatewayBatch } from '../durable-objects/gateway-batch.ts';
export { OrganizationWatch } from '../durable-objects/organization-watch.ts';
export { PlanMigration } from '../durable-objects/plan-migration.ts';
export { Projector } from '../durable-objects/projector.ts';
export { Repricing } from '../durable-objects/repricing.ts';
export { WebhookEndpoint } from '../durable-objects/webhook-endpoint.ts';

/** The same as in wrangler.toml. */
const IMPORT_CRON = '47 3 * * *';

const app = createApp();

export default {
  fetch(request, env, context) {
    return cachedLookup(request, env) ?? app.fetch(request, env, context);
  },

  /** Hourly housekeeping, and the daily import (wrangler.toml). */
  async scheduled({ cron }, env, context) {
    const nowMs = Date.now();
    const defer = (work: Promise<unknown>) => context.waitUntil(work);
    const name = cron === IMPORT_CRON ? 'import' : 'housekeeping';
    const recorded = async (outcome: CronOutcome) => {
      const run = { name, startedMs: nowMs, tookMs: Date.now() - nowMs, ...outcome } as const;
      await recordRun(env, run).catch((error: unknown) => log('warn', 'cron_not_recorded', { cron }, error));
    };
    try {
      await recorded(name === 'import' ? await runImport(env, nowMs, defer) : await keepHouse(env, nowMs, defer));
    } catch (error) {
      log('error', 'cron_failed', { cron }, error);
      await recorded({ ok: false, message: errorText(error) });
      // The runtime marks the run as failed and logs this message.
      throw new Error(errorText(error));
    }
  },
} satisfies ExportedHandler<Env>;

/** The lists are compared with the catalog that the import has published. */
async function runImport(env: Env, nowMs: number, defer: (work: Promise<unknown>) => void): Promise<CronOutcome> {
  const imported = await importUpstream(env, nowMs, defer);
  const heard = await hearNews(env, nowMs, defer);
  const messages = [imported.message, heard.message].filter((message) => message !== null);
  return { ok: imported.ok && heard.ok, message: messages.join('; ') };
}

async function keepHouse(env: Env, nowMs: number, defer: (work: Promise<unknown>) => void): Promise<CronOutcome> {
  const { catalog } = await currentCatalog(env, defer);
  await recordPriceSnapshots(env, await priceSnapshots(catalog), nowMs);
  // Deletes only rows that the archive has.
  await runArchive(env, nowMs).finally(() => deleteExpired(env, nowMs));
  return { ok: true, message: null };
}
