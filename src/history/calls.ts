/**
 * Calls in D1: the history that the objects no longer hold, about a second behind the calls.
 */

import { and, asc, desc, eq, gte, lt, type SQL, sql } from 'drizzle-orm';
import { type Database, database, nanoText } from '../config/database.ts';
import { CALLS_SEARCHED_MAX } from '../contract/call-list.ts';
import type { Call, CallStatus } from '../domain/call.ts';
import { LISTED, type ListedFacts, type RecordedListed } from '../domain/call-facts.ts';
import type { ChargeBasis } from '../domain/charge.ts';
import type { DenialCode, RecordedDenial } from '../domain/denial.ts';
import type { CallId, CustomerId, OrganizationId } from '../domain/ids.ts';
import { type NanoUsd, nanoOfParts } from '../domain/money.ts';
import type { ProvisionalSource } from '../domain/usage.ts';
import type { Env } from '../env.ts';
import { makePage, type Page, type PageRequest } from '../platform/page.ts';
import { REPEATED_VALUES, type Repeated, type StoredRecord, unpackRecord } from './packed-record.ts';
import { calls, DENIED, recordPart, UNPRICED } from './schema/index.ts';

/** What `readRecord` needs of a call's row. */
export const RECORD = { record: calls.record, repeated: sql<string>`${sql.raw(REPEATED_VALUES)}` };

export function readRecord({ record, repeated }: { record: StoredRecord; repeated: string }): Call {
  return JSON.parse(unpackRecord(record, JSON.parse(repeated) as Repeated)) as Call;
}

export async function findOldCall(env: Env, organizationId: OrganizationId, callId: CallId): Promise<Call | null> {
  const [row] = await (await database(env, organizationId))
    .select(RECORD)
    .from(calls)
    .where(and(eq(calls.organizationId, organizationId), eq(calls.callId, callId)));
  return row ? readRecord(row) : null;
}

/** The calls that D1 has, in the order of their begin. */
export async function findOldCalls(
  env: Env,
  organizationId: OrganizationId,
  callIds: readonly CallId[],
): Promise<Call[]> {
  const rows = await (await database(env, organizationId))
    .select(RECORD)
    .from(calls)
    .where(
      and(
        eq(calls.organizationId, organizationId),
        sql`${calls.callId} IN (SELECT value FROM json_each(${JSON.stringify(callIds)}))`,
      ),
    )
    // `+` rules out the index of the begin, which would pass every call of the organization.
    .orderBy(sql`+${calls.startedAtMs}`, asc(calls.callId));
  return rows.map(readRecord);
}

export interface CallFilter {
  /** The time of the begin: from, inclusive, and to, exclusive. */
  fromMs?: number | undefined;
  toMs?: number | undefined;
  customerId?: CustomerId | undefined;
  customerUserId?: string | undefined;
  feature?: string | undefined;
  /** The reported model, or the key of its price. */
  model?: string | undefined;
  tag?: string | undefined;
  status?: CallStatus | undefined;
  /** Why the call was denied. */
  reason?: DenialCode | undefined;
  errorCode?: string | undefined;
  /** Whether the cost is known; calls that have not ended, and reversed ones without a cost, match neither value. */
  priced?: boolean | undefined;
  costAboveNanoUsd?: NanoUsd | undefined;
  /** Only calls with provisional usage of this kind. */
  usageSource?: ProvisionalSource | undefined;
}

/** The newest first, or the highest known cost first. */
export type CallSort = 'startedAt' | 'cost';

export interface CallRow extends RecordedListed {
  callId: CallId;
  customerId: CustomerId;
  customerUserId: string | null;
  feature: string | null;
  tags: string[] | null;
  status: CallStatus;
  startedAtMs: number;
  finishedAtMs: number | null;
  modelKey: string | null;
  inputTokens: number | null;
  cachedInputTokens: number | null;
  responseTokens: number | null;
  costNanoUsd: NanoUsd | null;
  /** The amount that the customer's balance pays; `null` if nothing. */
  chargedNanoUsd: NanoUsd | null;
  /** `null` if everything in the charge has a rate. */
  chargeBasis: ChargeBasis | null;
  /** `null` if the usage is reported, and before the end. */
  usageSource: ProvisionalSource | null;
  errorCode: string | null;
  /** `null` for calls that were not denied, and for older denied ones. */
  denial: RecordedDenial | null;
  /** The time since which the call no longer counts; `null` if it was not reversed. */
  reversedAtMs: number | null;
}

