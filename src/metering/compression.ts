/**
 * Use cases of prompt compression: record savings, list the customers who may be billed, the profile, the summary, and
 * estimates.
 */

import { meaningMayChange } from '../compression/levels.ts';
import { findProfile, saveProfile } from '../config/compression.ts';
import type { Session } from '../config/credentials.ts';
import { enterEstimate, leaveEstimate, RUNNING_ESTIMATES_MAX } from '../config/estimates.ts';
import {
  type AuthorizeCompressionRequest,
  type CompressionJob,
  type CompressionProfile,
  type CompressionSummaryQuery,
  type CompressPromptRequest,
  type RecordedSavings,
  SAVINGS_GROUPS_MAX,
  type SavedCompressionProfile,
  type StartCompressionJobRequest,
} from '../contract/compression.ts';
import { accept, refuse } from '../contract/errors.ts';
import type { AnswerTo } from '../contract/operations.ts';
import type { Call } from '../domain/call.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { savingsRatio } from '../domain/compression.ts';
import { asCustomerId, type OrganizationId } from '../domain/ids.ts';
import { usdFromNano } from '../domain/money.ts';
import type { Env } from '../env.ts';
import { findOldCall } from '../history/calls.ts';
import { countSamples } from '../history/samples.ts';
import { type SavingsSums, sumSavings } from '../history/savings.ts';
import { ask, customerByCall, customerByName, forgetOwner } from '../objects/addresses.ts';
import { sha256Hex } from '../platform/hash.ts';
import { DAY_MS } from '../platform/time.ts';
import type { Caller } from './caller.ts';
import { explicitKey, hashPayload } from './idempotency.ts';

/** The customer who is billed if the request names none. */
const DEFAULT_CUSTOMER_ID = asCustomerId('default');
/** If the most estimates are already running, another one is told to come back after this time. */
const ESTIMATE_RETRY_SECONDS = 30;
const SUMMARY_MS = 30 * DAY_MS;

/** A browser's session reaches only the calls of its own customer. */
export async function compressPrompt(
  caller: Caller,
  request: CompressPromptRequest,
  headerKey: string | null,
  session: Session | undefined,
): Promise<AnswerTo<'compressPrompt'>> {
  const { env, organization } = caller;
  const { organizationId } = organization;
  const { callId, promptCompression } = request;
  const address = await customerByCall(env, organizationId, callId);
  if (!address) return refuse('CALL_NOT_FOUND', 'no such call');
  const fingerprint = await hashPayload(request);
  const record = (old: Call | null) =>
    ask(address, (customer) =>
      customer.compressPrompt({
        organizationId,
        callId,
        customerId: session?.customerId ?? null,
        compression: promptCompression,
        old,
        limits: caller.limits,
        idempotencyKey: explicitKey(headerKey, request),
        fingerprint,
      }),
    );
  const answer = await record(null);
  if (answer.ok || answer.refusal.code !== 'CALL_NOT_FOUND') return answer;
  // The cached owner may be outdated: try once more with the directory's.
  if (forgetOwner(organizationId, callId)) return compressPrompt(caller, request, headerKey, session);
  const old = await findOldCall(env, organizationId, callId);
  return old ? record(old) : answer;
}

export async function authorizeCompression(
  { env, organization }: Caller,
  request: AuthorizeCompressionRequest,
  session: Session | undefined,
): Promise<AnswerTo<'authorizeCompression'>> {
  const { organizationId } = organization;
  const customerId = session?.customerId ?? request.customerId ?? DEFAULT_CUSTOMER_ID;
  const outOfCredit = await ask(customerByName(env, { organizationId, customerId }), (customer) =>
    customer.isOutOfCredit(organizationId),
  );
  if (outOfCredit) {
    return refuse('CREDIT_REQUIRED', "the customer's plan is pay-as-you-go, and no balance is left", {
      members: { customerId },
    });
  }
  return accept('COMPRESSION_AUTHORIZED', { authorized: true, organizationId, customerId }, Date.now());
}

export async function readProfile({ env, organization }: Caller): Promise<AnswerTo<'readCompressionProfile'>> {
  return accept(
    'COMPRESSION_PROFILE_READ',
    presentProfile(await findProfile(env, organization.organizationId)),
    Date.now(),
  );
}

export async function replaceProfile(
  { env, organization }: Caller,
  profile: CompressionProfile,
): Promise<AnswerTo<'saveCompressionProfile'>> {
  await saveProfile(env, organization.organizationId, profile);
  return accept('COMPRESSION_PROFILE_SAVED', presentProfile(profile), Date.now());
}

