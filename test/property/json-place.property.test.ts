/**
 * A value of a JSON text is found wherever it stands in the bytes, and in no string, list or deeper object that looks
 * alike.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findValue } from '../../src/platform/json-text.ts';
import { CHARACTER } from '../support/characters.ts';

const space = fc.stringMatching(/^[ \n\r\t]{0,3}$/);
/** Names that often repeat each other, and names that only look alike. */
const name = fc.oneof(fc.constantFrom('a', 'b', '', '__proto__', '"a":1', '\\'), fc.string({ unit: CHARACTER }));
const { value } = fc.letrec<{ value: string; object: string; array: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(
      fc.constantFrom('9223372036854775807', '-0', '1E400', 'true', 'null', '"\\\\"', '"\\"}"', '"{\\"a\\":1}"'),
      fc.string({ unit: CHARACTER }).map((text) => JSON.stringify(text)),
    ),
    tie('object'),
    tie('array'),
  ),
  array: fc.tuple(fc.array(tie('value'), { maxLength: 3 }), space).map(([items, gap]) => `[${items.join(`,${gap}`)}]`),
  object: fc
    .tuple(fc.array(fc.tuple(name, tie('value')), { maxLength: 3 }), space)
    .map(([members, gap]) => `{${members.map(([key, text]) => `${JSON.stringify(key)}:${gap}${text}`).join(',')}}`),
}));
const members = fc.array(fc.record({ name, text: value, gaps: fc.tuple(space, space, space) }), { maxLength: 6 });
type Members = { name: string; text: string; gaps: [string, string, string] }[];

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const encode = (text: string) => encoder.encode(text.toWellFormed());
const textAt = (bytes: Uint8Array, names: string[]) => {
  const place = findValue(bytes, names);
  return place && decoder.decode(bytes.subarray(place.start, place.end));
};
const writeObject = (list: Members, around: string) =>
  `${around}{${list.map(({ name: key, text, gaps: [a, b, c] }) => `${a}${JSON.stringify(key)}${b}:${c}${text}${a}`).join(',')}${around}}${around}`;

test('the value of a name is found if an object has the name once', () => {
  fc.assert(
    fc.property(members, space, (list, around) => {
      const bytes = encode(writeObject(list, around));
      for (const key of new Set(['a', ...list.map((member) => member.name)])) {
        const named = list.filter((member) => member.name === key);
        expect(textAt(bytes, [key])).toBe(named.length === 1 ? named[0]?.text.toWellFormed() : null);
      }
    }),
    { numRuns: 1_000 },
  );
});

test('the value of a path is the one of its last name in the object that the others lead to', () => {
  fc.assert(
    fc.property(members, members, space, (outer, inner, around) => {
      const list = outer.filter((member) => member.name !== 'body');
      const body = {
        name: 'body',
        text: writeObject(inner, '').trim(),
        gaps: ['', around, ' '] as [string, string, string],
      };
      const at = Math.floor(list.length / 2);
      const bytes = encode(writeObject([...list.slice(0, at), body, ...list.slice(at)], around));
      const named = inner.filter((member) => member.name === 'a');
      expect(textAt(bytes, ['body', 'a'])).toBe(named.length === 1 ? named[0]?.text.toWellFormed() : null);
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  ['a name with escapes', '{"mod\\u0065l" : "x" }', '"x"'],
  ['a text behind a byte order mark', '\ufeff{"model":1 }', '1'],
  ['a list', '[{"model":1}]', null],
  ['text', '"{\\"model\\":1}"', null],
  ['an object without it', '{}', null],
])('%s', (_, text, expected) => {
  expect(textAt(encoder.encode(text), ['model'])).toBe(expected);
});

test('strings that are not UTF-8 do not move it', () => {
  const bytes = new Uint8Array([...encoder.encode('{"a":"'), 0xff, 0xc3, ...encoder.encode('","model":"x"}')]);
  expect(textAt(bytes, ['model'])).toBe('"x"');
});
