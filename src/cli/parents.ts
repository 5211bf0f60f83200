/**
 * `npm start` is three processes: npm, a shell, and the server. Whoever ends npm means the server, but a signal to npm
 * ends the shell alone, and a kill nothing but npm. So the server looks whether its npm is still there.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const POLL_MS = 300;
/** npm is the parent, or its shell is. */
const ANCESTORS_MAX = 3;

/** Calls `ended` once when one of `ancestors` is gone. Does nothing where there is none. */
export function whenNpmEnds(ancestors: readonly number[], ended: () => void): void {
  const timer = setInterval(() => {
    if (ancestors.every(isAlive)) return;
    clearInterval(timer);
    ended();
  }, POLL_MS);
  timer.unref();
}

/**
 * The parent and its parents, up to and with npm; none where it was not npm. To be asked first, while they are there.
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
