/**
 * Use case: one run of an organization's watch. It searches, in steps, for events that no single customer's transaction
 * finds, and sends them to D1.
 *
 * A step's events and remembered facts are stored in one transaction before they are sent, and an event keeps its id:
 * so each is reported once, even if a run is interrupted or D1 is unavailable. A step that fails is logged, and the
 * next run makes it again; the others continue.
 */

import { latestCatalog } from '../../config/catalog.ts';
import { loadOrganization } from '../../config/credentials.ts';
import { withRetentionDefaults } from '../../config/kept-part.ts';
import { findOrganizationRow } from '../../config/organizations.ts';
import { currentReviews } from '../../config/reviews.ts';
import type { CustomerId } from '../../domain/ids.ts';
import { insertOrganizationEvents, type NewOrganizationEvent } from '../../history/organization-events.ts';
import { errorText, log } from '../../platform/log.ts';
import { HOUR_MS, SECOND_MS, utcDay } from '../../platform/time.ts';
import { readModelUses } from '../../readings/radar/read-radar.ts';
import { wakeWebhooks } from '../webhooks/endpoints.ts';
import { anomalyNews } from './anomaly-news.ts';
import { autopilotNews, hasAutopilot } from './autopilot-news.ts';
import { catalogNews } from './catalog-news.ts';
import { CUSTOMERS_PER_STEP, customerNews, customersOfDay } from './customer-news.ts';
import { lagNews } from './lag.ts';
import { type Look, type Memory, memoryKey, type News, NO_NEWS } from './look.ts';
import { modelNews } from './model-news.ts';
import { operatorNews } from './operator-news.ts';

/** The wait before the next part of a day's customers. */
const NEXT_PART_MS = SECOND_MS;
/** The most events that one run sends, and the number of waiting events beyond which the run does not search. */
const SENT_MAX = 2_000;
const WAITING_MAX = 5_000;
const RETRY_BASE_MS = 5_000;
const RETRY_MAX_MS = 600_000;

const HOURLY = memoryKey('hourly');
const DAILY = memoryKey('daily');

/** The storage of a watch's events and remembered facts. */
export interface WatchStore extends Memory {
  /** Stores the news of a step, and the customers to look at, in one transaction. */
  commit(news: News, customers?: readonly string[]): void;
  /** The oldest events that are not sent yet. */
  waiting(limit: number): NewOrganizationEvent[];
  countWaiting(): number;
  /** Records that D1 has these events. */
  sent(eventIds: readonly string[]): void;
  /** The customers that are still to be looked at, and the removal of those that were. */
  customers(limit: number): CustomerId[];
  dropCustomers(customerIds: readonly CustomerId[]): void;
  /** Forgets facts that no longer matter. */
  prune(nowMs: number): void;
  /** The number of failed attempts to send in a row. */
  failures: number;
}

/** Returns the time of the next look; `null` if none is needed until the watch is woken. */
export async function runWatch(look: Omit<Look, 'memory'>, store: WatchStore): Promise<number | null> {
  const { nowMs } = look;
  const full: Look = { ...look, memory: store };
  store.prune(nowMs);
  let isInUse = true;
  if (store.countWaiting() < WAITING_MAX) {
    await step(full, 'operator', async () => store.commit(await operatorNews(full)));
    if (nowMs - Number(store.get(HOURLY) ?? 0) >= HOUR_MS) isInUse = await hourly(full, store);
    await step(full, 'customers', () => someCustomers(full, store));
  }
  const isSent = await step(full, 'send', () => send(full, store));
  store.failures = isSent ? 0 : store.failures + 1;
  return nextRunMs(store, nowMs, isInUse);
}

function nextRunMs(store: WatchStore, nowMs: number, isInUse: boolean): number | null {
  if (store.failures > 0) return nowMs + Math.min(RETRY_MAX_MS, RETRY_BASE_MS * 2 ** (store.failures - 1));
  if (store.countWaiting() > 0 || store.customers(1).length > 0) return nowMs + NEXT_PART_MS;
  return isInUse ? Math.max(nowMs + NEXT_PART_MS, Number(store.get(HOURLY) ?? nowMs) + HOUR_MS) : null;
}

/**
 * Whether the organization had calls in the last 30 days, or has a mapping with an autopilot; `true` if that is not
 * known.
 */
async function hourly(look: Look, store: WatchStore): Promise<boolean> {
  const { env, organizationId, nowMs, defer } = look;
  let isInUse = true;
  await step(look, 'models', async () => {
    const row = await findOrganizationRow(env, organizationId);
    if (!row) throw new Error('there is no such organization');
    const uses = await readModelUses(env, { organizationId, retention: withRetentionDefaults(row.retention) }, nowMs);
    const { catalog } = await latestCatalog(env);
    const { reviews } = await currentReviews(env, defer);
    // Includes models with any end.
    const view = { catalog, reviews, nowMs, horizonDays: Number.POSITIVE_INFINITY };
    const isSwitching = hasAutopilot(row.models);
    isInUse = uses.length > 0 || isSwitching;
    await step(look, 'catalog', async () => store.commit(await catalogNews(look, view, uses)));
    store.commit(await modelNews(look, view, uses, row.models));
    if (isSwitching) await step(look, 'autopilot', async () => store.commit(await autopilotNews(look)));
  });
  await step(look, 'lag', async () => store.commit(await lagNews(look)));
  if (isInUse) await step(look, 'daily', () => daily(look, store));
  store.commit({ remember: [{ key: HOURLY, value: String(nowMs), untilMs: null }] });
  return isInUse;
}

async function daily(look: Look, store: WatchStore): Promise<void> {
  const { env, organizationId, nowMs } = look;
  const day = utcDay(nowMs);
  if (store.get(DAILY) === day) return;
  const organization = await loadOrganization(env, organizationId);
  if (!organization) return;
  await step(look, 'anomalies', async () => store.commit(await anomalyNews(look, organization)));
  const customers = await customersOfDay(look);
  store.commit({ remember: [{ key: DAILY, value: day, untilMs: null }] }, customers);
}

async function someCustomers(look: Look, store: WatchStore): Promise<void> {
  const customerIds = store.customers(CUSTOMERS_PER_STEP);
  if (customerIds.length === 0) return;
  const organization = await loadOrganization(look.env, look.organizationId);
  const news = organization ? await customerNews(look, organization, customerIds) : [NO_NEWS];
  for (const one of news) store.commit(one);
  store.dropCustomers(customerIds);
}

async function send({ env, organizationId }: Look, store: WatchStore): Promise<void> {
  const events = store.waiting(SENT_MAX);
  if (events.length === 0) return;
  await insertOrganizationEvents(env, organizationId, events);
  await wakeWebhooks(env, [organizationId]);
  store.sent(events.map(({ eventId }) => eventId));
}

/** Returns whether the step was made. */
async function step({ organizationId }: Look, name: string, work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    log('warn', 'watch_step_failed', { step: name, organizationId, error: errorText(error) });
    return false;
  }
}
