/**
 * A JSON text with changed members means the changed object, and every other member keeps its spelling.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonText } from '../../src/platform/json-text.ts';
import { CHARACTER } from '../support/characters.ts';

type Fields = Record<string, unknown>;

const space = fc.stringMatching(/^[ \n\r\t]{0,3}$/);
/** Names that often repeat each other, and names that only look alike in the text. */
const name = fc.oneof(fc.constantFrom('a', 'b', 'model', '', '__proto__', '{"x":1}'), fc.string({ maxLength: 4 }));
const number = fc.oneof(
  fc.constantFrom('9223372036854775807', '-0', '1.0', '1E400', '0.10000000000000000001'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
);
const quoted = fc.string({ unit: CHARACTER, maxLength: 8 }).map((value) => JSON.stringify(value));
/** The same text as JSON, written with escapes. */
const escaped = fc
  .string({ maxLength: 5 })
  .map((value) => `"${[...value].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`);
const { value: jsonText } = fc.letrec<{ value: string; object: string; array: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(number, quoted, escaped, fc.constantFrom('true', 'false', 'null', '"\\\\"', '"\\"}"')),
    tie('object'),
    tie('array'),
  ),
  array: fc.tuple(fc.array(tie('value'), { maxLength: 3 }), space).map(([items, gap]) => `[${items.join(`,${gap}`)}]`),
  object: fc
    .tuple(fc.uniqueArray(fc.tuple(name, tie('value')), { maxLength: 3, selector: ([key]) => key }), space)
    .map(([members, gap]) => `{${members.map(([key, text]) => `${JSON.stringify(key)}:${gap}${text}`).join(',')}}`),
}));
const members = fc.uniqueArray(fc.record({ name, text: jsonText, gaps: fc.tuple(space, space, space) }), {
  maxLength: 6,
  selector: (member) => member.name,
});
const written = (list: { name: string; text: string; gaps: [string, string, string] }[], around: string) =>
  `${around}{${list.map(({ name: key, text, gaps: [a, b, c] }) => `${a}${JSON.stringify(key)}${b}:${c}${text}${a}`).join(',')}${around}}${around}`;
const changes = fc.array(fc.tuple(name, fc.option(fc.jsonValue({ maxDepth: 1 }), { nil: undefined })), {
  maxLength: 4,
});

test('what changes is changed, and the rest is byte for byte what it was', () => {
  fc.assert(
    fc.property(members, changes, space, (list, edits, around) => {
      const text = written(list, around);
      const before = JSON.parse(text) as Fields;
      const after = { ...before };
      // `__proto__` is a name like any other in JSON.
      for (const [key, value] of edits)
        Object.defineProperty(after, key, { value, enumerable: true, configurable: true, writable: true });
      const changed = new JsonText(text, before).changed(before, after);
      const expected = JSON.parse(JSON.stringify(after)) as Fields;
      expect(JSON.stringify(sorted(JSON.parse(changed)))).toBe(JSON.stringify(sorted(expected)));
      const edited = new Set(edits.filter(([key, value]) => !Object.is(before[key], value)).map(([key]) => key));
      for (const { name: key, text: value } of list)
        if (!edited.has(key)) expect(changed).toContain(`:${afterColon(list, key)}${value}`);
      if (edited.size === 0) expect(changed).toBe(text);
    }),
    { numRuns: 2_000 },
  );
});

test('a text that has a name twice, however deep, is written anew from what was read of it', () => {
  fc.assert(
    fc.property(members, jsonText, jsonText, fc.boolean(), (list, first, second, nested) => {
      const twice = `{"x":${first},"\\u0078":${second}}`;
      const text = nested
        ? written([...list.filter(({ name: key }) => key !== 'deep'), member('deep', twice)], '')
        : twice;
      const value = JSON.parse(text) as Fields;
      expect(new JsonText(text, value).changed(value, value)).toBe(JSON.stringify(value));
    }),
  );
});

test('keeps digits that no number has, spaces and escapes', () => {
  const text = '{ "seed" : 9223372036854775807 ,\n"model":"gpt", "user":"caf\\u00e9", "deep":{"n":1.0} }';
  const before = JSON.parse(text) as Fields;
  const { user: _user, ...rest } = before;
  const after = { ...rest, model: 'other', stream: true };
  expect(new JsonText(text, before).changed(before, after)).toBe(
    '{ "seed" : 9223372036854775807 ,\n"model":"other", "deep":{"n":1.0},"stream":true }',
  );
  expect(new JsonText(' {} ', {}).changed({}, { a: 1 })).toBe(' {"a":1} ');
});

const member = (key: string, text: string) => ({ name: key, text, gaps: ['', '', ''] as [string, string, string] });
const afterColon = (list: { name: string; gaps: [string, string, string] }[], key: string) =>
  list.find((one) => one.name === key)?.gaps[2] ?? '';
/** Members in the order of their names, because added ones come last. */
function sorted(value: Fields): [string, unknown][] {
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}
