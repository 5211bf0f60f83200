/**
 * Use case: list an organization's customers, as of the last projection, and as CSV.
 */

import type { CustomerListItem, ListCustomersQuery } from '../../contract/customers.ts';
import { accept } from '../../contract/errors.ts';
import type { AnswerTo } from '../../contract/operations.ts';
import type { MeterName } from '../../domain/meters.ts';
import { formatUsd, nanoOfParts, usdFromNano } from '../../domain/money.ts';
import type { CustomerRow } from '../../history/customer-order.ts';
import { findCustomers } from '../../history/customers.ts';
import { exact, formatCsv } from '../../platform/csv.ts';
import type { Page, PageRequest } from '../../platform/page.ts';
import { buildCustomerFilter, type ListScope } from './filters.ts';

/** The most lines of a CSV. */
const CSV_ROWS_MAX = 10_000;

/** A page of customers; if `page` is `null`, as many as a CSV has. */
export async function listCustomers(
  scope: ListScope,
  { sort, ...query }: Omit<ListCustomersQuery, 'limit' | 'cursor'>,
  page: PageRequest | null,
): Promise<AnswerTo<'listCustomers'>> {
  const nowMs = Date.now();
  const asked = page ?? { limit: CSV_ROWS_MAX, after: null };
  const filter = await buildCustomerFilter(scope, query, nowMs);
  const { organizationId } = scope.organization;
  const { items, nextCursor } = await findCustomers(scope.env, organizationId, filter, asked, { sort, nowMs });
  return accept('CUSTOMERS_LISTED', { items: items.map((row) => present(row, nowMs)), nextCursor }, nowMs);
}

function present(row: CustomerRow, nowMs: number): CustomerListItem {
  const isKnown = row.balanceNanoUsd !== null;
  // A period that began after the last change has no usage yet.
  const isOver = row.nextReplenishAtMs <= nowMs;
  const costNanoUsd = isOver ? 0n : nanoOfParts(String(row.periodCostUsd), String(row.periodCostRestNanoUsd));
  return {
    customerId: row.customerId,
    customerFriendlyName: row.friendlyName,
    customerEmail: row.email,
    stripeCustomerId: row.stripeCustomerId,
    planId: row.planId,
    usagePlanVersionId: row.usagePlanVersionId,
    subscriptionVersion: row.subscriptionVersion,
    canceled: row.canceledAtMs !== null,
    createdAt: new Date(row.createdAtMs).toISOString(),
    nextReplenishAt: new Date(row.nextReplenishAtMs).toISOString(),
    worstMeter: worstMeter(row, isOver),
    costUSD: isKnown ? usdFromNano(costNanoUsd) : null,
    costUsdNano: isKnown ? costNanoUsd.toString() : null,
    balanceUsd: row.balanceNanoUsd === null ? null : formatUsd(BigInt(row.balanceNanoUsd)),
    onCredit: row.onCredit && !isOver,
    denied: row.denied && !isOver,
    lastCallAt: row.lastCallAtMs === 0 ? null : new Date(row.lastCallAtMs).toISOString(),
  };
}

function worstMeter(
  { worstMeter: name, worstMeterUsed: used, worstMeterLimit: limit, pendingUsagePlanVersionId }: CustomerRow,
  isOver: boolean,
): CustomerListItem['worstMeter'] {
  // Nothing is known of a new period on another plan before its first change.
  if (name === null || used === null || limit === null || (isOver && pendingUsagePlanVersionId !== null)) return null;
  const usedNow = isOver ? 0 : used;
  return { name: name as MeterName, used: usedNow, limit, share: usedNow / limit };
}

/** A line for each customer; its columns are the members of an item of the list. */
export function customersCsv({ items }: Pick<Page<CustomerListItem>, 'items'>): string {
  return formatCsv(
    {
      customerId: ({ customerId }: CustomerListItem) => customerId,
      customerFriendlyName: ({ customerFriendlyName }) => customerFriendlyName,
      customerEmail: ({ customerEmail }) => customerEmail,
      stripeCustomerId: ({ stripeCustomerId }) => stripeCustomerId,
      planId: ({ planId }) => planId,
      usagePlanVersionId: ({ usagePlanVersionId }) => usagePlanVersionId,
      subscriptionVersion: ({ subscriptionVersion }) => subscriptionVersion,
      canceled: ({ canceled }) => String(canceled),
      createdAt: ({ createdAt }) => createdAt,
      nextReplenishAt: ({ nextReplenishAt }) => nextReplenishAt,
      worstMeter: (item) => item.worstMeter?.name ?? null,
      worstMeterUsed: (item) => item.worstMeter?.used ?? null,
      worstMeterLimit: (item) => item.worstMeter?.limit ?? null,
      worstMeterShare: (item) => item.worstMeter?.share ?? null,
      costUSD: ({ costUSD }) => costUSD,
      costUsdNano: ({ costUsdNano }) => costUsdNano,
      balanceUsd: ({ balanceUsd }) => exact(balanceUsd),
      onCredit: ({ onCredit }) => String(onCredit),
      denied: ({ denied }) => String(denied),
      lastCallAt: ({ lastCallAt }) => lastCallAt,
    },
    items,
  );
}
