/**
 * class CompressionJob: one object per job that estimates the savings of a compression profile on stored samples.
 *
 * It walks the samples in D1 from the oldest to the newest, as many per alarm as fit into memory at once, and stores
 * its position with its totals, so that a restart continues there. Profile, period and own prices are fixed at the
 * start. Only counts and a sample's id are stored here, no text.
 */

import { DurableObject } from 'cloudflare:workers';
import { type OwnPrices, resolvePrice } from '../src/catalog/prices.ts';
import { meaningMayChange } from '../src/compression/levels.ts';
import { currentCatalog } from '../src/config/catalog.ts';
import { leaveEstimate } from '../src/config/estimates.ts';
import type { CompressionJob as Progress } from '../src/contract/compression.ts';
import { savingsRatio } from '../src/domain/compression.ts';
import type { OrganizationId } from '../src/domain/ids.ts';
import { usdFromNano } from '../src/domain/money.ts';
import { standardRate } from '../src/domain/price.ts';
import type { Env } from '../src/env.ts';
import { findSamples, readPayloads, type SamplePlace, type SampleRow } from '../src/history/samples.ts';
import type { EstimateCommand } from '../src/objects/job-commands.ts';
import type { CompressionJobRpc } from '../src/objects/rpc.ts';
import { log } from '../src/platform/log.ts';
import { addSample, listTechniques, NO_TOTALS, type Totals } from './compression-job/estimate.ts';
import { type JobState, newJob, presentJob, StoredJob } from './job.ts';
import { runAlarm } from './newer-state.ts';
import { StoredValue } from './stored-value.ts';

interface State extends EstimateCommand, JobState {
  total: number;
  done: number;
  unreadable: number;
  totals: Totals;
  /** The sample that became shorter by most. Absent if an earlier version began the job. */
  example?: { sampleId: string; savedTokens: number } | null;
  /** The last sample that was looked at; `null` before the first. */
  after: SamplePlace | null;
}

/** The most samples of one alarm. Their readers bound the bytes of their payloads. */
const SAMPLES_PER_STEP = 50;
/** A longer payload, in characters, is not an example: nobody reads it. */
const EXAMPLE_LENGTH_MAX = 6_000;
/** The prices, in parts with numbers. */
const PRICES = new StoredValue<OwnPrices>('prices ', [(stored) => stored as OwnPrices]);
/** The number of prices in one stored value: names of models may be long. */
const PRICES_PER_PART = 200;

export class CompressionJob extends DurableObject<Env> implements CompressionJobRpc {
  readonly #job = new StoredJob<State>(this.ctx.storage);

  /**
   * Begins the job, which has `total` samples to look at; a job that began before continues. `null` if another job has
   * the id.
   */
  async start(
    job: EstimateCommand,
    prices: OwnPrices,
    total: number,
  ): Promise<{ status: Progress['status']; replayed: boolean } | null> {
    const startedAtMs = Date.now();
    const known = await this.#job.state();
    if (known)
      return known.fingerprint === job.fingerprint ? { status: presentJob(known).status, replayed: true } : null;
    const counts = { total, done: 0, unreadable: 0, totals: NO_TOTALS, example: null };
    const state = { ...job, ...newJob(startedAtMs), ...counts, after: null };
    await this.#savePrices(prices);
    await this.#job.save(state, startedAtMs);
    return { status: presentJob(state).status, replayed: false };
  }

  async read(organizationId: OrganizationId): Promise<Progress | null> {
    const state = await this.#job.stateFor(organizationId);
    return state && present(state);
  }

