/**
 * D1: what operators configure, and the projection of what the customers' objects record.
 *
 * Instants are integer milliseconds. Money is an integer column of nano-USD that only ever receives and gives decimal
 * strings, because neither side of D1 carries integers above 2^53; a sum of money is two such columns (`sumOfCost`).
 * The projection tables (`customers`, `calls`, `denied_hours`, `meter_events`, `credit_entries`) are written by the
 * objects' outboxes alone; `revision` lets a late row never overwrite a newer one, and `erased_subscriptions` lets none
 * come back after an erasure.
 */
import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, real, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { CompressionProfile } from '../contract/compression.ts';
import { SAMPLE_BYTES_MAX_DEFAULT } from '../contract/operator.ts';
import type { Plan } from '../contract/plans.ts';
import type { SetPriceRequest } from '../contract/prices.ts';
import type { Scope } from '../contract/scopes.ts';
import type { SamplingPolicy } from '../domain/sampling.ts';

export interface ModelMappings {
  standard: string[];
  premium: string[];
}

export const organizations = sqliteTable('organizations', {
  organizationId: text('organization_id').primaryKey(),
  name: text('name').notNull(),
  defaultPlanId: text('default_plan_id'),
  models: text('models', { mode: 'json' }).$type<ModelMappings>(),
  /** NULL until it is set, as is the profile. */
  sampling: text('sampling', { mode: 'json' }).$type<SamplingPolicy>(),
  compressionProfile: text('compression_profile', { mode: 'json' }).$type<CompressionProfile>(),
  /** How many bytes its samples may take, as `samples.stored_bytes` counts them. */
  sampleBytesMax: integer('sample_bytes_max').notNull().default(SAMPLE_BYTES_MAX_DEFAULT),
  /** Sessions, and calls that credit pays, may use models whose price is not known. */
  allowUnpricedModels: integer('allow_unpriced_models', { mode: 'boolean' }).notNull().default(false),
  createdAtMs: integer('created_at_ms').notNull(),
});

/**
 * How much there is of an organization, a row each, so that nobody has to count. Triggers on `customers` and `samples`
 * keep it (migration `organization_sizes`), and hold each new sample against the organization's quota.
 */
export const organizationSizes = sqliteTable('organization_sizes', {
  organizationId: text('organization_id').primaryKey(),
  customers: integer('customers').notNull(),
  samples: integer('samples').notNull(),
  sampleBytes: integer('sample_bytes').notNull(),
});

export const planVersions = sqliteTable(
  'plan_versions',
  {
    organizationId: text('organization_id')
      .notNull()
      .references(() => organizations.organizationId),
    planId: text('plan_id').notNull(),
    version: integer('version').notNull(),
    usagePlanVersionId: text('usage_plan_version_id').notNull(),
    content: text('content', { mode: 'json' }).$type<Plan>().notNull(),
    createdAtMs: integer('created_at_ms').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.planId, table.version] }),
    uniqueIndex('plan_versions_by_id').on(table.organizationId, table.usagePlanVersionId),
  ],
);

/** Prices that an organization set itself; they win over the catalog. */
export const organizationPrices = sqliteTable(
  'organization_prices',
  {
    organizationId: text('organization_id')
      .notNull()
      .references(() => organizations.organizationId),
    modelKey: text('model_key').notNull(),
    snapshotId: text('snapshot_id').notNull(),
    rates: text('rates', { mode: 'json' }).$type<SetPriceRequest>().notNull(),
    updatedAtMs: integer('updated_at_ms').notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.modelKey] })],
);

/** Estimates of compression that run, so that an organization runs a bounded number. */
export const runningEstimates = sqliteTable(
  'running_estimates',
  {
    organizationId: text('organization_id').notNull(),
    jobId: text('job_id').notNull(),
    startedAtMs: integer('started_at_ms').notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.jobId] })],
);

/** What an organization reaches its model vendors with. */
export const vendorCredentials = sqliteTable(
  'vendor_credentials',
  {
    organizationId: text('organization_id')
      .notNull()
      .references(() => organizations.organizationId),
    provider: text('provider').notNull(),
    baseUrl: text('base_url').notNull(),
    /** Encrypted under VENDOR_KEY_SECRET. */
    sealedKey: text('sealed_key').notNull(),
    keyHint: text('key_hint').notNull(),
    updatedAtMs: integer('updated_at_ms').notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.provider] })],
);

/** Live keys of before; written out, because an index over some rows serves only queries that say the same. */
export const WITHOUT_CHECKSUM = sql`has_checksum = 0 AND revoked_at_ms IS NULL`;

