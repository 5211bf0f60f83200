/**
 * Promise: a call that nobody is told of before its end counts from its begin like any other, is written once, and an
 * object that dies forgets it together with what it held, and nothing else.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import type { Call } from '../../src/domain/call.ts';
import { type Clockwork, withObject } from '../support/object.ts';
import { NO_USAGE } from '../unit/fixtures.ts';

const T0 = Date.UTC(2026, 10, 21, 9);
const PLAN = {
  name: 'P',
  limitType: 'BLOCK',
  limits: { standardCalls: 1_000 },
  payg: { enabled: true, markupPercent: 0 },
  customMeters: { CUSTOM1: { label: 'units', included: 1_000 } },
};
const USAGE = { usage: { ...NO_USAGE, inputTokens: 10, responseTokens: 3 } };

function opened(object: Clockwork, ...asked: Parameters<Clockwork['open']>): string {
  const answer = object.open(...asked);
  if (!answer.ok) throw new Error(`refused: ${answer.refusal.code}`);
  return answer.admission.callId;
}

const used = (object: Clockwork, atMs: number) => {
  const usage = object.usage(atMs);
  return usage.ok ? usage.data.meters.standardCalls?.used : null;
};

/** A customer who exists, with an empty outbox or not: the begin of a new one is always written. */
async function withCustomer(steps: (object: Clockwork) => Promise<void> | void): Promise<void> {
  await withObject(PLAN, async (object) => {
    object.increment(1, T0);
    object.begin('first', T0);
    object.end('first', T0, USAGE);
    object.grant('USD', 10n ** 10n, T0);
    await steps(object);
  });
}

