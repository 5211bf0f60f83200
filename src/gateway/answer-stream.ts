/**
 * The answer of an admitted call that passes while it arrives, as events or in any other form: passes it to the caller
 * within the hold on the balance, and ends the call with its usage.
 */

import { countUnderWay } from '../admission/calls-under-way.ts';
import { pricedParts } from '../catalog/prices.ts';
import { GATEWAY_HEADERS } from '../contract/gateway/labels.ts';
import { limitHeaders } from '../contract/limit-headers.ts';
import { costOfAll } from '../domain/call-parts.ts';
import { usdFromNano } from '../domain/money.ts';
import { NO_USAGE } from '../domain/usage.ts';
import { listParts } from '../metering/call-parts.ts';
import { toBase64 } from '../platform/base64.ts';
import { HeldBytes } from '../vendors/answer-memory.ts';
import type { ByteSource } from '../vendors/byte-source.ts';
import { joined } from '../vendors/event-blocks.ts';
import { PassedBody } from '../vendors/passed-body.ts';
import type { Presence } from '../vendors/presence.ts';
import type { PassingResult } from '../vendors/request.ts';
import { withServedTier } from '../vendors/service-tier.ts';
import {
  type MeterOptions,
  meterStream,
  type StreamLimit,
  type StreamOutcome,
  type StreamSoFar,
} from '../vendors/tee.ts';
import type { Fields } from '../vendors/usage/figures.ts';
import { type PassingUsage, SkimmedUsage, StreamUsage } from '../vendors/usage.ts';
import { WrittenTokens } from '../vendors/written-tokens.ts';
import type { BoundedAttempt } from './admission.ts';
import { answerHeaders, type CurrentAttempt, endRun, type Run, resolveServedPrice } from './admitted-call.ts';
import type { GatewayAnswer } from './answer.ts';
import { withCounted } from './counted-usage.ts';
import { type AnswerForm, formAt, hasUncountedOutput, type StreamCost } from './dialects/dialect.ts';
import { wireError } from './error-envelope.ts';
import type { Attempt } from './models.ts';
import { withVendorHeaders } from './passed-headers.ts';
import { reportedUsage, toUsage } from './service-calls/end.ts';
import { seenOutput, tokensPerAnswer, uncountedOutput, unseenOutput, usageAtMost } from './service-calls/output.ts';
import { STORED_BINARY_BYTES_MAX, STORED_BYTES_MAX, type StoredAnswer } from './stored-answer.ts';
import { holdExtender, StreamHold } from './stream-hold.ts';
import { cleanFailure, findRequestId, picked, withoutKeys } from './vendor-result.ts';

/**
 * The most bytes that are read after the caller has left: the longest answers of models, with the overhead of their
 * events.
 */
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;

