/**
 * Kills workerd when the process that started it is gone, for any reason, and removes the folders that are its arguments.
 *
 * Reads lines of process ids from standard input; only the last line counts. When the input closes, it kills these
 * processes. State is safe, because workerd commits before it acknowledges.
 */
import { rmSync } from 'node:fs';

/** workerd may still write while it ends. */
const REMOVE_RETRIES = 5;
let pids: number[] = [];

process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.stdin.setEncoding('utf8');
process.stdin.on('data', (text: string) => {
  const line = text.trim().split('\n').at(-1) ?? '';
  pids = line.split(' ').map(Number).filter(Boolean);
});
process.stdin.on('end', () => {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has already ended, as after an orderly stop.
    }
  }
  for (const folder of process.argv.slice(2))
    rmSync(folder, { recursive: true, force: true, maxRetries: REMOVE_RETRIES });
});
