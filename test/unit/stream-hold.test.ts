/**
 * Promise: a stream passes no more output tokens than are held for it, and does not wait for a step that is granted ahead
 * of time.
 */
import { describe, expect, test, vi } from 'vitest';
import { StreamHold } from '../../src/gateway/stream-hold.ts';

const BOUND = 5_000;

/** A hold of a first step. Each further step is answered with the amount that is held then, or with a failure. */
function holdWith(...answers: (number | Error)[]) {
  const asked: number[] = [];
  const extend = vi.fn(async (wanted: number) => {
    asked.push(wanted);
    const answer = answers.shift() ?? 0;
    if (answer instanceof Error) throw answer;
    return answer;
  });
  return { hold: new StreamHold(1_024, BOUND, extend), asked };
}

/** Waits until the work in progress is over. */
const settled = () => new Promise((resolve) => setTimeout(resolve));

describe('within the step', () => {
  test('text passes at once, and nothing is asked for until its end is near', () => {
    const { hold, asked } = holdWith();
    expect([hold.mayContinue(1), hold.mayContinue(768), asked]).toEqual([true, true, []]);
  });

  test('the next step is asked for once, ahead of time, and text goes on meanwhile', async () => {
    const { hold, asked } = holdWith(2_000);
    for (const tokens of [769, 900, 1_024]) expect(hold.mayContinue(tokens)).toBe(true);
    await settled();
    expect([hold.heldTokens, asked]).toEqual([2_000, [2_048]]);
    expect(hold.mayContinue(1_700)).toBe(true);
  });
});

describe('beyond the step', () => {
  test('text waits for what is held', async () => {
    const { hold, asked } = holdWith(2_048);
    expect(await hold.mayContinue(1_025)).toBe(true);
    expect([hold.heldTokens, asked]).toEqual([2_048, [2_049]]);
  });

  test('a step that was refused ahead of time is asked for again', async () => {
    const { hold, asked } = holdWith(1_024, 1_500);
    hold.mayContinue(1_000);
    await settled();
    expect(await hold.mayContinue(1_100)).toBe(true);
    expect([hold.heldTokens, asked]).toEqual([1_500, [2_048, 2_124]]);
  });

  test('a step that is refused there ends the stream, and so does one that nobody answers', async () => {
    expect(await holdWith(1_024).hold.mayContinue(1_025)).toBe(false);
    expect(await holdWith(new Error('the object is away')).hold.mayContinue(1_025)).toBe(false);
  });

  test('a smaller step is enough for the text that fits into it, and no more', async () => {
    const { hold } = holdWith(1_100, 1_100);
    expect(await hold.mayContinue(1_100)).toBe(true);
    expect(await hold.mayContinue(1_101)).toBe(false);
  });

  test('nothing is asked for above the bound of the call: what a vendor makes beyond it cannot be held', async () => {
    const { hold, asked } = holdWith(BOUND);
    expect(await hold.mayContinue(BOUND + 700)).toBe(true);
    expect(hold.mayContinue(BOUND + 900)).toBe(true);
    expect(asked).toEqual([BOUND]);
  });
});