const presentProfile = (profile: CompressionProfile): SavedCompressionProfile => ({
  ...profile,
  meaningMayChange: meaningMayChange(profile.aggressiveness),
});

export async function readSummary(
  { env, organization }: Caller,
  query: CompressionSummaryQuery,
): Promise<AnswerTo<'readCompressionSummary'>> {
  const nowMs = Date.now();
  const toMs = query.to === undefined ? nowMs : Date.parse(query.to);
  const fromMs = query.from === undefined ? toMs - SUMMARY_MS : Date.parse(query.from);
  if (fromMs >= toMs) {
    const message = 'must be in the past, or `to` be given';
    return refuse('BAD_REQUEST', `from: ${message}`, { members: { details: [{ path: 'from', message }] } });
  }
  const { total, byFeature, byTechnique } = await sumSavings(
    env,
    organization.organizationId,
    { fromMs, toMs },
    SAVINGS_GROUPS_MAX,
  );
  const data = {
    ...presentSavings(total),
    period: { startedAt: new Date(fromMs).toISOString(), endedAt: new Date(toMs).toISOString() },
    asOf: new Date(nowMs).toISOString(),
    byFeature: byFeature.map(({ feature, ...sums }) => ({ feature, ...presentSavings(sums) })),
    byTechnique: byTechnique.map(({ technique, ...sums }) => ({ technique, ...presentSavings(sums) })),
  };
  return accept('COMPRESSION_SUMMARY_READ', data, nowMs);
}

function presentSavings({ costAvoidedNanoUsd, ...counts }: SavingsSums): RecordedSavings {
  return {
    ...counts,
    tokenSavingsRatio: savingsRatio(counts.originalTokens, counts.savedTokens),
    costAvoidedUSD: usdFromNano(costAvoidedNanoUsd),
    costAvoidedUsdNano: costAvoidedNanoUsd.toString(),
  };
}

/** Starts an estimate. Its id comes from the idempotency key, so that a retry finds it again. */
export async function startJob(
  { env, organization }: Caller,
  request: StartCompressionJobRequest,
  headerKey: string | null,
): Promise<AnswerTo<'startCompressionJob'>> {
  const { organizationId, prices } = organization;
  const { from, to, customerId, feature } = request;
  const nowMs = Date.now();
  const key = explicitKey(headerKey, request);
  const jobId =
    key === null ? crypto.randomUUID() : (await sha256Hex(canonicalJson({ organizationId, job: key }))).slice(0, 32);
  // A retry starts nothing, so it is not counted.
  const known = key === null ? null : await findJob(env, organizationId, jobId);
  if (!known && !(await enterEstimate(env, organizationId, jobId, nowMs))) return tooManyEstimates();
  const job = {
    jobId,
    organizationId,
    fingerprint: await hashPayload(request),
    filter: {
      customerId,
      feature,
      fromMs: from === undefined ? undefined : Date.parse(from),
      toMs: to === undefined ? nowMs : Date.parse(to),
    },
    profile: request.profile ?? (await findProfile(env, organizationId)),
  };
  const start = async () => {
    const total = await countSamples(env, organizationId, job.filter, nowMs);
    return ask(
      () => compressionJob(env, jobId),
      (stub) => stub.start(job, prices, total),
    );
  };
  const started = await start().catch(async (error) => {
    if (!known) await leaveEstimate(env, organizationId, jobId);
    throw error;
  });
  if (!started) return refuse('IDEMPOTENCY_KEY_CONFLICT', 'the idempotency key was used before with another payload');
  return { ...accept('COMPRESSION_JOB_STARTED', { jobId, status: started.status }, nowMs), replayed: started.replayed };
}

export async function readJob({ env, organization }: Caller, jobId: string): Promise<AnswerTo<'readCompressionJob'>> {
  const job = await findJob(env, organization.organizationId, jobId);
  return job ? accept('COMPRESSION_JOB_READ', job, Date.now()) : refuse('COMPRESSION_JOB_NOT_FOUND', 'no such job');
}

function findJob(env: Env, organizationId: OrganizationId, jobId: string): Promise<CompressionJob | null> {
  return ask(
    () => compressionJob(env, jobId),
    (stub) => stub.read(organizationId),
  );
}

function tooManyEstimates() {
  const message = `too many running estimates of the organization (at most ${RUNNING_ESTIMATES_MAX}); retry when one has ended`;
  const retryAfterSeconds = ESTIMATE_RETRY_SECONDS;
  return refuse('RATE_LIMITED', message, { retryAfterSeconds, members: { retryAfterSeconds } });
}

function compressionJob(env: Env, jobId: string) {
  return env.COMPRESSION_JOBS.getByName(jobId);
}
