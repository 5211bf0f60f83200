/**
 * Who asks: API keys with their scopes, and the operator's token.
 */
import type { MiddlewareHandler } from 'hono';
import { type Refusal, refuse } from '../contract/errors.ts';
import type { Security } from '../contract/operations.ts';
import { API_KEY_PATTERN } from '../contract/scopes.ts';
import { sha256Hex } from '../platform/hash.ts';
import { findCredential } from '../storage/credentials.ts';
import { ServiceUnavailable } from '../storage/objects.ts';
import { type AppContext, type AppEnv, deferrer } from './context.ts';
import { onNotFound, refusalResponse } from './errors.ts';

const OPERATOR_TOKEN_LENGTH_MIN = 32;

/** 401 unless the request carries a live API key. `Authorization` wins over `x-api-key`. */
export const requireApiKey: MiddlewareHandler<AppEnv> = async (c, next) => {
  const key = presentedKey(c);
  if (key === null || !API_KEY_PATTERN.test(key)) return refusalResponse(c, unauthorized());
  const credential = await findCredential(c.env, await sha256Hex(key), deferrer(c)).catch((cause) => {
    throw new ServiceUnavailable('API keys cannot be checked for the moment', { cause });
  });
  if (!credential) return refusalResponse(c, unauthorized());
  c.set('credential', credential);
  return next();
};

/** 403 unless the key has every scope, or the part of one that a legacy prefix grants. */
export function requireScopes(security: Security & { kind: 'apiKey' }): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { permissions } = c.get('credential');
    const granted = security.legacyGrant !== undefined && permissions.has(security.legacyGrant);
    const missing = granted ? undefined : security.scopes.find((scope) => !permissions.has(scope));
    if (missing === undefined) return next();
    const members = { reason: 'API_KEY_SCOPE_REQUIRED', requiredScope: missing };
    return refusalResponse(c, refuse('API_KEY_SCOPE_REQUIRED', `the API key lacks the scope ${missing}`, { members }).refusal);
  };
}

/** 404 where no operator token is configured, 401 unless the request carries it. */
export const requireOperator: MiddlewareHandler<AppEnv> = async (c, next) => {
  const token = c.env.OPERATOR_TOKEN;
  if (token === undefined || token.length < OPERATOR_TOKEN_LENGTH_MIN) return onNotFound(c);
  const presented = bearer(c.req.header('Authorization'));
  if (presented === null || !(await sameText(presented, token))) return refusalResponse(c, unauthorized());
  return next();
};

function presentedKey(c: AppContext): string | null {
  const authorization = c.req.header('Authorization');
  return authorization === undefined ? (c.req.header('x-api-key') ?? null) : bearer(authorization);
}

function bearer(authorization: string | undefined): string | null {
  return /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? null;
}

/** Compared by hash, in constant time, so that neither content nor length shows in the time taken. */
async function sameText(a: string, b: string): Promise<boolean> {
  const encoder = new TextEncoder();
  const [left, right] = await Promise.all([a, b].map((text) => crypto.subtle.digest('SHA-256', encoder.encode(text))));
  return crypto.subtle.timingSafeEqual(left as ArrayBuffer, right as ArrayBuffer);
}

function unauthorized(): Refusal {
  return refuse('UNAUTHORIZED', 'the credential is missing, malformed, unknown or revoked').refusal;
}
