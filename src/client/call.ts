/**
 * The life of a call in the application: begin, run, and exactly one end, whatever happens in between.
 *
 * The end is reported even if the caller's signal aborted the work, because the vendor's tokens are spent. If
 * `call_end` fails, `withCall` still returns the handler's result; an `endFailed` event carries the report, which can
 * be sent again.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { CallmeterError } from './errors.ts';
import type { Observer } from './events.ts';
import type { Methods, RequestOptions } from './methods.ts';
import type { Allowed, BeginCallData, BeginCallInput, EndCallData, EndCallInput, Hints } from './wire.ts';

/** The report of a call's end. */
export type CallUsage = Omit<EndCallInput, 'callId' | 'error' | 'idempotencyKey'>;
export type CallFailure = NonNullable<EndCallInput['error']>;

export interface CallScope {
  readonly callId: string;
  /** The call is not allowed: do not call the vendor. There is no end to report. */
  readonly denied: boolean;
  readonly allowed: Allowed;
  readonly hints: Hints;
  /** The complete response to `call_begin`. */
  readonly begun: BeginCallData;
  /** Adds usage to the report of the end. A later value replaces an earlier one. */
  setUsage(usage: CallUsage): void;
  /** Makes the call end as FAILED. Keep prompts, credentials and raw vendor responses out of the message. */
  fail(failure: CallFailure): void;
  /**
   * Reports the end once: a second `end()` returns the first response. Rejects with SERVICE_END_CALL_ERROR, after which
   * `end()` may be called again. Resolves with `null` if the call was denied.
   */
  end(): Promise<EndCallData | null>;
  /** Ends the call if it has not ended yet. A call without usage ends as FAILED. Never rejects. */
  [Symbol.asyncDispose](): Promise<void>;
}

export type CallOutcome<T> =
  | { denied: true; begun: BeginCallData }
  /** `ended` is `null` if the end could not be reported; `endError` says why. */
  | { denied: false; begun: BeginCallData; value: T; ended: EndCallData | null; endError: CallmeterError | null };

type Lifecycle = Pick<Methods, 'beginCall' | 'endCall'>;

/** The form of an error code in the contract; a word of this form reveals nothing of the error's message. */
const FAILURE_CODE = /^[\w.:-]{1,100}$/;

export async function openCall(
  methods: Lifecycle,
  observer: Observer,
  begin: BeginCallInput,
  options?: RequestOptions,
): Promise<CallScope> {
  const begun = await methods.beginCall(begin, options);
  const { downgrade } = begun.entitlementHints;
  if (downgrade) observer({ type: 'downgrade', callId: begun.callId, ...downgrade });
  return new OpenCall(methods, observer, begun, begin, options?.timeoutMs);
}

export async function runCall<T>(
  methods: Lifecycle,
  observer: Observer,
  begin: BeginCallInput,
  handler: (call: CallScope) => T | Promise<T>,
  options?: RequestOptions,
): Promise<CallOutcome<T>> {
  const call = await openCall(methods, observer, begin, options);
  const { begun } = call;
  if (call.denied) return { denied: true, begun };
  let value: T;
  try {
    value = await handler(call);
  } catch (error) {
    call.fail(failureFromError(error));
    await call.end().catch(() => undefined);
    throw error;
  }
  try {
    return { denied: false, begun, value, ended: await call.end(), endError: null };
  } catch (error) {
    return { denied: false, begun, value, ended: null, endError: error as CallmeterError };
  }
}

class OpenCall implements CallScope {
  readonly callId: string;
  readonly denied: boolean;
  readonly allowed: Allowed;
  readonly hints: Hints;
  readonly begun: BeginCallData;
  readonly #methods: Lifecycle;
  readonly #observer: Observer;
  readonly #timeoutMs: number | undefined;
  /** The idempotency key of every attempt to end this call. */
  readonly #endKey = crypto.randomUUID();
  #usage: CallUsage | null = null;
  #failure: CallFailure | null = null;
  #ended: Promise<EndCallData> | null = null;

  constructor(
    methods: Lifecycle,
    observer: Observer,
    begun: BeginCallData,
    begin: BeginCallInput,
    timeoutMs: number | undefined,
  ) {
    this.callId = begun.callId;
    this.denied = isDenied(begin.requested, begun.allowed);
    this.allowed = begun.allowed;
    this.hints = begun.entitlementHints;
    this.begun = begun;
    this.#methods = methods;
    this.#observer = observer;
    this.#timeoutMs = timeoutMs;
  }

  setUsage(usage: CallUsage): void {
    this.#usage = { ...this.#usage, ...usage };
  }

  fail(failure: CallFailure): void {
    this.#failure = failure;
  }

  async end(): Promise<EndCallData | null> {
    if (this.denied) return null;
    this.#ended ??= this.#report();
    try {
      return await this.#ended;
    } catch (error) {
      this.#ended = null;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#usage && !this.#failure && !this.#ended)
      this.fail({ code: 'CALL_LEFT', message: 'the call ended without usage' });
    await this.end().catch(() => undefined);
  }

  async #report(): Promise<EndCallData> {
    const { callId } = this;
    const report: EndCallInput = { ...this.#usage, callId, ...(this.#failure && { error: this.#failure }) };
    try {
      return await this.#methods.endCall(report, { idempotencyKey: this.#endKey, timeoutMs: this.#timeoutMs });
    } catch (cause) {
      const { message, responseStatus, correlationId, details } = cause as CallmeterError;
      const context = { responseStatus, correlationId, details, cause };
      const error = new CallmeterError('SERVICE_END_CALL_ERROR', `call ${callId} was not ended: ${message}`, context);
      this.#observer({ type: 'endFailed', callId, report, error });
      throw error;
    }
  }
}

/**
 * NOT_ALLOWED of the contract: none of the requested tiers is allowed (`standard` if nothing was requested), or, if
 * only capabilities were requested, none of these is.
 */
export function isDenied(requested: BeginCallInput['requested'], allowed: Allowed): boolean {
  const { standard, premium, audio, image, search } = requested ?? {};
  const isTierRequested = standard || premium || !(audio || image || search);
  return isTierRequested ? !(allowed.standard || allowed.premium) : !(allowed.audio || allowed.image || allowed.search);
}

/** Reports only the kind of the error, because its message may quote a prompt or a raw vendor response. */
function failureFromError(error: unknown): CallFailure {
  const { code, name } = (error instanceof Error ? error : {}) as { code?: unknown; name?: unknown };
  const kind = [code, name].find((word) => typeof word === 'string' && FAILURE_CODE.test(word)) as string | undefined;
  return { code: kind ?? 'HANDLER_ERROR', message: 'the handler threw an error' };
}
