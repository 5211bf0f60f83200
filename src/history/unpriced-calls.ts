/**
 * Calls without a price, from D1: those that ended in a period and count.
 */

import { and, asc, eq, gte, isNotNull, lt, type SQL, sql } from 'drizzle-orm';
import { database } from '../config/database.ts';
import { CALLS_SEARCHED_MAX } from '../contract/call-list.ts';
import type { Call } from '../domain/call.ts';
import { asCallId, type CallId, type OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { DAY_MS } from '../platform/time.ts';
import { RECORD, readRecord } from './calls.ts';
import { calls, LACKS_PRICE, recordPart, UNPRICED } from './schema/index.ts';

export interface UnpricedCalls {
  organizationId: OrganizationId;
  fromMs: number;
  toMs: number;
  /** Only these names, as the calls reported them; `null` means all. */
  names: readonly string[] | null;
}

/** The most names of models that are kept apart. */
const NAMES_MAX = 1_000;
/**
 * The longest time between a call's begin and its end: its end is accepted for seven days, and a batch may run for one.
 */
export const CALL_LENGTH_MAX_MS = 9 * DAY_MS;

/** Includes calls in which only one use has no price. Follows an index that has these calls by their begin. */
function isUnpriced({ organizationId, fromMs, toMs, names }: UnpricedCalls): SQL | undefined {
  return and(
    eq(calls.organizationId, organizationId),
    gte(calls.startedAtMs, fromMs - CALL_LENGTH_MAX_MS),
    lt(calls.startedAtMs, toMs),
    gte(calls.finishedAtMs, fromMs),
    lt(calls.finishedAtMs, toMs),
    LACKS_PRICE,
    isNotNull(calls.modelUsed),
    names === null ? undefined : ranAnyModel(JSON.stringify(names)),
  );
}

/** Whether the call, or a part of it, ran one of the models in a JSON list. */
function ranAnyModel(names: string): SQL {
  const isOne = (model: SQL) => sql`${model} IN (SELECT value FROM json_each(${names}))`;
  return sql`(${isOne(sql`${calls.modelUsed}`)} OR EXISTS (SELECT 1 FROM ${PARTS} WHERE ${isOne(MODEL_OF_PART)}))`;
}

const PARTS = sql`json_each(${recordPart('parts')}) part`;
const MODEL_OF_PART = sql`part.value ->> '$.modelUsed'`;

export async function countUnpricedCalls(env: Env, of: UnpricedCalls): Promise<number> {
  return (await database(env, of.organizationId)).$count(calls, isUnpriced(of));
}

/** The names of their models and those of their parts, as the calls reported them. */
export async function unpricedModels(env: Env, of: UnpricedCalls): Promise<string[]> {
  const db = await database(env, of.organizationId);
  const rows = await db.all<{ name: string }>(sql`
    SELECT DISTINCT name FROM (
      SELECT ${calls.modelUsed} AS name FROM ${calls} WHERE ${isUnpriced(of)}
      UNION ALL SELECT ${MODEL_OF_PART} FROM ${calls}, ${PARTS} WHERE ${isUnpriced(of)}
    ) WHERE name IS NOT NULL LIMIT ${NAMES_MAX}`);
  return rows.map(({ name }) => name);
}

/** In the order of their begin. */
export async function findUnpricedCalls(
  env: Env,
  of: UnpricedCalls,
  after: { startedAtMs: number; callId: CallId } | null,
  limit: number,
): Promise<Call[]> {
  const rows = await (await database(env, of.organizationId))
    .select(RECORD)
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
  return rows.map(readRecord);
}

export interface UnpricedModel {
  /** The name that the calls reported; empty if they reported none. */
  name: string;
  calls: number;
  inputTokens: number;
  outputTokens: number;
  customers: number;
  /** The begin of the first and of the last call. */
  firstMs: number;
  lastMs: number;
  lastCallId: CallId;
}

/**
 * The calls without a price that began at `fromMs` or later, by model, the most calls first: among the newest, as in
 * lists of calls.
 */
export async function sumUnpricedByModel(
  env: Env,
  organizationId: OrganizationId,
  fromMs: number,
): Promise<{ models: UnpricedModel[]; isAll: boolean }> {
  const db = await database(env, organizationId);
  const rows = await db.all<UnpricedModel & { lastCall: string }>(sql`
    SELECT COALESCE(model_used, '') AS name, COUNT(*) AS calls, COALESCE(SUM(input_tokens), 0) AS inputTokens,
      COALESCE(SUM(response_tokens), 0) AS outputTokens, COUNT(DISTINCT customer_id) AS customers,
      MIN(started_at_ms) AS firstMs, MAX(started_at_ms) AS lastMs, MAX(started_at_ms || ' ' || call_id) AS lastCall
    FROM (SELECT * FROM ${calls} WHERE organization_id = ${organizationId} AND started_at_ms >= ${fromMs} AND ${UNPRICED}
      ORDER BY started_at_ms DESC LIMIT ${CALLS_SEARCHED_MAX})
    GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${NAMES_MAX}`);
  const models = rows.map(({ lastCall, ...row }) => ({
    ...row,
    lastCallId: asCallId(lastCall.slice(lastCall.indexOf(' ') + 1)),
  }));
  return { models, isAll: models.reduce((sum, { calls: some }) => sum + some, 0) < CALLS_SEARCHED_MAX };
}
