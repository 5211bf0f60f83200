/**
 * Calls in D1: the history that the objects no longer hold, which follows the calls by a second or so.
 */
import { and, asc, desc, eq, type SQL, sql } from 'drizzle-orm';
import type { Call, CallStatus } from '../domain/call.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { ProvisionalSource } from '../domain/usage.ts';
import type { Env } from '../env.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import { database, nanoText } from './database.ts';
import { calls } from './schema/index.ts';

export async function findOldCall(env: Env, organizationId: string, callId: string): Promise<Call | null> {
  const [row] = await (await database(env, organizationId))
    .select({ record: calls.record })
    .from(calls)
    .where(and(eq(calls.organizationId, organizationId), eq(calls.callId, callId)));
  return row ? (row.record as Call) : null;
}

/** Those of the calls that D1 has, in the order in which they began. */
export async function findOldCalls(env: Env, organizationId: string, callIds: readonly string[]): Promise<Call[]> {
  const rows = await (await database(env, organizationId))
    .select({ record: calls.record })
    .from(calls)
    .where(
      and(
        eq(calls.organizationId, organizationId),
        sql`${calls.callId} IN (SELECT value FROM json_each(${JSON.stringify(callIds)}))`,
      ),
    )
    .orderBy(asc(calls.startedAtMs), asc(calls.callId));
  return rows.map(({ record }) => record as Call);
}

export interface CallFilter {
  customerId?: string | undefined;
  status?: CallStatus | undefined;
  /** Only calls with provisional usage of this kind. */
  usageSource?: ProvisionalSource | undefined;
}

export interface CallRow {
  callId: string;
  customerId: string;
  feature: string | null;
  status: string;
  startedAtMs: number;
  finishedAtMs: number | null;
  providerUsed: string | null;
  modelUsed: string | null;
  inputTokens: number | null;
  responseTokens: number | null;
  costNanoUsd: NanoUsd | null;
  /** `null` where the usage is reported, and before the end. */
  usageSource: ProvisionalSource | null;
  /** Since when it counts no longer; `null` where it was not reversed. */
  reversedAtMs: number | null;
}

const COLUMNS = {
  callId: calls.callId,
  customerId: calls.customerId,
  feature: calls.feature,
  status: calls.status,
  startedAtMs: calls.startedAtMs,
  finishedAtMs: calls.finishedAtMs,
  providerUsed: calls.providerUsed,
  modelUsed: calls.modelUsed,
  inputTokens: calls.inputTokens,
  responseTokens: calls.responseTokens,
  costNanoUsd: nanoText(calls.costNanoUsd),
  usageSource: sql<ProvisionalSource | null>`${calls.usageSource}`,
  reversedAtMs: calls.reversedAtMs,
};

/** Of calls in a certain state, only this many of the newest are searched, because no index has the state. */
const SEARCHED_MAX = 10_000;

/** Calls, newest first. */
export async function listCalls(
  env: Env,
  organizationId: string,
  filter: CallFilter,
  { after, limit }: PageRequest,
): Promise<Page<CallRow>> {
  const rows = await (await database(env, organizationId))
    .select(COLUMNS)
    .from(calls)
    .where(
      and(
        eq(calls.organizationId, organizationId),
        filter.customerId === undefined ? undefined : eq(calls.customerId, filter.customerId),
        filter.status === undefined ? undefined : eq(calls.status, filter.status),
        filter.usageSource === undefined ? undefined : eq(calls.usageSource, filter.usageSource),
        filter.status === undefined && filter.usageSource === undefined
          ? undefined
          : sql`${calls.startedAtMs} >= ${searchedSince(organizationId, filter)}`,
        placeBefore(after),
      ),
    )
    .orderBy(desc(calls.startedAtMs), desc(calls.callId))
    .limit(limit + 1);
  return pageOf(rows, limit, ({ startedAtMs, callId }) => `${startedAtMs} ${callId}`);
}

/** When the oldest of the calls began that are searched for a state. */
function searchedSince(organizationId: string, { customerId }: CallFilter): SQL {
  const ofCustomer = customerId === undefined ? sql`` : sql`AND newest.customer_id = ${customerId}`;
  return sql`COALESCE((SELECT newest.started_at_ms FROM calls newest WHERE newest.organization_id = ${organizationId} ${ofCustomer}
    ORDER BY newest.started_at_ms DESC LIMIT 1 OFFSET ${SEARCHED_MAX}), 0)`;
}

function placeBefore(after: string | null): SQL | undefined {
  const [, startedAtMs, callId] = /^(\d+) (.+)$/.exec(after ?? '') ?? [];
  return startedAtMs === undefined
    ? undefined
    : sql`(${calls.startedAtMs}, ${calls.callId}) < (${Number(startedAtMs)}, ${callId})`;
}
