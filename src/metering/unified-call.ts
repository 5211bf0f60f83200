/**
 * Use case: begin, the vendor's request, and end in one. A denied begin makes no vendor request, and a retry never
 * reaches the vendor twice.
 */
import { resolvePrice } from '../catalog/prices.ts';
import type { BeginCallData, EndCallData } from '../contract/calls.ts';
import { type Answer, accept, refuse } from '../contract/errors.ts';
import type { CallData, CallRequest } from '../contract/unified-call.ts';
import type { Tier } from '../domain/entitlements.ts';
import { isPremiumPrice, type Usage } from '../domain/pricing.ts';
import { sanitizeErrorMessage } from '../domain/sanitize.ts';
import { currentCatalog } from '../storage/catalog.ts';
import { checkVendorUrl } from '../vendors/address.ts';
import { requestVendor, type VendorResult } from '../vendors/request.ts';
import { readFailure, readUsage, StreamUsage, type VendorUsage } from '../vendors/usage.ts';
import { openCall } from './begin-call.ts';
import type { Caller } from './caller.ts';
import { finishCall, NO_USAGE, type Outcome, usageOf } from './finish-call.ts';
import { fingerprintOf } from './idempotency.ts';

type VendorRequest = NonNullable<CallRequest['vendor']>;
type VendorPart = NonNullable<CallData['vendor']>;

/** What is kept of a finished call beside its end. */
interface Kept {
  vendor?: VendorPart;
  endUsage: NonNullable<CallData['endUsage']>;
}

/** While the first request is on its way, a retry is asked to come back after this. */
const IN_FLIGHT_RETRY_SECONDS = 2;

export async function makeCall(caller: Caller, request: CallRequest, headerKey: string | null): Promise<Answer<CallData>> {
  const { vendor } = request;
  const address = vendor && checkVendorUrl(vendor.url, caller.organization.vendorOrigins);
  if (address && !address.ok) {
    const details = [{ path: 'vendor.url', message: address.reason }];
    return refuse('BAD_REQUEST', `vendor.url: ${address.reason}`, { members: { details } });
  }
  const tier = await tierOf(caller, request);
  const { vendor: _vendor, usage: _usage, end: _end, ...begin } = request;
  const toMake = {
    request: tier ? { ...begin, requested: { ...begin.requested, [tier]: true } } : begin,
    fingerprint: await fingerprintOf(withoutHeaders(request)),
    runsOn: tier && [tier],
  };
  const opened = await openCall(caller, toMake, headerKey);
  if (!opened.begin.ok) return opened.begin;
  const { data, replayed } = opened.begin;
  if (opened.status === 'NOT_ALLOWED') return { ...accept('CALL_SUCCESS', { begin: data }, Date.now()), replayed };
  if (opened.kept) {
    const { keep, end, endedAtMs } = opened.kept;
    return { ...present(data, end, keep as Kept, endedAtMs), replayed: true };
  }
  if (replayed) return unfinished(opened.status);
  // Goes on though the client may leave: the vendor is asked once, and what it says is recorded.
  const work = carryOut(caller, request, data);
  caller.defer(work.catch(() => undefined));
  return work;
}

async function carryOut(caller: Caller, request: CallRequest, begin: BeginCallData): Promise<Answer<CallData>> {
  const { outcome, kept } = request.vendor ? await askVendor(request, request.vendor) : reported(request);
  const ended = await finishCall(caller, begin.callId, { ...outcome, customerId: request.customerId, keep: kept });
  return ended.ok ? present(begin, ended.data, kept, Date.now()) : ended;
}

type Done = { outcome: Omit<Outcome, 'customerId' | 'keep'>; kept: Kept };

/** A call without a vendor: what the caller says of it. */
function reported({ usage = {}, end }: CallRequest): Done {
  const { modelUsed, providerUsed, isPremium, reasoningEffort, reasoningEffortSource, reasoningMode, reasoningBudgetTokens, ...figures } =
    usage;
  const reasoning = { reasoningEffort, reasoningEffortSource, reasoningMode, reasoningBudgetTokens };
  const outcome = { ...reasoning, modelUsed, providerUsed, isPremium, usage: figures as Partial<Usage>, error: end?.error };
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
  const answer = readAnswer(result);
  const modelUsed = answer.usage?.modelUsed ?? modelAsked(vendor);
  const usage = answer.usage && usageOf(answer.usage);
  const outcome: Done['outcome'] = {
    providerUsed: vendor.provider ?? answer.usage?.providerUsed,
    modelUsed,
    usage,
    isPremium: request.usage?.isPremium,
    reasoningEffort: answer.usage?.reasoningEffort,
    ...(answer.usage?.reasoningEffort !== undefined && { reasoningEffortSource: 'provider_response' as const }),
    error: answer.error ?? request.end?.error,
  };
  const { ok, status, body, error } = answer;
  const details = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
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
      endUsage: presentUsage(usage ?? NO_USAGE, modelUsed),
    },
  };
}

