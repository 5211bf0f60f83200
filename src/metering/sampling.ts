/**
 * Use cases: the sampling policy in force, and whether it selects a call.
 */

import { accept } from '../contract/errors.ts';
import type { AnswerTo } from '../contract/operations.ts';
import { type DecideSamplingRequest, SAMPLING_CACHE_SECONDS } from '../contract/sampling.ts';
import { candidateTokens, decideSampling, decisionId, hashFraction, sampledText } from '../domain/sampling.ts';
import { sha256Hex } from '../platform/hash.ts';
import type { Caller } from './caller.ts';

export function readSamplingSettings({ organization }: Caller): AnswerTo<'readSamplingSettings'> {
  const nowMs = Date.now();
  const { version, policy } = organization.sampling;
  const data = { version, ...policy, cacheSeconds: SAMPLING_CACHE_SECONDS, settingsExpiresAt: settingsExpireAt(nowMs) };
  return accept('SAMPLING_SETTINGS_READ', data, nowMs);
}

export async function decide(
  { organization }: Caller,
  request: DecideSamplingRequest,
): Promise<AnswerTo<'decideSampling'>> {
  const nowMs = Date.now();
  const { version, policy } = organization.sampling;
  const { customerId, feature, samplingKey = crypto.randomUUID() } = request;
  const hash = await sha256Hex(sampledText(version, samplingKey));
  const { sample, reason } = decideSampling(
    policy,
    { customerId, feature, inputTokens: candidateTokens(request) },
    hashFraction(hash),
  );
  const decided = {
    decisionId: decisionId(hash),
    samplingKey,
    policyVersion: version,
    settingsExpiresAt: settingsExpireAt(nowMs),
  };
  return accept('SAMPLING_DECIDED', { sample, reason, ...decided }, nowMs);
}

function settingsExpireAt(nowMs: number): string {
  return new Date(nowMs + SAMPLING_CACHE_SECONDS * 1000).toISOString();
}
