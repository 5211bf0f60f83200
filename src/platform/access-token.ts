/**
 * Application tokens of Cloudflare Access: the identity that the team's Access let in, verified with the team's public
 * keys.
 * (https://developers.cloudflare.com/cloudflare-one/access-controls/applications/http-apps/authorization-cookie/validating-json/,
 * read on 2026-11-25.)
 *
 * Access changes its keys every six weeks, and the previous key stays valid for another week. An isolate keeps the keys
 * for an hour; a token with an unknown key makes it read them again, at most once a minute, so that invented key ids
 * cause no load. While the team's keys cannot be read, the known ones stay valid for a day.
 */
import { verifyWithJwks } from 'hono/jwt';
import { fromBase64Url } from './base64.ts';
import { BoundedMap } from './bounded-map.ts';
import { remember } from './isolate-memory.ts';
import { parseJson } from './json.ts';
import { log } from './log.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from './time.ts';
import { ServiceUnavailable } from './unavailable.ts';

export const ACCESS_HEADER = 'Cf-Access-Jwt-Assertion';

const KEYS_FRESH_MS = HOUR_MS;
const KEYS_KEPT_MS = DAY_MS;
const READ_AGAIN_MS = MINUTE_MS;
/** After a failure the keys are not asked for again for this long. */
const RETRY_MS = 10_000;
const TIMEOUT_MS = 3_000;
const BODY_LENGTH_MAX = 64 * 1_024;
const KEYS_MAX = 20;
const TOKEN_LENGTH_MAX = 8 * 1_024;
const NAME_LENGTH_MAX = 254;
/** The most teams that an isolate knows; a deployment has one. */
const TEAMS_MAX = 4;

/** The application, and its team, for which a token must be made. */
export interface AccessApplication {
  /** The origin of the team's domain, which is the issuer. */
  issuer: string;
  audience: string;
}

interface TeamKeys {
  keys: (JsonWebKey & { kid: string })[];
  readAtMs: number;
  triedAtMs: number;
  failedAtMs: number;
}

const NEVER_MS = Number.NEGATIVE_INFINITY;
const UNREAD: TeamKeys = { keys: [], readAtMs: NEVER_MS, triedAtMs: NEVER_MS, failedAtMs: NEVER_MS };

const known = remember(() => new BoundedMap<string, TeamKeys>(TEAMS_MAX));

/** The configured application; `null` if there is none. Throws if the team's domain is not a valid address. */
export function accessApplication(
  teamDomain: string | undefined,
  audience: string | undefined,
): AccessApplication | null {
  if (!teamDomain || !audience) return null;
  const url = URL.parse(teamDomain.includes('://') ? teamDomain : `https://${teamDomain}`);
  const isLocal = url?.hostname === '127.0.0.1' || url?.hostname === 'localhost';
  if (!url || (url.protocol !== 'https:' && !isLocal))
    throw new Error('ACCESS_TEAM_DOMAIN must be an https address, such as https://TEAM.cloudflareaccess.com');
  return { issuer: url.origin, audience };
}

/**
 * The holder of the token: the e-mail address of a person, or the client id of a service token, in lower case. `null`
 * if the token is not a valid one of this application. Throws `ServiceUnavailable` if no key is known.
 */
export async function verifyAccessToken(
  { issuer, audience }: AccessApplication,
  token: string,
  nowMs: number,
): Promise<string | null> {
  const kid = readKeyId(token);
  if (kid === null) return null;
  const keys = await keysFor(issuer, kid, nowMs);
  if (!keys.some((key) => key.kid === kid)) return null;
  const claims = await verifyWithJwks(token, {
    keys,
    allowedAlgorithms: ['RS256'],
    verification: { iss: issuer, aud: audience, exp: true, nbf: true, iat: true },
  }).catch(() => null);
  // A token without an end would never expire.
  if (!claims || typeof claims.exp !== 'number') return null;
  const { email, common_name: clientId } = claims;
  const name = typeof email === 'string' && email !== '' ? email : clientId;
  if (typeof name !== 'string' || name === '' || name.length > NAME_LENGTH_MAX) return null;
  return name.toLowerCase();
}

/** The id of the key in the token's header; `null` if the token does not have the form that Access signs. */
function readKeyId(token: string): string | null {
  const [header, , , more] = token.split('.');
  if (token.length > TOKEN_LENGTH_MAX || !header || more !== undefined || !/^[\w-]+$/.test(header)) return null;
  const bytes = fromBase64Url(header);
  const parsed = bytes && parseJson(new TextDecoder().decode(bytes));
  const { alg, kid } = (parsed?.ok ? (parsed.value ?? {}) : {}) as { alg?: unknown; kid?: unknown };
  return alg === 'RS256' && typeof kid === 'string' ? kid : null;
}

async function keysFor(issuer: string, kid: string, nowMs: number): Promise<TeamKeys['keys']> {
  const team = known.value.get(issuer) ?? UNREAD;
  const isFresh = nowMs - team.readAtMs < KEYS_FRESH_MS;
  if (isFresh && team.keys.some((key) => key.kid === kid)) return team.keys;
  // Requests before the first answer read for themselves: none waits for another's.
  const mayRead =
    team.keys.length === 0 ? nowMs - team.failedAtMs >= RETRY_MS : nowMs - team.triedAtMs >= READ_AGAIN_MS;
  if (mayRead) {
    known.value.set(issuer, { ...team, triedAtMs: nowMs });
    try {
      const keys = await readKeys(issuer);
      known.value.set(issuer, { ...UNREAD, keys, readAtMs: nowMs, triedAtMs: nowMs });
      return keys;
    } catch (error) {
      known.value.set(issuer, { ...team, triedAtMs: nowMs, failedAtMs: nowMs });
      log('error', 'access_keys_not_read', { issuer }, error);
    }
  }
  if (nowMs - team.readAtMs < KEYS_KEPT_MS) return team.keys;
  throw new ServiceUnavailable('the keys of Cloudflare Access cannot be read, so no operator can be recognized');
}

async function readKeys(issuer: string): Promise<TeamKeys['keys']> {
  const response = await fetch(`${issuer}/cdn-cgi/access/certs`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw new Error(`the keys were answered with status ${response.status}`);
  const text = await response.text();
  const parsed = text.length > BODY_LENGTH_MAX ? null : parseJson(text);
  const listed = parsed?.ok ? (parsed.value as { keys?: unknown } | null)?.keys : undefined;
  if (!Array.isArray(listed)) throw new Error('the answer has no list of keys');
  const keys = listed.slice(0, KEYS_MAX).filter(isKey);
  if (keys.length === 0) throw new Error('the answer has no key');
  return keys;
}

function isKey(value: unknown): value is TeamKeys['keys'][number] {
  const { kid, kty } = (value ?? {}) as { kid?: unknown; kty?: unknown };
  return typeof kid === 'string' && kty === 'RSA';
}
