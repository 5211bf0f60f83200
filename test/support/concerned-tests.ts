/**
 * The tests that a change concerns. A test is concerned if it imports a changed file. Dependencies without an import
 * count as importing everything: a test that starts a server or the bundled Worker has all of `src`, `durable-objects`
 * and `d1-migrations`, and a test that reads files has the whole repository. A changed file outside of these concerns
 * every test.
 */
import { reachedFrom, readFileImports } from './imports.ts';

/** Tests that start a server or run inside the bundled Worker. */
const OF_THE_WHOLE_SERVICE = /^test\/(e2e|worker|scenario)\//;
const SERVICE = /^(src|durable-objects|d1-migrations)\//;
const READS_FILES = /from 'node:(fs|fs\/promises|child_process)'/;
/** Suites of their own, which `npm test` does not run. */
const OTHER_SUITES =
  /^test\/(attack|bench|browser|cap|clients|compression|crash|fuzz|mutants|newcomer|readings|runtimes)\//;

/** The tests among these that the changed files concern. */
export function concernedTests(tests: readonly string[], changed: readonly string[]): string[] {
  const isReached = (file: string) => tests.some((test) => reachedFrom(test).has(file));
  // Configuration, a document, a picture: its dependents are unknown. A suite of its own has no test here.
  const isUnknown = (file: string) =>
    !file.includes('/') || (!isReached(file) && !SERVICE.test(file) && !OTHER_SUITES.test(file));
  if (changed.some(isUnknown)) return [...tests];
  return tests.filter((test) => {
    const files = reachedFrom(test);
    if (changed.some((file) => files.has(file))) return true;
    if ([...files.keys()].some((file) => READS_FILES.test(readFileImports(file).source))) return changed.length > 0;
    return OF_THE_WHOLE_SERVICE.test(test) && changed.some((file) => SERVICE.test(file));
  });
}
