/**
 * An admitted call: asks the vendors in order until one answers, and ends the call with the usage that this vendor
 * reports.
 *
 * Another model is tried only if the vendor failed for a reason of its own and the caller has got nothing yet. The call
 * is always ended: not even a fault of Callmeter leaves a hold behind.
 */

import { countUnderWay } from '../admission/calls-under-way.ts';
import { GATEWAY_HEADERS } from '../contract/gateway/labels.ts';
import { limitHeaders } from '../contract/limit-headers.ts';
import { NO_USAGE } from '../domain/usage.ts';
import { chooseEffort } from '../vendors/effort.ts';
import { Presence } from '../vendors/presence.ts';
import type { PassedAs, PassingResult, VendorRequest, WholeResult } from '../vendors/request.ts';
import { requestVendor } from '../vendors/request.ts';
import { writtenTokens } from '../vendors/written-tokens.ts';
import { attemptTerms } from './admission.ts';
import { answerHeaders, type CurrentAttempt, endRun, type Run } from './admitted-call.ts';
import type { GatewayAnswer } from './answer.ts';
import { answerStream } from './answer-stream.ts';
import { withCounted } from './counted-usage.ts';
import { endpointAt } from './demand/endpoints.ts';
import { withOutputBound } from './demand/output.ts';
import { asAllowed } from './demand/safe.ts';
import { type AnswerForm, formAt, hasUncountedOutput, type ModelRequest } from './dialects/dialect.ts';
import { refuseCall } from './error-envelope.ts';
import { withoutOwnFields } from './identify.ts';
import type { Attempt } from './models.ts';
import { requestHeaders, withVendorHeaders } from './passed-headers.ts';
import { searchesMax, seenOutput, tokensPerAnswer, uncountedOutput, unseenOutput } from './service-calls/output.ts';
import { costHeader, storableAnswer } from './stored-answer.ts';
import { type AskedResult, askedForUsage } from './stream-usage.ts';
import { readOpening } from './vendor-answer.ts';
import { findVendorKey } from './vendor-key.ts';
import {
  failed,
  findRequestId,
  type Reading,
  readFailedAnswer,
  readPassed,
  readResult,
  translated,
} from './vendor-result.ts';

export function runCall(run: Run): Promise<GatewayAnswer> {
  const work = carryOut(run);
  countUnderWay(work);
  // Continues after the caller has left, so that the vendor's work is recorded.
  run.caller.defer(work.catch(() => undefined));
  return work;
}

async function carryOut(run: Run): Promise<GatewayAnswer> {
  const { caller, dialect, request, session, attempts, admission } = run;
  const [wanted] = attempts;
  if (!wanted) throw new Error('an admitted call has an attempt');
  let current: CurrentAttempt = {
    attempt: wanted,
    effort: { effort: undefined, source: undefined },
    asked: { atMs: Date.now() },
  };
  let vendorAsked = false;
  try {
    const body = withoutOwnFields(request);
    if (session?.customerUserId != null && body.user != null) body.user = session.customerUserId;
    const untilMs = Date.now() + Number(caller.env.GATEWAY_TIMEOUT_MS);
    const presence = new Presence(run.clientSignal());
    let reading: Reading | null = null;
    for (const [index, attempt] of attempts.entries()) {
      const vendorKey = await findVendorKey(caller, attempt.provider);
      if (vendorKey === null) {
        reading ??= keyUnreadable(run, attempt);
        run.tried.add(attempt, 'no-key');
        continue;
      }
      const { reasoningLevel } = admission.allowed;
      if (reading && reading.usage !== NO_USAGE) {
        const estimate = unseenOutput(current.attempt, admission, current.asked);
        run.unanswered.push({ current, reading, estimate });
      }
      const effort = chooseEffort(dialect.effortAsked(request), reasoningLevel, attempt.limits.efforts);
      current = { attempt, effort, asked: { atMs: Date.now() } };
      // Every attempt gets an equal share of the remaining time, so the last one gets all of it.
      const timeoutMs = Math.max(1, (untilMs - Date.now()) / (attempts.length - index));
      vendorAsked = true;
      const { result, addsUsage } = await askVendor(run, current, body, vendorKey, { timeoutMs, presence });
      run.tried.add(attempt, result);
      const opening = result.kind === 'passing' ? failedOpening(run, result, vendorKey) : null;
      if (result.kind === 'passing' && !opening) {
        return answerStream(run, current, result, { addsUsage, presence, vendorKey });
      }
      current = { ...current, asked: { ...current.asked, leftAtMs: Date.now() } };
      reading = opening ?? readWhole(run, attempt, result as WholeResult, vendorKey);
      if (result.kind === 'answer' || result.kind === 'passing') {
        reading.headers = result.headers;
        reading.answer.headers[GATEWAY_HEADERS.requestId] = findRequestId(result.headers) ?? run.requestId;
      }
      // No further model is asked after the caller has left.
      if (!reading.retryable || presence.hasLeft) break;
    }
    if (!reading) throw new Error('an admitted call has an attempt');
    // If no later vendor did the work, the call counts for the first vendor that may have done it.
    const first = reading.usage === NO_USAGE ? run.unanswered.shift() : undefined;
    return first
      ? await answerWhole(run, first.current, { ...first.reading, answer: reading.answer, headers: reading.headers })
      : await answerWhole(run, current, reading);
  } catch (error) {
    const failure = { code: 'INTERNAL_ERROR', message: 'the service failed' };
    const estimate = unseenOutput(current.attempt, admission, current.asked);
    await endRun(run, current, { usage: vendorAsked ? null : NO_USAGE, estimate, error: failure });
    throw error;
  }
}