export interface FoundCalls extends Page<CallRow> {
  /** The begin of the oldest call that was searched; `null` if all were. */
  searchedFromMs: number | null;
}

/** A reversal gives back the charge. */
const CHARGED = sql`CASE WHEN ${calls.reversedAtMs} IS NULL THEN ${calls.chargeNanoUsd} END`;

const COLUMNS = {
  callId: calls.callId,
  customerId: calls.customerId,
  customerUserId: calls.customerUserId,
  feature: calls.feature,
  tags: calls.tags,
  status: sql<CallStatus>`${calls.status}`,
  startedAtMs: calls.startedAtMs,
  finishedAtMs: calls.finishedAtMs,
  ...listedColumns(),
  modelKey: calls.modelKey,
  inputTokens: calls.inputTokens,
  cachedInputTokens: calls.cachedInputTokens,
  responseTokens: calls.responseTokens,
  costNanoUsd: nanoText(calls.costNanoUsd),
  chargedNanoUsd: nanoText(CHARGED),
  chargeBasis: sql<ChargeBasis | null>`NULLIF(${calls.chargeBasis}, 'STAND_IN')`,
  usageSource: sql<ProvisionalSource | null>`${calls.usageSource}`,
  errorCode: calls.errorCode,
  denial:
    sql<RecordedDenial | null>`CASE WHEN ${calls.denialCode} IS NOT NULL THEN ${recordPart('denial')} END`.mapWith(
      (text: string) => JSON.parse(text) as RecordedDenial,
    ),
  reversedAtMs: calls.reversedAtMs,
};

/** A listed fact without a column does not compile. */
function listedColumns(): Pick<typeof calls, keyof ListedFacts> {
  const columns: Pick<typeof calls, keyof ListedFacts> = calls;
  return Object.fromEntries(LISTED.map((name) => [name, columns[name]])) as typeof columns;
}

/**
 * Calls of an organization. Indexes cover the time together with the customer, with the reason of a denial, with denied
 * calls and with calls without a price; if another condition filters or orders the calls, only the newest of them are
 * searched.
 */
export async function listCalls(
  env: Env,
  organizationId: OrganizationId,
  filter: CallFilter,
  { after, limit }: PageRequest,
  sort: CallSort = 'startedAt',
): Promise<FoundCalls> {
  const db = await database(env, organizationId);
  const indexed = indexedBy(organizationId, filter);
  const searched = searchedBy(filter, sort);
  const searchedFromMs = searched.length === 0 ? null : await searchedFrom(db, indexed);
  const rows = await db
    .select(COLUMNS)
    .from(calls)
    .where(
      and(
        ...indexed,
        ...searched,
        searchedFromMs === null ? undefined : gte(calls.startedAtMs, searchedFromMs),
        placeAfter(after, sort),
      ),
    )
    .orderBy(desc(sort === 'cost' ? calls.costNanoUsd : calls.startedAtMs), desc(calls.callId))
    .limit(limit + 1);
  const callPosition = ({ startedAtMs, costNanoUsd, callId }: CallRow) =>
    `${sort === 'cost' ? costNanoUsd : startedAtMs} ${callId}`;
  return { ...makePage(rows, limit, callPosition), searchedFromMs };
}

export interface CallTotals {
  calls: number;
  /** Ended calls without a known cost, which the sum of costs lacks. */
  unpricedCalls: number;
  denied: number;
  costNanoUsd: NanoUsd;
  /** The amount that customers' balances pay for them. */
  chargedNanoUsd: NanoUsd;
  /** The begin of the oldest call in the sums; `null` if all are included. */
  searchedFromMs: number | null;
}

/** Sums of the calls that match a filter, among the newest that a search looks at. */
export async function sumCalls(env: Env, organizationId: OrganizationId, filter: CallFilter): Promise<CallTotals> {
  const db = await database(env, organizationId);
  const indexed = indexedBy(organizationId, filter);
  const searchedFromMs = await searchedFrom(db, indexed);
  const count = (condition: SQL) => sql<number>`COUNT(*) FILTER (WHERE ${condition})`;
  // In parts, because a sum of amounts may exceed 64 bits.
  const sum = (part: SQL) => sql<string>`CAST(COALESCE(SUM(${part}), 0) AS TEXT)`;
  const parts = (amount: SQL) => ({ usd: sum(sql`${amount} / 1000000000`), rest: sum(sql`${amount} % 1000000000`) });
  const [totals] = await db
    .select({
      calls: sql<number>`COUNT(*)`,
      unpricedCalls: count(sql`(${UNPRICED})`),
      denied: count(eq(calls.status, 'NOT_ALLOWED')),
      cost: parts(sql`${calls.costNanoUsd}`),
      charged: parts(sql`(${CHARGED})`),
    })
    .from(calls)
    .where(
      and(
        ...indexed,
        ...searchedBy(filter, 'startedAt'),
        searchedFromMs === null ? undefined : gte(calls.startedAtMs, searchedFromMs),
      ),
    );
  if (!totals) throw new Error('a sum is one row');
  const { cost, charged, ...counts } = totals;
  return {
    ...counts,
    costNanoUsd: nanoOfParts(cost.usd, cost.rest),
    chargedNanoUsd: nanoOfParts(charged.usd, charged.rest),
    searchedFromMs,
  };
}

