/**
 * One request of the application to a vendor, including the SDK's retries: one begin, one end, with the usage of the
 * response that succeeded.
 *
 * A failed attempt leaves the call open for the next one. The call ends with a response, or when there are no more
 * attempts. If the request continues after a response, as automatic function calling does, it begins another call.
 */
import { boundedParts } from '../../domain/usage-sum.ts';
import type { StreamOutcome } from '../../vendors/tee.ts';
import type { VendorUsage } from '../../vendors/usage.ts';
import type { CallFailure, CallScope, CallUsage } from '../call.ts';
import { deniedByPlan } from '../denied.ts';
import { type PlainOutcome, readPlain, readStream } from './answer.ts';
import { readTiers } from './model.ts';
import type { MeterOptions } from './options.ts';
import { addressFor, bodyFor, type ModelRequest, parseModelRequest } from './vendor-request.ts';

export type VendorFetch = (url: string, init: RequestInit) => Promise<Response>;

export interface Opening extends ModelRequest {
  /**
   * The caller's own signal: its abort reaches the vendor at once, while a caller that stops reading a stream does not
   * cancel it.
   */
  signal: AbortSignal | null | undefined;
  /** The maximum number of attempts, if it is known. */
  triesMax: number;
}

export class MeteredRequest {
  readonly #options: MeterOptions;
  #opening: Opening | null = null;
  #call: CallScope | null = null;
  #model = '';
  #tries = 0;
  #failure: CallFailure = { code: 'NOT_SENT', message: 'the request was not sent through the wrapper' };
  #stream: ReadableStream | null = null;

  constructor(options: MeterOptions) {
    this.#options = options;
  }

  /** Begins the call and returns the model to run. Throws `CallDeniedError` if no model may run. */
  async open(opening: Opening): Promise<string> {
    this.#opening = opening;
    this.#tries = 0;
    const { signal } = opening;
    const call = await this.#begin(opening);
    if (call.denied) throw deniedByPlan(call, 'the customer has no allowance for it');
    this.#call = call;
    try {
      signal?.throwIfAborted();
      this.#model = await this.#choose(opening.model, call);
    } catch (error) {
      await this.close(signal?.aborted ? ABORTED : { code: 'NO_MODEL', message: 'no model was chosen' });
      throw error;
    }
    return this.#model;
  }

  /** Sends one attempt. Its request already names the model, unless it must begin another call. */
  async send(fetch: VendorFetch, url: string, init: RequestInit): Promise<Response> {
    const opening = this.#opening;
    if (!opening) return fetch(url, init);
    const [address, given] = this.#call ? [url, init] : await this.#reopen(opening, url, init);
    const call = this.#call as unknown as CallScope;
    this.#tries += 1;
    const controller = new AbortController();
    const abort = () => controller.abort(given.signal?.reason);
    given.signal?.addEventListener('abort', abort);
    if (given.signal?.aborted) abort();
    try {
      const response = await fetch(address, { ...given, signal: controller.signal });
      if (!response.ok) return await this.#refused(response);
      const isStream = opening.streamed || EVENT_STREAM.test(response.headers.get('content-type') ?? '');
      if (!isStream || !response.body) {
        const onEnd = ({ whole, usage }: PlainOutcome) => this.#ends(call, opening)(usage, whole ? null : INVALID);
        return await readPlain(response, given.signal, onEnd);
      }
      const answer = this.#streamed(response, call, opening, given.signal, abort);
      this.#stream = answer.body;
      return answer;
    } catch (error) {
      const isAborted = opening.signal?.aborted === true;
      await this.#failed(isAborted ? ABORTED : UNREACHABLE, isAborted);
      throw error;
    } finally {
      // A stream handles the abort itself.
      given.signal?.removeEventListener('abort', abort);
    }
  }

