/**
 * The transactional outbox: what commands recorded goes to D1, in order of nothing but arrival, until D1 has it.
 *
 * A round sends one batch as a single D1 transaction, each table by one `INSERT ... SELECT FROM json_each`, guarded by
 * the row's revision: sending a row twice, or late, changes nothing. While D1 is away the backlog waits, tried again
 * with a capped backoff, and is announced in KV under `backlog:` for the operator's health page.
 */
import type { Account } from '../../src/domain/account.ts';
import type { Call } from '../../src/domain/call.ts';
import { BACKLOG_PREFIX } from '../../src/env.ts';
import { withTimeout } from '../../src/platform/timeout.ts';
import type { CustomerStore } from './store.ts';
import type { OutboxRow } from './tables/outbox.ts';

/** Rows of one D1 batch. */
const BATCH_ROWS_MAX = 400;
/** Characters of one bound value. D1 takes 2 MB, and a character has up to three bytes. */
const VALUE_LENGTH_MAX = 500_000;
/** Batches of one alarm; the next alarm goes on. */
const BATCHES_MAX = 25;
/** A D1 that does not answer counts as away. */
const D1_TIMEOUT_MS = 15_000;
const BACKOFF_BASE_MS = 1_000;
const BACKOFF_MAX_MS = 30_000;
/** The announcement of a backlog outlives its owner by this at most. */
const ANNOUNCEMENT_TTL_SECONDS = 24 * 3600;
/** The second failure in a row is announced, and every hundredth after it. */
const ANNOUNCE_EVERY_FAILURES = 100;
const ERROR_LENGTH_MAX = 300;

/** Tables of the projection: their key, and every column with where its value comes from. */
const TABLES = {
  customers: {
    key: ['organization_id', 'customer_id'],
    columns: [
      'organization_id',
      'customer_id',
      'friendly_name',
      'email',
      'stripe_customer_id',
      'subscription_id',
      'subscription_version',
      'plan_id',
      'usage_plan_version_id',
      'created_at_ms',
      'last_replenished_at_ms',
      'next_replenish_at_ms',
      'canceled_at_ms',
      'revision',
    ],
    integers: [] as string[],
  },
  calls: {
    key: ['organization_id', 'call_id'],
    columns: [
      'organization_id',
      'call_id',
      'customer_id',
      'customer_user_id',
      'feature',
      'tags',
      'status',
      'started_at_ms',
      'finished_at_ms',
      'usage_plan_version_id',
      'pricing_mode',
      'provider_used',
      'model_used',
      'model_key',
      'tier',
      'input_tokens',
      'cached_input_tokens',
      'cache_write_input_tokens',
      'response_tokens',
      'reasoning_tokens',
      'searches',
      'error_code',
      'pricing_snapshot_id',
      'standard_cost_nano_usd',
      'cost_nano_usd',
      'record',
      'revision',
    ],
    /** Decimal strings that become 64-bit integers. */
    integers: ['standard_cost_nano_usd', 'cost_nano_usd'],
  },
} as const;

type Table = keyof typeof TABLES;
type ProjectedRow<T extends Table> = Record<(typeof TABLES)[T]['columns'][number], unknown>;

export interface OutboxContext {
  store: CustomerStore;
  db: D1Database;
  kv: KVNamespace;
  objectId: string;
  now: () => number;
}

/** Sends what is due. Never throws: a failure is recorded, and the next attempt is scheduled. */
export async function deliver(context: OutboxContext): Promise<void> {
  const { store, now } = context;
  const before = store.delivery();
  // The first attempt waits for company only; an alarm that fires for another reason may as well take it along.
  if (before.dueAtMs === null || (before.failures > 0 && before.dueAtMs > now())) return;
  try {
    for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
      const account = store.account();
      const rows = store.outboxRows(BATCH_ROWS_MAX);
      if (!account || rows.length === 0) break;
      await withTimeout(context.db.batch(statementsFor(context.db, account, rows)), D1_TIMEOUT_MS, 'D1');
      store.transaction(now(), () => store.outboxSent(rows));
    }
    const { pending } = store.outboxState();
    store.transaction(now(), () => store.saveDelivery({ failures: 0, dueAtMs: pending > 0 ? now() : null, lastError: null }));
    if (before.failures > 0) await announce(context, null);
  } catch (error) {
    const failures = before.failures + 1;
    const lastError = (error instanceof Error ? error.message : String(error)).slice(0, ERROR_LENGTH_MAX);
    const delayMs = Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (failures - 1));
    store.transaction(now(), () => store.saveDelivery({ failures, dueAtMs: now() + delayMs, lastError }));
    console.warn(JSON.stringify({ event: 'outbox_delivery_failed', objectId: context.objectId, failures, lastError }));
    if (failures % ANNOUNCE_EVERY_FAILURES === 2) await announce(context, store.outboxState().oldestMs);
  }
}

