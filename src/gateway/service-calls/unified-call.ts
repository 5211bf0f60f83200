/**
 * Use case: begin, the vendor's request, and end in one. A denied begin makes no vendor request, but for a free count of
 * the prompt, and a retry never reaches the vendor twice.
 */

import { modelToRecord } from '../../catalog/prices.ts';
import { currentCatalog } from '../../config/catalog.ts';
import type { BeginCallData, EndCallData } from '../../contract/calls.ts';
import { type Complete, complete } from '../../contract/complete.ts';
import { type Accepted, accept, type Refused, refuse } from '../../contract/errors.ts';
import { isRecord } from '../../contract/identity.ts';
import { closedFeature } from '../../contract/key-limits.ts';
import type { AnswerTo, RefusalTo } from '../../contract/operations.ts';
import type { CallData, CallRequest } from '../../contract/unified-call.ts';
import { takeFacts } from '../../domain/call-facts.ts';
import type { Nothing } from '../../domain/call-report.ts';
import { capabilityDenied } from '../../domain/entitlements.ts';
import { isPlainPath } from '../../domain/open-paths.ts';
import { sanitizeErrorMessage } from '../../domain/sanitize.ts';
import { DEFAULT_TIER } from '../../domain/tiers.ts';
import type { UnclearFigure } from '../../domain/unclear-usage.ts';
import { NO_USAGE, takeUsage, type Usage } from '../../domain/usage.ts';
import type { VendorKind } from '../../domain/vendor-kind.ts';
import { pricingModeOf } from '../../metering/begin-call.ts';
import { partsOf } from '../../metering/call-parts.ts';
import type { Caller } from '../../metering/caller.ts';
import { explicitKey, fingerprintOf } from '../../metering/idempotency.ts';
import { closedVendorRequest } from '../../metering/key-limits.ts';
import type { Admission } from '../../objects/customer-commands.ts';
import { isShallow } from '../../platform/json.ts';
import { checkVendorUrl } from '../../vendors/address.ts';
import { ANSWERS_HELD, isAnswerMemoryFull } from '../../vendors/answer-memory.ts';
import { readJson } from '../../vendors/json-skim.ts';
import { Presence } from '../../vendors/presence.ts';
import { CLIENT_LEFT, requestVendor, type VendorResult } from '../../vendors/request.ts';
import { requestedServiceTier, withServedTier } from '../../vendors/service-tier.ts';
import type { StreamSoFar } from '../../vendors/tee.ts';
import { fieldsOf, textOf } from '../../vendors/usage/figures.ts';
import { readFailure, readSearches, readUsage, StreamUsage, type VendorUsage } from '../../vendors/usage.ts';
import { hasWritten, WrittenTokens, writtenTokens } from '../../vendors/written-tokens.ts';
import { beginServiceCall } from './begin.ts';
import { countedBounds } from './counted-bounds.ts';
import { countedPrompts, type FollowedPrompt } from './counted-prompts.ts';
import { type Outcome, type reportedUsage, unclearIn } from './end.ts';
import { endWithRetries } from './end-with-retries.ts';
import {
  type Bounded,
  measuredAt,
  searchesOf,
  seenOutput,
  tokensPerAnswer,
  unseenOutput,
  usageAtMost,
} from './output.ts';
import { requestedModel } from './requested-model.ts';
import { followedPrompt, kindOfRequest, promptToCount, vendorBody, vendorNeeds } from './vendor-needs.ts';

type VendorRequest = NonNullable<CallRequest['vendor']>;
type VendorPart = NonNullable<CallData['vendor']>;

/** What is stored of a finished call beside its end, for retries. */
interface StoredResponse {
  vendor?: Complete<VendorPart>;
  endUsage: EndUsage;
}

type EndUsage = Complete<NonNullable<CallData['endUsage']>>;

/** How much longer than its vendor a call may take. */
const END_MARGIN_MS = 60_000;
/** A retry that arrives while the first request is under way is asked to come back after this. */
const IN_FLIGHT_RETRY_SECONDS = 2;

const NOT_ENDED_YET = 'what the call used is being recorded; its cost is at GET /calls/{callId}';

