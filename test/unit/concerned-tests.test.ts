/** `npm run test:changed` leaves out no test that a change may concern. */
import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { concernedTests } from '../support/concerned-tests.ts';
import { ROOT } from '../support/imports.ts';

const TESTS = globSync('test/{unit,property,worker,scenario,e2e}/**/*.test.ts', { cwd: ROOT }).toSorted();
const within = (folder: string) => TESTS.filter((file) => file.startsWith(`test/${folder}/`));

test('a rule concerns the tests that import it, by however many steps, and every test of the whole service', () => {
  const concerned = concernedTests(TESTS, ['src/domain/period.ts']);
  expect(concerned).toEqual(
    expect.arrayContaining(['test/unit/period.test.ts', 'test/property/period.property.test.ts']),
  );
  for (const folder of ['worker', 'scenario', 'e2e']) expect(concerned).toEqual(expect.arrayContaining(within(folder)));
  expect(concerned).not.toContain('test/unit/bytes.test.ts');
});

test('a migration concerns every test of the whole service', () => {
  expect(concernedTests(TESTS, ['d1-migrations/0000_start.sql'])).toEqual(expect.arrayContaining(within('worker')));
});

test('a test that reads files is concerned by every change', () => {
  for (const file of ['src/domain/period.ts', 'test/crash/run.ts', 'test/worker/calls.test.ts'])
    expect(concernedTests(TESTS, [file])).toContain('test/unit/architecture.test.ts');
});

test('a change of one test concerns it and no other test that imports tell of', () => {
  const concerned = concernedTests(TESTS, ['test/worker/calls.test.ts']);
  expect(concerned).toContain('test/worker/calls.test.ts');
  expect(concerned).not.toContain('test/worker/credits.test.ts');
});

test('what no import shows concerns every test: configuration, documents, pictures', () => {
  for (const file of [
    'package.json',
    'wrangler.toml',
    'docs/errors.md',
    'test/vitest.config.ts',
    'test/fixtures/new.json',
  ])
    expect(concernedTests(TESTS, [file])).toEqual(TESTS);
});

test('no change concerns no test', () => {
  expect(concernedTests(TESTS, [])).toEqual([]);
});
