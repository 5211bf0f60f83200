/**
 * The cost of the first use of many objects: by how much the memory of their process grows, and its processor time.
 *
 * The memory counts all that the process keeps for an object: its own state, SQLite's pages, and what the code left for
 * the garbage collector. workerd gives up an object ten seconds after its last request: to measure live objects, use
 * only as many as are made within that time.
 */
import { processorMs, residentMiB } from './process.ts';
import type { RunningServer } from './service.ts';
import type { Column, Options, Row } from './suite.ts';

export const FIRST_USES_AT_ONCE = 16;
const PROGRESS_OBJECTS = 500;

export const FIRST_USE_COLUMNS: readonly Column[] = [
  { key: 'objects', heading: 'objects', digits: 0 },
  { key: 'beforeMiB', heading: 'MiB before', digits: 0 },
  { key: 'afterMiB', heading: 'MiB after', digits: 0 },
  { key: 'eachKiB', heading: 'KiB each', digits: 0 },
  { key: 'processorMs', heading: 'CPU ms each', digits: 2 },
];

/** Makes the objects with `once`, from `from` up to `to`, and waits until all of it is done. */
export async function firstUseOf(
  name: string,
  { pid }: RunningServer,
  { from, to }: { from: number; to: number },
  { progress }: Pick<Options, 'progress'>,
  once: (number: number) => Promise<void>,
  settle?: () => Promise<unknown>,
): Promise<Row> {
  const beforeMiB = await residentMiB(pid);
  const before = await processorMs(pid);
  let next = from;
  const worker = async () => {
    while (next < to) {
      const number = next;
      next += 1;
      if (number % PROGRESS_OBJECTS === 0) progress(`${name}, each for the first time: ${number}`);
      await once(number);
    }
  };
  await Promise.all(Array.from({ length: FIRST_USES_AT_ONCE }, worker));
  await settle?.();
  const after = await processorMs(pid);
  const afterMiB = await residentMiB(pid);
  const objects = to - from;
  const figures = {
    objects,
    beforeMiB,
    afterMiB,
    eachKiB: ((afterMiB - beforeMiB) * 1_024) / objects,
    processorMs: before === null || after === null ? null : (after - before) / objects,
  };
  return { name: `${name} ${from + 1} to ${to}`, figures };
}
