/**
 * Figures as people read them: never wrong by more than their last digit, and never a digit that says nothing.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatUsd, usd } from '../../src/domain/money.ts';
import { NEVER_MS } from '../../src/domain/period.ts';
import {
  byteSize,
  calendarDay,
  compact,
  compactPlural,
  count,
  distance,
  duration,
  moment,
  parseNanoUsd,
  percent,
  plural,
  rate,
  timeSpan,
  usdColumn,
  words,
} from '../../src/ui/format.ts';

describe('money', () => {
  test.each([
    [0n, '$0.00'],
    [1n, '$0.000000001'],
    [595_000n, '$0.000595'],
    [5_950_000n, '$0.00595'],
    [12_345_678n, '$0.0123'],
    [20_100_000n, '$0.0201'],
    [100_000_000n, '$0.10'],
    [123_456_789n, '$0.123'],
    [999_999_999n, '$1.00'],
    [1_005_000_000n, '$1.01'],
    [1_234_567_890_000n, '$1,234.57'],
    [-25_500_000_000n, '-$25.50'],
    [9_007_199_254_740_993_000_000_000n, '$9,007,199,254,740,993.00'],
  ])('%s nano-USD is %s', (nano, shown) => {
    expect(usd(nano)).toBe(shown);
  });

  test('is within half of its last digit of the exact amount, with the same sign', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (nano) => {
        const text = usd(nano);
        const shown = parseNanoUsd(text.replaceAll(/[$,]/g, ''));
        const decimals = text.split('.')[1]?.length ?? 0;
        const unit = 10n ** BigInt(9 - decimals);
        const error = shown > nano ? shown - nano : nano - shown;
        expect(error * 2n).toBeLessThanOrEqual(unit);
        expect(decimals).toBeGreaterThanOrEqual(2);
      }),
    );
  });

  test('in a column has the same decimals, and rows that are shown exactly add up to their sum', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: 0n, max: 10n ** 13n }), { minLength: 1, maxLength: 8 }), (amounts) => {
        const sum = amounts.reduce((total, nano) => total + nano, 0n);
        const show = usdColumn([...amounts, sum], true);
        const shown = amounts.map(show);
        expect(new Set(shown.map((text) => text.split('.')[1]?.length)).size).toBe(1);
        const read = (text: string) => parseNanoUsd(text.replaceAll(/[$,]/g, ''));
        expect(shown.reduce((total, text) => total + read(text), 0n)).toBe(read(show(sum)));
      }),
    );
    expect([595_000n, 20_100_000n].map(usdColumn([595_000n, 20_100_000n]))).toEqual(['$0.000595', '$0.020100']);
    expect([2_500_000_000n, 0n].map(usdColumn([2_500_000_000n, 0n]))).toEqual(['$2.50', '$0.00']);
  });

  test('as exact text is read back unchanged', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), (nano) => {
        expect(parseNanoUsd(formatUsd(nano))).toBe(nano);
      }),
    );
  });

  test.each([
    [2.5, '$2.50'],
    [0.075, '$0.075'],
    [1234, '$1,234.00'],
    [0.000000001, '$0.000000001'],
  ])('a rate of %s is %s', (value, shown) => {
    expect(rate(value)).toBe(shown);
  });
});

describe('counts', () => {
  test.each([
    [0, '0', '0'],
    [80.333, '80.333', '80.3'],
    [9_999, '9,999', '9,999'],
    [12_345, '12,345', '12.3K'],
    [7_600_000, '7,600,000', '7.6M'],
  ])('%s is %s, in short %s', (value, whole, short) => {
    expect([count(value), compact(value)]).toEqual([whole, short]);
  });

  test('of bytes use the largest unit in which they are at least one', () => {
    expect([0, 1023, 1024, 1_572_864, 268_435_456, 10 * 1024 ** 3].map(byteSize)).toEqual([
      ...['0 bytes', '1,023 bytes', '1 KiB', '1.5 MiB'],
      ...['256 MiB', '10 GiB'],
    ]);
  });

  test('have their noun, and shares their percent', () => {
    expect([plural(1, 'call'), plural(2_000, 'call')]).toEqual(['1 call', '2,000 calls']);
    expect([compactPlural(1, 'call'), compactPlural(12_345, 'call')]).toEqual(['1 call', '12.3K calls']);
    expect([percent(0), percent(0.995), percent(1 / 3)]).toEqual(['0%', '99.5%', '33.3%']);
  });
});

describe('times', () => {
  const nowMs = Date.UTC(2026, 10, 20, 12);

  test('are in UTC', () => {
    expect(moment(Date.UTC(2026, 10, 2, 3, 4))).toBe('2 Nov 2026, 03:04');
    expect([calendarDay(Date.UTC(2026, 10, 2, 23, 59)), calendarDay('2026-11-02')]).toEqual([
      '2 Nov 2026',
      '2 Nov 2026',
    ]);
    expect([moment(NEVER_MS), distance(NEVER_MS, nowMs)]).toEqual(['never', '']);
  });

  const hour = (of: number) => Date.UTC(2026, 10, 2, of);
  test.each([
    [hour(0), hour(24), '2 Nov 2026, UTC'],
    [hour(0), hour(72), '2 Nov 2026 to 4 Nov 2026, UTC'],
    [hour(14), hour(17), '2 Nov 2026, 14:00 to 17:00 UTC'],
    [hour(18), hour(24), '2 Nov 2026, 18:00 to 24:00 UTC'],
    [hour(18), hour(30), '2 Nov 2026, 18:00 to 3 Nov 2026, 06:00 UTC'],
  ])('of a period name its last day or hour', (fromMs, toMs, text) => {
    expect(timeSpan(fromMs, toMs)).toBe(text);
  });

  test.each([
    [-30_000, 'just now'],
    [30_000, 'in a moment'],
    [-60_000, '1 minute ago'],
    [-2 * 3_600_000, '2 hours ago'],
    [-23 * 3_600_000, '23 hours ago'],
    [-25 * 3_600_000, 'yesterday'],
    [-35 * 3_600_000, 'yesterday'],
    [-37 * 3_600_000, '2 days ago'],
    [24 * 3_600_000, 'tomorrow'],
    [37 * 3_600_000, 'in 2 days'],
    [30 * 86_400_000, 'in 30 days'],
    [-59 * 86_400_000, '59 days ago'],
    [-60 * 86_400_000, '2 months ago'],
    [-400 * 86_400_000, '13 months ago'],
    [800 * 86_400_000, 'in 2 years'],
  ])('%s ms away are %s', (offset, shown) => {
    expect(distance(nowMs + offset, nowMs)).toBe(shown);
  });

  test.each([
    [17, '17 ms'],
    [1_540, '1.5 s'],
    [185_000, '3 min 5 s'],
    [7_500_000, '2 h 5 min'],
  ])('%s ms last %s', (ms, shown) => {
    expect(duration(ms)).toBe(shown);
  });
});

test.each([
  ['premiumCalls', 'Premium calls'],
  ['customMeter1', 'Custom meter 1'],
  ['CUSTOM1', 'Custom 1'],
  ['NOT_ALLOWED', 'Not allowed'],
  ['plan.put', 'Plan put'],
  ['customer.change_plan', 'Customer change plan'],
])('%s is called %s', (name, shown) => {
  expect(words(name)).toBe(shown);
});
