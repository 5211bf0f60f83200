/**
 * `npm run bench -- SUITE`: speeds as ratios to a floor Worker, measured in one run on workerd with direct sockets.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle, freePort, HOST, startServer } from '../../src/cli/server.ts';
import { type Measured, measure, type Target } from './rounds.ts';

const HELP = `npm run bench -- lookup [--rounds N] [--seconds N] [--json]

  lookup       the public model lookup against a route that returns a constant JSON
  --rounds     interleaved rounds (7)
  --seconds    of load on each target in a round (3)
  --json       the figures as JSON`;

const FLOOR = join(import.meta.dirname, 'floor-worker.js');

interface Suite {
  title: string;
  targets(url: string): Promise<Target[]>;
  /** Ratios that are promised, by target. */
  promised: Record<string, number>;
}

const SUITES: Record<string, Suite> = {
  lookup: {
    title: 'Public model lookup, requests per second',
    promised: { light: 0.8, 'not modified (304)': 0.85, full: 0.5 },
    async targets(url) {
      const key = `${url}/v1/model-alternatives/openai/gpt-4o`;
      const etag = (await fetch(key)).headers.get('ETag') ?? '';
      return [
        { name: 'light', url: `${key}?response=light`, status: 200 },
        { name: 'not modified (304)', url: key, headers: { 'If-None-Match': etag }, status: 304 },
        { name: 'full', url: key, status: 200 },
      ];
    },
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
  const suite = SUITES[positionals[0] ?? ''];
  if (values.help || !suite) {
    console.log(HELP);
    process.exit(values.help ? 0 : 2);
  }
  const stateDir = await mkdtemp(join(tmpdir(), 'callmeter-bench-'));
  await bundle(stateDir);
  const floorPort = await freePort(0);
  const server = await startServer({ port: await freePort(0), stateDir, vars: {}, beside: { script: FLOOR, port: floorPort } });
  try {
    const floor = { name: 'floor: constant JSON', url: `http://${HOST}:${floorPort}/`, status: 200 };
    const measured = await measure([floor, ...(await suite.targets(server.url))], Number(values.rounds), Number(values.seconds));
    report(suite, measured, values.json === true);
  } finally {
    await server.stop();
    await rm(stateDir, { recursive: true, force: true });
  }
}

function report(suite: Suite, measured: Measured[], json: boolean): void {
  const machine = {
    cpus: cpus().length,
    model: cpus()[0]?.model ?? '',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  };
  const rows = measured.map((row) => ({ ...row, promised: suite.promised[row.name] ?? null }));
  if (json) {
    console.log(JSON.stringify({ suite: suite.title, machine, rows }, null, 2));
    return;
  }
  console.log(`${suite.title}\n${machine.cpus} x ${machine.model}, ${machine.memoryGiB} GiB, Node ${machine.node}\n`);
  console.log(`${'target'.padEnd(24)}${'requests/s'.padStart(12)}${'ratio'.padStart(8)}${'promised'.padStart(10)}`);
  for (const { name, requestsPerSecond, ratio, promised } of rows) {
    const wanted = promised === null ? '' : `>= ${promised}`;
    console.log(`${name.padEnd(24)}${String(requestsPerSecond).padStart(12)}${ratio.toFixed(2).padStart(8)}${wanted.padStart(10)}`);
  }
}

await main();
