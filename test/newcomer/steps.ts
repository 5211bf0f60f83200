/**
 * A newcomer's steps: clone, install, start, the pages, stop, start again, the jobs; and the conditions afterwards.
 * Each step has a bound of time.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, PROJECT_DIR } from '../../src/cli/server.ts';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { buildScript, FIRST_CALL, JOB_MS_MAX, JOBS, type Job, pythonWithRequests } from './jobs.ts';
import { type Machine, type Running, start } from './machine.ts';
import { namesAtHome } from './outside.ts';

export interface Walk {
  machine: Machine;
  abort: AbortSignal;
  /** Ends whatever still runs. */
  scope: AsyncDisposableStack;
  /** `npm start`, while it runs. */
  server?: Running;
  /** The customer's meters before the restart. */
  meters?: string;
  /** The contents of the real home before. */
  atHome?: string[];
}

export interface Step {
  name: string;
  /** Resolves with the text for the report. Throws if the step fails. */
  take(walk: Walk): Promise<string | undefined>;
}

const CLONE_MS_MAX = 60_000;
const INSTALL_MS_MAX = 600_000;
const START_MS_MAX = 120_000;
const STOP_MS_MAX = 30_000;
const COMMAND_MS_MAX = 180_000;
const CHECK_MS_MAX = 400_000;
const PAGE_MS_MAX = 20_000;

/** Output of npm or the service that would worry a newcomer. */
const WORRYING =
  /deprecated|\bwarn(ing)?\b|EBADENGINE|vulnerabilit|ExperimentalWarning|\bundefined\b|\bat .*:\d+:\d+\)?$/im;

/** Runs a command in the clone to its end, and refuses one that fails or worries. */
async function run(walk: Walk, file: string, args: string[], msMax: number, cwd = walk.machine.clone): Promise<string> {
  const running = start(walk.machine, { file, args, cwd }, walk);
  const code = await running.ends(msMax);
  const printed = running.printed();
  if (code !== 0) throw new Error(`it ended with ${code}:\n${printed.slice(-2_000)}`);
  calm(printed);
  return printed;
}

function calm(printed: string): void {
  const worrying = printed.split('\n').find((line) => WORRYING.test(line));
  if (worrying !== undefined) throw new Error(`it printed: ${worrying}`);
}

const addressOf = ({ machine }: Walk) => `http://127.0.0.1:${machine.port}`;

const startServer = (walk: Walk) => startWith(walk, []);

async function startWith(walk: Walk, options: string[]): Promise<string> {
  const { clone } = walk.machine;
  walk.server = start(walk.machine, { file: 'npm', args: ['start', ...options], cwd: clone }, walk);
  await walk.server.prints('Ctrl+C stops', START_MS_MAX);
  const printed = walk.server.printed();
  calm(printed);
  if (!printed.includes(addressOf(walk))) throw new Error(`it did not print ${addressOf(walk)}:\n${printed}`);
  return addressOf(walk);
}

/** As Ctrl+C of a terminal (`group`), or as a supervisor that knows npm alone (`command`). */
async function stopServer({ server, machine }: Walk, signal: NodeJS.Signals, to: 'command' | 'group'): Promise<string> {
  if (!server) throw new Error('it does not run');
  server.signal(signal, to);
  await server.ends(STOP_MS_MAX);
  await Promise.all([freePort(machine.port), freePort(machine.vendorPort)]);
  return signal;
}

async function demoKey({ machine }: Walk): Promise<string> {
  const [, key] = /^DEMO_API_KEY=(.+)$/m.exec(await readFile(join(machine.clone, '.dev.vars'), 'utf8')) ?? [];
  if (key === undefined) throw new Error('.dev.vars has no DEMO_API_KEY');
  return key;
}

async function readMeters(walk: Walk): Promise<string> {
  const headers = { Authorization: `Bearer ${await demoKey(walk)}`, Accept: MEDIA_TYPE };
  const response = await fetch(`${addressOf(walk)}/customers/alice/usage`, { headers });
  const { data } = (await response.json()) as { data?: { meters: object } };
  if (data === undefined) throw new Error(`the usage of alice was answered with ${response.status}`);
  return JSON.stringify(data.meters);
}

