/**
 * What comes in: media types, body size, and validation against the contract with errors that name field and rule.
 */
import { zValidator } from '@hono/zod-validator';
import type { MiddlewareHandler } from 'hono';
import type { z } from 'zod';
import { IDEMPOTENCY_HEADER, MEDIA_TYPE } from '../contract/envelope.ts';
import { type Refusal, refuse } from '../contract/errors.ts';
import { idempotencyKey } from '../contract/fields.ts';
import { SESSION_BODY_BYTES_MAX } from '../contract/sessions.ts';
import { JSON_BOUND_RULES } from '../platform/json.ts';
import { type JsonBody, readJsonBody } from '../platform/json-body.ts';
import type { Credential } from '../storage/credentials.ts';
import type { AppContext, AppEnv } from './context.ts';
import { refusalResponse } from './errors.ts';
import { refuseIdentity } from './session-identity.ts';

export const BODY_BYTES_MAX = 64 * 1024;
/** Broken rules that one answer lists. */
const DETAILS_MAX = 20;

/** 406 unless the vendor media type is among the accepted ones. */
export const requireAccept: MiddlewareHandler<AppEnv> = async (c, next) => {
  const accepted = (c.req.header('Accept') ?? '')
    .split(',')
    .map((entry) => entry.split(';').map((part) => part.trim().toLowerCase()));
  const named = accepted.some(
    ([type, ...parameters]) => type === MEDIA_TYPE && !parameters.some((p) => /^q=0(\.0*)?$/.test(p)),
  );
  return named
    ? next()
    : refusalResponse(c, refuse('NOT_ACCEPTABLE', `the Accept header must name ${MEDIA_TYPE}`).refusal);
};

/**
 * The body as the schema has it, in one pass: 415 unless a body that is there is JSON; 413 while it is read, where it
 * has too many bytes, values or levels; 400 for bytes that are not JSON in UTF-8 and for each broken rule. No body is
 * an empty object.
 */
export function jsonBody(schema: z.ZodType, bytesMax: number): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const type = refusedType(c);
    if (type !== null) return refusalResponse(c, refuse('UNSUPPORTED_MEDIA_TYPE', type).refusal);
    const bytesTaken = bodyBytesMax(c, bytesMax);
    const json = await readJsonBody(c.req.raw, bytesTaken);
    if (!json.ok && json.broken !== 'empty') return refusalResponse(c, unreadable(json.broken, bytesTaken));
    const value = json.ok ? json.value : {};
    // An operator has no credential of an organization.
    const session = (c.get('credential') as Credential | undefined)?.session;
    const notForSession = session && refuseIdentity(session, value);
    if (notForSession) return refusalResponse(c, notForSession);
    const parsed = schema.safeParse(value);
    if (!parsed.success) return refusalResponse(c, badRequest(describeIssues(parsed.error)));
    c.req.addValidatedData('json', parsed.data as object);
    return next();
  };
}

/** What is wrong with the type of a body that is there; `null` where nothing is. */
function refusedType(c: AppContext): string | null {
  const hasBody = c.req.raw.body !== null && c.req.header('Content-Length') !== '0';
  if (!hasBody) return null;
  if ((c.req.header('Content-Encoding') ?? 'identity') !== 'identity')
    return 'a body must be sent without Content-Encoding';
  const type = (c.req.header('Content-Type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const isJson = type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type);
  return isJson ? null : 'the Content-Type of a body must be application/json';
}

/** Of a request's body: for a session's token less than for a key. */
export function bodyBytesMax(c: AppContext, bytesMax: number): number {
  const { session } = c.get('credential') ?? {};
  return session ? Math.min(bytesMax, SESSION_BODY_BYTES_MAX) : bytesMax;
}

export function tooLarge(rule: string): Refusal {
  return refuse('PAYLOAD_TOO_LARGE', `the body ${rule}`).refusal;
}

/** A body that is no JSON, or breaks a bound. */
export function unreadable(broken: (JsonBody & { ok: false })['broken'], bytesMax: number): Refusal {
  switch (broken) {
    case 'bytes':
      return tooLarge(`must have at most ${bytesMax} bytes`);
    case 'values':
    case 'levels':
      return tooLarge(JSON_BOUND_RULES[broken]);
    case 'empty':
    case 'syntax':
      return badRequest([{ path: 'body', message: 'must be valid JSON in UTF-8' }]);
  }
}

/** 400 for an idempotency key that cannot be one. */
export const checkIdempotencyHeader: MiddlewareHandler<AppEnv> = async (c, next) => {
  const header = c.req.header(IDEMPOTENCY_HEADER);
  if (header === undefined) return next();
  const parsed = idempotencyKey.safeParse(header);
  if (parsed.success) return next();
  const details = [{ path: IDEMPOTENCY_HEADER, message: parsed.error.issues[0]?.message ?? 'is invalid' }];
  return refusalResponse(c, badRequest(details));
};

/** 400 that lists each broken rule of the parameters. */
export function validate(target: 'param' | 'query', schema: z.ZodType): MiddlewareHandler<AppEnv> {
  return zValidator(target, schema, (result, c) => {
    if (result.success) return;
    return refusalResponse(c as unknown as AppContext, badRequest(describeIssues(result.error)));
  }) as unknown as MiddlewareHandler<AppEnv>;
}

export interface Detail {
  path: string;
  message: string;
}

export function badRequest(details: Detail[]) {
  const message = details.map(({ path, message: rule }) => `${path}: ${rule}`).join('; ');
  return refuse('BAD_REQUEST', message, { members: { details } }).refusal;
}

/** Each broken rule with its field. */
export function describeIssues(error: { issues: readonly z.core.$ZodIssue[] }): Detail[] {
  return error.issues.slice(0, DETAILS_MAX).map(describeIssue);
}

function describeIssue(issue: z.core.$ZodIssue): Detail {
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]] : issue.path;
  return { path: path.map(String).join('.') || 'body', message: issue.message };
}