/** The error that begins a stream, if there is one: its vendor has failed, and nothing has been passed on. */
function failedOpening({ dialect, request }: Run, result: PassingResult, vendorKey: string): Reading | null {
  const answer = dialect.answerForm?.(request) === 'any' ? null : readOpening(result);
  if (!answer) return null;
  // What else the vendor sends is not waited for.
  result.body.cancel().catch(() => undefined);
  return readFailedAnswer(answer, vendorKey, dialect.errorBody);
}

function readWhole({ dialect, request }: Run, attempt: Attempt, result: WholeResult, vendorKey: string): Reading {
  const form = dialect.answerForm?.(request);
  if (form === 'any') return readPassed(result, vendorKey);
  const reading = readResult(result, vendorKey, dialect.errorBody, {
    isText: form === 'text',
    isOfModel: true,
    counted: (usage, document) =>
      dialect.counted ? withCounted(usage, attempt.price, dialect.counted(request, document)) : usage,
  });
  return translated(reading, formAt(dialect, attempt.kind), dialect);
}

const RESPONSE_TYPES = {
  json: 'passed',
  text: 'passed-text',
  large: 'passed',
  bytes: 'any',
  any: 'any',
} as const satisfies Record<AnswerForm, PassedAs>;

function askVendor(
  run: Run,
  { attempt, effort: { effort } }: CurrentAttempt,
  request: ModelRequest,
  vendorKey: string,
  { timeoutMs, presence }: Pick<VendorRequest, 'timeoutMs' | 'presence'>,
): Promise<AskedResult> {
  const { dialect, admission, caller } = run;
  const { organizationId, vendors } = caller.organization;
  const { provider, kind, baseUrl } = attempt;
  const form = formAt(dialect, kind);
  const answerForm = form.answerForm?.(request) ?? 'json';
  const perAnswer = tokensPerAnswer(attempt, admission);
  const searches = searchesMax(attempt, admission);
  const untilMs = Date.now() + timeoutMs;
  const terms = attemptTerms(attempt, effort, admission.allowed.reasoningLevel);
  const onCredit = admission.credit?.tiers.includes(attempt.tier) ?? false;
  const buildVendorBody = (addsUsage: boolean) => form.vendorBody(request, { ...terms, addsUsage });
  const addsUsage = form === dialect && buildVendorBody(true).stream_options !== request.stream_options;
  const send = (asksUsage: boolean) => {
    const body = buildVendorBody(asksUsage);
    const held = perAnswer === null ? body : withOutputBound(body, { kind, path: form.endpoint }, perAnswer);
    const endpoint = endpointAt(form.endpoint)?.name;
    const safe = endpoint ? asAllowed(held, { endpoint, kind, searches, onCredit }) : { body: held, changed: [] };
    run.changed = safe.changed;
    run.lostThinking = 'thinking' in body && !('thinking' in safe.body);
    return requestVendor({
      url: form.vendorUrl(attempt, request),
      method: form.method ?? 'POST',
      headers: {
        ...requestHeaders(form.vendorHeaders(vendorKey), run.toVendor, vendors.get(provider)),
        ...(run.text.contentType !== '' && { 'content-type': run.text.contentType }),
      },
      // An unchanged request is sent as it came.
      body: run.text.changed(run.request, safe.body),
      timeoutMs: Math.max(1, untilMs - Date.now()),
      ...(presence && { presence }),
      // A translated answer must be whole, unless it is events.
      responseType: form.answer && request.stream !== true ? 'held' : RESPONSE_TYPES[answerForm],
    });
  };
  return askedForUsage(`${organizationId} ${baseUrl}`, addsUsage, send);
}

async function answerWhole(run: Run, current: CurrentAttempt, reading: Reading): Promise<GatewayAnswer> {
  const { attempt, asked } = current;
  const { answer, usage, parts, withoutUsage, responseId, searches, vendorReportedCostUSD, error } = reading;
  const headers = {
    [GATEWAY_HEADERS.requestId]: run.requestId,
    ...answer.headers,
    ...answerHeaders(run, attempt),
    // A retry under the key of a failed call gets the stored answer.
    ...(run.keyed && answer.status >= 400 && { [GATEWAY_HEADERS.shouldRetry]: 'false' }),
  };
  const whole = { ...answer, headers };
  const { admission } = run;
  const seen = (text: unknown) => ({ partial: null, outputTokens: writtenTokens(text, attempt.kind, attempt.model) });
  const estimate =
    withoutUsage === undefined
      ? unseenOutput(attempt, admission, asked)
      : hasUncountedOutput(run.dialect, run.request)
        ? uncountedOutput(attempt, admission)
        : seenOutput(attempt, admission, seen(withoutUsage), true, asked);
  const ended = await endRun(
    run,
    current,
    {
      usage,
      parts,
      estimate,
      searches,
      vendorReportedCostUSD,
      error,
      response: run.keyed ? storableAnswer(whole) : undefined,
      responseId,
    },
    reading,
  );
  const told = ended?.ok ? { ...costHeader(ended.costNanoUsd, answer.status), ...limitHeaders(ended.left) } : {};
  const own = { ...headers, ...told };
  // A vendor's limits change from moment to moment, so they are not stored.
  return { ...whole, headers: withVendorHeaders(own, reading.headers ?? new Headers(), run.session !== undefined) };
}

/** The vendor key was encrypted under a secret that is no longer in use. */
function keyUnreadable({ dialect }: Run, { provider }: Attempt): Reading {
  const message = `the vendor key of ${provider} cannot be decrypted; set it again`;
  return failed(refuseCall('VENDOR_KEY_UNREADABLE', message), NO_USAGE, true, dialect.errorBody);
}
