/**
 * An admitted call: asks the vendors in order until one answers, and ends the call with what that one reports.
 *
 * Another model is tried only while the vendor failed for a reason of its own and the caller has got nothing. Whatever
 * happens, the call is ended: not even a fault of ours leaves a hold behind.
 */

import type { Catalog } from '../catalog/model.ts';
import { resolvePrice } from '../catalog/prices.ts';
import { GATEWAY_HEADERS } from '../contract/gateway.ts';
import { usdFromNano } from '../domain/money.ts';
import { costOf, type ResolvedPrice } from '../domain/pricing.ts';
import { NO_USAGE } from '../domain/usage.ts';
import type { Caller } from '../metering/caller.ts';
import type { EndedServiceCall, Outcome } from '../metering/end-service-call.ts';
import { reportedUsage, usageOf } from '../metering/end-service-call.ts';
import { endWithRetries } from '../metering/end-with-retries.ts';
import type { Admission } from '../objects/customer-commands.ts';
import type { Session } from '../storage/credentials.ts';
import type { Effort, EffortChoice } from '../vendors/effort.ts';
import { chooseEffort } from '../vendors/effort.ts';
import type { VendorResult } from '../vendors/request.ts';
import { requestVendor } from '../vendors/request.ts';
import { requestedServiceTier, withServedTier } from '../vendors/service-tier.ts';
import { meterStream, type StreamOutcome } from '../vendors/tee.ts';
import { plausible } from '../vendors/usage.ts';
import type { GatewayAnswer } from './answer.ts';
import type { Dialect, ModelRequest, StreamCost } from './dialects/dialect.ts';
import { refuseCall } from './error-envelope.ts';
import { withoutOwnFields } from './identify.ts';
import type { Attempt } from './models.ts';
import { costHeader, STORED_BYTES_MAX, type StoredAnswer, storableAnswer } from './stored-answer.ts';
import { failureOf, recorded } from './stream.ts';
import { vendorKeyOf } from './vendor-key.ts';
import { failed, type Reading, readResult, requestIdOf } from './vendor-result.ts';

/**
 * How long a stream is read on after the caller has left. Workers grant 30 s for work after an answer, and the end of
 * the call needs some of them.
 */
const DRAIN_MS_MAX = 25_000;
/** How much is read after the caller has left: the longest answers of models, with the overhead of their events. */
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;

/** A request to a model, with what its headers say. */
export interface ModelCall {
  dialect: Dialect;
  request: ModelRequest;
  customerHeader: string | null;
  headerKey: string | null;
  session: Session | undefined;
  /** Our own id of the request, for vendors that have none. */
  requestId: string;
  /** Aborted when the caller leaves. A function, because few requests need the signal and making it costs time. */
  clientSignal: () => AbortSignal;
}

export interface Run extends ModelCall {
  caller: Caller;
  catalog: Catalog;
  customerId: string;
  admission: Admission;
  /** The attempts that the plan allows. */
  attempts: readonly Attempt[];
  /** The caller sent an idempotency key, so the answer is stored. */
  keyed: boolean;
}

/** The attempt that is being made, or was made last. */
interface CurrentAttempt {
  attempt: Attempt;
  effort: EffortChoice;
}

export function runCall(run: Run): Promise<GatewayAnswer> {
  const work = carryOut(run);
  // Continues after the caller has left, so that what the vendor did is recorded.
  run.caller.defer(work.catch(() => undefined));
  return work;
}

