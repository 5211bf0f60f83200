/**
 * The form of refusals on the wire: in the envelope of the metering interface and the operator API, in the lookup's,
 * and on a page. The gateway's envelope is in src/gateway/error-envelope.ts, because objects write it too.
 *
 * Each envelope has one table with an entry for each of its codes; `ERROR_STATUS` of the contract is the first.
 */
import { REPLAY_HEADER } from '../../contract/envelope.ts';
import {
  type Accepted,
  type Answer,
  answerText,
  ERROR_STATUS,
  type ErrorCode,
  type Refusal,
  refuse,
  type SerializedAnswer,
} from '../../contract/errors.ts';
import { limitHeaders, rollingHeaders } from '../../contract/limit-headers.ts';
import type { LookupErrorCode } from '../../contract/model-lookup.ts';
import { log } from '../../platform/log.ts';
import { thrownRefusal } from '../../platform/unavailable.ts';
import type { AppContext } from './context.ts';

const JSON_TYPE = 'application/json';
/** The wait if the right one is unknown. */
const RETRY_AFTER_SECONDS = 1;

const LOOKUP_STATUS: Record<LookupErrorCode, 400 | 405 | 429 | 500 | 503> = {
  INVALID_MODEL_KEY: 400,
  INVALID_MODEL_REQUEST: 400,
  METHOD_NOT_ALLOWED: 405,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  SERVICE_UNAVAILABLE: 503,
};

export function answerResponse(c: AppContext, answer: Answer<unknown> | SerializedAnswer): Response {
  if (!answer.ok) return refusalResponse(c, answer.refusal);
  if (answer.replayed) c.header(REPLAY_HEADER, 'true');
  for (const [name, value] of Object.entries(limitHeaders(answer.left))) c.header(name, value);
  const text = answer.text ?? answerText(answer as Accepted<unknown>);
  // The text is a JSON object; the correlation id becomes its last member.
  return c.body(
    `${text.slice(0, -1)},"correlationId":${JSON.stringify(c.get('correlationId'))}}`,
    200,
    contentTypeHeader(c),
  );
}

export function refusalResponse(c: AppContext, refusal: Refusal): Response {
  const { code, message, members, headers = {} } = refusal;
  const status = ERROR_STATUS[code];
  const wait = retryAfter(refusal, status);
  if (wait !== null) c.header('Retry-After', wait);
  for (const [name, value] of Object.entries({ ...rollingHeaders(refusal.rolling), ...headers })) c.header(name, value);
  if (status === 401) c.header('WWW-Authenticate', 'Bearer');
  return c.json(
    {
      result: { status: 'ERROR', code, message, timestamp: new Date().toISOString() },
      error: { code, message, ...members },
      correlationId: c.get('correlationId'),
    },
    status,
    contentTypeHeader(c),
  );
}

const contentTypeHeader = (c: AppContext) => ({ 'Content-Type': c.get('mediaType') ?? JSON_TYPE });

export function lookupRefusalResponse(c: AppContext, refusal: Refusal<LookupErrorCode>): Response {
  const { code, message } = refusal;
  const status = LOOKUP_STATUS[code];
  c.header('Cache-Control', 'no-store');
  const wait = retryAfter(refusal, status);
  if (wait !== null) c.header('Retry-After', wait);
  return c.json({ error: code, message }, status);
}

/** The status of a page that shows a refusal, with the headers that the status asks for. */
export function pageStatus<Code extends ErrorCode>(c: Pick<AppContext, 'header'>, refusal: Refusal<Code>) {
  const status = ERROR_STATUS[refusal.code];
  const wait = retryAfter(refusal, status);
  if (wait !== null) c.header('Retry-After', wait);
  return status;
}

export const NO_ROUTE = refuse('NOT_FOUND', 'no route has this path');

export const onNotFound = (c: AppContext) => refusalResponse(c, NO_ROUTE.refusal);

export const onError = (error: Error, c: AppContext) => refusalResponse(c, logAndRefuse(c, error));

/** The refusal for a request that threw an error, which is logged under its correlation id. */
export function logAndRefuse(c: Pick<AppContext, 'get' | 'req'>, error: unknown) {
  return logThrown('request_failed', { correlationId: c.get('correlationId'), method: c.req.method }, error);
}

/** Logs an error that was thrown, and makes a refusal of it. */
export function logThrown(event: string, fields: Readonly<Record<string, unknown>>, error: unknown) {
  const refusal = thrownRefusal(error);
  log(refusal.code === 'SERVICE_UNAVAILABLE' ? 'warn' : 'error', event, fields, error);
  return refusal;
}

function retryAfter({ retryAfterSeconds }: Refusal<string>, status: number): string | null {
  const waits = retryAfterSeconds !== undefined || status === 503 || status === 429;
  return waits ? String(retryAfterSeconds ?? RETRY_AFTER_SECONDS) : null;
}
