/**
 * `npm run test:cap`: tries to make customers spend more than they have, and prints the result.
 */
import { formatUsd } from '../../src/domain/money.ts';
import { runSuite, seedOrFresh, wholeNumber } from '../support/command-line.ts';
import type { GeneratedReport } from './generated.ts';
import { type CapReport, runCap } from './run.ts';
import { SCENARIOS } from './scenarios.ts';
import { type Figures, GOALS } from './verdict.ts';

/** The name of the part that generates its requests. */
const GENERATED = 'generated';
const HELP = `npm run test:cap [-- --short] [SCENARIO ...]

Starts a server and a model vendor of its own on loopback, gives customers small balances, and tries to overspend them.
Compares what callers were answered, what the vendor billed, what is recorded and what left the balance, exactly, in
nano-USD. Exits with 1 where a goal is missed, or where too little happened to tell. Ctrl+C ends the load early, and
judges what was sent until then.

${SCENARIOS.map(({ name, tries }) => `  ${name.padEnd(10)} ${tries}`).join('\n')}
  ${GENERATED.padEnd(10)} requests generated from the types of the SDKs, at vendors that bill the worst that each allows

  --seconds N    how long the scenarios that are not a fixed number of requests go on sending (10; 4 with --short)
  --requests N   generated requests (20000; with --short as many as 45 seconds allow)
  --short        fewer requests and kills, as CI runs it
  --seed N       the seed of an earlier run
  --json         the report as JSON on standard output; amounts are decimal strings
  --help         this text`;

const REQUESTS_DEFAULT = 20_000;
const REQUESTS_MAX = 10_000_000;
/** Sentences that are printed of each scenario; the rest is counted. */
const SENTENCES_MAX = 10;
/** Figures that are amounts of the budget's unit; the others are counts. */
const AMOUNTS = new Set<keyof Figures>([
  'granted',
  'spent',
  'billed',
  'billedToNobody',
  'guessedTooMuch',
  'billedBeyondBound',
  'unused',
  'spentBeyond',
  'unusedBeyondBound',
]);

const count = (name: string, text: string | undefined, otherwise: number, max: number): number =>
  text === undefined ? otherwise : wholeNumber(name, text, 0, max);

await runSuite({
  help: HELP,
  options: {
    seconds: { type: 'string' },
    short: { type: 'boolean', default: false },
    seed: { type: 'string' },
    requests: { type: 'string' },
  },
  names: { noun: 'scenario', all: [...SCENARIOS.map(({ name }) => name), GENERATED] },
  read({ seconds, short, seed, requests }, names) {
    const isMeant = (name: string) => names.length === 0 || names.includes(name);
    return {
      scenarios: SCENARIOS.filter(({ name }) => isMeant(name)),
      seed: seedOrFresh(seed),
      seconds: count('seconds', seconds, short ? 4 : 10, 600),
      short,
      requests: isMeant(GENERATED) ? count('requests', requests, REQUESTS_DEFAULT, REQUESTS_MAX) : 0,
    };
  },
  async run(asked, { json, ...running }) {
    console.error(`cap suite, seed ${asked.seed}`);
    const report = await runCap({ ...asked, ...running });
    if (json) console.log(JSON.stringify(report, (_, value) => (typeof value === 'bigint' ? `${value}` : value), 2));
    else print(report);
    return (
      report.scenarios.every(({ wrong, unproven }) => wrong.length + unproven.length === 0) &&
      (report.generated === null || report.generated.wrong.length === 0)
    );
  },
});

function print({ holds, scenarios, total, generated }: CapReport): void {
  for (const [planId, kinds] of Object.entries(holds)) {
    const each = Object.entries(kinds).map(([kind, held]) => `${kind} $${formatUsd(held)}`);
    console.log(`a call of the plan ${planId} that has just begun holds: ${each.join(', ')}`);
  }
  for (const { name, tries, unit, figures, codes, wrong, unproven } of scenarios) {
    console.log(`\n${name}: ${tries}`);
    printFigures(figures, unit);
    for (const [code, times] of Object.entries(codes)) console.log(`  ${code}: ${times}`);
    for (const sentence of wrong.slice(0, SENTENCES_MAX)) console.log(`  WRONG  ${sentence}`);
    if (wrong.length > SENTENCES_MAX) console.log(`  WRONG  and ${wrong.length - SENTENCES_MAX} more`);
    for (const sentence of unproven) console.log(`  UNPROVEN  ${sentence}`);
  }
  console.log('\nall balances');
  printFigures(total, 'nano-USD');
  if (generated) printGenerated(generated);
  const missed = scenarios.filter(({ wrong }) => wrong.length > 0).map(({ name }) => name);
  if (generated && generated.wrong.length > 0) missed.push(GENERATED);
  console.log(missed.length === 0 ? 'nobody spent more than they had' : `goals were missed: ${missed.join(', ')}`);
}

function printGenerated(report: GeneratedReport): void {
  const { requests, ran, lost, kills, refused, sums, wrong, grantedNanoUsd, spentNanoUsd } = report;
  console.log(`\n${GENERATED}: ${requests} requests, of which ${ran} ran and ${lost} were lost in ${kills} kills`);
  for (const [code, times] of Object.entries(refused).sort()) console.log(`  refused ${code}: ${times}`);
  for (const [name, { ran: times, held, billed }] of Object.entries(sums).sort())
    console.log(`  ${name.padEnd(32)} ${times} ran, bound $${formatUsd(held)}, billed $${formatUsd(billed)}`);
  console.log(`  granted $${formatUsd(grantedNanoUsd)}, spent $${formatUsd(spentNanoUsd)}`);
  for (const sentence of wrong.slice(0, SENTENCES_MAX)) console.log(`  WRONG  ${sentence}`);
  if (wrong.length > SENTENCES_MAX) console.log(`  WRONG  and ${wrong.length - SENTENCES_MAX} more`);
  console.log(`  billed to nobody $${formatUsd(report.billedToNobodyNanoUsd)}`);
  console.log(`  overspent nano-USD: ${report.overspentNanoUsd}`);
}

function printFigures(figures: Figures, unit: 'nano-USD' | 'tokens'): void {
  for (const [name, value] of Object.entries(figures) as [keyof Figures, bigint][]) {
    const amount = AMOUNTS.has(name) ? ` ${unit}${unit === 'nano-USD' ? ` ($${formatUsd(value)})` : ''}` : '';
    const goal = (GOALS as readonly string[]).includes(name) ? `  (goal: 0${value === 0n ? '' : ', MISSED'})` : '';
    console.log(`  ${name.padEnd(28)} ${value}${amount}${goal}`);
  }
}
