/**
 * `npm run test:crash`: kills a local server under load and reports lost or duplicated data.
 */
import { parseArgs } from 'node:util';
import { wholeNumber } from '../support/command-line.ts';
import { freshSeed } from './random.ts';
import { runCrashes } from './run.ts';

const HELP = `npm run test:crash [-- --kills 50]

Kills a server of its own with SIGKILL under mixed load (calls, increments, credits, plan changes, replenishments), sends
again what was not acknowledged, and compares every id: sent, acknowledged, in the objects, in D1, and every roll-up of
usage with the calls. Exits with 1 where anything was lost or doubled, or where too little happened to tell. Ctrl+C ends
the kills early, and judges what was sent until then.

  --kills N          how often (50)
  --customers N      customers that the load is spread over, of all organizations (12)
  --workers N        requests at a time (16)
  --organizations N  organizations (1)
  --databases N      databases of D1, 1 to 50 (1)
  --seed N           the seed of an earlier run
  --json             the report as JSON on standard output
  --help             this text`;

/** Sentences that are printed; the rest is counted. */
const SENTENCES_MAX = 40;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '50' },
      customers: { type: 'string', default: '12' },
      workers: { type: 'string', default: '16' },
      organizations: { type: 'string', default: '1' },
      databases: { type: 'string', default: '1' },
      seed: { type: 'string' },
      json: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return console.log(HELP);
  const count = (
    name: 'kills' | 'customers' | 'workers' | 'organizations' | 'databases' | 'seed',
    min: number,
    max: number,
  ): number => wholeNumber(name, values[name], min, max);
  const seed = values.seed === undefined ? freshSeed() : count('seed', 0, 2 ** 31);
  const abort = new AbortController();
  process.once('SIGINT', () => abort.abort());
  console.error(`crash suite, seed ${seed}`);
  const report = await runCrashes({
    kills: count('kills', 1, 10_000),
    customers: count('customers', 1, 500),
    workers: count('workers', 1, 200),
    organizations: count('organizations', 1, 100),
    databases: count('databases', 1, 50),
    seed,
    signal: abort.signal,
    onProgress: (line) => console.error(line),
  });
  const { wrong, unproven, ...counts } = report;
  if (values.json) console.log(JSON.stringify(report, null, 2));
  else {
    for (const [name, value] of Object.entries(counts)) console.log(`${name.padEnd(20)} ${value}`);
    for (const sentence of wrong.slice(0, SENTENCES_MAX)) console.log(`WRONG  ${sentence}`);
    for (const sentence of unproven) console.log(`UNPROVEN  ${sentence}`);
    console.log(wrong.length === 0 ? 'zero lost, zero doubled' : `${wrong.length} things are wrong`);
  }
  process.exitCode = wrong.length + unproven.length > 0 ? 1 : report.interrupted ? 130 : 0;
}

main().catch((error: Error) => {
  console.error(`the crash suite did not run to its end: ${error.stack}`);
  process.exitCode = 1;
});
