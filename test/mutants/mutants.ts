/**
 * `npm run test:mutants`: changes the pure files in small ways and prints which changes no unit or property test
 * notices.
 */
import { runSuite, wholeNumber } from '../support/command-line.ts';
import { described, PURE_FILES, runMutants } from './run.ts';

const HELP = `npm run test:mutants [-- --sample 6 --files 'src/domain/*.ts']

Makes mutants of the files that hold rules without I/O: a comparison turned, a number off by one, a statement left out.
Runs the unit and property tests that import the file with each, and prints the share that they notice and the mutants
that survive. Those that cannot change any result stand with their reason in test/mutants/equivalent.json. No file is
changed. Exits with 1 where the share is below 90 %. Ctrl+C ends the run and prints what was found so far.

  --sample N       mutants of each file at most (6)
  --files GLOB     of these files; may be given several times
  --seed N         which mutants are taken (1)
  --concurrency N  processes, 1 or 2 (2)
  --json           the report as JSON on standard output
  --help           this text`;

const GOAL_PERCENT = 90;

await runSuite({
  help: HELP,
  options: {
    sample: { type: 'string', default: '6' },
    files: { type: 'string', multiple: true, default: PURE_FILES },
    seed: { type: 'string', default: '1' },
    concurrency: { type: 'string', default: '2' },
  },
  read: ({ files, sample, seed, concurrency }) => ({
    files,
    sample: wholeNumber('sample', sample, 1, 10_000),
    seed: wholeNumber('seed', seed, 1, 2 ** 31),
    concurrency: wholeNumber('concurrency', concurrency, 1, 2),
  }),
  async run(asked, { json, ...running }) {
    const report = await runMutants({ ...asked, ...running });
    if (json) console.log(JSON.stringify(report, null, 2));
    else {
      for (const mutant of report.survivors) console.log(described(mutant));
      for (const [name, { noticed, timedOut, survived, equivalent, percent }] of Object.entries(report.scores))
        console.log(
          `${name.padEnd(24)} ${percent} %  ${noticed} noticed (${timedOut} by running out of time), ${survived} survived, ${equivalent} equivalent`,
        );
    }
    return report.interrupted || (report.scores.all?.percent ?? 0) >= GOAL_PERCENT;
  },
});
