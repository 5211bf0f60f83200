/**
 * Who asks: API keys with their scopes, browsers' session tokens, and operators.
 */

import { type Result, refuse } from '../contract/errors.ts';
import type { Security } from '../contract/operations.ts';
import { API_KEY_PATTERN, type Scope } from '../contract/scopes.ts';
import { CLIENT_SCOPES, type ClientScope } from '../contract/sessions.ts';
import { asCustomerId, asKeyId } from '../domain/ids.ts';
import { ACCESS_HEADER } from '../platform/access-token.ts';
import { hasChecksum } from '../platform/api-key.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import { sha256Hex } from '../platform/hash.ts';
import { remember } from '../platform/isolate-memory.ts';
import { holderOf, verifySession } from '../platform/session-token.ts';
import { unreadable } from '../platform/unavailable.ts';
import { type Credential, findCredential, findCredentialById } from '../storage/credentials.ts';
import { mayBeOldKey } from '../storage/old-keys.ts';
import { refuseAuthentication } from './address-limits.ts';
import { type AppContext, deferrer } from './context.ts';
import { requireSameOrigin } from './cross-site.ts';
import { NO_ROUTE } from './error-envelopes.ts';
import { namedOperator, requireRole, TOKEN_OPERATOR } from './operators.ts';

const OPERATOR_TOKEN_LENGTH_MIN = 32;

/**
 * 401 without a live credential of the kind that the operation takes, 429 where the address fails too often. The
 * credential of an API key or a session token is set on the context.
 */
export async function requireCredential(c: AppContext, security: Security): Promise<Result> {
  if (security.kind === 'operator') return authenticateOperator(c);
  const authenticated = await authenticate(c);
  if (authenticated.ok) c.set('credential', authenticated.credential);
  return authenticated;
}

/** 403 unless the credential has every scope, or the part of one that a legacy prefix grants; of an operator, the role. */
export function requireScopes(c: AppContext, security: Security): Result {
  if (security.kind === 'operator') return requireRole(c.get('operator'), security.role);
  const requiredScope = missingScope(security, c.get('credential'));
  if (requiredScope === null) return { ok: true };
  const members = { reason: 'API_KEY_SCOPE_REQUIRED', requiredScope };
  return refuse('API_KEY_SCOPE_REQUIRED', `the credential lacks the scope ${requiredScope}`, { members });
}

type ApiKeySecurity = Security & { kind: 'apiKey' };

/** `Authorization` wins over `x-api-key` and Google's `x-goog-api-key`. */
async function authenticate(c: AppContext): Promise<Result<{ credential: Credential }>> {
  const presented = presentedKey(c);
  const credential = presented === null ? null : await credentialOf(c, presented);
  return credential ? { ok: true, credential } : { ok: false, refusal: await refuseAuthentication(c) };
}

async function credentialOf(c: AppContext, presented: string): Promise<Credential | null> {
  try {
    return await (API_KEY_PATTERN.test(presented) ? keyCredential(c, presented) : sessionCredential(c, presented));
  } catch (error) {
    throw unreadable(error);
  }
}

/** Hashes of valid keys, so that a busy key is not hashed for each request. Invalid keys are not cached. */
const HASHES_MAX = 10_000;
const hashes = remember(() => new BoundedMap<string, string>(HASHES_MAX));

async function keyCredential(c: AppContext, key: string): Promise<Credential | null> {
  const known = hashes.value.get(key);
  const hash = known ?? (await sha256Hex(key));
  if (known === undefined && !hasChecksum(key) && !(await mayBeOldKey(c.env, hash, Date.now()))) return null;
  const credential = await findCredential(c.env, hash, deferrer(c));
  if (credential && known === undefined) {
    hashes.value.set(key, hash);
  }
  return credential;
}

/** A browser's session token: it may do what its key may do now, and nothing once the key is revoked. */
async function sessionCredential(c: AppContext, token: string): Promise<Credential | null> {
  const { SESSION_SECRET } = c.env;
  const isToken = token.split('.').length === 3;
  const claims = isToken && SESSION_SECRET ? await verifySession(SESSION_SECRET, token) : null;
  if (claims?.kind !== 'client') return null;
  const key = await findCredentialById(c.env, asKeyId(claims.keyId), deferrer(c));
  if (!key || key.organization.organizationId !== claims.organizationId) return null;
  const { customerId, feature, tags, models } = claims;
  const scopes = (Object.entries(CLIENT_SCOPES) as [Scope, ClientScope][])
    .filter(([scope, clientScope]) => key.permissions.has(scope) && claims.scopes.includes(clientScope))
    .map(([, clientScope]) => clientScope);
  return {
    ...key,
    ...(key.limits && { limits: { ...key.limits, ofSession: true } }),
    permissions: new Set(),
    session: { ...holderOf(claims), customerId: asCustomerId(customerId), scopes, feature, tags, models },
  };
}

/** The scope that the credential lacks; `null` where it lacks none. */
function missingScope(security: ApiKeySecurity, { permissions, session }: Credential): string | null {
  const { scopes, anyScope, legacyGrant, clientScope } = security;
  if (session) {
    const allowed = clientScope !== undefined && session.scopes.includes(clientScope);
    return allowed ? null : (clientScope ?? scopes[0] ?? '');
  }
  if (legacyGrant !== undefined && permissions.has(legacyGrant)) return null;
  if (anyScope && scopes.some((scope) => permissions.has(scope))) return null;
  return scopes.find((scope) => !permissions.has(scope)) ?? null;
}

/**
 * 404 where no operator token is configured. The operator token is an admin's; without an `Authorization` header, whom
 * Cloudflare Access let in has the role that an admin gave, if no other site made the request.
 */
async function authenticateOperator(c: AppContext): Promise<Result> {
  const token = c.env.OPERATOR_TOKEN;
  if (token === undefined || token.length < OPERATOR_TOKEN_LENGTH_MIN) return NO_ROUTE;
  const authorization = c.req.header('Authorization');
  if (authorization === undefined) {
    const named = await namedOperator(c.env, c.req.header(ACCESS_HEADER), Date.now());
    if (named) {
      c.set('operator', named);
      return requireSameOrigin(c);
    }
  }
  const presented = bearer(authorization);
  if (presented === null || !(await sameText(presented, token)))
    return { ok: false, refusal: await refuseAuthentication(c) };
  c.set('operator', TOKEN_OPERATOR);
  return { ok: true };
}

function presentedKey(c: AppContext): string | null {
  const authorization = c.req.header('Authorization');
  if (authorization !== undefined) return bearer(authorization);
  return c.req.header('x-api-key') ?? c.req.header('x-goog-api-key') ?? null;
}

function bearer(authorization: string | undefined): string | null {
  return /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? null;
}

/** Compares hashes in constant time, so that the time taken reveals neither content nor length. */
async function sameText(a: string, b: string): Promise<boolean> {
  const encoder = new TextEncoder();
  const [left, right] = await Promise.all([a, b].map((text) => crypto.subtle.digest('SHA-256', encoder.encode(text))));
  return crypto.subtle.timingSafeEqual(left as ArrayBuffer, right as ArrayBuffer);
}
