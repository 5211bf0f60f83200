/**
 * Runs one command of the operator: arguments, with the shell's environment, become requests, output and an exit code.
 *
 * Output is text by default, and the API's `data` with `--json`. Exit code 0 means success, 1 an error, 2 a wrong
 * command line, 130 that the user stopped waiting; standard error has the reason. Every POST carries an idempotency
 * key.
 */
import { Console } from 'node:console';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { parseJson } from '../platform/json.ts';
import { refuseOptionsOfNpm } from './npm-options.ts';
import { callOperation, type OperationInput, openLines, Refused } from './operator-client.ts';
import { COMMANDS, type Command } from './operator-commands.ts';
import { parseOptions, readFlags } from './operator-flags.ts';
import { bodyFlags, commandHelp, commandName, listArguments, overview, queryFlags } from './operator-help.ts';
import { withNames } from './operator-names.ts';
import { isLocal, operatorTarget, type Target } from './operator-target.ts';
import { showGrant } from './operator-views.ts';
import { Interrupted } from './operator-wait.ts';
import { isUsageError, UsageError } from './usage-error.ts';

const COMMON_OPTIONS = {
  url: { type: 'string' },
  token: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const LIMIT_DEFAULT = '50';
const PAGE_MAX = 200;

interface Items {
  items: unknown[];
  nextCursor: string | null;
}

/** The parts of a shell that a command uses; `process` has all of them. */
export interface Shell extends Pick<NodeJS.Process, 'env' | 'cwd'> {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
}

/** Resolves with the exit code. */
export async function runOperator(args: string[], shell: Shell): Promise<number> {
  const console = new Console({ stdout: shell.stdout, stderr: shell.stderr });
  return run(args, shell, console).catch((error: Error) => {
    const wrongUsage = isUsageError(error);
    console.error(wrongUsage ? `${error.message.split('. ', 1)[0]}\n(--help lists the commands)` : error.message);
    return wrongUsage ? 2 : error instanceof Interrupted ? 130 : 1;
  });
}

async function run(args: string[], shell: Shell, console: Console): Promise<number> {
  const { values: asked, positionals } = parseArgs({
    args,
    options: COMMON_OPTIONS,
    strict: false,
    allowPositionals: true,
  });
  refuseOptionsOfNpm('npm run operator', ['json'], { argv: args, env: shell.env });
  const [noun, verb] = positionals;
  const ofNoun = COMMANDS.filter((command) => command.noun === noun);
  const command = ofNoun.find((one) => one.verb === verb) ?? ofNoun.find((one) => one.verb === undefined);
  if (asked.help && (noun === undefined || ofNoun.length > 0)) {
    console.log(noun === undefined ? overview() : commandHelp(command ? [command] : ofNoun));
    return 0;
  }
  if (!command) throw new UsageError(whatExists(noun, ofNoun));

  const { input, limit, failAt, json, yes, act, wait, target } = await readCommand(command, args, shell);
  if (command.confirm && !yes) await confirm(command, input.params ?? {}, target, shell);
  const chosen = act ?? (command.goodwill && !yes && shell.stdin.isTTY ? await askForAct(shell) : 'reverse');
  if (command.operation.method !== 'GET' && !isLocal(target.url)) console.error(`at ${target.url}`);
  if (command.goodwill && chosen === 'goodwill') {
    const granted = await command.goodwill(
      target,
      input.params ?? {},
      input.body as Record<string, unknown>,
      console.error,
    );
    console.log(json ? JSON.stringify(granted, null, 2) : showGrant(granted));
    return 0;
  }
  if (command.operation.lines) {
    await printLines(await openLines(target, command.operation, input), shell);
    return 0;
  }
  if (command.run) {
    const found = await command.run.all(target, console.error);
    console.log(json ? JSON.stringify(found, null, 2) : command.view(found as never));
    return command.run.hasFailed(found as never) ? 1 : 0;
  }
  const answer = command.list ? await collect(target, command, input, limit) : await send(target, command, input);
  const data = wait ? await wait.until(target, input.params ?? {}, answer as never, console.error) : answer;
  const { view } = wait ?? command;
  const named = async () => (command.names ? withNames(command.names, target, input, data) : data);
  console.log(json ? JSON.stringify(data, null, 2) : view((await named()) as never));
  if (!json && command.list && (data as Items).nextCursor !== null)
    console.error(`There are more than ${limit}; use --limit to show them.`);
  return failAt !== null && command.fails?.when(data as never, failAt) ? 1 : 0;
}

async function readCommand(command: Command, args: string[], shell: Shell) {
  const query = queryFlags(command);
  const body = bodyFlags(command);
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...parseOptions([...query, ...body]),
      ...(command.list && { limit: { type: 'string' } }),
      ...(command.operation.method === 'POST' && { 'idempotency-key': { type: 'string' } }),
      ...((command.confirm || command.goodwill) && { yes: { type: 'boolean' } }),
      ...(command.goodwill && { act: { type: 'string' } }),
      ...(command.wait && { wait: { type: 'boolean' } }),
      ...(command.fails && { [command.fails.flag]: { type: 'string' } }),
      ...COMMON_OPTIONS,
    },
  });
  const given = values as Record<string, string | undefined>;
  const act = command.goodwill && given.act !== undefined ? readAct(given.act) : null;
  // Goodwill does not need the fields that a correction requires.
  const flagsOfBody = act === 'goodwill' ? body.map((flag) => ({ ...flag, required: false })) : body;
  const { yes = false, wait = false } = values as { yes?: boolean; wait?: boolean };
  const named = Object.entries(readArguments(command, positionals.slice(command.verb === undefined ? 1 : 2)));
  const isField = ([name]: [string, string]) => command.positional?.includes(name) ?? false;
  const params = Object.fromEntries(named.filter((one) => !isField(one)));
  const fields = Object.fromEntries(named.filter(isField));
  const hasBody = body.length > 0 || (command.positional !== undefined && command.operation.body !== undefined);
  const input: OperationInput = {
    params,
    query: { ...(readFlags(query, values) as Record<string, string>), ...(!hasBody && fields) },
  };
  if (command.operation.method === 'POST') input.idempotencyKey = given['idempotency-key'] ?? randomUUID();
  if (hasBody) input.body = { ...readFlags(flagsOfBody, values), ...fields };
  if (body.length > 0 && act !== 'goodwill' && Object.keys(input.body as object).length === 0) {
    throw new UsageError(`no field is given; use ${body.map(({ name }) => `--${name}`).join(', ')}`);
  }
  const limit = Number(given.limit ?? LIMIT_DEFAULT);
  if (!Number.isInteger(limit) || limit < 1) throw new UsageError('--limit must be a whole number above 0');
  const failAt = command.fails ? wholeNumber(command.fails.flag, given[command.fails.flag]) : null;
  if (failAt !== null && command.fails && input.query) input.query = command.fails.query(input.query, failAt);
  const target = await operatorTarget(given, shell.env);
  if (command.document) input.body = await readDocument(params.file ?? '', shell);
  return { input, limit, failAt, json: values.json === true, yes, act, wait: wait ? command.wait : undefined, target };
}

