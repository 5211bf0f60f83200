/**
 * D1: organizations, and the operators' configuration for them: plans, prices, vendors, webhooks and API keys.
 */

import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { CompressionProfile } from '../../contract/compression.ts';
import type { DisabledReason } from '../../contract/event-data.ts';
import { type Retention, SAMPLE_BYTES_MAX_DEFAULT } from '../../contract/operator.ts';
import type { Plan } from '../../contract/plans.ts';
import type { OwnRates } from '../../contract/prices.ts';
import type { Scope } from '../../contract/scopes.ts';
import type { WebhookFormat } from '../../contract/webhooks.ts';
import type { KeyId, OrganizationId } from '../../domain/ids.ts';
import type { ModelMappings } from '../../domain/model-mappings.ts';
import type { Alerts } from '../../domain/plan.ts';
import type { SamplingPolicy } from '../../domain/sampling.ts';
import type { VendorKind } from '../../domain/vendor-kind.ts';

export const organizations = sqliteTable('organizations', {
  organizationId: text('organization_id').$type<OrganizationId>().primaryKey(),
  name: text('name').notNull(),
  /** The binding of the database with its history (`database.ts`); never changes. */
  database: text('database').notNull().default('DB'),
  defaultPlanId: text('default_plan_id'),
  models: text('models', { mode: 'json' }).$type<ModelMappings>(),
  /** NULL until it is set; the same for the profile. */
  sampling: text('sampling', { mode: 'json' }).$type<SamplingPolicy>(),
  compressionProfile: text('compression_profile', { mode: 'json' }).$type<CompressionProfile>(),
  /** The most bytes of its samples, counted by `samples.stored_bytes`. */
  sampleBytesMax: integer('sample_bytes_max').notNull().default(SAMPLE_BYTES_MAX_DEFAULT),
  /** Sessions, and calls that credit pays, may use models whose price is not known. */
  allowUnpricedModels: integer('allow_unpriced_models', { mode: 'boolean' }).notNull().default(false),
  /** The costs without a bound or a rate that credit may pay for, in the form of `contract/credit-open.ts`. */
  creditOpen: text('credit_open', { mode: 'json' }).$type<string[]>().notNull().default([]),
  /** The address at which its customers buy more; NULL if there is none. */
  upgradeUrl: text('upgrade_url'),
  /** The days for which history is kept, if the organization differs from the defaults. */
  retention: text('retention', { mode: 'json' }).$type<Partial<Retention>>(),
  /** The alerts of plans that set none; NULL if it has none of its own. */
  alerts: text('alerts', { mode: 'json' }).$type<Alerts>(),
  createdAtMs: integer('created_at_ms').notNull(),
});

/**
 * The number of an organization's customers and samples, and the bytes of its samples. Triggers on `customers` and
 * `samples` (at the end of `d1-migrations/0000_start.sql`) maintain them, and check each new sample against the quota.
 */
export const organizationSizes = sqliteTable('organization_sizes', {
  organizationId: text('organization_id').$type<OrganizationId>().primaryKey(),
  customers: integer('customers').notNull(),
  samples: integer('samples').notNull(),
  sampleBytes: integer('sample_bytes').notNull(),
  /** The quota at the last sample; it comes from `organizations`, which may be in another database. */
  sampleBytesMax: integer('sample_bytes_max').notNull(),
});

export const planVersions = sqliteTable(
  'plan_versions',
  {
    organizationId: text('organization_id')
      .$type<OrganizationId>()
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
    // For a version by its id in customers and calls.
    uniqueIndex('plan_versions_by_id').on(table.organizationId, table.usagePlanVersionId),
  ],
);

/** Plans that take no new subscriptions. */
export const archivedPlans = sqliteTable(
  'archived_plans',
  {
    organizationId: text('organization_id')
      .$type<OrganizationId>()
      .notNull()
      .references(() => organizations.organizationId),
    planId: text('plan_id').notNull(),
    archivedAtMs: integer('archived_at_ms').notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.planId] })],
);

/** An organization's own prices; they win over the catalog. */
export const organizationPrices = sqliteTable(
  'organization_prices',
  {
    organizationId: text('organization_id')
      .$type<OrganizationId>()
      .notNull()
      .references(() => organizations.organizationId),
    modelKey: text('model_key').notNull(),
    /** The time from which the price is in force; 0: always. */
    effectiveFromMs: integer('effective_from_ms').notNull(),
    snapshotId: text('snapshot_id').notNull(),
    rates: text('rates', { mode: 'json' }).$type<OwnRates>().notNull(),
    updatedAtMs: integer('updated_at_ms').notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.modelKey, table.effectiveFromMs] })],
);

/** Running estimates of compression, so that an organization runs a bounded number. */
export const runningEstimates = sqliteTable(
  'running_estimates',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    jobId: text('job_id').notNull(),
    startedAtMs: integer('started_at_ms').notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.jobId] })],
);

