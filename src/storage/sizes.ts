/**
 * D1 itself: the version of its schema, its size, and the organizations that take most of it.
 *
 * The cost of the query does not grow with calls, customers or samples: for each organization it reads a row of
 * `organizations`, one of `organization_sizes`, and at most five rows (one per outcome) of `organization_days` for each
 * of seven days. D1 reports its own size with every answer.
 */

import type { Env } from '../env.ts';
import { DAY_MS } from '../platform/time.ts';
import { sharedDatabase } from './database.ts';

export interface OrganizationSize {
  organizationId: string;
  name: string;
  customers: number;
  /** Calls that ended today (UTC) or in the six days before. */
  callsLastWeek: number;
  samples: number;
  sampleBytes: number;
  sampleBytesMax: number;
}

export interface DatabaseSize {
  bytes: number;
  /** The largest organizations, largest first. */
  organizations: OrganizationSize[];
}

const DAYS = 7;
const ORGANIZATIONS_MAX = 10;

/**
 * Organizations by the largest of their shares of all customers, calls and sample bytes, so that it shows whichever of
 * these fills D1.
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
  const statement = sharedDatabase(env)
    .$client.prepare(LARGEST)
    .bind(nowMs - DAYS * DAY_MS, ORGANIZATIONS_MAX);
  const { results, meta } = await statement.all<OrganizationSize>();
  return { bytes: meta.size_after, organizations: results };
}

/** The name of the newest migration; `null` before the first. */
export async function readSchemaVersion(env: Env): Promise<string | null> {
  const newest = 'SELECT name FROM d1_migrations ORDER BY id DESC LIMIT 1';
  return (await sharedDatabase(env).$client.prepare(newest).first<{ name: string }>())?.name ?? null;
}
