/**
 * What comes in: media types, body size, and validation against the contract with errors that name field and rule.
 */
import { zValidator } from '@hono/zod-validator';
import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { z } from 'zod';
import { IDEMPOTENCY_HEADER, MEDIA_TYPE } from '../contract/envelope.ts';
import { refuse } from '../contract/errors.ts';
import { idempotencyKey } from '../contract/fields.ts';
import type { AppContext, AppEnv } from './context.ts';
import { refusalResponse } from './errors.ts';

export const BODY_BYTES_MAX = 64 * 1024;
/** Broken rules that one answer lists. */
const DETAILS_MAX = 20;

/** 406 unless the vendor media type is among the accepted ones. */
export const requireAccept: MiddlewareHandler<AppEnv> = async (c, next) => {
  const accepted = (c.req.header('Accept') ?? '').split(',').map((entry) => entry.split(';').map((part) => part.trim().toLowerCase()));
  const named = accepted.some(([type, ...parameters]) => type === MEDIA_TYPE && !parameters.some((p) => /^q=0(\.0*)?$/.test(p)));
  return named ? next() : refusalResponse(c, refuse('NOT_ACCEPTABLE', `the Accept header must name ${MEDIA_TYPE}`).refusal);
};

/** 415 unless a body that is there is JSON. */
export const requireJson: MiddlewareHandler<AppEnv> = async (c, next) => {
  const hasBody = c.req.raw.body !== null && c.req.header('Content-Length') !== '0';
  const type = (c.req.header('Content-Type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const encoding = c.req.header('Content-Encoding') ?? 'identity';
  if (hasBody && encoding !== 'identity') {
    return refusalResponse(c, refuse('UNSUPPORTED_MEDIA_TYPE', 'a body must be sent without Content-Encoding').refusal);
  }
  if (!hasBody || type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type)) return next();
  return refusalResponse(c, refuse('UNSUPPORTED_MEDIA_TYPE', 'the Content-Type of a body must be application/json').refusal);
};

/** 413 while reading, as soon as the body is too large. */
export function limitBody(bytesMax: number): MiddlewareHandler<AppEnv> {
  return bodyLimit({
    maxSize: bytesMax,
    onError: (c) => refusalResponse(c, refuse('PAYLOAD_TOO_LARGE', `the body must have at most ${bytesMax} bytes`).refusal),
  });
}

/** 400 for bytes that are not UTF-8: repaired, different texts would become the same one. */
export const requireUtf8: MiddlewareHandler<AppEnv> = async (c, next) => {
  try {
    new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(await c.req.arrayBuffer());
  } catch {
    return refusalResponse(c, badRequest([{ path: 'body', message: 'must be valid JSON in UTF-8' }]));
  }
  return next();
};

/** 400 for an idempotency key that cannot be one. */
export const checkIdempotencyHeader: MiddlewareHandler<AppEnv> = async (c, next) => {
  const header = c.req.header(IDEMPOTENCY_HEADER);
  if (header === undefined) return next();
  const parsed = idempotencyKey.safeParse(header);
  if (parsed.success) return next();
  const details = [{ path: IDEMPOTENCY_HEADER, message: parsed.error.issues[0]?.message ?? 'is invalid' }];
  return refusalResponse(c, badRequest(details));
};

/** 400 that lists each broken rule. */
export function validate(target: 'param' | 'query' | 'json', schema: z.ZodType): MiddlewareHandler<AppEnv> {
  const validator = zValidator(target, schema, (result, c) => {
    if (result.success) return;
    return refusalResponse(c as unknown as AppContext, badRequest(describeIssues(result.error)));
  }) as unknown as MiddlewareHandler<AppEnv>;
  if (target !== 'json') return validator;
  return async (c, next) => {
    if ((await c.req.arrayBuffer()).byteLength > 0) return validator(c, next);
    // No body is an empty object, also where its type is named.
    const parsed = schema.safeParse({});
    if (!parsed.success) return refusalResponse(c, badRequest(describeIssues(parsed.error)));
    c.req.addValidatedData('json', parsed.data as object);
    return next();
  };
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
