/**
 * The workerd processes as the operating system reports them: ids, memory and processor time.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Of Linux, in milliseconds: USER_HZ is 100 on every architecture that Node runs on. */
const TICK_MS = 10;

/** The workerd processes that this one has started and that still run. */
export async function workerdProcesses(): Promise<number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,comm=']);
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, command]) => Number(parent) === process.pid && command?.includes('workerd'))
    .map(([pid]) => Number(pid));
}

/** What a process holds of the machine's memory. */
export async function residentMiB(pid: number): Promise<number> {
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout.trim()) / 1_024;
}

/** Time of the processor that a process has used; `null` on systems without /proc. */
export async function processorMs(pid: number): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return null;
  // utime and stime are the 14th and 15th fields; the second, a name in brackets, may hold blanks.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
