/**
 * The answer of an admitted call that passes as it comes, events or anything else: passes it on to the caller, within what is held of the balance, and ends the call with
 * what it used.
 */

import { GATEWAY_HEADERS } from '../contract/gateway/labels.ts';
import { limitHeaders } from '../contract/limit-headers.ts';
import { usdFromNano } from '../domain/money.ts';
import { costOf } from '../domain/pricing.ts';
import { reportedUsage, usageOf } from '../metering/end-service-call.ts';
import { seenOutput, tokensPerAnswer, uncountedOutput, unseenOutput } from '../metering/output.ts';
import { toBase64 } from '../platform/base64.ts';
import { joined } from '../vendors/event-blocks.ts';
import { PassedBody } from '../vendors/passed-body.ts';
import type { Presence } from '../vendors/presence.ts';
import type { VendorResult } from '../vendors/request.ts';
import { withServedTier } from '../vendors/service-tier.ts';
import { meterStream, type StreamLimit, type StreamOutcome, type StreamSoFar } from '../vendors/tee.ts';
import type { Fields } from '../vendors/usage/figures.ts';
import { type PassingUsage, plausible, SkimmedUsage, StreamUsage } from '../vendors/usage.ts';
import { WrittenTokens } from '../vendors/written-tokens.ts';
import type { BoundedAttempt } from './admission.ts';
import { type CurrentAttempt, endRun, headersOf, priceOf, type Run } from './admitted-call.ts';
import type { GatewayAnswer } from './answer.ts';
import { withCounted } from './counted-usage.ts';
import { type AnswerForm, formAt, hasUncountedOutput, type StreamCost } from './dialects/dialect.ts';
import { wireError } from './error-envelope.ts';
import type { Attempt } from './models.ts';
import { withVendorHeaders } from './passed-headers.ts';
import { STORED_BINARY_BYTES_MAX, STORED_BYTES_MAX, type StoredAnswer } from './stored-answer.ts';
import { holdExtender, StreamHold } from './stream-hold.ts';
import { picked, requestIdOf } from './vendor-result.ts';

/** How much is read after the caller has left: the longest answers of models, with the overhead of their events. */
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;

export function answerStream(
  run: Run,
  current: CurrentAttempt,
  result: VendorResult & { kind: 'stream' },
  addsUsage: boolean,
  presence: Presence,
): GatewayAnswer {
  const { caller, request, dialect } = run;
  const { kind, model } = current.attempt;
  const { status } = result;
  const usualType = request.stream === true ? 'text/event-stream; charset=utf-8' : 'application/octet-stream';
  const contentType = result.headers.get('content-type') ?? usualType;
  const isEvents = /event-stream/i.test(contentType);
  const form = formAt(dialect, kind);
  const answerForm = form.answerForm?.(request);
  const headers = {
    ...picked(result.headers, ['content-disposition']),
    'Content-Type': contentType,
    ...headersOf(run, current.attempt),
    [GATEWAY_HEADERS.requestId]: requestIdOf(result.headers) ?? run.requestId,
  };
  const recording = run.keyed ? recorded(result.body, isEvents ? STORED_BYTES_MAX : STORED_BINARY_BYTES_MAX) : null;
  const passed = isEvents ? null : new PassedBody(result.headers);
  const ended = Promise.withResolvers<void>();
  // Keeps this Worker reading when the caller has left.
  caller.defer(ended.promise);
  const hold = streamHold(run, current.attempt);
  const onEnd = async (outcome: StreamOutcome) => {
    try {
      const bytes = recording?.bytes() ?? null;
      await endStream(run, current, hold ? withinHold(outcome, hold) : outcome, {
        headers: result.headers,
        passed,
        stored: bytes === null ? undefined : storedAs(bytes, { status, headers, addsUsage, kind }, isEvents),
      });
    } finally {
      ended.resolve();
    }
  };
  const transform = isEvents ? form.streamTransform(request, streamCost(run, current.attempt), addsUsage) : undefined;
  const limit = hold && streamLimit(run, current, hold);
  const written = new WrittenTokens(kind, model);
  const reading = passed ?? readingOf(answerForm, written);
  const body = meterStream(recording?.body ?? result.body, {
    idleTimeoutMs: Number(caller.env.GATEWAY_IDLE_TIMEOUT_MS),
    // Less if the caller left before the stream began.
    drainMsMax: presence.readOnMs,
    bytesMax: DRAIN_BYTES_MAX,
    ...(transform && { transform }),
    written,
    ...(reading && { reading }),
    ...(limit && { limit }),
    // Events in a form that is not known end as their vendor ends them.
    ...(isEvents &&
      answerForm !== 'any' && {
        broken: (end: StreamOutcome['end'], last: Fields | null) => {
          const { code, message } = end === 'timeout' ? BROKEN.timeout : BROKEN.vendor_cut;
          return dialect.streamError({ status: wireError(code).status, code, message, param: null }, last);
        },
      }),
    onEnd,
  });
  const leave = () => {
    // A reader of the stream cancels it. If nobody reads it, canceling makes us read it for its usage.
    if (!body.locked) body.cancel().catch(() => undefined);
  };
  const clientSignal = run.clientSignal();
  if (clientSignal.aborted) leave();
  else clientSignal.addEventListener('abort', leave, { once: true });
  // What is left as the stream begins.
  const own = { ...headers, ...limitHeaders(run.admission.left, current.attempt.tier) };
  return { status, headers: withVendorHeaders(own, result.headers, run.session !== undefined), body };
}