describe('a call that nobody is told of', () => {
  test('stands in memory until its end, which writes it once, with its begin', () =>
    withCustomer((object) => {
      const { pending } = object.outbox();
      const callId = opened(object, 'r', T0 + 1, { requested: { standard: true } });
      expect([object.rows('calls'), object.outbox().pending]).toEqual([1, pending]);
      expect(object.finish(callId, T0 + 2, USAGE)).toMatchObject({ ok: true, costNanoUsd: null });
      expect([object.rows('calls'), object.outbox().pending]).toEqual([2, pending + 1]);
      expect(object.call(callId, T0 + 3)).toMatchObject({
        status: 'COMPLETED',
        startedAtMs: T0 + 1,
        finishedAtMs: T0 + 2,
      });
      expect(used(object, T0 + 3)).toBe(2);
    }));

  test('is begun once, also where the message that begins it was so long on its way that its repetition overtook it', () =>
    withCustomer((object) => {
      const again = object.open('r', T0 + 10_000);
      expect(object.open('r', T0 + 10_001, { firstAtMs: T0 })).toEqual({ ...again, replayed: false });
      expect(used(object, T0 + 10_002)).toBe(2);
      object.writeCalls(T0 + 10_200);
      expect(object.open('r', T0 + 10_300, { firstAtMs: T0 })).toEqual({ ...again, replayed: false });
      expect([used(object, T0 + 10_301), object.rows('calls')]).toEqual([2, 2]);
    }));

  test('is told again to whoever opened it, and its end to whoever ended it: it counts once', () =>
    withCustomer((object) => {
      const [first, again] = [object.open('r', T0 + 1), object.open('r', T0 + 2)];
      expect(again).toEqual({ ...first, replayed: false });
      const callId = opened(object, 'r', T0 + 3);
      const ended = object.finish(callId, T0 + 4, USAGE);
      expect(object.finish(callId, T0 + 4, USAGE)).toEqual(ended);
      expect([object.rows('calls'), used(object, T0 + 5)]).toEqual([2, 2]);
    }));

  test('is written when it is old enough, with its begin, and is still the same call', () =>
    withCustomer((object) => {
      const callId = opened(object, 'r', T0 + 1);
      object.writeCalls(T0 + 50, T0);
      expect(object.rows('calls')).toBe(1);
      object.writeCalls(T0 + 101, T0 + 1);
      expect(object.rows('calls')).toBe(2);
      expect(object.call(callId, T0 + 102)?.status).toBe('IN_PROGRESS');
      expect(opened(object, 'r', T0 + 103)).toBe(callId);
      expect(object.finish(callId, T0 + 104, USAGE)).toMatchObject({ ok: true });
      expect([object.rows('calls'), used(object, T0 + 105)]).toEqual([2, 2]);
    }));

  test.each<[string, (object: Clockwork, callId: string) => unknown]>([
    ['a reading of the call', (object, callId) => object.call(callId, T0 + 2)],
    ['a reading of the customer', (object) => object.inspect(T0 + 2)],
    ['a cancellation', (object) => object.setCanceled(true, T0 + 2)],
  ])('is written before %s', (_, command) =>
    withCustomer((object) => {
      command(object, opened(object, 'r', T0 + 1));
      expect(object.rows('calls')).toBe(2);
    }),
  );

  test('counts in the limit of calls in a window, as soon as it begins', () =>
    withObject({ ...PLAN, rollingCalls: { limit: 3, windowSeconds: 60 } }, async (object) => {
      object.begin('first', T0);
      opened(object, 'a', T0 + 1);
      opened(object, 'b', T0 + 2);
      expect(object.open('c', T0 + 3)).toMatchObject({ ok: false, refusal: { code: 'RATE_LIMITED' } });
    }));

  test('times out like any other', () =>
    withCustomer((object) => {
      const callId = opened(object, 'r', T0 + 1);
      object.writeCalls(T0 + 200);
      object.housekeep(T0 + 3_600_001);
      expect(object.call(callId, T0 + 3_600_002)?.status).toBe('TIMEOUT');
      expect(used(object, T0 + 3_600_002)).toBe(1);
    }));

  test('is forgotten by an object that dies, with what it held, and can be recorded from its end', () =>
    withCustomer(async (object) => {
      const callId = opened(object, 'r', T0 + 1, { requested: { standard: true } });
      // Somebody else's change stores the account, and not what the call holds.
      object.increment(1, T0 + 2);
      expect(used(object, T0 + 2)).toBe(2);
      const forgotten = opened(object, 's', T0 + 3);
      object.increment(1, T0 + 4);
      await object.restart();
      expect(used(object, T0 + 5)).toBe(2);
      expect(object.call(callId, T0 + 5)?.status).toBe('IN_PROGRESS');
      expect(object.finish(forgotten, T0 + 6, USAGE)).toMatchObject({ ok: false, refusal: { code: 'CALL_NOT_FOUND' } });
      expect(object.record('s', T0 + 7, USAGE)).toMatchObject({ ok: true });
      expect(object.record('s', T0 + 8, USAGE)).toMatchObject({ ok: true });
      expect([object.call(forgotten, T0 + 9)?.status, used(object, T0 + 9)]).toEqual(['COMPLETED', 3]);
    }));
});

test('an object that forgets a call does not give its revision to another change: D1 would take that for an old one', () =>
  withCustomer(async (object) => {
    const revision = () => object.account()?.revision ?? 0;
    const [stored] = object.query<{ revision: number }>(`SELECT value ->> 'revision' AS revision FROM account`);
    opened(object, 'r', T0 + 1);
    expect(revision(), 'what D1 would be told now').toBe(stored?.revision);
    await object.restart();
    expect(revision()).toBe(stored?.revision);
  }));

