/**
 * Promise: a burst is admitted, a queue that stands lets fewer commands wait, and without it all may wait again within
 * seconds.
 */
import { expect, test } from 'vitest';
import { AdaptiveLimit } from '../../src/admission/adaptive-limit.ts';

const WAITING_MAX = 200;
const ALWAYS = 64;
const PERIOD_MS = 250;

const times = (count: number, delayMs: number) => Array.from({ length: count }, () => delayMs);

/** A limit with a clock of its own, and the commands that wait. */
class Queue {
  readonly #limit = new AdaptiveLimit({ waitingMax: WAITING_MAX, waitingAlways: ALWAYS, lateMs: 250 });
  #nowMs = 0;
  waiting = 0;

  /** Lets commands in until there is no room, at most so many. */
  fill(most = WAITING_MAX + 1): number {
    let entered = 0;
    for (; entered < most && this.#limit.hasRoom(this.#nowMs); entered += 1) this.#limit.enter();
    this.waiting += entered;
    return entered;
  }

  /** At the end of a period commands are answered, with these delays beyond the usual one. */
  answer(delaysMs: readonly number[]): void {
    this.#nowMs += PERIOD_MS - 1;
    for (const delayMs of delaysMs) {
      this.#limit.noteDelay(delayMs, this.#nowMs);
      this.#limit.leave();
    }
    this.waiting -= delaysMs.length;
    this.#nowMs += 1;
  }
}

test('at rest as many commands may wait as the bound says', () => {
  expect(new Queue().fill()).toBe(WAITING_MAX);
});

test('a queue that is worked off within a second is a burst, and the next burst has the same room', () => {
  const queue = new Queue();
  queue.fill();
  for (let period = 1; period <= 3; period += 1) queue.answer(times(WAITING_MAX / 4, period * PERIOD_MS));
  expect(queue.fill()).toBe((WAITING_MAX * 3) / 4);
});

test('while a quarter of the commands of each period are answered in about their usual time, nothing is refused', () => {
  const queue = new Queue();
  queue.fill(100);
  for (let period = 0; period < 20; period += 1) {
    queue.answer([250, 251, 2_000, 2_000]);
    expect(queue.fill(4)).toBe(4);
  }
});

test('while every command of each period is late, fewer and fewer may wait, but always a few', () => {
  const queue = new Queue();
  const room = Array.from({ length: 20 }, () => {
    queue.fill();
    queue.answer(times(queue.waiting, 251));
    return queue.fill();
  });
  expect(room.slice(0, 3)).toEqual([WAITING_MAX, WAITING_MAX, WAITING_MAX]);
  expect(room.slice(3, 6)).toEqual([150, 112, 84]);
  expect(room.at(-1)).toBe(ALWAYS);
});

test('if nothing is answered at all, as many may wait as before', () => {
  const queue = new Queue();
  queue.fill(100);
  for (let period = 0; period < 40; period += 1) queue.answer([]);
  expect(queue.waiting + queue.fill()).toBe(WAITING_MAX);
});

test('commands that are never answered do not shut out the others for good', () => {
  const queue = new Queue();
  for (let period = 0; period < 20; period += 1) {
    queue.fill();
    queue.answer(times(queue.waiting - ALWAYS, 2_000));
  }
  // These stay.
  expect(queue.waiting).toBe(ALWAYS);
  for (let period = 0; period < 20; period += 1) {
    expect(queue.fill(1)).toBe(1);
    queue.answer([0]);
  }
  expect(queue.waiting + queue.fill()).toBe(WAITING_MAX);
});

test('after a queue that stood, all may wait again once nobody waited for a second', () => {
  const queue = new Queue();
  for (let period = 0; period < 20; period += 1) {
    queue.fill();
    queue.answer(times(queue.waiting, 2_000));
  }
  queue.answer(times(queue.waiting, 2_000));
  for (let period = 0; period < 4; period += 1) queue.answer([]);
  expect(queue.fill()).toBe(WAITING_MAX);
});

test('after a queue that stood, all may wait again within five seconds of answers in their usual time', () => {
  const queue = new Queue();
  for (let period = 0; period < 20; period += 1) {
    queue.fill();
    queue.answer(times(queue.waiting, 2_000));
  }
  for (let period = 0; period < 20; period += 1) {
    queue.fill(2);
    queue.answer([0]);
  }
  expect(queue.waiting + queue.fill()).toBe(WAITING_MAX);
});
