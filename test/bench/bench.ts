/**
 * `npm run bench -- SUITE ...`: runs benchmark suites on this machine and releases everything they started, even when
 * interrupted.
 */
import { parseArgs } from 'node:util';
import { parsedOrExit, wholeNumber } from '../support/command-line.ts';
import { calls } from './calls.ts';
import { costs } from './costs.ts';
import { credit } from './credit.ts';
import { customers } from './customers.ts';
import { drain } from './drain.ts';
import { events } from './events.ts';
import { firstByte } from './first-byte.ts';
import { gateway } from './gateway.ts';
import { gatewayClosedLoop } from './gateway-closed-loop.ts';
import { growth } from './growth.ts';
import { lookup } from './lookup.ts';
import { memory } from './memory.ts';
import { overload } from './overload.ts';
import { pages } from './pages.ts';
import { peers } from './peers.ts';
import { readings } from './readings.ts';
import { machineHere } from './report.ts';
import { retention } from './retention.ts';
import { scale } from './scale.ts';
import { removeStates } from './service.ts';
import { simulation } from './simulation/simulation.ts';
import { start } from './start.ts';
import type { Suite } from './suite.ts';
import { transactions } from './transactions.ts';
import { usable } from './usable/usable.ts';

const SUITES: Record<string, Suite> = {
  lookup,
  gateway,
  'first-byte': firstByte,
  'gateway-closed-loop': gatewayClosedLoop,
  credit,
  calls,
  drain,
  scale,
  costs,
  events,
  transactions,
  simulation,
  growth,
  customers,
  readings,
  retention,
  pages,
  memory,
  usable,
  start,
  peers,
  overload,
};
const NAMES = Object.keys(SUITES);
const NAMES_OF_ALL = NAMES.filter((name) => !SUITES[name]?.apart);

const HISTORY_CALLS = 1_000_000;
const CUSTOMERS = 1_000_000;
/** The smallest number with which every suite runs; --short uses it. */
const HISTORY_CALLS_MIN = 2_000;
const CUSTOMERS_MIN = 1_000;
/** A suite that takes longer does not end any more. */
const SUITE_MINUTES_MAX = 30;

const HELP = `npm run bench -- SUITE ... [--rounds N] [--seconds N] [--history N] [--customers N] [--short] [--json]

${Object.entries(SUITES)
  .map(
    ([name, { about, rounds, seconds }]) =>
      `  ${name.padEnd(20)} ${about} (${rounds} rounds${seconds ? ` of ${seconds} s` : ''})`,
  )
  .join('\n')}
  all                  every suite but ${NAMES.filter((name) => !NAMES_OF_ALL.includes(name)).join(', ')}, one after the other

  --rounds     interleaved rounds; figures are medians of them
  --seconds    of load on each target in a round
  --history    calls of the largest history, in growth, readings and pages (${HISTORY_CALLS}); retention has twice as many,
               scale one customer for every hundred
  --customers  of the largest organization, in customers (${CUSTOMERS})
  --short      shows only that the suites run, as CI does it: one round of a few requests, ${HISTORY_CALLS_MIN} calls of history,
               ${CUSTOMERS_MIN} customers, no warm-ups, short rests. Its figures say nothing
  --json       the figures as JSON, one document for each suite
  --help       this text

Everything runs on loopback, on workerd with direct sockets. State is kept in the system's temporary folder (TMPDIR says
another one: its disk is part of what is measured) and removed in the end. Figures are comparable within a run, not between
machines.`;

interface Command {
  suites: string[];
  rounds: number | undefined;
  seconds: number | undefined;
  historyCalls: number;
  customers: number;
  short: boolean;
  json: boolean;
}

function parseCommand(): Command | 'help' {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      history: { type: 'string' },
      customers: { type: 'string' },
      short: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return 'help';
  const suites = positionals.flatMap((name) => (name === 'all' ? NAMES_OF_ALL : [name]));
  const unknown = suites.find((name) => !Object.hasOwn(SUITES, name));
  if (unknown !== undefined || suites.length === 0) throw new Error(`name a suite: ${NAMES.join(', ')}, or all`);
  const { short, json } = values;
  const count = <Otherwise>(
    name: 'rounds' | 'seconds' | 'history' | 'customers',
    otherwise: Otherwise,
    min: number,
    max: number,
  ): number | Otherwise => (values[name] === undefined ? otherwise : wholeNumber(name, values[name], min, max));
  return {
    suites,
    rounds: count('rounds', short ? 1 : undefined, 1, 100),
    seconds: count('seconds', short ? 0 : undefined, 1, 60),
    historyCalls: count('history', short ? HISTORY_CALLS_MIN : HISTORY_CALLS, HISTORY_CALLS_MIN, 5_000_000),
    customers: count('customers', short ? CUSTOMERS_MIN : CUSTOMERS, CUSTOMERS_MIN, 2_000_000),
    short,
    json,
  };
}

async function main(): Promise<void> {
  const command = parsedOrExit(parseCommand);
  if (command === 'help') return console.log(HELP);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => giveUp(130, 'interrupted'));
  const { historyCalls, customers, short } = command;
  await using shared = new AsyncDisposableStack();
  for (const name of inOrder(command)) {
    const suite = SUITES[name] as Suite;
    const { rounds = suite.rounds, seconds = suite.seconds ?? 1 } = command;
    if (!suite.shares) await shared.disposeAsync();
    const scope = new AsyncDisposableStack();
    const startMs = performance.now();
    const tooLong = setTimeout(
      () => giveUp(1, `no end after ${SUITE_MINUTES_MAX} minutes`),
      SUITE_MINUTES_MAX * 60_000,
    );
    try {
      const print = await suite.run({
        rounds,
        seconds,
        historyCalls,
        customers,
        short,
        scope,
        shared: short ? shared : scope,
        progress: (line) => say(`${name}, ${minutesSince(startMs)}: ${line}`),
      });
      say('');
      print(machineHere(), command.json);
    } finally {
      clearTimeout(tooLong);
      await scope.disposeAsync();
    }
  }
}

/**
 * In a short run, suites that share servers come first: others stop servers, and with them everything else that this
 * process started.
 */
function inOrder({ suites, short }: Command): readonly string[] {
  if (!short) return suites;
  const sharing = (name: string) => (SUITES[name]?.shares ? 0 : 1);
  return suites.toSorted((a, b) => sharing(a) - sharing(b));
}

/** Minutes and seconds. */
function minutesSince(startMs: number): string {
  const seconds = Math.floor((performance.now() - startMs) / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** When asked to stop, or after too long: everything goes with this process, and the state with it. */
function giveUp(exitCode: number, line: string): void {
  say('');
  console.error(line);
  // Runs last at the exit: all processes that write to the state have ended by then.
  process.once('exit', removeStates);
  process.exit(exitCode);
}

/** On standard error: replaces the previous line on a terminal, and is a line of its own elsewhere. */
function say(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${line.slice(0, process.stderr.columns - 1)}`);
  else if (line !== '') process.stderr.write(`${line}\n`);
}

main().catch((error: Error) => {
  say('');
  console.error(`the benchmark did not run to its end: ${error.stack}`);
  process.exitCode = 1;
});
