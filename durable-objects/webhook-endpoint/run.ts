/**
 * A run of a webhook's object: reads new events in D1, and sends the due ones, until none is due or the run has lasted
 * long enough.
 *
 * Every event is sent at least once: it is forgotten only after an answer, and an object that is killed sends it again.
 * The events of one customer are sent one after the other, and events of several customers at the same time. The
 * webhook is read before each request, so a change of it that was acknowledged is in force.
 */

import { findWebhook, switchWebhookOff, type WebhookRow } from '../../src/config/webhooks.ts';
import type { WebhookKey } from '../../src/domain/webhook-delivery.ts';
import type { Env } from '../../src/env.ts';
import { wakeWebhooks } from '../../src/events/webhooks/endpoints.ts';
import { sendMessage } from '../../src/events/webhooks/send.ts';
import { getsType } from '../../src/events/webhooks/types.ts';
import { findEventsAfter, findEventsBetween, insertOrganizationEvents } from '../../src/history/organization-events.ts';
import { eventIdsFrom } from '../../src/platform/event-id.ts';
import { sha256Hex } from '../../src/platform/hash.ts';
import { type DueDelivery, type EndpointStore, PENDING_MAX } from './store.ts';

/**
 * The number of requests at the same time, each for another customer: a Worker has six connections that wait for an
 * answer.
 */
const CONCURRENT_MAX = 6;
/** After this time, no further request begins; the next run continues. */
const RUN_MS = 30_000;
/** The most events that one query reads, and the most queries in a row. */
const PAGE_ROWS = 500;
const PAGES_MAX = 20;
/** The length of an event's id after its time. */
const SUFFIX_LENGTH = 12;

/** Tells a run that there is news. */
export class Signal {
  #isSet = false;
  #waiting = Promise.withResolvers<void>();

  set(): void {
    this.#isSet = true;
    this.#waiting.resolve();
  }

  /** Whether it was set since it was last taken. */
  take(): boolean {
    const wasSet = this.#isSet;
    this.#isSet = false;
    this.#waiting = Promise.withResolvers<void>();
    return wasSet;
  }

  wait(): Promise<void> {
    return this.#waiting.promise;
  }
}

export interface RunContext {
  store: EndpointStore;
  env: Env;
  webhook: WebhookKey;
  objectId: string;
  news: Signal;
  now: () => number;
}

/** Why a run stops sending: the webhook is gone, disabled, or replaced by another one with the same id. */
type Stop = 'gone' | 'off' | 'replaced';

/** The state of the webhook after a run; if it is on, `more` is whether D1 has events for it. */
export type RunResult = { webhook: Stop } | { webhook: 'on'; more: boolean };

/** Throws if D1 is unavailable: nothing is lost, and the next run tries again. */
export async function run(context: RunContext): Promise<RunResult> {
  const { store, news, now } = context;
  const start = await configured(context);
  if (start !== null) return { webhook: start };
  const untilMs = now() + RUN_MS;
  const underWay = new Map<string, Promise<void>>();
  let stop: Stop | null = null;
  let failure: unknown = null;
  let more = true;
  let endedSinceRead = 0;
  const attempt = async (due: DueDelivery) => {
    try {
      stop = (await send(context, due)) ?? stop;
    } catch (error) {
      failure ??= error;
    } finally {
      underWay.delete(due.lane);
      endedSinceRead += 1;
    }
  };
  const isOpen = () => stop === null && failure === null && now() < untilMs;
  try {
    do {
      const isNews = news.take();
      if (isOpen() && (isNews || (more && (underWay.size === 0 || endedSinceRead >= PAGE_ROWS)))) {
        const found = await read(context);
        if (typeof found === 'boolean') more = found;
        else stop = found;
        endedSinceRead = 0;
      }
      if (isOpen())
        for (const due of store.due(now(), new Set(underWay.keys()), CONCURRENT_MAX - underWay.size))
          underWay.set(due.lane, attempt(due));
      if (underWay.size > 0) await Promise.race([...underWay.values(), news.wait()]);
    } while (underWay.size > 0 || (isOpen() && (store.nextDueMs() ?? Number.POSITIVE_INFINITY) <= now()));
  } finally {
    await Promise.all(underWay.values());
  }
  if (failure !== null) throw failure;
  if (store.plannedSwitchOff() !== null) stop = await switchOff(context);
  return stop === null ? { webhook: 'on', more } : { webhook: stop };
}

