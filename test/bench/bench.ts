/**
 * `npm run bench -- SUITE`: speeds as ratios to a floor Worker, measured in one run on workerd with direct sockets.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle, freePort, HOST, startServer } from '../../src/cli/server.ts';
import { GATEWAY_VARS, startGatewayBench } from './gateway.ts';
import { describeMachine, type Machine, measureReadings, reportReadings } from './readings.ts';
import { type Measured, measure, type Target } from './rounds.ts';

const HELP = `npm run bench -- lookup|gateway|readings [--rounds N] [--seconds N] [--json]

  lookup       the public model lookup against a route that returns a constant JSON
  gateway      a metered chat completion against a Worker that passes it to the same vendor unmetered
  readings     readings of a customer with a million calls against those of one with a thousand
  --rounds     interleaved rounds (7)
  --seconds    of load on each target in a round (3)
  --json       the figures as JSON`;

interface Suite {
  title: string;
  /** The Worker that it is compared with, beside this file. */
  floor: string;
  vars: Record<string, string>;
  start(url: string, floorUrl: string): Promise<Running>;
  /** Ratios that are promised, by target. */
  promised: Record<string, number>;
  /** What the first byte may be later than the floor's. */
  promisedDelayMs?: number;
}

interface Running {
  /** The first is the floor. */
  targets: Target[];
  /** Delays of a stream's first byte, the floor's first. */
  firstByteMs?(): Promise<{ name: string; ms: number }[]>;
  stop?(): void;
}

const SUITES: Record<string, Suite> = {
  lookup: {
    title: 'Public model lookup, requests per second',
    floor: 'floor-worker.js',
    vars: {},
    promised: { light: 0.8, 'not modified (304)': 0.85, full: 0.5 },
    async start(url, floorUrl) {
      const key = `${url}/v1/model-alternatives/openai/gpt-4o`;
      const etag = (await fetch(key)).headers.get('ETag') ?? '';
      return {
        targets: [
          { name: 'floor: constant JSON', url: `${floorUrl}/`, status: 200 },
          { name: 'light', url: `${key}?response=light`, status: 200 },
          { name: 'not modified (304)', url: key, headers: { 'If-None-Match': etag }, status: 304 },
          { name: 'full', url: key, status: 200 },
        ],
      };
    },
  },
  gateway: {
    title: 'Chat completions through the gateway, requests per second',
    floor: 'pass-through-worker.js',
    vars: GATEWAY_VARS,
    promised: { 'metered, 64 customers': 0.35 },
    promisedDelayMs: 3,
    start: startGatewayBench,
  },
};

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '7' },
      seconds: { type: 'string', default: '3' },
      json: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (positionals[0] === 'readings' && !values.help) {
    reportReadings(await measureReadings(Number(values.rounds)), machineHere(), values.json === true);
    return;
  }
  const suite = SUITES[positionals[0] ?? ''];
  if (values.help || !suite) {
    console.log(HELP);
    process.exit(values.help ? 0 : 2);
  }
  const stateDir = await mkdtemp(join(tmpdir(), 'callmeter-bench-'));
  await bundle(stateDir);
  const floorPort = await freePort(0);
  const beside = { script: join(import.meta.dirname, suite.floor), port: floorPort };
  const server = await startServer({ port: await freePort(0), stateDir, vars: suite.vars, beside });
  let running: Running | undefined;
  try {
    running = await suite.start(server.url, `http://${HOST}:${floorPort}`);
    const measured = await measure(running.targets, Number(values.rounds), Number(values.seconds));
    const delays = (await running.firstByteMs?.()) ?? [];
    report(suite, measured, delays, values.json === true);
  } finally {
    running?.stop?.();
    await server.stop();
    await rm(stateDir, { recursive: true, force: true });
  }
}

function report(suite: Suite, measured: Measured[], delays: { name: string; ms: number }[], json: boolean): void {
  const machine = machineHere();
  const rows = measured.map((row) => ({ ...row, promised: suite.promised[row.name] ?? null }));
  const [floorDelay] = delays;
  const firstBytes = delays.map(({ name, ms }) => ({
    name,
    ms: Number(ms.toFixed(2)),
    laterMs: Number((ms - (floorDelay?.ms ?? ms)).toFixed(2)),
  }));
  if (json) {
    const promisedDelayMs = suite.promisedDelayMs ?? null;
    console.log(JSON.stringify({ suite: suite.title, machine, rows, firstBytes, promisedDelayMs }, null, 2));
    return;
  }
  console.log(`${suite.title}\n${describeMachine(machine)}\n`);
  console.log(`${'target'.padEnd(24)}${'requests/s'.padStart(12)}${'ratio'.padStart(8)}${'promised'.padStart(10)}`);
  for (const { name, requestsPerSecond, ratio, promised } of rows) {
    const wanted = promised === null ? '' : `>= ${promised}`;
    console.log(`${name.padEnd(24)}${String(requestsPerSecond).padStart(12)}${ratio.toFixed(2).padStart(8)}${wanted.padStart(10)}`);
  }
  if (firstBytes.length === 0) return;
  console.log(`\n${'first byte of a stream'.padEnd(24)}${'median ms'.padStart(12)}${'later'.padStart(8)}${'promised'.padStart(10)}`);
  for (const { name, ms, laterMs } of firstBytes.slice(0, 1))
    console.log(`${name.padEnd(24)}${String(ms).padStart(12)}${String(laterMs).padStart(8)}`);
  for (const { name, ms, laterMs } of firstBytes.slice(1)) {
    const wanted = suite.promisedDelayMs === undefined ? '' : `<= ${suite.promisedDelayMs}`;
    console.log(`${name.padEnd(24)}${String(ms).padStart(12)}${String(laterMs).padStart(8)}${wanted.padStart(10)}`);
  }
}

function machineHere(): Machine {
  return {
    cpus: cpus().length,
    model: cpus()[0]?.model ?? '',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  };
}

await main();