async function carryOut(run: Run): Promise<GatewayAnswer> {
  const { caller, dialect, request, session, attempts, admission } = run;
  const [first] = attempts;
  if (!first) throw new Error('an admitted call has an attempt');
  let current: CurrentAttempt = { attempt: first, effort: { effort: undefined, source: undefined } };
  let vendorAsked = false;
  try {
    const body = withoutOwnFields(request);
    if (session?.customerUserId != null && body.user != null) body.user = session.customerUserId;
    const untilMs = Date.now() + Number(caller.env.GATEWAY_TIMEOUT_MS);
    let reading: Reading | null = null;
    for (const [index, attempt] of attempts.entries()) {
      const vendorKey = await vendorKeyOf(caller, attempt.provider);
      if (vendorKey === null) {
        reading ??= keyUnreadable(run, attempt);
        continue;
      }
      const { reasoningLevel } = admission.allowed;
      current = { attempt, effort: chooseEffort(dialect.effortAsked(request), reasoningLevel, attempt.efforts) };
      // Every attempt gets an equal share of the remaining time, and so the last one gets all of it.
      const timeoutMs = Math.max(1, (untilMs - Date.now()) / (attempts.length - index));
      vendorAsked = true;
      const result = await askVendor(run, current, body, vendorKey, timeoutMs);
      if (result.kind === 'stream') return answerStream(run, current, result);
      reading = readResult(result, vendorKey, dialect.errorBody);
      if (result.kind === 'answer')
        reading.answer.headers[GATEWAY_HEADERS.requestId] = requestIdOf(result.headers) ?? run.requestId;
      if (!reading.retryable) break;
    }
    if (!reading) throw new Error('an admitted call has an attempt');
    return await answerWhole(run, current, reading);
  } catch (error) {
    const failure = { code: 'INTERNAL_ERROR', message: 'the service failed' };
    await endRun(run, current, { usage: vendorAsked ? null : NO_USAGE, error: failure });
    throw error;
  }
}

function askVendor(
  { dialect, admission }: Run,
  { attempt, effort: { effort } }: CurrentAttempt,
  request: ModelRequest,
  vendorKey: string,
  timeoutMs: number,
): Promise<VendorResult> {
  const { provider, model, baseUrl } = attempt;
  const outputTokensMax = admission.vendorHints?.maxResponseTokens ?? null;
  return requestVendor({
    url: `${baseUrl}/${dialect.endpoint}`,
    method: 'POST',
    headers: { Authorization: `Bearer ${vendorKey}` },
    body: dialect.vendorBody(request, { provider, model, effort, outputTokensMax }),
    timeoutMs,
    responseType: request.stream === true ? 'events' : 'text',
  });
}

async function answerWhole(
  run: Run,
  { attempt, effort }: CurrentAttempt,
  { answer, usage, searches, modelUsed, vendorReportedCostUSD, effort: reported, error }: Reading,
): Promise<GatewayAnswer> {
  const headers = {
    [GATEWAY_HEADERS.requestId]: run.requestId,
    ...answer.headers,
    ...headersOf(run, attempt),
  };
  const whole = { ...answer, headers };
  const ended = await endRun(
    run,
    { attempt, effort },
    { usage, searches, vendorReportedCostUSD, error, response: run.keyed ? storableAnswer(whole) : undefined },
    { modelUsed, effort: reported },
  );
  return { ...whole, headers: { ...headers, ...costHeader(ended?.ok ? ended.costNanoUsd : null, answer.status) } };
}

function answerStream(run: Run, current: CurrentAttempt, result: VendorResult & { kind: 'stream' }): GatewayAnswer {
  const { caller, request, dialect } = run;
  const { status } = result;
  const headers = {
    'Content-Type': result.headers.get('content-type') ?? 'text/event-stream; charset=utf-8',
    ...headersOf(run, current.attempt),
    [GATEWAY_HEADERS.requestId]: requestIdOf(result.headers) ?? run.requestId,
  };
  const recording = run.keyed ? recorded(result.body, STORED_BYTES_MAX) : null;
  const ended = Promise.withResolvers<void>();
  // Keeps this Worker reading when the caller has left.
  caller.defer(ended.promise);
  const onEnd = async (outcome: StreamOutcome) => {
    try {
      const text = recording?.text() ?? null;
      await endStream(
        run,
        current,
        outcome,
        result.headers,
        text === null ? undefined : { status, headers, body: text, isStream: true },
      );
    } finally {
      ended.resolve();
    }
  };
  const transform = dialect.streamTransform(request, streamCost(run, current.attempt));
  const body = meterStream(recording?.body ?? result.body, {
    idleTimeoutMs: Number(caller.env.GATEWAY_IDLE_TIMEOUT_MS),
    drainMsMax: DRAIN_MS_MAX,
    bytesMax: DRAIN_BYTES_MAX,
    ...(transform && { transform }),
    onEnd,
  });
  const leave = () => {
    // A reader of the stream cancels it. If nobody reads it, canceling makes us read it for its usage.
    if (!body.locked) body.cancel().catch(() => undefined);
  };
  const clientSignal = run.clientSignal();
  if (clientSignal.aborted) leave();
  else clientSignal.addEventListener('abort', leave, { once: true });
  return { status, headers, body };
}