/** Takes over the webhook's present configuration. Returns the reason for sending nothing; `null` if it is on. */
async function configured(context: RunContext): Promise<Stop | null> {
  const { store, env, webhook, now } = context;
  if (store.plannedSwitchOff() !== null) await switchOff(context);
  const row = await findWebhook(env, webhook);
  if (row?.enabled) store.configure(row, now());
  const current = stillOn(store, row);
  return typeof current === 'string' ? current : null;
}

/** The webhook, if these are its events and it is on. */
function stillOn(store: EndpointStore, row: WebhookRow | null): WebhookRow | Stop {
  if (!row) return 'gone';
  if (row.enabled) return row.createdAtMs === store.createdAtMs() ? row : 'replaced';
  store.seenOff();
  return 'off';
}

/** Reads new events, and those of replays, as far as there is room. Returns whether there are more. */
async function read({ store, env, webhook, now }: RunContext): Promise<boolean | Stop> {
  const current = stillOn(store, await findWebhook(env, webhook));
  if (typeof current === 'string') return current;
  const { organizationId, types } = current;
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    if (store.pending() >= PENDING_MAX) return true;
    const { erasures } = store;
    const events = await findEventsAfter(env, organizationId, store.afterPlace(), PAGE_ROWS);
    // An event that was read may concern a customer who was erased since.
    if (store.erasures !== erasures) continue;
    store.takeNew(events, types, now());
    if (events.length === PAGE_ROWS) continue;
    const replay = store.replay();
    if (!replay) return false;
    const again = await findEventsBetween(env, organizationId, replay.afterId, replay.beforeId, PAGE_ROWS);
    if (store.erasures !== erasures) continue;
    store.takeReplayed(replay, again, again.length < PAGE_ROWS, types, now());
  }
  return true;
}

/** Sends an event, and records the reply. Returns the reason for sending no more; `null` if there is none. */
async function send({ store, env, webhook, now }: RunContext, due: DueDelivery): Promise<Stop | null> {
  const current = stillOn(store, await findWebhook(env, webhook));
  if (typeof current === 'string') return current;
  if (!getsType(current, due.type)) {
    store.drop(due, now());
    return null;
  }
  const sentAtMs = now();
  const reply = await sendMessage(env, current, due, sentAtMs);
  const outcome = store.record(due, reply, { sentAtMs, nowMs: now() });
  if (outcome === 'delivered') return null;
  const reason = outcome === 'gone' ? 'GONE' : store.isLost(now()) ? 'FAILING' : null;
  if (reason === null) return null;
  store.planSwitchOff({ reason, atMs: now(), updatedAtMs: current.updatedAtMs });
  return 'off';
}

/**
 * Disables the webhook, and tells the organization's other endpoints. The plan stays until all of it is done, and each
 * part may be repeated. A webhook that was changed meanwhile stays enabled.
 */
async function switchOff({ store, env, webhook, objectId }: RunContext): Promise<Stop | null> {
  const planned = store.plannedSwitchOff();
  if (planned === null) return null;
  const { organizationId, webhookId } = webhook;
  const { reason, atMs, updatedAtMs } = planned;
  // The id is the same each time, and another one for another webhook in that millisecond.
  const eventId = `${eventIdsFrom(atMs)}${(await sha256Hex(`${organizationId} ${webhookId}`)).slice(0, SUFFIX_LENGTH)}`;
  const isOff = await switchWebhookOff(
    env,
    { ...webhook, updatedAtMs },
    { reason, atMs, eventId, correlationId: objectId },
  );
  if (isOff) {
    const data = { webhookId, reason };
    const event = { eventId, type: 'webhook.disabled', atMs, customerId: null, data };
    await insertOrganizationEvents(env, organizationId, [event]);
    await wakeWebhooks(env, [organizationId]);
  }
  store.switchedOff(isOff);
  return isOff ? 'off' : 'replaced';
}
