/**
 * Who waits for D1: objects announce in KV that their changes could not be sent.
 */
import { BACKLOG_PREFIX, backlogKey, type Env } from '../env.ts';

export interface Backlog {
  customers: number;
  /** Since when the oldest waits; `null` where nobody does. */
  oldestMs: number | null;
}

/** Pages of announcements that are read; a thousand customers each. */
const PAGES_MAX = 20;

/** Of one organization, or of all. */
export async function readBacklog(env: Env, organizationId?: string): Promise<Backlog> {
  const prefix = organizationId === undefined ? BACKLOG_PREFIX : backlogKey(organizationId, '');
  const backlog: Backlog = { customers: 0, oldestMs: null };
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const listed = await env.KV.list<{ oldestMs: number }>({ prefix, ...(cursor !== undefined && { cursor }) });
    backlog.customers += listed.keys.length;
    for (const { metadata } of listed.keys) {
      if (metadata) backlog.oldestMs = Math.min(backlog.oldestMs ?? metadata.oldestMs, metadata.oldestMs);
    }
    if (listed.list_complete) break;
    cursor = listed.cursor;
  }
  return backlog;
}
