/** A command tells a wrong command line from work that failed. */
import { parseArgs } from 'node:util';
import { expect, test } from 'vitest';
import { isUsageError, UsageError } from '../../src/cli/usage-error.ts';

test('a command line that is wrong is told from work that failed, whatever code the error has', () => {
  const refused = (() => {
    try {
      return parseArgs({ args: ['--unknown'], options: {} });
    } catch (error) {
      return error as Error;
    }
  })() as Error;
  expect(isUsageError(refused)).toBe(true);
  expect(isUsageError(new UsageError('--date must be a date'))).toBe(true);
  expect(isUsageError(Object.assign(new Error('the compiler failed'), { code: 2 }))).toBe(false);
  expect(isUsageError(Object.assign(new Error('no such file'), { code: 'ENOENT' }))).toBe(false);
  expect(isUsageError(new Error('no code'))).toBe(false);
});
