/**
 * An admitted call: the vendors in order until one answers, and the end with what it says.
 *
 * Another model is tried only while nothing was answered and the vendor failed for a reason of its own. Whatever
 * happens, the call is ended: a fault of ours too leaves no hold behind.
 */

import type { Catalog } from '../catalog/model.ts';
import { resolvePrice } from '../catalog/prices.ts';
import { GATEWAY_HEADERS } from '../contract/gateway.ts';
import type { ResolvedPrice } from '../domain/pricing.ts';
import type { Caller } from '../metering/caller.ts';
import { endSurely } from '../metering/end-surely.ts';
import { NO_USAGE, type Outcome, reportedUsage } from '../metering/finish-call.ts';
import type { Admission, BeginCommand } from '../objects/customer-commands.ts';
import { readBounded } from '../platform/bytes.ts';
import type { Effort } from '../vendors/effort.ts';
import { ANSWER_BYTES_MAX, requestVendor, type VendorResult } from '../vendors/request.ts';
import { meterStream, type StreamOutcome } from '../vendors/tee.ts';
import { plausible } from '../vendors/usage.ts';
import { failureAnswer, type GatewayAnswer } from './answer.ts';
import type { ModelCall } from './call.ts';
import { chooseEffort, type EffortChoice } from './effort.ts';
import { effortAsked, vendorBody, withoutOwnFields } from './input.ts';
import { costHeader, KEPT_BYTES_MAX, type Kept, keepAnswer } from './kept.ts';
import type { Attempt } from './models.ts';
import { failureOf, recorded, streamCost, usageTransform } from './stream.ts';
import { vendorKeyOf } from './vendor-key.ts';
import { type Reading, readResult, requestIdOf } from './vendor-result.ts';

/**
 * Work that goes on after the caller left ends with the 30 s that Workers grant; the end of the call needs a few of
 * them.
 */
const DRAIN_MS_MAX = 25_000;
/** Read on after the caller left: the longest answers of models, with the overhead of their events. */
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;

export interface Run extends ModelCall {
  caller: Caller;
  catalog: Catalog;
  customerId: string;
  admission: Admission;
  untold: BeginCommand | null;
  /** Those that the plan allows. */
  attempts: readonly Attempt[];
  /** The caller sent a key, so the answer is kept. */
  keyed: boolean;
}

/** One vendor, asked. */
interface Asked {
  attempt: Attempt;
  effort: EffortChoice;
}

export function runCall(run: Run): Promise<GatewayAnswer> {
  const work = carryOut(run);
  // Goes on though the caller may leave: what the vendor did is recorded.
  run.caller.defer(work.catch(() => undefined));
  return work;
}

async function carryOut(run: Run): Promise<GatewayAnswer> {
  const [first] = run.attempts;
  if (!first) throw new Error('an admitted call has an attempt');
  let asked: Asked = { attempt: first, effort: { sent: undefined, source: undefined } };
  // Whether a vendor may have worked.
  let begun = false;
  try {
    const body = withoutOwnFields(run.request) as Run['request'];
    if (run.session?.customerUserId != null && body.user != null) body.user = run.session.customerUserId;
    const untilMs = Date.now() + Number(run.caller.env.GATEWAY_TIMEOUT_MS);
    let reading: Reading | null = null;
    for (const [index, attempt] of run.attempts.entries()) {
      const vendorKey = await vendorKeyOf(run.caller, attempt.provider);
      if (vendorKey === null) {
        reading ??= keyLost(attempt);
        continue;
      }
      asked = {
        attempt,
        effort: chooseEffort(
          effortAsked(run.endpoint, run.request),
          run.admission.allowed.reasoningLevel,
          attempt.efforts,
        ),
      };
      // Each attempt gets its share of the time that is left; the last one gets all of it.
      const timeoutMs = Math.max(1, (untilMs - Date.now()) / (run.attempts.length - index));
      begun = true;
      const result = await askVendor(run, asked, body, vendorKey, timeoutMs);
      if (result.kind === 'stream') return answerStream(run, asked, result);
      reading = readResult(result, vendorKey);
      if (result.kind === 'answer')
        reading.answer.headers[GATEWAY_HEADERS.requestId] = requestIdOf(result.headers) ?? run.requestId;
      if (!reading.retryable) break;
    }
    if (!reading) throw new Error('an admitted call has an attempt');
    return await answerPlain(run, asked, reading);
  } catch (error) {
    const failure = { code: 'INTERNAL_ERROR', message: 'the service failed' };
    await endSurely(run.caller, run.admission.callId, {
      ...outcomeOf(run, asked),
      usage: begun ? null : NO_USAGE,
      error: failure,
    });
    throw error;
  }
}

