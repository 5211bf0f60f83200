/**
 * What customers' objects announce in KV: that changes wait because D1 could not be reached, and that D1 refused some.
 */
import { BACKLOG_PREFIX, backlogKey, type Env, SET_ASIDE_PREFIX, setAsideKey } from '../env.ts';

export interface Backlog {
  customers: number;
  /** When the oldest of the waiting changes was recorded; `null` where none waits. */
  oldestMs: number | null;
}

export interface SetAside {
  /** Rows that D1 refused. */
  rows: number;
  oldestMs: number | null;
}

/** Metadata of an announcement, and its name. */
interface Announced {
  name: string;
  oldestMs?: number;
  rows?: number;
}

/** Pages of announcements that one reading takes, of a thousand customers each. */
const PAGES_MAX = 20;

/** The backlog of one organization, or of all. */
export async function readBacklog(env: Env, organizationId?: string): Promise<Backlog> {
  const prefix = organizationId === undefined ? BACKLOG_PREFIX : backlogKey(organizationId, '');
  const announced = await readAnnounced(env, prefix);
  return { customers: announced.length, oldestMs: oldestOf(announced) };
}

/** What D1 refused, of all organizations. */
export async function readSetAside(env: Env): Promise<SetAside> {
  const announced = await readAnnounced(env, SET_ASIDE_PREFIX);
  return { rows: announced.reduce((sum, { rows = 0 }) => sum + rows, 0), oldestMs: oldestOf(announced) };
}

/** Ids of the organization's objects that have something set aside, ascending. */
export async function findSetAside(env: Env, organizationId: string): Promise<string[]> {
  const prefix = setAsideKey(organizationId, '');
  return (await readAnnounced(env, prefix)).map(({ name }) => name.slice(prefix.length)).sort();
}

function oldestOf(announced: readonly Announced[]): number | null {
  const times = announced.flatMap(({ oldestMs }) => oldestMs ?? []);
  return times.reduce<number | null>((oldest, atMs) => Math.min(oldest ?? atMs, atMs), null);
}

async function readAnnounced(env: Env, prefix: string): Promise<Announced[]> {
  const announced: Announced[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const listed = await env.KV.list<Omit<Announced, 'name'>>({ prefix, ...(cursor !== undefined && { cursor }) });
    announced.push(...listed.keys.map(({ name, metadata }) => ({ name, ...metadata })));
    if (listed.list_complete) break;
    cursor = listed.cursor;
  }
  return announced;
}
