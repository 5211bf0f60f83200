/**
 * Everything that is checked before a use case runs, in the order in which refusals are due (503 under overload,
 * 401, 406, 403, 415, 413, 400). The metering interface and the gateway share these checks; an `ApiStyle` holds their differences.
 */
import type { z } from 'zod';
import { admitBegin } from '../../admission/begin-queue.ts';
import { MEDIA_TYPE } from '../../contract/envelope.ts';
import type { Refusal, Result } from '../../contract/errors.ts';
import type { Operation } from '../../contract/operations.ts';
import type { Credential } from '../../metering/credentials.ts';
import { requireChange } from '../../metering/key-changes.ts';
import { DRAIN_BYTES_MAX, drain, LINGER_BYTES_MAX } from '../../platform/bytes.ts';
import { JsonText } from '../../platform/json-text.ts';
import type { RequestBody } from '../../platform/request-body.ts';
import { withoutAbsent } from './absent-members.ts';
import { acceptedType, prefersCsv } from './accept.ts';
import type { AppContext } from './context.ts';
import { requireCredential, requireScopes } from './credentials.ts';
import {
  bodyBytesMax,
  checkIdempotencyHeader,
  readAny,
  readForm,
  readJson,
  readUpload,
  requireAccept,
  validate,
} from './input.ts';
import { namedQuery } from './query.ts';

export const BODY_BYTES_MAX = 64 * 1024;

/** The part of an operation that a route needs. */
export type RouteSpec = Pick<
  Operation,
  | 'method'
  | 'path'
  | 'security'
  | 'params'
  | 'query'
  | 'body'
  | 'bodyBytesMax'
  | 'csv'
  | 'isChange'
  | 'isFree'
  | 'beginsCall'
> & {
  /** The body is a form: with a schema its fields are read; without one it stays unchanged. */
  form?: true;
  /** The schema describes a JSON object; any other body is taken as bytes. */
  anyBody?: true;
};

/** The differences between the metering interface and the gateway. */
export interface ApiStyle {
  /** Requests with an API key must accept the vendor media type, and their answers have it. */
  requiresAccept: boolean;
  /**
   * A null member of a body counts as absent, and a query parameter that the route does not have is refused. The
   * gateway passes both on to vendors.
   */
  isContract?: true;
  bodyBytesMax: number;
  /** Whether a session may send this body. */
  checkSessionBody(credential: SessionCredential, body: unknown, path: string): Result;
  refuse(c: AppContext, refusal: Refusal): Response;
}

export type SessionCredential = Credential & { session: NonNullable<Credential['session']> };

type Checked = Result<{ input: { params: unknown; query: unknown; body: unknown; text: RequestBody | undefined } }>;

/** The input of a request that breaks no rule; otherwise the refusal, after its sender can receive it. */
export async function checkRequest(c: AppContext, style: ApiStyle, operation: RouteSpec): Promise<Checked> {
  const typed = style.requiresAccept && operation.security.kind === 'apiKey';
  const header = c.req.header('Accept');
  const accepted = typed ? acceptedType(header) : null;
  const isCsv = operation.csv === true && prefersCsv(header);
  // A refusal is JSON, whatever type was asked for.
  if (typed) c.set('mediaType', accepted ?? MEDIA_TYPE);
  const full = operation.beginsCall ? await admitBegin() : null;
  const authenticated = full ?? (await requireCredential(c, operation.security));
  const acceptable = typed && authenticated.ok && !isCsv ? requireAccept(accepted) : authenticated;
  const checked = acceptable.ok ? await checkInput(c, style, operation) : acceptable;
  if (!checked.ok) await drain(c.req.raw, authenticated.ok ? DRAIN_BYTES_MAX : LINGER_BYTES_MAX);
  const allowed =
    checked.ok && operation.isChange ? await requireChange(c.env, c.get('credential').keyId, Date.now()) : checked;
  return allowed.ok ? checked : allowed;
}

async function checkInput(c: AppContext, style: ApiStyle, operation: RouteSpec): Promise<Checked> {
  const { security, params, query, method } = operation;
  const permitted = requireScopes(c, security);
  if (!permitted.ok) return permitted;
  const body = await readBody(c, style, operation);
  if (!body.ok) return body;
  const keyed = method === 'POST' ? checkIdempotencyHeader(c) : permitted;
  if (!keyed.ok) return keyed;
  const ofPath = params ? validate(params, c.req.param()) : NOTHING;
  if (!ofPath.ok) return ofPath;
  const ofQuery = query ? readQuery(c, style, query) : NOTHING;
  if (!ofQuery.ok) return ofQuery;
  return { ok: true, input: { params: ofPath.value, query: ofQuery.value, body: body.value, text: body.text } };
}

const NOTHING = { ok: true, value: undefined } as const;

async function readBody(
  c: AppContext,
  style: ApiStyle,
  { path, body: schema, form, anyBody, bodyBytesMax: ownMax = style.bodyBytesMax }: RouteSpec,
): Promise<Result<{ value: unknown; text?: RequestBody }>> {
  if (!schema && !form) return NOTHING;
  // The operator has no credential of an organization.
  const credential = c.get('credential') as Credential | undefined;
  const bytesMax = bodyBytesMax(credential?.session, ownMax);
  if (!schema) return readUpload(c, bytesMax);
  if (form) {
    const read = await readForm(c, bytesMax);
    const valid = read.ok ? validate(schema, read.value) : read;
    return valid.ok && read.ok && read.body ? { ...valid, text: read.body } : valid;
  }
  if (anyBody) {
    const any = await readAny(c, bytesMax);
    const valid = any.ok ? validate(schema, any.value) : any;
    return any.ok && valid.ok ? { ...valid, text: any.body } : valid;
  }
  const json = await readJson(c, bytesMax);
  if (!json.ok) return json;
  const value = style.isContract ? withoutAbsent(schema, json.value) : json.value;
  const open = credential?.session ? style.checkSessionBody(credential as SessionCredential, value, path) : NOTHING;
  const valid = open.ok ? validate(schema, value) : open;
  return valid.ok ? { ...valid, text: new JsonText(json.text, json.value) } : valid;
}

function readQuery(c: AppContext, style: ApiStyle, schema: z.ZodObject): Result<{ value: unknown }> {
  const named = style.isContract ? namedQuery(schema, collectQuery(c)) : { ok: true as const, value: collectQuery(c) };
  return named.ok ? validate(schema, named.value) : named;
}

/** A parameter that occurs once is a text; one that occurs more often is a list. */
function collectQuery(c: AppContext): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => [
      name,
      values.length === 1 ? (values[0] as string) : values,
    ]),
  );
}