async function askVendor(
  { endpoint, admission }: Run,
  { attempt, effort }: Asked,
  body: Run['request'],
  vendorKey: string,
  timeoutMs: number,
): Promise<VendorResult> {
  const result = await requestVendor({
    url: `${attempt.baseUrl}/${endpoint}`,
    method: 'POST',
    headers: { Authorization: `Bearer ${vendorKey}` },
    body: vendorBody(endpoint, body, attempt, effort, admission.vendorHints?.maxResponseTokens ?? null),
    timeoutMs,
    responseType: body.stream === true ? 'stream' : 'text',
  });
  if (result.kind !== 'stream' || /event-stream/i.test(result.headers.get('content-type') ?? 'event-stream'))
    return result;
  return wholeAnswer(result, timeoutMs);
}

/** A whole answer where a stream was asked for. */
async function wholeAnswer(
  { status, headers, body }: VendorResult & { kind: 'stream' },
  timeoutMs: number,
): Promise<VendorResult> {
  try {
    const bytes = await readBounded(body, ANSWER_BYTES_MAX, timeoutMs);
    if (bytes === null)
      return { kind: 'broken', status, message: `the vendor's answer has more than ${ANSWER_BYTES_MAX} bytes` };
    return { kind: 'answer', status, ok: true, headers, body: new TextDecoder().decode(bytes) };
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') return { kind: 'timeout' };
    return { kind: 'broken', status, message: "the vendor's answer broke off" };
  }
}

async function answerPlain(
  run: Run,
  asked: Asked,
  { answer, usage, searches, modelUsed, effort, error }: Reading,
): Promise<GatewayAnswer> {
  const headers = { ...answer.headers, ...headersOf(run, asked.attempt), ...requestIdHeader(run, answer.headers) };
  const told = { ...answer, headers };
  const ended = await endSurely(run.caller, run.admission.callId, {
    ...outcomeOf(run, asked, await modelOf(run, asked.attempt, modelUsed), effort),
    usage,
    searches,
    error,
    keep: run.keyed ? keepAnswer(told) : undefined,
  });
  return { ...told, headers: { ...headers, ...costHeader(ended?.ok ? ended.costNanoUsd : null, answer.status) } };
}

function answerStream(run: Run, asked: Asked, result: VendorResult & { kind: 'stream' }): GatewayAnswer {
  const { caller, request, endpoint } = run;
  const headers = {
    'Content-Type': result.headers.get('content-type') ?? 'text/event-stream; charset=utf-8',
    ...headersOf(run, asked.attempt),
    [GATEWAY_HEADERS.requestId]: requestIdOf(result.headers) ?? run.requestId,
  };
  const shown = request.stream_options?.include_usage === true;
  const cost = streamCost((usage) => priceOf(run, asked.attempt, usage.modelUsed));
  const kept = run.keyed ? recorded(result.body, KEPT_BYTES_MAX) : null;
  const ended = Promise.withResolvers<void>();
  // Keeps the reading alive when the caller has left.
  caller.defer(ended.promise);
  const onEnd = async (outcome: StreamOutcome) => {
    try {
      const stream = endpoint === 'chat/completions' ? (shown ? 'shown' : 'hidden') : 'plain';
      await endStream(run, asked, outcome, keepStream(result.status, headers, kept?.text() ?? null, stream));
    } finally {
      ended.resolve();
    }
  };
  const body = meterStream(kept?.body ?? result.body, {
    idleTimeoutMs: Number(caller.env.GATEWAY_IDLE_TIMEOUT_MS),
    drainMsMax: DRAIN_MS_MAX,
    bytesMax: DRAIN_BYTES_MAX,
    ...(endpoint === 'chat/completions' && { transform: usageTransform(shown, cost) }),
    onEnd,
  });
  const leave = () => {
    // Whoever reads a stream cancels it; one that nobody reads is read for its usage here.
    if (!body.locked) body.cancel().catch(() => undefined);
  };
  const left = run.left();
  if (left.aborted) leave();
  else left.addEventListener('abort', leave, { once: true });
  return { status: result.status, headers, body };
}

