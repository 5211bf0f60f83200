/**
 * The start of an isolate: the size of the Worker's bundle, as wrangler counts it, and the processor time to evaluate
 * it.
 *
 * The time is measured by `wrangler check startup`: a profile of workerd while it imports the bundle's main module,
 * sampled every millisecond, without idle time. It includes the profiler, a cold workerd and the effect of other load:
 * on a busy machine, use the lowest figure.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { PROJECT_DIR } from '../../src/cli/server.ts';
import { printed } from './report.ts';
import { median } from './rounds.ts';
import { openState, placeBundle } from './service.ts';
import type { Column, Suite } from './suite.ts';

const COMMAND_MS_MAX = 120_000;
const GZIPPED_KB_MAX = 700;
const EVALUATION_MS_MAX = 100;

const SIZE_COLUMNS: readonly Column[] = [
  { key: 'sizeKb', heading: 'KB', digits: 0 },
  { key: 'gzippedKb', heading: 'gzipped, KB', digits: 1 },
];
const TIME_COLUMNS: readonly Column[] = [
  { key: 'medianMs', heading: 'median ms', digits: 1 },
  { key: 'lowestMs', heading: 'lowest', digits: 1 },
  { key: 'highestMs', heading: 'highest', digits: 1 },
];

export const start: Suite = {
  about: "the bundle's size, and the processor time of its start",
  rounds: 5,
  async run({ rounds, scope, progress }) {
    progress('bundling');
    const stateDir = await openState(scope);
    await placeBundle(stateDir);
    const script = await readFile(join(stateDir, 'bundle', 'index.js'));
    const size = { sizeKb: script.byteLength / 1_024, gzippedKb: gzipSync(script).byteLength / 1_024 };
    const upload = join(stateDir, 'upload.bundle');
    await wrangler(['deploy', '--dry-run', '--outfile', upload]);
    const times: number[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      progress(`round ${round} of ${rounds}`);
      const profile = join(stateDir, 'start.cpuprofile');
      await wrangler(['check', 'startup', '--worker', upload, '--outfile', profile]);
      times.push(activeMs(JSON.parse(await readFile(profile, 'utf8')) as Profile));
    }
    const figures = { medianMs: median(times), lowestMs: Math.min(...times), highestMs: Math.max(...times) };
    return printed('The start of the Worker', [
      {
        title: 'bundle',
        columns: SIZE_COLUMNS,
        rows: [{ name: 'the Worker', figures: size, promised: { of: 'gzippedKb', atMost: GZIPPED_KB_MAX } }],
      },
      {
        title: 'processor time of the start',
        columns: TIME_COLUMNS,
        rows: [{ name: 'evaluation of the bundle', figures, promised: { of: 'medianMs', atMost: EVALUATION_MS_MAX } }],
      },
    ]);
  },
};

async function wrangler(args: readonly string[]): Promise<void> {
  const script = join(PROJECT_DIR, 'node_modules', 'wrangler', 'bin', 'wrangler.js');
  const env = {
    ...process.env,
    WRANGLER_HIDE_BANNER: 'true',
    WRANGLER_SEND_METRICS: 'false',
    WRANGLER_WRITE_LOGS: 'false',
  };
  await promisify(execFile)(process.execPath, [script, ...args], { cwd: PROJECT_DIR, env, timeout: COMMAND_MS_MAX });
}

/** The parts of a profile that are read; times in microseconds, one for each sample. */
interface Profile {
  nodes: { id: number; callFrame: { functionName: string } }[];
  samples: number[];
  timeDeltas: number[];
}

function activeMs({ nodes, samples, timeDeltas }: Profile): number {
  const idle = new Set(nodes.filter(({ callFrame }) => callFrame.functionName === '(idle)').map(({ id }) => id));
  const active = timeDeltas.filter((_, index) => !idle.has(samples[index] ?? 0));
  return active.reduce((sum, micros) => sum + micros, 0) / 1_000;
}
