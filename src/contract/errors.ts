/**
 * The closed list of error codes with the HTTP status of each, and `Result`: the one form that expected failures have
 * in the code. A refusal becomes an answer in src/http/middleware/error-envelopes.ts (metering interface, operator API,
 * lookup, pages) or src/gateway/error-envelope.ts (OpenAI's envelope).
 */
import type { z } from 'zod';
import type { AnswersBeyond } from '../domain/allowance-bound.ts';
import type { Gap } from '../domain/bound.ts';
import type { DenialFigures } from './denial.ts';
import type { Left, Rolling } from './limit-headers.ts';

export const ERROR_STATUS = {
  BAD_REQUEST: 400,
  /** A request with a session token has a field that sessions may not send. */
  FIELD_NOT_ALLOWED: 400,
  METER_NOT_ENABLED: 400,
  UNAUTHORIZED: 401,
  CREDIT_REQUIRED: 402,
  API_KEY_SCOPE_REQUIRED: 403,
  /** Credit would pay, but the most that the call can cost is unknown. */
  BOUND_UNKNOWN: 403,
  /** The API key, or the browser's session, is limited to others. */
  FEATURE_NOT_ALLOWED: 403,
  MODEL_NOT_ALLOWED: 403,
  MODEL_NOT_PRICED: 403,
  CUSTOMER_FORBIDDEN: 403,
  /** A browser may have sent an operator's request for another site. */
  CROSS_SITE_REQUEST: 403,
  OPERATOR_ROLE_REQUIRED: 403,
  NOT_FOUND: 404,
  CALL_NOT_FOUND: 404,
  COMPRESSION_JOB_NOT_FOUND: 404,
  CUSTOMER_NOT_FOUND: 404,
  PLAN_NOT_FOUND: 404,
  SUBSCRIPTION_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  NOT_ACCEPTABLE: 406,
  /** The call is recorded, and its answer gave way to later answers of the customer. */
  ANSWER_NOT_KEPT: 409,
  CALL_ALREADY_FINALIZED: 409,
  CALL_IN_FLIGHT: 409,
  CONFLICT: 409,
  /**
   * The contract's code for two concurrent increments. Never sent, because the customer's object runs increments one
   * after the other.
   */
  CUSTOM_METER_CONFLICT: 409,
  IDEMPOTENCY_KEY_CONFLICT: 409,
  /** A call that has a price would lose it. */
  PRICE_UNAVAILABLE: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  /** Open calls of the customer hold the balance that a call needs. */
  BALANCE_HELD: 429,
  /** The organization's storage is full. */
  QUOTA_EXCEEDED: 429,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  SERVICE_UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** A field of the input and the rule that it breaks. */
export interface Detail {
  path: string;
  message: string;
}

/** Members of the wire's `error` object besides code and message. */
interface RefusalMembers {
  details?: readonly Detail[];
  requiredScope?: string;
  [name: string]: unknown;
}

/** Why a request was refused. Each envelope maps its codes to the wire in one exhaustive table. */
export interface Refusal<Code extends string = ErrorCode> {
  code: Code;
  message: string;
  members?: RefusalMembers;
  retryAfterSeconds?: number;
  /** The rolling limit that refused, for the headers of the answer. */
  rolling?: Rolling;
  /** The amounts that are used up or held, if they are the reason. */
  denial?: DenialFigures;
  /** Further headers of the answer. */
  headers?: Record<string, string>;
}

/** An expected outcome: the members of `Value`, or a refusal. Bugs and broken infrastructure are thrown. */
export type Result<Value extends object = object, Reason = Refusal> =
  | ({ ok: true } & Value)
  | { ok: false; refusal: Reason };

/** The answer of a use case: its result and data, new or replayed, or a refusal that changed nothing. */
export type Answer<Data, Code extends string = string, Refusals extends ErrorCode = ErrorCode> =
  | Accepted<Data, Code>
  | Refused<Refusals>;

export type Refused<Code extends ErrorCode = ErrorCode> = { ok: false; refusal: Refusal<Code> };

export interface Accepted<Data, Code extends string = string> {
  ok: true;
  result: { status: 'ACCEPTED'; code: Code; message?: string; timestamp: string };
  data: Data;
  /** The answer was stored by an earlier request with the same idempotency key. */
  replayed: boolean;
  /** `result` and `data` as JSON, if the object has serialized them. */
  text?: string;
  /** The remaining limits after a new begin or end, for the headers of the answer. */
  left?: Left;
}

declare const answer: unique symbol;

/**
 * An object's answer, serialized: the JSON text that is stored for retries and sent to the caller. The type names the
 * answer in the text, so an object cannot answer one operation with the text of another.
 */
export type SerializedAnswer<Serialized extends Answer<unknown> = Answer<unknown>> =
  | { ok: true; text: AnswerText<Serialized>; replayed: boolean; left?: Left }
  | Extract<Serialized, { ok: false }>;

/** `result` and `data` of the answer as JSON. */
type AnswerText<Serialized> = string & { readonly [answer]: Extract<Serialized, { ok: true }> };

export function answerText({ result, data }: Accepted<unknown>): string {
  return JSON.stringify({ result, data });
}

/** A string crosses to the Worker at less cost than an object graph. */
export function serializeAnswer<Data, Code extends string, Refusals extends ErrorCode>(
  answer: Answer<Data, Code, Refusals>,
): SerializedAnswer<Answer<Data, Code, Refusals>> {
  if (!answer.ok) return answer;
  const { text = answerText(answer), replayed, left } = answer;
  return { ok: true, text: text as AnswerText<Accepted<Data, Code>>, replayed, ...(left && { left }) };
}

export function accept<Data, const Code extends string>(
  code: Code,
  data: Data,
  nowMs: number,
  message?: string,
): Accepted<Data, Code> {
  const timestamp = new Date(nowMs).toISOString();
  return {
    ok: true,
    result: { status: 'ACCEPTED', code, ...(message && { message }), timestamp },
    data,
    replayed: false,
  };
}

export function refuse<const Code extends ErrorCode>(
  code: Code,
  message: string,
  more: Omit<Refusal, 'code' | 'message'> = {},
): Refused<Code> {
  return { ok: false, refusal: { code, message, ...more } };
}

/** 400 that lists each broken rule. */
export function badRequest(...details: Detail[]): Refused<'BAD_REQUEST'> {
  const message = details.map(({ path, message: rule }) => `${path}: ${rule}`).join('; ');
  return refuse('BAD_REQUEST', message, { members: { details } });
}

/** The most broken rules in one answer. */
const DETAILS_MAX = 20;

/** The rules that the input breaks, each with its field. */
export function brokenRules({ issues }: { issues: readonly z.core.$ZodIssue[] }): Detail[] {
  return issues
    .flatMap(innerIssues)
    .slice(0, DETAILS_MAX)
    .map((issue) => {
      const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]] : issue.path;
      return { path: path.map(String).join('.') || 'body', message: issue.message };
    });
}

