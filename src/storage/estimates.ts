/**
 * How many estimates of compression an organization runs at a time. Each reads all its samples from the database that
 * everybody shares, so their number is bounded.
 */

import { and, eq, lt, sql } from 'drizzle-orm';
import type { Env } from '../env.ts';
import { DAY_MS } from '../platform/time.ts';
import { database } from './database.ts';
import { runningEstimates } from './schema.ts';

export const RUNNING_ESTIMATES_MAX = 10;
/** An estimate that did not say that it ended counts no longer than this. */
const COUNTED_MS_MAX = DAY_MS;

/**
 * Counts the estimate among the running ones; `false` where the organization runs as many as it may. An estimate that
 * is counted already is not counted twice.
 */
export async function enterEstimate(env: Env, organizationId: string, jobId: string, nowMs: number): Promise<boolean> {
  const running = sql`SELECT COUNT(*) FROM running_estimates
    WHERE organization_id = ${organizationId} AND job_id <> ${jobId} AND started_at_ms > ${nowMs - COUNTED_MS_MAX}`;
  const entered = await database(env.DB).all(
    sql`INSERT INTO running_estimates (organization_id, job_id, started_at_ms)
      SELECT ${organizationId}, ${jobId}, ${nowMs} WHERE (${running}) < ${RUNNING_ESTIMATES_MAX}
      ON CONFLICT DO UPDATE SET started_at_ms = excluded.started_at_ms RETURNING 1`,
  );
  return entered.length > 0;
}

/** To be called when the estimate has ended, or was not begun. */
export async function leaveEstimate(env: Env, organizationId: string, jobId: string): Promise<void> {
  const isJob = and(eq(runningEstimates.organizationId, organizationId), eq(runningEstimates.jobId, jobId));
  await database(env.DB).delete(runningEstimates).where(isJob);
}

/** For the cron: estimates that count no longer. */
export async function forgetOldEstimates(env: Env, nowMs: number): Promise<void> {
  await database(env.DB)
    .delete(runningEstimates)
    .where(lt(runningEstimates.startedAtMs, nowMs - COUNTED_MS_MAX));
}
