/**
 * The operator's session: of whom Cloudflare Access let in, or a signed cookie in exchange for the operator's token.
 *
 * The signing key is derived from SESSION_SECRET and the token, so that changing either ends every session. A session
 * ends after eight hours. Signing out is recorded in KV until then, so that a copied cookie becomes invalid too, within
 * KV's propagation delay.
 */
import { deleteCookie, getSignedCookie, setSignedCookie } from 'hono/cookie';
import { timingSafeEqual } from 'hono/utils/buffer';
import type { Env } from '../env.ts';
import { namedOperator } from '../operator/identity.ts';
import { ACCESS_HEADER } from '../platform/access-token.ts';
import { sha256Hex } from '../platform/hash.ts';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleSession } from './context.ts';

/** Whoever signs in with the operator token, in the event log. */
const CONSOLE_ACTOR = 'console';
const COOKIE = 'callmeter_console';
const SESSION_SECONDS = 8 * 3_600;
const OPERATOR_TOKEN_LENGTH_MIN = 32;
/** KV's minimum. */
const KV_TTL_SECONDS_MIN = 60;

const endedKey = (id: string) => `console:ended:${id}`;

/** Whether the console is enabled: like the operator API, it needs an operator token. */
export function isConsoleConfigured({ OPERATOR_TOKEN }: Env): boolean {
  return OPERATOR_TOKEN !== undefined && OPERATOR_TOKEN.length >= OPERATOR_TOKEN_LENGTH_MIN;
}

/** In constant time. */
export function isOperatorToken({ OPERATOR_TOKEN = '' }: Env, presented: string): Promise<boolean> {
  return timingSafeEqual(presented, OPERATOR_TOKEN);
}

export async function startSession(c: ConsoleContext, nowMs: number): Promise<void> {
  const value = `${nowMs + SESSION_SECONDS * 1_000}.${crypto.randomUUID()}`;
  await setSignedCookie(c, COOKIE, value, await signingKey(c.env), cookieOptions(c));
}

/**
 * `null` without a valid session. Access comes first, so that the event log has a name where there is one. `NO_ROLE`: it
 * let somebody in who has no role, and who has not signed in with the operator token.
 */
export async function readSession(
  c: ConsoleContext,
  nowMs: number,
): Promise<ConsoleSession | { refused: 'NO_ROLE'; name: string } | null> {
  if (!c.env.SESSION_SECRET) return null;
  const key = await signingKey(c.env);
  const named = await namedOperator(c.env, c.req.header(ACCESS_HEADER), nowMs);
  if (named?.role) return sessionByAccess(key, { ...named, role: named.role }, nowMs);
  // Who has no role yet may still hold the operator token, and give one.
  const byToken = await sessionByToken(c, key, nowMs);
  return byToken ?? (named && { refused: 'NO_ROLE', name: named.name });
}

async function sessionByAccess(key: string, { name, role }: ConsoleSession['operator'], nowMs: number) {
  // Access decides anew with every request how long it lasts.
  const expiresAtMs = nowMs + SESSION_SECONDS * 1_000;
  return {
    operator: { name, role },
    by: 'access',
    id: name,
    expiresAtMs,
    csrf: await csrfToken(key, `access ${name}`),
  } as const;
}

async function sessionByToken(c: ConsoleContext, key: string, nowMs: number): Promise<ConsoleSession | null> {
  const value = await getSignedCookie(c, key, COOKIE);
  const [expires, id] = typeof value === 'string' ? value.split('.') : [];
  if (!id || Number(expires) <= nowMs) return null;
  // During an outage of KV the signed cookie alone is accepted.
  const ended = await c.env.KV.get(endedKey(id)).catch(() => null);
  if (ended !== null) return null;
  const operator = { name: CONSOLE_ACTOR, role: 'admin' } as const;
  return { operator, by: 'token', id, expiresAtMs: Number(expires), csrf: await csrfToken(key, id) };
}

export async function endSession(c: ConsoleContext, { id, expiresAtMs }: ConsoleSession, nowMs: number): Promise<void> {
  deleteCookie(c, COOKIE, cookieOptions(c));
  const secondsLeft = Math.ceil((expiresAtMs - nowMs) / 1_000);
  await c.env.KV.put(endedKey(id), '1', { expirationTtl: Math.max(KV_TTL_SECONDS_MIN, secondsLeft) });
}

function cookieOptions(c: ConsoleContext) {
  const secure = new URL(c.req.url).protocol === 'https:';
  return { path: CONSOLE_PATH, httpOnly: true, sameSite: 'Strict', secure, maxAge: SESSION_SECONDS } as const;
}

function signingKey({ SESSION_SECRET, OPERATOR_TOKEN }: Env): Promise<string> {
  return sha256Hex(JSON.stringify(['console session', SESSION_SECRET, OPERATOR_TOKEN]));
}

function csrfToken(key: string, id: string): Promise<string> {
  return sha256Hex(JSON.stringify(['console form', key, id]));
}
