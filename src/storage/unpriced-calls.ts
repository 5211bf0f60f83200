/**
 * Calls without a price, as D1 knows them: those that ended in a period and count.
 */
import { and, asc, eq, gte, inArray, isNotNull, isNull, lt, type SQL, sql } from 'drizzle-orm';
import type { Call } from '../domain/call.ts';
import type { Env } from '../env.ts';
import { DAY_MS } from '../platform/time.ts';
import { database } from './database.ts';
import { calls } from './schema/index.ts';

export interface UnpricedCalls {
  organizationId: string;
  fromMs: number;
  toMs: number;
  /** Only of these names, as the calls reported them; `null`: of all. */
  names: readonly string[] | null;
}

/** Names of models that are told apart. */
export const NAMES_MAX = 1_000;
/** No call ends longer after its begin: its end is accepted for seven days, and a batch may run for one. */
export const CALL_LENGTH_MAX_MS = 9 * DAY_MS;

/** By an index: calls have one by their begin. */
function isUnpriced({ organizationId, fromMs, toMs, names }: UnpricedCalls): SQL | undefined {
  return and(
    eq(calls.organizationId, organizationId),
    gte(calls.startedAtMs, fromMs - CALL_LENGTH_MAX_MS),
    lt(calls.startedAtMs, toMs),
    gte(calls.finishedAtMs, fromMs),
    lt(calls.finishedAtMs, toMs),
    inArray(calls.status, ['COMPLETED', 'FAILED']),
    isNull(calls.costNanoUsd),
    isNull(calls.reversedAtMs),
    isNotNull(calls.modelUsed),
    names === null ? undefined : sql`${calls.modelUsed} IN (SELECT value FROM json_each(${JSON.stringify(names)}))`,
  );
}

export async function countUnpricedCalls(env: Env, of: UnpricedCalls): Promise<number> {
  return (await database(env, of.organizationId)).$count(calls, isUnpriced(of));
}

/** The names of their models, as the calls reported them. */
export async function unpricedModels(env: Env, of: UnpricedCalls): Promise<string[]> {
  const rows = await (await database(env, of.organizationId))
    .selectDistinct({ name: calls.modelUsed })
    .from(calls)
    .where(isUnpriced(of))
    .limit(NAMES_MAX);
  return rows.flatMap(({ name }) => name ?? []);
}

/** In the order in which they began. */
export async function findUnpricedCalls(
  env: Env,
  of: UnpricedCalls,
  after: { startedAtMs: number; callId: string } | null,
  limit: number,
): Promise<Call[]> {
  const rows = await (await database(env, of.organizationId))
    .select({ record: calls.record })
    .from(calls)
    .where(
      and(
        isUnpriced(of),
        after === null
          ? undefined
          : sql`(${calls.startedAtMs}, ${calls.callId}) > (${after.startedAtMs}, ${after.callId})`,
      ),
    )
    .orderBy(asc(calls.startedAtMs), asc(calls.callId))
    .limit(limit);
  return rows.map(({ record }) => record as Call);
}
