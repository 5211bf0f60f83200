/** A run ends with the facts that a reader looks for: the failed tests, and the slow files. */
import { expect, test } from 'vitest';
import { closingLines } from '../closing-report.ts';

const QUIET = { file: 'test/unit/a.test.ts', seconds: 1, failed: [], broken: false };

test('a run without failures and slow files ends with nothing', () => {
  expect(closingLines([QUIET], 0)).toEqual([]);
});

test('every failed test is named with its file, and a file that failed without a test', () => {
  const files = [
    { ...QUIET, failed: ['a rule > holds', 'another'], broken: true },
    { ...QUIET, file: 'test/unit/b.test.ts', broken: true },
  ];
  expect(closingLines(files, 2)).toEqual([
    'Failed:',
    '  test/unit/a.test.ts > a rule > holds',
    '  test/unit/a.test.ts > another',
    '  test/unit/b.test.ts',
    'Failed: 2 errors outside of tests',
  ]);
});

test('files of more than 60 seconds are named, the slowest first', () => {
  const files = [QUIET, { ...QUIET, seconds: 61 }, { ...QUIET, file: 'test/e2e/c.test.ts', seconds: 75.4 }];
  expect(closingLines(files, 0)).toEqual([
    'Longer than 60 s:',
    '  test/e2e/c.test.ts 75 s',
    '  test/unit/a.test.ts 61 s',
  ]);
});
