/**
 * Who waits for D1: objects announce in KV that their changes could not be sent.
 */
import { BACKLOG_PREFIX, type Env } from '../env.ts';

export interface Backlog {
  customers: number;
  /** Since when the oldest waits; `null` where nobody does. */
  oldestMs: number | null;
}

export async function readBacklog(env: Env): Promise<Backlog> {
  const { keys } = await env.KV.list<{ oldestMs: number }>({ prefix: BACKLOG_PREFIX });
  const waiting = keys.map(({ metadata }) => metadata?.oldestMs).filter((atMs) => atMs !== undefined);
  return { customers: keys.length, oldestMs: waiting.length === 0 ? null : Math.min(...waiting) };
}
