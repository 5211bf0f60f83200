/**
 * The bounds of JSON from outside: a text that breaks one is not parsed.
 */
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  JSON_LEVELS_MAX,
  JSON_VALUES_MAX,
  parseAnswer,
  parseJson,
  parseJsonText,
  parseSingleJson,
  REQUEST_BOUNDS,
  respelledName,
} from '../../src/platform/json.ts';

const MIB = 1_024 * 1_024;
const encoder = new TextEncoder();
const list = (item: string, count: number) => `[${Array(count).fill(item).join(',')}]`;

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a text', () => {
  test.each([
    ['numbers', '1', 1],
    ['strings', '"a"', 1],
    ['literals', 'null', 1],
    ['empty objects', '{}', 1],
    ['empty lists', '[]', 1],
    ['members, whose names count with them', '{"name":1}', 2],
    ['pairs', '[1,"a"]', 3],
  ])('may have 200,000 values and no more: %s', (_, item, values) => {
    const most = Math.floor((JSON_VALUES_MAX - 1) / values);
    expect(parseJsonText(list(item, most)).ok).toBe(true);
    expect(parseJsonText(list(item, most + 1))).toEqual({ ok: false, broken: 'values' });
  });

  test('may nest 100 levels and no more', () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const nested = (levels: number) => `${open.repeat(levels)}1${close.repeat(levels)}`;
      expect(parseJsonText(nested(JSON_LEVELS_MAX)).ok).toBe(true);
      for (const levels of [JSON_LEVELS_MAX + 1, 1_000_000]) {
        expect(parseJsonText(nested(levels))).toEqual({ ok: false, broken: 'levels' });
      }
    }
  });

  test('of a conversation of 5,000 long messages passes', () => {
    const content = [{ type: 'text', text: 'A long message, "quoted", with {brackets: [1, 2]}.\n'.repeat(36) }];
    const messages = Array.from({ length: 5_000 }, (_, turn) => ({ role: turn % 2 ? 'assistant' : 'user', content }));
    const text = JSON.stringify({ model: 'gpt-5.2', messages });
    expect(text.length).toBeGreaterThan(9 * MIB);
    expect(parseJsonText(text).ok).toBe(true);
  });

  test.each([
    ['no text', ''],
    ['half an object', '{"a":1'],
    ['a string without its end', '"abc\\"'],
    ['a member without a value', '{"a":}'],
    ['two values', '1 2'],
  ])('that is %s is no JSON', (_, text) => {
    expect(parseJsonText(text)).toEqual({ ok: false, broken: 'syntax', reason: expect.stringMatching(/./) });
  });

  test('that is not UTF-8 is rejected', () => {
    expect(parseJson(Uint8Array.of(0x22, 0xff, 0x22))).toEqual({
      ok: false,
      broken: 'syntax',
      reason: expect.stringMatching(/./),
    });
  });
});

test.each([
  ['empty objects', '{},', '{}'],
  ['empty strings', '"",', '""'],
  ['objects in objects', '{"a":{"b":{}}},', '{}'],
])('9.9 MB of %s are refused without being parsed, in the memory of the text', (_, unit, last) => {
  const bytes = encoder.encode(`[${unit.repeat(Math.floor((9.9 * MIB) / unit.length))}${last}]`);
  const parse = vi.spyOn(JSON, 'parse');
  const before = process.memoryUsage().heapUsed;
  expect(parseJson(bytes, REQUEST_BOUNDS)).toEqual({ ok: false, broken: 'values' });
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(MIB);
  expect(parse).not.toHaveBeenCalled();
});

describe("a vendor's answer", () => {
  test('may contain any number of numbers, as in an embedding', () => {
    expect(parseAnswer(list('-0.012345678', 500_000))).toHaveLength(500_000);
  });

  test('with too many other values is not parsed', () => {
    expect(parseAnswer(list('{}', JSON_VALUES_MAX))).toBeUndefined();
    expect(parseAnswer(list('{}', JSON_VALUES_MAX - 1))).toHaveLength(JSON_VALUES_MAX - 1);
    expect(parseAnswer('<html>')).toBeUndefined();
  });
});

test('a text that has a name twice in one object is none that all readers take for the same', () => {
  const broken = { ok: false, broken: 'double' };
  for (const text of [
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '[{"a":[{"b":{},"b":null}]}]',
    '{"__proto__":1,"__proto__":2}',
  ])
    expect([text, parseSingleJson(text)]).toEqual([text, broken]);
  for (const text of [
    '{"a":{"a":[{"a":1},{"a":2}]}}',
    '"a:a"',
    '{"é":"\\"","e":"{\\"e\\":1}"}',
    '[1,1,{}]',
    '{"__proto__":1}',
  ])
    expect(parseSingleJson(text)).toEqual({ ok: true, value: JSON.parse(text), text });
  expect(parseSingleJson('{')).toMatchObject({ ok: false, broken: 'syntax' });
  expect(parseSingleJson('['.repeat(JSON_LEVELS_MAX + 1))).toEqual({ ok: false, broken: 'levels' });
});

test('a name that is another one in large and small letters is told', () => {
  expect(respelledName({ model: 'a', n: 1, Model: 'b' })).toBe('Model');
  expect(respelledName({ model: { Model: 1 }, models: [], modeL2: 1 })).toBeUndefined();
});
