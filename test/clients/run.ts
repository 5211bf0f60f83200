/**
 * Runs one client: installs it, gives it a home of its own, lets it take its turns, and compares each with the
 * gateway's answers and records.
 */
import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Entry } from '../../src/cli/vendor/server.ts';
import { npmInstall } from '../support/npm-install.ts';
import type { Place, Program, Turn } from './programs.ts';
import type { Asked } from './relay.ts';
import { openFolder, type World } from './world.ts';

interface Call {
  callId: string;
  status: string;
  model: string;
  inputTokens: number;
  outputTokens: number;
  costUsd: number;
}

export interface TurnReport {
  does: string;
  /** `null` if a signal ended it. */
  exitCode: number | null;
  seconds: number;
  printed: string;
  /** Its output on standard error. */
  complained: string;
  asked: Asked[];
  calls: Call[];
  /** The differences from the expected result. */
  wrong: string[];
}

export interface ProgramReport {
  title: string;
  packageName: string;
  version: string;
  turns: TurnReport[];
}

interface Ended {
  exitCode: number | null;
  seconds: number;
  printed: string;
  complained: string;
}

const TURN_MS_MAX = 120_000;
/** How long a call may take to be recorded after its client has ended. */
const RECORDED_MS_MAX = 30_000;
const RECORDED_POLL_MS = 50;
/** The most output of each stream that is kept; the rest is dropped. */
const PRINTED_LENGTH_MAX = 1_000_000;

export async function runProgram(
  world: World,
  { program, version, signal }: { program: Program; version: string; signal: AbortSignal },
  progress: (line: string) => void,
): Promise<ProgramReport> {
  await using scope = new AsyncDisposableStack();
  const folder = await openFolder(scope);
  const place: Place = {
    installed: join(folder, 'installed'),
    home: join(folder, 'home'),
    work: join(folder, 'work'),
  };
  const { title, packageName, beside, hasScript } = program;
  await Promise.all([place.home, place.work].map((path) => mkdir(path)));
  const packages = { dependencies: { ...beside, [packageName]: version }, withScripts: hasScript ? [packageName] : [] };
  await npmInstall(place.installed, packages, (seconds) => progress(`${title}: installing ${version} (${seconds} s)`));
  const access = { url: world.relay.url, key: world.key };
  await program.prepare(place, access);
  const turns: TurnReport[] = [];
  for (const turn of program.turns(place)) {
    if (signal.aborted) break;
    progress(`${title}: ${turn.does}`);
    world.relay.asked.splice(0);
    world.answered.splice(0);
    const ended = await runTurn(turn, place, program.env(access), signal);
    if (!signal.aborted) turns.push(await buildReport(world, turn, ended));
  }
  return { title, packageName, version, turns };
}

/** Nothing of this process's environment but the way to Node: no settings of a client, no home. */
async function runTurn(
  { command, args, env = {} }: Turn,
  { home, work }: Place,
  settings: Record<string, string>,
  signal: AbortSignal,
): Promise<Ended> {
  const startMs = performance.now();
  const PATH = [dirname(process.execPath), process.env.PATH ?? ''].join(delimiter);
  const child = spawn(command, args, {
    cwd: work,
    env: { PATH, HOME: home, ...settings, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Leader of a group, with which whatever it started ends too.
    detached: true,
  });
  const end = () => child.pid !== undefined && child.exitCode === null && process.kill(-child.pid, 'SIGKILL');
  const timer = setTimeout(end, TURN_MS_MAX);
  signal.addEventListener('abort', end);
  process.once('exit', end);
  let printed = '';
  let complained = '';
  child.stdout.on('data', (chunk: Buffer) => {
    printed = (printed + chunk).slice(0, PRINTED_LENGTH_MAX);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    complained = (complained + chunk).slice(0, PRINTED_LENGTH_MAX);
  });
  try {
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      child.once('close', resolve);
      child.once('error', reject);
    });
    return { exitCode, seconds: (performance.now() - startMs) / 1_000, printed: printed.trim(), complained };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    process.off('exit', end);
  }
}

async function buildReport(world: World, turn: Turn, ended: Ended): Promise<TurnReport> {
  const asked = [...world.relay.asked];
  const answered = world.answered.filter(({ path, model }) => model !== undefined && !path.endsWith('/count_tokens'));
  const ids = asked.flatMap(({ callId }) => callId ?? []);
  const calls = await Promise.all(ids.map((callId) => recorded(world, callId)));
  const wrong = [
    ...(ended.exitCode === 0 ? [] : [`it ended with ${ended.exitCode ?? 'a signal'}`]),
    ...turn.prints.filter((part) => !ended.printed.includes(part)).map((part) => `it did not print ${part}`),
    ...asked.filter(isRefused).map(({ method, path, status }) => `${method} ${path} was answered ${status}`),
    ...(turn.routes ?? [])
      .filter((route) => !asked.some((one) => routeOf(one) === route))
      .map((route) => `it did not ask ${route}`),
    ...(calls.length === turn.calls ? [] : [`${calls.length} calls are metered, not ${turn.calls}`]),
    ...calls
      .filter(({ status }) => status !== 'COMPLETED')
      .map(({ callId, status }) => `the call ${callId} is ${status}`),
    ...differences(answered, calls),
  ];
  return { does: turn.does, ...ended, asked, calls, wrong };
}

const routeOf = ({ method, path }: Asked) => `${method} ${path.split('?')[0]}`;

/** Claude Code looks whether somebody is there, at an address that is no route, and takes any answer. */
function isRefused({ method, status }: Asked): boolean {
  return status >= 400 && method !== 'HEAD';
}

/** Compares the vendor's answers with the metered usage. */
function differences(answered: readonly Entry[], calls: readonly Call[]): string[] {
  const usage = (inputTokens = 0, outputTokens = 0) => `${inputTokens} tokens in, ${outputTokens} out`;
  const billed = answered.map(({ inputTokens, outputTokens }) => usage(inputTokens, outputTokens)).sort();
  const metered = calls.map(({ inputTokens, outputTokens }) => usage(inputTokens, outputTokens)).sort();
  return billed.join('; ') === metered.join('; ')
    ? []
    : [`the vendor answered ${billed.join('; ')}, and metered is ${metered.join('; ')}`];
}

/** The call after it is over. Throws if it is not over after half a minute. */
async function recorded({ api }: World, callId: string): Promise<Call> {
  for (const giveUpAtMs = Date.now() + RECORDED_MS_MAX; ; await sleep(RECORDED_POLL_MS)) {
    const { status, modelUsed, providerUsed, costUSD, costBreakdown } = (
      await api.send('readCall', { params: { callId } })
    ).data;
    if (status !== 'IN_PROGRESS') {
      const of = (wanted: string) => costBreakdown?.lines.find(({ component }) => component === wanted)?.quantity ?? 0;
      return {
        callId,
        status,
        model: `${providerUsed}/${modelUsed}`,
        inputTokens: of('input'),
        outputTokens: of('output'),
        costUsd: costUSD ?? Number.NaN,
      };
    }
    if (Date.now() > giveUpAtMs) throw new Error(`the call ${callId} does not end`);
  }
}
