/**
 * `npm run test:ledger`: runs the model of the ledger (test/worker/ledger-model.test.ts) for as many steps as are asked for.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { runSuite, seedOrFresh, wholeNumber } from '../support/command-line.ts';
import { ROOT } from '../support/imports.ts';
import type { Walked } from '../support/ledger-steps.ts';

const HELP = `npm run test:ledger [-- --steps 200000]

Random histories of customers on real objects, projectors, D1 and archive, beside a model of what each call and increment
counts now: calls that end late, amendments, reversals, changes of plan, answers that Stripe loses or refuses, a D1 that is
away, and a clock that moves over periods, kept days and the archive. The objects are ended by force between rounds. Every
answer and every sum must be the model's. Exits with 1 where one is not, with the shortest history that shows it, or where
too little happened to tell. Ctrl+C ends the run; what was walked until then has been compared.

  --steps N   how many (200000)
  --seed N    the seed of an earlier run
  --json      the report as JSON on standard output
  --help      this text`;

interface Report extends Walked {
  seed: number;
  interrupted: boolean;
  /** The output of the failed run; empty if everything agreed. */
  failure: string;
}

/** The most lines of output that are kept to explain a failure. */
const OUTPUT_LINES_MAX = 400;
/** As the test prints its progress. */
const PROGRESS = 'ledger: ';

async function walk(steps: number, seed: number, signal: AbortSignal): Promise<Report> {
  const runner = [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--config', 'test/vitest.config.ts'];
  const child = spawn(process.execPath, [...runner, '--silent=false', 'test/worker/ledger-model.test.ts'], {
    cwd: ROOT,
    // Only names with this prefix reach the Worker's test.
    env: { ...process.env, NO_COLOR: '1', VITE_STEPS: String(steps), VITE_SEED: String(seed) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const report: Report = { seed, steps: 0, kills: 0, seen: {}, interrupted: false, failure: '' };
  signal.addEventListener('abort', () => {
    report.interrupted = true;
    child.kill('SIGINT');
  });
  const lines: string[] = [];
  const read = async (stream: NodeJS.ReadableStream) => {
    for await (const line of createInterface({ input: stream })) {
      if (line.startsWith(PROGRESS)) {
        Object.assign(report, JSON.parse(line.slice(PROGRESS.length)) as Walked);
        console.error(`${report.steps} of ${steps} steps agree`);
      } else lines.push(line);
      if (lines.length > OUTPUT_LINES_MAX) lines.shift();
    }
  };
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  await Promise.all([read(child.stdout), read(child.stderr)]);
  const hasFailed = (await ended) !== 0 && !report.interrupted;
  return { ...report, failure: hasFailed ? lines.join('\n') : '' };
}

await runSuite({
  help: HELP,
  options: { steps: { type: 'string', default: '200000' }, seed: { type: 'string' } },
  read: ({ steps, seed }) => ({ steps: wholeNumber('steps', steps, 1, 10_000_000), seed: seedOrFresh(seed) }),
  async run({ steps, seed }, { signal, json }) {
    console.error(`the model of the ledger, seed ${seed}`);
    const report = await walk(steps, seed, signal);
    const { seen, failure, ...counts } = report;
    if (json) console.log(JSON.stringify(report, null, 2));
    else {
      for (const [name, value] of Object.entries({ ...counts, ...seen })) console.log(`${name.padEnd(32)} ${value}`);
      console.log(failure === '' ? 'every answer and every sum agrees' : failure);
    }
    return failure === '';
  },
});
