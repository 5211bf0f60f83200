/**
 * The context of every request in the app, and its correlation id, which callers find in their own records.
 */
import type { Context, MiddlewareHandler } from 'hono';
import { CORRELATION_HEADER } from '../../contract/envelope.ts';
import type { Env } from '../../env.ts';
import type { Credential } from '../../metering/credentials.ts';
import type { Operator } from '../../operator/identity.ts';

export interface AppEnv {
  Bindings: Env;
  Variables: {
    correlationId: string;
    /** Set if the operation asks for an API key. */
    credential: Credential;
    /** Set if the operation asks for an operator. */
    operator: Operator;
    /** The media type of the answer, if the request may ask for one; otherwise it is application/json. */
    mediaType?: string;
  };
}

export type AppContext = Context<AppEnv>;

/** Ids that are safe to repeat in a header and a log; others are replaced. */
const CORRELATION_ID = /^[\x21-\x7e]{1,200}$/;

export const NO_STORE = 'private, no-store';
/** A browser that opens a download trusts the declared type. */
export const NO_SNIFF = ['X-Content-Type-Options', 'nosniff'] as const;

/** Gives the request its correlation id: the caller's own, or a new one. */
function correlate(c: AppContext): string {
  const sent = c.req.header(CORRELATION_HEADER);
  const correlationId = sent !== undefined && CORRELATION_ID.test(sent) ? sent : crypto.randomUUID();
  c.set('correlationId', correlationId);
  return correlationId;
}

export const requestContext: MiddlewareHandler<AppEnv> = async (c, next) => {
  const correlationId = correlate(c);
  // Setting headers before the response is made costs less than changing it afterwards.
  c.header(CORRELATION_HEADER, correlationId);
  c.header('Cache-Control', NO_STORE);
  c.header(...NO_SNIFF);
  await next();
  // A response that was not made through the context has its own headers.
  if (!c.res.headers.has(CORRELATION_HEADER)) c.header(CORRELATION_HEADER, correlationId);
  if (!c.res.headers.has('Cache-Control')) c.header('Cache-Control', NO_STORE);
  if (!c.res.headers.has(NO_SNIFF[0])) c.header(...NO_SNIFF);
};

/** Keeps work alive after the response. */
export function deferrer(c: AppContext): (work: Promise<unknown>) => void {
  return (work) => c.executionCtx.waitUntil(work);
}
