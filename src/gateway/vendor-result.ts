/**
 * Reads a vendor's answer: the caller's answer, the usage to record, and whether another model may be tried.
 *
 * An answer passes unchanged. An error keeps its status and its reason, in Callmeter's form and without keys. Anything
 * that is not a model's answer (a redirect, a login page, silence) becomes 502 or 504.
 */

import type { CallPart } from '../domain/call-parts.ts';
import type { CallError } from '../domain/call-report.ts';
import { NO_USAGE } from '../domain/usage.ts';
import { listParts } from '../metering/call-parts.ts';
import { parseAnswer } from '../platform/json.ts';
import type { Effort } from '../vendors/effort.ts';
import type { WholeResult } from '../vendors/request.ts';
import { errorIn, failureStatus } from '../vendors/usage/failure.ts';
import { type Fields, fieldsOrEmpty, listOrEmpty, textOrEmpty } from '../vendors/usage/figures.ts';
import type { VendorFailure } from '../vendors/usage.ts';
import type { WholeAnswer } from './answer.ts';
import type { Dialect, ErrorBody, ErrorWords, VendorForm } from './dialects/dialect.ts';
import { openAiError } from './dialects/openai.ts';
import { errorAnswer, type Refused, refusalAnswer, refuseCall, wireError } from './error-envelope.ts';
import { type Outcome, reportedUsage } from './service-calls/end.ts';
import {
  type AnswerFacts,
  failureOfStatus,
  type ReceivedAnswer,
  readVendorAnswer,
  type VendorAnswer,
} from './vendor-answer.ts';

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
/** The most details of a vendor's error that pass; Google has about six kinds. */
const DETAILS_MAX = 20;
/** Source: google/rpc/error_details.proto of googleapis. */
const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo';
const REQUEST_ID_NAMES = ['x-request-id', 'request-id'];
const REQUEST_ID = /^[\x21-\x7e]{1,200}$/;

/** How a success of an endpoint is read. */
interface AnswerReading {
  /** The answer may be any text. */
  isText: boolean;
  /** A model gave it, so that an error in place of output is answered as an error, whatever its status. */
  isOfModel: boolean;
  /** The usage with what can be counted in the answer. */
  counted(usage: Outcome['usage'], document: unknown): Outcome['usage'];
}

const AS_REPORTED: AnswerReading = { isText: false, isOfModel: false, counted: (usage) => usage };

export function readResult(
  result: WholeResult,
  vendorKey: string,
  errorBody: ErrorBody = openAiError,
  answerReading = AS_REPORTED,
): Reading {
  const answer = readVendorAnswer(result);
  if (answer.kind === 'none') {
    const { code, message, refused } = answer;
    const isBroken = code === 'VENDOR_ANSWER_BROKEN';
    // It broke off, which need not happen again.
    const refusal = refuseCall(code, message, { ...(isBroken && { retry: true }) });
    return failed(refusal, refused ? NO_USAGE : null, !isBroken && code !== 'CLIENT_LEFT', errorBody);
  }
  if (!answer.ok) return readError(answer, vendorKey, errorBody);
  if (answer.kind === 'answer') return readSuccess(answer, vendorKey, errorBody, answerReading);
  // What it used is charged, and the caller does not get it.
  const refusal = refuseCall('VENDOR_ANSWER_TOO_LARGE', answer.message);
  return { ...failed(refusal, null, false, errorBody), ...usageFields(answer) };
}

/**
 * The error of an answer with status 200, as a whole or in its first event: nothing was done, unless it reports usage.
 */