/** Does the job on the server that runs. */
async function doJob(job: Job, walk: Walk, msMax = JOB_MS_MAX): Promise<string | undefined> {
  if (job.sections.some(({ python }) => python) && pythonWithRequests() === undefined)
    return 'left out: no Python here has requests';
  const script = await buildScript(job, walk.machine);
  const printed = await run(walk, 'bash', ['-euo', 'pipefail', '-c', script], msMax);
  if (/"status":"ERROR"|"error":\{/.test(printed)) throw new Error(`a request was refused:\n${printed}`);
  if (!job.prints.test(printed)) throw new Error(`it did not print ${job.prints}:\n${printed.slice(-2_000)}`);
  return undefined;
}

/** Starts the server anew, does the job, and stops the server. */
async function doJobAnew(job: Job, walk: Walk): Promise<string | undefined> {
  const beganMs = performance.now();
  await startWith(walk, ['--', '--fresh']);
  const note = await doJob(job, walk, Math.floor(JOB_MS_MAX - (performance.now() - beganMs)));
  await stopServer(walk, 'SIGINT', 'group');
  return note;
}

const PAGES: Record<string, RegExp> = {
  '/': /Callmeter/,
  '/console': /<form[\s\S]*type="password"/,
  '/docs': /call_begin/,
  '/models': /gpt-/,
};

export const STEPS: readonly Step[] = [
  {
    name: 'git clone',
    async take(walk) {
      walk.atHome = await namesAtHome();
      await run(walk, 'git', ['clone', '--quiet', PROJECT_DIR, walk.machine.clone], CLONE_MS_MAX, walk.machine.folder);
      return (await run(walk, 'git', ['log', '-1', '--format=%h %s'], CLONE_MS_MAX)).trim();
    },
  },
  {
    name: 'npm ci',
    async take(walk) {
      const printed = await run(walk, 'npm', ['ci'], INSTALL_MS_MAX);
      return /added \d+ packages/.exec(printed)?.[0];
    },
  },
  { name: 'npm start', take: startServer },
  { name: FIRST_CALL.name, take: (walk) => doJob(FIRST_CALL, walk) },
  {
    name: 'the pages',
    async take(walk) {
      for (const [path, has] of Object.entries(PAGES)) {
        const headers = { Accept: 'text/html' };
        const response = await fetch(addressOf(walk) + path, { headers, signal: AbortSignal.timeout(PAGE_MS_MAX) });
        const text = await response.text();
        if (response.status !== 200 || !has.test(text)) throw new Error(`${path} was answered with ${response.status}`);
      }
      return Object.keys(PAGES).join(' ');
    },
  },
  {
    name: 'npm run operator -- organizations list',
    async take(walk) {
      const printed = await run(walk, 'npm', ['run', 'operator', '--', 'organizations', 'list'], COMMAND_MS_MAX);
      if (!/demo/i.test(printed)) throw new Error(`the demo organization is not listed:\n${printed}`);
      return undefined;
    },
  },
  {
    name: 'Ctrl+C',
    async take(walk) {
      walk.meters = await readMeters(walk);
      return stopServer(walk, 'SIGINT', 'group');
    },
  },
  { name: 'npm start, again', take: startServer },
  {
    name: 'what was counted is still there',
    async take(walk) {
      const meters = await readMeters(walk);
      if (meters !== walk.meters) throw new Error(`alice had ${walk.meters}, and has ${meters}`);
      return undefined;
    },
  },
  { name: 'npm is told to stop', take: (walk) => stopServer(walk, 'SIGTERM', 'command') },
  ...JOBS.map((job): Step => ({ name: job.name, take: (walk) => doJobAnew(job, walk) })),
  {
    name: 'the clone is clean',
    async take(walk) {
      const changed = await run(walk, 'git', ['status', '--porcelain'], COMMAND_MS_MAX);
      if (changed !== '') throw new Error(`git status says:\n${changed}`);
      const ignored = await run(walk, 'git', ['status', '--porcelain', '--ignored'], COMMAND_MS_MAX);
      return `ignored: ${ignored.replace(/^!! /gm, '').trim().split('\n').join(' ')}`;
    },
  },
  {
    name: 'nothing is left elsewhere',
    async take({ machine, atHome = [] }) {
      const before = new Set(atHome);
      const added = (await namesAtHome()).filter((path) => !before.has(path));
      if (added.length > 0) throw new Error(`it wrote to the real home: ${added.join(' ')}`);
      // npm on Node 24 keeps compiled code of its own there.
      const temporary = (await readdir(machine.temporary)).filter((name) => name !== 'node-compile-cache');
      if (temporary.length > 0) throw new Error(`temporary files are left: ${temporary.join(' ')}`);
      const own = new Set(['tools', 'bin', 'home', 'tmp', 'callmeter', 'my-app']);
      const beside = (await readdir(machine.folder)).filter((name) => !own.has(name));
      if (beside.length > 0) throw new Error(`it wrote beside the clone: ${beside.join(' ')}`);
      return `in its home: ${(await readdir(machine.home)).join(' ')}`;
    },
  },
];

/** A contributor's next steps. */
export const CONTRIBUTOR_STEPS: readonly Step[] = [
  {
    name: 'npm run check',
    async take(walk) {
      await run(walk, 'npm', ['run', 'check'], CHECK_MS_MAX);
      return undefined;
    },
  },
  {
    name: 'npm run test:file',
    async take(walk) {
      const file = 'test/unit/period.test.ts';
      await run(walk, 'npm', ['run', 'test:file', '--', file], CHECK_MS_MAX);
      return file;
    },
  },
];
