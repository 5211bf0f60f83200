/**
 * The projection of a customer in D1: which row of which table each change becomes. How the rows are written is in
 * `projection.ts`; the columns are described in `schema`.
 */

import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { CustomerEvent } from '../contract/event-data.ts';
import type { Account } from '../domain/account.ts';
import type { Call } from '../domain/call.ts';
import { LISTED, type ListedFacts, listedFacts, type RecordedListed } from '../domain/call-facts.ts';
import { lowerCase } from '../domain/case-search.ts';
import { earnedNanoUsd } from '../domain/charge.ts';
import type { MeterEvent } from '../domain/custom-meter.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { type NanoUsd, partsOfNano } from '../domain/money.ts';
import { isOnCredit } from '../domain/next-payer.ts';
import { findWorstMeter, wasDenied } from '../domain/summary.ts';
import type { Usage } from '../domain/usage.ts';
import { type LedgerEntry, sumBalance } from '../domain/wallet.ts';
import type { Change, ChangeKind, ProjectionPage } from '../objects/projection-page.ts';
import { packRecord, REPEATED_COLUMNS, type Repeated } from './packed-record.ts';
import { COUNTED_COLUMNS } from './roll-ups.ts';
import {
  calls,
  type creditEntries,
  type customers,
  type deniedHours,
  type failedHours,
  type meterEvents,
  type organizationEvents,
} from './schema/index.ts';

/** The names of a table's columns in D1. */
type ColumnOf<T> = {
  [Name in keyof T]: T[Name] extends SQLiteColumn ? T[Name]['_']['name'] : never;
}[keyof T];

/** Columns that D1 fills in, and the record. */
type FilledIn = 'record' | 'delivery' | 'place' | 'worst_meter_share' | 'lowered_at_ms';

/**
 * A row in all its columns but those that D1 fills in; the record is JSON already: that of a packed one is a string. A column that is added to the schema has
 * to be added here.
 */
interface Row<T> {
  columns: Record<Exclude<ColumnOf<T>, FilledIn>, unknown> & { revision: number };
  record?: string;
}

/** What a customer's object recorded, of which D1 gets a row. */
export interface RecordedChange {
  kind: ChangeKind;
  id: string;
  /** The record of that kind and id, as JSON; `null` for the customer, and where the record is gone. */
  record: string | null;
  /** Of a call: what it counted before, as `countedBefore` says it; absent if it did not count. */
  replaced?: string | null;
}

/** What the row of a customer has beside the account. */
export interface CustomerFigures {
  /** Of the usage period. */
  periodCostNanoUsd: NanoUsd;
  /** When the last call began that the object has; `null` where it has none. */
  lastCallAtMs: number | null;
}

/** A page of changes, as the rows that D1 gets. */
export function projectPage(
  account: Account,
  rows: readonly RecordedChange[],
  figures: () => CustomerFigures,
): ProjectionPage {
  const { organizationId, customerId, subscription } = account;
  const columns: Partial<Record<ChangeKind, readonly string[]>> = {};
  const changes: Change[] = [];
  for (const { kind, id, record: stored, replaced } of rows) {
    const row = kind === 'customer' ? projectCustomer(account, figures()) : projectRow(account, kind, id, stored);
    if (!row) continue;
    const { revision } = row.columns;
    columns[kind] ??= [...Object.keys(row.columns), ...(row.record === undefined ? [] : ['record'])];
    // A record that is text goes as it is, and what `->>` makes of it in D1 is the same text again.
    const text = JSON.stringify([subscription.id, ...Object.values(row.columns)]);
    const values = row.record === undefined ? text : `${text.slice(0, -1)},${row.record}]`;
    changes.push({ kind, id, revision, values, ...(replaced && { replaced }) });
  }
  return { organizationId, customerId, subscriptionId: subscription.id, columns, changes };
}

/** `null` where the row is gone. */
function projectRow(account: Account, kind: Exclude<ChangeKind, 'customer'>, id: string, record: string | null) {
  if (record === null) return null;
  switch (kind) {
    case 'call':
      return projectCall(account.organizationId, record);
    case 'denied_hour':
      return projectDeniedHour(account, record);
    case 'failed_hour':
      return projectFailedHour(account, record);
    case 'meter_event':
      return projectMeterEvent(account.organizationId, record);
    case 'credit_entry':
      return projectCreditEntry(account, Number(id), record);
    case 'event':
      return projectEvent(account, id, record);
  }
}

/**
 * The provider that a call counts under: the vendor of its price, else what the caller named, with ASCII letters in
 * lower case.
 */