export const apiKeys = sqliteTable(
  'api_keys',
  {
    keyId: text('key_id').primaryKey(),
    organizationId: text('organization_id')
      .notNull()
      .references(() => organizations.organizationId),
    /** SHA-256 of the key, hexadecimal. The key itself is kept nowhere. */
    keyHash: text('key_hash').notNull(),
    prefix: text('prefix').notNull(),
    hint: text('hint').notNull(),
    name: text('name').notNull(),
    /** NULL: the historical permissions of the prefix. */
    scopes: text('scopes', { mode: 'json' }).$type<Scope[]>(),
    /** False for keys from before keys had one. */
    hasChecksum: integer('has_checksum', { mode: 'boolean' }).notNull().default(false),
    createdAtMs: integer('created_at_ms').notNull(),
    revokedAtMs: integer('revoked_at_ms'),
  },
  (table) => [
    uniqueIndex('api_keys_by_hash').on(table.keyHash),
    index('api_keys_by_organization').on(table.organizationId, table.keyId),
    index('api_keys_without_checksum').on(table.keyHash).where(WITHOUT_CHECKSUM),
  ],
);

export const operatorEvents = sqliteTable(
  'operator_events',
  {
    /** Time-ordered. */
    eventId: text('event_id').primaryKey(),
    atMs: integer('at_ms').notNull(),
    actor: text('actor').notNull(),
    action: text('action').notNull(),
    organizationId: text('organization_id'),
    subject: text('subject').notNull(),
    before: text('before', { mode: 'json' }).$type<unknown>(),
    after: text('after', { mode: 'json' }).$type<unknown>(),
    correlationId: text('correlation_id').notNull(),
  },
  (table) => [index('operator_events_by_organization').on(table.organizationId, table.eventId)],
);

export const operatorIdempotency = sqliteTable('operator_idempotency', {
  /** The operation and the key that the operator sent. */
  idempotencyKey: text('idempotency_key').primaryKey(),
  fingerprint: text('fingerprint').notNull(),
  /** The answer, encrypted: it may hold a new API key. */
  answer: text('answer').notNull(),
  expiresAtMs: integer('expires_at_ms').notNull(),
});

export const pricingSnapshots = sqliteTable(
  'pricing_snapshots',
  {
    snapshotId: text('snapshot_id').primaryKey(),
    provider: text('provider').notNull(),
    modelKey: text('model_key').notNull(),
    effectiveFrom: text('effective_from'),
    rates: text('rates', { mode: 'json' }).$type<unknown>().notNull(),
    source: text('source').notNull(),
    catalogVersion: text('catalog_version').notNull(),
    recordedAtMs: integer('recorded_at_ms').notNull(),
  },
  (table) => [index('pricing_snapshots_by_model').on(table.modelKey)],
);

export const customers = sqliteTable(
  'customers',
  {
    organizationId: text('organization_id').notNull(),
    customerId: text('customer_id').notNull(),
    friendlyName: text('friendly_name'),
    /**
     * Both in lower case, for the search. Rows from before there was one have the letters of ASCII alone in lower case
     * until they change.
     */
    customerIdLower: text('customer_id_lower'),
    friendlyNameLower: text('friendly_name_lower'),
    email: text('email'),
    stripeCustomerId: text('stripe_customer_id'),
    subscriptionId: text('subscription_id').notNull(),
    subscriptionVersion: integer('subscription_version').notNull(),
    planId: text('plan_id').notNull(),
    usagePlanVersionId: text('usage_plan_version_id').notNull(),
    pendingUsagePlanVersionId: text('pending_usage_plan_version_id'),
    createdAtMs: integer('created_at_ms').notNull(),
    lastReplenishedAtMs: integer('last_replenished_at_ms').notNull(),
    nextReplenishAtMs: integer('next_replenish_at_ms').notNull(),
    canceledAtMs: integer('canceled_at_ms'),
    revision: integer('revision').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.customerId] }),
    index('customers_by_plan').on(table.organizationId, table.planId, table.customerId),
    // The id as it is makes them all that a search reads before it knows its page.
    index('customers_by_id_search').on(table.organizationId, table.customerIdLower, table.customerId),
    index('customers_by_name_search').on(table.organizationId, table.friendlyNameLower, table.customerId),
  ],
);

/**
 * Subscriptions of customers who were erased: the outbox's batches write nothing for them, also one that D1 runs after
 * the erasure. A subscription's id is made with the account, stays while the account does, and says nothing of the
 * customer.
 */
