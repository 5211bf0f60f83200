/**
 * `npm run test:compression`: prints the figures of prompt compression.
 */
import { parseArgs } from 'node:util';
import { render } from './render.ts';
import { type Report, run } from './run.ts';

const HELP = `npm run test:compression [-- --json] [--quiet]

Prints, beside the bounds that the unit tests keep:
- sense: adversarial prompts whose sense changes, by level and technique
- tokens: the error of the estimate against o200k_base, by language and kind
- saved: tokens of realistic prompts at each level, by o200k_base, and how far the estimate of what is saved is off

  --json    the figures as JSON, on standard output
  --quiet   no progress, which goes to standard error

Ends with 1 where a bound is not kept. Interrupted (Ctrl-C), it prints what it has so far.`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { json: { type: 'boolean' }, quiet: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) return console.log(HELP);
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const report: Report = await run({
    signal: interrupted.signal,
    onProgress: (line) => values.quiet || console.error(line),
  });
  console.log(values.json ? JSON.stringify(report, null, 2) : render(report));
  if (report.interrupted) process.exitCode = 130;
  else if (report.broken.length > 0) process.exitCode = 1;
}

main().catch((error: Error & { code?: string }) => {
  console.error(error.message);
  process.exitCode = error.code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1;
});
