/**
 * What a customer's batches hold of its allowance: one call for every line that is not recorded yet.
 *
 * A hold has a deadline, so the hold of a forgotten batch does not stay forever. The holds are plain data, stored by an
 * object of the customer (`durable-objects/customer-batches.ts`), which admits one batch after the other.
 */

import { TIERS, type Tier } from '../../domain/tiers.ts';
import type { Lines } from '../../objects/batch-commands.ts';

/** Holds by the name of the request. */
export type Holds = Readonly<Record<string, { lines: Lines; expiresAtMs: number }>>;

/** The most batches of one customer that are under way at a time. */
export const HOLDS_MAX = 1_000;

/** The holds whose deadline has not passed. */
export function standing(holds: Holds, nowMs: number): Holds {
  return Object.fromEntries(Object.entries(holds).filter(([, { expiresAtMs }]) => expiresAtMs > nowMs));
}

/** The holds with another one for this request, or with none. */
export function replaced({ ...holds }: Holds, requestName: string, hold: Holds[string] | null): Holds {
  const { [requestName]: _replaced, ...others } = holds;
  return hold ? { ...others, [requestName]: hold } : others;
}

/** Calls of a tier, or calls that can search, that other requests hold. */
export function heldByOthers(holds: Holds, requestName: string, kind: keyof Lines): number {
  return Object.entries(holds).reduce(
    (sum, [name, { lines }]) => (name === requestName ? sum : sum + (lines[kind] ?? 0)),
    0,
  );
}

/**
 * What remains to be held after some lines were recorded. Nobody knows which of those could search, so searches stay
 * held to the end.
 */
export function unrecorded(held: Lines, recorded: Lines): Lines {
  const remaining = (tier: Tier) => Math.max(0, (held[tier] ?? 0) - (recorded[tier] ?? 0));
  return {
    ...Object.fromEntries(TIERS.map((tier) => [tier, remaining(tier)])),
    ...(held.search !== undefined && { search: held.search }),
  };
}

/** The latest deadline; `null` where there is no hold. */
export function lastExpiry(holds: Holds): number | null {
  const expiries = Object.values(holds).map(({ expiresAtMs }) => expiresAtMs);
  return expiries.length === 0 ? null : Math.max(...expiries);
}
