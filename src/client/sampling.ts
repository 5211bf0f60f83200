/**
 * Samples calls for review by the organization's policy. The decision is made in the application.
 *
 * ```ts
 * import { createClient } from 'callmeter/client';
 * import { createSampler } from 'callmeter/client/sampling';
 *
 * const callmeter = createClient({ apiKey: process.env.CALLMETER_KEY, baseUrl: 'http://127.0.0.1:8787' });
 * const sampler = createSampler(callmeter);
 * await sampler.offer({
 *   customerId: 'alice',
 *   feature: 'chat',
 *   provider: 'openai',
 *   model: 'gpt-6-luna',
 *   input: 'What is the capital of France?',
 *   output: 'Paris',
 *   inputTokens: 9,
 * });
 * ```
 *
 * The policy is cached as long as its `Cache-Control` says and revalidated by ETag. Only selected calls leave the
 * application. Without a policy in force nothing is sampled, because a customer may just have been excluded.
 */
import { candidateTokens, decideSampling, decisionId, hashFraction, sampledText } from '../domain/sampling.ts';
import type { Client } from './client.ts';
import { readSettingsOf } from './conditional.ts';
import type { CallmeterError } from './errors.ts';
import type { RequestOptions } from './methods.ts';
import type { Answers, Inputs } from './wire.ts';

type SamplingSettings = Answers['readSamplingSettings'];

/** The input of a sampling decision. */
export type SamplingQuestion = Inputs['decideSampling'];
/** The decision, or that the policy could not be read. */
export type LocalDecision =
  | Answers['decideSampling']
  | { sample: false; reason: 'POLICY_UNAVAILABLE'; samplingKey: string; error: CallmeterError };
/** The sample of a call, without `decisionId` and `policyVersion`, which the decision adds. */
export type OfferedSample = Omit<Inputs['storeSample'], 'decisionId' | 'policyVersion'> &
  Omit<SamplingQuestion, 'customerId' | 'feature'>;

export interface OfferedOutcome {
  decision: LocalDecision;
  /** `null` if the call was not selected or could not be stored. */
  stored: Answers['storeSample'] | null;
  error: CallmeterError | null;
}

export interface Sampler {
  /** Decides without sending any data of the call. */
  decide(question: SamplingQuestion): Promise<LocalDecision>;
  /**
   * Decides, and stores the sample of a selected call. A failure is part of the outcome: `offer` does not reject for
   * it.
   */
  offer(sample: OfferedSample, options?: RequestOptions): Promise<OfferedOutcome>;
}

/** How long to wait before reading the policy again after a failure. */
const RETRY_AFTER_MS = 10_000;

interface Held {
  settings: SamplingSettings;
  etag: string | null;
  freshUntilMs: number;
}

type Settled = { settings: SamplingSettings } | { error: CallmeterError };

export function createSampler(callmeter: Pick<Client, 'readSamplingSettings' | 'storeSample'>): Sampler {
  const policy = new PolicyCache(callmeter);
  const decide = async (question: SamplingQuestion): Promise<LocalDecision> => {
    const { customerId, feature, samplingKey = crypto.randomUUID() } = question;
    const settled = await policy.inForce();
    if ('error' in settled) return { sample: false, reason: 'POLICY_UNAVAILABLE', samplingKey, error: settled.error };
    const { settings } = settled;
    const hash = await sha256Hex(sampledText(settings.version, samplingKey));
    const decision = decideSampling(
      settings,
      { customerId, feature, inputTokens: candidateTokens(question) },
      hashFraction(hash),
    );
    const { version: policyVersion, settingsExpiresAt } = settings;
    return { ...decision, decisionId: decisionId(hash), samplingKey, policyVersion, settingsExpiresAt };
  };
  return {
    decide,
    offer: async ({ samplingKey, inputTokens, inputCharacters, ...sample }, given) => {
      const { customerId, feature } = sample;
      const decision = await decide({ customerId, feature, samplingKey, inputTokens, inputCharacters });
      if (!decision.sample) return { decision, stored: null, error: 'error' in decision ? decision.error : null };
      const { decisionId, policyVersion } = decision;
      try {
        return {
          decision,
          stored: await callmeter.storeSample({ ...sample, decisionId, policyVersion }, given),
          error: null,
        };
      } catch (error) {
        return { decision, stored: null, error: error as CallmeterError };
      }
    },
  };
}

/** Caches the policy and allows one request for it at a time. */
class PolicyCache {
  readonly #client: Pick<Client, 'readSamplingSettings'>;
  #held: Held | null = null;
  #failed: { error: CallmeterError; untilMs: number } | null = null;
  #asking: Promise<Settled> | null = null;

  constructor(client: Pick<Client, 'readSamplingSettings'>) {
    this.#client = client;
  }

  async inForce(): Promise<Settled> {
    const nowMs = Date.now();
    if (this.#held && nowMs < this.#held.freshUntilMs) return { settings: this.#held.settings };
    if (this.#failed && nowMs < this.#failed.untilMs) return { error: this.#failed.error };
    this.#asking ??= this.#ask(nowMs).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  /** `askedAtMs` is when the request started: the response ages in transit too. */
  async #ask(askedAtMs: number): Promise<Settled> {
    try {
      const { data, etag, maxAgeMs } = await this.#read();
      const settings = data ?? (this.#held?.settings as SamplingSettings);
      const freshUntilMs = askedAtMs + maxAgeMs;
      this.#held = {
        settings: { ...settings, settingsExpiresAt: new Date(freshUntilMs).toISOString() },
        etag,
        freshUntilMs,
      };
      this.#failed = null;
      return { settings: this.#held.settings };
    } catch (error) {
      this.#failed = { error: error as CallmeterError, untilMs: Date.now() + RETRY_AFTER_MS };
      return { error: error as CallmeterError };
    }
  }

  async #read() {
    const read = readSettingsOf(this.#client);
    if (read) return read(this.#held?.etag ?? null);
    const data = await this.#client.readSamplingSettings();
    return { data, etag: null, maxAgeMs: data.cacheSeconds * 1000 };
  }
}

async function sha256Hex(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
