/**
 * One logical request: as many attempts as the retry policy allows, all with the same idempotency key and correlation
 * id. A plan's rolling limit is not a failure of the service: the client waits for it only if the caller asked for
 * that.
 *
 * An attempt ends with its response, its timeout (reading the body included) or the caller's signal. Redirects are not
 * followed, because they would send the API key to another address.
 */
import type { Outcome, RawAnswer } from './answer.ts';
import { type CallDeniedError, deniedForNow } from './denied.ts';
import { badInput, CallmeterError } from './errors.ts';
import type { Observer } from './events.ts';
import type { RequestOptions } from './methods.ts';
import { checkRollingWait, delayAfter, parseRetryAfter, type RetryPolicy } from './retry.ts';
import type { Runtime } from './runtime.ts';

export interface Connection {
  baseUrl: string;
  runtime: Runtime;
  policy: RetryPolicy;
  timeoutMs: number;
  rollingWaitMs: number;
  observer: Observer;
}

export interface OperationRequest {
  operation: string;
  method: string;
  /** Path and query, relative to the base URL. */
  path: string;
  headers: Record<string, string>;
  body?: string | undefined;
  read(answer: RawAnswer): Outcome<unknown>;
}

/** Longer than the service waits for any vendor. Timers overflow at 2^31 ms. */
const TIMEOUT_MS_MAX = 3_600_000;
const CORRELATION_HEADER = 'x-usage-correlation-id';
/** Correlation ids that the service accepts. */
const CORRELATION_ID = /^[\x21-\x7e]{1,200}$/;

export async function request(
  connection: Connection,
  wanted: OperationRequest,
  options: RequestOptions,
): Promise<unknown> {
  const { policy, runtime, observer } = connection;
  const { signal, correlationId = crypto.randomUUID(), timeoutMs = connection.timeoutMs } = options;
  let { rollingWaitMs: waitMs = connection.rollingWaitMs } = options;
  if (!CORRELATION_ID.test(correlationId)) throw badInput('correlationId', 'must be 1 to 200 visible ASCII characters');
  checkTimeout(timeoutMs);
  checkRollingWait(waitMs);
  for (let attempt = 1; ; ) {
    signal?.throwIfAborted();
    const outcome = await attemptOnce(connection, wanted, { signal, correlationId, timeoutMs });
    if (outcome.ok) return outcome.value;
    const { error } = outcome;
    signal?.throwIfAborted();
    const denied = deniedForNow(error);
    const delayMs = denied
      ? waitWithin(waitMs, denied)
      : error.retryable
        ? delayAfter(policy, attempt, error.details?.retryAfterMs, runtime.chance())
        : null;
    if (delayMs === null) throw denied ?? error;
    observer({ type: 'retry', operation: wanted.operation, attempt, delayMs, error });
    await runtime.sleep(delayMs, signal);
    // Others may take the free call first: only the remaining time bounds the number of attempts.
    if (denied) waitMs -= delayMs;
    else attempt += 1;
  }
}

/** When to try again, a second at least; `null` if that is later than the request may wait. */
function waitWithin(waitMs: number, { retryAfterSeconds }: CallDeniedError): number | null {
  const delayMs = Math.max(1, retryAfterSeconds ?? 1) * 1_000;
  return delayMs <= waitMs ? delayMs : null;
}

export function checkTimeout(timeoutMs: number): void {
  if (!(timeoutMs > 0 && timeoutMs <= TIMEOUT_MS_MAX))
    throw badInput('timeoutMs', `must be above 0 and at most ${TIMEOUT_MS_MAX}`);
}

interface Try {
  signal: AbortSignal | undefined;
  correlationId: string;
  timeoutMs: number;
}

async function attemptOnce(
  { baseUrl, runtime }: Connection,
  wanted: OperationRequest,
  { signal, correlationId, timeoutMs }: Try,
): Promise<Outcome<unknown>> {
  const { operation, method, path, body, read } = wanted;
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = setTimeout(abort, timeoutMs);
  signal?.addEventListener('abort', abort);
  // A `fetch` that ignores its signal must not block the caller.
  const aborted = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(new Error(`no answer within ${timeoutMs} ms`)));
  });
  const exchange = async (): Promise<RawAnswer> => {
    const response = await runtime.fetch(baseUrl + path, {
      method,
      headers: { ...wanted.headers, [CORRELATION_HEADER]: correlationId },
      ...(body !== undefined && { body }),
      redirect: 'manual',
      signal: controller.signal,
    });
    const { status, headers } = response;
    const retryAfterMs = parseRetryAfter(headers.get('retry-after'), runtime.nowMs());
    return {
      operation,
      status,
      text: await response.text(),
      correlationId: headers.get(CORRELATION_HEADER) ?? correlationId,
      retryAfterMs,
      headers,
    };
  };
  try {
    return read(await Promise.race([exchange(), aborted]));
  } catch (cause) {
    return {
      ok: false,
      error: new CallmeterError('SERVICE_NETWORK_ERROR', `${operation}: ${describeFailure(cause)}`, {
        correlationId,
        cause,
      }),
    };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** Runtimes put the reason of a failed fetch into its `cause`. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message ? `${error.message} (${cause.message})` : error.message;
}