function streamCost(run: Run, attempt: Attempt): StreamCost {
  return async (usage) => {
    const price = await priceOf(run, attempt, await modelOf(run, attempt, usage.modelUsed));
    if (!price.available) return null;
    const priced = costOf(price.card, usageOf(usage), 'standard');
    return priced.known ? usdFromNano(priced.cost.totalNanoUsd) : null;
  };
}

async function endStream(
  run: Run,
  current: CurrentAttempt,
  outcome: StreamOutcome,
  headers: Headers,
  stored: StoredAnswer | undefined,
): Promise<void> {
  const reported = withServedTier(outcome.usage, headers);
  const usage = plausible(reported);
  const { vendorReportedCostUSD } = usage ?? {};
  const error = failureOf(outcome);
  const response = error ? undefined : stored;
  await endRun(
    run,
    current,
    { usage: reportedUsage(reported), searches: outcome.searches, vendorReportedCostUSD, error, response },
    { modelUsed: usage?.modelUsed, effort: usage?.reasoningEffort },
  );
}

/** Ends the call with how it went; `reported` is what the vendor's answer says of model and effort. */
async function endRun(
  run: Run,
  { attempt, effort: chosen }: CurrentAttempt,
  outcome: Pick<Outcome, 'usage' | 'searches' | 'vendorReportedCostUSD' | 'error' | 'response'>,
  reported: { modelUsed?: string | undefined; effort?: Effort | undefined } = {},
): Promise<EndedServiceCall | null> {
  const { effort, source } =
    reported.effort === undefined ? chosen : { effort: reported.effort, source: 'provider_response' as const };
  return endWithRetries(run.caller, run.admission.callId, {
    ...outcome,
    customerId: run.customerId,
    wantsAnswer: false,
    providerUsed: attempt.provider,
    modelUsed: await modelOf(run, attempt, reported.modelUsed),
    requestedServiceTier: requestedServiceTier(run.request),
    ...(attempt.assertsTier && { isPremium: attempt.tier === 'premium' }),
    ...(source !== undefined && { reasoningEffort: effort, reasoningEffortSource: source }),
  });
}

/** The model that the vendor reports; the requested one if that has a price and the reported one has none. */
async function modelOf(run: Run, attempt: Attempt, reported: string | undefined): Promise<string> {
  const { model } = attempt;
  if (reported === undefined || reported === model) return model;
  if ((await priceOf(run, attempt, reported)).available) return reported;
  return (await priceOf(run, attempt, model)).available ? model : reported;
}

function priceOf({ caller, catalog }: Run, { provider }: Attempt, modelUsed: string): Promise<ResolvedPrice> {
  return resolvePrice(catalog, caller.organization.prices, { modelUsed, providerUsed: provider }, Date.now());
}

function headersOf({ admission }: Run, { modelKey }: Attempt): Record<string, string> {
  // A model whose name cannot travel in a header is left out.
  const isPrintable = /^[\x21-\x7e]+$/.test(modelKey);
  return { [GATEWAY_HEADERS.callId]: admission.callId, ...(isPrintable && { [GATEWAY_HEADERS.modelKey]: modelKey }) };
}

/** The key of the vendor was encrypted under a secret that is not in use any more. */
function keyUnreadable({ dialect }: Run, { provider }: Attempt): Reading {
  const message = `the key for the vendor ${provider} cannot be opened; it has to be set again`;
  return failed(refuseCall('VENDOR_KEY_UNREADABLE', message), NO_USAGE, true, dialect.errorBody);
}
