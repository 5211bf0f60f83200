/**
 * The operator's session: a signed cookie that the operator's token is exchanged for.
 *
 * It is signed with a key made of SESSION_SECRET and the token itself, so that changing either ends every session. It
 * lasts eight hours whatever happens. Signing out is kept in KV until then, so that a copied cookie ends too, within
 * KV's delay.
 */
import { deleteCookie, getSignedCookie, setSignedCookie } from 'hono/cookie';
import { timingSafeEqual } from 'hono/utils/buffer';
import type { Env } from '../env.ts';
import { sha256Hex } from '../platform/hash.ts';
import { CONSOLE_PATH, type ConsoleContext, type ConsoleSession } from './context.ts';

const COOKIE = 'callmeter_console';
const SESSION_SECONDS = 8 * 3_600;
const OPERATOR_TOKEN_LENGTH_MIN = 32;
/** KV keeps nothing for a shorter time. */
const KV_TTL_SECONDS_MIN = 60;

const endedKey = (id: string) => `console:ended:${id}`;

/** Whether there is a console: it needs what the operator API needs. */
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

/** `null` without a session of ours that still lasts. */
export async function readSession(c: ConsoleContext, nowMs: number): Promise<ConsoleSession | null> {
  if (!c.env.SESSION_SECRET) return null;
  const key = await signingKey(c.env);
  const value = await getSignedCookie(c, key, COOKIE);
  const [expires, id] = typeof value === 'string' ? value.split('.') : [];
  if (!id || Number(expires) <= nowMs) return null;
  // Without KV nobody could work; the cookie itself is sound.
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
