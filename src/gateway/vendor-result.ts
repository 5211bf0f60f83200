/**
 * Reads a vendor's answer: the caller's answer, the usage to record, and whether another model may be tried.
 *
 * An answer passes unchanged. An error keeps its status and its reason, in Callmeter's form and without keys. Anything
 * that is not a model's answer (a redirect, a login page, silence) becomes 502 or 504.
 */

import type { CallPart } from '../domain/call-parts.ts';
import type { CallError } from '../domain/call-report.ts';
import { NO_USAGE } from '../domain/usage.ts';
import { partsOf } from '../metering/call-parts.ts';
import { parseAnswer } from '../platform/json.ts';
import type { Effort } from '../vendors/effort.ts';
import { readJson } from '../vendors/json-skim.ts';
import { PassedBody } from '../vendors/passed-body.ts';
import { CLIENT_LEFT, type WholeResult } from '../vendors/request.ts';
import { withServedTier } from '../vendors/service-tier.ts';
import { errorIn, failureStatus } from '../vendors/usage/failure.ts';
import { fieldsOf, textOf } from '../vendors/usage/figures.ts';
import { readFailure, readSearches, readUsage, type VendorFailure, type VendorUsage } from '../vendors/usage.ts';
import type { WholeAnswer } from './answer.ts';
import type { Dialect, ErrorBody, ErrorWords, VendorForm } from './dialects/dialect.ts';
import { openAiError } from './dialects/openai.ts';
import { errorAnswer, type Refused, refusalAnswer, refuseCall, wireError } from './error-envelope.ts';
import { type Outcome, reportedUsage } from './service-calls/end.ts';

export interface Reading {
  answer: WholeAnswer;
  /** The headers of the vendor's answer. */
  headers?: Headers | undefined;
  usage: Outcome['usage'];
  /** Other models that ran for the call besides the one that answered. */
  parts?: readonly CallPart[];
  /** The parsed answer; absent if its usage is there and clear. */
  withoutUsage?: unknown;
  /** The answer's id at its vendor. */
  responseId?: string | undefined;
  /** Web searches that are known although the usage is not. */
  searches?: number;
  modelUsed?: string | undefined;
  /** The model answered in place of the requested one, which declined. */
  isFallback?: boolean | undefined;
  /** The cost of the call that the vendor itself reports. */
  vendorReportedCostUSD?: number | undefined;
  /** The reasoning effort that the answer reports. */
  effort?: Effort | undefined;
  error?: CallError;
  /** Another model may succeed: the vendor failed for a reason of its own. */
  retryable: boolean;
}

/** Headers of a vendor that describe the body. */
export const BODY_HEADERS = ['content-type', 'content-disposition'];
/** The shortest key that is looked for in successful answers. */
const KEY_LENGTH_MIN = 16;
/** The shortest key, or beginning of one, that is looked for in the words of an error. */
const WORD_KEY_LENGTH_MIN = 8;
const CREDENTIAL = '[credential]';
/** Headers of a vendor's error that tell a client when to retry. */
const RETRY_HEADERS = ['Retry-After', 'retry-after-ms', 'x-should-retry'];
/** The longest word that is taken from a vendor's error. */
const WORD_LENGTH_MAX = 200;
const REQUEST_ID_NAMES = ['x-request-id', 'request-id'];
const REQUEST_ID = /^[\x21-\x7e]{1,200}$/;

/** How a success of an endpoint is read. */
interface AnswerReading {
  /** The answer may be any text. */
  isText: boolean;
  /**
   * Whether a parsed answer has any output. If it has none, an error in it is the vendor's. Absent if errors are not
   * looked for.
   */
  hasOutput?(document: unknown): boolean;
  /** The usage with the uses that can be counted in the answer. */
  counted(usage: Outcome['usage'], document: unknown): Outcome['usage'];
}

const AS_REPORTED: AnswerReading = { isText: false, counted: (usage) => usage };

export function readResult(
  result: WholeResult,
  vendorKey: string,
  errorBody: ErrorBody = openAiError,
  answerReading = AS_REPORTED,
): Reading {
  switch (result.kind) {
    case 'timeout':
      return failed(refuseCall('VENDOR_TIMEOUT', 'the vendor did not answer in time'), null, true, errorBody);
    case 'left':
      return failed(refuseCall('CLIENT_LEFT', CLIENT_LEFT), null, false, errorBody);
    case 'unreachable':
      return failed(refuseCall('VENDOR_UNREACHABLE', result.message), NO_USAGE, true, errorBody);
    case 'broken':
      // The answer broke off, which need not happen again.
      return failed(refuseCall('VENDOR_ANSWER_BROKEN', result.message, { retry: true }), null, false, errorBody);
    case 'too_large':
      return readTooLarge(result, vendorKey, errorBody);
    case 'answer':
      return result.ok
        ? readSuccess(result, vendorKey, errorBody, answerReading)
        : readError(result, vendorKey, errorBody);
  }
}

