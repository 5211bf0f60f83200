/**
 * Use case: begin, the vendor's request, and end in one. A denied begin makes no vendor request except a free count of
 * the prompt, and a retry never reaches the vendor twice.
 */

import { countUnderWay } from '../../admission/calls-under-way.ts';
import { modelToRecord } from '../../catalog/prices.ts';
import { currentCatalog } from '../../config/catalog.ts';
import type { BeginCallData, EndCallData } from '../../contract/calls.ts';
import { type Complete, complete } from '../../contract/complete.ts';
import { type Accepted, accept, answerNotKept, type Refused, refuse } from '../../contract/errors.ts';
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
import { choosePricingMode } from '../../metering/begin-call.ts';
import { listParts } from '../../metering/call-parts.ts';
import type { Caller } from '../../metering/caller.ts';
import { explicitKey, hashPayload } from '../../metering/idempotency.ts';
import { closedVendorRequest } from '../../metering/key-limits.ts';
import type { Admission } from '../../objects/customer-commands.ts';
import { isShallow } from '../../platform/json.ts';
import { checkVendorUrl } from '../../vendors/address.ts';
import { ANSWERS_HELD, isAnswerMemoryFull } from '../../vendors/answer-memory.ts';
import { Presence } from '../../vendors/presence.ts';
import { requestVendor } from '../../vendors/request.ts';
import { requestedServiceTier } from '../../vendors/service-tier.ts';
import type { StreamSoFar } from '../../vendors/tee.ts';
import { fieldsOrEmpty, textOrEmpty } from '../../vendors/usage/figures.ts';
import type { StreamUsage, VendorFailure, VendorUsage } from '../../vendors/usage.ts';
import { writtenTokens } from '../../vendors/written-tokens.ts';
import { wireError } from '../error-envelope.ts';
import { failureOfStatus, readVendorAnswer, type VendorAnswer } from '../vendor-answer.ts';
import { beginServiceCall } from './begin.ts';
import { countedBounds } from './counted-bounds.ts';
import { countedPrompts, type FollowedPrompt } from './counted-prompts.ts';
import { type Outcome, type reportedUsage, unclearIn } from './end.ts';
import { endWithRetries } from './end-with-retries.ts';
import {
  type Bounded,
  measuredAt,
  searchesMax,
  seenOutput,
  tokensPerAnswer,
  unseenOutput,
  usageAtMost,
} from './output.ts';
import { requestedModel } from './requested-model.ts';
import { followedPrompt, kindOfRequest, promptToCount, vendorBody, vendorNeeds } from './vendor-needs.ts';

type VendorRequest = NonNullable<CallRequest['vendor']>;
type VendorPart = NonNullable<CallData['vendor']>;

/** The data that is stored with the end of a finished call, for retries. */
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
  // The request that is judged is the one that is sent.
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
    fingerprint: await hashPayload(describe(request)),
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
  if (begun.gaveWay) return { ok: false, refusal: answerNotKept(begun.gaveWay) };
  if (replayed) return unfinished(begun.status);
  // Continues for a while if the client disconnects: the vendor is asked once, and its usage is recorded.
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
  countUnderWay(work);
  return work;
}

/** Why the vendor could read the path of an address differently; `null` if it cannot. */
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
  // The vendor's answer does not wait for an unavailable object; a retry under the call's key gets the whole answer.
  if (!ended) return present(begin.data, undefined, response, Date.now(), NOT_ENDED_YET);
  if (!ended.ok) return ended;
  if (!ended.answer) throw new Error('the answer of the end was asked for');
  // The time at which the end was recorded; a retry gets the same.
  const endedAtMs = Date.parse(ended.answer.result.timestamp);
  return present(begin.data, ended.answer.data, response, endedAtMs, begin.result.message);
}

type Done = { outcome: Omit<Outcome, 'customerId' | 'response' | 'wantsAnswer'>; response: StoredResponse };

