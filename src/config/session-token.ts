/**
 * Session tokens: JWTs (HS256) that bind a browser to an API key, an organization and a customer until they expire.
 */
import { sign, verify } from 'hono/jwt';
import type { CustomerKey, KeyId } from '../domain/ids.ts';

export interface SessionClaims extends CustomerKey {
  /** `client` for the gateway and compression, `embed` for the widget. */
  kind: 'client' | 'embed';
  keyId: KeyId;
  customerUserId: string | null;
  scopes: string[];
  /** The feature and tags of every call of the session, and the models that it may use. */
  feature?: string | undefined;
  tags?: string[] | undefined;
  models?: string[] | undefined;
  /** What the widget shows, and which origins may embed it. */
  embed?: { origins: string[]; theme: string; variant: string };
}

/** Of whom a token is: the customer's user, however many tokens it has, or else whoever has this one. */
export interface TokenHolder {
  customerUserId: string | null;
  /** The token's own id; present where nothing names the user. */
  tokenId?: string | undefined;
}

export function holderOf({ customerUserId, jti }: VerifiedSession): TokenHolder {
  return { customerUserId, ...(customerUserId === null && { tokenId: jti }) };
}

/** What the requests of a session are counted under. */
export function holderName({ customerUserId, tokenId }: TokenHolder): string {
  return customerUserId === null ? `token ${tokenId}` : `user ${customerUserId}`;
}

const ALGORITHM = 'HS256';
const ISSUER = 'callmeter';

export function signSession(secret: string, claims: SessionClaims, nowMs: number, seconds: number): Promise<string> {
  const issuedAt = Math.floor(nowMs / 1000);
  return sign(
    { ...claims, iss: ISSUER, iat: issuedAt, exp: issuedAt + seconds, jti: crypto.randomUUID() },
    secret,
    ALGORITHM,
  );
}

/** What a verified token says beside the claims: its own id, and when it ends, in seconds. */
export type VerifiedSession = SessionClaims & { jti: string; exp: number };

/** The session; `null` where the token is invalid or has expired. */
export async function verifySession(secret: string, token: string): Promise<VerifiedSession | null> {
  try {
    return (await verify(token, secret, { alg: ALGORITHM, iss: ISSUER })) as unknown as VerifiedSession;
  } catch {
    return null;
  }
}
