/**
 * Session tokens: JWTs (HS256) that say for which key, organization and customer a browser speaks, and until when.
 */
import { sign, verify } from 'hono/jwt';

export interface SessionClaims {
  /** `client` for the gateway and compression, `embed` for the widget. */
  kind: 'client' | 'embed';
  keyId: string;
  organizationId: string;
  customerId: string;
  customerUserId: string | null;
  scopes: string[];
  /** What every call of the session is filed under, and the models that it may ask. */
  feature?: string | undefined;
  tags?: string[] | undefined;
  models?: string[] | undefined;
  /** What the widget shows, and where it may be framed. */
  embed?: { origins: string[]; theme: string; variant: string };
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

/** `null` for anything but a token of ours that has not ended. */
export async function verifySession(secret: string, token: string): Promise<SessionClaims | null> {
  try {
    return (await verify(token, secret, { alg: ALGORITHM, iss: ISSUER })) as unknown as SessionClaims;
  } catch {
    return null;
  }
}
