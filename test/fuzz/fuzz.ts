/**
 * `npm run test:fuzz`: sends invalid and hostile requests to a local server and reports every violation.
 */
import { runSuite, seedOrFresh, wholeNumber } from '../support/command-line.ts';
import { runFuzz } from './run.ts';

const HELP = `npm run test:fuzz [-- --requests 100000]

Sends a server of its own requests made from the contract's schemas, with fields absent, null, of another type, huge or
hostile. Checks that no answer is a failure, each is in its envelope and none tells of the inside; that no refused request
changes anything in D1 or an object; and that no secret stands on disk or in the output. Exits with 1 where one of these
does not hold, or where 3000 requests or more met too little to tell. Ctrl+C ends the run after the round that is under way.

  --requests N   how many (100000); each refused one is sent twice
  --seed N       the seed of an earlier run
  --json         the report as JSON on standard output
  --help         this text`;

await runSuite({
  help: HELP,
  options: { requests: { type: 'string', default: '100000' }, seed: { type: 'string' } },
  read: ({ requests, seed }) => ({
    requests: wholeNumber('requests', requests, 1, 10_000_000),
    seed: seedOrFresh(seed),
  }),
  async run(asked, { json, ...running }) {
    console.error(`fuzz, seed ${asked.seed}`);
    const report = await runFuzz({ ...asked, ...running });
    const { faults, unproven, statuses, ...counts } = report;
    if (json) console.log(JSON.stringify(report, null, 2));
    else {
      for (const [name, value] of Object.entries(counts)) console.log(`${name.padEnd(20)} ${value}`);
      console.log(`${'statuses'.padEnd(20)} ${JSON.stringify(statuses)}`);
      for (const { what, operationId, request } of faults)
        console.log(`FAULT  ${operationId}: ${what}\n       ${request}`);
      for (const sentence of unproven) console.log(`UNPROVEN  ${sentence}`);
      console.log(faults.length === 0 ? 'no faults' : `${faults.length + report.more} faults`);
    }
    return faults.length + unproven.length === 0;
  },
});
