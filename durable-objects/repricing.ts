/**
 * class Repricing: one object per job that gives each call without a price the price that was in force when it ended.
 *
 * It walks through such calls in D1, a batch per alarm, and stores its position with its totals, so that it continues
 * after a restart. The customers' objects reprice. The calls of a batch are stored before they are repriced, because D1
 * would not find them again: a batch that is repeated after a failure counts the same and changes nothing.
 */

import { DurableObject } from 'cloudflare:workers';
import { ownPriceKey, pricedParts, resolvePriceFor } from '../src/catalog/prices.ts';
import { currentCatalog } from '../src/config/catalog.ts';
import { loadOrganization, type OrganizationConfig } from '../src/config/credentials.ts';
import type { Repricing as Progress } from '../src/contract/corrections.ts';
import type { Call, CallOutcome } from '../src/domain/call.ts';
import {
  addedCost,
  lacksPrice,
  type NewPrices,
  otherParts,
  repricedCost,
  usageOfAnswer,
} from '../src/domain/correct-call.ts';
import type { CallId, OrganizationId } from '../src/domain/ids.ts';
import { usdFromNano } from '../src/domain/money.ts';
import type { Env } from '../src/env.ts';
import { findOldCalls } from '../src/history/calls.ts';
import { countUnpricedCalls, findUnpricedCalls, unpricedModels } from '../src/history/unpriced-calls.ts';
import type { RepriceCallsCommand } from '../src/objects/customer-commands.ts';
import type { RepricingCommand } from '../src/objects/job-commands.ts';
import type { RepricingRpc } from '../src/objects/rpc.ts';
import { type JobState, newJob, presentJob, StoredJob } from './job.ts';
import { runAlarm } from './newer-state.ts';

interface State extends RepricingCommand, JobState {
  /** The names under which the calls report the model; `null` means all models. */
  names: string[] | null;
  total: number;
  done: number;
  repriced: number;
  /** Decimal nano-USD. */
  differenceNanoUsd: string;
  /** The last call that was looked at; `null` before the first. */
  after: Place | null;
  /** The batch that has begun; absent between batches. */
  batch?: { callIds: CallId[]; last: Place } | undefined;
}

interface Place {
  startedAtMs: number;
  callId: CallId;
}

const CALLS_PER_BATCH = 100;
/** The reason in the record of a call. */
const REASON = 'its price became known';

export class Repricing extends DurableObject<Env> implements RepricingRpc {
  readonly #job = new StoredJob<State>(this.ctx.storage);

  /** Starts the job; one that was started before continues. */
  async start(command: RepricingCommand): Promise<void> {
    if (await this.#job.state()) return;
    const startedAtMs = Date.now();
    const names = await this.#namesOf(command);
    const total = await countUnpricedCalls(this.env, { ...command, names });
    const counts = { total, done: 0, repriced: 0, differenceNanoUsd: '0' };
    await this.#job.save({ ...command, ...newJob(startedAtMs), ...counts, names, after: null }, startedAtMs);
  }

  async read(organizationId: OrganizationId): Promise<Progress | null> {
    const state = await this.#job.stateFor(organizationId);
    return state && present(state);
  }

  override alarm(): Promise<void> {
    return runAlarm(this.ctx, () => this.#job.wake((state) => this.#step(state)));
  }

  /** The names that mean the model, among those that the calls report. */
  async #namesOf(command: RepricingCommand): Promise<string[] | null> {
    const { modelKey } = command;
    if (modelKey === null) return null;
    const { catalog } = await currentCatalog(this.env, (work) => this.ctx.waitUntil(work));
    const priceKey = (name: string) => ownPriceKey(catalog, name, Date.now());
    const wanted = priceKey(modelKey);
    return (await unpricedModels(this.env, { ...command, names: null })).filter((name) => priceKey(name) === wanted);
  }

  /** Makes one batch, or ends the job. */
  async #step(state: State): Promise<void> {
    const calls = state.batch
      ? await findOldCalls(this.env, state.organizationId, state.batch.callIds)
      : await findUnpricedCalls(this.env, state, state.after, CALLS_PER_BATCH);
    const batch = state.batch ?? toBatch(calls);
    if (!batch) return this.#job.finish(state, Date.now());
    if (!state.batch) await this.#job.save({ ...state, batch }, Date.now());
    const { repriced, differenceNanoUsd } = await this.#reprice(state, calls);
    await this.#job.save(
      {
        ...state,
        done: state.done + batch.callIds.length,
        repriced: state.repriced + repriced,
        differenceNanoUsd: (BigInt(state.differenceNanoUsd) + differenceNanoUsd).toString(),
        after: batch.last,
        batch: undefined,
      },
      Date.now(),
    );
  }

  /** The number of the calls that get a price from the job, or would get one, and the additional cost. */
  async #reprice(state: State, calls: Call[]): Promise<{ repriced: number; differenceNanoUsd: bigint }> {
    const { organizationId, jobId, by } = state;
    const organization = await loadOrganization(this.env, organizationId);
    if (!organization) throw new Error('the organization is gone');
    let repriced = 0;
    let differenceNanoUsd = 0n;
    const count = (times: number, cost: bigint) => {
      repriced += times;
      differenceNanoUsd += cost;
    };
    const byCustomer = new Map<string, RepriceCallsCommand['calls']>();
    for (const call of calls) {
      const cost = repricedCost(call, jobId);
      if (cost !== null) count(1, cost);
      if (cost !== null || !call.outcome || !lacksPrice(call.outcome)) continue;
      const prices = await this.#pricesOf(call.outcome, organization);
      if (!prices.price.available) continue;
      if (state.dryRun) {
        const added = addedCost(call.outcome, prices);
        if (added !== null) count(1, added);
        continue;
      }
      const some = byCustomer.get(call.customerId) ?? [];
      byCustomer.set(call.customerId, [...some, { callId: call.callId, ...prices, old: call }]);
    }
    for (const [customerId, some] of byCustomer) {
      const customer = this.env.CUSTOMERS.getByName(`${organizationId}:${customerId}`);
      const answer = await customer.repriceCalls({ organizationId, jobId, by, reason: REASON, calls: some });
      count(answer.repriced, BigInt(answer.differenceNanoUsd));
    }
    return { repriced, differenceNanoUsd };
  }

  /** The prices in force when the call ended. */
  async #pricesOf(outcome: CallOutcome, { prices }: OrganizationConfig): Promise<NewPrices> {
    const { catalog } = await currentCatalog(this.env, (work) => this.ctx.waitUntil(work));
    const reported = { modelUsed: outcome.modelUsed ?? undefined, providerUsed: outcome.providerUsed ?? undefined };
    return {
      price: await resolvePriceFor(catalog, prices, reported, usageOfAnswer(outcome), outcome.endedAtMs),
      parts: await pricedParts(catalog, prices, otherParts(outcome), outcome.endedAtMs),
    };
  }
}

function toBatch(calls: Call[]): State['batch'] {
  const last = calls.at(-1);
  return (
    last && { callIds: calls.map(({ callId }) => callId), last: { startedAtMs: last.startedAtMs, callId: last.callId } }
  );
}

function present(state: State): Progress {
  const { modelKey, fromMs, toMs, dryRun, done, total, repriced, differenceNanoUsd } = state;
  return {
    ...presentJob(state),
    modelKey,
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    dryRun,
    done,
    total,
    repriced,
    differenceUSD: usdFromNano(BigInt(differenceNanoUsd)),
    differenceNanoUsd,
  };
}