/**
 * For a union, the rules of the intended variant: the first in which a member is wrong, and not the whole. For a key,
 * the rules of keys.
 */
function innerIssues(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code === 'invalid_key') return issue.issues.map((inner) => ({ ...inner, path: issue.path }));
  if (issue.code !== 'invalid_union') return [issue];
  const meant = issue.errors.find((broken) => broken.every(({ path }) => path.length > 0));
  return meant?.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })) ?? [issue];
}

/** The refusal of a new subscription to an archived plan that `field` of the request names. */
export const planIsArchived = (field: string) =>
  refuse('CONFLICT', `${field}: the plan is archived and takes no new subscriptions`);

/** A request that waits for a balance that other calls hold is to be repeated after this time. */
export const HELD_RETRY_SECONDS = 1;

/** The refusal of a call that credit would pay for, and of which something has no price or no bound. */
export function closedOnCredit(gap: Gap): Refusal<Gap['code']> {
  return closed(gap, 'credit would pay for this call');
}

/** The refusal of a call that can make any number of searches. */
export function closedByLimit(gap: Gap): Refusal<Gap['code']> {
  return closed(gap, "the customer's plan limits searches");
}

function closed(gap: Gap, reason: string): Refusal<Gap['code']> {
  const { code, component, param } = gap;
  const members = { component, ...(param !== undefined && { param }) };
  return { code, message: `${whyClosed(gap)}, and ${reason}`, members };
}

/** What is recorded of a call whose answer is no longer kept. */
export interface CallFigures {
  callId: string;
  status: string;
  modelUsed: string | null;
  inputTokens: number;
  responseTokens: number;
  /** `null` if it is not known. */
  costUsdNano: string | null;
}

/** The refusal of a retry whose answer gave way to later ones: it is not charged, and no vendor is asked again. */
export function answerNotKept(call: CallFigures): Refusal<'ANSWER_NOT_KEPT'> {
  const message =
    'the call was made and recorded once, and its answer is no longer kept: later answers of the customer needed the room; to ask the vendor again, use a new key';
  return { code: 'ANSWER_NOT_KEPT', message, members: { call } };
}

/** The refusal of a request for more answers than the plan allows for one call. */
export function tooManyAnswers({ param, count, most }: AnswersBeyond) {
  return badRequest({
    path: param,
    message: `the customer's plan allows at most ${most} answers for one call, and the request asks for ${count}`,
  });
}

function whyClosed({ code, model, component }: Gap): string {
  const named = model === null ? 'the model' : `the model ${JSON.stringify(model)}`;
  if (component === 'model') return model === null ? 'the request names no model' : `${named} has no price`;
  if (component.startsWith('field:')) return `the cost of ${component} is unknown`;
  if (component === 'endpoint') return 'the cost of requests to this endpoint is unknown';
  return code === 'MODEL_NOT_PRICED'
    ? `the price of ${named} has no rate for ${component}`
    : `the request can use any number of ${component}`;
}
