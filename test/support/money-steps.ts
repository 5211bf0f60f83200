/**
 * The shared parts of the money model's commands: the system under test, the passing of time, writes that may be sent
 * again, and a tally of events.
 */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Answer } from '../../src/contract/errors.ts';
import { type ArchivedEntry, expectAgreement } from './money-agreement.ts';
import type { Clockwork } from './object.ts';
import type { ReferenceModel, Settlement } from './reference-model.ts';

export const SECOND = 1_000;
export const HOUR = 3_600 * SECOND;
export const DAY = 24 * HOUR;
const ANSWER_RETENTION_MS = 48 * HOUR;

/** A write that was answered, and how to send it again: the same, or with another payload under the same key. */
interface Write {
  answer: Answer<unknown>;
  repeat: (atMs: number) => Answer<unknown>;
  alter: ((atMs: number) => Answer<unknown>) | null;
  /** Whether its answer is still kept. */
  isKept: (model: ReferenceModel) => boolean;
}

export interface System {
  object: Clockwork;
  writes: Map<string, Write>;
  archive: Map<number, ArchivedEntry>;
  /** The customer's row as D1 has it, by column. */
  customer: Map<string, unknown>;
  /** The calls that the service makes itself. */
  ours: Set<string>;
  serial: number;
}

export type MoneyCommand = fc.AsyncCommand<ReferenceModel, System>;
type Wait = number | { until: 'boundary' | 'expiry' | 'deadline' | 'charge'; offsetMs: number };

/** Mostly moments; sometimes until the next due time exactly, or a millisecond around it; sometimes months. */
const waits: fc.Arbitrary<Wait> = fc.oneof(
  { weight: 24, arbitrary: fc.constant(0) },
  { weight: 24, arbitrary: fc.integer({ min: 1, max: 5 * SECOND }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 2 * HOUR }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 4 * DAY }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 100 * DAY }) },
  {
    weight: 5,
    arbitrary: fc.record({
      until: fc.constantFrom('boundary' as const, 'expiry' as const, 'deadline' as const, 'charge' as const),
      offsetMs: fc.constantFrom(0, 0, 0, -1, 1),
    }),
  },
);

/** Nothing is waited for longer than this: the model walks one boundary at a time. */
const WAIT_MS_MAX = 400 * DAY;

function moment(model: ReferenceModel, wait: Wait): number {
  if (typeof wait === 'number') return model.nowMs + wait;
  const times = {
    boundary: [model.endMs],
    expiry: model.credits
      .map(({ expiresAtMs }) => expiresAtMs ?? Number.POSITIVE_INFINITY)
      .filter((atMs) => atMs > model.nowMs),
    deadline: model.openCalls().map(({ deadlineAtMs }) => deadlineAtMs),
    charge: [...model.charges.values()].map(({ dueAtMs }) => dueAtMs),
  }[wait.until];
  const atMs = Math.min(...times) + wait.offsetMs;
  return atMs <= model.nowMs + WAIT_MS_MAX ? Math.max(model.nowMs, atMs) : model.nowMs;
}

/**
 * Over all runs: the commands, and how often something worth having happened. A model that never met it proves nothing
 * of it.
 */
export const executed = { count: 0, seen: new Map<Sight, number>() };

export const SIGHTS = [
  'call denied',
  'call limited by its rate',
  'call denied for the lack of credit',
  'call denied, as others hold the balance',
  'call to be repeated, as others hold the balance',
  'call on credit',
  'hold',
  'hold of the usual charge',
  'hold of a first step',
  'hold that fits the balance',
  'step',
  'smaller step',
  'step refused',
  'step of a call that holds none',
  'estimated end',
  'call lost',
  'estimate replaced',
  'difference that comes back',
  'vendor beyond its bound',
  'expired credit kept for its claims',
  'credit revoked',
  'credit that is claimed not revoked',
  'late end',
  'charge of a call',
  'charge without a price',
  'charge by the hold',
  'increment blocked',
  'increment on credits',
  'overage',
  'overage across tiers',
  'period ended',
  'pending plan began',
  'credit expired',
  'call timed out',
  'balance overdrawn',
  'charge reported',
  'charge rejected',
  'charge to be reported again',
  'replay',
  'replay with another payload',
  'entry in D1 alone',
] as const;
export type Sight = (typeof SIGHTS)[number];

export function note(sight: Sight, happened = true): void {
  if (happened) executed.seen.set(sight, (executed.seen.get(sight) ?? 0) + 1);
}

export function command<Details>(
  name: string,
  details: fc.Arbitrary<Details>,
  run: (model: ReferenceModel, system: System, details: Details) => void | Promise<void>,
): fc.Arbitrary<MoneyCommand> {
  return fc.tuple(waits, details).map(([wait, chosen]) => ({
    check: () => true,
    run: async (model, system) => {
      executed.count += 1;
      passTime(model, moment(model, wait));
      await run(model, system, chosen);
      await expectAgreement(model, system.object, system.archive);
    },
    toString: () => `${name} after ${JSON.stringify(wait)}: ${fc.stringify(chosen)}`,
  }));
}

function passTime(model: ReferenceModel, toMs: number): void {
  const { startMs, pending, credits } = model;
  const open = model.openCalls();
  model.advance(toMs);
  note('period ended', model.startMs > startMs);
  note('pending plan began', pending !== null && model.pending === null);
  note('credit expired', model.credits.length < credits.length);
  note('call timed out', model.openCalls().length < open.length);
  note(
    'call lost',
    open.some(({ status, counted }) => status === 'TIMEOUT' && counted !== null),
  );
  note(
    'expired credit kept for its claims',
    model.credits.some(({ expiresAtMs }) => expiresAtMs !== null && expiresAtMs <= toMs),
  );
  note('balance overdrawn', model.overdraft > 0n);
}

/** Sends a write to the object, and keeps an accepted one to be sent again. */
export function write<Data>(
  system: System,
  id: string,
  { isKept, alter, repeat }: Omit<Write, 'answer'>,
  atMs: number,
): Answer<Data> {
  const answer = repeat(atMs) as Answer<Data>;
  if (answer.ok) {
    expect(answer.replayed).toBe(false);
    // Only the first answer shows the remaining limits.
    const { left: _left, ...kept } = answer;
    system.writes.set(id, { answer: kept, repeat, alter, isKept });
  }
  return answer;
}

export const forTwoDays = (madeAtMs: number) => (model: ReferenceModel) => model.nowMs - madeAtMs < ANSWER_RETENTION_MS;
/** Two days after the call finished. A late end does not restore the dropped answer of a begin that timed out. */
export const afterCall = (callId: string, part: 'begin' | 'end') => (model: ReferenceModel) => {
  const call = model.calls.get(callId);
  if (!call || call.finishedAtMs === null) return true;
  const finishedAtMs = part === 'begin' ? Math.min(call.finishedAtMs, call.deadlineAtMs) : call.finishedAtMs;
  return model.nowMs - finishedAtMs < ANSWER_RETENTION_MS;
};

/** The model learns the object's name for a pending charge. */
export function follow(
  model: ReferenceModel,
  subjectId: string,
  settlement: Settlement | null,
  chargeId: string | undefined,
  stripe: string | null,
): void {
  expect(chargeId !== undefined).toBe(settlement !== null);
  if (settlement?.status === 'PENDING' && chargeId) model.follow(chargeId, subjectId, settlement.amount ?? 0n, stripe);
}
