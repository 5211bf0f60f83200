/**
 * Help texts of the operator commands, made from the command table and the contract's descriptions.
 */
import { COMMANDS, type Command } from './operator-commands.ts';
import { buildFlags, type Flag } from './operator-flags.ts';
import { TARGET_HELP } from './operator-target.ts';
import { indent } from './table.ts';

const WIDTH = 110;

/** Flags of every command. */
const COMMON_FLAGS = ['url', 'token', 'json', 'help'];

const COMMON = `${TARGET_HELP}
  --json     the API's data as JSON; with \`npm run -s\`, standard output holds nothing else
  --help     this text, or help for a noun or a command

Exit code: 0 success, 1 error, 2 wrong command line, 130 stopped waiting.`;

export function overview(): string {
  const commands = lines(COMMANDS.map((command) => [commandName(command), command.operation.summary]));
  return `npm run operator -- <noun> <verb> [arguments] [flags]\n\n${commands}\n\n${COMMON}`;
}

/** Help for one command, or for all commands of a noun. */
export function commandHelp(commands: readonly Command[]): string {
  return `${commands.map(describeCommand).join('\n\n')}\n\nWith every command:\n${COMMON}`;
}

export function listArguments({ operation, document, positional = [] }: Command): string[] {
  const parameters = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return document ? [...parameters, 'file'] : [...parameters, ...positional];
}

/** The flags of the operation's query, without paging, which the command itself does. */
export function queryFlags({ operation, positional = [] }: Command): Flag[] {
  const others = ['limit', 'cursor', ...positional];
  return buildFlags(operation.query).filter(({ field }) => !others.includes(field));
}

export function bodyFlags({ operation, document, noun, positional = [] }: Command): Flag[] {
  if (document) return [];
  const named = buildFlags(operation.body).filter(({ field }) => !positional.includes(field));
  return named.map((flag) => ownFlag(flag, noun));
}

/** A field with the name of a common flag gets the noun as a prefix: the `url` of a webhook is `--webhook-url`. */
function ownFlag(flag: Flag, noun: string): Flag {
  return COMMON_FLAGS.includes(flag.name) ? { ...flag, name: `${noun.replace(/s$/, '')}-${flag.name}` } : flag;
}

export function commandName({ noun, verb }: Command): string {
  return verb === undefined ? noun : `${noun} ${verb}`;
}

function describeCommand(command: Command): string {
  const flags = [...queryFlags(command), ...bodyFlags(command)].map(({ name, help }): [string, string] => [
    `--${name}`,
    help,
  ]);
  if (command.list) flags.push(['--limit', 'Items to show (50)']);
  if (command.operation.method === 'POST') flags.push(['--idempotency-key', 'Makes a retry safe (default: a new key)']);
  if (command.confirm) flags.push(['--yes', `Skips the confirmation of the ${command.confirm}`]);
  if (command.goodwill) {
    flags.push([
      '--act',
      'reverse: the record was wrong, its cost goes; goodwill: a USD credit of the charge, the cost stays. Asked for on a terminal, else reverse',
    ]);
    flags.push(['--yes', 'Reverses without asking']);
  }
  if (command.wait) flags.push(['--wait', 'Waits and shows the progress; Ctrl+C stops waiting, not the job']);
  if (command.fails) flags.push([`--${command.fails.flag}`, command.fails.help]);
  if (command.document) flags.unshift(['<file>', 'A JSON document; - reads standard input']);
  const usage = [commandName(command), ...listArguments(command).map((name) => `<${name}>`)].join(' ');
  const note = command.note ? `\n${indent(command.note)}` : '';
  return `${usage}\n${indent(command.operation.summary)}${note}${flags.length > 0 ? `\n${lines(flags)}` : ''}`;
}

/** Formats two columns and wraps the second one. */
function lines(entries: [string, string][]): string {
  const width = Math.max(...entries.map(([name]) => name.length)) + 3;
  return entries.map(([name, help]) => `  ${name.padEnd(width)}${wrap(help, width + 2)}`).join('\n');
}

function wrap(text: string, margin: number): string {
  const result: string[] = [];
  for (const word of text.split(' ')) {
    const last = result.at(-1);
    if (last !== undefined && margin + last.length + 1 + word.length <= WIDTH)
      result[result.length - 1] = `${last} ${word}`;
    else result.push(word);
  }
  return result.join(`\n${' '.repeat(margin)}`);
}
