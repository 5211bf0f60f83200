/**
 * `npm run test:clients`: runs popular clients at the gateway, and prints the result of each.
 */
import { runSuite } from '../support/command-line.ts';
import { CLIENTS } from './programs.ts';
import { type ProgramReport, runProgram, type TurnReport } from './run.ts';
import { startWorld } from './world.ts';

const HELP = `npm run test:clients [-- CLIENT ...] [--json]

Installs clients from the npm registry into a temporary folder, gives each a home of its own and the base URL and key of
a local server alone, and lets it ask. The server's vendor is the one for trying out (npm run vendor), so no key is
needed, and nothing but the installation needs the internet. Prints the exit code, what the client said, which routes it
asked with which status, and the calls that were metered. Exits with 1 where a client failed, where it was refused, or
where a call is not metered as the vendor answered it.

${CLIENTS.map(({ id, title, packageName, version }) => `  ${id.padEnd(8)} ${title}: ${packageName} ${version}`).join('\n')}

${CLIENTS.map(({ id, version }) => `  ${`--${id}-version V`.padEnd(20)} another version than ${version}`).join('\n')}
  --json               the report as JSON on standard output
  --help               this text`;

/** The printed length of a client's output; --json has all of it. */
const PRINTED_LENGTH = 300;

await runSuite({
  help: HELP,
  options: Object.fromEntries(CLIENTS.map(({ id }) => [`${id}-version`, { type: 'string' as const }])),
  names: { noun: 'client', all: CLIENTS.map(({ id }) => id) },
  read: (versions, names) =>
    CLIENTS.filter(({ id }) => names.length === 0 || names.includes(id)).map((program) => ({
      program,
      version: String(versions[`${program.id}-version`] ?? program.version),
    })),
  async run(programs, { signal, json, onProgress }) {
    await using scope = new AsyncDisposableStack();
    onProgress('starting a server');
    const world = await startWorld(scope);
    const reports: ProgramReport[] = [];
    for (const { program, version } of programs) {
      if (signal.aborted) break;
      const report = await runProgram(world, { program, version, signal }, onProgress);
      reports.push(report);
      if (!json) print(report);
    }
    if (json) console.log(JSON.stringify({ clients: reports }, null, 2));
    return signal.aborted || reports.every(({ turns }) => turns.every(({ wrong }) => wrong.length === 0));
  },
});

function print({ title, packageName, version, turns }: ProgramReport): void {
  console.log(`\n${title} (${packageName} ${version})`);
  for (const turn of turns) printTurn(turn);
}

function printTurn({ does, exitCode, seconds, printed, complained, asked, calls, wrong }: TurnReport): void {
  console.log(`\n  ${does}: exit code ${exitCode ?? 'none'} after ${seconds.toFixed(1)} s`);
  console.log(indented(shortened(printed)));
  for (const [line, times] of counted(asked.map(({ method, path, status }) => `${method} ${path} ${status}`)))
    console.log(`    ${line}${times > 1 ? ` (${times} times)` : ''}`);
  for (const { model, inputTokens, outputTokens, costUsd } of calls)
    console.log(`    metered: ${model}, ${inputTokens} tokens in, ${outputTokens} out, $${costUsd}`);
  for (const sentence of wrong) console.log(`    WRONG  ${sentence}`);
  if (wrong.length > 0 && complained !== '') console.log(indented(shortened(complained)));
}

function counted(lines: readonly string[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const line of lines) times.set(line, (times.get(line) ?? 0) + 1);
  return times;
}

function shortened(text: string): string {
  return text.length <= PRINTED_LENGTH ? text : `${text.slice(0, PRINTED_LENGTH)} ...`;
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `    | ${line}`)
    .join('\n');
}