/** An organization's access to its vendors. */
export const vendorCredentials = sqliteTable(
  'vendor_credentials',
  {
    organizationId: text('organization_id')
      .$type<OrganizationId>()
      .notNull()
      .references(() => organizations.organizationId),
    provider: text('provider').notNull(),
    baseUrl: text('base_url').notNull(),
    /** NULL means the kind of its name: a version without kinds wrote the row while this one was deployed. */
    kind: text('kind').$type<VendorKind>(),
    /** Encrypted under VENDOR_KEY_SECRET. */
    sealedKey: text('sealed_key').notNull(),
    keyHint: text('key_hint').notNull(),
    /** A cost that the vendor itself reports is the call's cost. */
    useReportedCost: integer('use_reported_cost', { mode: 'boolean' }).notNull(),
    /** Headers that each request gets; NULL for none. */
    headers: text('headers', { mode: 'json' }).$type<Record<string, string>>(),
    /** Paths that are open; NULL for none. */
    passthrough: text('passthrough', { mode: 'json' }).$type<string[]>(),
    updatedAtMs: integer('updated_at_ms').notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.provider] })],
);

/** The objects that an organization had a vendor keep: files, uploads, batches and responses, by their ids there. */
export const vendorObjects = sqliteTable(
  'vendor_objects',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
    objectId: text('object_id').notNull(),
    forgetAtMs: integer('forget_at_ms').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.objectId] }),
    index('vendor_objects_by_end').on(table.forgetAtMs),
  ],
);

/** The endpoints to which an organization's events are sent. */
export const webhooks = sqliteTable(
  'webhooks',
  {
    organizationId: text('organization_id')
      .$type<OrganizationId>()
      .notNull()
      .references(() => organizations.organizationId),
    webhookId: text('webhook_id').notNull(),
    url: text('url').notNull(),
    /** The types of events that it gets; NULL for all. */
    types: text('types', { mode: 'json' }).$type<string[]>(),
    description: text('description'),
    enabled: integer('enabled', { mode: 'boolean' }).notNull(),
    format: text('format').$type<WebhookFormat>().notNull(),
    /** The author of its last change: it decides which addresses are allowed. */
    registeredBy: text('registered_by').$type<'operator' | 'tenant'>().notNull(),
    /**
     * The address at which the operator reached the console, for links; NULL for the organization's own, which has no
     * console.
     */
    consoleOrigin: text('console_origin'),
    /** Encrypted under VENDOR_KEY_SECRET. */
    sealedSecret: text('sealed_secret').notNull(),
    /** The secret before the last rotation, and the time until which it also signs. */
    previousSealedSecret: text('previous_sealed_secret'),
    previousUntilMs: integer('previous_until_ms'),
    /** It gets the events after this position of `organization_events`. */
    afterPlace: integer('after_place').notNull(),
    /** When and why the service disabled it. */
    disabledAtMs: integer('disabled_at_ms'),
    disabledReason: text('disabled_reason').$type<DisabledReason>(),
    createdAtMs: integer('created_at_ms').notNull(),
    updatedAtMs: integer('updated_at_ms').notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.webhookId] })],
);

/** The number of changes that a key made in the hour of its last one. */
export const keyChanges = sqliteTable('key_changes', {
  keyId: text('key_id').$type<KeyId>().primaryKey(),
  hourMs: integer('hour_ms').notNull(),
  changes: integer('changes').notNull(),
});

/** Live keys without a checksum; spelled out, because a partial index serves only queries with the same condition. */
export const WITHOUT_CHECKSUM = sql`has_checksum = 0 AND revoked_at_ms IS NULL`;

export const apiKeys = sqliteTable(
  'api_keys',
  {
    keyId: text('key_id').$type<KeyId>().primaryKey(),
    organizationId: text('organization_id')
      .$type<OrganizationId>()
      .notNull()
      .references(() => organizations.organizationId),
    /** SHA-256 of the key, hexadecimal. The key itself is not stored. */
    keyHash: text('key_hash').notNull(),
    prefix: text('prefix').notNull(),
    hint: text('hint').notNull(),
    name: text('name').notNull(),
    /** NULL means the historical permissions of the prefix. */
    scopes: text('scopes', { mode: 'json' }).$type<Scope[]>(),
    /** The models and the features that it is limited to; NULL means no limit. */
    models: text('models', { mode: 'json' }).$type<string[]>(),
    features: text('features', { mode: 'json' }).$type<string[]>(),
    /** False for older keys, which have none. */
    hasChecksum: integer('has_checksum', { mode: 'boolean' }).notNull().default(false),
    createdAtMs: integer('created_at_ms').notNull(),
    revokedAtMs: integer('revoked_at_ms'),
    /** The key works before this instant; NULL means without an end. */
    expiresAtMs: integer('expires_at_ms'),
    /** The time of its last use, about an hour behind; NULL: not used yet. */
    lastUsedAtMs: integer('last_used_at_ms'),
  },
  (table) => [
    // For every request with a key.
    uniqueIndex('api_keys_by_hash').on(table.keyHash),
    // For lists of an organization's keys.
    index('api_keys_by_organization').on(table.organizationId, table.createdAtMs, table.keyId),
    // For the list of keys without a checksum (old-keys.ts); it becomes empty over time.
    index('api_keys_without_checksum').on(table.keyHash).where(WITHOUT_CHECKSUM),
  ],
);