/** A call without a vendor, as its caller reports it. */
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
    searches: searchesMax(bounded, admission),
    onCredit: admission.credit?.tiers.includes(bounded.tier) ?? false,
  });
  const asked = requestedModel(vendor);
  const model = { kind: kindOfRequest(caller.organization, vendor), model: asked ?? '' };
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
  } = vendorPart(readVendorAnswer(result, model), model);
  const told = reported ?? soFar?.partial;
  const modelUsed = told?.modelUsed ?? asked;
  const providerUsed = vendor.provider ?? told?.providerUsed;
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const { modelUsed: served, isFallback } = told ?? {};
  const names = { asked: isFallback ? undefined : asked, served, providerUsed };
  const hints = takeUsage(request.usage ?? {}).usage;
  const usage = reported === null && refused ? NO_USAGE : withHints(reported, hints);
  const parts = listParts(told);
  const ended = error ?? request.end?.error;
  const counted = await countedPrompts(catalog, prompt, {
    ...{ usage, parts, error: ended, asked: asked ?? '', served, isFallback },
    responseId: textOrEmpty(fieldsOrEmpty(body).id) || undefined,
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

/** Conditions and uses that the caller knows, for facts that no answer states. A fact that the answer states wins. */
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

/** Whether the caller states a use whose figure in the answer makes no sense. */
function isHinted(figure: UnclearFigure, { audioSeconds, toolUses }: Usage): boolean {
  return (
    (figure === 'audioSeconds' && audioSeconds > 0) || (figure === 'fileSearch' && toolUses?.fileSearch !== undefined)
  );
}

interface AskedModel {
  kind: VendorKind;
  model: string;
}

interface Read {
  ok: boolean;
  status: number;
  reported: VendorUsage | null;
  /** The known facts of an answer without usage, if one arrived. */
  soFar?: StreamSoFar;
  /** Web searches that are known although the usage is not. */
  searches?: number;
  /** The vendor did not do the work: if it reports no usage, it had none. */
  refused: boolean;
  body: unknown;
  error?: VendorFailure;
  /** The vendor's own error; else our code, if the caller has to tell it from other errors. */
  details?: Record<string, unknown>;
}

const NO_ANSWER = { ok: false, reported: null, body: null };

/** What the caller is told of the vendor's answer, or of what came instead of one. */
function vendorPart(answer: VendorAnswer, model: AskedModel): Read {
  if (answer.kind === 'none') {
    const { code, message, refused } = answer;
    return { ...NO_ANSWER, status: wireError(code).status, refused, error: { code, message } };
  }
  if (answer.kind === 'answer') return readAnswer(answer, model);
  // What it used is charged, and the caller does not get it.
  const { status, reported, searches, refused, message } = answer;
  const code = 'VENDOR_ANSWER_TOO_LARGE';
  return { ...NO_ANSWER, status, reported, searches, refused, error: { code, message }, details: { code } };
}

function readAnswer(answer: VendorAnswer & { kind: 'answer' }, { kind, model }: AskedModel): Read {
  const { status, ok, headers, body, document, stream, reported, searches, failure, refused } = answer;
  const soFar = {
    partial: stream?.partial() ?? null,
    outputTokens: stream && !stream.empty ? stream.outputTokens : writtenTokens(document ?? body, kind, model),
  };
  const read = { ok: false, status, reported, soFar, searches, refused, body };
  // It can be neither stored nor sent.
  if (!isShallow(document)) {
    const error = { code: BROKEN, message: "the vendor's answer nests too deep" };
    return { ...read, refused: !ok, body: null, error };
  }
  if (ok && !failure) {
    const error = stream && document === undefined ? brokenOff(stream, headers.get('content-type') ?? '') : null;
    return error ? { ...read, reported: null, error } : { ...read, ok };
  }
  const error = sanitized(failure ?? failureOfStatus(status));
  // What a stream reported before it broke off is no usage of a whole answer.
  if (!refused && stream?.failed) return { ...read, reported: null, error };
  return { ...read, error, details: errorDetails(document) };
}

const BROKEN = 'VENDOR_ANSWER_BROKEN';

/** A stream or document that broke off is a failed call. Text of another kind is not checked. */
function brokenOff(stream: StreamUsage, contentType: string): VendorFailure | null {
  if (stream.truncated || (stream.empty && /event-stream/i.test(contentType))) {
    return { code: 'VENDOR_STREAM_CUT', message: "the vendor's stream ended before its end" };
  }
  return stream.empty && /\bjson\b/i.test(contentType)
    ? { code: BROKEN, message: "the vendor's answer is not JSON" }
    : null;
}

/** Google wraps some of its errors in an array. */
function errorDetails(body: unknown): Record<string, unknown> {
  const error = Array.isArray(body) ? body[0] : body;
  return isRecord(error) ? error : {};
}

function sanitized({ code, message }: VendorFailure): VendorFailure {
  return { code: sanitizeErrorMessage(code), message: sanitizeErrorMessage(message) };
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

/** The vendor reported no usage: the end says which estimate was recorded. */
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

/** A retry of a call without a stored end: it is in progress, or nobody ended it. */
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
 * The facts that make two requests the same call, in one spelling. The vendor's headers contain its key: not even their
 * hash is stored, and a request with a new key is the same call. The operation is included, because begins share their
 * keys with calls.
 */
function describe(request: CallRequest): object {
  const { batch: _batch, customerName, customerFriendlyName = customerName, vendor, ...described } = request;
  const pricingMode = choosePricingMode(request) ?? 'standard';
  return {
    ...described,
    operation: 'makeCall',
    customerFriendlyName,
    pricingMode,
    vendor: vendor && { ...vendor, headers: undefined },
  };
}
