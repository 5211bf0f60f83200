/**
 * `npm run test:crash`: kills a local server under load and reports lost or duplicated data.
 */
import { runSuite, seedOrFresh, wholeNumber } from '../support/command-line.ts';
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

await runSuite({
  help: HELP,
  options: {
    kills: { type: 'string', default: '50' },
    customers: { type: 'string', default: '12' },
    workers: { type: 'string', default: '16' },
    organizations: { type: 'string', default: '1' },
    databases: { type: 'string', default: '1' },
    seed: { type: 'string' },
  },
  read: ({ kills, customers, workers, organizations, databases, seed }) => ({
    kills: wholeNumber('kills', kills, 1, 10_000),
    customers: wholeNumber('customers', customers, 1, 500),
    workers: wholeNumber('workers', workers, 1, 200),
    organizations: wholeNumber('organizations', organizations, 1, 100),
    databases: wholeNumber('databases', databases, 1, 50),
    seed: seedOrFresh(seed),
  }),
  async run(asked, { json, ...running }) {
    console.error(`crash suite, seed ${asked.seed}`);
    const report = await runCrashes({ ...asked, ...running });
    const { wrong, unproven, ...counts } = report;
    if (json) console.log(JSON.stringify(report, null, 2));
    else {
      for (const [name, value] of Object.entries(counts)) console.log(`${name.padEnd(20)} ${value}`);
      for (const sentence of wrong.slice(0, SENTENCES_MAX)) console.log(`WRONG  ${sentence}`);
      for (const sentence of unproven) console.log(`UNPROVEN  ${sentence}`);
      console.log(wrong.length === 0 ? 'zero lost, zero doubled' : `${wrong.length} things are wrong`);
    }
    return wrong.length + unproven.length === 0;
  },
});
