/**
 * Promise: a page of changes fits the row in which its projector keeps it, whatever callers send, so that no customer's history
 * stops.
 */
import { expect, test } from 'vitest';
import { assertTextFits } from '../../durable-objects/stored-value.ts';
import { METADATA_LENGTH_MAX } from '../../src/contract/custom-meter.ts';
import { TAGS_MAX, TEXT_LENGTH_MAX } from '../../src/contract/fields.ts';
import { accepted, type Clockwork, withObject } from '../support/object.ts';
import { bindings } from '../support/worker.ts';
import { NO_USAGE as USED } from '../unit/fixtures.ts';

/** The largest row of an object's table at Cloudflare. A local workerd takes more. */
const ROW_BYTES_MAX = 2_000_000;
const START = Date.UTC(2027, 2, 1);
const LATER = START + 3_600_000;
const PLAN = { name: 'P', limitType: 'NONE', customMeters: { CUSTOM1: { label: 'Pages' } } };
const CHANGES = 120;

/** A D1 that is unavailable: handed-over changes wait at the projector. */
const away = {
  prepare: () => ({ bind: () => null }),
  batch: async () => {
    throw new Error('D1 is away');
  },
} as unknown as D1Database;

const words = (character: string) =>
  Array.from({ length: TAGS_MAX }, () => character.repeat(TEXT_LENGTH_MAX / character.length));

async function handOver(object: Clockwork): Promise<{ bytes: number; changes: number }[]> {
  while ((await object.deliver(away, START)).more);
  return object.query<{ bytes: number; changes: number }>(
    'SELECT length(CAST(page AS BLOB)) + 1000 AS bytes, changes FROM pages',
  );
}

test.each([
  ['plain letters', 'a'],
  ['letters of three bytes', '\u20ac'],
  ['letters of two halves', '\u{1f600}'],
  ['quotation marks', '"'],
  ['backslashes', '\\'],
])('of calls whose tags are %s', async (_, character) => {
  await withObject(PLAN, async (object, { organizationId }) => {
    for (let n = 0; n < CHANGES; n += 1) accepted(object.begin(`call-${n}`, START, { tags: words(character) }));
    const pages = await handOver(object);
    expect(Math.max(...pages.map(({ bytes }) => bytes))).toBeLessThan(ROW_BYTES_MAX);
    while (object.outbox().pending > 0) await object.deliver(bindings.DB, LATER);
    const counted = bindings.DB.prepare('SELECT COUNT(*) AS calls FROM calls WHERE organization_id = ?');
    expect(await counted.bind(organizationId).first()).toEqual({ calls: CHANGES });
  });
});

test.each([
  ['quotation marks', '"'],
  ['letters of three bytes', '\u20ac'],
])('of increments whose metadata is %s', async (_, character) => {
  await withObject(PLAN, async (object, { organizationId }) => {
    const text = character.repeat((METADATA_LENGTH_MAX - 10) / (character === '"' ? 2 : 1));
    const more = { metadata: { m: text }, tags: words(character) };
    accepted(object.begin('of the customer', START));
    for (let n = 0; n < CHANGES; n += 1) accepted(object.increment(1, START, more));
    const pages = await handOver(object);
    expect(Math.max(...pages.map(({ bytes }) => bytes))).toBeLessThan(ROW_BYTES_MAX);
    while (object.outbox().pending > 0) await object.deliver(bindings.DB, LATER);
    const counted = bindings.DB.prepare('SELECT COUNT(*) AS events FROM meter_events WHERE organization_id = ?');
    expect(await counted.bind(organizationId).first()).toEqual({ events: CHANGES });
  });
});

test('holds as many ordinary changes as before', async () => {
  await withObject(PLAN, async (object) => {
    for (let n = 0; n < CHANGES; n += 1) {
      accepted(object.begin(`call-${n}`, START, { feature: 'chat' }));
      accepted(object.end(`call-${n}`, START, { modelUsed: 'm', usage: { ...USED, inputTokens: 9 } }));
    }
    expect(await handOver(object)).toHaveLength(1);
  });
});

test('is refused here as Cloudflare refuses it, if it is too large all the same', () => {
  assertTextFits('a page', 'a'.repeat(1_900_000));
  for (const text of ['a'.repeat(2_000_000), '\u20ac'.repeat(660_000)])
    expect(() => assertTextFits('a page', text)).toThrow('a page is larger than an object can store');
});
