/**
 * The one place where refusals and failures become wire.
 */
import type { ErrorHandler, NotFoundHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { REPLAY_HEADER } from '../contract/envelope.ts';
import {
  type Accepted,
  type Answer,
  answerText,
  ERROR_STATUS,
  type Refusal,
  refuse,
  type SentAnswer,
} from '../contract/errors.ts';
import { log } from '../platform/log.ts';
import { unavailableReason } from '../platform/unavailable.ts';
import type { AppContext, AppEnv } from './context.ts';

const JSON_TYPE = { 'Content-Type': 'application/json' };
/** What a client may wait when it is not known for how long. */
export const RETRY_AFTER_SECONDS = 1;

export function answerResponse(c: AppContext, answer: Answer<unknown> | SentAnswer): Response {
  if (!answer.ok) return refusalResponse(c, answer.refusal);
  if (answer.replayed) c.header(REPLAY_HEADER, 'true');
  const text = answer.text ?? answerText(answer as Accepted<unknown>);
  // The text is an object that the correlation id joins.
  return c.body(`${text.slice(0, -1)},"correlationId":${JSON.stringify(c.get('correlationId'))}}`, 200, JSON_TYPE);
}

export function refusalResponse(c: AppContext, refusal: Refusal): Response {
  const { code, message, members, retryAfterSeconds } = refusal;
  const status = ERROR_STATUS[code];
  if (retryAfterSeconds !== undefined || status === 503 || status === 429) {
    c.header('Retry-After', String(retryAfterSeconds ?? RETRY_AFTER_SECONDS));
  }
  if (status === 401) c.header('WWW-Authenticate', 'Bearer');
  return c.json(
    {
      result: { status: 'ERROR', code, message, timestamp: new Date().toISOString() },
      error: { code, message, ...members },
      correlationId: c.get('correlationId'),
    },
    status,
  );
}

export const onNotFound: NotFoundHandler<AppEnv> = (c) =>
  refusalResponse(c, refuse('NOT_FOUND', 'there is no such route').refusal);

export const onError: ErrorHandler<AppEnv> = (error, c) => {
  if (error instanceof HTTPException && error.status === 400) {
    const details = [{ path: 'body', message: 'must be valid JSON in UTF-8' }];
    return refusalResponse(
      c,
      refuse('BAD_REQUEST', 'body: must be valid JSON in UTF-8', { members: { details } }).refusal,
    );
  }
  const reason = logFailure('request_failed', { correlationId: c.get('correlationId'), method: c.req.method }, error);
  if (reason !== null) return refusalResponse(c, refuse('SERVICE_UNAVAILABLE', reason).refusal);
  return refusalResponse(
    c,
    refuse('INTERNAL_ERROR', 'something went wrong on our side; the request may be sent again').refusal,
  );
};

/**
 * Logs what was thrown. Says what the caller may be told where storage is away (503); `null` for a fault of ours (500).
 */
export function logFailure(event: string, fields: Readonly<Record<string, unknown>>, error: unknown): string | null {
  const reason = unavailableReason(error);
  log(reason === null ? 'error' : 'warn', event, fields, error);
  return reason;
}
