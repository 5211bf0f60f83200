/**
 * What D1 gets to see of a customer: which row of which table each change becomes.
 *
 * Each table is written by one `INSERT ... SELECT` of a JSON array, guarded by the row's revision: a row that is sent
 * twice, or late, changes nothing. It is guarded by the subscription too: one that was erased gets no row any more. The
 * columns are those of `src/storage/schema.ts`.
 */
import type { Account } from '../../src/domain/account.ts';
import type { Call } from '../../src/domain/call.ts';
import { lowerCase } from '../../src/domain/case-search.ts';
import type { MeterEvent } from '../../src/domain/custom-meter.ts';
import type { LedgerEntry } from '../../src/domain/wallet.ts';
import type { OutboxRow } from './tables/outbox.ts';

/** Characters of one bound value. D1 takes 2 MB, and a character has up to three bytes. */
const VALUE_LENGTH_MAX = 500_000;

/** Tables of the projection: their key, and the columns whose decimal strings become 64-bit integers. */
const TABLES = {
  customers: { key: ['organization_id', 'customer_id'], integers: [] },
  calls: {
    key: ['organization_id', 'call_id'],
    integers: ['standard_cost_nano_usd', 'cost_nano_usd', 'cost_avoided_nano_usd'],
  },
  denied_hours: { key: ['organization_id', 'customer_id', 'hour_ms', 'feature'], integers: [] },
  meter_events: { key: ['organization_id', 'event_id'], integers: [] },
  credit_entries: { key: ['organization_id', 'customer_id', 'entry_id'], integers: [] },
} as const;

const USAGE_KEY = 'organization_id, customer_id, hour_ms, feature, provider, model, outcome';
const USAGE_FIGURES = [
  ...[
    'calls',
    'unpriced_calls',
    'input_tokens',
    'cached_input_tokens',
    'output_tokens',
    'reasoning_tokens',
    'searches',
  ],
  ...['cost_usd', 'cost_rest_nano_usd'],
];

/**
 * Counts the calls of a batch in their hours: adds up what the triggers of `calls` and `denied_hours` say, and forgets
 * that. Each row of an hour goes on into many sums, so it is changed once for all calls. To be run with whatever writes
 * calls, as one transaction.
 */
export const COUNT_USAGE = [
  `INSERT INTO usage_hours (${USAGE_KEY}, ${USAGE_FIGURES.join(', ')})
   SELECT ${USAGE_KEY}, ${USAGE_FIGURES.map((name) => `SUM(${name})`).join(', ')} FROM usage_changes WHERE true GROUP BY ${USAGE_KEY}
   ON CONFLICT DO UPDATE SET ${USAGE_FIGURES.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`,
  'DELETE FROM usage_changes',
] as const;

/** A row of a table: its columns in one order, and its record, which is JSON already. */
interface Row {
  columns: Record<string, unknown>;
  record?: string;
}

/** The statements that bring the rows to D1, for one batch. */
export function projectionStatements(
  db: D1Database,
  account: Account,
  rows: readonly OutboxRow[],
): D1PreparedStatement[] {
  const { organizationId } = account;
  const records = (kind: OutboxRow['kind']) =>
    rows.flatMap(({ kind: of, id, record }) => (of === kind && record !== null ? [{ id, record }] : []));
  const { id: subscriptionId } = account.subscription;
  const customers = rows.some(({ kind }) => kind === 'customer') ? [projectCustomer(account)] : [];
  const calls = records('call').map(({ record }) => projectCall(organizationId, record));
  const deniedHours = records('denied_hour').map(({ record }) => projectDeniedHour(account, record));
  return [
    ...upserts(db, subscriptionId, 'customers', customers),
    ...upserts(db, subscriptionId, 'calls', calls),
    ...upserts(db, subscriptionId, 'denied_hours', deniedHours),
    ...(calls.length + deniedHours.length > 0 ? COUNT_USAGE.map((sql) => db.prepare(sql)) : []),
    ...upserts(
      db,
      subscriptionId,
      'meter_events',
      records('meter_event').map(({ record }) => projectMeterEvent(organizationId, record)),
    ),
    ...upserts(
      db,
      subscriptionId,
      'credit_entries',
      records('credit_entry').map(({ id, record }) => projectCreditEntry(account, Number(id), record)),
    ),
  ];
}

/** One statement for all rows, or several where their values would be too long for one. */
function upserts(
  db: D1Database,
  subscriptionId: string,
  table: keyof typeof TABLES,
  rows: readonly Row[],
): D1PreparedStatement[] {
  const [first] = rows;
  if (!first) return [];
  const { key, integers }: { key: readonly string[]; integers: readonly string[] } = TABLES[table];
  const names = [...Object.keys(first.columns), ...(first.record === undefined ? [] : ['record'])];
  // Rows cross as arrays: a value is found by its place at less cost than by its name, and in JSONB without parsing the
  // row again.
  const values = names.map((name, place) => {
    const value = `row ->> ${place}`;
    return integers.includes(name) ? `CAST(${value} AS INTEGER)` : value;
  });
  const updates = names.filter((name) => !key.includes(name)).map((name) => `${name} = excluded.${name}`);
  const sql = `WITH sent AS MATERIALIZED (SELECT jsonb(value) AS row FROM json_each(?1))
    INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')} FROM sent
    WHERE NOT EXISTS (SELECT 1 FROM erased_subscriptions WHERE subscription_id = ?2)
    ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${updates.join(', ')} WHERE excluded.revision > ${table}.revision`;
  const chunks: string[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const row of rows.map(rowText)) {
    length += row.length;
    if (length > VALUE_LENGTH_MAX) {
      chunks.push([]);
      length = row.length;
    }
    chunks.at(-1)?.push(row);
  }
  return chunks.map((chunk) => db.prepare(sql).bind(`[${chunk.join(',')}]`, subscriptionId));
}

/** The row as an array. The record goes as it is, and what `->>` makes of it is the same text again. */
function rowText({ columns, record }: Row): string {
  const text = JSON.stringify(Object.values(columns));
  return record === undefined ? text : `${text.slice(0, -1)},${record}]`;
}

function projectCustomer(account: Account): Row {
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

function projectCall(organizationId: string, record: string): Row {
  const call = JSON.parse(record) as Call;
  const { outcome, compression } = call;
  const price = outcome?.price.status === 'FINAL' ? outcome.price : null;
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
    provider_used: outcome?.providerUsed ?? null,
    model_used: outcome?.modelUsed ?? null,
    model_key: price?.breakdown.modelKey ?? null,
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
    // A call counts once under each of its techniques, however often it names it.
    compression_techniques: compression ? [...new Set(compression.techniques)] : null,
    revision: call.revision,
  };
  return { columns, record };
}

function projectDeniedHour({ organizationId, customerId }: Account, record: string): Row {
  const [hourMs, feature, calls] = JSON.parse(record) as [number, string, number];
  // The count itself says which of two rows is newer: it only grows.
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

function projectMeterEvent(organizationId: string, record: string): Row {
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

function projectCreditEntry(account: Account, entryId: number, record: string): Row {
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