/** `clientSignal` makes the signal that is aborted when the caller leaves. */
export async function makeCall(
  caller: Caller,
  asked: CallRequest,
  headerKey: string | null,
  clientSignal: () => AbortSignal,
): Promise<AnswerTo<'makeCall'>> {
  const address = asked.vendor && checkVendorUrl(asked.vendor.url, caller.organization.vendorOrigins);
  const wrong = address && (address.ok ? pathReason(address.url) : address.reason);
  if (wrong) {
    const details = [{ path: 'vendor.url', message: wrong }];
    return refuse('BAD_REQUEST', `vendor.url: ${wrong}`, { members: { details } });
  }
  // What is judged is what is sent.
  const request = address?.ok ? withAddress(asked, address.url) : asked;
  const { vendor } = request;
  if (vendor && isAnswerMemoryFull()) return refuse('SERVICE_UNAVAILABLE', ANSWERS_HELD, { retryAfterSeconds: 1 });
  const closed =
    closedFeature(caller.limits, request.feature) ??
    (vendor ? await closedVendorRequest(caller, vendor, 'vendor.body.model') : null);
  if (closed) return closed;
  const { requested, tier, needs, ...bounded } = await vendorNeeds(caller, request);
  const prompt = await followedPrompt(caller, request, bounded);
  const { vendor: _vendor, usage: _usage, end: _end, ...begin } = request;
  const toMake = {
    request: { ...begin, requested },
    fingerprint: await fingerprintOf(describe(request)),
    runsOn: tier && [tier],
    needs,
    bounds: [bounded.bound],
    countPrompts: () =>
      countedBounds(caller, request.customerId, [bounded.bound], async () =>
        vendor ? promptToCount(caller, vendor) : null,
      ),
    prompts: [prompt],
    // If this Worker dies, the call holds its allowance no longer than the vendor could have taken.
    deadlineMs: (request.vendor?.timeoutMs ?? 0) + END_MARGIN_MS,
    wantsAnswer: true,
  };
  const begun = await beginServiceCall(caller, toMake, headerKey);
  // `BALANCE_HELD` only refuses a begin that asks for it.
  if (!begun.ok) return begun as Refused<RefusalTo<'beginCall'>>;
  const { answer, replayed, admission } = begun;
  if (!answer) throw new Error('the answer of the begin was asked for');
  const { result, data } = answer;
  if (begun.status === 'NOT_ALLOWED') {
    const message = capabilityDenied(needs, admission.allowed) ?? result.message;
    return { ...accept('CALL_SUCCESS', { begin: data }, Date.parse(result.timestamp), message), replayed };
  }
  if (begun.stored) {
    const { response, end, endedAtMs } = begun.stored;
    return { ...present(data, end, response as StoredResponse, endedAtMs), replayed: true };
  }
  if (replayed) return unfinished(begun.status);
  // Continues for a while where the client disconnects: the vendor is asked once, and its usage is recorded.
  const presence = new Presence(clientSignal());
  const { suggestedModelTier } = data.entitlementHints;
  const paidBy = tier ?? (suggestedModelTier === 'none' ? DEFAULT_TIER : suggestedModelTier);
  const keyed = explicitKey(headerKey, request) !== null;
  const work = carryOut({
    caller,
    request,
    presence,
    begin: answer,
    admission,
    bounded: { tier: paidBy, bound: begun.bounds[0] ?? bounded.bound },
    prompt,
    keyed,
  });
  caller.defer(work.catch(() => undefined));
  return work;
}

/** Why the path of an address could be another one to the vendor; `null` if it cannot. */
function pathReason({ pathname }: URL): string | null {
  if (pathname === '/' || isPlainPath(pathname)) return null;
  return 'its path must be plain: without empty segments, backslashes, parameters, and encoded slashes, dots and percent signs';
}

function withAddress(request: CallRequest, { href, hash }: URL): CallRequest {
  const { vendor } = request;
  return vendor ? { ...request, vendor: { ...vendor, url: href.slice(0, href.length - hash.length) } } : request;
}

/** A call that has been admitted. */
interface AdmittedCall {
  caller: Caller;
  request: CallRequest;
  presence: Presence;
  begin: Accepted<BeginCallData>;
  admission: Admission;
  bounded: Bounded;
  /** `null` if nothing can be known of its tokens. */
  prompt: FollowedPrompt | null;
  /** Only a request with a key can be retried. */
  keyed: boolean;
}

