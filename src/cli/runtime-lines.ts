/**
 * Puts what the runtime says into this program's words, for the terminal.
 *
 * The Worker's own log lines stay as they are. A line that needs nobody is left out by a list, which says why. Any
 * other line is printed whole: an unknown error is never hidden.
 */
import { styleText } from 'node:util';
import { Log, LogLevel } from 'miniflare';

/** What the runtime says, and what is printed in its place; `null` prints nothing. */
const KNOWN: readonly { says: RegExp; print: string | null }[] = [
  // A Durable Object set its alarm anew while the earlier one was on its way: the alarm runs now.
  { says: /^NOSENTRY SQLite alarm overdue, running despite AlarmManager mismatch;/, print: null },
  // A Durable Object moved its alarm to later, or deleted it: the alarm runs then, or not at all.
  { says: /^NOSENTRY SQLite alarm handler canceled with requestScheduledAlarm\.;/, print: null },
  {
    says: /^The Workers runtime crashed unexpectedly and is being restarted \(crash #\d+\)/,
    print: 'Callmeter: the runtime ended unexpectedly, and starts again. Calls that it was answering have failed.',
  },
];

const WORKER_LOG = /^\{"event":/;

/** The line to print; `null` if there is none. */
function terminalLine(message: string): string | null {
  if (WORKER_LOG.test(message)) return message;
  const known = KNOWN.find(({ says }) => says.test(message));
  return known ? known.print : `Callmeter: the runtime says: ${message}`;
}

export function printRuntimeLine({ level, message }: { level: string; message: string }): void {
  const line = terminalLine(message);
  if (line === null) return;
  if (level === 'error' || level === 'warn') console.error(styleText('red', line, { stream: process.stderr }));
  else console.log(line);
}

/** Prints what Miniflare says of the runtime in the same way. */
export class RuntimeLog extends Log {
  constructor() {
    super(LogLevel.WARN);
  }

  override logWithLevel(level: LogLevel, message: string): void {
    if (level <= this.level) printRuntimeLine({ level: level === LogLevel.ERROR ? 'error' : 'warn', message });
  }
}
