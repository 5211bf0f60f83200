/**
 * class Projector: brings the changes of many customers to D1.
 *
 * A customer's object hands over a page of changes, and waits for the answer. Within a second, what came from all
 * customers goes to D1 as one transaction, and they are answered. What D1 does not take in three seconds is stored as it
 * came, and answered: from then on this object answers for it, and what comes is stored too, until D1 has everything.
 */

import { DurableObject } from 'cloudflare:workers';
import type { CustomerKey, OrganizationId } from '../src/domain/ids.ts';
import type { Env } from '../src/env.ts';
import { wakeWebhooks } from '../src/events/webhooks/endpoints.ts';
import type {
  HandOver,
  ProjectorState,
  ResentChanges,
  SetAsideChange,
  Whose,
} from '../src/objects/projector-commands.ts';
import type { ProjectorRpc } from '../src/objects/rpc.ts';
import type { CronRun, RequestFigures, ServiceFigures } from '../src/objects/service-figures.ts';
import { log } from '../src/platform/log.ts';
import { withTimeout } from '../src/platform/timeout.ts';
import { GroupCommit } from './group-commit.ts';
import { prepareObject, runAlarm } from './newer-state.ts';
import { type DeliveryContext, deliver, deliverGathered } from './projector/deliver.ts';
import { DELAY_MS, ProjectorStore } from './projector/store.ts';

/** Pages that come within this time are stored with one commit: no request waits for them. */
const GATHER_MS = 50;
/** After an alarm that failed in a way nobody foresaw. */
const RETRY_MS = 30_000;
/** Webhooks that do not take notice in time are told again. */
const WAKE_TIMEOUT_MS = 15_000;

export class Projector extends DurableObject<Env> implements ProjectorRpc {
  #opened: ProjectorStore | null = null;
  readonly #commits = new GroupCommit({ gatherMs: GATHER_MS });
  #isWaking = false;
  #isDelivering = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    void ctx.blockConcurrencyWhile(() => prepareObject(() => this.#store.load()));
  }

  async take(handOver: HandOver): Promise<{ isBusy: boolean }> {
    const store = this.#store;
    if (!store.gathered.hasRoomFor(handOver)) store.storeGathered(Date.now());
    // What is stored goes first.
    if (store.hasPages()) return this.#commits.run(() => store.take(handOver, Date.now()), handOver.page.length);
    const taken = store.gathered.add(handOver);
    this.#deliverSoon(handOver.more ? 0 : DELAY_MS);
    await taken;
    return { isBusy: store.isBusy(Date.now()) };
  }

  state(whose: Whose): ProjectorState {
    return this.#store.state(whose, Date.now());
  }

  listSetAside(organizationId: OrganizationId, afterPlace: number, rowsMax: number): SetAsideChange[] {
    return this.#store.setAside.list(organizationId, afterPlace, rowsMax);
  }

  resendSetAside(organizationId: OrganizationId): ResentChanges {
    return this.#store.resend(organizationId, Date.now());
  }

  recordRequests(figures: RequestFigures[]): void {
    this.ctx.storage.transactionSync(() => this.#store.log.addRequests(figures));
  }

  recordRun(run: CronRun): void {
    this.#store.log.addRun(run);
  }

  figures(sinceMs: number): ServiceFigures {
    return this.#store.log.figures(sinceMs);
  }

  /** A delivery that is under way, or was given up, finds the customer's subscription marked in D1. */
  erase(customer: CustomerKey): void {
    this.#store.erase(customer);
  }

  override alarm(): Promise<void> {
    return runAlarm(this.ctx, () => this.#run(this.#store));
  }

  get #store(): ProjectorStore {
    this.#opened ??= new ProjectorStore(this.ctx.storage);
    return this.#opened;
  }

  /** Pages that come during a delivery gather for the next one. */
  #deliverSoon(delayMs: number): void {
    if (this.#isDelivering || (this.#timer !== undefined && delayMs > 0)) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#deliverGathered().catch((error: unknown) =>
        log('error', 'delivery_broke', { objectId: this.ctx.id.toString() }, error),
      );
    }, delayMs);
  }

  async #deliverGathered(): Promise<void> {
    this.#isDelivering = true;
    try {
      await deliverGathered(this.#deliveryContext(this.#store));
    } finally {
      this.#isDelivering = false;
      if (!this.#store.gathered.isEmpty) this.#deliverSoon(DELAY_MS);
    }
    await this.#wakeWebhooks();
  }

  #deliveryContext(store: ProjectorStore): DeliveryContext {
    return { store, env: this.env, objectId: this.ctx.id.toString(), now: Date.now };
  }

  async #run(store: ProjectorStore): Promise<void> {
    store.alarmFired();
    try {
      await deliver(this.#deliveryContext(store));
      await store.rewriteRows();
    } catch (error) {
      log('error', 'alarm_failed', { objectId: this.ctx.id.toString() }, error);
      store.wakeAt(Date.now() + RETRY_MS);
    }
    await this.#wakeWebhooks();
  }

  /**
   * Wakes the webhooks of organizations with new events. History does not wait for that: what takes longer than a page waits
   * anyway goes on beside the next deliveries, and what fails is done again by a later alarm.
   */
  async #wakeWebhooks(): Promise<void> {
    const told = this.#isWaking ? [] : this.#store.toWake();
    if (told.length > 0) {
      this.#isWaking = true;
      const organizationIds = told.map(({ organizationId }) => organizationId);
      const woken = withTimeout(wakeWebhooks(this.env, organizationIds), WAKE_TIMEOUT_MS, 'a webhook')
        .then(() => this.#store.woken(told))
        .catch((error: unknown) => log('warn', 'webhooks_not_woken', { objectId: this.ctx.id.toString() }, error))
        .finally(() => {
          this.#isWaking = false;
        });
      this.ctx.waitUntil(woken);
      await Promise.race([woken, scheduler.wait(DELAY_MS)]);
    }
    this.#store.wakeForWebhooks(Date.now());
  }
}