async function carryOut(call: AdmittedCall): Promise<AnswerTo<'makeCall'>> {
  const { caller, request, begin, keyed } = call;
  const { customerId, vendor } = request;
  const { outcome, response } = vendor ? await askVendor(call, vendor) : reported(request);
  const toEnd = { ...outcome, customerId, wantsAnswer: true, ...(keyed && { response }) };
  const ended = await endWithRetries(caller, begin.data.callId, toEnd);
  // The vendor's answer does not wait for an object that is away; a retry under the call's key gets the whole answer.
  if (!ended) return present(begin.data, undefined, response, Date.now(), NOT_ENDED_YET);
  if (!ended.ok) return ended;
  if (!ended.answer) throw new Error('the answer of the end was asked for');
  // The time at which the end was recorded, as a retry gets it.
  const endedAtMs = Date.parse(ended.answer.result.timestamp);
  return present(begin.data, ended.answer.data, response, endedAtMs, begin.result.message);
}

type Done = { outcome: Omit<Outcome, 'customerId' | 'response' | 'wantsAnswer'>; response: StoredResponse };

/** A call without a vendor, as the caller reports it. */
function reported({ usage = {}, end }: CallRequest): Done {
  const { isPremium, ...fields } = usage;
  const { usage: figures, rest: described } = takeUsage(fields);
  const { facts, rest } = takeFacts(described);
  rest satisfies Nothing;
  const outcome = { ...facts, isPremium, usage: figures, error: end?.error };
  return { outcome, response: { endUsage: presentUsage(figures, facts.modelUsed) } };
}

async function askVendor(
  { caller, request, presence, admission, bounded, prompt }: AdmittedCall,
  vendor: VendorRequest,
): Promise<Done> {
  const toSend = await vendorBody(caller, vendor, {
    perAnswer: tokensPerAnswer(bounded, admission),
    searches: searchesOf(bounded, admission),
    onCredit: admission.credit?.tiers.includes(bounded.tier) ?? false,
  });
  const askedAtMs = Date.now();
  const result = await requestVendor({
    url: vendor.url,
    method: vendor.method,
    headers: vendor.headers ?? {},
    body: toSend.body,
    timeoutMs: vendor.timeoutMs,
    presence,
    // A stream is answered as a whole here, so it is read as text.
    responseType: vendor.responseType === 'json' ? 'json' : 'text',
  });
  const timed = { atMs: askedAtMs, leftAtMs: Date.now() };
  const {
    ok,
    status,
    body,
    reported,
    soFar,
    searches,
    refused,
    error,
    details = {},
  } = readAnswer(result, vendor, kindOfRequest(caller.organization, vendor));
  const told = reported ?? soFar?.partial;
  const asked = requestedModel(vendor);
  const modelUsed = told?.modelUsed ?? asked;
  const providerUsed = vendor.provider ?? told?.providerUsed;
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const { modelUsed: served, isFallback } = told ?? {};
  const names = { asked: isFallback ? undefined : asked, served, providerUsed };
  const hints = takeUsage(request.usage ?? {}).usage;
  const usage = reported === null && refused ? NO_USAGE : withHints(reported, hints);
  const parts = partsOf(told);
  const ended = error ?? request.end?.error;
  const counted = await countedPrompts(catalog, prompt, {
    ...{ usage, parts, error: ended, asked: asked ?? '', served, isFallback },
    responseId: textOf(fieldsOf(body).id) || undefined,
    estimate: bounded.bound.ifLost?.inputTokens ?? 0,
    lostThinking: 'thinking' in (vendor.body ?? {}) && !('thinking' in (toSend.body ?? {})),
  });
  const outcome: Done['outcome'] = {
    providerUsed,
    modelUsed: await modelToRecord(catalog, caller.organization.prices, names, Date.now()),
    usage,
    atMost: usageAtMost(bounded, admission),
    parts,
    estimate: soFar ? seenOutput(bounded, admission, soFar, ok, timed) : unseenOutput(bounded, admission, timed),
    worked: measuredAt(vendor.url, bounded, timed),
    searches,
    requestedServiceTier: requestedServiceTier(vendor.body),
    changed: toSend.changed,
    notIncluded: bounded.bound.notIncluded,
    vendorReportedCostUSD: told?.vendorReportedCostUSD,
    isPremium: request.usage?.isPremium,
    reasoningEffort: told?.reasoningEffort,
    ...(told?.reasoningEffort !== undefined && { reasoningEffortSource: 'provider_response' as const }),
    error: ended,
    counted,
  };
  return {
    outcome,
    response: {
      vendor: {
        ok,
        status,
        modelUsed,
        error: error && { message: error.message, details },
        body,
      },
      endUsage: presentUsage(
        usage === null ? { ...NO_USAGE, searches: searches ?? 0 } : takeUsage(usage).usage,
        modelUsed,
      ),
    },
  };
}

