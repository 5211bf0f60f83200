/**
 * The input and the result of a watch's step: the events that it found, and the facts to remember so that each is
 * reported once. A step writes nothing itself: its result is stored as a whole, so an interrupted step is made again.
 */

import type { WatchEvent } from '../../contract/event-data.ts';
import type { CustomerId, OrganizationId } from '../../domain/ids.ts';
import type { Env } from '../../env.ts';

export interface Look {
  env: Env;
  organizationId: OrganizationId;
  nowMs: number;
  defer: (work: Promise<unknown>) => void;
  memory: Memory;
  /** Makes the autopilot's due switches; returns the events to report, each by its key. */
  runAutopilot: () => Promise<readonly (Found & { key: string; eventId: string })[]>;
}

/** The facts that earlier steps remembered. */
export interface Memory {
  /** `null` if nothing is remembered under the key. */
  get(key: string): string | null;
}

/** An event that was found. */
export type Found = WatchEvent & {
  atMs: number;
  /** Set if the event may be found again: its id is then the same. */
  eventId?: string;
};

export interface Remembered {
  key: string;
  value: string;
  /** The time until which it matters; `null` means forever. */
  untilMs: number | null;
  /** The customer whom it concerns, for an erasure. */
  customerId?: CustomerId | null;
}

export interface News {
  events?: readonly Found[];
  remember?: readonly Remembered[];
  forget?: readonly string[];
}

export const NO_NEWS: News = {};

/** The key under which facts about some objects are remembered: its parts cannot run into each other. */
export function memoryKey(kind: string, ...parts: readonly (string | null)[]): string {
  return JSON.stringify([kind, ...parts]);
}

/** The customer of an event; `null` if it concerns none. */
export function eventCustomer({ data }: Pick<Found, 'data'>): string | null {
  return 'customerId' in data ? data.customerId : null;
}
