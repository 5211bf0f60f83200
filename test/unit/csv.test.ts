/**
 * CSV: no text is a formula to a spreadsheet, whatever a caller wrote; numbers stay numbers, and all else is kept.
 */
import { describe, expect, test } from 'vitest';
import { csvLine, exact, formatCsv } from '../../src/platform/csv.ts';

describe('a text', () => {
  test.each([
    ['=1+1'],
    ['+1'],
    ['-1'],
    ['@SUM(1)'],
    [' =1'],
    ['\u00a0=1'],
    ['\t1'],
    ['\r1'],
    ['\n1'],
    ['\u0000=1'],
    ['\ufeff=1'],
    ['\u200b=1'],
    ['\u202e=1'],
    ['\uff1d1'],
    ['\uff0b1'],
    ['\uff0d1'],
    ['\uff20SUM(1)'],
  ])('%j begins with an apostrophe, because a spreadsheet would take it for a formula', (text) => {
    expect(csvLine([text]).replace(/^"/, '')).toMatch(/^'/);
  });

  test.each([['a=1'], ['1-2'], ["'=1"], ['"=1"'], [' a'], ['']])('%j stays as it is', (text) => {
    const line = csvLine([text]);
    expect(line.startsWith('"') ? line.slice(1, -3).replaceAll('""', '"') : line.slice(0, -2)).toBe(text);
  });
});

test('a number stays one, below zero too, and an amount keeps all its digits', () => {
  expect(csvLine([-5, exact('-0.000000001'), exact(null), null, 1e3])).toBe('-5,-0.000000001,,,1000\r\n');
});

test('titles come first, and quotes, commas and line ends are quoted', () => {
  expect(formatCsv({ a: (item: string) => item, b: () => 1 }, ['x,y', '"\n'])).toBe('a,b\r\n"x,y",1\r\n"""\n",1\r\n');
});
