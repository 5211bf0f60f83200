/**
 * `npm run test:readings`: how good the readings are on public series, beside simpler rules.
 *
 * Another table is another entry of PARTS.
 */
import { runSuite } from '../support/command-line.ts';
import { anomalies } from './anomaly-table.ts';
import { forecasts } from './forecast-table.ts';
import { isMet, type Part, renderTable, type Table } from './table.ts';

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

await runSuite({
  help: HELP,
  options: { short: { type: 'boolean', default: false }, nab: { type: 'string' }, bike: { type: 'string' } },
  names: { noun: 'part', all: PARTS.map(({ name }) => name) },
  read: ({ short, nab, bike }, names) => ({ short, nab, bike, names }),
  async run({ names, short, nab, bike }, { signal, json, onProgress }) {
    const tables: Table[] = [];
    for (const part of PARTS) {
      if (signal.aborted || (names.length > 0 && !names.includes(part.name))) continue;
      const told = (line: string) => onProgress(`${part.name}: ${line}`);
      tables.push(...(await part.run({ short, nab, bike, onProgress: told, signal })));
    }
    const figures = tables.flatMap(({ rows }) =>
      rows.flatMap((row) => row.figures.filter((figure) => figure !== null)),
    );
    const missed = figures.filter((figure) => !isMet(figure)).length;
    if (json) console.log(JSON.stringify({ tables, missed, interrupted: signal.aborted }, null, 2));
    else
      console.log(
        `${tables.map(renderTable).join('\n\n')}\n\n${missed === 0 ? 'every goal is met' : `${missed} goals missed (!)`}`,
      );
    return true;
  },
});
