/**
 * How large D1 is, and who fills it.
 *
 * One query, whose cost does not grow with calls, customers or samples: it reads a row of `organizations` and one of
 * `organization_sizes` for each organization, and at most five rows (one per outcome) of `organization_days` for each
 * of the seven days. D1 tells its own size with every answer.
 */

import type { Env } from '../env.ts';
import { DAY_MS } from '../platform/time.ts';

export interface OrganizationSize {
  organizationId: string;
  name: string;
  customers: number;
  /** Calls that ended today, UTC, or in the six days before. */
  callsLastWeek: number;
  samples: number;
  sampleBytes: number;
  sampleBytesMax: number;
}

export interface DatabaseSize {
  bytes: number;
  /** The largest ones, the largest first. */
  organizations: OrganizationSize[];
}

const DAYS = 7;
const ORGANIZATIONS_MAX = 10;

/**
 * By the largest share that an organization has of all customers, calls or sample bytes: whichever of them fills D1, it
 * shows.
 */
const LARGEST = `
  WITH sized AS MATERIALIZED (
    SELECT organization_id AS organizationId, name, COALESCE(customers, 0) AS customers, COALESCE(samples, 0) AS samples,
      COALESCE(sample_bytes, 0) AS sampleBytes, sample_bytes_max AS sampleBytesMax,
      (SELECT COALESCE(TOTAL(calls), 0) FROM organization_days
        WHERE organization_days.organization_id = organizations.organization_id AND dimension = 'outcome' AND day_ms > ?1) AS callsLastWeek
    FROM organizations LEFT JOIN organization_sizes USING (organization_id)
  )
  SELECT organizationId, name, customers, callsLastWeek, samples, sampleBytes, sampleBytesMax FROM sized ORDER BY MAX(
    customers / (SELECT TOTAL(customers) + 1 FROM sized),
    callsLastWeek / (SELECT TOTAL(callsLastWeek) + 1 FROM sized),
    sampleBytes / (SELECT TOTAL(sampleBytes) + 1 FROM sized)
  ) DESC, organizationId LIMIT ?2`;

export async function readDatabaseSize(env: Env, nowMs: number): Promise<DatabaseSize> {
  const statement = env.DB.prepare(LARGEST).bind(nowMs - DAYS * DAY_MS, ORGANIZATIONS_MAX);
  const { results, meta } = await statement.all<OrganizationSize>();
  return { bytes: meta.size_after, organizations: results };
}
