/**
 * `npm run test:compression`: prints the figures of prompt compression.
 */
import { runSuite } from '../support/command-line.ts';
import { render } from './render.ts';
import { run } from './run.ts';

const HELP = `npm run test:compression [-- --json] [--quiet]

Prints, beside the bounds that the unit tests keep:
- sense: adversarial prompts whose sense changes, by level and technique
- tokens: the error of the estimate against o200k_base, by language and kind
- saved: tokens of realistic prompts at each level, by o200k_base, and how far the estimate of what is saved is off

  --json    the figures as JSON, on standard output
  --quiet   no progress, which goes to standard error

Ends with 1 where a bound is not kept. Interrupted (Ctrl-C), it prints what it has so far.`;

await runSuite({
  help: HELP,
  options: { quiet: { type: 'boolean' } },
  read: ({ quiet }) => ({ quiet }),
  async run({ quiet }, { signal, json, onProgress }) {
    const report = await run({ signal, onProgress: (line) => quiet || onProgress(line) });
    console.log(json ? JSON.stringify(report, null, 2) : render(report));
    return report.interrupted || report.broken.length === 0;
  },
});
