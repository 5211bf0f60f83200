/**
 * Promise: in each turn of the event loop a few begins start, in the order in which they came; every one starts, also if
 * others that wait are never woken, as after their callers have left.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Turns } from '../../src/admission/turns.ts';

const STARTS_PER_TURN = 4;
const TURNS_MAX = 10_000;

/** An event loop whose turns take a millisecond: it wakes what waits when its time has come. */
class Loop {
  nowMs = 0;
  #timers: { dueMs: number; wake: () => void }[] = [];

  wait(ms: number): Promise<void> {
    return new Promise((wake) => this.#timers.push({ dueMs: this.nowMs + Math.max(1, ms), wake }));
  }

  async turn(): Promise<void> {
    this.nowMs += 1;
    const due = this.#timers.filter(({ dueMs }) => dueMs <= this.nowMs);
    this.#timers = this.#timers.filter(({ dueMs }) => dueMs > this.nowMs);
    for (const { wake } of due) wake();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a few begins start in each turn, first come first, and all start', async () => {
  const arrival = fc.record({ inTurn: fc.nat(30), leaves: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(arrival, { maxLength: 200 }), async (arrivals) => {
      const loop = new Loop();
      let isOfLeaver = false;
      const turns = new Turns({
        now: () => loop.nowMs,
        wait: (ms) => (isOfLeaver ? new Promise<never>(() => undefined) : loop.wait(ms)),
      });
      const ordered = arrivals.toSorted((a, b) => a.inTurn - b.inTurn);
      const stay = ordered.filter(({ leaves }) => !leaves).length;
      const started: { place: number; turn: number }[] = [];
      let next = 0;
      let turn = 0;
      for (; started.length < stay || next < ordered.length; turn += 1) {
        expect(turn).toBeLessThan(TURNS_MAX);
        for (
          ;
          ordered[next]?.inTurn === turn || (next < ordered.length && (ordered[next]?.inTurn ?? 0) < turn);
          next += 1
        ) {
          const place = next;
          const leaves = ordered[next]?.leaves ?? false;
          isOfLeaver = leaves;
          const waiting = turns.next();
          isOfLeaver = false;
          const startedIn = () => started.push({ place, turn });
          if (leaves) continue;
          if (waiting) void waiting.then(startedIn);
          else startedIn();
        }
        await loop.turn();
      }
      expect(started.map(({ place }) => place)).toEqual(started.map(({ place }) => place).toSorted((a, b) => a - b));
      for (let each = 0; each <= turn; each += 1)
        expect(started.filter((one) => one.turn === each).length).toBeLessThanOrEqual(2 * STARTS_PER_TURN);
    }),
  );
});
