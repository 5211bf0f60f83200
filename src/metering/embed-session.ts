/**
 * The session behind a usage widget: a session token of Callmeter that has not expired, made by a key that is not
 * revoked and still has the scope for such tokens.
 */

import { type Credential, findCredentialById } from '../config/credentials.ts';
import { type TokenHolder, tokenHolder, verifySession } from '../config/session-token.ts';
import type { CustomerId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import type { Caller } from './caller.ts';

export interface EmbedSession {
  organization: Credential['organization'];
  customerId: CustomerId;
  holder: TokenHolder;
  origins: readonly string[];
  theme: 'auto' | 'light' | 'dark';
  variant: 'compact' | 'detailed';
  /** Milliseconds until the token expires. */
  livesMs: number;
}

/** `null` for every invalid token, whatever the reason. */
export async function embedSession(
  env: Env,
  token: string,
  nowMs: number,
  defer: Caller['defer'],
): Promise<EmbedSession | null> {
  const { SESSION_SECRET } = env;
  const claims = SESSION_SECRET && token !== '' ? await verifySession(SESSION_SECRET, token) : null;
  if (claims?.kind !== 'embed' || !claims.embed) return null;
  const key = await findCredentialById(env, claims.keyId, defer);
  if (key?.organization.organizationId !== claims.organizationId || !key.permissions.has('embeds:read')) return null;
  const { origins, theme, variant } = claims.embed;
  return {
    organization: key.organization,
    customerId: claims.customerId,
    holder: tokenHolder(claims),
    origins,
    theme: theme as EmbedSession['theme'],
    variant: variant as EmbedSession['variant'],
    livesMs: claims.exp * 1000 - nowMs,
  };
}