  override alarm(): Promise<void> {
    return runAlarm(this.ctx, () => this.#job.wake((state) => this.#step(state)));
  }

  /** Looks at as many samples as fit into memory, or ends the job. */
  async #step(state: State): Promise<void> {
    const { organizationId, jobId, filter, after } = state;
    const nowMs = Date.now();
    const rows = await findSamples(this.env, organizationId, filter, {
      order: 'oldest',
      after,
      limit: SAMPLES_PER_STEP,
      nowMs,
    });
    if (rows.length === 0) {
      await leaveEstimate(this.env, organizationId, jobId);
      return this.#job.finish(state, nowMs);
    }
    const { read, samples } = await readPayloads(this.env, organizationId, rows);
    const prices = await this.#prices();
    let next = state;
    for (const { row, payload } of samples) next = await this.#look(next, row, payload, prices);
    const last = rows[read - 1];
    if (!last) throw new Error('a step looks at one sample at least');
    await this.#job.save({ ...next, after: { receivedAtMs: last.receivedAtMs, sampleId: last.sampleId } }, nowMs);
  }

  async #savePrices(prices: OwnPrices): Promise<void> {
    const all = [...prices];
    for (let from = 0; from < all.length; from += PRICES_PER_PART) {
      await PRICES.putOne(this.ctx.storage, String(from), new Map(all.slice(from, from + PRICES_PER_PART)));
    }
  }

  async #prices(): Promise<OwnPrices> {
    const parts = await PRICES.list(this.ctx.storage);
    return new Map([...parts.values()].flatMap((part) => [...part]));
  }

  /** Looks at one sample. If it cannot be compressed, it is counted, and the job continues. */
  async #look(
    state: State,
    { sampleId, provider, model }: SampleRow,
    payload: string,
    prices: OwnPrices,
  ): Promise<State> {
    const { catalog } = await currentCatalog(this.env, (work) => this.ctx.waitUntil(work));
    const price = await resolvePrice(
      catalog,
      prices,
      { providerUsed: provider, modelUsed: model ?? undefined },
      state.startedAtMs,
    );
    const done = state.done + 1;
    try {
      const { input } = JSON.parse(payload) as { input: unknown };
      const inputRate = price.available ? standardRate(price.card, 'input') : null;
      const totals = addSample(state.totals, input, state.profile, inputRate);
      const savedTokens = savedBy(totals) - savedBy(state.totals);
      const isExample = payload.length <= EXAMPLE_LENGTH_MAX && savedTokens > (state.example?.savedTokens ?? 0);
      return { ...state, done, totals, example: isExample ? { sampleId, savedTokens } : (state.example ?? null) };
    } catch (error) {
      log('warn', 'sample_not_compressed', { jobId: state.jobId }, error);
      return { ...state, done, unreadable: state.unreadable + 1 };
    }
  }
}

const savedBy = ({ originalTokens, compressedTokens }: Totals) => originalTokens - compressedTokens;

function present(state: State): Progress {
  const { total, done, unreadable, totals, example, profile } = state;
  const { originalTokens, compressedTokens, costAvoidedNanoUsd, unpricedSamples } = totals;
  const savedTokens = savedBy(totals);
  const techniques = listTechniques(totals);
  return {
    ...presentJob(state),
    progress: { total, done },
    originalTokens,
    compressedTokens,
    savedTokens,
    tokenSavingsRatio: savingsRatio(originalTokens, savedTokens),
    costAvoidedUSD: usdFromNano(costAvoidedNanoUsd),
    costAvoidedUsdNano: costAvoidedNanoUsd.toString(),
    unpricedSamples,
    unreadableSamples: unreadable,
    countedBy: 'ESTIMATE',
    meaningMayChange: meaningMayChange(profile.aggressiveness),
    techniques: techniques.map(({ technique: name, originalTokens: before, savedTokens: saved }) => ({
      name,
      originalTokens: before,
      compressedTokens: before - saved,
      savedTokens: saved,
    })),
    byTechnique: techniques.map(({ technique, samples, savedTokens: saved, costAvoidedNanoUsd: avoided }) => ({
      technique,
      samples,
      savedTokens: saved,
      costAvoidedUSD: usdFromNano(avoided),
      costAvoidedUsdNano: avoided.toString(),
    })),
    exampleSampleId: example?.sampleId ?? null,
    profile,
  };
}
