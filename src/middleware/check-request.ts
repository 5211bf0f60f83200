/**
 * Everything that is checked before a use case runs, in the order in which refusals are due (401, 406, 403, 415, 413,
 * 400). The metering interface and the gateway share these checks; an `ApiStyle` says in what they differ.
 */
import type { Refusal, Result } from '../contract/errors.ts';
import type { Operation } from '../contract/operations.ts';
import { JsonText } from '../platform/json-text.ts';
import type { Credential } from '../storage/credentials.ts';
import type { AppContext } from './context.ts';
import { requireCredential, requireScopes } from './credentials.ts';
import { bodyBytesMax, checkIdempotencyHeader, readForm, readJson, requireAccept, validate } from './input.ts';

export const BODY_BYTES_MAX = 64 * 1024;

/** What a route needs to know of an operation. */
export type RouteSpec = Pick<
  Operation,
  'method' | 'path' | 'security' | 'params' | 'query' | 'body' | 'bodyBytesMax'
> & {
  /** The body is an uploaded form, which is taken as bytes. */
  form?: true;
};

/** What differs between the metering interface and the gateway. */
export interface ApiStyle {
  /** Requests with an API key must accept the vendor media type. */
  requiresAccept: boolean;
  bodyBytesMax: number;
  /** Whether a session may send this body. */
  checkSessionBody(credential: SessionCredential, body: unknown, path: string): Result;
  refuse(c: AppContext, refusal: Refusal): Response;
}

export type SessionCredential = Credential & { session: NonNullable<Credential['session']> };

/** The input of a request that breaks no rule. */
export async function checkRequest(
  c: AppContext,
  style: ApiStyle,
  operation: RouteSpec,
): Promise<Result<{ input: { params: unknown; query: unknown; body: unknown; text: JsonText | undefined } }>> {
  const { security, params, query, method } = operation;
  const authenticated = await requireCredential(c, security);
  if (!authenticated.ok) return authenticated;
  const acceptable = style.requiresAccept && security.kind === 'apiKey' ? requireAccept(c) : authenticated;
  if (!acceptable.ok) return acceptable;
  const permitted = requireScopes(c, security);
  if (!permitted.ok) return permitted;
  const body = await readBody(c, style, operation);
  if (!body.ok) return body;
  const keyed = method === 'POST' ? checkIdempotencyHeader(c) : permitted;
  if (!keyed.ok) return keyed;
  const ofPath = params ? validate(params, c.req.param()) : NOTHING;
  if (!ofPath.ok) return ofPath;
  const ofQuery = query ? validate(query, queryOf(c)) : NOTHING;
  if (!ofQuery.ok) return ofQuery;
  return { ok: true, input: { params: ofPath.value, query: ofQuery.value, body: body.value, text: body.text } };
}

const NOTHING = { ok: true, value: undefined } as const;

async function readBody(
  c: AppContext,
  style: ApiStyle,
  { path, body: schema, form, bodyBytesMax: ownMax = style.bodyBytesMax }: RouteSpec,
): Promise<Result<{ value: unknown; text?: JsonText }>> {
  if (!schema && !form) return NOTHING;
  // The operator has no credential of an organization.
  const credential = c.get('credential') as Credential | undefined;
  const bytesMax = bodyBytesMax(credential?.session, ownMax);
  if (!schema) return readForm(c, bytesMax);
  const json = await readJson(c, bytesMax);
  if (!json.ok) return json;
  const open = credential?.session
    ? style.checkSessionBody(credential as SessionCredential, json.value, path)
    : NOTHING;
  const valid = open.ok ? validate(schema, json.value) : open;
  return valid.ok ? { ...valid, text: new JsonText(json.text, json.value) } : valid;
}

/** A parameter that comes once is a text, one that comes more often a list. */
function queryOf(c: AppContext): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => [
      name,
      values.length === 1 ? (values[0] as string) : values,
    ]),
  );
}