export function readFailedAnswer(
  answer: ReceivedAnswer & { failure: VendorFailure },
  vendorKey: string,
  errorBody: ErrorBody,
): Reading {
  const { status, headers, document, failure } = answer;
  const told = usageFields(answer);
  const error = cleanFailure(failure, vendorKey);
  const { message } = error;
  const words = {
    status: status >= 400 ? status : failureStatus(document),
    message,
    ...readErrorWords(document, vendorKey),
  };
  return {
    ...told,
    usage: told.usage ?? NO_USAGE,
    answer: errorAnswer(words, retryHeaders(headers, words), errorBody),
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
export function findRequestId(headers: Headers): string | undefined {
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

type Answered = VendorAnswer & { kind: 'answer' };

/**
 * Like `readResult`, for an endpoint that passes any answer: an error also keeps the vendor's own form. Neither
 * contains the key.
 */
export function readPassed(result: WholeResult, vendorKey: string): Reading {
  if (result.kind !== 'answer' || (!result.ok && result.status < 400)) return readResult(result, vendorKey);
  const { status, ok, headers, body } = result;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const read = readResult(result, vendorKey, openAiError, { ...AS_REPORTED, isText: true });
  const passed = ok ? withoutKey(text, vendorKey) : withoutKeys(text, vendorKey);
  return { ...read, answer: { status, headers: picked(headers, BODY_HEADERS), body: passed } };
}

function readSuccess(
  answered: Answered,
  vendorKey: string,
  errorBody: ErrorBody,
  answerReading: AnswerReading,
): Reading {
  const { status, headers, body, document, failure, refused } = answered;
  const { isText, isOfModel } = answerReading;
  if (document === undefined && !isText) {
    return failed(refuseCall('VENDOR_ANSWER_BROKEN', "the vendor's answer is not JSON"), null, false, errorBody);
  }
  const answer = {
    status,
    headers: { 'Content-Type': answerContentType(headers, document === undefined) },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
  if (!isOfModel || !refused || !failure) {
    const read = told(answered, vendorKey, answerReading);
    return { ...read, answer: read.error ? { ...answer, body: withoutKey(answer.body, vendorKey) } : answer };
  }
  const read = readFailedAnswer({ ...answered, failure }, vendorKey, errorBody);
  // A response that failed is a form of its own, which clients know.
  return fieldsOrEmpty(document).object === 'response'
    ? { ...read, answer: { ...answer, body: withoutKeys(answer.body, vendorKey) } }
    : read;
}

/** The content type of the answer, whatever its headers say. */
function answerContentType(headers: Headers, isText: boolean): string {
  const said = headers.get('content-type') ?? '';
  if (isText) return said || 'text/plain';
  return /json/i.test(said) ? said : 'application/json';
}

/** What a successful answer says of itself. */
function told(answered: Answered, vendorKey: string, { counted }: AnswerReading): Omit<Reading, 'answer'> {
  const { body, document, reported, failure } = answered;
  return {
    ...usageFields(answered),
    usage: counted(reportedUsage(reported), document),
    ...((reported === null || reported.unclear) && { withoutUsage: document ?? body }),
    responseId: textOrEmpty(fieldsOrEmpty(document).id) || undefined,
    // A well-formed answer can still say that the response failed.
    ...(failure && { error: cleanFailure(failure, vendorKey) }),
    retryable: false,
  };
}

function usageFields({
  reported,
  searches,
}: AnswerFacts): Pick<
  Reading,
  'usage' | 'parts' | 'searches' | 'modelUsed' | 'isFallback' | 'vendorReportedCostUSD' | 'effort'
> {
  return {
    usage: reportedUsage(reported),
    parts: listParts(reported),
    searches,
    modelUsed: reported?.modelUsed,
    isFallback: reported?.isFallback,
    vendorReportedCostUSD: reported?.vendorReportedCostUSD,
    effort: reported?.reasoningEffort,
  };
}

function readError(
  { status, headers, document, failure }: ReceivedAnswer,
  vendorKey: string,
  errorBody: ErrorBody,
): Reading {
  if (status < 400) {
    const message = `the vendor answered ${status}, which is no answer of a model`;
    return failed(refuseCall('VENDOR_ANSWER_BROKEN', message), NO_USAGE, false, errorBody);
  }
  const error = cleanFailure(failure ?? failureOfStatus(status), vendorKey);
  const words = { status, message: error.message, ...readErrorWords(document, vendorKey) };
  return {
    answer: errorAnswer(words, retryHeaders(headers, words), errorBody),
    usage: NO_USAGE,
    error,
    retryable: status === 429 || status >= 500,
  };
}

/** The headers with these names, if the answer has them. */
export function picked(headers: Headers, names: readonly string[]): Record<string, string> {
  const pairs = names.map((name) => [name, headers.get(name)] as const);
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => pair[1] !== null));
}

/** Type, code, parameter and details of the vendor's error, without the key. */
function readErrorWords(document: unknown, vendorKey: string): Omit<ErrorWords, 'status' | 'message'> {
  const { type, code, status, param, details } = fieldsOrEmpty(errorIn(document));
  const word = (value: unknown) =>
    typeof value === 'string' && value !== '' ? cleanWord(value, vendorKey).slice(0, WORD_LENGTH_MAX) : null;
  return {
    type: word(type) ?? undefined,
    code: word(code) ?? word(status),
    param: word(param),
    details: detailsOf(details, vendorKey),
  };
}

/** Google's details, which are told by their type. Another vendor's member of the name is something else. */
function detailsOf(details: unknown, vendorKey: string): Fields[] {
  const typed = listOrEmpty(details)
    .map(fieldsOrEmpty)
    .filter((detail) => typeof detail['@type'] === 'string')
    .slice(0, DETAILS_MAX);
  return typed.length === 0
    ? []
    : listOrEmpty(parseAnswer(withoutKeys(JSON.stringify(typed), vendorKey))).map(fieldsOrEmpty);
}

/** When a client is to come back: as the vendor's headers say, or else the `RetryInfo` of Google's details. */
function retryHeaders(headers: Headers, { details = [] }: Pick<ErrorWords, 'details'>): Record<string, string> {
  const { retryDelay } = details.find((detail) => detail['@type'] === RETRY_INFO) ?? {};
  // A duration in JSON has seconds with up to nine decimals.
  const [, seconds] = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(textOrEmpty(retryDelay)) ?? [];
  return {
    ...(seconds !== undefined && { 'Retry-After': String(Math.ceil(Number(seconds))) }),
    ...picked(headers, RETRY_HEADERS),
  };
}
