/**
 * Samples in D1. No function here returns an expired sample, even if it is not deleted yet.
 *
 * Lists read rows without their payloads. Payloads are read for as many samples at a time as fit into
 * `PAYLOAD_BYTES_MAX`, so that an export of all samples takes bounded memory.
 */

import { and, asc, desc, eq, getTableColumns, gt, gte, inArray, lt, lte, ne, type SQL, sql } from 'drizzle-orm';
import { database } from '../config/database.ts';
import type { SampleSelection } from '../contract/samples.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { organizationSizes, samples } from './schema/index.ts';

export type NewSample = typeof samples.$inferInsert;

/** A sample without its payload. */
export type SampleRow = Omit<typeof samples.$inferSelect, 'payload'>;

/** A position in the order of samples: by time of receipt, then by id. */
export interface SamplePlace {
  receivedAtMs: number;
  sampleId: string;
}

/** The most bytes of payloads in memory at the same time; a single one may be larger. */
const PAYLOAD_BYTES_MAX = 2 * 1024 * 1024;

const { payload: _payload, ...ROW } = getTableColumns(samples);

/** The bytes that an organization's samples take, and the most that they may take. */
export interface SampleQuota {
  usedBytes: number;
  maxBytes: number;
}

/**
 * Stores a sample unless its id is taken, or it would exceed the organization's quota. Returns the sample that is
 * stored under the id, and whether it existed before; or the quota of `sampleBytesMax`. D1 checks the quota when it
 * inserts the sample, so that concurrent samples cannot exceed it together.
 */
export async function insertSample(
  env: Env,
  sample: NewSample,
  sampleBytesMax: number,
): Promise<{ row: SampleRow; existed: boolean } | { row: null; quota: SampleQuota }> {
  const db = await database(env, sample.organizationId);
  const isIt = and(eq(samples.organizationId, sample.organizationId), eq(samples.sampleId, sample.sampleId));
  const { organizationId } = sample;
  const [, , inserted, rows, quotas] = await db.batch([
    db
      .insert(organizationSizes)
      .values({ organizationId, customers: 0, samples: 0, sampleBytes: 0, sampleBytesMax })
      .onConflictDoUpdate({
        target: organizationSizes.organizationId,
        set: { sampleBytesMax },
        setWhere: ne(organizationSizes.sampleBytesMax, sampleBytesMax),
      }),
    db.delete(samples).where(and(isIt, lte(samples.expiresAtMs, sample.receivedAtMs))),
    db.insert(samples).values(sample).onConflictDoNothing(),
    db.select(ROW).from(samples).where(isIt),
    db
      .select({ maxBytes: organizationSizes.sampleBytesMax, usedBytes: organizationSizes.sampleBytes })
      .from(organizationSizes)
      .where(eq(organizationSizes.organizationId, organizationId)),
  ]);
  const [row] = rows;
  if (row) return { row, existed: inserted.meta.changes === 0 };
  const [quota] = quotas;
  if (!quota) throw new Error('the size of the samples was stored before the sample');
  return { row: null, quota };
}

/** Samples after a position; one more than requested shows whether more exist. */
export async function findSamples(
  env: Env,
  organizationId: OrganizationId,
  filter: SampleSelection,
  {
    order,
    after,
    limit,
    nowMs,
  }: { order: 'newest' | 'oldest'; after: SamplePlace | null; limit: number; nowMs: number },
): Promise<SampleRow[]> {
  const [direction, beyond] = order === 'newest' ? [desc, sql`<`] : [asc, sql`>`];
  const place =
    after && sql`(${samples.receivedAtMs}, ${samples.sampleId}) ${beyond} (${after.receivedAtMs}, ${after.sampleId})`;
  return (await database(env, organizationId))
    .select(ROW)
    .from(samples)
    .where(and(matching(organizationId, filter, nowMs), place ?? undefined))
    .orderBy(direction(samples.receivedAtMs), direction(samples.sampleId))
    .limit(limit + 1);
}

export async function countSamples(
  env: Env,
  organizationId: OrganizationId,
  filter: SampleSelection,
  nowMs: number,
): Promise<number> {
  return (await database(env, organizationId)).$count(samples, matching(organizationId, filter, nowMs));
}

export async function findSample(env: Env, organizationId: OrganizationId, sampleId: string, nowMs: number) {
  const [row] = await (await database(env, organizationId))
    .select()
    .from(samples)
    .where(
      and(eq(samples.organizationId, organizationId), eq(samples.sampleId, sampleId), gt(samples.expiresAtMs, nowMs)),
    );
  return row ?? null;
}

export async function deleteSample(env: Env, organizationId: OrganizationId, sampleId: string): Promise<void> {
  await (await database(env, organizationId))
    .delete(samples)
    .where(and(eq(samples.organizationId, organizationId), eq(samples.sampleId, sampleId)));
}

/**
 * The first samples of a list with their payloads, as many as fit into memory together. `read` is the number of samples
 * of the list that were looked at, at least one; samples that were deleted meanwhile are not returned.
 */
export async function readPayloads(
  env: Env,
  organizationId: OrganizationId,
  rows: readonly SampleRow[],
): Promise<{ read: number; samples: { row: SampleRow; payload: string }[] }> {
  const some = rows.slice(0, fitting(rows));
  const ids = some.map(({ sampleId }) => sampleId);
  const found = await (await database(env, organizationId))
    .select({ sampleId: samples.sampleId, payload: samples.payload })
    .from(samples)
    .where(and(eq(samples.organizationId, organizationId), inArray(samples.sampleId, ids)));
  const payloads = new Map(found.map(({ sampleId, payload }) => [sampleId, payload]));
  const read = some.flatMap((row) => {
    const payload = payloads.get(row.sampleId);
    return payload === undefined ? [] : [{ row, payload }];
  });
  return { read: some.length, samples: read };
}

/** D1 binds 100 values in one statement. */
const IDS_MAX = 90;

/** The number of first samples whose payloads fit into memory together: at least one. */
function fitting(rows: readonly SampleRow[]): number {
  let bytes = 0;
  let count = 0;
  for (const { payloadBytes } of rows.slice(0, IDS_MAX)) {
    bytes += payloadBytes;
    if (bytes > PAYLOAD_BYTES_MAX && count > 0) break;
    count += 1;
  }
  return count;
}

function matching(organizationId: OrganizationId, filter: SampleSelection, nowMs: number): SQL | undefined {
  const { customerId, feature, provider, model, environment, fromMs, toMs } = filter;
  return and(
    eq(samples.organizationId, organizationId),
    gt(samples.expiresAtMs, nowMs),
    customerId === undefined ? undefined : eq(samples.customerId, customerId),
    feature === undefined ? undefined : eq(samples.feature, feature),
    provider === undefined ? undefined : eq(samples.provider, provider),
    model === undefined ? undefined : eq(samples.model, model),
    environment === undefined ? undefined : eq(samples.environment, environment),
    fromMs === undefined ? undefined : gte(samples.receivedAtMs, fromMs),
    toMs === undefined ? undefined : lt(samples.receivedAtMs, toMs),
  );
}