/** Reads a flag as a whole number of at least 0; `null` if the flag is not given. */
function wholeNumber(flag: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${flag} must be a whole number of at least 0`);
  return Number(text);
}

function readArguments(command: Command, given: string[]): Record<string, string> {
  const names = listArguments(command);
  if (given.length !== names.length || given.includes('')) {
    throw new UsageError(`usage: ${[commandName(command), ...names.map((name) => `<${name}>`)].join(' ')}`);
  }
  return Object.fromEntries(names.map((name, index) => [name, given[index] ?? '']));
}

/** The act that ends a dispute. */
type Act = 'reverse' | 'goodwill';

function readAct(text: string): Act {
  if (text !== 'reverse' && text !== 'goodwill') throw new UsageError('--act must be reverse or goodwill');
  return text;
}

/** Asks on a terminal for the act; a script without the flag reverses. */
async function askForAct({ stdin, stderr }: Shell): Promise<Act> {
  const terminal = createInterface({ input: stdin, output: stderr });
  const typed = await terminal
    .question(
      'Was the record wrong (reverse: its cost goes), or is it goodwill (a credit of the charge: the cost stays)? [reverse/goodwill] ',
    )
    .finally(() => terminal.close());
  const answer = typed.trim().toLowerCase();
  if (answer === 'reverse' || answer === 'goodwill') return answer;
  throw new Error('neither reverse nor goodwill was typed; nothing was done');
}

/** Asks to type the value again on a terminal; a script passes `--yes`. Describes the action and names the server. */
async function confirm(
  command: Command,
  params: Record<string, string>,
  { url }: Target,
  { stdin, stderr }: Shell,
): Promise<void> {
  const { confirm: argument = '' } = command;
  const asked = `${commandName(command)} ${Object.values(params).join(' ')} at ${url} cannot be undone`;
  if (!stdin.isTTY) throw new UsageError(`${asked}: --yes is required without a terminal`);
  const terminal = createInterface({ input: stdin, output: stderr });
  const typed = await terminal
    .question(`${asked}. Type the ${argument} again to go on: `)
    .finally(() => terminal.close());
  if (typed !== params[argument]) throw new Error(`the values differ; nothing was done at ${url}`);
}

async function readDocument(file: string, { stdin, cwd }: Shell): Promise<unknown> {
  const content = await (file === '-' ? text(stdin) : readFile(resolve(cwd(), file), 'utf8')).catch((error: Error) => {
    throw new UsageError(`the document cannot be read: ${error.message}`);
  });
  const parsed = parseJson(content);
  if (parsed.ok) return parsed.value;
  throw new UsageError(`the document is not JSON${parsed.broken === 'syntax' ? `: ${parsed.reason}` : ''}`);
}

async function send(target: Target, command: Command, input: OperationInput): Promise<unknown> {
  try {
    return (await callOperation(target, command.id, input)).data;
  } catch (error) {
    if (error instanceof Refused || input.idempotencyKey === undefined) throw error;
    throw new Error(`${(error as Error).message}\nto repeat it safely: --idempotency-key ${input.idempotencyKey}`, {
      cause: error,
    });
  }
}

/** Prints lines with the backpressure of standard output. */
async function printLines(lines: AsyncIterable<Uint8Array>, { stdout }: Shell): Promise<void> {
  for await (const chunk of lines) {
    if (!stdout.write(chunk)) await once(stdout, 'drain');
  }
}

/** Follows `nextCursor` until there are `limit` items. Other members of the answer are those of the last page. */
async function collect(target: Target, command: Command, input: OperationInput, limit: number): Promise<Items> {
  let found: Items = { items: [], nextCursor: null };
  do {
    const size = Math.min(PAGE_MAX, limit - found.items.length);
    const query = {
      ...input.query,
      limit: String(size),
      ...(found.nextCursor !== null && { cursor: found.nextCursor }),
    };
    const page = (await callOperation(target, command.id, { ...input, query })).data as Items;
    found = { ...page, items: [...found.items, ...page.items] };
  } while (found.nextCursor !== null && found.items.length < limit);
  return found;
}

function whatExists(noun: string | undefined, ofNoun: readonly Command[]): string {
  if (ofNoun.length > 0) return `${noun} needs a verb: ${ofNoun.map(({ verb }) => verb).join(', ')}`;
  const nouns = [...new Set(COMMANDS.map((command) => command.noun))].join(', ');
  return noun === undefined ? `a noun is missing: ${nouns}` : `there is no noun ${noun}; there are ${nouns}`;
}
