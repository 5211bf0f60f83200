/**
 * Promise: objects' stored values stay below the 2 MB that Cloudflare takes for a row or a value, in any spelling.
 */
import { expect, test } from 'vitest';
import { assertFits, StoredValue } from '../../durable-objects/stored-value.ts';
import { accepted, withObject } from '../support/object.ts';

const BYTES_MAX = 2_000_000;
const START = Date.UTC(2027, 2, 1);

test.each([
  ['plain text', 'a'],
  ['letters of three bytes', '\u20ac'],
  ['letters of two halves', '\u{1f600}'],
  ['characters that JSON writes in six', '\u0001'],
])('an answer of 2 MiB is stored in rows that fit: %s', async (_, character) => {
  await withObject({ name: 'P', limitType: 'NONE' }, async (object) => {
    const body = character.repeat((2 * 1024 * 1024) / character.length);
    const opened = object.beginServiceCall('large', START);
    if (!opened.ok) throw new Error('refused');
    const { callId } = opened.admission;
    expect(object.endServiceCall(callId, START, {}, { response: { body } }).ok).toBe(true);
    const rows = object.query<{ bytes: number }>(
      'SELECT length(CAST(text AS BLOB)) + length(call_id) + 8 AS bytes FROM call_answers',
    );
    expect(Math.max(...rows.map(({ bytes }) => bytes))).toBeLessThan(BYTES_MAX);
    const parts = object.query<{ text: string }>('SELECT text FROM call_answers ORDER BY part');
    expect(JSON.parse(parts.map(({ text }) => text).join('')).response.body === body).toBe(true);
  });
});

test('a value that does not fit is not written', async () => {
  const written: string[] = [];
  const storage = { put: async (key: string) => void written.push(key) } as unknown as DurableObjectStorage;
  const put = (key: string, value: unknown) => new StoredValue(key, [(stored) => stored]).put(storage, value);
  await put('small', { text: '\u20ac'.repeat(600_000), amount: 7n });
  expect(() => put('large', { text: '\u20ac'.repeat(670_000) })).toThrow('large is larger than an object can store');
  expect(() => assertFits('a row', 'a'.repeat(400_000), 'a'.repeat(400_000))).toThrow('a row');
  expect(written).toEqual(['small']);
});

test('a call whose record would not fit is not begun', async () => {
  await withObject({ name: 'P', limitType: 'NONE' }, async (object) => {
    accepted(object.begin('first', START));
    expect(() => object.begin('second', START, { feature: 'f'.repeat(700_000) })).toThrow('a call is larger');
    expect(object.seen('second')).toBeNull();
  });
});