/** Best effort: the backlog itself is in the object; this only lets the operator see that there is one, or none any more. */
async function announce({ kv, objectId }: OutboxContext, oldestMs: number | null): Promise<void> {
  try {
    if (oldestMs === null) await kv.delete(BACKLOG_PREFIX + objectId);
    else await kv.put(BACKLOG_PREFIX + objectId, '', { metadata: { oldestMs }, expirationTtl: ANNOUNCEMENT_TTL_SECONDS });
  } catch (error) {
    console.warn(JSON.stringify({ event: 'backlog_not_announced', objectId, error: String(error) }));
  }
}

function statementsFor(db: D1Database, account: Account, rows: readonly OutboxRow[]): D1PreparedStatement[] {
  const calls = rows.map(({ call }) => call).filter((call) => call !== null);
  const customers = rows.some(({ kind }) => kind === 'customer') ? [projectCustomer(account)] : [];
  return [
    ...upserts(db, 'customers', customers),
    ...upserts(
      db,
      'calls',
      calls.map((call) => projectCall(account.organizationId, call)),
    ),
  ];
}

/** One statement for all rows, or several where their values would be too long for one. */
function upserts<T extends Table>(db: D1Database, table: T, rows: ProjectedRow<T>[]): D1PreparedStatement[] {
  const { key, columns, integers } = TABLES[table];
  const values = columns.map((column) => {
    const value = `value ->> '${column}'`;
    return (integers as readonly string[]).includes(column) ? `CAST(${value} AS INTEGER)` : value;
  });
  const updates = columns
    .filter((column) => !(key as readonly string[]).includes(column))
    .map((column) => `${column} = excluded.${column}`);
  const sql = `INSERT INTO ${table} (${columns.join(', ')}) SELECT ${values.join(', ')} FROM json_each(?) WHERE true
    ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${updates.join(', ')} WHERE excluded.revision > ${table}.revision`;
  const chunks: string[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const row of rows.map((value) => JSON.stringify(value))) {
    length += row.length;
    if (length > VALUE_LENGTH_MAX) {
      chunks.push([]);
      length = row.length;
    }
    chunks.at(-1)?.push(row);
  }
  return chunks.map((chunk) => db.prepare(sql).bind(`[${chunk.join(',')}]`));
}

function projectCustomer(account: Account): ProjectedRow<'customers'> {
  const { subscription, contact } = account;
  return {
    organization_id: account.organizationId,
    customer_id: account.customerId,
    friendly_name: contact.friendlyName ?? null,
    email: contact.email ?? null,
    stripe_customer_id: contact.stripeCustomerId ?? null,
    subscription_id: subscription.id,
    subscription_version: subscription.version,
    plan_id: subscription.plan.planId,
    usage_plan_version_id: subscription.plan.usagePlanVersionId,
    created_at_ms: account.createdAtMs,
    last_replenished_at_ms: subscription.lastReplenishedAtMs,
    next_replenish_at_ms: subscription.nextReplenishAtMs,
    canceled_at_ms: subscription.canceledAtMs,
    revision: account.revision,
  };
}

function projectCall(organizationId: string, call: Call): ProjectedRow<'calls'> {
  const { outcome } = call;
  const price = outcome?.price.status === 'FINAL' ? outcome.price : null;
  return {
    organization_id: organizationId,
    call_id: call.callId,
    customer_id: call.customerId,
    customer_user_id: call.customerUserId ?? null,
    feature: call.feature ?? null,
    tags: call.tags ? JSON.stringify(call.tags) : null,
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
    record: JSON.stringify(call),
    revision: call.revision,
  };
}
