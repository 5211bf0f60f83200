/**
 * Idempotency keys that are unique in an organization: each key belongs to one customer.
 *
 * A request claims the key with a token of its own, and may release its claim if nothing was recorded under it. A
 * request that records something under another request's claim makes the claim final before it answers; a final claim
 * cannot be released.
 */

import type { ErrorCode, Refusal } from '../contract/errors.ts';
import type { CallId, CustomerId, CustomerKey } from '../domain/ids.ts';
import { askDirectory } from './addresses.ts';
import type { ObjectBindings } from './bindings.ts';
import type { Claim } from './job-commands.ts';

/** A key, and the customer who is to own it. */
export interface KeyToClaim extends CustomerKey {
  key: CallId;
}

/** Refusals that mean that a record exists under the key. */
const RECORDED_BEFORE = new Set<ErrorCode>(['IDEMPOTENCY_KEY_CONFLICT', 'CALL_ALREADY_FINALIZED']);

/** How a command under a key is carried out. */
interface UnderClaim<Result> {
  command: (claimedAtMs: number) => PromiseLike<Result>;
  toOutcome: (result: Result) => { ok: true } | { ok: false; refusal: Refusal };
  /** Undoes the command if the key proves to be another customer's by then. */
  undo: () => PromiseLike<void>;
}

/** Runs a command under the customer's claim of the key; `null` if the key is another customer's. */
export async function underClaim<Result>(
  env: ObjectBindings,
  toClaim: KeyToClaim,
  { command, toOutcome, undo }: UnderClaim<Result>,
): Promise<Result | null> {
  const token = crypto.randomUUID();
  const claim = await claimKey(env, toClaim, token);
  if (claim.customerId !== toClaim.customerId) return null;
  const result = await command(claim.claimedAtMs);
  const outcome = toOutcome(result);
  if (!outcome.ok) {
    // Nothing was recorded, so the key is free again.
    if (claim.fresh && !RECORDED_BEFORE.has(outcome.refusal.code)) await releaseKey(env, toClaim, token);
    return result;
  }
  if (claim.fresh || claim.final) return result;
  if ((await confirmKey(env, toClaim)) === toClaim.customerId) return result;
  await undo();
  return null;
}

/** Claims a key for a customer; returns its owner. Sent again with the same token, it is the same claim. */
export function claimKey(
  env: ObjectBindings,
  { organizationId, key, customerId }: KeyToClaim,
  token: string,
): Promise<Claim> {
  return askDirectory(env, organizationId, key, (shard) => shard.claim(key, customerId, token));
}

/** Releases the claim that was made with the token. */
function releaseKey(env: ObjectBindings, { organizationId, key }: KeyToClaim, token: string): Promise<void> {
  return askDirectory(env, organizationId, key, (shard) => shard.release(key, token));
}

/** Makes the customer's claim final, even if it was released meanwhile; returns the customer who owns the key. */
function confirmKey(env: ObjectBindings, { organizationId, key, customerId }: KeyToClaim): Promise<CustomerId> {
  return askDirectory(env, organizationId, key, (shard) => shard.confirm(key, customerId));
}