/** What reads the chunks of events, where the events themselves are not read as they pass. */
function readingOf(form: AnswerForm | undefined, written: WrittenTokens): PassingUsage | null {
  if (form === 'any') return new StreamUsage({ written, anyForm: true });
  return form === 'large' ? new SkimmedUsage({ written }) : null;
}

/** What is held of a stream in steps; `undefined` where all that it may cost is held, or an allowance pays. */
function streamHold({ caller, customerId, admission }: Run, attempt: BoundedAttempt): StreamHold | undefined {
  const { callId, credit } = admission;
  if (credit?.heldTokens === undefined || !credit.tiers.includes(attempt.tier)) return undefined;
  const tokensMax = (tokensPerAnswer(attempt, admission) ?? 0) * attempt.bound.answers;
  return new StreamHold(credit.heldTokens, tokensMax, holdExtender(caller, customerId, callId));
}

/** Keeps a stream within its hold. */
function streamLimit(run: Run, { attempt, asked }: CurrentAttempt, hold: StreamHold): StreamLimit | undefined {
  const { dialect, request, admission } = run;
  const closing = formAt(dialect, attempt.kind).streamClosing(request);
  if (!closing) return undefined;
  return {
    mayContinue: (tokens) => hold.mayContinue(tokens),
    passed: (event, data) => closing.passed(event, data),
    close: async (soFar) => {
      const { usage, source } = seenOutput(attempt, admission, withinHold(soFar, hold), false, asked);
      const figures = { ...usage, modelUsed: attempt.model };
      const costUsd = await streamCost(run, attempt)(figures);
      return closing.close({ code: 'BALANCE_EXHAUSTED', usage: { figures, source, costUsd } });
    },
  };
}

/** Without the text that was counted and not passed on, because nothing is held for it. */
function withinHold<SoFar extends StreamSoFar>(soFar: SoFar, { heldTokens }: StreamHold): SoFar {
  return { ...soFar, outputTokens: Math.min(soFar.outputTokens, heldTokens) };
}

function streamCost(run: Run, attempt: Attempt): StreamCost {
  return async (usage) => {
    const price = await priceOf(run, attempt, usage.modelUsed);
    if (!price.available) return null;
    const priced = costOf(price.card, usageOf(usage), 'standard');
    return priced.known ? usdFromNano(priced.cost.totalNanoUsd) : null;
  };
}

async function endStream(
  run: Run,
  current: CurrentAttempt,
  outcome: StreamOutcome,
  { headers, passed, stored }: { headers: Headers; passed: PassedBody | null; stored: StoredAnswer | undefined },
): Promise<void> {
  const { dialect, request } = run;
  const reported = withServedTier(outcome.usage, headers);
  const usage = plausible(reported) ?? outcome.partial;
  const { vendorReportedCostUSD } = usage ?? {};
  const isCounted = outcome.completed && dialect.counted !== undefined;
  const used = isCounted
    ? withCounted(reportedUsage(reported), current.attempt.price, dialect.counted?.(request, passed?.document) ?? {})
    : reportedUsage(reported);
  const { attempt, asked } = current;
  const isUncounted = outcome.partial === null && (passed !== null || hasUncountedOutput(dialect, request));
  const estimate = !isUncounted
    ? seenOutput(attempt, run.admission, outcome, outcome.completed, asked)
    : outcome.completed
      ? uncountedOutput(attempt, run.admission)
      : unseenOutput(attempt, run.admission, asked);
  const error = failureOf(outcome);
  // Of a stream that was stopped, the vendor's text is not what the caller got.
  const response = error || outcome.end === 'stopped' ? undefined : stored;
  await endRun(
    run,
    current,
    { usage: used, estimate, searches: outcome.searches, vendorReportedCostUSD, error, response },
    { modelUsed: usage?.modelUsed, effort: usage?.reasoningEffort },
  );
}

/** Why a stream that did not end well is a failed call. */
const BROKEN = {
  client_left: {
    code: 'CLIENT_LEFT',
    message: 'the caller left, and the stream did not end in the time that it was read on',
  },
  timeout: { code: 'VENDOR_TIMEOUT', message: 'the vendor fell silent in the middle of its stream' },
  vendor_cut: { code: 'VENDOR_STREAM_CUT', message: "the vendor's stream ended before its end" },
} as const;

/** Why a stream with this outcome is a failed call; `undefined` where it is not. */
function failureOf({ end, completed, failure }: StreamOutcome): { code: string; message: string } | undefined {
  if (failure) return failure;
  // Who is stopped gets a regular end.
  return completed || end === 'completed' || end === 'stopped' ? undefined : BROKEN[end];
}

/** What is stored of an answer that has passed. */
function storedAs(
  bytes: Uint8Array,
  { status, headers, ...ofStream }: Pick<StoredAnswer, 'status' | 'headers' | 'addsUsage' | 'kind'>,
  isEvents: boolean,
): StoredAnswer {
  return isEvents
    ? { status, headers, body: new TextDecoder().decode(bytes), isStream: true, ...ofStream }
    : { status, headers, body: toBase64(bytes), isBase64: true };
}

/** The stream, and the bytes that have passed so far; `null` once they are over the bound. */
function recorded(
  body: ReadableStream<Uint8Array>,
  bytesMax: number,
): { body: ReadableStream<Uint8Array>; bytes(): Uint8Array | null } {
  let chunks: Uint8Array[] | null = [];
  let bytes = 0;
  const recorder = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) chunks = null;
      chunks?.push(chunk.slice());
      controller.enqueue(chunk);
    },
  });
  return {
    body: body.pipeThrough(recorder),
    bytes: () => chunks && joined(chunks),
  };
}