function indexedBy(organizationId: OrganizationId, filter: CallFilter): SQL[] {
  const { fromMs, toMs, customerId, reason } = filter;
  const index = chooseIndex(filter);
  return [
    eq(calls.organizationId, organizationId),
    // Without the hint, SQLite finds a customer's calls in a period by the time alone, among those of all customers.
    ...given(customerId, (value) => sql`unlikely(${calls.customerId} = ${value})`),
    ...given(index === 'reason' ? reason : undefined, (value) => eq(calls.denialCode, value)),
    ...(index === 'unpriced' ? [UNPRICED] : index === 'denied' ? [DENIED] : []),
    ...given(fromMs, (value) => gte(calls.startedAtMs, value)),
    ...given(toMs, (value) => lt(calls.startedAtMs, value)),
  ];
}

/** The index that has the calls: for one customer, the index over customers. */
function chooseIndex({
  customerId,
  reason,
  priced,
  status,
}: CallFilter): 'customer' | 'reason' | 'unpriced' | 'denied' | 'time' {
  if (customerId !== undefined) return 'customer';
  if (reason !== undefined) return 'reason';
  if (priced === false) return 'unpriced';
  return status === 'NOT_ALLOWED' ? 'denied' : 'time';
}

function searchedBy(filter: CallFilter, sort: CallSort): SQL[] {
  const { customerUserId, feature, model, tag, status, reason } = filter;
  const { errorCode, priced, costAboveNanoUsd, usageSource } = filter;
  const index = chooseIndex(filter);
  const isKnown = sql`${calls.costNanoUsd} IS NOT NULL`;
  return [
    ...given(customerUserId, (value) => eq(calls.customerUserId, value)),
    ...given(feature, (value) => eq(calls.feature, value)),
    ...given(model, (value) => sql`(${calls.modelUsed} = ${value} OR ${calls.modelKey} = ${value})`),
    ...given(tag, (value) => sql`EXISTS (SELECT 1 FROM json_each(${calls.tags}) one WHERE one.value = ${value})`),
    ...given(index === 'denied' ? undefined : status, (value) => eq(calls.status, value)),
    ...given(index === 'reason' ? undefined : reason, (value) => eq(calls.denialCode, value)),
    ...given(errorCode, (value) => eq(calls.errorCode, value)),
    ...given(usageSource, (value) => eq(calls.usageSource, value)),
    ...given(index === 'unpriced' ? undefined : priced, (value) => (value ? isKnown : sql`(${UNPRICED})`)),
    ...given(costAboveNanoUsd, (value) => sql`${calls.costNanoUsd} > CAST(${value.toString()} AS INTEGER)`),
    ...(sort === 'cost' ? [isKnown] : []),
  ];
}

function given<Value>(value: Value | undefined, condition: (value: Value) => SQL): SQL[] {
  return value === undefined ? [] : [condition(value)];
}

/** The begin of the oldest call that a search looks at; `null` if there are no more calls than those. */
async function searchedFrom(db: Database, indexed: readonly SQL[]): Promise<number | null> {
  const [oldest] = await db
    .select({ startedAtMs: calls.startedAtMs })
    .from(calls)
    .where(and(...indexed))
    .orderBy(desc(calls.startedAtMs))
    .limit(1)
    .offset(CALLS_SEARCHED_MAX - 1);
  return oldest?.startedAtMs ?? null;
}

function placeAfter(after: string | null, sort: CallSort): SQL | undefined {
  const [, place, callId] = /^(\d+) (.+)$/.exec(after ?? '') ?? [];
  if (place === undefined) return undefined;
  const column = sort === 'cost' ? calls.costNanoUsd : calls.startedAtMs;
  return sql`(${column}, ${calls.callId}) < (CAST(${place} AS INTEGER), ${callId})`;
}
