/**
 * Finds who makes a request: API keys with their scopes, browsers' session tokens, and operators.
 */

import { type Result, refuse } from '../../contract/errors.ts';
import type { Security } from '../../contract/operations.ts';
import { type Credential, verifyCredential } from '../../metering/credentials.ts';
import { namedOperator, requireRole, TOKEN_OPERATOR } from '../../operator/identity.ts';
import { ACCESS_HEADER } from '../../platform/access-token.ts';
import { refuseAuthentication } from './address-limits.ts';
import { type AppContext, deferrer } from './context.ts';
import { requireSameOrigin } from './cross-site.ts';
import { NO_ROUTE } from './error-envelopes.ts';

const OPERATOR_TOKEN_LENGTH_MIN = 32;

/**
 * 401 without a live credential of the kind that the operation takes, 429 if the address fails too often. The
 * credential of an API key or a session token is set on the context.
 */
export async function requireCredential(c: AppContext, security: Security): Promise<Result> {
  if (security.kind === 'operator') return authenticateOperator(c);
  const authenticated = await authenticate(c);
  if (authenticated.ok) c.set('credential', authenticated.credential);
  return authenticated;
}

/**
 * 403 unless the credential has every scope, or the part of one that a legacy prefix grants; for an operator, the role.
 */
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
  const credential = presented === null ? null : await verifyCredential(c.env, presented, deferrer(c));
  return credential ? { ok: true, credential } : { ok: false, refusal: await refuseAuthentication(c) };
}

/** The scope that the credential lacks; `null` if it lacks none. */
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
 * 404 if no operator token is configured. The operator token has the role of an admin. Without an `Authorization`
 * header, a person whom Cloudflare Access let in has the role that an admin gave, if no other site made the request.
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
