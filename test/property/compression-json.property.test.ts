/**
 * JSON and TOON lose nothing: the value of the compressed text equals the original value.
 */
import { decode } from '@toon-format/toon';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compressText } from '../../src/compression/compress.ts';
import { findJson, minifyJson } from '../../src/compression/json-text.ts';
import { TECHNIQUES, type TechniqueName } from '../../src/compression/techniques.ts';
import { fencedToon } from '../../src/compression/toon.ts';
import { CHARACTER } from '../support/characters.ts';
import { missOf, swept } from '../support/sweep.ts';

const FENCED = /^```toon\n([\s\S]*)\n```$/m;
const profile = (techniques: readonly TechniqueName[]) => ({
  techniques,
  aggressiveness: 1,
  protectedPhrases: [],
  minInputTokens: 0,
});

const cells = fc.oneof(
  fc.string({ unit: CHARACTER, maxLength: 12 }),
  fc.constantFrom(
    '',
    ' ',
    'a,b',
    '- x',
    '#',
    'true',
    '1',
    '-0',
    '05',
    '```',
    '\n```',
    'a: b',
    '[2]',
    '\\',
    '"',
    '\u2028',
    '\ud83d',
    '\uFFFC',
  ),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
);
const tables = fc
  .tuple(
    fc.uniqueArray(fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('id', 'a b', '__proto__', '1', '')), {
      minLength: 1,
      maxLength: 5,
    }),
    fc.nat(12),
  )
  .chain(([names, length]) =>
    fc.array(
      fc
        .tuple(...names.map((name) => cells.map((cell) => [name, cell] as const)))
        .map((row) => Object.fromEntries(row)),
      { minLength: length, maxLength: length },
    ),
  );
const values: fc.Arbitrary<unknown> = fc.oneof(
  tables,
  fc.jsonValue({ maxDepth: 5 }),
  tables.map((rows) => ({ rows, count: rows.length })),
  fc.array(fc.dictionary(fc.string({ maxLength: 4 }), cells)),
);
const spellings = fc
  .tuple(values, fc.constantFrom(0, 2, '\t'))
  .map(([value, indent]) => JSON.stringify({ value }, null, indent));

test('JSON without blanks has the same tokens, byte for byte', () => {
  fc.assert(
    fc.property(spellings, (json) => {
      const minified = minifyJson(json);
      expect(minified).toBe(JSON.stringify(JSON.parse(json)));
      expect(minifyJson(minified)).toBe(minified);
    }),
    { numRuns: 500 },
  );
});

const RUNS = 3_000;

test('TOON decodes to the same value with its members in the same order', () => {
  const runs = swept(RUNS, 1_000);
  let offered = 0;
  fc.assert(
    fc.property(spellings, (json) => {
      const fenced = fencedToon(json);
      if (fenced === null) return;
      offered += 1;
      const value = decode(FENCED.exec(fenced)?.[1] ?? '');
      expect(value).toEqual(JSON.parse(json));
      expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(json)));
    }),
    { numRuns: runs },
  );
  expect(offered / runs).toBeGreaterThan(0.3 - missOf(0.3, runs, RUNS));
});

test('every JSON value in a text survives every technique, as JSON or as TOON', () => {
  fc.assert(
    fc.property(spellings, fc.constantFrom(['json'], ['toon'], TECHNIQUES), (json, techniques) => {
      const text = `Please read this very   carefully:\n${json}\n\nThen answer, please.`;
      const result = compressText(text, profile(techniques as readonly TechniqueName[]));
      const fenced = FENCED.exec(result.text);
      const [extent] = findJson(result.text);
      const found = fenced
        ? decode(fenced[1] ?? '')
        : extent && JSON.parse(result.text.slice(extent.start, extent.end));
      expect(JSON.stringify(found)).toBe(JSON.stringify(JSON.parse(json)));
    }),
    { numRuns: swept(1_000, 300) },
  );
});

test('only text that JSON.parse accepts is treated as JSON, and it is found completely', () => {
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"\\u00e9"',
    '"\\x"',
    '1',
    '01',
    '-',
    '-0',
    '1.5e3',
    '1.',
    'true',
    'nul',
    ' ',
    '\n',
    '\u00a0',
    "'a'",
    '//',
  );
  const parses = (json: string) => {
    try {
      return typeof JSON.parse(json) === 'object';
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 14 }), spellings, (parts, json) => {
      // Longer than the shortest that is taken for JSON.
      const odd = `["0123456789abcdef",${parts.join('')}]`;
      const whole = findJson(odd).some(({ start, end }) => start === 0 && end === odd.length);
      expect(whole).toBe(parses(odd));
      for (const { start, end } of findJson(odd)) expect(parses(odd.slice(start, end))).toBe(true);
      expect(findJson(`x ${json} y`)).toEqual([{ start: 2, end: 2 + json.length }]);
    }),
    { numRuns: swept(2_000, 700) },
  );
});
