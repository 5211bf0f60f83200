/**
 * The count of a JSON text before parsing equals the count after it, in every spelling.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type JsonBounds, JsonCount, parseJson, REQUEST_BOUNDS } from '../../src/platform/json.ts';
import { readJsonBody } from '../../src/platform/json-body.ts';
import { CHARACTER } from '../support/characters.ts';

const NO_BOUNDS = { valuesMax: Number.POSITIVE_INFINITY, levelsMax: Number.POSITIVE_INFINITY };
const encoder = new TextEncoder();

/** The count of a text that comes in parts of so many bytes. */
function countJson(
  bytes: Uint8Array,
  bounds: JsonBounds,
  partBytes = bytes.length,
): { values: number; levels: number } {
  const count = new JsonCount(bounds);
  for (let at = 0; at < bytes.length; at += Math.max(1, partBytes))
    count.push(bytes.subarray(at, at + Math.max(1, partBytes)));
  return { values: count.values, levels: count.levels };
}

function counted(value: unknown): { values: number; levels: number; numbers: number } {
  if (typeof value === 'string') return { values: 1, levels: 0, numbers: 0 };
  if (typeof value !== 'object' || value === null) return { values: 1, levels: 0, numbers: 1 };
  const inside = Object.values(value).map(counted);
  return {
    values: inside.reduce((sum, { values }) => sum + values, 1),
    levels: 1 + inside.reduce((deepest, { levels }) => Math.max(deepest, levels), 0),
    numbers: inside.reduce((sum, { numbers }) => sum + numbers, 0),
  };
}

/** A text of the value with the whitespace and the escapes that `choose` says. */
function written(value: unknown, choose: () => number): string {
  const space = () => [' ', '\n', '\t', '\r\n', '', '', '', ''][choose() % 8] ?? '';
  const string = (text: string) => {
    const characters = [...text].map((character) => {
      const escaped = JSON.stringify(character).slice(1, -1);
      const units = character.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
      return choose() % 3 === 0 ? units.join('') : escaped;
    });
    return `"${characters.join('')}"`;
  };
  const write = (item: unknown): string => {
    if (typeof item === 'string') return string(item);
    if (Array.isArray(item)) return `[${space()}${item.map((member) => write(member) + space()).join(`,${space()}`)}]`;
    if (typeof item !== 'object' || item === null) return JSON.stringify(item);
    const members = Object.entries(item).map(
      ([name, member]) => `${string(name)}${space()}:${space()}${write(member)}`,
    );
    return `{${space()}${members.join(`${space()},${space()}`)}${space()}}`;
  };
  return space() + write(value) + space();
}

/** Strings that look like structure, and strings whose end is hard to find. */
const oddText = fc.array(
  fc.constantFrom(
    '"',
    '\\',
    '\\\\',
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    ' ',
    '\u0000',
    'é',
    '\u2028',
    '💡',
    '\ud800',
    'a',
    '1',
  ),
  {
    maxLength: 8,
  },
);
const text = fc.oneof(
  oddText.map((parts) => parts.join('')),
  fc.string({ unit: CHARACTER }),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(
      text,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      fc.constantFrom(true, false, null, -0, 1e300),
    ),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(text, tie('value'), { maxKeys: 5 }),
  ),
}));
const choices = fc.infiniteStream(fc.nat(23));

test('the counts of values and levels agree with JSON.parse for any strings and white space', () => {
  fc.assert(
    fc.property(value, choices, fc.boolean(), (item, stream, marked) => {
      const json = written(item, () => stream.next().value);
      const expected = counted(JSON.parse(json));
      const bytes = encoder.encode((marked ? '\ufeff' : '') + json);
      expect(countJson(bytes, NO_BOUNDS)).toEqual({ values: expected.values, levels: expected.levels });
      const withoutNumbers = { values: expected.values - expected.numbers, levels: expected.levels };
      expect(countJson(bytes, { ...NO_BOUNDS, freeNumbers: true })).toEqual(withoutNumbers);
      for (const partBytes of [1, 2, 3, 7]) {
        expect(countJson(bytes, NO_BOUNDS, partBytes)).toEqual({ values: expected.values, levels: expected.levels });
      }
      expect(parseJson(bytes, REQUEST_BOUNDS)).toEqual({ ok: true, value: JSON.parse(json), text: json });
    }),
    { numRuns: 2_000 },
  );
});

test('a limit is exceeded by one more value, not by the last allowed one', () => {
  fc.assert(
    fc.property(value, choices, (item, stream) => {
      const bytes = encoder.encode(written(item, () => stream.next().value));
      const { values, levels } = counted(item);
      const exact = countJson(bytes, { valuesMax: values, levelsMax: levels });
      expect([exact.values <= values, exact.levels <= levels]).toEqual([true, true]);
      expect(countJson(bytes, { valuesMax: values - 1, levelsMax: levels }).values).toBeGreaterThan(values - 1);
      expect(countJson(bytes, { valuesMax: values, levelsMax: levels - 1 }).levels).toBeGreaterThan(levels - 1);
    }),
  );
});

test('bytes that are not JSON are rejected without an exception', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      const parsed = parseJson(bytes, REQUEST_BOUNDS);
      let isJson = true;
      try {
        JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes));
      } catch {
        isJson = false;
      }
      expect(parsed.ok).toBe(isJson);
    }),
    { numRuns: 1_000 },
  );
});

test('a body in parts parses like the same bytes at once, including errors', async () => {
  const broken = fc.oneof(
    fc.json().map((json) => encoder.encode(json)),
    fc.uint8Array({ maxLength: 40 }),
    fc.tuple(fc.json(), fc.nat(60)).map(([json, end]) => encoder.encode(json).subarray(0, end)),
  );
  await fc.assert(
    fc.asyncProperty(broken, fc.integer({ min: 1, max: 9 }), async (bytes, partBytes) => {
      const parts = new ReadableStream({
        type: 'bytes',
        start(controller) {
          for (let at = 0; at < bytes.length; at += partBytes) controller.enqueue(bytes.slice(at, at + partBytes));
          controller.close();
        },
      });
      const request = new Request('https://callmeter.test', {
        method: 'POST',
        body: parts,
        duplex: 'half',
      } as RequestInit);
      const atOnce = bytes.length === 0 ? { ok: false, broken: 'empty' } : parseJson(bytes, REQUEST_BOUNDS);
      expect(await readJsonBody(request, 1_000)).toEqual(atOnce);
    }),
    { numRuns: 500 },
  );
});
