/**
 * Use case: list an organization's calls, as of the last projection, and as CSV.
 */

import { CALLS_SEARCHED_MAX, type CallList, type CallListItem, type CallsQuery } from '../contract/call-list.ts';
import type { Complete } from '../contract/complete.ts';
import { presentSums } from '../contract/denial.ts';
import { accept } from '../contract/errors.ts';
import type { AnswerTo } from '../contract/operations.ts';
import { LISTED, type ListedFacts } from '../domain/call-facts.ts';
import type { RecordedDenial } from '../domain/denial.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { nanoFromUsd, usdFromNano } from '../domain/money.ts';
import type { Env } from '../env.ts';
import { type CallFilter, type CallRow, type CallTotals, listCalls, sumCalls } from '../history/calls.ts';
import { formatCsv } from '../platform/csv.ts';
import type { PageRequest } from '../platform/page.ts';
import { isoTimeOrNull, parseTime } from '../platform/time.ts';

type Asked = Omit<CallsQuery, 'limit' | 'cursor'>;

/** The filter of a list in the form that the storage takes. */
function buildCallFilter({ from, to, costAboveUsd, sort: _, ...filter }: Asked): CallFilter {
  const costAboveNanoUsd = costAboveUsd === undefined ? undefined : nanoFromUsd(costAboveUsd);
  return { ...filter, fromMs: parseTime(from), toMs: parseTime(to), costAboveNanoUsd };
}

/** A page of calls; if `page` is `null`, as many as a search looks at. */
export async function readCalls(
  env: Env,
  organizationId: OrganizationId,
  asked: Asked,
  page: PageRequest | null,
): Promise<AnswerTo<'listCalls'>> {
  const { items, nextCursor, searchedFromMs } = await listCalls(
    env,
    organizationId,
    buildCallFilter(asked),
    page ?? { limit: CALLS_SEARCHED_MAX, after: null },
    asked.sort,
  );
  return accept(
    'CALLS_LISTED',
    { items: items.map(present), nextCursor, searchedFrom: isoTimeOrNull(searchedFromMs) },
    Date.now(),
  );
}

export type { CallTotals };

/** The sums of all calls that match a list's filter. */
export function readCallTotals(env: Env, organizationId: OrganizationId, asked: Asked): Promise<CallTotals> {
  return sumCalls(env, organizationId, buildCallFilter(asked));
}

/** A line for each call; its columns are the members of an item of the list. */
export function callsCsv({ items }: Pick<CallList, 'items'>): string {
  const column = (name: (typeof COLUMNS)[number] | keyof ListedFacts) => (item: CallListItem) => {
    const value = item[name];
    return Array.isArray(value) ? value.join('; ') : value;
  };
  const denial = (name: keyof typeof DENIAL_COLUMNS) => (item: CallListItem) =>
    item.denial?.[DENIAL_COLUMNS[name]] ?? null;
  const columns = {
    ...Object.fromEntries(COLUMNS.map((name) => [name, column(name)])),
    ...Object.fromEntries(keysOfNames(DENIAL_COLUMNS).map((name) => [name, denial(name)])),
    chargeBasis: ({ chargeBasis }: CallListItem) => chargeBasis,
    // A column that is already listed above keeps its position.
    ...Object.fromEntries(LISTED.map((name) => [name, column(name)])),
  };
  return formatCsv(columns, items);
}

const keysOfNames = <Names extends object>(names: Names) => Object.keys(names) as (keyof Names)[];

const COLUMNS = [
  'callId',
  'customerId',
  'customerUserId',
  'feature',
  'tags',
  'status',
  'startedAt',
  'endedAt',
  'providerUsed',
  'modelUsed',
  'modelKey',
  'inputTokens',
  'cachedInputTokens',
  'responseTokens',
  'costUSD',
  'costUsdNano',
  'usageSource',
  'errorCode',
  'reversedAt',
  'chargedUSD',
  'chargedUsdNano',
] as const satisfies readonly Exclude<keyof CallListItem, 'denial' | 'chargeBasis'>[];

const DENIAL_COLUMNS = {
  denialCode: 'code',
  denialMeter: 'meter',
  denialLimit: 'limit',
  denialUsed: 'used',
} as const satisfies Record<string, keyof NonNullable<CallListItem['denial']>>;

function present({
  startedAtMs,
  finishedAtMs,
  costNanoUsd,
  chargedNanoUsd,
  tags,
  usageSource,
  denial,
  reversedAtMs,
  ...row
}: CallRow): Complete<CallListItem> {
  return {
    ...row,
    tags: tags ?? [],
    startedAt: new Date(startedAtMs).toISOString(),
    endedAt: isoTimeOrNull(finishedAtMs),
    costUSD: costNanoUsd === null ? null : usdFromNano(costNanoUsd),
    costUsdNano: costNanoUsd === null ? null : costNanoUsd.toString(),
    chargedUSD: chargedNanoUsd === null ? null : usdFromNano(chargedNanoUsd),
    chargedUsdNano: chargedNanoUsd === null ? null : chargedNanoUsd.toString(),
    usageSource: usageSource ?? (row.inputTokens === null ? null : 'reported'),
    denial: denial && presentDenial(denial),
    reversedAt: isoTimeOrNull(reversedAtMs),
  };
}

function presentDenial(denial: RecordedDenial): Complete<CallListItem['denial']> {
  const { code, meter = null, limit = null, used = null } = denial;
  return { code, meter, limit, used, ...presentSums(denial) };
}