/** An answer that had to be held and was too large: its usage is charged, and the caller does not get it. */
function readTooLarge(result: WholeResult & { kind: 'too_large' }, vendorKey: string, errorBody: ErrorBody): Reading {
  const { ok, reading, headers, message } = result;
  const document = reading instanceof PassedBody ? reading.document : undefined;
  if (!ok) return readError({ ...result, kind: 'answer', body: document }, vendorKey, errorBody);
  return {
    ...failed(refuseCall('VENDOR_ANSWER_TOO_LARGE', message), null, false, errorBody),
    // The report of a broken answer does not cover all of its usage.
    ...usageTold(withServedTier(reading.truncated ? null : reading.usage(), headers), reading.searches()),
  };
}

/** An answer with status 200 that contains an error. */
interface FailedAnswer {
  status: number;
  headers: Headers;
  /** The answer, or its first event. */
  document: unknown;
  reported: VendorUsage | null;
}

/**
 * The error of an answer with status 200, as a whole or in its first event: nothing was done, unless it reports usage.
 */
export function readFailedAnswer(
  { status, headers, document, reported }: FailedAnswer,
  failure: VendorFailure,
  vendorKey: string,
  errorBody: ErrorBody,
): Reading {
  const told = usageTold(withServedTier(reported, headers), readSearches(document));
  const error = cleanFailure(failure, vendorKey);
  const { message } = error;
  const words = { status: status >= 400 ? status : failureStatus(document), message, ...wordsOf(document, vendorKey) };
  return {
    ...told,
    usage: told.usage ?? NO_USAGE,
    answer: errorAnswer(words, picked(headers, RETRY_HEADERS), errorBody),
    error,
    retryable: true,
  };
}

/** The record and the answer if no vendor gave an answer. */
export function failed(
  { refusal }: Refused,
  usage: Outcome['usage'],
  retryable: boolean,
  errorBody: ErrorBody,
): Reading {
  const { code, message } = refusal;
  const error = { code: wireError(code).code ?? code, message };
  return { answer: refusalAnswer(refusal, errorBody), usage, error, retryable };
}

/** The reading with its answer in the caller's form, if the vendor was asked in another one. */
export function translated(reading: Reading, form: VendorForm, { errorBody }: Pick<Dialect, 'errorBody'>): Reading {
  const { answer } = reading;
  if (!form.answer || answer.status >= 400) return reading;
  const document = form.answer(parseAnswer(answer.body));
  if (document) return { ...reading, answer: { ...answer, body: JSON.stringify(document) } };
  const message = "the vendor's answer has another form than its endpoint";
  return { ...failed(refuseCall('VENDOR_ANSWER_BROKEN', message), null, false, errorBody), usage: reading.usage };
}

/** The vendor's own id of the request. */
export function requestIdOf(headers: Headers): string | undefined {
  const id = REQUEST_ID_NAMES.map((name) => headers.get(name)).find((value) => value !== null);
  return id != null && REQUEST_ID.test(id) ? id : undefined;
}

/** Removes credentials: vendors repeat a refused key in full or in part. */
export function withoutKeys(text: string, vendorKey: string): string {
  return withoutBeginning(text.replaceAll(vendorKey, CREDENTIAL), vendorKey)
    .replace(/\b(bearer)\s+[\w.~+/=*-]{8,}/gi, '$1 [credential]')
    .replace(/\b(?:(?:sk|pk|rk|xai|gsk)[-_]|AIza)[\w*-]{6,}/g, CREDENTIAL);
}

/** A cut text may end within the key. */
function withoutBeginning(text: string, vendorKey: string): string {
  for (let length = vendorKey.length - 1; length >= WORD_KEY_LENGTH_MIN; length -= 1)
    if (text.endsWith(vendorKey.slice(0, length))) return text.slice(0, -length) + CREDENTIAL;
  return text;
}

/** The failure in a form that may be shown and recorded. */
export function cleanFailure({ code, message }: VendorFailure, vendorKey: string): VendorFailure {
  return { code: cleanWord(code, vendorKey), message: withoutKeys(message, vendorKey) };
}

/** A word that programs compare. A shorter text is not a secret, and may be a part of the key by chance. */
function cleanWord(word: string, vendorKey: string): string {
  return vendorKey.length < WORD_KEY_LENGTH_MIN ? word : withoutKeys(word, vendorKey);
}

/** The text of a success without the key. A shorter text is not a vendor's key, and may be a word. */
function withoutKey(text: string, vendorKey: string): string {
  return vendorKey.length < KEY_LENGTH_MIN ? text : text.replaceAll(vendorKey, CREDENTIAL);
}

type Answered = WholeResult & { kind: 'answer' };

/**
 * Like `readResult`, for an endpoint that passes any answer: an error also keeps the vendor's own form. Neither
 * contains the key.
 */
