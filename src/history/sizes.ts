/**
 * D1 itself: the version of its schema, the size of each database and how it grows, and the organizations that take
 * most of it.
 *
 * The cost of the query does not grow with calls, customers or samples: for each organization of a database, it reads a
 * row of `organization_sizes`, and at most five rows (one per outcome) of `organization_days` for each of seven days.
 * D1 reports its own size with every answer.
 */

import { inArray, lt, notInArray, sql } from 'drizzle-orm';
import { configDatabase, databaseNames, namedDatabase } from '../config/database.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import type { DatabaseName } from '../platform/database-name.ts';
import { DAY_MS } from '../platform/time.ts';
import { databaseSizes, organizations } from './schema/index.ts';

interface OrganizationSize {
  organizationId: OrganizationId;
  name: string;
  customers: number;
  /** Calls that ended today (UTC) or in the six days before. */
  callsLastWeek: number;
  samples: number;
  sampleBytes: number;
  sampleBytesMax: number;
}

export interface DatabaseSize {
  name: DatabaseName;
  bytes: number;
  /** The most bytes that D1 takes. */
  bytesMax: number;
  /** Bytes a day over the last week; `null` before there are two days to compare. */
  growthBytesPerDay: number | null;
  /** The time at which the database is full at that rate; `null` if it does not grow. */
  fullAtMs: number | null;
}

export interface DatabaseSizes {
  databases: DatabaseSize[];
  /** The largest organizations, largest first. */
  organizations: OrganizationSize[];
}

/** D1's limit (https://developers.cloudflare.com/d1/platform/limits/, paid plan). */
const DATABASE_BYTES_MAX = 10_000_000_000;
/** A fuller database is reported. */
const NEARLY_FULL_SHARE = 0.8;
const DAYS = 7;
const ORGANIZATIONS_MAX = 10;
/** The number of days whose size is kept. */
const KEPT_DAYS = 30;

/**
 * The largest organizations of a database by each figure that fills it, and the sums of all. An organization among the
 * largest of all databases by one figure is among the largest of its own.
 */
const LARGEST = `
  WITH sized AS MATERIALIZED (
    SELECT organization_id AS organizationId, customers, samples, sample_bytes AS sampleBytes,
      (SELECT COALESCE(TOTAL(calls), 0) FROM organization_days
        WHERE organization_days.organization_id = organization_sizes.organization_id AND dimension = 'outcome' AND day_ms > ?1) AS callsLastWeek
    FROM organization_sizes
  ), sums AS (SELECT TOTAL(customers) AS allCustomers, TOTAL(callsLastWeek) AS allCalls, TOTAL(sampleBytes) AS allBytes FROM sized)
  SELECT * FROM (SELECT * FROM sized ORDER BY customers DESC, organizationId LIMIT ?2) JOIN sums
  UNION SELECT * FROM (SELECT * FROM sized ORDER BY callsLastWeek DESC, organizationId LIMIT ?2) JOIN sums
  UNION SELECT * FROM (SELECT * FROM sized ORDER BY sampleBytes DESC, organizationId LIMIT ?2) JOIN sums`;

interface LargestRow extends Omit<OrganizationSize, 'name' | 'sampleBytesMax'> {
  allCustomers: number;
  allCalls: number;
  allBytes: number;
}

export async function readDatabaseSizes(env: Env, nowMs: number): Promise<DatabaseSizes> {
  const read = await Promise.all(databaseNames(env).map((name) => readDatabase(env, name, nowMs)));
  return {
    databases: read.map(({ database }) => database),
    organizations: await findLargest(
      env,
      read.map(({ largest }) => largest),
    ),
  };
}

/** Whether the database is so full that new organizations need another one soon. */
export function isNearlyFull({ bytes, bytesMax }: Pick<DatabaseSize, 'bytes' | 'bytesMax'>): boolean {
  return bytes >= NEARLY_FULL_SHARE * bytesMax;
}

async function readDatabase(
  env: Env,
  name: DatabaseName,
  nowMs: number,
): Promise<{ database: DatabaseSize; largest: LargestRow[] }> {
  const db = namedDatabase(env, name).$client;
  const [largest, before] = await db.batch<never>([
    db.prepare(LARGEST).bind(nowMs - DAYS * DAY_MS, ORGANIZATIONS_MAX),
    db
      .prepare('SELECT day_ms AS dayMs, bytes FROM database_sizes WHERE day_ms >= ? ORDER BY day_ms LIMIT 1')
      .bind(nowMs - (DAYS + 1) * DAY_MS),
  ]);
  if (!largest || !before) throw new Error('a batch answers each of its statements');
  const bytes = largest.meta.size_after;
  const [earlier] = before.results as { dayMs: number; bytes: number }[];
  const days = earlier ? (nowMs - earlier.dayMs) / DAY_MS : 0;
  const growth = earlier && days >= 1 ? Math.round((bytes - earlier.bytes) / days) : null;
  const fullAtMs =
    growth === null || growth <= 0
      ? null
      : Math.round(nowMs + (Math.max(0, DATABASE_BYTES_MAX - bytes) / growth) * DAY_MS);
  return {
    database: { name, bytes, bytesMax: DATABASE_BYTES_MAX, growthBytesPerDay: growth, fullAtMs },
    largest: largest.results as LargestRow[],
  };
}

