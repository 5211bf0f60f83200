/**
 * Finds whose credential a request has: an API key, or a browser's session token, which a key created.
 */

import { type Credential, findCredential, findCredentialById } from '../config/credentials.ts';
import { mayBeOldKey } from '../config/old-keys.ts';
import { tokenHolder, verifySession } from '../config/session-token.ts';
import { API_KEY_PATTERN, type Scope } from '../contract/scopes.ts';
import { CLIENT_SCOPES, type ClientScope } from '../contract/sessions.ts';
import type { Env } from '../env.ts';
import { hasChecksum } from '../platform/api-key.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import { sha256Hex } from '../platform/hash.ts';
import { remember } from '../platform/isolate-memory.ts';
import { unreadable } from '../platform/unavailable.ts';
import type { Caller } from './caller.ts';

export type { Credential, Session } from '../config/credentials.ts';

/** `null` if it is unknown, revoked or expired. */
export async function verifyCredential(
  env: Env,
  presented: string,
  defer: Caller['defer'],
): Promise<Credential | null> {
  try {
    return await (API_KEY_PATTERN.test(presented)
      ? keyCredential(env, presented, defer)
      : sessionCredential(env, presented, defer));
  } catch (error) {
    throw unreadable(error);
  }
}

/** Hashes of valid keys, so that a busy key is not hashed for each request. Invalid keys are not cached. */
const HASHES_MAX = 10_000;
const hashes = remember(() => new BoundedMap<string, string>(HASHES_MAX));

async function keyCredential(env: Env, key: string, defer: Caller['defer']): Promise<Credential | null> {
  const known = hashes.value.get(key);
  const hash = known ?? (await sha256Hex(key));
  if (known === undefined && !hasChecksum(key) && !(await mayBeOldKey(env, hash, Date.now()))) return null;
  const credential = await findCredential(env, hash, defer);
  if (credential && known === undefined) {
    hashes.value.set(key, hash);
  }
  return credential;
}

/** A browser's session token: it has the present permissions of its key, and none after the key is revoked. */
async function sessionCredential(env: Env, token: string, defer: Caller['defer']): Promise<Credential | null> {
  const { SESSION_SECRET } = env;
  const isToken = token.split('.').length === 3;
  const claims = isToken && SESSION_SECRET ? await verifySession(SESSION_SECRET, token) : null;
  if (claims?.kind !== 'client') return null;
  const key = await findCredentialById(env, claims.keyId, defer);
  if (!key || key.organization.organizationId !== claims.organizationId) return null;
  const { customerId, feature, tags, models } = claims;
  const scopes = (Object.entries(CLIENT_SCOPES) as [Scope, ClientScope][])
    .filter(([scope, clientScope]) => key.permissions.has(scope) && claims.scopes.includes(clientScope))
    .map(([, clientScope]) => clientScope);
  return {
    ...key,
    ...(key.limits && { limits: { ...key.limits, ofSession: true } }),
    permissions: new Set(),
    session: { ...tokenHolder(claims), customerId, scopes, feature, tags, models },
  };
}
