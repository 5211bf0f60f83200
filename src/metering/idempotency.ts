/**
 * Idempotency keys: the source of a request's key, and the rule for equal payloads (contract 4.11).
 */

import { DERIVED_PREFIX } from '../contract/calls.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { CustomerKey } from '../domain/ids.ts';
import { sha256Hex } from '../platform/hash.ts';

/** The body's own key fields, by priority. */
export interface BodyKeys {
  idempotencyKey?: string | undefined;
  idempotency?: string | undefined;
}

/** Header, then `idempotencyKey`, then the deprecated `idempotency`; `null` if the caller sent none. */
export function explicitKey(header: string | null, body: BodyKeys): string | null {
  return header ?? body.idempotencyKey ?? body.idempotency ?? null;
}

/**
 * The key of a command that counts once per request: the caller's own, or one that only this request has. Without a
 * key, a command would count twice if it is sent again because its answer was lost.
 */
export function requestKey(header: string | null, body: BodyKeys): string {
  return explicitKey(header, body) ?? crypto.randomUUID();
}

/** The payload without its key, in canonical form, hashed. */
export function hashPayload(payload: object): Promise<string> {
  const { idempotencyKey: _key, idempotency: _legacy, ...rest } = payload as BodyKeys;
  return sha256Hex(canonicalJson(rest));
}

/** 128 bits of the hash of everything that a derived key identifies. */
export async function derivedKeyHash(
  parts: CustomerKey & {
    feature: string | undefined;
    requested: object;
    callType: string;
    pricingMode: string;
  },
): Promise<string> {
  return (await sha256Hex(canonicalJson({ ...parts, feature: parts.feature ?? null }))).slice(0, 32);
}

/** 128 bits of the hash of a session's key, because others may read call ids and a key may hold personal data. */
export async function sessionKeyHash(key: string): Promise<string> {
  return (await sha256Hex(key)).slice(0, 32);
}

export function isReservedKey(key: string): boolean {
  return key.startsWith(DERIVED_PREFIX);
}
