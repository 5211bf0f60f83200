/**
 * The last lines of a run: the names of the failed tests, because the messages above them are long, and the slow test
 * files, judged by a quiet machine.
 */
import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

/** A longer file delays everybody. It is reported and does not fail, because a loaded machine is slow. */
const FILE_SECONDS_MAX = 60;

export default class ClosingReport implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const lines = closingLines(modules.map(resultOf), errors.length);
    if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
  }
}

export interface FileResult {
  file: string;
  seconds: number;
  /** Full names of the tests that failed. */
  failed: string[];
  /** The file itself failed: it could not be loaded, or a hook of it failed. */
  broken: boolean;
}

export function closingLines(files: readonly FileResult[], errors: number): string[] {
  const slow = files.filter(({ seconds }) => seconds > FILE_SECONDS_MAX).toSorted((a, b) => b.seconds - a.seconds);
  const failed = files.flatMap(({ file, failed, broken }) => [
    ...failed.map((name) => `  ${file} > ${name}`),
    ...(broken && failed.length === 0 ? [`  ${file}`] : []),
  ]);
  return [
    ...(slow.length > 0 ? [`Longer than ${FILE_SECONDS_MAX} s:`] : []),
    ...slow.map(({ file, seconds }) => `  ${file} ${Math.round(seconds)} s`),
    ...(failed.length > 0 ? ['Failed:', ...failed] : []),
    ...(errors > 0 ? [`Failed: ${errors} errors outside of tests`] : []),
  ];
}

function resultOf(module: TestModule): FileResult {
  const { duration, setupDuration, collectDuration } = module.diagnostic();
  return {
    file: relative(module.project.config.root, module.moduleId),
    seconds: (duration + setupDuration + collectDuration) / 1_000,
    failed: [...module.children.allTests('failed')].map(({ fullName }) => fullName),
    broken: module.state() === 'failed',
  };
}
