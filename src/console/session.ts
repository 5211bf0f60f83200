/**
 * The operator's session: a signed cookie in exchange for the operator's token.
 *
 * The signing key is derived from SESSION_SECRET and the token, so that changing either ends every session. A session
 * ends after eight hours. Signing out is recorded in KV until then, so that a copied cookie becomes invalid too, within
 * KV's propagation delay.
 */
import { deleteCookie, getSignedCookie, setSignedCookie } from 'hono/cookie';
import { timingSafeEqual } from 'hono/utils/buffer';
import type { Env } from '../env.ts';
import { sha256Hex } from '../platform/hash.ts';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleSession } from './context.ts';

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

/** `null` without a valid session. */
export async function readSession(c: ConsoleContext, nowMs: number): Promise<ConsoleSession | null> {
  if (!c.env.SESSION_SECRET) return null;
  const key = await signingKey(c.env);
  const value = await getSignedCookie(c, key, COOKIE);
  const [expires, id] = typeof value === 'string' ? value.split('.') : [];
  if (!id || Number(expires) <= nowMs) return null;
  // During an outage of KV the signed cookie alone is accepted.
  const ended = await c.env.KV.get(endedKey(id)).catch(() => null);
  return ended === null ? { id, expiresAtMs: Number(expires), csrf: await csrfToken(key, id) } : null;
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
