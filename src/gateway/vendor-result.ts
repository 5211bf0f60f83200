/**
 * What a vendor's answer comes to: what is told to the caller, what is recorded, and whether another model may be
 * tried.
 *
 * An answer passes as it is. An error keeps its status and its reason, in OpenAI's envelope and without keys. What is
 * no answer of a model (a redirect, a login page, silence) is a 502 or 504.
 */

import type { CallError } from '../domain/call.ts';
import { NO_USAGE, type Outcome, reportedUsage } from '../metering/finish-call.ts';
import { parseAnswer } from '../platform/json.ts';
import type { Effort } from '../vendors/effort.ts';
import type { VendorResult } from '../vendors/request.ts';
import { plausible, readFailure, readReportedUsage, readSearches } from '../vendors/usage.ts';
import { type Failure, failureAnswer, type GatewayAnswer, typeOf } from './answer.ts';

export interface Reading {
  answer: GatewayAnswer;
  usage: Outcome['usage'];
  /** Web searches that are known although the usage is not. */
  searches?: number;
  modelUsed?: string | undefined;
  /** As the vendor echoes it. */
  effort?: Effort | undefined;
  error?: CallError;
  /** The vendor failed for a reason that another model does not share, and nothing was answered yet. */
  retryable: boolean;
}

/** Headers of a vendor's error that tell a client when to come back. */
const RETRY_HEADERS = ['Retry-After', 'retry-after-ms', 'x-should-retry'];
const REQUEST_ID_NAMES = ['x-request-id', 'request-id'];
const REQUEST_ID = /^[\x21-\x7e]{1,200}$/;

export function readResult(result: Exclude<VendorResult, { kind: 'stream' }>, vendorKey: string): Reading {
  switch (result.kind) {
    case 'timeout':
      return failed({ status: 504, code: 'VENDOR_TIMEOUT', message: 'the vendor did not answer in time' }, null, true);
    case 'unreachable':
      return failed({ status: 502, code: 'VENDOR_UNREACHABLE', message: result.message }, NO_USAGE, true);
    case 'broken':
      return failed({ status: 502, code: 'VENDOR_ANSWER_BROKEN', message: result.message }, null, false);
    case 'answer':
      return result.ok ? readSuccess(result) : readError(result, vendorKey);
  }
}

/** The vendor's own id of the request. */
export function requestIdOf(headers: Headers): string | undefined {
  const id = REQUEST_ID_NAMES.map((name) => headers.get(name)).find((value) => value !== null);
  return id != null && REQUEST_ID.test(id) ? id : undefined;
}

/** Without credentials: vendors repeat the key that they refuse, in full or with stars. */
export function withoutKeys(text: string, vendorKey: string): string {
  return text
    .replaceAll(vendorKey, '[credential]')
    .replace(/\b(bearer)\s+[\w.~+/=*-]{8,}/gi, '$1 [credential]')
    .replace(/\b(?:(?:sk|pk|rk|xai|gsk)[-_]|AIza)[\w*-]{6,}/g, '[credential]');
}

type Answered = VendorResult & { kind: 'answer' };

function readSuccess({ status, headers, body }: Answered): Reading {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const document = typeof body === 'string' ? parseAnswer(body) : body;
  if (document === undefined) {
    return failed(
      { status: 502, code: 'VENDOR_ANSWER_BROKEN', message: "the vendor's answer is no JSON" },
      null,
      false,
    );
  }
  const reported = readReportedUsage(document);
  const said = plausible(reported);
  const error = readFailure(document);
  return {
    answer: { status, headers: { 'Content-Type': headers.get('content-type') ?? 'application/json' }, body: text },
    usage: reportedUsage(reported),
    searches: readSearches(document),
    modelUsed: said?.modelUsed,
    effort: said?.reasoningEffort,
    // A response can fail within an answer that is well-formed.
    ...(error && { error }),
    retryable: false,
  };
}

function readError({ status, headers, body }: Answered, vendorKey: string): Reading {
  const document = typeof body === 'string' ? parseAnswer(body) : body;
  if (status < 400) {
    const message = `the vendor answered ${status}, which is no answer of a model`;
    return failed({ status: 502, code: 'VENDOR_ANSWER_BROKEN', message }, NO_USAGE, false);
  }
  const reason = readFailure(document);
  const message = withoutKeys(reason?.message ?? `the vendor answered ${status}`, vendorKey);
  const failure: Failure = { status, ...wordsOf(document, status), message };
  const passed = Object.fromEntries(
    RETRY_HEADERS.flatMap((name) => (headers.get(name) === null ? [] : [[name, headers.get(name) as string]])),
  );
  return {
    answer: failureAnswer({ ...failure, retryAfterSeconds: undefined }, passed),
    usage: NO_USAGE,
    error: { code: reason?.code ?? `VENDOR_HTTP_${status}`, message },
    retryable: status === 429 || status >= 500,
  };
}

/** Type, code and parameter as the vendor has them, in the words of OpenAI where it has none. */
function wordsOf(document: unknown, status: number): Pick<Failure, 'type' | 'code' | 'param'> & { type: string } {
  const [first] = Array.isArray(document) ? document : [document];
  const { type, code, status: word, param } = ((first as { error?: unknown })?.error ?? {}) as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value.slice(0, 200) : null);
  return { type: text(type) ?? typeOf(status), code: text(code) ?? text(word), param: text(param) };
}

function failed(failure: Failure & { code: string }, usage: Outcome['usage'], retryable: boolean): Reading {
  return { answer: failureAnswer(failure), usage, error: { code: failure.code, message: failure.message }, retryable };
}
