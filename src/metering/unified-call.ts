/**
 * Use case: begin, the vendor's request, and end in one. A denied begin makes no vendor request, and a retry never
 * reaches the vendor twice.
 */

import type { BeginCallData, EndCallData } from '../contract/calls.ts';
import { type Accepted, type Answer, accept, refuse } from '../contract/errors.ts';
import { isRecord } from '../contract/identity.ts';
import type { CallData, CallRequest } from '../contract/unified-call.ts';
import { capabilityDenied } from '../domain/entitlements.ts';
import type { Usage } from '../domain/pricing.ts';
import { sanitizeErrorMessage } from '../domain/sanitize.ts';
import type { BeginCommand } from '../objects/customer-commands.ts';
import { isShallow, parseAnswer } from '../platform/json.ts';
import { checkVendorUrl } from '../vendors/address.ts';
import { requestVendor, type VendorResult } from '../vendors/request.ts';
import {
  IMPLAUSIBLE,
  plausible,
  type ReportedUsage,
  readFailure,
  readReportedUsage,
  readSearches,
  StreamUsage,
} from '../vendors/usage.ts';
import { openCall, pricingModeOf } from './begin-call.ts';
import type { Caller } from './caller.ts';
import { endSurely } from './end-surely.ts';
import { NO_USAGE, type Outcome, reportedUsage } from './finish-call.ts';
import { explicitKey, fingerprintOf } from './idempotency.ts';
import { modelAsked, vendorNeeds } from './vendor-needs.ts';

type VendorRequest = NonNullable<CallRequest['vendor']>;
type VendorPart = NonNullable<CallData['vendor']>;

/** What is kept of a finished call beside its end. */
interface Kept {
  vendor?: VendorPart;
  endUsage: NonNullable<CallData['endUsage']>;
}

/** What a call may take beyond its vendor's time. */
const END_MARGIN_MS = 60_000;
/** While the first request is on its way, a retry is asked to come back after this. */
const IN_FLIGHT_RETRY_SECONDS = 2;

const NOT_ENDED_YET = 'what the call used is being recorded; its cost is at GET /calls/{callId}';

export async function makeCall(
  caller: Caller,
  request: CallRequest,
  headerKey: string | null,
): Promise<Answer<CallData>> {
  const { vendor } = request;
  const address = vendor && checkVendorUrl(vendor.url, caller.organization.vendorOrigins);
  if (address && !address.ok) {
    const details = [{ path: 'vendor.url', message: address.reason }];
    return refuse('BAD_REQUEST', `vendor.url: ${address.reason}`, { members: { details } });
  }
  const { requested, tier, needs, unpriced } = await vendorNeeds(caller, request);
  const { vendor: _vendor, usage: _usage, end: _end, ...begin } = request;
  const toMake = {
    request: { ...begin, requested },
    fingerprint: await fingerprintOf(describe(request)),
    runsOn: tier && [tier],
    needs,
    unpriced,
    // Should this Worker die, nothing is held for longer than the vendor could have taken.
    deadlineMs: (request.vendor?.timeoutMs ?? 0) + END_MARGIN_MS,
    untold: true,
    answered: true,
  };
  const opened = await openCall(caller, toMake, headerKey);
  if (!opened.ok) return opened;
  const { answer, replayed } = opened;
  if (!answer) throw new Error('the answer of the begin was asked for');
  const { result, data } = answer;
  if (opened.status === 'NOT_ALLOWED') {
    const message = capabilityDenied(needs, data.allowed) ?? result.message;
    return { ...accept('CALL_SUCCESS', { begin: data }, Date.parse(result.timestamp), message), replayed };
  }
  if (opened.kept) {
    const { keep, end, endedAtMs } = opened.kept;
    return { ...present(data, end, keep as Kept, endedAtMs), replayed: true };
  }
  if (replayed) return unfinished(opened.status);
  // Goes on though the client may leave: the vendor is asked once, and what it says is recorded.
  const work = carryOut(caller, request, answer, {
    untold: opened.untold,
    keyed: explicitKey(headerKey, request) !== null,
  });
  caller.defer(work.catch(() => undefined));
  return work;
}

