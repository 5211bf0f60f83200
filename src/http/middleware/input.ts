/**
 * Checks of the incoming request: media types, body size, and validation against the contract with errors that name
 * field and rule. Each check returns a result; check-request.ts runs them in the order in which refusals are due.
 */
import type { z } from 'zod';
import { IDEMPOTENCY_HEADER, MEDIA_TYPE } from '../../contract/envelope.ts';
import { badRequest, brokenRules, type Result, refuse } from '../../contract/errors.ts';
import { idempotencyKey } from '../../contract/fields.ts';
import { REPEATED_FIELDS } from '../../contract/gateway/requests.ts';
import { isRecord } from '../../contract/identity.ts';
import { SESSION_BODY_BYTES_MAX } from '../../contract/sessions.ts';
import type { Session } from '../../metering/credentials.ts';
import { ByteBody } from '../../platform/byte-body.ts';
import { readRequest } from '../../platform/bytes.ts';
import { type FormBody, readFormBody } from '../../platform/form-body.ts';
import { JSON_BOUND_RULES, respelledName } from '../../platform/json.ts';
import { readJsonBody } from '../../platform/json-body.ts';
import { JsonText } from '../../platform/json-text.ts';
import { parseBoundary, type UploadedForm } from '../../platform/multipart.ts';
import type { RequestBody } from '../../platform/request-body.ts';
import type { AppContext } from './context.ts';

/** 406 unless the vendor media type is among the accepted ones. */
export function requireAccept(accepted: string | null): Result {
  if (accepted !== null) return { ok: true };
  return refuse('NOT_ACCEPTABLE', `the Accept header must name ${MEDIA_TYPE}, or admit it as */* or application/*`);
}

/**
 * The JSON of the body: 415 if the body is not JSON; 413, while it is read, if it has too many bytes, values or levels;
 * 400 for bytes that are not JSON in UTF-8. No body is an empty object.
 */
export async function readJson(c: AppContext, bytesMax: number): Promise<Result<{ value: unknown; text: string }>> {
  const typed = checkType(c, isJsonType, 'the Content-Type of a body must be application/json');
  if (!typed.ok) return typed;
  const json = await readJsonBody(c.req.raw, bytesMax);
  if (json.ok) {
    const respelled = isRecord(json.value) ? respelledName(json.value) : undefined;
    return respelled === undefined ? json : badRequest({ path: respelled, message: 'must be in the body once' });
  }
  switch (json.broken) {
    case 'empty':
      return { ok: true, value: {}, text: '{}' };
    case 'bytes':
      return tooLarge(bytesMax);
    case 'values':
    case 'levels':
      return refuse('PAYLOAD_TOO_LARGE', `the body ${JSON_BOUND_RULES[json.broken]}`);
    case 'syntax':
      return badRequest({ path: 'body', message: 'must be valid JSON in UTF-8' });
  }
}

/**
 * A body of any type: the object of a JSON body, with the unchanged body. 415 if it is encoded; 413 and 400 as for
 * JSON.
 */
export async function readAny(c: AppContext, bytesMax: number): Promise<Result<{ value: object; body: RequestBody }>> {
  const contentType = c.req.header('Content-Type') ?? '';
  const typed = checkType(c, () => true, '');
  if (!typed.ok) return typed;
  if (!isJsonType(contentType) || !hasBody(c)) {
    const bytes = await readRequest(c.req.raw, bytesMax);
    return bytes ? { ok: true, value: {}, body: new ByteBody(bytes, contentType) } : tooLarge(bytesMax);
  }
  const json = await readJson(c, bytesMax);
  if (!json.ok) return json;
  const { text, value } = json;
  if (!isRecord(value)) return { ok: true, value: {}, body: new ByteBody(new TextEncoder().encode(text), contentType) };
  return { ok: true, value, body: new JsonText(text, value) };
}

