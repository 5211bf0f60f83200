/**
 * What a step of a watch gets, and what it answers: the events that it found, and what is to be remembered so that each is
 * told once. A step writes nothing itself: its answer is stored as a whole, so a step that broke off is made again.
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
  /** Makes the switches of the autopilot whose day has come; answers with what is to be told of them, each by its key. */
  runAutopilot: () => Promise<readonly (Found & { key: string; eventId: string })[]>;
}

/** What earlier steps remembered. */
export interface Memory {
  /** `null` where nothing is remembered under the key. */
  get(key: string): string | null;
}

/** An event that was found. */
export type Found = WatchEvent & {
  atMs: number;
  /** Of one that may be found again: its id then is the same. */
  eventId?: string;
};

export interface Remembered {
  key: string;
  value: string;
  /** Until when it matters; `null` for good. */
  untilMs: number | null;
  /** The customer of whom it is, for an erasure. */
  customerId?: CustomerId | null;
}

export interface News {
  events?: readonly Found[];
  remember?: readonly Remembered[];
  forget?: readonly string[];
}

export const NO_NEWS: News = {};

/** The key of what is remembered of some things: their parts cannot run into each other. */
export function keyOf(kind: string, ...parts: readonly (string | null)[]): string {
  return JSON.stringify([kind, ...parts]);
}

/** The customer of an event; `null` where it is of none. */
export function customerOf({ data }: Pick<Found, 'data'>): string | null {
  return 'customerId' in data ? data.customerId : null;
}
