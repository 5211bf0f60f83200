/**
 * `npm run test:newcomer`: takes a newcomer's steps, on machines with different versions of Node and npm, and prints
 * each step with its time.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runSuite } from '../support/command-line.ts';
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

await runSuite({
  help: HELP,
  options: { contributor: { type: 'boolean', default: false } },
  names: { noun: 'machine', all: KINDS.map(({ id }) => id) },
  read: ({ contributor }, names) => ({
    kinds: KINDS.filter(({ id }) => names.length === 0 || names.includes(id)),
    steps: contributor ? [...STEPS, ...CONTRIBUTOR_STEPS] : STEPS,
  }),
  async run({ kinds, steps }, { signal, json }) {
    // With --json, standard output has the report alone.
    const tell = json ? console.error : console.log;
    const reports: MachineReport[] = [];
    for (const kind of kinds) {
      if (signal.aborted) break;
      reports.push(await visit(kind, steps, signal, tell));
    }
    if (json) console.log(JSON.stringify({ machines: reports }, null, 2));
    return signal.aborted || reports.every((report) => report.steps.every(({ problem }) => problem === null));
  },
});

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
    tell(reportLine(taken));
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

function reportLine({ name, seconds, note, problem }: StepReport): string {
  const line = `  ${`${seconds.toFixed(1)} s`.padStart(8)}  ${name}`;
  if (problem !== null) return `${line}: FAILED: ${problem.trim().replaceAll('\n', '\n            ')}`;
  return note === '' ? line : `${line} (${note})`;
}
