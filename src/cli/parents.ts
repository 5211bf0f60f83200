/**
 * `npm start` runs three processes: npm, a shell, and the server. A signal to npm ends only the shell, and killing npm
 * ends only npm. So the server watches npm and stops when it is gone.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const POLL_MS = 300;
/** npm is the parent, or the parent of the shell. */
const ANCESTORS_MAX = 3;

/** Calls `ended` once, when one of `ancestors` is gone. Does nothing if there are none. */
export function whenNpmEnds(ancestors: readonly number[], ended: () => void): void {
  const timer = setInterval(() => {
    if (ancestors.every(isAlive)) return;
    clearInterval(timer);
    ended();
  }, POLL_MS);
  timer.unref();
}

/**
 * The parent and its ancestors up to npm; empty if npm did not start this process. Call it first, while they still run.
 */
export async function ancestorsUpToNpm(): Promise<number[]> {
  const pids: number[] = [];
  let pid = process.ppid;
  for (let generation = 0; generation < ANCESTORS_MAX && pid > 1; generation += 1) {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'ppid=,args=', '-p', String(pid)]).catch(() => ({
      stdout: '',
    }));
    const [, parent, command = ''] = /^\s*(\d+)\s+(.*)/.exec(stdout) ?? [];
    if (parent === undefined) return [];
    pids.push(pid);
    if (/\bnpm\b/.test(command) && !/^\S*sh -c /.test(command)) return pids;
    pid = Number(parent);
  }
  return [];
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
