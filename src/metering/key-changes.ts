/**
 * 429 if a key has made too many changes to its organization's setup in this hour: each change is free, and leaves data
 * that all organizations pay for.
 */

import { countKeyChange, KEY_CHANGES_MAX, takeBackKeyChange } from '../config/key-changes.ts';
import { type Result, refuse } from '../contract/errors.ts';
import type { KeyId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { SECOND_MS } from '../platform/time.ts';

/** Counts the change that a request asks for before it is made, so that simultaneous requests are bounded too. */
export async function requireChange(env: Env, keyId: KeyId, nowMs: number): Promise<Result> {
  const resumeAtMs = await countKeyChange(env, keyId, nowMs);
  if (resumeAtMs === null) return { ok: true };
  const retryAfterSeconds = Math.ceil((resumeAtMs - nowMs) / SECOND_MS);
  const message = `too many changes by this key (${KEY_CHANGES_MAX} in an hour); retry in ${retryAfterSeconds} seconds`;
  return refuse('RATE_LIMITED', message, { retryAfterSeconds, members: { retryAfterSeconds } });
}

/** Call this with the response: a refused request changed nothing, and is not counted. */
export async function settleChange(env: Env, keyId: KeyId, { status }: Response): Promise<void> {
  if (status >= 400 && status < 500) await takeBackKeyChange(env, keyId);
}
