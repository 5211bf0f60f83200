/**
 * What a customer's batches hold of its allowance: the calls that their lines are going to be, until each is recorded.
 *
 * A hold has a deadline, so that one whose batch is forgotten does not stay. Plain data, kept by an object of the
 * customer (`durable-objects/gateway-batch.ts`), which admits one batch after the other.
 */

import type { Tier } from '../../domain/tiers.ts';
import type { Lines } from '../../objects/batch-commands.ts';

/** By the name of the request. */
export type Holds = Readonly<Record<string, { lines: Lines; expiresAtMs: number }>>;

/** Batches of one customer that are under way at a time. */
export const HOLDS_MAX = 1_000;

/** Those that still stand. */
export function standing(holds: Holds, nowMs: number): Holds {
  return Object.fromEntries(Object.entries(holds).filter(([, { expiresAtMs }]) => expiresAtMs > nowMs));
}

/** The holds without one, or with another one in its place. */
export function replaced({ ...holds }: Holds, requestName: string, hold: Holds[string] | null): Holds {
  const { [requestName]: _replaced, ...others } = holds;
  return hold ? { ...others, [requestName]: hold } : others;
}

/** Calls of a tier, or calls that can search, that are held by others than this request. */
export function heldByOthers(holds: Holds, requestName: string, kind: keyof Lines): number {
  return Object.entries(holds).reduce(
    (sum, [name, { lines }]) => (name === requestName ? sum : sum + (lines[kind] ?? 0)),
    0,
  );
}

/**
 * What is left to hold once so many lines were recorded. Which of them could search is not known: those stay to the
 * end.
 */
export function unrecorded(held: Lines, recorded: Lines): Lines {
  const left = (tier: Tier) => Math.max(0, (held[tier] ?? 0) - (recorded[tier] ?? 0));
  return {
    standard: left('standard'),
    premium: left('premium'),
    ...(held.search !== undefined && { search: held.search }),
  };
}

/** When the last of them has expired; `null` where there is none. */
export function lastExpiry(holds: Holds): number | null {
  const expiries = Object.values(holds).map(({ expiresAtMs }) => expiresAtMs);
  return expiries.length === 0 ? null : Math.max(...expiries);
}
