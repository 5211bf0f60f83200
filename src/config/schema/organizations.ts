/**
 * D1: organizations, and what operators configure for them: plans, prices, vendors, webhooks and API keys.
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
  /** The binding of the database that has its history (`database.ts`); never changes. */
  database: text('database').notNull().default('DB'),
  defaultPlanId: text('default_plan_id'),
  models: text('models', { mode: 'json' }).$type<ModelMappings>(),
  /** NULL until it is set, as is the profile. */
  sampling: text('sampling', { mode: 'json' }).$type<SamplingPolicy>(),
  compressionProfile: text('compression_profile', { mode: 'json' }).$type<CompressionProfile>(),
  /** How many bytes its samples may take, as `samples.stored_bytes` counts them. */
  sampleBytesMax: integer('sample_bytes_max').notNull().default(SAMPLE_BYTES_MAX_DEFAULT),
  /** Sessions, and calls that credit pays, may use models whose price is not known. */
  allowUnpricedModels: integer('allow_unpriced_models', { mode: 'boolean' }).notNull().default(false),
  /** What credit may pay for although its cost has no bound or no rate, as `contract/credit-open.ts` writes it. */
  creditOpen: text('credit_open', { mode: 'json' }).$type<string[]>().notNull().default([]),
  /** Where its customers buy more; NULL for nowhere. */
  upgradeUrl: text('upgrade_url'),
  /** Days for which history is kept, where the organization differs from the defaults. */
  retention: text('retention', { mode: 'json' }).$type<Partial<Retention>>(),
  /** What it is told of where its plans say nothing; NULL for nothing of its own. */
  alerts: text('alerts', { mode: 'json' }).$type<Alerts>(),
  createdAtMs: integer('created_at_ms').notNull(),
});

/**
 * The number of an organization's customers and samples, and the bytes of its samples. Triggers on `customers` and
 * `samples` (at the end of `d1-migrations/0000_start.sql`) keep them, and hold each new sample against the quota.
 */
export const organizationSizes = sqliteTable('organization_sizes', {
  organizationId: text('organization_id').$type<OrganizationId>().primaryKey(),
  customers: integer('customers').notNull(),
  samples: integer('samples').notNull(),
  sampleBytes: integer('sample_bytes').notNull(),
  /** The quota of the last sample that was sent; it comes from `organizations`, which may be in another database. */
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
    // A version by the id that customers and calls have of it.
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

/** Prices that an organization set itself; they win over the catalog. */
export const organizationPrices = sqliteTable(
  'organization_prices',
  {
    organizationId: text('organization_id')
      .$type<OrganizationId>()
      .notNull()
      .references(() => organizations.organizationId),
    modelKey: text('model_key').notNull(),
    /** From when the price is in force; 0: always was. */
    effectiveFromMs: integer('effective_from_ms').notNull(),
    snapshotId: text('snapshot_id').notNull(),
    rates: text('rates', { mode: 'json' }).$type<OwnRates>().notNull(),
    updatedAtMs: integer('updated_at_ms').notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.modelKey, table.effectiveFromMs] })],
);

/** Estimates of compression that run, so that an organization runs a bounded number. */
export const runningEstimates = sqliteTable(
  'running_estimates',
  {
    organizationId: text('organization_id').$type<OrganizationId>().notNull(),
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
      .$type<OrganizationId>()
      .notNull()
      .references(() => organizations.organizationId),
    provider: text('provider').notNull(),
    baseUrl: text('base_url').notNull(),
    /** NULL for that of its name: a version without kinds wrote the row, while this one was put in its place. */
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

/** What an organization has had a vendor keep: files, uploads, batches and responses, by their ids there. */
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

/** Where an organization's events are sent. */
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
    /** Who set it last: it decides which addresses are allowed. */
    registeredBy: text('registered_by').$type<'operator' | 'tenant'>().notNull(),
    /** Where the operator reached the console, for links; NULL for a tenant, who has none. */
    consoleOrigin: text('console_origin'),
    /** Encrypted under VENDOR_KEY_SECRET. */
    sealedSecret: text('sealed_secret').notNull(),
    /** The secret before the last rotation, and until when it signs as well. */
    previousSealedSecret: text('previous_sealed_secret'),
    previousUntilMs: integer('previous_until_ms'),
    /** It gets the events after this place of `organization_events`. */
    afterPlace: integer('after_place').notNull(),
    /** When and why the service switched it off. */
    disabledAtMs: integer('disabled_at_ms'),
    disabledReason: text('disabled_reason').$type<DisabledReason>(),
    createdAtMs: integer('created_at_ms').notNull(),
    updatedAtMs: integer('updated_at_ms').notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.webhookId] })],
);

/** How many changes a key made in the hour of its last one. */
export const keyChanges = sqliteTable('key_changes', {
  keyId: text('key_id').$type<KeyId>().primaryKey(),
  hourMs: integer('hour_ms').notNull(),
  changes: integer('changes').notNull(),
});

/** Live keys of before; written out, because an index over some rows serves only queries that say the same. */
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
    /** NULL: the historical permissions of the prefix. */
    scopes: text('scopes', { mode: 'json' }).$type<Scope[]>(),
    /** The models and the features that it is limited to; NULL: to none. */
    models: text('models', { mode: 'json' }).$type<string[]>(),
    features: text('features', { mode: 'json' }).$type<string[]>(),
    /** False for keys from before keys had one. */
    hasChecksum: integer('has_checksum', { mode: 'boolean' }).notNull().default(false),
    createdAtMs: integer('created_at_ms').notNull(),
    revokedAtMs: integer('revoked_at_ms'),
    /** The key works before this instant; NULL: for good. */
    expiresAtMs: integer('expires_at_ms'),
    /** When it was used, an hour or so behind; NULL: not yet. */
    lastUsedAtMs: integer('last_used_at_ms'),
  },
  (table) => [
    // Every request with a key.
    uniqueIndex('api_keys_by_hash').on(table.keyHash),
    // Lists of an organization's keys.
    index('api_keys_by_organization').on(table.organizationId, table.createdAtMs, table.keyId),
    // The list of keys that have no checksum (old-keys.ts); it becomes empty.
    index('api_keys_without_checksum').on(table.keyHash).where(WITHOUT_CHECKSUM),
  ],
);