test('after a command that failed, a call in memory is written with what it holds, and its end is newer than its begin', () =>
  withCustomer(async (object) => {
    const callId = opened(object, 'r', T0 + 1, { requested: { standard: true } });
    const revisionOf = () =>
      object.query<{ revision: number }>(
        `SELECT record ->> 'revision' AS revision FROM calls WHERE call_id = '${callId}'`,
      )[0];
    expect(() => object.finish(callId, T0 + 2, USAGE, 1n)).toThrow(TypeError);
    // Nobody has looked at the account since.
    object.writeCalls(T0 + 3);
    const begun = revisionOf()?.revision ?? 0;
    await object.restart();
    expect(object.account()?.meters.reserved.standardCalls).toBe(1);
    expect(object.finish(callId, T0 + 4, USAGE)).toMatchObject({ ok: true });
    expect(object.account()?.meters.reserved.standardCalls ?? 0).toBe(0);
    expect(revisionOf()?.revision).toBeGreaterThan(begun);
  }));

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('open' as const),
      untold: fc.boolean(),
      holdUsd: fc.constantFrom(0, 0.5),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('finish' as const), pick: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('fail' as const), pick: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('write' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('increment' as const) }) },
);

/** What the calls hold and took, as an account has it. */
function sums(calls: readonly Call[]) {
  const reserved = calls.reduce((sum, call) => sum + (call.reserved.standardCalls ?? 0), 0);
  const consumed = calls.reduce((sum, { outcome }) => sum + (outcome?.consumed.standardCalls ?? 0), 0);
  const held = calls.reduce((sum, { credit }) => sum + BigInt(credit?.heldNanoUsd ?? 0), 0n);
  return [reserved, consumed, held];
}

const sumsOf = ({ meters, wallet }: Account) => [
  meters.reserved.standardCalls ?? 0,
  meters.consumed.standardCalls ?? 0,
  BigInt(wallet.held),
];

test('whatever happens, an account is what its calls hold and took, and the stored one what its stored calls did', async () => {
  // Looking at the account loads it, so not after each step.
  const one = fc.array(fc.record({ next: step, looks: fc.boolean() }), { minLength: 1, maxLength: 40 });
  const allows = async (steps: typeof one extends fc.Arbitrary<infer Steps> ? Steps : never) =>
    withObject({ ...PLAN, limits: { standardCalls: 3 } }, async (object) => {
      object.increment(1, T0);
      object.grant('USD', 10n ** 12n, T0);
      opened(object, 'first', T0, { untold: false, requested: { standard: true } });
      const ids = [opened(object, 'first', T0)];
      for (const [index, { next, looks }] of steps.entries()) {
        const atMs = T0 + 1 + index;
        const open = ids.filter((id) => object.seen(id)?.status === 'IN_PROGRESS');
        const picked = 'pick' in next ? open[next.pick % Math.max(1, open.length)] : undefined;
        if (next.kind === 'open') {
          const { untold, holdUsd } = next;
          ids.push(
            opened(object, `r${index}`, atMs, {
              untold,
              requested: { standard: true },
              ...(holdUsd > 0 && { holdUsd }),
            }),
          );
        }
        if (next.kind === 'finish' && picked) expect(object.finish(picked, atMs, USAGE)).toMatchObject({ ok: true });
        // A value that is no JSON cannot be kept: the command fails when it has done everything else.
        if (next.kind === 'fail' && picked) expect(() => object.finish(picked, atMs, USAGE, 1n)).toThrow(TypeError);
        if (next.kind === 'write') object.writeCalls(atMs);
        if (next.kind === 'restart') await object.restart();
        if (next.kind === 'increment') object.increment(1, atMs);
        const [stored] = object.query<{ value: string }>('SELECT value FROM account');
        const rows = object
          .query<{ record: string }>('SELECT record FROM calls')
          .map(({ record }) => JSON.parse(record) as Call);
        if (looks)
          expect(sumsOf(object.account() as Account)).toEqual(sums(ids.flatMap((id) => object.seen(id) ?? [])));
        expect(sumsOf(JSON.parse(stored?.value ?? '') as Account)).toEqual(sums(rows));
      }
    });
  await fc.assert(fc.asyncProperty(one, allows), { numRuns: 100 });
});
