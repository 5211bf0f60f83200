/**
 * Hostile values: prototype keys, deep nesting, invalid Unicode, out-of-range numbers, text that is code in another
 * language.
 *
 * Values that JSON.stringify cannot write (deep nesting, out-of-range numbers, duplicate members) are represented by a
 * marker, which `bodyText` replaces by its text.
 */
import type { Random } from '../crash/random.ts';

const DEEP_LEVELS = 30_000;
/** The levels that a body may still have. */
const ALLOWED_LEVELS = 90;
/** For bodies that may have 300 KiB, or megabytes. */
const SAMPLE_LEVELS = 140_000;
const DEEPEST_LEVELS = 1_000_000;

const MARKS: Record<string, () => string> = {
  '@@deep-array@@': () => nested('[', ']', DEEP_LEVELS),
  '@@deep-object@@': () => nested('{"a":', '}', 10_000),
  '@@deep-mixed@@': () => nested('[{"a":', '}]', 7_000),
  '@@somewhat-deep@@': () => nested('[', ']', ALLOWED_LEVELS),
  '@@deeper-array@@': () => nested('[', ']', SAMPLE_LEVELS),
  '@@deepest-array@@': () => nested('[', ']', DEEPEST_LEVELS),
  '@@1e999@@': () => '1e999',
  '@@-1e999@@': () => '-1e999',
  '@@-0@@': () => '-0',
  '@@1e-400@@': () => '1e-400',
  '@@many-digits@@': () => '9'.repeat(4_000),
  '@@2^53+1@@': () => '9007199254740993',
  '@@twice@@': () => '{"a":1,"a":2,"__proto__":{"a":3},"__proto__":null}',
};

function nested(open: string, close: string, levels: number): string {
  return `${open.repeat(levels)}1${close.repeat(levels)}`;
}

/** The JSON text of a value, with every mark in its place. */
export function bodyText(value: unknown): string {
  const text = JSON.stringify(value) ?? '';
  return text.replace(/"(@@[^"@]+@@)"/g, (all, mark: string) => MARKS[mark]?.() ?? all);
}

export const HOSTILE_TEXTS: readonly string[] = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  'a\r\nX-Injected: yes',
  '\ud800',
  '\udfff\ud800',
  '\u2028',
  '\ufeff',
  '\u202eevil',
  'İıſK',
  '👩‍👩‍👧‍👦'.repeat(20),
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '.',
  '..',
  '../../../../etc/passwd',
  '%00',
  '%2e%2e%2f',
  '%',
  '%zz',
  '%ff%fe',
  'NaN',
  'Infinity',
  '-Infinity',
  '-0',
  '0x10',
  '1e999',
  '1_000',
  '9'.repeat(400),
  'null',
  'undefined',
  'true',
  "'; DROP TABLE calls; --",
  '" OR 1=1 --',
  "json('{')",
  '<script>alert(1)</script>',
  '{{7*7}}',
  `\${7*7}`,
  '$(id)',
  'dk-',
  `dk-${'0'.repeat(64)}-x-1`,
  `dk-${'f'.repeat(64)}-${'0'.repeat(32)}-zz`,
  'provision x',
  'A'.repeat(255),
  'A'.repeat(256),
  'A'.repeat(5_000),
  'é'.repeat(255),
  '2026-02-30T00:00:00Z',
  '+275760-09-13T00:00:00.001Z',
  'file:///etc/passwd',
  'http://127.0.0.1:1/',
  'https://fuzz.invalid/',
  'http://[::1]:1/',
  'javascript:alert(1)',
];

const own = (key: string, value: unknown): unknown => Object.defineProperty({}, key, { value, enumerable: true });

const HOSTILE_VALUES: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => 0,
  () => -1,
  () => 0.1,
  () => 1e308,
  () => Number.MAX_SAFE_INTEGER,
  () => -Number.MAX_SAFE_INTEGER,
  () => [],
  () => ({}),
  () => [[]],
  () => [null],
  () => ({ '': '' }),
  () => own('__proto__', { polluted: true }),
  () => own('constructor', own('prototype', { polluted: true })),
  () => own('toString', 'x'),
  () => own('toJSON', 'x'),
  () => own('then', 'x'),
  () => ({ length: -1 }),
  () => Array(2_000).fill(0),
  () => Array(60).fill('tag'),
  () => Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, index])),
  () => 'x'.repeat(20_000),
  () => '@@deep-array@@',
  () => '@@deep-object@@',
  () => '@@deep-mixed@@',
  () => '@@somewhat-deep@@',
  () => ({ a: '@@deep-array@@' }),
  () => '@@1e999@@',
  () => '@@-1e999@@',
  () => '@@-0@@',
  () => '@@1e-400@@',
  () => '@@many-digits@@',
  () => '@@2^53+1@@',
  () => '@@twice@@',
];

export function hostileText(random: Random): string {
  return random.pick(HOSTILE_TEXTS);
}

export function hostileValue(random: Random): unknown {
  return random.chance(0.5) ? hostileText(random) : random.pick(HOSTILE_VALUES)();
}
