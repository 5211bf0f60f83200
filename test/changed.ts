/**
 * `npm run test:changed`: the tests that a change concerns, for the work in between. `npm test` stays what a change must
 * pass.
 *
 * A test is concerned if it imports a changed file. What imports do not show counts as importing everything: a test that
 * starts a server or the bundled Worker has all of `src`, `durable-objects` and `d1-migrations`, and a test that reads
 * files has the whole repository. A changed file that is none of these concerns every test.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fileOf, ROOT, reachedFrom } from './support/imports.ts';

const HELP = `npm run test:changed [-- --since main] [-- --list]

Runs the tests of \`npm test\` that the files changed since a commit concern, without the type check.

  --since COMMIT   changed since this commit (HEAD: what is not committed)
  --list           prints the test files instead of running them
  --help           this text`;

/** Tests that start a server or run inside the bundled Worker. */
const OF_THE_WHOLE_SERVICE = /^test\/(e2e|worker|scenario)\//;
const SERVICE = /^(src|durable-objects|d1-migrations)\//;
const READS_FILES = /from 'node:(fs|fs\/promises|child_process)'/;
const TESTS = ['test/unit', 'test/property', 'test/worker', 'test/scenario', 'test/e2e'];
/** Suites of their own, which \`npm test\` does not run. */
const OTHER_SUITES =
  /^test\/(attack|bench|browser|cap|clients|compression|crash|fuzz|mutants|newcomer|readings|runtimes)\//;

function git(...args: string[]): string[] {
  const printed = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  return printed.split('\0').filter((line) => line !== '');
}

/** Which of these tests the changed files concern. */
export function concernedTests(tests: readonly string[], changed: readonly string[]): string[] {
  const isReached = (file: string) => tests.some((test) => reachedFrom(test).has(file));
  // Configuration, a document, a picture: what depends on it is unknown. A suite of its own has no test here.
  const isUnknown = (file: string) =>
    !file.includes('/') || (!isReached(file) && !SERVICE.test(file) && !OTHER_SUITES.test(file));
  if (changed.some(isUnknown)) return [...tests];
  return tests.filter((test) => {
    const files = reachedFrom(test);
    if (changed.some((file) => files.has(file))) return true;
    if ([...files.keys()].some((file) => READS_FILES.test(fileOf(file).source))) return changed.length > 0;
    return OF_THE_WHOLE_SERVICE.test(test) && changed.some((file) => SERVICE.test(file));
  });
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

if (import.meta.main) main();
