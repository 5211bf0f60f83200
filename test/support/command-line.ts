/**
 * The command line of a suite: it is read, the suite runs until it ends or is interrupted, and the exit code says what came
 * of it.
 */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { freshSeed } from '../crash/random.ts';

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<Of extends Options> = ReturnType<typeof parseArgs<{ options: Of }>>['values'];

/** What every suite is told beside what it was asked for. */
interface Running {
  /** Ctrl+C. */
  signal: AbortSignal;
  /** The report is wanted as JSON on standard output. */
  json: boolean;
  onProgress(line: string): void;
}

interface Suite<Of extends Options, Asked> {
  help: string;
  /** Beside `--json` and `--help`. */
  options: Of;
  /** The names that may follow; none may if it is absent. */
  names?: { noun: string; all: readonly string[] };
  /** What is asked for; throws if it cannot be done. */
  read(values: Values<Of>, names: readonly string[]): Asked;
  /** Prints its report, and answers whether all is well. */
  run(asked: Asked, running: Running): Promise<boolean>;
}

/** Exits with 2 if the command line is wrong, with 1 if not all is well, and with 130 after an interruption. */
export async function runSuite<Of extends Options, Asked>({ help, options, names, read, run }: Suite<Of, Asked>) {
  const { asked, json } = parsedOrExit(() => {
    const own = { json: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h' } } as const;
    const { values, positionals } = parseArgs({ options: { ...options, ...own }, allowPositionals: !!names });
    const { json, help: isHelp } = values as { json: boolean; help?: boolean };
    if (isHelp) return { asked: null, json };
    const unknown = positionals.filter((name) => !names?.all.includes(name));
    if (unknown.length > 0) throw new Error(`there is no ${names?.noun} ${unknown.join(', ')}; --help names them`);
    return { asked: { of: read(values as Values<Of>, positionals) }, json };
  });
  if (!asked) return console.log(help);
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => abort.abort());
  try {
    const isGood = await run(asked.of, { signal: abort.signal, json, onProgress: (line) => console.error(line) });
    process.exitCode = isGood ? (abort.signal.aborted ? 130 : 0) : 1;
  } catch (error) {
    console.error(`it did not run to its end: ${(error as Error).stack}`);
    process.exitCode = 1;
  }
}

/** The number of an option; throws if it is none, with the name of the option. */
export function wholeNumber(name: string, text: string | undefined, min: number, max: number): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < min || number > max)
    throw new Error(`--${name} must be a whole number from ${min} to ${max}`);
  return number;
}

/** The seed of an earlier run, or a new one. */
export const seedOrFresh = (text: string | undefined): number =>
  text === undefined ? freshSeed() : wholeNumber('seed', text, 0, 2 ** 31 - 1);

/**
 * What `parse` reads. A command line that says nothing that can be done ends the command: with what is wrong, and exit
 * code 2.
 */
export function parsedOrExit<Command>(parse: () => Command): Command {
  try {
    return parse();
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}
