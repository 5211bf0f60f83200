/**
 * `npm run test:readings`: how good the readings are on public series, beside simpler rules.
 *
 * Another table is another entry of PARTS.
 */
import { parseArgs } from 'node:util';
import { anomalies } from './anomaly-table.ts';
import { forecasts } from './forecast-table.ts';
import { isMet, type Part, type Table, textOf } from './table.ts';

const PARTS: readonly Part[] = [forecasts, anomalies];

const HELP = `npm run test:readings [-- --short] [PART ...]

Measures the readings on the public series of test/fixtures/series, beside simpler rules that are written for this. A
figure that misses its goal is marked with !. No constant of anomalies is chosen on the held-out series: they decide.
The few constants of forecasts were compared on all of them. Ctrl+C prints what was measured until then.

${PARTS.map(({ name, about }) => `  ${name.padEnd(10)} ${about}`).join('\n')}

  --short        fewer moments of each series
  --nab FOLDER   anomalies also on a clone of the Numenta Anomaly Benchmark, whose data is not in this repository
  --bike FILE    anomalies also on hour.csv of the UCI bike sharing data
  --json         the tables as JSON on standard output
  --help         this text`;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      short: { type: 'boolean', default: false },
      nab: { type: 'string' },
      bike: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return console.log(HELP);
  const unknown = positionals.filter((name) => !PARTS.some((part) => part.name === name));
  if (unknown.length > 0) throw new Error(`there is no part ${unknown.join(', ')}; --help names them`);
  const abort = new AbortController();
  process.once('SIGINT', () => abort.abort());
  const tables: Table[] = [];
  for (const part of PARTS) {
    if (abort.signal.aborted || (positionals.length > 0 && !positionals.includes(part.name))) continue;
    const onProgress = (line: string) => console.error(`${part.name}: ${line}`);
    tables.push(
      ...(await part.run({
        short: values.short,
        nab: values.nab,
        bike: values.bike,
        onProgress,
        signal: abort.signal,
      })),
    );
  }
  const figures = tables.flatMap(({ rows }) => rows.flatMap((row) => row.figures.filter((figure) => figure !== null)));
  const missed = figures.filter((figure) => !isMet(figure)).length;
  if (values.json) console.log(JSON.stringify({ tables, missed, interrupted: abort.signal.aborted }, null, 2));
  else
    console.log(
      `${tables.map(textOf).join('\n\n')}\n\n${missed === 0 ? 'every goal is met' : `${missed} goals missed (!)`}`,
    );
  process.exitCode = abort.signal.aborted ? 130 : 0;
}

main().catch((error: Error) => {
  console.error(`the readings were not measured to the end: ${error.stack}`);
  process.exitCode = 1;
});
