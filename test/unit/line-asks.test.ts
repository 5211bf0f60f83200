/**
 * Promise: a line of a batch is found again by its custom id, with its ask; if the ask is not kept, it is unknown.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MODEL_NAME_LENGTH_MAX } from '../../src/contract/gateway/requests.ts';
import { type LineAsk, LineAsksReader, LineAsksWriter } from '../../src/gateway/batches/line-asks.ts';

const askOf = (model: string, ...notIncluded: string[]): LineAsk => ({ model, notIncluded });

async function readBack(lines: readonly (readonly [string, LineAsk])[]) {
  const writer = new LineAsksWriter();
  for (const [customId, ask] of lines) await writer.add(customId, ask);
  const written = structuredClone(writer.written());
  const reader = new LineAsksReader(written);
  return { written, read: await Promise.all(lines.map(([customId]) => reader.of(customId))) };
}

test('each line is found with what it asked for', async () => {
  const ask = fc.constantFrom(askOf('a'), askOf('a', 'maps'), askOf('b'), askOf('c', 'maps', 'otherModel'));
  const lines = fc.uniqueArray(fc.tuple(fc.string(), ask), { selector: ([customId]) => customId, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(lines, async (some) => {
      expect((await readBack(some)).read).toEqual(some.map(([, of]) => of));
    }),
    { numRuns: 100 },
  );
});

test('lines that all ask for the same are not kept one by one', async () => {
  const { written } = await readBack(Array.from({ length: 100 }, (_, index) => [`line ${index}`, askOf('a')] as const));
  expect(written).toEqual({ asks: [askOf('a')], lines: [''] });
});

test('what is beyond the bounds is not known, and the rest is', async () => {
  const many = Array.from({ length: 25 }, (_, index) => [`line ${index}`, askOf(`model ${index}`)] as const);
  const { read } = await readBack(many);
  expect(read).toEqual([...many.slice(0, 20).map(([, ask]) => ask), ...Array(5).fill(undefined)]);
  const long = ['long', askOf('m'.repeat(MODEL_NAME_LENGTH_MAX + 1))] as const;
  expect((await readBack([long, ['short', askOf('a')]])).read).toEqual([undefined, askOf('a')]);
});

test('fifty thousand lines fit into one stored value', async () => {
  const writer = new LineAsksWriter();
  for (let line = 0; line < 50_000; line += 1) await writer.add(`line ${line}`, askOf(line % 2 ? 'a' : 'b'));
  const characters = JSON.stringify(writer.written()).length;
  expect(characters).toBeGreaterThan(200_000);
  expect(characters * 3).toBeLessThan(1_950_000);
});