export function answerStream(
  run: Run,
  current: CurrentAttempt,
  result: PassingResult,
  { addsUsage, presence, vendorKey }: { addsUsage: boolean; presence: Presence; vendorKey: string },
): GatewayAnswer {
  const { caller, request, dialect } = run;
  const { kind, model } = current.attempt;
  const { status } = result;
  const isEvents = result.content === 'events';
  const contentType = streamContentType(result);
  const form = formAt(dialect, kind);
  const answerForm = form.answerForm?.(request);
  const headers = {
    ...picked(result.headers, ['content-disposition']),
    'Content-Type': contentType,
    ...answerHeaders(run, current.attempt),
    [GATEWAY_HEADERS.requestId]: findRequestId(result.headers) ?? run.requestId,
  };
  const recording = run.keyed ? recorded(result.body, isEvents ? STORED_BYTES_MAX : STORED_BINARY_BYTES_MAX) : null;
  const passed = isEvents ? null : new PassedBody(result.headers, result.content === 'json');
  const ended = Promise.withResolvers<void>();
  // Keeps this Worker reading when the caller has left.
  caller.defer(ended.promise);
  countUnderWay(ended.promise);
  const hold = streamHold(run, current.attempt);
  const onEnd = async (outcome: StreamOutcome) => {
    try {
      const bytes = recording?.bytes() ?? null;
      await endStream(run, current, hold ? withinHold(outcome, hold) : outcome, {
        heldTokens: hold?.heldTokens ?? Number.POSITIVE_INFINITY,
        headers: result.headers,
        vendorKey,
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
  const reading = passed ?? choosePassingUsage(answerForm, written);
  const body = meterStream(recording?.body ?? result.body, {
    idleTimeoutMs: Number(caller.env.GATEWAY_IDLE_TIMEOUT_MS),
    unread: unreadStream(run),
    // Less if the caller left before the stream began.
    drainMsMax: presence.readOnMs,
    bytesMax: DRAIN_BYTES_MAX,
    ...(transform && { transform }),
    written,
    ...(reading && { reading }),
    ...(limit && { limit }),
    // Events of an unknown form end when their vendor ends them.
    ...(isEvents &&
      answerForm !== 'any' && {
        told: (text: string) => withoutKeys(text, vendorKey),
        broken: (end: StreamOutcome['end'], last: Fields | null) => {
          const { code, message } = BROKEN[end === 'timeout' || end === 'unread' ? end : 'vendor_cut'];
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
  const hasLeft = clientSignal.aborted;
  if (hasLeft) leave();
  else clientSignal.addEventListener('abort', leave, { once: true });
  // The remaining limits at the beginning of the stream.
  const own = { ...headers, ...limitHeaders(run.admission.left, current.attempt.tier) };
  const passedHeaders = withVendorHeaders(own, result.headers, run.session !== undefined);
  // An abandoned stream has no body.
  return { status, headers: passedHeaders, body: hasLeft ? '' : body };
}

/** The content type of the bytes, whatever the headers say. */
function streamContentType({ content, headers }: PassingResult): string {
  const said = headers.get('content-type') ?? '';
  switch (content) {
    case 'events':
      return /event-stream/i.test(said) ? said : 'text/event-stream; charset=utf-8';
    case 'json':
      return /json/i.test(said) ? said : 'application/json';
    case 'other':
      return said || 'application/octet-stream';
  }
}

/** Reads the chunks of events if the events themselves are not read while they pass. */
function choosePassingUsage(form: AnswerForm | undefined, written: WrittenTokens): PassingUsage | null {
  if (form === 'any') return new StreamUsage({ written, anyForm: true });
  return form === 'large' ? new SkimmedUsage({ written }) : null;
}

/** The hold of a stream in steps; `undefined` if its whole possible cost is held, or an allowance pays. */
function streamHold({ caller, customerId, admission }: Run, attempt: BoundedAttempt): StreamHold | undefined {
  const { callId, credit } = admission;
  if (credit?.heldTokens === undefined || !credit.tiers.includes(attempt.tier)) return undefined;
  const tokensMax = (tokensPerAnswer(attempt, admission) ?? 0) * attempt.bound.answers;
  const extend = holdExtender(caller, customerId, callId);
  return new StreamHold(credit.heldTokens, tokensMax, async (tokens) => (await extend(tokens)).heldTokens);
}

/** How long a connected caller may leave a stream unread, even if no other call waits for the hold. */
const UNREAD_MS_MAX = 10 * 60_000;
/** The same time if another call of the customer was refused meanwhile for lack of credit. */
const UNREAD_WHILE_WANTED_MS_MAX = 60_000;
/** The object remembers a refusal as long as this stream keeps asking. */
const UNREAD_ASKED_EVERY_MS = 5_000;

/** Stops the vendor of a stream that nobody reads, so that other calls can use its hold. */
function unreadStream({ caller, customerId, admission }: Run): NonNullable<MeterOptions['unread']> {
  const onCredit = admission.credit !== undefined;
  const ask = holdExtender(caller, customerId, admission.callId);
  return {
    everyMs: UNREAD_ASKED_EVERY_MS,
    async isOver(unreadMs) {
      if (unreadMs >= UNREAD_MS_MAX) return true;
      if (!onCredit) return false;
      // Asks without extending the hold.
      const { creditRefusedAtMs } = await ask(0);
      const isWanted = creditRefusedAtMs !== null && creditRefusedAtMs >= Date.now() - unreadMs;
      return isWanted && unreadMs >= UNREAD_WHILE_WANTED_MS_MAX;
    },
  };
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

/** Drops the text that was counted but not passed on, because nothing is held for it. */
function withinHold<SoFar extends StreamSoFar>(soFar: SoFar, { heldTokens }: StreamHold): SoFar {
  return { ...soFar, outputTokens: Math.min(soFar.outputTokens, heldTokens) };
}

function streamCost(run: Run, attempt: Attempt): StreamCost {
  return async (usage) => {
    // The cost of unclear figures and of earlier attempts is known only at the end of the call.
    if (usage.unclear || run.unanswered.length > 0) return null;
    const { catalog, caller } = run;
    const own = { price: await resolveServedPrice(run, attempt, usage), usage: toUsage(usage) };
    const at = listParts(usage).map((part) => ({ ...part, providerUsed: attempt.provider }));
    const parts = await pricedParts(catalog, caller.organization.prices, at, Date.now());
    const priced = costOfAll([own, ...parts], 'standard');
    return priced.known ? usdFromNano(priced.cost.totalNanoUsd) : null;
  };
}

interface StreamEnd {
  /** The held output tokens, if the output is held in steps. */
  heldTokens: number;
  headers: Headers;
  vendorKey: string;
  passed: PassedBody | null;
  stored: StoredAnswer | undefined;
}

async function endStream(
  run: Run,
  current: CurrentAttempt,
  outcome: StreamOutcome,
  { heldTokens, headers, vendorKey, passed, stored }: StreamEnd,
): Promise<void> {
  const { dialect, request } = run;
  const { failure: said, partial, hasOutput } = outcome;
  const isFree = said !== null && outcome.usage === null && partial === null && !hasOutput;
  const reported = withServedTier(outcome.usage, headers);
  const usage = reported ?? outcome.partial;
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
  const atMost = usageAtMost(attempt, run.admission);
  const failure = streamFailure(outcome);
  const error = failure && cleanFailure(failure, vendorKey);
  // The vendor's text of a stopped stream is not the text that the caller got.
  const response = error || outcome.end === 'stopped' ? undefined : stored;
  await endRun(
    run,
    current,
    {
      usage: isFree ? NO_USAGE : used,
      atMost: atMost && { ...atMost, outputTokens: Math.min(atMost.outputTokens, heldTokens) },
      parts: listParts(usage),
      estimate,
      searches: outcome.searches,
      vendorReportedCostUSD,
      error,
      response,
      // A stopped stream is charged for its hold, whatever its response says later.
      responseId: outcome.end === 'stopped' ? undefined : outcome.responseId,
    },
    { modelUsed: usage?.modelUsed, isFallback: usage?.isFallback, effort: usage?.reasoningEffort },
  );
}

/** Why a stream that did not end well is a failed call. */
const BROKEN = {
  client_left: {
    code: 'CLIENT_LEFT',
    message: 'the caller left, and the stream did not end in the time that it was read on',
  },
  unread: { code: 'CLIENT_LEFT', message: 'the caller did not read the stream, and the vendor was stopped' },
  timeout: { code: 'VENDOR_TIMEOUT', message: 'the vendor fell silent in the middle of its stream' },
  vendor_cut: { code: 'VENDOR_STREAM_CUT', message: "the vendor's stream ended before its end" },
} as const;

/** Why a stream with this outcome is a failed call; `undefined` if it is not. */
function streamFailure({ end, completed, failure }: StreamOutcome): { code: string; message: string } | undefined {
  if (failure) return failure;
  // A stopped stream still ends with the regular final event.
  return completed || end === 'completed' || end === 'stopped' ? undefined : BROKEN[end];
}

/** The stored form of an answer that has passed. */
function storedAs(
  bytes: Uint8Array,
  { status, headers, ...ofStream }: Pick<StoredAnswer, 'status' | 'headers' | 'addsUsage' | 'kind'>,
  isEvents: boolean,
): StoredAnswer {
  return isEvents
    ? { status, headers, body: new TextDecoder().decode(bytes), isStream: true, ...ofStream }
    : { status, headers, body: toBase64(bytes), isBase64: true };
}

/**
 * The source, and the bytes that have passed; the bytes are released once taken. `null` if they exceed the bound or did
 * not fit into memory.
 */
function recorded(body: ByteSource, bytesMax: number): { body: ByteSource; bytes(): Uint8Array | null } {
  let chunks: Uint8Array[] | null = [];
  let bytes = 0;
  const memory = new HeldBytes('recorded');
  const record = (chunk: Uint8Array) => {
    bytes += chunk.byteLength;
    if (chunks && (bytes > bytesMax || !memory.take(chunk.byteLength))) {
      chunks = null;
      memory.release();
    }
    chunks?.push(chunk.slice());
  };
  return {
    body: {
      async read() {
        const part = await body.read();
        if (!part.done) record(part.value);
        return part;
      },
      cancel: (reason) => body.cancel(reason),
    },
    bytes: () => {
      const whole = chunks && joined(chunks);
      // Later bytes are ignored.
      chunks = null;
      memory.release();
      return whole;
    },
  };
}