async function carryOut(
  caller: Caller,
  request: CallRequest,
  begin: Accepted<BeginCallData>,
  { untold, keyed }: { untold: BeginCommand | null; keyed: boolean },
): Promise<Answer<CallData>> {
  const { customerId, vendor } = request;
  const { outcome, kept } = vendor ? await askVendor(request, vendor) : reported(request);
  // Only under a key can anybody ask for it again.
  const toFinish = { ...outcome, customerId, untold, answered: true, ...(keyed && { keep: kept }) };
  const ended = await endSurely(caller, begin.data.callId, toFinish);
  // The vendor's answer does not wait for an object that is away; a retry under the call's key finds it whole.
  if (!ended) return present(begin.data, undefined, kept, Date.now(), NOT_ENDED_YET);
  if (!ended.ok) return ended;
  if (!ended.answer) throw new Error('the answer of the end was asked for');
  // Of the moment in which the end was recorded, as a retry will find it.
  return present(begin.data, ended.answer.data, kept, Date.parse(ended.answer.result.timestamp), begin.result.message);
}

type Done = { outcome: Omit<Outcome, 'customerId' | 'keep' | 'answered'>; kept: Kept };

/** A call without a vendor: what the caller says of it. */
function reported({ usage = {}, end }: CallRequest): Done {
  const {
    modelUsed,
    providerUsed,
    isPremium,
    reasoningEffort,
    reasoningEffortSource,
    reasoningMode,
    reasoningBudgetTokens,
    ...figures
  } = usage;
  const reasoning = { reasoningEffort, reasoningEffortSource, reasoningMode, reasoningBudgetTokens };
  const outcome = {
    ...reasoning,
    modelUsed,
    providerUsed,
    isPremium,
    usage: figures as Partial<Usage>,
    error: end?.error,
  };
  return { outcome, kept: { endUsage: presentUsage({ ...NO_USAGE, ...(figures as Partial<Usage>) }, modelUsed) } };
}

async function askVendor(request: CallRequest, vendor: VendorRequest): Promise<Done> {
  const result = await requestVendor({
    url: vendor.url,
    method: vendor.method,
    headers: vendor.headers ?? {},
    body: vendor.body,
    timeoutMs: vendor.timeoutMs,
    // A stream is answered as a whole here, so it is read as text.
    responseType: vendor.responseType === 'json' ? 'json' : 'text',
  });
  const { ok, status, body, reported, searches, refused, error, details = {} } = readAnswer(result);
  const said = plausible(reported);
  const modelUsed = said?.modelUsed ?? modelAsked(vendor);
  const usage = reported === null && refused ? NO_USAGE : reportedUsage(reported);
  const outcome: Done['outcome'] = {
    providerUsed: vendor.provider ?? said?.providerUsed,
    modelUsed,
    usage,
    searches,
    isPremium: request.usage?.isPremium,
    reasoningEffort: said?.reasoningEffort,
    ...(said?.reasoningEffort !== undefined && { reasoningEffortSource: 'provider_response' as const }),
    error: error ?? request.end?.error,
  };
  return {
    outcome,
    kept: {
      vendor: {
        ok,
        status,
        ...(modelUsed !== undefined && { modelUsed }),
        ...(error && { error: { message: error.message, details } }),
        body,
      },
      endUsage: presentUsage(
        usage === null || usage === IMPLAUSIBLE ? { ...NO_USAGE, searches: searches ?? 0 } : usage,
        modelUsed,
      ),
    },
  };
}

interface Read {
  ok: boolean;
  status: number;
  /** What the vendor said of the usage. */
  reported: ReportedUsage;
  /** Web searches that are known although the usage is not. */
  searches?: number;
  /** The vendor did not do the work: where it says nothing of a usage, there was none. */
  refused: boolean;
  body: unknown;
  error?: { code: string; message: string };
  /** The vendor's own error, where it is one. */
  details?: Record<string, unknown>;
}

/** What the vendor's answer says, whatever became of it. */
function readAnswer(result: VendorResult): Read {
  switch (result.kind) {
    case 'timeout':
      return {
        ...NO_ANSWER,
        status: 504,
        error: { code: 'VENDOR_TIMEOUT', message: 'the vendor did not answer in time' },
      };
    case 'unreachable':
      return { ...NO_ANSWER, refused: true, error: { code: 'VENDOR_UNREACHABLE', message: result.message } };
    case 'broken':
      return { ...NO_ANSWER, error: { code: BROKEN, message: result.message } };
    case 'stream':
      throw new Error('a stream was not asked for');
    case 'answer':
      return readBody(result);
  }
}

