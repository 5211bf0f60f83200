/**
 * The projection of a customer in D1: which row of which table each change becomes. How the rows are written is in
 * `src/storage/projection.ts`; the columns are described in `src/storage/schema`.
 */
import type { Account } from '../../src/domain/account.ts';
import type { Call } from '../../src/domain/call.ts';
import { lowerCase } from '../../src/domain/case-search.ts';
import type { MeterEvent } from '../../src/domain/custom-meter.ts';
import type { LedgerEntry } from '../../src/domain/wallet.ts';
import type { ProjectedRows } from '../../src/storage/projection.ts';
import type { OutboxRow } from './tables/outbox.ts';

type Row<Table extends keyof ProjectedRows> = ProjectedRows[Table][number];

/** The rows of a page of the outbox. */
export function projectRows(account: Account, rows: readonly OutboxRow[]): ProjectedRows {
  const records = (kind: OutboxRow['kind']) =>
    rows.flatMap(({ kind: of, id, record }) => (of === kind && record !== null ? [{ id, record }] : []));
  return {
    customers: rows.some(({ kind }) => kind === 'customer') ? [projectCustomer(account)] : [],
    calls: records('call').map(({ record }) => projectCall(account.organizationId, record)),
    deniedHours: records('denied_hour').map(({ record }) => projectDeniedHour(account, record)),
    meterEvents: records('meter_event').map(({ record }) => projectMeterEvent(account.organizationId, record)),
    creditEntries: records('credit_entry').map(({ id, record }) => projectCreditEntry(account, Number(id), record)),
  };
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

function projectCustomer(account: Account): Row<'customers'> {
  const { subscription, contact } = account;
  const columns = {
    organization_id: account.organizationId,
    customer_id: account.customerId,
    friendly_name: contact.friendlyName ?? null,
    customer_id_lower: lowerCase(account.customerId),
    friendly_name_lower: contact.friendlyName === undefined ? null : lowerCase(contact.friendlyName),
    email: contact.email ?? null,
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
    revision: account.revision,
  };
  return { columns };
}

function projectCall(organizationId: string, record: string): Row<'calls'> {
  const call = JSON.parse(record) as Call;
  const { outcome, compression } = call;
  const price = outcome?.price.status === 'FINAL' ? outcome.price : null;
  const modelKey = price?.breakdown.modelKey ?? null;
  const providerUsed = outcome?.providerUsed ?? null;
  const columns = {
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
    provider_used: providerUsed,
    usage_provider: usageProvider(modelKey, providerUsed),
    model_used: outcome?.modelUsed ?? null,
    model_key: modelKey,
    tier: outcome?.tier ?? null,
    input_tokens: outcome?.usage.inputTokens ?? null,
    cached_input_tokens: outcome?.usage.cachedInputTokens ?? null,
    cache_write_input_tokens: outcome?.usage.cacheWriteInputTokens ?? null,
    response_tokens: outcome?.usage.responseTokens ?? null,
    reasoning_tokens: outcome?.usage.reasoningTokens ?? null,
    searches: outcome?.usage.searches ?? null,
    error_code: outcome?.error?.code ?? null,
    pricing_snapshot_id: price?.breakdown.snapshotId ?? null,
    standard_cost_nano_usd: price?.breakdown.standardCostUsdNano ?? null,
    cost_nano_usd: price?.costNanoUsd ?? null,
    original_tokens: compression?.originalTokens ?? null,
    compressed_tokens: compression?.compressedTokens ?? null,
    saved_tokens: compression?.savedTokens ?? null,
    cost_avoided_nano_usd: compression?.inputCostAvoidedNanoUsd ?? null,
    // A call counts once under each of its techniques, however often it reports it.
    compression_techniques: compression ? [...new Set(compression.techniques)] : null,
    revision: call.revision,
  };
  return { columns, record };
}

function projectDeniedHour({ organizationId, customerId }: Account, record: string): Row<'deniedHours'> {
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

function projectMeterEvent(organizationId: string, record: string): Row<'meterEvents'> {
  const event = JSON.parse(record) as MeterEvent;
  const { funding, charge } = event;
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
    charge_nano_usd: charge?.amountNanoUsd ?? null,
    settlement_status: charge?.status ?? null,
    revision: event.revision,
  };
  return { columns, record };
}

function projectCreditEntry(account: Account, entryId: number, record: string): Row<'creditEntries'> {
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
    revision: entryId,
  };
  return { columns };
}
