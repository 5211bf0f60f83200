/**
 * `npm run test:newcomer`: takes a newcomer's steps, on machines with different versions of Node and npm, and prints
 * each step with its time.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parsedOrExit } from '../support/command-line.ts';
import { KINDS, type Kind, type Machine, setUpMachine } from './machine.ts';
import { CONTRIBUTOR_STEPS, STEPS, type Step, type Walk } from './steps.ts';

const HELP = `npm run test:newcomer [-- MACHINE ...] [--contributor] [--json]

Clones the repository's last commit into an empty folder, for each machine, with an empty home and an empty cache of
npm, and does what the documents say: npm ci, npm start, the pages, stop, start again, and ten jobs by the lines of a
document alone, each on a fresh start and within three minutes. What was counted must still be there, the clone must be
clean, and nothing may be left elsewhere. Node, npm and the packages come from the registry that npm is configured with.
Exits with 1 if a step failed; the machine's later steps are left out then.

${KINDS.map(({ id, node, npm }) => `  ${id.padEnd(14)} Node ${node}, npm ${npm}`).join('\n')}

  --contributor   also npm run check, and one test file
  --json          the report as JSON on standard output
  --help          this text`;

interface Command {
  kinds: readonly Kind[];
  steps: readonly Step[];
  json: boolean;
}

interface StepReport {
  name: string;
  seconds: number;
  note: string;
  /** `null` if it went well. */
  problem: string | null;
}

interface MachineReport {
  id: string;
  versions: Machine['versions'];
  steps: StepReport[];
}

function parseCommand(): Command | 'help' {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      contributor: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return 'help';
  const unknown = positionals.filter((name) => !KINDS.some(({ id }) => id === name));
  if (unknown.length > 0) throw new Error(`there is no machine ${unknown.join(', ')}; --help names them`);
  return {
    kinds: KINDS.filter(({ id }) => positionals.length === 0 || positionals.includes(id)),
    steps: values.contributor ? [...STEPS, ...CONTRIBUTOR_STEPS] : STEPS,
    json: values.json,
  };
}

async function main(): Promise<void> {
  const command = parsedOrExit(parseCommand);
  if (command === 'help') return console.log(HELP);
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => abort.abort());
  // With --json, standard output has the report alone.
  const tell = command.json ? console.error : console.log;
  const reports: MachineReport[] = [];
  for (const kind of command.kinds) {
    if (abort.signal.aborted) break;
    reports.push(await visit(kind, command.steps, abort.signal, tell));
  }
  if (command.json) console.log(JSON.stringify({ machines: reports }, null, 2));
  const isGood = reports.every(({ steps }) => steps.every(({ problem }) => problem === null));
  process.exitCode = abort.signal.aborted ? 130 : isGood ? 0 : 1;
}

/** One machine, from its set-up to its removal. */
async function visit(
  kind: Kind,
  steps: readonly Step[],
  abort: AbortSignal,
  tell: (line: string) => void,
): Promise<MachineReport> {
  await using scope = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'callmeter-newcomer-'));
  scope.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const machine = await setUpMachine(folder, kind, (line) => console.error(`${kind.id}: ${line}`));
  tell(`${kind.id}: Node ${machine.versions.node}, npm ${machine.versions.npm}`);
  const walk: Walk = { machine, abort, scope };
  const report: MachineReport = { id: kind.id, versions: machine.versions, steps: [] };
  for (const step of steps) {
    const taken = await take(step, walk);
    if (abort.aborted) break;
    report.steps.push(taken);
    tell(lineOf(taken));
    if (taken.problem !== null) break;
  }
  return report;
}

async function take({ name, take }: Step, walk: Walk): Promise<StepReport> {
  const startMs = performance.now();
  const since = () => (performance.now() - startMs) / 1_000;
  try {
    const note = (await take(walk)) ?? '';
    return { name, seconds: since(), note, problem: null };
  } catch (error) {
    return { name, seconds: since(), note: '', problem: (error as Error).message };
  }
}

function lineOf({ name, seconds, note, problem }: StepReport): string {
  const line = `  ${`${seconds.toFixed(1)} s`.padStart(8)}  ${name}`;
  if (problem !== null) return `${line}: FAILED: ${problem.trim().replaceAll('\n', '\n            ')}`;
  return note === '' ? line : `${line} (${note})`;
}

await main();
