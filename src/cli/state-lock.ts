/**
 * One server at a time on a state folder: two servers would each keep their own quotas and balances on it.
 *
 * The lock is an SQLite transaction that stays open, so the system releases it with the process, however that ends. A
 * file beside it tells others which process has the state, and on which port it serves.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';

const LOCK_FILE = 'server.lock';
const HOLDER_FILE = 'server.json';
/** Files of the lock, including SQLite's own beside it. */
const isOfLock = (name: string) => name.startsWith(LOCK_FILE) || name === HOLDER_FILE;
/** SQLite's code for a lock that another process holds. */
const SQLITE_BUSY = 5;
/** A server that was just killed or stopped may still have the lock. */
const WAIT_MS = 3_000;
const POLL_MS = 100;

interface Holder {
  pid: number;
  port: number;
}

/** Kept for as long as the process runs. */
const held: DatabaseSync[] = [];

/**
 * Locks the state folder, which is created if it does not exist, until this process ends. Throws if another server has
 * it, or if it cannot be written.
 */
export async function lockState(stateDir: string, port: number): Promise<void> {
  await prepareFolder(stateDir);
  for (const giveUpAtMs = Date.now() + WAIT_MS; !tryLock(stateDir); await setTimeout(POLL_MS))
    if (Date.now() > giveUpAtMs) throw new Error(await describeHolder(stateDir));
  const holder: Holder = { pid: process.pid, port };
  await writeFile(join(stateDir, HOLDER_FILE), JSON.stringify(holder));
}

/** Deletes the state in a folder that this process has locked. */
export async function emptyState(stateDir: string): Promise<void> {
  const names = (await readdir(stateDir)).filter((name) => !isOfLock(name));
  await Promise.all(names.map((name) => rm(join(stateDir, name), { recursive: true, force: true })));
}

/** Whether earlier starts left a state in the folder. */
export async function hasState(stateDir: string): Promise<boolean> {
  return !(await readdir(stateDir)).every(isOfLock);
}

async function prepareFolder(stateDir: string): Promise<void> {
  try {
    await mkdir(stateDir, { recursive: true });
    // Also refuses a folder that exists but cannot be written.
    const probe = join(stateDir, `.probe-${process.pid}`);
    await writeFile(probe, '');
    await rm(probe);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`the state cannot be kept in ${stateDir} (${code}); choose another folder with STATE_DIR=...`, {
      cause: error,
    });
  }
}

function tryLock(stateDir: string): boolean {
  const lock = new DatabaseSync(join(stateDir, LOCK_FILE), { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    held.push(lock);
    return true;
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return false;
    throw error;
  }
}

async function describeHolder(stateDir: string): Promise<string> {
  const text = await readFile(join(stateDir, HOLDER_FILE), 'utf8').catch(() => '{}');
  const { pid, port } = JSON.parse(text || '{}') as Partial<Holder>;
  const who = pid === undefined ? 'another server' : `the server on port ${port} (process ${pid})`;
  return `${who} uses the state in ${stateDir}; stop it, or choose another folder with STATE_DIR=...`;
}