export function readPassed(result: WholeResult, vendorKey: string): Reading {
  if (result.kind !== 'answer' || (!result.ok && result.status < 400)) return readResult(result, vendorKey);
  const { status, ok, headers, body } = result;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const read = ok ? told(result, vendorKey, AS_REPORTED) : readError(result, vendorKey, openAiError);
  const passed = ok ? withoutKey(text, vendorKey) : withoutKeys(text, vendorKey);
  return { ...read, answer: { status, headers: picked(headers, BODY_HEADERS), body: passed } };
}

function readSuccess(
  answered: Answered,
  vendorKey: string,
  errorBody: ErrorBody,
  answerReading: AnswerReading,
): Reading {
  const { status, headers, body } = answered;
  const { isText, hasOutput } = answerReading;
  const document = documentOf(body);
  if (document === undefined && !isText) {
    return failed(refuseCall('VENDOR_ANSWER_BROKEN', "the vendor's answer is not JSON"), null, false, errorBody);
  }
  const failure = hasOutput && readFailure(document);
  const answer = {
    status,
    headers: { 'Content-Type': contentTypeOf(headers, document === undefined) },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
  if (!failure || hasOutput(document)) {
    const read = told(answered, vendorKey, answerReading);
    return { ...read, answer: read.error ? { ...answer, body: withoutKey(answer.body, vendorKey) } : answer };
  }
  const reported = readUsage(document);
  const read = readFailedAnswer({ status, headers, document, reported }, failure, vendorKey, errorBody);
  // A failed response is a form of its own, which clients know.
  return fieldsOf(document).object === 'response'
    ? { ...read, answer: { ...answer, body: withoutKeys(answer.body, vendorKey) } }
    : read;
}

/** The content type of the answer, whatever its headers say. */
function contentTypeOf(headers: Headers, isText: boolean): string {
  const said = headers.get('content-type') ?? '';
  if (isText) return said || 'text/plain';
  return /json/i.test(said) ? said : 'application/json';
}

/** The facts that a successful answer states about itself. */
function told({ headers, body }: Answered, vendorKey: string, { counted }: AnswerReading): Omit<Reading, 'answer'> {
  const document = documentOf(body);
  const usage = withServedTier(readUsage(document), headers);
  const error = readFailure(document);
  return {
    ...usageTold(usage, readSearches(document)),
    usage: counted(reportedUsage(usage), document),
    ...((usage === null || usage.unclear) && { withoutUsage: document ?? body }),
    responseId: textOf(fieldsOf(document).id) || undefined,
    // A well-formed answer can still say that the response failed.
    ...(error && { error: cleanFailure(error, vendorKey) }),
    retryable: false,
  };
}

function usageTold(
  usage: VendorUsage | null,
  searches: number,
): Pick<Reading, 'usage' | 'parts' | 'searches' | 'modelUsed' | 'isFallback' | 'vendorReportedCostUSD' | 'effort'> {
  return {
    usage: reportedUsage(usage),
    parts: partsOf(usage),
    searches,
    modelUsed: usage?.modelUsed,
    isFallback: usage?.isFallback,
    vendorReportedCostUSD: usage?.vendorReportedCostUSD,
    effort: usage?.reasoningEffort,
  };
}

function readError({ status, headers, body }: Answered, vendorKey: string, errorBody: ErrorBody): Reading {
  if (status < 400) {
    const message = `the vendor answered ${status}, which is no answer of a model`;
    return failed(refuseCall('VENDOR_ANSWER_BROKEN', message), NO_USAGE, false, errorBody);
  }
  const document = documentOf(body);
  const failure = readFailure(document);
  const error = failure
    ? cleanFailure(failure, vendorKey)
    : { code: `VENDOR_HTTP_${status}`, message: `the vendor answered ${status}` };
  const words = { status, message: error.message, ...wordsOf(document, vendorKey) };
  return {
    answer: errorAnswer(words, picked(headers, RETRY_HEADERS), errorBody),
    usage: NO_USAGE,
    error,
    retryable: status === 429 || status >= 500,
  };
}

function documentOf(body: unknown): unknown {
  return typeof body === 'string' ? readJson(body) : body;
}

/** The named headers that are present. */
export function picked(headers: Headers, names: readonly string[]): Record<string, string> {
  const pairs = names.map((name) => [name, headers.get(name)] as const);
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => pair[1] !== null));
}

/** Type, code and parameter of the vendor's error, without the key. */
function wordsOf(document: unknown, vendorKey: string): Omit<ErrorWords, 'status' | 'message'> {
  const { type, code, status, param } = fieldsOf(errorIn(document));
  const word = (value: unknown) =>
    typeof value === 'string' && value !== '' ? cleanWord(value, vendorKey).slice(0, WORD_LENGTH_MAX) : null;
  return { type: word(type) ?? undefined, code: word(code) ?? word(status), param: word(param) };
}
