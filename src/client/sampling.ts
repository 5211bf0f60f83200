/**
 * Which calls are kept for review, decided in the application by the organization's policy.
 *
 * ```ts
 * import { createSampler } from 'callmeter/client/sampling';
 *
 * const sampler = createSampler(callmeter); await sampler.offer({ customerId: 'alice', feature: 'chat', provider:
 * 'openai', model, input, output, inputTokens: 1200 });
 * ```
 *
 * The policy is asked for as often as its `Cache-Control` says, with its ETag. Only calls that it selects leave the
 * application. Without a policy that is in force nothing is kept: it may be that a customer has just been excluded.
 */
import { candidateTokens, decideSampling, decisionIdOf, fractionOf, sampledText } from '../domain/sampling.ts';
import type { Client } from './client.ts';
import { readSettingsOf } from './conditional.ts';
import type { CallmeterError } from './errors.ts';
import type { RequestOptions } from './methods.ts';
import type { Answers, Inputs } from './wire.ts';

type SamplingSettings = Answers['readSamplingSettings'];

/** What is asked before a call is kept. */
export type SamplingQuestion = Inputs['decideSampling'];
/** The service's decision, or that it could not be asked for the policy. */
export type LocalDecision =
  | Answers['decideSampling']
  | { sample: false; reason: 'POLICY_UNAVAILABLE'; samplingKey: string; error: CallmeterError };
/** A call to keep; `decisionId` and `policyVersion` are the decision's. */
export type OfferedSample = Omit<Inputs['storeSample'], 'decisionId' | 'policyVersion'> &
  Omit<SamplingQuestion, 'customerId' | 'feature'>;

export interface OfferedOutcome {
  decision: LocalDecision;
  /** `null` where the call was not selected, or could not be stored. */
  stored: Answers['storeSample'] | null;
  error: CallmeterError | null;
}

export interface Sampler {
  /** Decides without sending anything about the call. */
  decide(question: SamplingQuestion): Promise<LocalDecision>;
  /** Decides, and sends a selected call to be kept. What fails is in the outcome: it never rejects for it. */
  offer(sample: OfferedSample, options?: RequestOptions): Promise<OfferedOutcome>;
}

/** After a policy could not be read, how long it is not asked for. */
const RETRY_AFTER_MS = 10_000;

interface Held {
  settings: SamplingSettings;
  etag: string | null;
  freshUntilMs: number;
}

type Settled = { settings: SamplingSettings } | { error: CallmeterError };

export function createSampler(callmeter: Pick<Client, 'readSamplingSettings' | 'storeSample'>): Sampler {
  const policy = new HeldPolicy(callmeter);
  const decide = async (question: SamplingQuestion): Promise<LocalDecision> => {
    const { customerId, feature, samplingKey = crypto.randomUUID() } = question;
    const settled = await policy.inForce();
    if ('error' in settled) return { sample: false, reason: 'POLICY_UNAVAILABLE', samplingKey, error: settled.error };
    const { settings } = settled;
    const hash = await sha256Hex(sampledText(settings.version, samplingKey));
    const decision = decideSampling(
      settings,
      { customerId, feature, inputTokens: candidateTokens(question) },
      fractionOf(hash),
    );
    const { version: policyVersion, settingsExpiresAt } = settings;
    return { ...decision, decisionId: decisionIdOf(hash), samplingKey, policyVersion, settingsExpiresAt };
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

/** The policy, and one question for it at a time. */
class HeldPolicy {
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

  /** `askedAtMs`, because what is kept ages on its way as well. */
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