const NO_ANSWER = { ok: false, status: 502, reported: null, refused: false, body: null };
const BROKEN = 'VENDOR_ANSWER_BROKEN';

function readBody({ status, ok, headers, body }: VendorResult & { kind: 'answer' }): Read {
  const stream = typeof body === 'string' ? readStream(body) : null;
  // Text was asked for, and may still be JSON: a refusal, or an answer longer than any event of a stream.
  const document = typeof body === 'string' ? parseAnswer(body) : body;
  const read = {
    status,
    reported: stream?.reported() ?? readReportedUsage(document),
    searches: stream?.searches() || readSearches(document),
    refused: !ok,
    body,
  };
  // It could be neither kept nor answered.
  if (!isShallow(document))
    return { ...read, ok: false, body: null, error: { code: BROKEN, message: "the vendor's answer nests too deep" } };
  if (!ok) return { ...read, ok: false, error: failureOf(status, document), details: detailsOf(document) };
  if (stream?.failed) return { ...read, ok: false, error: clean(stream.failed) };
  const error = stream && document === undefined ? brokenOff(stream, headers.get('content-type') ?? '') : null;
  return error ? { ...read, ok: false, error } : { ...read, ok: true };
}

/** What dies on the way is a failed call, also where it had told nothing yet; text of another kind is not judged. */
function brokenOff(stream: StreamUsage, contentType: string): Read['error'] | null {
  if (stream.truncated || (stream.empty && /event-stream/i.test(contentType))) {
    return { code: 'VENDOR_STREAM_CUT', message: "the vendor's stream ended before its end" };
  }
  return stream.empty && /\bjson\b/i.test(contentType)
    ? { code: BROKEN, message: "the vendor's answer is no JSON" }
    : null;
}

function failureOf(status: number, body: unknown): { code: string; message: string } {
  const failure = readFailure(body);
  return failure ? clean(failure) : { code: `VENDOR_HTTP_${status}`, message: `the vendor answered ${status}` };
}

/** Google wraps some of its errors in an array. */
function detailsOf(body: unknown): Record<string, unknown> {
  const error = Array.isArray(body) ? body[0] : body;
  return isRecord(error) ? error : {};
}

function clean({ code, message }: { code: string; message: string }) {
  return { code: sanitizeErrorMessage(code), message: sanitizeErrorMessage(message) };
}

function readStream(text: string): StreamUsage {
  const stream = new StreamUsage();
  stream.push(text);
  stream.end();
  return stream;
}

function present(
  begin: BeginCallData,
  end: EndCallData | undefined,
  { vendor, endUsage }: Kept,
  atMs: number,
  message?: string,
) {
  const code = vendor && !vendor.ok ? 'CALL_VENDOR_WARNING' : 'CALL_SUCCESS';
  return accept(code, { begin, ...(end && { end }), ...(vendor && { vendor }), endUsage }, atMs, message);
}

function presentUsage(usage: Usage, modelUsed: string | undefined): NonNullable<CallData['endUsage']> {
  return { ...usage, tokens: usage.responseTokens, ...(modelUsed !== undefined && { modelUsed }) };
}

/** A retry of a call whose end is not there: it is still under way, or nobody was left to end it. */
function unfinished(status: string | null) {
  if (status === 'IN_PROGRESS') {
    return refuse('CALL_IN_FLIGHT', 'the call is still under way', {
      retryAfterSeconds: IN_FLIGHT_RETRY_SECONDS,
      members: { status },
    });
  }
  return refuse('CALL_ALREADY_FINALIZED', `the call is ${status}, and its answer was not kept`, {
    members: { status },
  });
}

/**
 * What makes two requests the same call, in one spelling. The vendor's headers hold its key: not even a hash of them is
 * kept, and a new key is the same call. The operation is a part of it, because begins share the keys of calls.
 */
function describe(request: CallRequest): object {
  const { batch: _batch, customerName, customerFriendlyName = customerName, vendor, ...described } = request;
  const pricingMode = pricingModeOf(request) ?? 'standard';
  return {
    ...described,
    operation: 'makeCall',
    customerFriendlyName,
    pricingMode,
    vendor: vendor && { ...vendor, headers: undefined },
  };
}
