/**
 * The compression estimates that run. An estimate reads all samples of its organization from a shared database, so an
 * organization may run a bounded number at a time.
 */

import { and, eq, lt, sql } from 'drizzle-orm';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { DAY_MS } from '../platform/time.ts';
import { configDatabase } from './database.ts';
import { runningEstimates } from './schema/index.ts';

export const RUNNING_ESTIMATES_MAX = 10;
/** An estimate without a recorded end counts no longer than this. */
const COUNTED_MS_MAX = DAY_MS;

/**
 * Records that the estimate runs; `false` if the organization already runs the most. An estimate counts once, however
 * often it is recorded.
 */
export async function enterEstimate(
  env: Env,
  organizationId: OrganizationId,
  jobId: string,
  nowMs: number,
): Promise<boolean> {
  const running = sql`SELECT COUNT(*) FROM running_estimates
    WHERE organization_id = ${organizationId} AND job_id <> ${jobId} AND started_at_ms > ${nowMs - COUNTED_MS_MAX}`;
  const entered = await configDatabase(env).all(
    sql`INSERT INTO running_estimates (organization_id, job_id, started_at_ms)
      SELECT ${organizationId}, ${jobId}, ${nowMs} WHERE (${running}) < ${RUNNING_ESTIMATES_MAX}
      ON CONFLICT DO UPDATE SET started_at_ms = excluded.started_at_ms RETURNING 1`,
  );
  return entered.length > 0;
}

/** Call this when the estimate has ended, or was not begun. */
export async function leaveEstimate(env: Env, organizationId: OrganizationId, jobId: string): Promise<void> {
  const isJob = and(eq(runningEstimates.organizationId, organizationId), eq(runningEstimates.jobId, jobId));
  await configDatabase(env).delete(runningEstimates).where(isJob);
}

/** Deletes estimates that no longer count. */
export async function forgetOldEstimates(env: Env, nowMs: number): Promise<void> {
  await configDatabase(env)
    .delete(runningEstimates)
    .where(lt(runningEstimates.startedAtMs, nowMs - COUNTED_MS_MAX));
}