/** Conditions and uses that the caller knows, for what no answer tells. What the answer tells wins. */
function withHints(told: VendorUsage | null, hints: Usage): ReturnType<typeof reportedUsage> {
  if (told === null) return null;
  const { serviceTier, region, speed, toolUses, images, characters, audioSeconds } = hints;
  const { usage } = takeUsage({ serviceTier, region, speed, images, characters, ...told });
  return {
    ...usage,
    ...unclearIn({ ...told, unclear: told.unclear?.filter((figure) => !isHinted(figure, hints)) }),
    ...((toolUses || usage.toolUses) && { toolUses: { ...toolUses, ...usage.toolUses } }),
    audioSeconds: usage.audioSeconds || audioSeconds,
  };
}

/** Whether the caller tells a use that the answer tells in a form that makes no sense. */
function isHinted(figure: UnclearFigure, { audioSeconds, toolUses }: Usage): boolean {
  return (
    (figure === 'audioSeconds' && audioSeconds > 0) || (figure === 'fileSearch' && toolUses?.fileSearch !== undefined)
  );
}

interface Read {
  ok: boolean;
  status: number;
  /** The usage that the vendor reported. */
  reported: VendorUsage | null;
  /** What is known of an answer without usage, where one came. */
  soFar?: StreamSoFar;
  /** Web searches that are known although the usage is not. */
  searches?: number;
  /** The vendor did not do the work: where it reports no usage, there was none. */
  refused: boolean;
  body: unknown;
  error?: { code: string; message: string };
  /** The vendor's own error; else our code, if the caller has to tell it from other errors. */
  details?: Record<string, unknown>;
}

/** Reads the vendor's answer, or what came instead of one. */
function readAnswer(result: VendorResult, vendor: VendorRequest, kind: VendorKind): Read {
  switch (result.kind) {
    case 'timeout':
      return {
        ...NO_ANSWER,
        status: 504,
        error: { code: 'VENDOR_TIMEOUT', message: 'the vendor did not answer in time' },
      };
    case 'left':
      return { ...NO_ANSWER, status: 504, error: { code: 'CLIENT_LEFT', message: CLIENT_LEFT } };
    case 'unreachable':
      return { ...NO_ANSWER, refused: true, error: { code: 'VENDOR_UNREACHABLE', message: result.message } };
    case 'broken':
      return { ...NO_ANSWER, error: { code: BROKEN, message: result.message } };
    case 'stream':
      throw new Error('a stream was not asked for');
    case 'too_large':
      return readTooLarge(result);
    case 'answer':
      return readBody(result, vendor, kind);
  }
}

/** What it used is charged, and the caller does not get it. */
function readTooLarge({ ok, status, headers, reading, message }: VendorResult & { kind: 'too_large' }): Read {
  return {
    ...NO_ANSWER,
    status,
    // What was reported of an answer that broke off is not all of it.
    reported: withServedTier(reading.truncated ? null : reading.usage(), headers),
    searches: reading.searches(),
    refused: !ok,
    error: { code: TOO_LARGE, message },
    details: { code: TOO_LARGE },
  };
}

const TOO_LARGE = 'VENDOR_ANSWER_TOO_LARGE';
const NO_ANSWER = { ok: false, status: 502, reported: null, refused: false, body: null };
const BROKEN = 'VENDOR_ANSWER_BROKEN';