/** An uploaded form with an unread body: 413 if it declares itself too large. */
export function readUpload(c: AppContext, bytesMax: number): Result<{ value: UploadedForm }> {
  const typed = checkType(c, isFormType, FORM_RULE);
  if (!typed.ok) return typed;
  const request = c.req.raw;
  const declared = c.req.header('Content-Length');
  if (!request.body || declared === '0') return badRequest({ path: 'file', message: 'must be in the body, a form' });
  const isTooLarge = declared !== undefined && Number(declared) > bytesMax;
  return isTooLarge ? tooLarge(bytesMax) : { ok: true, value: { request, bytesMax } };
}

/** The fields of a form, and the form: 415, 413 and 400 as for JSON. No body is a form without fields. */
export async function readForm(c: AppContext, bytesMax: number): Promise<Result<{ value: object; body?: FormBody }>> {
  const typed = checkType(c, isFormType, FORM_RULE);
  if (!typed.ok) return typed;
  const declared = c.req.header('Content-Length');
  if (!c.req.raw.body || declared === '0') return { ok: true, value: {} };
  if (declared !== undefined && Number(declared) > bytesMax) return tooLarge(bytesMax);
  const boundary = parseBoundary(c.req.header('Content-Type') ?? '') ?? '';
  const form = await readFormBody(c.req.raw, boundary, bytesMax, REPEATED_FIELDS);
  if (form.ok) return { ok: true, value: form.fields, body: form.body };
  return form.broken === 'bytes' ? tooLarge(bytesMax) : badRequest({ path: form.path, message: form.rule });
}

/** The most bytes of a body: with a session token fewer than with a key. */
export function bodyBytesMax(session: Session | undefined, bytesMax: number): number {
  return session ? Math.min(bytesMax, SESSION_BODY_BYTES_MAX) : bytesMax;
}

/** 400 for an invalid idempotency key. */
export function checkIdempotencyHeader(c: AppContext): Result {
  const header = c.req.header(IDEMPOTENCY_HEADER);
  const parsed = header === undefined ? null : idempotencyKey.safeParse(header);
  if (parsed?.error === undefined) return { ok: true };
  return badRequest({ path: IDEMPOTENCY_HEADER, message: parsed.error.issues[0]?.message ?? 'is invalid' });
}

/** The value in the schema's form; a 400 lists each broken rule. */
export function validate(schema: z.ZodType, value: unknown): Result<{ value: unknown }> {
  const parsed = schema.safeParse(value);
  return parsed.success ? { ok: true, value: parsed.data } : badRequest(...brokenRules(parsed.error));
}

/** 415 for a body that is encoded or of another type. */
function checkType(c: AppContext, isRight: (type: string) => boolean, rule: string): Result {
  if (!hasBody(c)) return { ok: true };
  if (isEncoded(c.req.header('Content-Encoding') ?? ''))
    return refuse('UNSUPPORTED_MEDIA_TYPE', 'a body must be sent without Content-Encoding', { headers: UNENCODED });
  return isRight(c.req.header('Content-Type') ?? '') ? { ok: true } : refuse('UNSUPPORTED_MEDIA_TYPE', rule);
}

/** The codings that a body may have, in the answer to any other (RFC 9110, 12.5.3). */
const UNENCODED = { 'Accept-Encoding': 'identity' };

function isEncoded(header: string): boolean {
  return header.split(',').some((coding) => !/^\s*(?:identity)?\s*$/i.test(coding));
}

const FORM_RULE =
  'the Content-Type must be multipart/form-data with a boundary of at most 70 characters, and no parameter besides but charset=utf-8';

function isFormType(type: string): boolean {
  return parseBoundary(type) !== null;
}

function hasBody(c: AppContext): boolean {
  return c.req.raw.body !== null && c.req.header('Content-Length') !== '0';
}

function isJsonType(header: string): boolean {
  const type = (header.split(';')[0] ?? '').trim().toLowerCase();
  return type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type);
}

function tooLarge(bytesMax: number) {
  return refuse('PAYLOAD_TOO_LARGE', `the body must have at most ${bytesMax} bytes`);
}
