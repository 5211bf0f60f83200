/**
 * `npm run test:runtimes`: runs a program that uses the client library with each runtime that the library is for, and
 * prints which checks passed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runSuite } from '../support/command-line.ts';
import { buildProgram, RUNTIMES, type RuntimeReport, runRuntime } from './run.ts';
import { startWorld } from './world.ts';

const HELP = `npm run test:runtimes [-- RUNTIME ...] [--json]

Installs runtimes from the npm registry into a temporary folder, and runs one program with all of them at once: calls,
retries over a connection that loses answers, idempotency, the wrapped SDKs of three vendors with streams and aborts,
sampling, compression, the model lookup, errors, and the middlewares. It uses the built package of the client, a local
service, and the vendor for trying out (npm run vendor). Exits with 1 where a check failed.

${RUNTIMES.map(({ id, title }) => `  ${id.padEnd(8)} ${title}`).join('\n')}

  --json     the report as JSON on standard output
  --help     this text`;

const failuresOf = ({ checks }: RuntimeReport) => checks.filter(({ problem }) => problem !== null);
const isGood = (report: RuntimeReport) => report.problem === null && failuresOf(report).length === 0;

await runSuite({
  help: HELP,
  options: {},
  names: { noun: 'runtime', all: RUNTIMES.map(({ id }) => id) },
  read: (_, names) => RUNTIMES.filter(({ id }) => names.length === 0 || names.includes(id)),
  async run(runtimes, { signal, json, onProgress }) {
    await using scope = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'callmeter-runtimes-'));
    scope.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    onProgress('building the client, starting a service');
    const [file, world] = await Promise.all([buildProgram(folder), startWorld(scope)]);
    const given = { world, file, folder, signal };
    // All at once: most of the time each waits for its calls to be listed.
    const reports = await Promise.all(runtimes.map((runtime) => runRuntime(runtime, given, onProgress)));
    if (json) console.log(JSON.stringify({ runtimes: reports }, null, 2));
    else for (const report of reports) print(report);
    return signal.aborted || reports.every(isGood);
  },
});

function print(report: RuntimeReport): void {
  const { title, version, checks, seconds, problem } = report;
  const failures = failuresOf(report);
  const passed = checks.length - failures.length;
  console.log(`${title} (${version}): ${passed} passed, ${failures.length} failed, in ${seconds.toFixed(1)} s`);
  for (const { name, problem: why } of failures) console.log(`  ${name}: ${why}`);
  if (problem !== null) console.log(`  ${problem}`);
}