  #streamed(
    response: Response,
    call: CallScope,
    opening: Opening,
    signal: RequestInit['signal'],
    abort: () => void,
  ): Response {
    const ends = this.#ends(call, opening);
    let over = () => {};
    // The runtime must stay alive while the rest of the stream is read.
    this.#options.waitUntil?.(new Promise((resolve) => (over = resolve)));
    return readStream(response, {
      hidesUsage: opening.hidesUsage,
      signal,
      onAbort: () => (opening.signal?.aborted ? abort() : undefined),
      onEnd: (outcome) => ends(outcome.usage ?? outcome.partial, failureFromStream(outcome)).finally(over),
    });
  }

  /** There are no more attempts: a call that is still open ends as FAILED. */
  async close(failure: CallFailure = this.#failure): Promise<void> {
    const call = this.#call;
    this.#call = null;
    if (!call || 'call' in this.#options) return;
    if (this.#model !== '') call.setUsage({ modelUsed: this.#model });
    call.fail(failure);
    await this.#report(call.end());
  }

  /** The caller stopped reading the last stream. */
  leave(): void {
    if (this.#stream && !this.#stream.locked) this.#stream.cancel().catch(() => undefined);
  }

  async #begin({ model, signal }: Opening): Promise<CallScope> {
    if ('call' in this.#options) return this.#options.call;
    const { callmeter, onDowngrade: _told, waitUntil: _kept, ...begin } = this.#options;
    const requested = readTiers(model) ? { ...begin.requested, premium: true, standard: true } : begin.requested;
    return callmeter.startCall({ ...begin, requested }, signal ? { signal } : {});
  }

  async #choose(wanted: string, call: CallScope): Promise<string> {
    const tiers = readTiers(wanted);
    const requested = 'call' in this.#options ? undefined : this.#options.requested;
    const wantsPremium = tiers !== null || requested?.premium === true || call.hints.downgrade !== undefined;
    if (!wantsPremium || call.allowed.premium) return tiers?.premium ?? wanted;
    const fallback = tiers?.standard ?? null;
    const { onDowngrade } = this.#options;
    const named = await onDowngrade?.({
      call,
      reason: call.hints.downgrade?.reason,
      model: tiers?.premium ?? wanted,
      fallback,
    });
    const model = named ?? fallback;
    if (model === null) throw deniedByPlan(call, 'only the standard tier is allowed, and no standard model was given');
    return model;
  }

  async #reopen(opening: Opening, url: string, init: RequestInit): Promise<[string, RequestInit]> {
    const sent = this.#model;
    const model = await this.open(opening);
    if (model === sent) return [url, init];
    const body = JSON.parse(String(init.body));
    const modelRequest = parseModelRequest('POST', url, body) ?? opening;
    return [
      addressFor(modelRequest, url, model),
      { ...init, body: JSON.stringify(bodyFor(modelRequest, body, model)) },
    ];
  }

  async #refused(response: Response): Promise<Response> {
    const shouldRetry = response.headers.get('x-should-retry');
    const mayPass =
      shouldRetry === null ? MAY_PASS.has(response.status) || response.status >= 500 : shouldRetry === 'true';
    await this.#failed({ code: `HTTP_${response.status}`, message: 'the vendor refused the request' }, !mayPass);
    return response;
  }

  /**
   * An attempt failed. If it was the last one the call ends now, so that it has ended when the caller sees the error.
   */
  async #failed(failure: CallFailure, isLast: boolean): Promise<void> {
    this.#failure = failure;
    if (isLast || this.#tries >= (this.#opening?.triesMax ?? 1)) await this.close();
  }

  /**
   * The call has its response, so `close` no longer ends it. The returned function ends it after the response was read.
   */
  #ends(
    call: CallScope,
    { provider, effort, serviceTier }: Opening,
  ): (usage: VendorUsage | null, failure: CallFailure | null) => Promise<void> {
    this.#call = null;
    const model = this.#model;
    return async (usage, failure) => {
      const known: CallUsage = {
        modelUsed: model,
        ...(provider && { providerUsed: provider }),
        ...(serviceTier && { requestedServiceTier: serviceTier }),
        ...(effort && { reasoningEffort: effort, reasoningEffortSource: 'provider_request' }),
        ...(usage && reportable(usage)),
        ...(usage?.reasoningEffort && { reasoningEffortSource: 'provider_response' }),
      };
      if ('call' in this.#options) return addUsage(call, known);
      call.setUsage(known);
      if (failure) call.fail(failure);
      await this.#report(call.end());
    };
  }

  /** Waits for the report, or leaves that to `waitUntil`. A failed end is reported to the client's observer. */
  async #report(end: Promise<unknown>): Promise<void> {
    const reported = end.then(
      () => undefined,
      () => undefined,
    );
    const { waitUntil } = this.#options;
    if (waitUntil) waitUntil(reported);
    else await reported;
  }
}

/** Statuses that the vendors' SDKs retry, besides 500 and above. */
const MAY_PASS = new Set([408, 409, 429]);
const EVENT_STREAM = /^text\/event-stream\b/i;
const UNREACHABLE: CallFailure = { code: 'VENDOR_UNREACHABLE', message: 'the vendor did not respond' };
const ABORTED: CallFailure = { code: 'ABORTED', message: 'the caller aborted the request' };
const INVALID: CallFailure = { code: 'INVALID_ANSWER', message: "the vendor's response is incomplete or not JSON" };

/** A stream that its caller stopped reading is not a failure if the vendor reported the usage. */
function failureFromStream({ end, completed, partial, failure }: StreamOutcome): CallFailure | null {
  if (failure) return { code: failure.code, message: 'the vendor reported an error inside its stream' };
  if (completed || (end === 'client_left' && partial)) return null;
  return { code: end.toUpperCase(), message: 'the stream ended before the vendor said that it was done' };
}

/**
 * The usage in the fields of an end. No bound of the call is known here: an unclear figure has the value that the
 * others prove, and if only the total of tokens is known, they count as output, which costs most.
 */
function reportable({ parts = [], ...answer }: VendorUsage): CallUsage {
  return { ...reportedFigures(answer), ...(parts.length > 0 && { parts: parts.map(reportedFigures) }) };
}

function reportedFigures({
  unclear: _unclear,
  isFallback: _fallback,
  totalTokens = 0,
  ...usage
}: Omit<VendorUsage, 'parts'>) {
  return { ...usage, responseTokens: usage.responseTokens + totalTokens };
}

const sums = new WeakMap<CallScope, CallUsage>();

/** Figures are summed over the requests of one call; for all other members, the last value counts. */
function addUsage(call: CallScope, usage: CallUsage): void {
  const before = sums.get(call) ?? {};
  const sum: CallUsage = { ...before, ...usage, ...added(before, usage) };
  const tools = added(before.toolUses ?? {}, usage.toolUses ?? {});
  if (Object.keys(tools).length > 0) sum.toolUses = tools;
  const parts = boundedParts([...(before.parts ?? []), ...(usage.parts ?? [])]);
  if (parts.length > 0) sum.parts = parts;
  sums.set(call, sum);
  call.setUsage(sum);
}

function added(one: object, other: object): Record<string, number> {
  const figures = Object.entries({ ...one, ...other }).filter(([, value]) => typeof value === 'number');
  return Object.fromEntries(
    figures.map(([name]) => [
      name,
      [one, other].reduce((sum, of) => sum + ((of as Record<string, number>)[name] ?? 0), 0),
    ]),
  );
}
