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
  /** The widget's look, and the origins that may embed it. */
  embed?: { origins: string[]; theme: string; variant: string };
}

/** The holder of a token: the customer's user, with any number of tokens, or else the holder of this one. */
export interface TokenHolder {
  customerUserId: string | null;
  /** The token's own id; present if no user is named. */
  tokenId?: string | undefined;
}

export function tokenHolder({ customerUserId, jti }: VerifiedSession): TokenHolder {
  return { customerUserId, ...(customerUserId === null && { tokenId: jti }) };
}

/** The name under which the requests of a session are counted. */
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

/** The facts of a verified token besides the claims: its own id, and its end, in seconds. */
export type VerifiedSession = SessionClaims & { jti: string; exp: number };

/** The session; `null` if the token is invalid or has expired. */
export async function verifySession(secret: string, token: string): Promise<VerifiedSession | null> {
  try {
    return (await verify(token, secret, { alg: ALGORITHM, iss: ISSUER })) as unknown as VerifiedSession;
  } catch {
    return null;
  }
}
