/**
 * The calls that began in a plan's sliding window. A begin reads a bounded list, however many calls the window has.
 *
 * Each call counts until it has left the window. If there are more than `EXACT_CALLS_MAX`, calls that began within a sixtieth of
 * the window count together until the last of them has left: up to a sixtieth longer, and never shorter.
 */
import { SECOND_MS } from '../platform/time.ts';

/** Calls of one part began within the window's length divided by this. */
const WINDOW_PARTS = 60;
/** More than twice `WINDOW_PARTS`, which is the most that joined parts can be. */
export const EXACT_CALLS_MAX = 128;

/** Calls that leave the window together. */
export type BegunPart = readonly [firstMs: number, lastMs: number, calls: number];

/** Plain JSON. */
export interface BegunCalls {
  windowSeconds: number;
  /** Oldest first, at most `EXACT_CALLS_MAX`. */
  parts: readonly BegunPart[];
}

/** The state of the window at a time. */
export interface WindowState {
  used: number;
  /** When the next calls leave the window; its whole length from now if it is empty. */
  resetsAtMs: number;
}

/** The most time between the calls of a part. */
export function partMs(windowSeconds: number): number {
  return Math.ceil((windowSeconds * SECOND_MS) / WINDOW_PARTS);
}

export function readWindow(begun: BegunCalls, nowMs: number): WindowState {
  const windowMs = begun.windowSeconds * SECOND_MS;
  const { parts } = withoutLeft(begun, nowMs);
  return {
    used: parts.reduce((sum, [, , calls]) => sum + calls, 0),
    resetsAtMs: (parts[0]?.[1] ?? nowMs) + windowMs,
  };
}

export function addBegun(begun: BegunCalls, atMs: number): BegunCalls {
  const { windowSeconds, parts } = withoutLeft(begun, atMs);
  const added: BegunPart[] = [...parts, [atMs, atMs, 1]];
  return { windowSeconds, parts: added.length > EXACT_CALLS_MAX ? joinParts(added, partMs(windowSeconds)) : added };
}

/** The call counts no longer: it was not allowed after all, or was reversed. */
export function removeBegun({ windowSeconds, parts }: BegunCalls, startedAtMs: number): BegunCalls {
  const index = parts.findIndex(([firstMs, lastMs]) => firstMs <= startedAtMs && startedAtMs <= lastMs);
  const part = parts[index];
  if (!part) return { windowSeconds, parts };
  const [firstMs, lastMs, calls] = part;
  const rest: BegunPart[] = calls > 1 ? [[firstMs, lastMs, calls - 1]] : [];
  return { windowSeconds, parts: parts.toSpliced(index, 1, ...rest) };
}

function withoutLeft({ windowSeconds, parts }: BegunCalls, nowMs: number): BegunCalls {
  const sinceMs = nowMs - windowSeconds * SECOND_MS;
  return { windowSeconds, parts: parts.filter(([, lastMs]) => lastMs > sinceMs) };
}

function joinParts(parts: readonly BegunPart[], withinMs: number): BegunPart[] {
  const joined: BegunPart[] = [];
  for (const part of parts) {
    const [firstMs, lastMs, calls] = part;
    const before = joined.at(-1);
    if (before && lastMs - before[0] < withinMs)
      joined[joined.length - 1] = [Math.min(before[0], firstMs), Math.max(before[1], lastMs), before[2] + calls];
    else joined.push(part);
  }
  return joined;
}