/** The largest organizations of all databases: by the largest of their shares of all customers, calls and sample bytes. */
async function findLargest(env: Env, databases: readonly LargestRow[][]): Promise<OrganizationSize[]> {
  const total = (sum: 'allCustomers' | 'allCalls' | 'allBytes') =>
    databases.reduce((all, [first]) => all + (first?.[sum] ?? 0), 1);
  const [customers, calls, bytes] = [total('allCustomers'), total('allCalls'), total('allBytes')];
  const largestShare = (row: LargestRow) =>
    Math.max(row.customers / customers, row.callsLastWeek / calls, row.sampleBytes / bytes);
  const rows = databases
    .flat()
    .toSorted((a, b) => largestShare(b) - largestShare(a) || (a.organizationId < b.organizationId ? -1 : 1))
    .slice(0, ORGANIZATIONS_MAX);
  // Organizations without any history fill up the list.
  const settings = {
    organizationId: organizations.organizationId,
    name: organizations.name,
    sampleBytesMax: organizations.sampleBytesMax,
  };
  const ids = rows.map(({ organizationId }) => organizationId);
  const db = configDatabase(env);
  const [found, others] = await db.batch([
    db.select(settings).from(organizations).where(inArray(organizations.organizationId, ids)),
    db
      .select(settings)
      .from(organizations)
      .where(notInArray(organizations.organizationId, ids))
      .orderBy(organizations.organizationId)
      .limit(ORGANIZATIONS_MAX - rows.length),
  ]);
  const known = new Map(found.map((row) => [row.organizationId, row]));
  const none = { customers: 0, callsLastWeek: 0, samples: 0, sampleBytes: 0 };
  return [
    ...rows.flatMap((row) => presentOrganization(known.get(row.organizationId), row)),
    ...others.flatMap((row) => presentOrganization(row, none)),
  ];
}

function presentOrganization(
  settings: { organizationId: OrganizationId; name: string; sampleBytesMax: number } | undefined,
  {
    customers,
    callsLastWeek,
    samples,
    sampleBytes,
  }: Omit<OrganizationSize, 'organizationId' | 'name' | 'sampleBytesMax'>,
): OrganizationSize[] {
  if (!settings) return [];
  const { organizationId, name, sampleBytesMax } = settings;
  return [{ organizationId, name, customers, callsLastWeek, samples, sampleBytes, sampleBytesMax }];
}

/** The database with the most room, for a new organization. One that does not answer is not chosen. */
export async function roomiestDatabase(env: Env): Promise<DatabaseName> {
  const [first = 'DB', ...others] = databaseNames(env);
  if (others.length === 0) return first;
  const sizes = await Promise.all(
    [first, ...others].map(async (name) => {
      const size = namedDatabase(env, name).$client.prepare('SELECT 1').all();
      return { name, bytes: await size.then(({ meta }) => meta.size_after).catch(() => Number.POSITIVE_INFINITY) };
    }),
  );
  return sizes.reduce((least, size) => (size.bytes < least.bytes ? size : least)).name;
}

/** Stores the size of the database at the beginning of each day. */
export async function recordDatabaseSize(env: Env, name: DatabaseName, nowMs: number): Promise<void> {
  const db = namedDatabase(env, name);
  const { meta } = await db.$client.prepare('SELECT 1').all();
  const dayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  await db.batch([
    db.insert(databaseSizes).values({ dayMs, bytes: meta.size_after }).onConflictDoNothing(),
    db.delete(databaseSizes).where(lt(databaseSizes.dayMs, nowMs - KEPT_DAYS * DAY_MS)),
  ]);
}

/** The number of organizations in each database. */
export async function countOrganizations(env: Env): Promise<Map<string, number>> {
  const rows = await configDatabase(env)
    .select({ name: organizations.database, organizations: sql<number>`COUNT(*)` })
    .from(organizations)
    .groupBy(organizations.database);
  return new Map(rows.map(({ name, organizations: count }) => [name, count]));
}

/** The name of the newest migration; `null` before the first. */
export async function readSchemaVersion(env: Env, database: DatabaseName): Promise<string | null> {
  const newest = 'SELECT name FROM d1_migrations ORDER BY id DESC LIMIT 1';
  return (await namedDatabase(env, database).$client.prepare(newest).first<{ name: string }>())?.name ?? null;
}
