/**
 * The Worker that writes the demo's history. It uses the service's own classes, except that the customer's object runs
 * commands at given times. It runs only on the developer's machine, while the real Worker does not; it is never
 * deployed, and no request to the service can set a clock.
 *
 * Commands, storage, outbox and projectors are the real ones, so D1 follows the object as usual.
 */

import { DurableObject } from 'cloudflare:workers';
import { currentCatalog } from '../../src/config/catalog.ts';
import { loadOrganization } from '../../src/config/credentials.ts';
import { databaseNames } from '../../src/config/database.ts';
import { findNewestPlan } from '../../src/config/plans.ts';
import { DEMO_CUSTOMERS, type DemoCustomer } from '../../src/demo/people.ts';
import { asOrganizationId, type CustomerKey, type OrganizationId } from '../../src/domain/ids.ts';
import type { Env } from '../../src/env.ts';
import { runArchive } from '../../src/history/archive/run.ts';
import { eraseProjection } from '../../src/history/erasure.ts';
import type { HandOver } from '../../src/objects/projector-commands.ts';
import { projectorState } from '../../src/objects/projectors.ts';
import { CustomerStore } from '../customer/store.ts';
import { Projector as ServiceProjector } from '../projector.ts';
import { replayHistory, type Stage } from './replay.ts';

export { CallDirectory } from '../call-directory.ts';
export { CompressionJob } from '../compression-job.ts';
export { CustomerBatches } from '../customer-batches.ts';
export { GatewayBatch } from '../gateway-batch.ts';
export { OrganizationWatch } from '../organization-watch.ts';
export { PlanMigration } from '../plan-migration.ts';
export { Repricing } from '../repricing.ts';
export { WebhookEndpoint } from '../webhook-endpoint.ts';

/** The most rounds in which D1 may receive the last rows. */
const DELIVERY_ROUNDS_MAX = 600;
const DELIVERY_ROUND_MS = 100;
const PLAN_IDS = ['free', 'pro', 'scale'];
/** Key in KV: `writing` while a history is written, `written` afterwards. */
const writtenMark = ({ organizationId, customerId }: CustomerKey) => `demo-history:${organizationId}:${customerId}`;

type Surroundings = Pick<Stage, 'organizationId' | 'plans' | 'models' | 'catalog'>;

export class Customer extends DurableObject<Env> {
  #store: CustomerStore;
  #telling = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#store = new CustomerStore(ctx.storage);
    void ctx.blockConcurrencyWhile(() => this.#store.load());
  }

  isSeen(): boolean {
    return this.#store.account() !== null;
  }

  /** An interrupted history is written again from its beginning. */
  async forget(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#store = new CustomerStore(this.ctx.storage);
    await this.#store.load();
  }

  async tell(customer: DemoCustomer, surroundings: Surroundings, untilMs: number): Promise<number> {
    const { env } = this;
    this.#telling = true;
    const calls = await replayHistory(
      {
        ...surroundings,
        store: this.#store,
        objectId: this.ctx.id.toString(),
        env,
        deadlineSeconds: { standard: env.CALL_DEADLINE_SECONDS, batch: env.BATCH_CALL_DEADLINE_SECONDS },
      },
      customer,
      untilMs,
    );
    this.#telling = false;
    this.#rearm();
    return calls;
  }

  /** Sets no alarm in the past: the history does that work itself. */
  override async alarm(): Promise<void> {
    this.#store.alarmFired(Date.now());
    if (!this.#telling) this.#rearm();
  }

  /** Sets the alarm for work that is due from now on. */
  #rearm(): void {
    void this.ctx.storage.deleteAlarm();
    this.#store.alarmFired(Date.now());
    this.#store.transaction(Date.now(), () => undefined);
  }
}

/** Changes that tell of the past were made just now: health shows how long a change waited, not how old it is. */
export class Projector extends ServiceProjector {
  override take(handOver: HandOver): ReturnType<ServiceProjector['take']> {
    return super.take({ ...handOver, sinceMs: Date.now() });
  }
}

/** `POST /{organizationId}` with the operator's token: writes the history of every demo customer that has none. */
export default {
  async fetch(request, env) {
    const isOperator =
      env.OPERATOR_TOKEN !== undefined && request.headers.get('Authorization') === `Bearer ${env.OPERATOR_TOKEN}`;
    if (request.method !== 'POST' || !isOperator) return new Response(null, { status: 404 });
    const organizationId = asOrganizationId(new URL(request.url).pathname.slice(1));
    const untilMs = Date.now();
    const surroundings = await loadSurroundings(env, organizationId);
    // They run together, so that a projector stores the pages of several customers at a time.
    const counts = await Promise.all(
      DEMO_CUSTOMERS.map(async (customer) => [
        customer.customerId,
        await tellOnce(env, surroundings, customer, untilMs),
      ]),
    );
    const written = Object.fromEntries(counts.filter(([, calls]) => calls !== null));
    await delivered(env);
    // Archives the days that a service would have archived meanwhile.
    await runArchive(env, untilMs);
    return Response.json(written);
  },
} satisfies ExportedHandler<Env>;

/** Waits until D1 has the written rows. */
async function delivered(env: Env): Promise<void> {
  for (let round = 0; round < DELIVERY_ROUNDS_MAX; round += 1) {
    if ((await projectorState(env, databaseNames(env))).waiting.changes === 0) return;
    await scheduler.wait(DELIVERY_ROUND_MS);
  }
  throw new Error('the history does not reach D1');
}

async function loadSurroundings(env: Env, organizationId: OrganizationId): Promise<Surroundings> {
  const organization = await loadOrganization(env, organizationId);
  if (!organization) throw new Error(`there is no organization ${organizationId}`);
  const found = await Promise.all(PLAN_IDS.map((planId) => findNewestPlan(env, organizationId, planId)));
  const plans = new Map(found.filter((plan) => plan !== null).map((plan) => [plan.planId, plan]));
  const { catalog } = await currentCatalog(env, () => undefined);
  return { organizationId, plans, models: organization.models, catalog };
}

/** The number of written calls; `null` if the history exists, or the customer is not a demo customer. */
async function tellOnce(
  env: Env,
  surroundings: Surroundings,
  customer: DemoCustomer,
  untilMs: number,
): Promise<number | null> {
  const { organizationId } = surroundings;
  const key = { organizationId, customerId: customer.customerId };
  const mark = writtenMark(key);
  const state = await env.KV.get(mark);
  const object = (env.CUSTOMERS as unknown as DurableObjectNamespace<Customer>).getByName(
    `${organizationId}:${customer.customerId}`,
  );
  if (state === 'written' || (state === null && (await object.isSeen()))) return null;
  if (state === 'writing') {
    await object.forget();
    await eraseProjection(env, key);
  }
  await env.KV.put(mark, 'writing');
  const calls = await object.tell(customer, surroundings, untilMs);
  await env.KV.put(mark, 'written');
  return calls;
}
