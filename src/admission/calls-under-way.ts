/**
 * The calls of this isolate that wait for what their vendors answer, or pass it on. The figure says how much there is to
 * read, not whose it is.
 */
import { remember } from '../platform/isolate-memory.ts';

const counted = remember(() => ({ calls: 0 }));

/** Counts a call until its work is over. */
export function countUnderWay(work: Promise<unknown>): void {
  const figure = counted.value;
  figure.calls += 1;
  const over = () => {
    figure.calls -= 1;
  };
  work.then(over, over);
}

export function callsUnderWay(): number {
  return counted.value.calls;
}
