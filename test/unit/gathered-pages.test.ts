/**
 * Promise: pages in a projector's memory go to D1 in the order in which they came, in parts within the bounds of a transaction,
 * and each customer is answered once: when D1 has its page, when the page is stored, or when its customer is erased.
 */
import { expect, test } from 'vitest';
import { GatheredPages } from '../../durable-objects/projector/gathered.ts';
import { asCustomerId, asOrganizationId } from '../../src/domain/ids.ts';
import type { HandOver } from '../../src/objects/projector-commands.ts';

const organizationId = asOrganizationId('o');
const handOver = (customerId: string, changes: number, page = '{}'): HandOver => ({
  database: 'DB' as HandOver['database'],
  organizationId,
  customerId: asCustomerId(customerId),
  subscriptionId: customerId,
  sinceMs: 0,
  changes,
  more: false,
  page,
});

/** Pages of customers with so many changes, and what became of them. */
function gather(pages: Record<string, number>) {
  const gathered = new GatheredPages();
  const outcomes: string[] = [];
  for (const [customerId, changes] of Object.entries(pages))
    gathered.add(handOver(customerId, changes)).then(
      () => outcomes.push(customerId),
      (error: unknown) => outcomes.push(`${customerId}: ${error}`),
    );
  const customersOf = (part: { handOver: HandOver }[]) => part.map((page) => page.handOver.customerId);
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { gathered, outcomes, customersOf, settle };
}

test('a part has as many pages as fit, and its customers are answered before the next part', async () => {
  const { gathered, outcomes, customersOf, settle } = gather({ a: 2, b: 1, c: 1, large: 9, d: 1 });
  const parts: string[][] = [];
  for (const part of gathered.parts(3, 1_000)) {
    parts.push(customersOf(part));
    gathered.answer(part);
    await settle();
    expect(outcomes).toEqual(parts.flat());
  }
  expect(parts).toEqual([['a', 'b'], ['c'], ['large'], ['d']]);
  expect(gathered.isEmpty).toBe(true);
});

test('a page that came during a delivery waits for the next one, and an erased one is left out', async () => {
  const { gathered, outcomes, customersOf, settle } = gather({ a: 3, b: 3, c: 3 });
  const parts: string[][] = [];
  for (const part of gathered.parts(3, 1_000)) {
    parts.push(customersOf(part));
    void gathered.add(handOver('late', 1));
    gathered.erase({ organizationId, customerId: asCustomerId('b') });
    gathered.answer(part);
  }
  await settle();
  expect(parts).toEqual([['a'], ['c']]);
  expect(outcomes).toEqual(['b', 'a', 'c']);
  expect(gathered.isEmpty).toBe(false);
});

test('pages that cannot be stored stay with their customers', async () => {
  const { gathered, outcomes, settle } = gather({ a: 1, b: 1 });
  gathered.moveTo(() => {
    throw new Error('full');
  });
  await settle();
  expect(outcomes).toEqual(['a: Error: full', 'b: Error: full']);
  expect(gathered.isEmpty).toBe(true);
});

test('memory has room for 16 million characters', () => {
  const gathered = new GatheredPages();
  const half = handOver('a', 1, 'x'.repeat(8_000_000));
  void gathered.add(half);
  expect(gathered.hasRoomFor(half)).toBe(true);
  void gathered.add(half);
  expect(gathered.hasRoomFor(handOver('b', 1))).toBe(false);
});