export const erasedSubscriptions = sqliteTable('erased_subscriptions', {
  subscriptionId: text('subscription_id').primaryKey(),
  erasedAtMs: integer('erased_at_ms').notNull(),
});

export const calls = sqliteTable(
  'calls',
  {
    organizationId: text('organization_id').notNull(),
    callId: text('call_id').notNull(),
    customerId: text('customer_id').notNull(),
    customerUserId: text('customer_user_id'),
    feature: text('feature'),
    tags: text('tags', { mode: 'json' }).$type<string[]>(),
    status: text('status').notNull(),
    startedAtMs: integer('started_at_ms').notNull(),
    finishedAtMs: integer('finished_at_ms'),
    usagePlanVersionId: text('usage_plan_version_id').notNull(),
    pricingMode: text('pricing_mode').notNull(),
    providerUsed: text('provider_used'),
    modelUsed: text('model_used'),
    modelKey: text('model_key'),
    tier: text('tier'),
    inputTokens: integer('input_tokens'),
    cachedInputTokens: integer('cached_input_tokens'),
    cacheWriteInputTokens: integer('cache_write_input_tokens'),
    responseTokens: integer('response_tokens'),
    reasoningTokens: integer('reasoning_tokens'),
    searches: integer('searches'),
    errorCode: text('error_code'),
    pricingSnapshotId: text('pricing_snapshot_id'),
    /** Nano-USD; read through `nanoText`. */
    standardCostNanoUsd: integer('standard_cost_nano_usd'),
    costNanoUsd: integer('cost_nano_usd'),
    /** What compressing the prompt saved; NULL where nothing was recorded. */
    originalTokens: integer('original_tokens'),
    compressedTokens: integer('compressed_tokens'),
    savedTokens: integer('saved_tokens'),
    costAvoidedNanoUsd: integer('cost_avoided_nano_usd'),
    compressionTechniques: text('compression_techniques', { mode: 'json' }).$type<string[]>(),
    /** Every fact of the call, as its object keeps it: what a read of an old call answers from. */
    record: text('record', { mode: 'json' }).$type<unknown>().notNull(),
    revision: integer('revision').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.callId] }),
    index('calls_by_time').on(table.organizationId, table.startedAtMs),
    index('calls_by_customer').on(table.organizationId, table.customerId, table.startedAtMs),
    index('calls_by_age').on(table.startedAtMs),
    index('calls_with_compression').on(table.organizationId, table.startedAtMs).where(sql`original_tokens IS NOT NULL`),
  ],
);

/**
 * Denied calls that come as a count alone, because the customer had many in the hour. Triggers (migration
 * `denied_hours`) say in `usage_changes` what a row adds to the usage of its hour.
 */
export const deniedHours = sqliteTable(
  'denied_hours',
  {
    organizationId: text('organization_id').notNull(),
    customerId: text('customer_id').notNull(),
    hourMs: integer('hour_ms').notNull(),
    /** Empty where there is none, and for those that are too many to be told apart. */
    feature: text('feature').notNull(),
    calls: integer('calls').notNull(),
    revision: integer('revision').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.customerId, table.hourMs, table.feature] }),
    index('denied_hours_by_age').on(table.hourMs),
  ],
);

/** Increments of the custom meters. Amounts of money are exact decimals as text: an overage may exceed 64 bits. */
export const meterEvents = sqliteTable(
  'meter_events',
  {
    organizationId: text('organization_id').notNull(),
    eventId: text('event_id').notNull(),
    customerId: text('customer_id').notNull(),
    customerUserId: text('customer_user_id'),
    feature: text('feature'),
    slot: text('slot').notNull(),
    amount: integer('amount').notNull(),
    atMs: integer('at_ms').notNull(),
    usagePlanVersionId: text('usage_plan_version_id').notNull(),
    /** Where the units went: allowance, purchased credits, overage on the USD balance, nobody. */
    included: integer('included').notNull(),
    credits: integer('credits').notNull(),
    overage: integer('overage').notNull(),
    unfunded: integer('unfunded').notNull(),
    chargeNanoUsd: text('charge_nano_usd'),
    settlementStatus: text('settlement_status'),
    record: text('record', { mode: 'json' }).$type<unknown>().notNull(),
    revision: integer('revision').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.eventId] }),
    index('meter_events_by_customer').on(table.organizationId, table.customerId, table.atMs),
    index('meter_events_by_age').on(table.atMs),
  ],
);

