/**
 * The operator's session: by Cloudflare Access, or by a signed cookie in exchange for the operator's token.
 *
 * The signing key is derived from SESSION_SECRET and the token: a change of either ends every session. A session ends
 * after eight hours. KV records a sign-out until then, so that a copied cookie becomes invalid too, within KV's
 * propagation delay.
 */
import { deleteCookie, getSignedCookie, setSignedCookie } from 'hono/cookie';
import { timingSafeEqual } from 'hono/utils/buffer';
import type { Env } from '../env.ts';
import { namedOperator } from '../operator/identity.ts';
import { ACCESS_HEADER } from '../platform/access-token.ts';
import { sha256Hex } from '../platform/hash.ts';
import { withTimeout } from '../platform/timeout.ts';
import { unreadable } from '../platform/unavailable.ts';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleSession } from './context.ts';

/** The actor in the event log for sessions by operator token. */
const CONSOLE_ACTOR = 'console';
const COOKIE = 'callmeter_console';
const SESSION_SECONDS = 8 * 3_600;
const OPERATOR_TOKEN_LENGTH_MIN = 32;
/** The minimum that KV accepts. */
const KV_TTL_SECONDS_MIN = 60;

/** A KV that does not answer counts as failed. */
const KV_TIMEOUT_MS = 2_000;

const endedKey = (id: string) => `console:ended:${id}`;

/** Whether the console is enabled. Like the operator API, it requires an operator token. */
export function isConsoleConfigured({ OPERATOR_TOKEN }: Env): boolean {
  return OPERATOR_TOKEN !== undefined && OPERATOR_TOKEN.length >= OPERATOR_TOKEN_LENGTH_MIN;
}

/** Compares in constant time. */
export function isOperatorToken({ OPERATOR_TOKEN = '' }: Env, presented: string): Promise<boolean> {
  return timingSafeEqual(presented, OPERATOR_TOKEN);
}

export async function startSession(c: ConsoleContext, nowMs: number): Promise<void> {
  const value = `${nowMs + SESSION_SECONDS * 1_000}.${crypto.randomUUID()}`;
  await setSignedCookie(c, COOKIE, value, await signingKey(c.env), cookieOptions(c));
}

/**
 * The session of a request; `null` without a valid one. Access comes first, so that the event log has a name. `NO_ROLE`
 * means that Access let the person in, but the person has no role and has not signed in with the operator token.
 */
export async function readSession(
  c: ConsoleContext,
  nowMs: number,
): Promise<ConsoleSession | { refused: 'NO_ROLE'; name: string } | null> {
  if (!c.env.SESSION_SECRET) return null;
  const key = await signingKey(c.env);
  const named = await namedOperator(c.env, c.req.header(ACCESS_HEADER), nowMs);
  if (named?.role) return sessionByAccess(key, { ...named, role: named.role }, nowMs);
  // A person without a role may still sign in with the operator token, and assign one.
  const byToken = await sessionByToken(c, key, nowMs);
  return byToken ?? (named && { refused: 'NO_ROLE', name: named.name });
}

async function sessionByAccess(key: string, { name, role }: ConsoleSession['operator'], nowMs: number) {
  // Access decides with every request whether its session has ended.
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
  if (await hasEnded(c, id)) return null;
  const operator = { name: CONSOLE_ACTOR, role: 'admin' } as const;
  return { operator, by: 'token', id, expiresAtMs: Number(expires), csrf: await csrfToken(key, id) };
}

/** If KV cannot say so, pages can still be read, above all that of health, and a change is 503. */
async function hasEnded({ env, req }: ConsoleContext, id: string): Promise<boolean> {
  try {
    return (await withTimeout(env.KV.get(endedKey(id)), KV_TIMEOUT_MS, 'KV')) !== null;
  } catch (error) {
    if (req.method === 'GET' || req.method === 'HEAD') return false;
    throw unreadable(error);
  }
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
