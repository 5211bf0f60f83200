/**
 * class WebhookEndpoint: one object per webhook, which sends the organization's events to its endpoint.
 *
 * A recorder of events wakes it, and its alarm does the rest: it reads the new events in D1 after its position, and
 * sends each until it is delivered or given up (webhook-endpoint/run.ts). A slow endpoint delays no other.
 */

import { DurableObject } from 'cloudflare:workers';
import { findWebhook } from '../src/config/webhooks.ts';
import { TEST_EVENT_TYPE } from '../src/contract/webhooks.ts';
import type { CustomerId } from '../src/domain/ids.ts';
import { deliveryOutcome, type WebhookKey } from '../src/domain/webhook-delivery.ts';
import type { Env } from '../src/env.ts';
import { sendMessage } from '../src/events/webhooks/send.ts';
import { getsType } from '../src/events/webhooks/types.ts';
import { findRecordedEvent } from '../src/history/organization-events.ts';
import type { WebhookEndpointRpc } from '../src/objects/rpc.ts';
import type { DeliveryRow, EndpointState, SentAgain, TestResult } from '../src/objects/webhook-commands.ts';
import { newEventId } from '../src/platform/event-id.ts';
import { log } from '../src/platform/log.ts';
import { DAY_MS } from '../src/platform/time.ts';
import { prepareObject, runAlarm } from './newer-state.ts';
import { REWRITE_PAUSE_MS } from './schema.ts';
import { run, Signal } from './webhook-endpoint/run.ts';
import { EndpointStore } from './webhook-endpoint/store.ts';

/** The wait after a run that D1 or the configuration prevented. */
const RETRY_MS = 10_000;
/** The interval while there are rows: deliveries past their time are removed, and a deleted webhook is noticed. */
const HOUSEKEEPING_MS = DAY_MS;

export class WebhookEndpoint extends DurableObject<Env> implements WebhookEndpointRpc {
  readonly #news = new Signal();
  #opened: EndpointStore | null = null;
  #alarmMs: number | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    void ctx.blockConcurrencyWhile(async () => {
      this.#alarmMs = await ctx.storage.getAlarm();
      await prepareObject(async () => {
        if (this.#store.schema.hasUnfinished) this.#wakeBy(Date.now());
      });
    });
  }

  wake(webhook: WebhookKey): void {
    this.#store.know(webhook);
    // The current run reads on. The alarm is for an object that is killed before that.
    this.#wakeBy(Date.now());
    this.#news.set();
  }

  state(): EndpointState {
    return this.#store.state();
  }

  listDeliveries(before: number | null, rowsMax: number): DeliveryRow[] {
    return this.#store.list(before, rowsMax);
  }

  async sendTest(webhook: WebhookKey): Promise<TestResult | null> {
    const row = await findWebhook(this.env, webhook);
    if (!row?.enabled) return null;
    const store = this.#store;
    const sentAtMs = Date.now();
    const message = { ...testMessage(webhook), eventId: newEventId(sentAtMs), atMs: sentAtMs };
    const reply = await sendMessage(this.env, row, message, sentAtMs);
    store.know(webhook);
    store.recordTest(message, reply, Date.now());
    this.#wakeBy(Date.now() + HOUSEKEEPING_MS);
    const delivered = deliveryOutcome(reply.status) === 'delivered';
    return { eventId: message.eventId, delivered, answerStatus: reply.status, answer: reply.answer };
  }

  replay(webhook: WebhookKey, afterId: string, beforeId: string): boolean {
    this.#store.know(webhook);
    const hasStarted = this.#store.addReplay(afterId, beforeId);
    if (hasStarted) this.wake(webhook);
    return hasStarted;
  }

  async sendAgain(webhook: WebhookKey, eventId: string): Promise<SentAgain> {
    const row = await findWebhook(this.env, webhook);
    if (!row?.enabled) return 'off';
    const store = this.#store;
    const known = store.find(eventId);
    const { erasures } = store;
    const event =
      known?.type === TEST_EVENT_TYPE
        ? { ...known, ...testMessage(webhook) }
        : await findRecordedEvent(this.env, webhook.organizationId, eventId);
    // It may concern a customer who was erased while it was read.
    if (!event || store.erasures !== erasures) return 'unknown';
    if (!getsType(row, event.type)) return 'unwanted';
    store.know(webhook);
    store.resend(event, Date.now());
    this.wake(webhook);
    return 'sent';
  }

  forgetAnswers(): void {
    this.#store.forgetAnswers();
  }

  erase(customerId: CustomerId): void {
    this.#store.erase(customerId);
  }

  override alarm(): Promise<void> {
    this.#alarmMs = null;
    return runAlarm(this.ctx, () => this.#run());
  }

  async #run(): Promise<void> {
    const store = this.#store;
    const webhook = store.webhook();
    if (!webhook) return;
    const objectId = this.ctx.id.toString();
    try {
      const result = await run({ store, env: this.env, webhook, objectId, news: this.#news, now: Date.now });
      if (result.webhook === 'gone') return await this.#forget();
      store.prune(Date.now());
      if (result.webhook === 'on') {
        const dueMs = result.more && store.nextDueMs() === null ? Date.now() : store.nextDueMs();
        if (dueMs !== null) this.#wakeBy(dueMs);
      } else if (result.webhook === 'replaced') this.#wakeBy(Date.now());
      if (!store.isEmpty()) this.#wakeBy(Date.now() + HOUSEKEEPING_MS);
      await store.schema.rewriteRows();
      if (store.schema.hasUnfinished) this.#wakeBy(Date.now() + REWRITE_PAUSE_MS);
    } catch (error) {
      log('warn', 'webhook_run_failed', { objectId }, error);
      this.#wakeBy(Date.now() + RETRY_MS);
    }
  }

  get #store(): EndpointStore {
    this.#opened ??= new EndpointStore(this.ctx.storage);
    return this.#opened;
  }

  /** The alarm and the rows of the same turn become durable together. */
  #wakeBy(atMs: number): void {
    if (this.#alarmMs !== null && this.#alarmMs <= atMs) return;
    this.#alarmMs = atMs;
    void this.ctx.storage.setAlarm(atMs);
  }

  /** The webhook is gone: none of its data stays. */
  async #forget(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#opened = null;
    this.#alarmMs = null;
  }
}

/** A test only concerns the webhook, so it can be made again. */
function testMessage({ webhookId }: WebhookKey): { type: string; data: string } {
  return { type: TEST_EVENT_TYPE, data: JSON.stringify({ webhookId }) };
}