function readBody(
  { status, ok, headers, body }: VendorResult & { kind: 'answer' },
  vendor: VendorRequest,
  kind: VendorKind,
): Read {
  const model = requestedModel(vendor) ?? '';
  const stream = typeof body === 'string' ? readStream(body, kind, model) : null;
  // Text was asked for, and may still be JSON: a refusal, or an answer longer than any event of a stream.
  const document = typeof body === 'string' ? readJson(body) : body;
  const read = {
    status,
    reported: withServedTier(stream?.usage() ?? readUsage(document), headers),
    soFar: {
      partial: stream?.partial() ?? null,
      outputTokens: stream && !stream.empty ? stream.outputTokens : writtenTokens(document ?? body, kind, model),
    },
    searches: stream?.searches() || readSearches(document),
    refused: !ok,
    body,
  };
  // It can be neither stored nor sent.
  if (!isShallow(document))
    return { ...read, ok: false, body: null, error: { code: BROKEN, message: "the vendor's answer nests too deep" } };
  if (!ok) return { ...read, ok: false, error: failureOf(status, document), details: detailsOf(document) };
  // An error instead of an answer: nothing was done, unless it reports usage.
  const failure = stream?.failed ?? readFailure(document);
  const shown = stream && !stream.empty ? stream.hasOutput : hasWritten(document);
  if (failure && !shown)
    return { ...read, ok: false, refused: true, error: clean(failure), details: detailsOf(document) };
  // What a stream reported before it broke off is no usage of a whole answer.
  if (stream?.failed) return { ...read, ok: false, reported: null, error: clean(stream.failed) };
  if (failure) return { ...read, ok: false, error: clean(failure), details: detailsOf(document) };
  const error = stream && document === undefined ? brokenOff(stream, headers.get('content-type') ?? '') : null;
  return error ? { ...read, ok: false, reported: null, error } : { ...read, ok: true };
}

/** A stream or document that broke off is a failed call. Text of another kind is not checked. */
function brokenOff(stream: StreamUsage, contentType: string): Read['error'] | null {
  if (stream.truncated || (stream.empty && /event-stream/i.test(contentType))) {
    return { code: 'VENDOR_STREAM_CUT', message: "the vendor's stream ended before its end" };
  }
  return stream.empty && /\bjson\b/i.test(contentType)
    ? { code: BROKEN, message: "the vendor's answer is not JSON" }
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

function readStream(text: string, kind: VendorKind, model: string): StreamUsage {
  const stream = new StreamUsage({ written: new WrittenTokens(kind, model) });
  stream.push(text);
  stream.end();
  return stream;
}

function present(
  begin: BeginCallData,
  end: EndCallData | undefined,
  { vendor, endUsage }: StoredResponse,
  atMs: number,
  message?: string,
) {
  const code = vendor && !vendor.ok ? 'CALL_VENDOR_WARNING' : 'CALL_SUCCESS';
  const used = end && end.usageSource !== 'reported' ? estimatedUsage(endUsage, end) : endUsage;
  const data: Complete<CallData> = { begin: complete(begin), end: complete(end), vendor, endUsage: used };
  return accept<CallData, typeof code>(code, data, atMs, message);
}

/** The vendor reported no usage: the end says what was recorded instead. */
function estimatedUsage(endUsage: EndUsage, { usage, usageSource }: EndCallData): EndUsage {
  const { inputTokens, responseTokens } = usage;
  return { ...endUsage, inputTokens, responseTokens, tokens: responseTokens, usageSource };
}

function presentUsage(usage: Usage, modelUsed = ''): EndUsage {
  return {
    ...complete(usage),
    tokens: usage.responseTokens,
    usageSource: 'reported',
    modelUsed,
  };
}

/** A retry of a call that has no stored end: it is under way, or nobody ended it. */
function unfinished(status: string | null) {
  if (status === 'IN_PROGRESS') {
    return refuse('CALL_IN_FLIGHT', 'the first request of this call is still running', {
      retryAfterSeconds: IN_FLIGHT_RETRY_SECONDS,
      members: { status },
    });
  }
  return refuse('CALL_ALREADY_FINALIZED', `the call is ${status}, and its answer was not stored`, {
    members: { status },
  });
}

/**
 * What makes two requests the same call, in one spelling. The vendor's headers contain its key: not even a hash of them
 * is stored, and a new key is the same call. The operation is included, because begins share their keys with calls.
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