export function usageProvider(modelKey: string | null, providerUsed: string | null): string {
  const vendorLength = modelKey?.indexOf('/') ?? -1;
  if (modelKey !== null && vendorLength >= 0) return modelKey.slice(0, vendorLength);
  return (providerUsed ?? '').replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function projectCustomer(
  account: Account,
  { periodCostNanoUsd, lastCallAtMs }: CustomerFigures,
): Row<typeof customers> {
  const { subscription, contact } = account;
  const worst = findWorstMeter(account);
  const cost = partsOfNano(periodCostNanoUsd);
  const columns = {
    organization_id: account.organizationId,
    customer_id: account.customerId,
    friendly_name: contact.friendlyName ?? null,
    customer_id_lower: lowerCase(account.customerId),
    friendly_name_lower: contact.friendlyName === undefined ? null : lowerCase(contact.friendlyName),
    email: contact.email ?? null,
    email_lower: contact.email === undefined ? null : lowerCase(contact.email),
    stripe_customer_id: contact.stripeCustomerId ?? null,
    subscription_id: subscription.id,
    subscription_version: subscription.version,
    plan_id: subscription.plan.planId,
    usage_plan_version_id: subscription.plan.usagePlanVersionId,
    pending_usage_plan_version_id: subscription.pending?.usagePlanVersionId ?? null,
    created_at_ms: account.createdAtMs,
    last_replenished_at_ms: subscription.lastReplenishedAtMs,
    next_replenish_at_ms: subscription.nextReplenishAtMs,
    canceled_at_ms: subscription.canceledAtMs,
    worst_meter: worst?.name ?? null,
    worst_meter_used: worst?.used ?? null,
    worst_meter_limit: worst?.limit ?? null,
    period_cost_usd: cost.usd,
    period_cost_rest_nano_usd: cost.restNanoUsd,
    last_call_at_ms: lastCallAtMs ?? 0,
    balance_nano_usd: sumBalance(account.wallet, 'USD').toString(),
    on_credit: isOnCredit(account) ? 1 : 0,
    denied: wasDenied(account) ? 1 : 0,
    revision: account.revision,
  };
  return { columns };
}

/** What a call counts in the usage, for the change that will replace it; `null` if it does not count. */
export function countedBefore(organizationId: OrganizationId, call: Call): string | null {
  if (call.status === 'IN_PROGRESS' || call.reversedAtMs !== undefined) return null;
  const columns = columnsOfCall(organizationId, call);
  return JSON.stringify(Object.fromEntries(COUNTED_COLUMNS.map((name) => [name, columns[name]])));
}

function projectCall(organizationId: OrganizationId, record: string): Row<typeof calls> {
  const columns = columnsOfCall(organizationId, JSON.parse(record) as Call);
  const packed = packRecord(record, REPEATED_COLUMNS.map((name) => columns[name]) as Repeated);
  return { columns, record: packed === null ? record : JSON.stringify(packed) };
}

function columnsOfCall(organizationId: OrganizationId, call: Call): Row<typeof calls>['columns'] {
  const { outcome, compression } = call;
  const price = outcome?.price.status === 'FINAL' ? outcome.price : null;
  const modelKey = price?.breakdown.modelKey ?? null;
  const listed = listedFacts(outcome);
  const charge = earnedNanoUsd(outcome?.charge);
  return {
    organization_id: organizationId,
    call_id: call.callId,
    customer_id: call.customerId,
    customer_user_id: call.customerUserId ?? null,
    feature: call.feature ?? null,
    tags: call.tags ?? null,
    status: call.status,
    started_at_ms: call.startedAtMs,
    finished_at_ms: call.finishedAtMs,
    usage_plan_version_id: call.usagePlanVersionId,
    pricing_mode: outcome?.pricingMode ?? call.pricingMode,
    usage_provider: usageProvider(modelKey, listed.providerUsed),
    model_key: modelKey,
    ...listedColumns(listed),
    tier: outcome?.tier ?? null,
    input_tokens: outcome?.usage.inputTokens ?? null,
    cached_input_tokens: outcome?.usage.cachedInputTokens ?? null,
    cache_write_input_tokens: outcome?.usage.cacheWriteInputTokens ?? null,
    response_tokens: outcome?.usage.responseTokens ?? null,
    reasoning_tokens: outcome?.usage.reasoningTokens ?? null,
    searches: outcome?.usage.searches ?? null,
    usage_source: outcome?.usageSource ?? null,
    output_rate: outcome?.outputRate ?? null,
    error_code: outcome?.error?.code ?? null,
    denial_code: call.denial?.code ?? null,
    pricing_snapshot_id: price?.breakdown.snapshotId === HELD_SNAPSHOT ? HELD_SNAPSHOT : null,
    standard_cost_nano_usd: price?.breakdown.standardCostUsdNano ?? null,
    cost_nano_usd: price?.costNanoUsd ?? null,
    charge_nano_usd: charge === 0n ? null : charge.toString(),
    charge_basis: outcome?.charge?.basis ?? (price?.standsIn ? 'STAND_IN' : null),
    original_tokens: compression?.originalTokens ?? null,
    compressed_tokens: compression?.compressedTokens ?? null,
    saved_tokens: compression?.savedTokens ?? null,
    cost_avoided_nano_usd: compression?.inputCostAvoidedNanoUsd ?? null,
    // A call counts once under each of its techniques, however often it reports it.
    compression_techniques: compression ? [...new Set(compression.techniques)] : null,
    reversed_at_ms: call.reversedAtMs ?? null,
    details: findDetails(call),
    revision: call.revision,
  };
}

/** The price of a call that is charged by its hold. */
const HELD_SNAPSHOT = 'held';

/** What of the usage has columns of its own. */
const USAGE_COLUMNS: readonly string[] = [
  'inputTokens',
  'cachedInputTokens',
  'cacheWriteInputTokens',
  'responseTokens',
  'reasoningTokens',
  'searches',
] satisfies (keyof Usage)[];

/** What `recordPart` finds of a packed record; `null` if it has none of that. */
function findDetails({ outcome, denial }: Call): object | null {
  const usage = Object.entries(outcome?.usage ?? {}).filter(
    ([name, used]) => used !== 0 && !USAGE_COLUMNS.includes(name),
  );
  const conditions = outcome?.price.status === 'FINAL' ? outcome.price.breakdown.conditions : undefined;
  const details = {
    ...(usage.length > 0 && { usage: Object.fromEntries(usage) }),
    ...(conditions && { conditions }),
    ...(outcome?.parts && { parts: outcome.parts.map(({ modelUsed }) => ({ modelUsed })) }),
    ...(denial && { denial }),
  };
  return Object.keys(details).length > 0 ? details : null;
}

type ListedColumns = { [Name in keyof ListedFacts as (typeof calls)[Name]['_']['name']]-?: RecordedListed[Name] };

/** The listed facts by the names of their columns. One without a column does not compile. */
function listedColumns(listed: RecordedListed): ListedColumns {
  return Object.fromEntries(LISTED.map((name) => [calls[name].name, listed[name]])) as ListedColumns;
}

function projectDeniedHour({ organizationId, customerId }: Account, record: string): Row<typeof deniedHours> {
  const [hourMs, feature, calls] = JSON.parse(record) as [number, string, number];
  // The count only grows, so it also says which of two rows is newer.
  const columns = {
    organization_id: organizationId,
    customer_id: customerId,
    hour_ms: hourMs,
    feature,
    calls,
    revision: calls,
  };
  return { columns };
}

function projectFailedHour({ organizationId, customerId }: Account, record: string): Row<typeof failedHours> {
  const [hourMs, calls, unpricedCalls, revision] = JSON.parse(record) as [number, number, number, number];
  const columns = {
    organization_id: organizationId,
    customer_id: customerId,
    hour_ms: hourMs,
    calls,
    unpriced_calls: unpricedCalls,
    revision,
  };
  return { columns };
}

function projectMeterEvent(organizationId: OrganizationId, record: string): Row<typeof meterEvents> {
  const event = JSON.parse(record) as MeterEvent;
  const { funding, charge, reversal } = event;
  const charged = partsOfNano(earnedNanoUsd(charge) + earnedNanoUsd(reversal?.charge));
  const columns = {
    organization_id: organizationId,
    event_id: event.eventId,
    customer_id: event.customerId,
    customer_user_id: event.customerUserId ?? null,
    feature: event.feature ?? null,
    slot: event.slot,
    amount: event.amount,
    at_ms: event.atMs,
    usage_plan_version_id: event.usagePlanVersionId,
    included: funding.included,
    credits: funding.credits,
    overage: funding.overage,
    unfunded: funding.unfunded,
    // One that charged nothing has charged less than that, if its reversal gave back what later ones had paid.
    charge_nano_usd: charge?.amountNanoUsd ?? (reversal?.charge ? '0' : null),
    settlement_status: charge?.status ?? null,
    charged_usd: charged.usd,
    charged_rest_nano_usd: charged.restNanoUsd,
    reversed_at_ms: reversal?.atMs ?? null,
    revision: event.revision,
  };
  return { columns, record };
}

function projectCreditEntry(account: Account, entryId: number, record: string): Row<typeof creditEntries> {
  const entry = JSON.parse(record) as LedgerEntry;
  const columns = {
    organization_id: account.organizationId,
    customer_id: account.customerId,
    entry_id: entryId,
    at_ms: entry.atMs,
    unit: entry.unit,
    cause: entry.cause,
    amount: entry.amount,
    balance: entry.balance,
    credit_id: entry.creditId,
    reference: entry.reference,
    subject_kind: entry.subject?.kind ?? null,
    subject_id: entry.subject?.id ?? null,
    correction: entry.correction ?? null,
    revision: entryId,
  };
  return { columns };
}

function projectEvent(
  { organizationId, customerId }: Account,
  eventId: string,
  record: string,
): Row<typeof organizationEvents> {
  const { type, atMs, data } = JSON.parse(record) as CustomerEvent & { atMs: number };
  const columns = {
    organization_id: organizationId,
    event_id: eventId,
    customer_id: customerId,
    type,
    at_ms: atMs,
    revision: 1,
  };
  return { columns, record: JSON.stringify(data) };
}
