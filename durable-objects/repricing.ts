/**
 * class Repricing: one object per job that gives calls without a price the one that was in force when they ended.
 *
 * It walks through such calls in D1, a batch per alarm, and stores its place with its totals, so that it continues after a
 * restart. The customers' objects reprice; a batch that is repeated after a failure counts the same and changes nothing.
 */
import { DurableObject } from 'cloudflare:workers';
import { ownPriceKey, resolvePriceFor } from '../src/catalog/prices.ts';
import type { Repricing as Progress } from '../src/contract/corrections.ts';
import type { Call } from '../src/domain/call.ts';
import { lacksPrice } from '../src/domain/correct-call.ts';
import { usdFromNano } from '../src/domain/money.ts';
import { costOf, type ResolvedPrice } from '../src/domain/pricing.ts';
import type { Env } from '../src/env.ts';
import type { RepricingCommand } from '../src/objects/job-commands.ts';
import type { RepricingRpc } from '../src/objects/rpc.ts';
import { errorText } from '../src/platform/log.ts';
import { DAY_MS } from '../src/platform/time.ts';
import { currentCatalog } from '../src/storage/catalog.ts';
import { loadOrganization, type OrganizationConfig } from '../src/storage/credentials.ts';
import { countUnpricedCalls, findUnpricedCalls, unpricedModels } from '../src/storage/unpriced-calls.ts';
import { put } from './stored-value.ts';

interface State extends RepricingCommand {
  /** The names under which the calls report the model; `null`: of all models. */
  names: string[] | null;
  total: number;
  done: number;
  repriced: number;
  /** Decimal nano-USD. */
  differenceNanoUsd: string;
  failures: number;
  lastError: string | null;
  startedAtMs: number;
  finishedAtMs: number | null;
  /** The last call that was looked at; `null` before the first. */
  after: { startedAtMs: number; callId: string } | null;
}

const CALLS_PER_BATCH = 100;
const RETRY_MS = 5_000;
/** A finished job can be read for this long. */
const RETENTION_MS = 30 * DAY_MS;
const KEY = 'state';
/** What the record of a call says of it. */
const REASON = 'its price became known';

export class Repricing extends DurableObject<Env> implements RepricingRpc {
  /** Starts the job; one that was started before continues. */
  async start(command: RepricingCommand): Promise<void> {
    if (await this.ctx.storage.get(KEY)) return;
    const startedAtMs = Date.now();
    const names = await this.#namesOf(command);
    const total = await countUnpricedCalls(this.env, { ...command, names });
    const counts = { total, done: 0, repriced: 0, differenceNanoUsd: '0', failures: 0, lastError: null };
    await this.#save({ ...command, ...counts, names, startedAtMs, finishedAtMs: null, after: null }, startedAtMs);
  }

  async read(organizationId: string): Promise<Progress | null> {
    const state = await this.ctx.storage.get<State>(KEY);
    return state && state.organizationId === organizationId ? present(state) : null;
  }

  override async alarm(): Promise<void> {
    const state = await this.ctx.storage.get<State>(KEY);
    if (!state) return;
    if (state.finishedAtMs !== null) return this.#retire(state.finishedAtMs + RETENTION_MS);
    try {
      await this.#step(state);
    } catch (error) {
      const lastError = errorText(error);
      await this.#save({ ...state, failures: state.failures + 1, lastError }, Date.now() + RETRY_MS);
    }
  }

  /** Deletes the job when its retention has passed. An alarm that fires early only sets the next one. */
  async #retire(atMs: number): Promise<void> {
    if (Date.now() < atMs) return this.ctx.storage.setAlarm(atMs);
    await this.ctx.storage.deleteAll();
  }

  /** The names that mean the model, of those that the calls report. */
  async #namesOf(command: RepricingCommand): Promise<string[] | null> {
    const { modelKey } = command;
    if (modelKey === null) return null;
    const { catalog } = await currentCatalog(this.env, (work) => this.ctx.waitUntil(work));
    const keyOf = (name: string) => ownPriceKey(catalog, name, Date.now());
    const wanted = keyOf(modelKey);
    return (await unpricedModels(this.env, { ...command, names: null })).filter((name) => keyOf(name) === wanted);
  }

  /** One batch, or the end. */
  async #step(state: State): Promise<void> {
    const calls = await findUnpricedCalls(this.env, state, state.after, CALLS_PER_BATCH);
    const last = calls.at(-1);
    if (!last) return this.#save({ ...state, finishedAtMs: Date.now() }, Date.now() + RETENTION_MS);
    const organization = await loadOrganization(this.env, state.organizationId);
    if (!organization) throw new Error('the organization is gone');
    let { repriced } = state;
    let difference = BigInt(state.differenceNanoUsd);
    const byCustomer = new Map<string, { callId: string; price: ResolvedPrice; old: Call }[]>();
    for (const call of calls) {
      const price = await this.#priceOf(call, organization);
      if (!price.available || !call.outcome || !lacksPrice(call.outcome)) continue;
      if (state.dryRun) {
        const priced = costOf(price.card, call.outcome.usage, call.outcome.pricingMode);
        if (!priced.known) continue;
        repriced += 1;
        difference += priced.cost.totalNanoUsd;
        continue;
      }
      const some = byCustomer.get(call.customerId) ?? [];
      byCustomer.set(call.customerId, [...some, { callId: call.callId, price, old: call }]);
    }
    const { organizationId, jobId, by } = state;
    for (const [customerId, some] of byCustomer) {
      const customer = this.env.CUSTOMERS.getByName(`${organizationId}:${customerId}`);
      const answer = await customer.repriceCalls({ organizationId, jobId, by, reason: REASON, calls: some });
      repriced += answer.repriced;
      difference += BigInt(answer.differenceNanoUsd);
    }
    await this.#save(
      {
        ...state,
        done: state.done + calls.length,
        repriced,
        differenceNanoUsd: difference.toString(),
        after: { startedAtMs: last.startedAtMs, callId: last.callId },
      },
      Date.now(),
    );
  }

  /** The price in force when the call ended. */
  async #priceOf({ outcome }: Call, organization: OrganizationConfig): Promise<ResolvedPrice> {
    if (!outcome) return { available: false, reason: 'USAGE_NOT_REPORTED' };
    const { catalog } = await currentCatalog(this.env, (work) => this.ctx.waitUntil(work));
    const reported = { modelUsed: outcome.modelUsed ?? undefined, providerUsed: outcome.providerUsed ?? undefined };
    return resolvePriceFor(catalog, organization.prices, reported, outcome.usage, outcome.endedAtMs);
  }

  async #save(state: State, wakeAtMs: number): Promise<void> {
    await this.ctx.storage.transaction(async (transaction) => {
      await put(transaction, KEY, state);
      await transaction.setAlarm(wakeAtMs);
    });
  }
}

function present(state: State): Progress {
  const { jobId, modelKey, fromMs, toMs, dryRun, done, total, repriced, differenceNanoUsd } = state;
  const { failures, lastError, startedAtMs, finishedAtMs } = state;
  return {
    jobId,
    modelKey,
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    dryRun,
    status: finishedAtMs === null ? 'RUNNING' : 'COMPLETED',
    done,
    total,
    repriced,
    differenceUSD: usdFromNano(BigInt(differenceNanoUsd)),
    differenceNanoUsd,
    failures,
    lastError,
    startedAt: new Date(startedAtMs).toISOString(),
    finishedAt: finishedAtMs === null ? null : new Date(finishedAtMs).toISOString(),
  };
}