/** The ledger of every customer: exact decimals as text, nano-USD or units. */
export const creditEntries = sqliteTable(
  'credit_entries',
  {
    organizationId: text('organization_id').notNull(),
    customerId: text('customer_id').notNull(),
    entryId: integer('entry_id').notNull(),
    atMs: integer('at_ms').notNull(),
    unit: text('unit').notNull(),
    cause: text('cause').notNull(),
    amount: text('amount').notNull(),
    balance: text('balance').notNull(),
    creditId: text('credit_id'),
    reference: text('reference'),
    revision: integer('revision').notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.customerId, table.entryId] })],
);

/**
 * A sum of costs: cost_usd x 1e9 + cost_rest_nano_usd nano-USD. Each call adds its whole dollars to the one and what
 * remains to the other, so neither leaves 64 bits before there are a billion calls; what remains is not carried over,
 * and may be negative where something was taken back. Ordered and compared by `COST` (usage.ts), read through
 * `nanoOfParts`.
 */
const sumOfCost = () => ({
  costUsd: integer('cost_usd').notNull().default(0),
  costRestNanoUsd: integer('cost_rest_nano_usd').notNull(),
});

/** What is counted of ended calls, wherever they are summed. */
const usageFigures = () => ({
  calls: integer('calls').notNull(),
  unpricedCalls: integer('unpriced_calls').notNull(),
  inputTokens: integer('input_tokens').notNull(),
  cachedInputTokens: integer('cached_input_tokens').notNull(),
  outputTokens: integer('output_tokens').notNull(),
  reasoningTokens: integer('reasoning_tokens').notNull(),
  searches: integer('searches').notNull(),
  ...sumOfCost(),
});

/** The same of one hour, in every dimension that reports ask for. */
const usageOfHour = () => ({
  organizationId: text('organization_id').notNull(),
  customerId: text('customer_id').notNull(),
  hourMs: integer('hour_ms').notNull(),
  /** Empty where there is none: NULL would not be a key. */
  feature: text('feature').notNull(),
  provider: text('provider').notNull(),
  model: text('model').notNull(),
  outcome: text('outcome').notNull(),
  ...usageFigures(),
});

/**
 * Usage by UTC hour of the end of calls, in every dimension that reports ask for. It is what the calls sum to, and
 * stays when old calls go.
 */
export const usageHours = sqliteTable('usage_hours', usageOfHour(), (table) => [
  primaryKey({
    columns: [
      table.organizationId,
      table.hourMs,
      table.customerId,
      table.feature,
      table.provider,
      table.model,
      table.outcome,
    ],
  }),
  index('usage_hours_by_customer').on(table.organizationId, table.customerId, table.hourMs),
]);

/**
 * What calls add to their hours, and take back where they are recorded anew. Triggers on `calls` and `denied_hours`
 * write it (migrations `usage_changes`, `denied_hours`); the batch that brings the calls adds it up and empties it
 * (projection.ts), so that an hour is changed once for all of them.
 */
export const usageChanges = sqliteTable('usage_changes', usageOfHour());

/**
 * Roll-ups of `usage_hours`, for readings of an organization as a whole. Triggers on `usage_hours` keep them (migration
 * `usage_rollups`): they are what its rows sum to, and go with them. An organization's rows do not grow with its
 * customers.
 */
export const organizationHours = sqliteTable(
  'organization_hours',
  {
    organizationId: text('organization_id').notNull(),
    /** Which column of `usage_hours` the key is of: `feature`, `provider`, `model` or `outcome`. */
    dimension: text('dimension').notNull(),
    hourMs: integer('hour_ms').notNull(),
    key: text('key').notNull(),
    ...usageFigures(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.dimension, table.hourMs, table.key] })],
);

/** The same by UTC day. */
export const organizationDays = sqliteTable(
  'organization_days',
  {
    organizationId: text('organization_id').notNull(),
    dimension: text('dimension').notNull(),
    dayMs: integer('day_ms').notNull(),
    key: text('key').notNull(),
    ...usageFigures(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.dimension, table.dayMs, table.key] })],
);

/** All that a customer ever used. */
export const customerTotals = sqliteTable(
  'customer_totals',
  {
    organizationId: text('organization_id').notNull(),
    customerId: text('customer_id').notNull(),
    /** No usage is of a later hour; there may be none in this one any more. */
    lastHourMs: integer('last_hour_ms').notNull(),
    ...usageFigures(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.customerId] })],
);

/**
 * What a customer had used by the end of an hour, for every hour with usage: a period is the difference of two rows,
 * however long it is.
 */
export const customerRunningTotals = sqliteTable(
  'customer_running_totals',
  {
    organizationId: text('organization_id').notNull(),
    customerId: text('customer_id').notNull(),
    hourMs: integer('hour_ms').notNull(),
    ...usageFigures(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.customerId, table.hourMs] })],
);

