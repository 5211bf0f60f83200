/**
 * Promise: a command of a call that the service makes itself may be sent again, and the call counts once.
 */
import { describe, expect, test } from 'vitest';
import { type Clockwork, withObject } from '../support/object.ts';
import { NO_USAGE } from '../unit/fixtures.ts';

const T0 = Date.UTC(2026, 10, 21, 9);
const PLAN = { name: 'P', limitType: 'BLOCK', limits: { standardCalls: 1_000 } };
const USAGE = { usage: { ...NO_USAGE, inputTokens: 10, responseTokens: 3 } };

function begin(object: Clockwork, ...given: Parameters<Clockwork['beginServiceCall']>): string {
  const answer = object.beginServiceCall(...given);
  if (!answer.ok) throw new Error(`refused: ${answer.refusal.code}`);
  return answer.admission.callId;
}

const used = (object: Clockwork, atMs: number) => {
  const usage = object.usage(atMs);
  return usage.ok ? usage.data.meters.standardCalls?.used : null;
};

describe('a service call', () => {
  test('begins once: a repeated begin gets the same answer, and is no replay', () =>
    withObject(PLAN, async (object) => {
      object.begin('first', T0);
      const answers = [object.beginServiceCall('r', T0 + 1), object.beginServiceCall('r', T0 + 2)];
      expect(answers[0]).toMatchObject({ ok: true, replayed: false, status: 'IN_PROGRESS', stored: null });
      expect(answers[1]).toEqual(answers[0]);
      expect([used(object, T0 + 3), object.rows('calls')]).toEqual([2, 2]);
    }));

  test('ends once: a repeated end gets the same answer', () =>
    withObject(PLAN, async (object) => {
      const callId = begin(object, 'r', T0);
      const ended = object.endServiceCall(callId, T0 + 1, USAGE);
      expect(ended).toMatchObject({ ok: true, costNanoUsd: null });
      expect(object.endServiceCall(callId, T0 + 1, USAGE)).toEqual(ended);
      expect(object.call(callId, T0 + 2)).toMatchObject({ status: 'COMPLETED', startedAtMs: T0, finishedAtMs: T0 + 1 });
      expect(used(object, T0 + 2)).toBe(1);
    }));

  test('that already ran is recorded once', () =>
    withObject(PLAN, async (object) => {
      object.begin('first', T0);
      for (const atMs of [T0 + 1, T0 + 2])
        expect(object.recordServiceCall('r', atMs, USAGE)).toMatchObject({ ok: true });
      expect([used(object, T0 + 3), object.rows('calls')]).toEqual([2, 2]);
    }));

  test('whose end fails keeps its state and its holds', () =>
    withObject(PLAN, async (object) => {
      const callId = begin(object, 'r', T0, { requested: { standard: true } });
      // A response that is no JSON cannot be stored: the command fails after everything else.
      expect(() => object.endServiceCall(callId, T0 + 1, USAGE, { response: 1n })).toThrow(TypeError);
      expect(object.account()?.meters.reserved.standardCalls).toBe(1);
      expect(object.endServiceCall(callId, T0 + 2, USAGE)).toMatchObject({ ok: true });
      expect(object.account()?.meters.reserved.standardCalls ?? 0).toBe(0);
    }));

  test('counts in the limit of calls in a window', () =>
    withObject({ ...PLAN, rollingCalls: { limit: 2, windowSeconds: 60 } }, async (object) => {
      begin(object, 'a', T0);
      begin(object, 'b', T0 + 1);
      expect(object.beginServiceCall('c', T0 + 2)).toMatchObject({ ok: false, refusal: { code: 'RATE_LIMITED' } });
    }));
});
