/**
 * Processes as the operating system reports them: workerd's ids, memory and processor time.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** On Linux, in milliseconds: USER_HZ is 100 on every architecture that Node runs on. */
const TICK_MS = 10;

interface Process {
  pid: number;
  parent: number;
  command: string;
}

async function allProcesses(): Promise<Process[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,comm=']);
  return stdout
    .trim()
    .split('\n')
    .map((line) => {
      const [pid, parent, command = ''] = line.trim().split(/\s+/);
      return { pid: Number(pid), parent: Number(parent), command };
    });
}

/** The workerd processes that this one has started, or a process that it started, and that still run. */
export async function workerdProcesses(): Promise<number[]> {
  const processes = await allProcesses();
  const tree = treeOf(process.pid, processes);
  return processes
    .filter(({ pid, command }) => tree.includes(pid) && command.includes('workerd'))
    .map(({ pid }) => pid);
}

/** A process and all that it has started. */
function treeOf(pid: number, processes: readonly Process[]): number[] {
  const tree = [pid];
  // The list grows while it is read: processes that a process started come after it.
  for (const parent of tree) tree.push(...processes.filter((one) => one.parent === parent).map((one) => one.pid));
  return tree;
}

/** The part of the machine's memory that a process uses. */
export async function residentMiB(pid: number): Promise<number> {
  // Linux reports it without a further process.
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  if (kib !== undefined) return Number(kib) / 1_024;
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout.trim()) / 1_024;
}

/** Time of the processor that a process and all that it started have used; `null` on systems without /proc. */
export async function processorMs(pid: number): Promise<number | null> {
  let sumMs = 0;
  for (const one of treeOf(pid, await allProcesses())) {
    const stat = await readFile(`/proc/${one}/stat`, 'utf8').catch(() => null);
    if (stat === null) return null;
    // utime and stime are the 14th and 15th fields; the second, a name in brackets, may hold blanks.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    sumMs += (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  }
  return sumMs;
}