/**
 * Ended calls of a customer by UTC day and model; those that cost nothing have none, for their models are whatever
 * callers sent.
 */
export const customerDays = sqliteTable(
  'customer_days',
  {
    organizationId: text('organization_id').notNull(),
    customerId: text('customer_id').notNull(),
    dayMs: integer('day_ms').notNull(),
    model: text('model').notNull(),
    calls: integer('calls').notNull(),
    failedCalls: integer('failed_calls').notNull(),
    ...sumOfCost(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.customerId, table.dayMs, table.model] })],
);

/**
 * The same roll-ups within a feature (migration `feature_rollups`): its usage by UTC hour and by UTC day, in the
 * dimensions that are listed of it, customers aside.
 */
export const featureUsage = sqliteTable(
  'feature_usage',
  {
    organizationId: text('organization_id').notNull(),
    feature: text('feature').notNull(),
    /** `hour` or `day`. */
    unit: text('unit').notNull(),
    startMs: integer('start_ms').notNull(),
    provider: text('provider').notNull(),
    model: text('model').notNull(),
    outcome: text('outcome').notNull(),
    ...usageFigures(),
  },
  (table) => [
    primaryKey({
      columns: [
        table.organizationId,
        table.feature,
        table.unit,
        table.startMs,
        table.provider,
        table.model,
        table.outcome,
      ],
    }),
  ],
);

/** All that a customer ever used of a feature. */
export const featureCustomerTotals = sqliteTable(
  'feature_customer_totals',
  {
    organizationId: text('organization_id').notNull(),
    feature: text('feature').notNull(),
    customerId: text('customer_id').notNull(),
    lastHourMs: integer('last_hour_ms').notNull(),
    ...usageFigures(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.feature, table.customerId] })],
);

/** What a customer had used of a feature by the end of an hour. */
export const featureRunningTotals = sqliteTable(
  'feature_running_totals',
  {
    organizationId: text('organization_id').notNull(),
    customerId: text('customer_id').notNull(),
    feature: text('feature').notNull(),
    hourMs: integer('hour_ms').notNull(),
    ...usageFigures(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.customerId, table.feature, table.hourMs] })],
);

/** What a sample takes beside its texts: the row, and its ids again in four indexes. */
const SAMPLE_OVERHEAD_BYTES = 1024;
/** Texts that a caller chooses, beside the payload. */
const SAMPLE_TEXTS = [
  ...['sample_id', 'customer_id', 'feature', 'environment', 'tags', 'provider', 'model'],
  ...['decision_id', 'decision_policy_version'],
];

/** Calls that applications keep for review, until they expire. */
export const samples = sqliteTable(
  'samples',
  {
    organizationId: text('organization_id').notNull(),
    sampleId: text('sample_id').notNull(),
    /** Of the request, so that a retry is known from another sample. */
    fingerprint: text('fingerprint').notNull(),
    receivedAtMs: integer('received_at_ms').notNull(),
    expiresAtMs: integer('expires_at_ms').notNull(),
    retentionDays: integer('retention_days').notNull(),
    policyVersion: text('policy_version').notNull(),
    decisionId: text('decision_id'),
    decisionPolicyVersion: text('decision_policy_version'),
    customerId: text('customer_id'),
    feature: text('feature'),
    environment: text('environment'),
    tags: text('tags', { mode: 'json' }).$type<string[]>().notNull(),
    provider: text('provider').notNull(),
    model: text('model'),
    latencyMs: real('latency_ms'),
    payloadBytes: integer('payload_bytes').notNull(),
    /**
     * What the sample counts against the quota: its texts, and what a row and its entries in the indexes take besides.
     * Computed by D1.
     */
    storedBytes: integer('stored_bytes').generatedAlwaysAs(
      sql.raw(
        `payload_bytes + ${SAMPLE_OVERHEAD_BYTES} + LENGTH(CAST(${SAMPLE_TEXTS.map((name) => `COALESCE(${name}, '')`).join(' || ')} AS BLOB))`,
      ),
      { mode: 'virtual' },
    ),
    /** JSON text of input, output, usage and error. Last, so that lists need not read past it. */
    payload: text('payload').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.sampleId] }),
    index('samples_by_time').on(table.organizationId, table.receivedAtMs, table.sampleId),
    index('samples_by_customer').on(table.organizationId, table.customerId, table.receivedAtMs, table.sampleId),
    index('samples_by_expiry').on(table.expiresAtMs),
  ],
);