interface Read {
  ok: boolean;
  status: number;
  usage: VendorUsage | null;
  body: unknown;
  error?: { code: string; message: string };
}

/** What the vendor's answer says, whatever became of it. */
function readAnswer(result: VendorResult): Read {
  switch (result.kind) {
    case 'timeout':
      return failed(504, 'VENDOR_TIMEOUT', 'the vendor did not answer in time');
    case 'unreachable':
      return failed(502, 'VENDOR_UNREACHABLE', result.message);
    case 'broken':
      return failed(502, 'VENDOR_ANSWER_BROKEN', result.message);
    case 'stream':
      throw new Error('a stream was not asked for');
    case 'answer': {
      const { status, ok, body } = result;
      const stream = typeof body === 'string' ? readStream(body) : null;
      const usage = stream ? stream.usage() : readUsage(body);
      if (!ok) return { ok, status, usage, body, error: failureOf(status, body) };
      if (stream?.failed) return { ok: false, status, usage, body, error: clean(stream.failed) };
      return { ok, status, usage, body };
    }
  }
}

function failed(status: number, code: string, message: string): Read {
  return { ok: false, status, usage: null, body: null, error: { code, message } };
}

function failureOf(status: number, body: unknown): { code: string; message: string } {
  const failure = readFailure(body);
  return failure ? clean(failure) : { code: `VENDOR_HTTP_${status}`, message: `the vendor answered ${status}` };
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

function present(begin: BeginCallData, end: EndCallData, { vendor, endUsage }: Kept, atMs: number) {
  const code = vendor && !vendor.ok ? 'CALL_VENDOR_WARNING' : 'CALL_SUCCESS';
  return accept(code, { begin, end, ...(vendor && { vendor }), endUsage }, atMs);
}

function presentUsage(usage: Usage, modelUsed: string | undefined): NonNullable<CallData['endUsage']> {
  return { ...usage, tokens: usage.responseTokens, ...(modelUsed !== undefined && { modelUsed }) };
}

/** A retry of a call whose end is not there: it is still under way, or nobody was left to end it. */
function unfinished(status: string | null) {
  if (status === 'IN_PROGRESS') {
    return refuse('CALL_IN_FLIGHT', 'the call is still under way', { retryAfterSeconds: IN_FLIGHT_RETRY_SECONDS, members: { status } });
  }
  return refuse('CALL_ALREADY_FINALIZED', `the call is ${status}, and its answer was not kept`, { members: { status } });
}

/** The tier that will pay for the model that is asked of the vendor; `undefined` where that is not known. */
async function tierOf({ env, organization, defer }: Caller, { vendor, usage }: CallRequest): Promise<Tier | undefined> {
  if (usage?.isPremium !== undefined) return usage.isPremium ? 'premium' : 'standard';
  const modelUsed = vendor && modelAsked(vendor);
  if (modelUsed === undefined) return undefined;
  const { catalog } = await currentCatalog(env, defer);
  const price = await resolvePrice(catalog, organization.prices, { modelUsed, providerUsed: vendor?.provider }, Date.now());
  if (price.available) return isPremiumPrice(price.card) ? 'premium' : 'standard';
  return undefined;
}

/** The model that a request names in its body, or in its path, as Google has it. */
function modelAsked({ url, body }: VendorRequest): string | undefined {
  if (typeof body?.model === 'string' && body.model !== '') return body.model.slice(0, 300);
  return /\/models\/([^/:?]+):\w+/.exec(url)?.[1];
}

/** The vendor's headers hold its key: not even a hash of them is kept, and a new key is the same call. */
function withoutHeaders(request: CallRequest): object {
  if (!request.vendor) return request;
  const { headers: _headers, ...vendor } = request.vendor;
  return { ...request, vendor };
}
