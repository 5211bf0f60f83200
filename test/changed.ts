/**
 * `npm run test:changed`: the tests that a change concerns (support/concerned-tests.ts), for use while working. A
 * finished change must still pass `npm test`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { concernedTests } from './support/concerned-tests.ts';
import { ROOT } from './support/imports.ts';

const HELP = `npm run test:changed [-- --since main] [-- --list]

Runs the tests of \`npm test\` that the files changed since a commit concern, without the type check.

  --since COMMIT   changed since this commit (HEAD: what is not committed)
  --list           prints the test files instead of running them
  --help           this text`;

const TESTS = ['test/unit', 'test/property', 'test/worker', 'test/scenario', 'test/e2e'];

function git(...args: string[]): string[] {
  const printed = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  return printed.split('\0').filter((line) => line !== '');
}

function main(): void {
  const { values } = parseArgs({
    options: { since: { type: 'string', default: 'HEAD' }, list: { type: 'boolean' }, help: { type: 'boolean' } },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  const changed = [
    ...git('diff', '--name-only', '-z', values.since),
    ...git('ls-files', '--others', '--exclude-standard', '-z'),
  ];
  const tests = TESTS.flatMap((folder) => globSync(`${folder}/**/*.test.ts`, { cwd: ROOT })).toSorted();
  const concerned = concernedTests(tests, changed);
  console.error(`${changed.length} changed files concern ${concerned.length} of ${tests.length} test files.`);
  if (values.list) for (const test of concerned) console.log(test);
  if (values.list || concerned.length === 0) return;
  const runner = [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--config', 'test/vitest.config.ts'];
  const { status } = spawnSync(process.execPath, [...runner, ...concerned], { cwd: ROOT, stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

try {
  main();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 2;
}