async function endStream(run: Run, asked: Asked, outcome: StreamOutcome, kept: Kept | undefined): Promise<void> {
  const said = plausible(outcome.usage);
  const error = failureOf(outcome);
  await endSurely(run.caller, run.admission.callId, {
    ...outcomeOf(run, asked, await modelOf(run, asked.attempt, said?.modelUsed), said?.reasoningEffort),
    usage: reportedUsage(outcome.usage),
    searches: outcome.searches,
    error,
    keep: error ? undefined : kept,
  });
}

/** What is to be kept of a stream; `undefined` where it was too long, or nobody can ask for it again. */
function keepStream(
  status: number,
  headers: Record<string, string>,
  text: string | null,
  stream: Kept['stream'],
): Kept | undefined {
  return text === null || stream === undefined ? undefined : { status, headers, body: text, stream };
}

/** How the call went, but for its usage. */
function outcomeOf(
  run: Run,
  { attempt, effort }: Asked,
  modelUsed?: string,
  echoed?: Effort,
): Omit<Outcome, 'usage' | 'keep'> {
  const source = echoed === undefined ? effort.source : 'provider_response';
  return {
    customerId: run.customerId,
    untold: run.untold,
    answered: false,
    providerUsed: attempt.provider,
    modelUsed: modelUsed ?? attempt.model,
    ...(attempt.assertsTier && { isPremium: attempt.tier === 'premium' }),
    ...(source !== undefined && { reasoningEffort: echoed ?? effort.sent, reasoningEffortSource: source }),
  };
}

/**
 * The model as the vendor reports it; as it was asked for, where that one has a price and the reported one has none.
 */
async function modelOf(run: Run, { model, provider }: Attempt, reported: string | undefined): Promise<string> {
  if (reported === undefined || reported === model) return model;
  const priceOfModel = (modelUsed: string) =>
    resolvePrice(run.catalog, run.caller.organization.prices, { modelUsed, providerUsed: provider }, Date.now());
  if ((await priceOfModel(reported)).available) return reported;
  return (await priceOfModel(model)).available ? model : reported;
}

async function priceOf(run: Run, attempt: Attempt, reported: string | undefined): Promise<ResolvedPrice> {
  const modelUsed = await modelOf(run, attempt, reported);
  return resolvePrice(
    run.catalog,
    run.caller.organization.prices,
    { modelUsed, providerUsed: attempt.provider },
    Date.now(),
  );
}

function headersOf({ admission }: Run, { modelKey }: Attempt): Record<string, string> {
  // A name that cannot travel in a header is left out.
  const named = /^[\x21-\x7e]+$/.test(modelKey);
  return { [GATEWAY_HEADERS.callId]: admission.callId, ...(named && { [GATEWAY_HEADERS.modelKey]: modelKey }) };
}

function requestIdHeader({ requestId }: Run, known: Record<string, string>): Record<string, string> {
  return known[GATEWAY_HEADERS.requestId] === undefined ? { [GATEWAY_HEADERS.requestId]: requestId } : {};
}

/** The key of a vendor that cannot be opened any more: sealed under a secret that is not in use. */
function keyLost({ provider }: Attempt): Reading {
  const message = `the key for the vendor ${provider} cannot be opened; it has to be set again`;
  const failure = { status: 502, code: 'VENDOR_NOT_CONFIGURED', message };
  return { answer: failureAnswer({ ...failure, retry: false }), usage: NO_USAGE, error: failure, retryable: true };
}
