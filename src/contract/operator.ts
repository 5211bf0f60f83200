/**
 * The operator's nouns on the wire: organizations, keys, events, health. Customers are in
 * `operator-customers.ts`, model mappings in `model-mappings.ts`.
 */

import { z } from 'zod';
import { CALL_STATUSES } from '../domain/call.ts';
import type { CallId, KeyId, OrganizationId } from '../domain/ids.ts';
import { creditOpen } from './credit-open.ts';
import { branded, instant, TEXT_LENGTH_MAX, text } from './fields.ts';
import { keyFeatures, keyModels } from './key-limits.ts';
import { Mappings } from './model-mappings.ts';
import { OPERATOR_ACTIONS, SUBJECT_KINDS } from './operator-actions.ts';
import { balanceBelowDays, balanceBelowUsd, planId, thresholdsPercent } from './plans.ts';
import { KEY_PREFIXES, Scope } from './scopes.ts';

const name = text(200);
const organizationId = branded<OrganizationId>(z.uuid('must be a UUID').toLowerCase()).describe('Organization id');

/** The default limit on the bytes of an organization's samples. */
export const SAMPLE_BYTES_MAX_DEFAULT = 256 * 1024 * 1024;
/** The minimum, so that a few of the largest samples always fit. */
const SAMPLE_BYTES_MAX_MIN = 1024 * 1024;

const UPGRADE_URL_LENGTH_MAX = 1_000;
const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

const UPGRADE_URL_RULE = 'must be an https address, or an http address of localhost';

const upgradeUrl = z
  .url({ protocol: /^https?$/, error: UPGRADE_URL_RULE, abort: true })
  .max(UPGRADE_URL_LENGTH_MAX)
  .refine((value) => {
    const { protocol, hostname } = new URL(value);
    // A browser resolves `https:host` against the page that contains it.
    return /^https?:\/\/\S+$/i.test(value) && (protocol === 'https:' || LOCAL_HOSTS.includes(hostname));
  }, UPGRADE_URL_RULE)
  .refine((value) => {
    const { username, password } = new URL(value);
    return username === '' && password === '';
  }, 'must have no user');

/** The most days for which history is kept; call ids are known for as long. */
export const RETENTION_DAYS_MAX = 3_650;
const retentionDays = z.number().int().min(1).max(RETENTION_DAYS_MAX);

/** The days for which D1 keeps an organization's history. */
const RETENTION = {
  callRetentionDays: retentionDays.describe('Days for which calls are kept, from their begin (400)'),
  meterEventRetentionDays: retentionDays.describe('Days for which increments of custom meters are kept (400)'),
  ledgerRetentionDays: retentionDays.describe(
    'Days for which entries of the credit ledger are kept (2557, seven years)',
  ),
  usageRetentionDays: retentionDays.describe('Days for which sums of usage are kept (2557, seven years)'),
};

export type Retention = { [Name in keyof typeof RETENTION]: number };

export const RETENTION_DEFAULTS: Retention = {
  callRetentionDays: 400,
  meterEventRetentionDays: 400,
  ledgerRetentionDays: 2_557,
  usageRetentionDays: 2_557,
};

export const CreateOrganizationRequest = z.object({
  name: name.describe('Display name'),
  organizationId: organizationId.optional().describe('Your own choice of a UUID; if it is absent, Callmeter makes one'),
});

export const UpdateOrganizationRequest = z
  .object({
    name: name.optional().describe('Display name'),
    defaultPlanId: planId.nullable().optional().describe('Plan that new customers get; null for none'),
    allowUnpricedModels: z
      .boolean()
      .optional()
      .describe('Sessions, and calls that credit pays, may use models without a price; what they cost is not known'),
    creditOpen: creditOpen.optional(),
    upgradeUrl: upgradeUrl
      .nullable()
      .optional()
      .describe(
        'Page on which customers buy more; the usage widget links to it. An https address, or an http address of localhost; null for none',
      ),
    sampleBytesMax: z
      .number()
      .int()
      .min(SAMPLE_BYTES_MAX_MIN)
      .optional()
      .describe('Bytes that stored samples may take in all; at least 1 MiB. Less than what is stored deletes nothing'),
    alertThresholdsPercent: thresholdsPercent
      .nullable()
      .optional()
      .describe(
        'Percents of a limit at which events are recorded, for plans without their own; null for 50, 80 and 100',
      ),
    alertBalanceBelowUsd: balanceBelowUsd
      .optional()
      .describe('USD balance below which an event is recorded, for plans without their own; null for none'),
    alertBalanceBelowDays: balanceBelowDays
      .optional()
      .describe('Days of forecast spend below which an event is recorded, for plans without their own; null for none'),
    ...z.object(RETENTION).partial().shape,
  })
  .refine(
    (body) => Object.values(body).some((value) => value !== undefined),
    'name, defaultPlanId, allowUnpricedModels, creditOpen, upgradeUrl, sampleBytesMax, an alert or a retention is required',
  );

export const Organization = z.object({
  organizationId: branded<OrganizationId>(z.string()).describe('Organization id'),
  name: z.string().describe('Display name'),
  defaultPlanId: z.string().nullable().describe('Plan that new customers get'),
  allowUnpricedModels: z.boolean().describe('Sessions, and calls that credit pays, may use models without a price'),
  creditOpen,
  models: Mappings.nullable().describe('Model mappings'),
  upgradeUrl: z.string().nullable().describe('Page on which customers buy more; null for none'),
  sampleBytesMax: z.number().int().describe('Bytes that stored samples may take in all'),
  alertThresholdsPercent: z
    .array(z.number().int())
    .describe('Percents of a limit at which events are recorded, for plans without their own'),
  alertBalanceBelowUsd: z
    .string()
    .nullable()
    .describe('USD balance below which an event is recorded, for plans without their own'),
  alertBalanceBelowDays: z
    .number()
    .int()
    .nullable()
    .describe('Days of forecast spend below which an event is recorded, for plans without their own'),
  ...RETENTION,
  createdAt: instant.describe('When it was created'),
});

export type Organization = z.infer<typeof Organization>;

/** The steps from a new organization to its first priced call, in their order. */
export const SETUP_STEPS = ['plan', 'defaultPlan', 'key', 'vendor', 'models', 'webhook', 'call', 'cost'] as const;

export const OrganizationSetup = z.object({
  organizationId: branded<OrganizationId>(z.string()).describe('Organization id'),
  complete: z.boolean().describe('True if every required step is done'),
  steps: z
    .array(
      z.object({
        step: z.enum(SETUP_STEPS).describe('The step'),
        purpose: z.string().describe('Purpose'),
        optional: z.boolean().describe('True if calls can be metered without this step'),
        done: z.boolean().describe('Whether it is done'),
      }),
    )
    .describe('Steps, in the order in which they are done'),
  lastCall: z
    .object({
      callId: branded<CallId>(z.string()).describe('The call'),
      status: z.enum(CALL_STATUSES).describe('Its status'),
    })
    .nullable()
    .describe('The newest call that lists have; they follow calls by about a second'),
});

export type OrganizationSetup = z.infer<typeof OrganizationSetup>;

const MODELS_NAMED = 'named as in a request: `provider/model`, a bare name, or a mapping such as `service/standard`';

export const CreateKeyRequest = z.object({
  name: name.describe('What the key is for'),
  prefix: z.enum(KEY_PREFIXES).default('utk-').describe('`utk-`, `ek-` for the usage widget, or a legacy prefix'),
  scopes: z
    .array(Scope)
    .min(1)
    .max(20)
    .optional()
    .describe('Stored scopes; absent means all server scopes for `utk-`, the historical ones for a legacy prefix'),
  models: keyModels.optional().describe(`The only models that the key may run, ${MODELS_NAMED}; absent: any`),
  features: keyFeatures
    .optional()
    .describe('The only features that the key may be used for; each request must name one of them; absent: any'),
  expiresAt: instant.optional().describe('The key works before this instant; absent: it never expires'),
});

/** The hours for which a rotated key still works, and the most of them. */
const OVERLAP_HOURS_DEFAULT = 24;
const OVERLAP_HOURS_MAX = 30 * 24;

export const RotateKeyRequest = z.object({
  overlapHours: z
    .number()
    .min(0)
    .max(OVERLAP_HOURS_MAX)
    .default(OVERLAP_HOURS_DEFAULT)
    .describe(`Hours for which the key still works beside the new one; 0 to ${OVERLAP_HOURS_MAX}`),
});

export const UpdateKeyRequest = z
  .object({
    name: name.optional().describe('What the key is for'),
    scopes: z.array(Scope).min(1).max(20).optional().describe('New scopes; a legacy key is migrated to stored scopes'),
    models: keyModels
      .nullable()
      .optional()
      .describe(`The only models that the key may run, ${MODELS_NAMED}; null: any`),
    features: keyFeatures
      .nullable()
      .optional()
      .describe('The only features that the key may be used for; each request must name one of them; null: any'),
    expiresAt: instant.nullable().optional().describe('The key works before this instant; null: it never expires'),
  })
  .refine(
    (body) => Object.values(body).some((value) => value !== undefined),
    'name, scopes, models, features or expiresAt is required',
  );

export const Key = z.object({
  keyId: branded<KeyId>(z.string()).describe('Key id'),
  name: z.string().describe('What the key is for'),
  prefix: z.enum(KEY_PREFIXES).describe('Prefix'),
  hint: z.string().describe('The last four characters'),
  scopes: z.array(Scope).nullable().describe('Stored scopes; null if the historical permissions of the prefix apply'),
  models: z.array(z.string()).nullable().describe('The only models that the key may run; null: any'),
  features: z.array(z.string()).nullable().describe('The only features that the key may be used for; null: any'),
  createdAt: instant.describe('When it was created'),
  expiresAt: instant.nullable().describe('The key works before this instant; null: it never expires'),
  lastUsedAt: instant.nullable().describe('When it was last used, up to an hour behind; null: not yet'),
  revokedAt: instant.nullable().describe('When it was revoked'),
});

export type Key = z.infer<typeof Key>;

export const CreatedKey = z.object({
  keyId: branded<KeyId>(z.string()).describe('Key id'),
  key: z.string().describe('The key itself; only this answer shows it'),
  prefix: z.enum(KEY_PREFIXES).describe('Prefix'),
  scopes: z.array(Scope).nullable().describe('Stored scopes'),
  models: z.array(z.string()).optional().describe('The only models that the key may run; absent: any'),
  features: z.array(z.string()).optional().describe('The only features that the key may be used for; absent: any'),
  expiresAt: instant.optional().describe('When it stops working; absent: never'),
});

export const RotatedKey = CreatedKey.extend({
  previous: z
    .object({
      keyId: branded<KeyId>(z.string()).describe('The key that was rotated'),
      expiresAt: instant.describe('When it stops working'),
    })
    .describe('The key before'),
});

export const OperatorEvent = z.object({
  eventId: z.string().describe('Event id, ascending in time'),
  at: instant.describe('When'),
  actor: z.string().describe('Actor'),
  action: z.string().describe('What, for example `plan.put`; a log may have actions of earlier releases'),
  organizationId: branded<OrganizationId>(z.string()).nullable().describe('Organization'),
  subject: z.string().describe('Subject: an id'),
  before: z.unknown().describe('State before; never a secret'),
  after: z.unknown().describe('State after; never a secret'),
  correlationId: z.string().describe('Correlation id of the request'),
});

export type LoggedEvent = z.infer<typeof OperatorEvent>;

/** The longest subject is the id of a model with a price. */
const SUBJECT_LENGTH_MAX = 330;

/** The filter of the event log; an absent field does not filter. */
export const EventLogFilter = z.object({
  organizationId: branded<OrganizationId>(text(64)).optional().describe('Only this organization'),
  actor: text(TEXT_LENGTH_MAX).optional().describe('Only by this operator, API key or part of the service'),
  kind: z.enum(SUBJECT_KINDS).optional().describe('Only log entries of this kind of subject'),
  action: z.enum(OPERATOR_ACTIONS).optional().describe('Only this action'),
  subject: text(SUBJECT_LENGTH_MAX)
    .optional()
    .describe('Only the subject with this id; name its `kind` too, because ids of several kinds may be equal'),
  from: instant.optional().describe('At this instant or later'),
  to: instant.optional().describe('Before this instant'),
});

export type EventLogFilter = z.infer<typeof EventLogFilter>;

const DATABASE = {
  name: z.string().describe('Binding: `DB`, `DB_2`, ...'),
  bytes: z.number().int().describe('Size'),
  bytesMax: z.number().int().describe('Largest size that D1 allows'),
  growthBytesPerDay: z
    .number()
    .int()
    .nullable()
    .describe('Daily growth over the last week; null in the first days of a deployment'),
  fullAt: instant.nullable().describe('When the database is full at that growth; null if it does not grow'),
  isNearlyFull: z.boolean().describe('Used to 80 % or more of `bytesMax`'),
};

export const Database = z.object({
  ...DATABASE,
  organizations: z.number().int().describe('Organizations whose history is in this database'),
});

export type Database = z.infer<typeof Database>;

export const Health = z.object({
  status: z
    .enum(['ok', 'degraded'])
    .describe(
      'ok when every binding answers, nothing waits for long, no begin was refused in the last minute because too many waited, no database is nearly full, the archive is at most two days behind, and the catalog in use is in order',
    ),
  problems: z.array(z.string()).describe('Why it is degraded, a sentence each; empty when it is ok'),
  checks: z.array(
    z.object({
      name: z.string().describe('Binding'),
      ok: z.boolean().describe('The binding answered'),
      latencyMs: z.number().describe('Duration in milliseconds'),
      message: z.string().optional().describe('Why not'),
    }),
  ),
  catalog: z.object({
    version: z.string().describe('Catalog release in use'),
    source: z.enum(['built-in', 'published']).describe('Whether it came with the service or was published'),
    ageDays: z.number().int().describe('Days since the release'),
    models: z.number().int().describe('Models in it'),
    prices: z.number().int().describe('Models with a price'),
    warnings: z
      .array(z.string())
      .describe('Why the catalog is degraded: the published one is corrupt, unreadable or older than 90 days'),
  }),
  beginQueue: z
    .object({
      waiting: z
        .number()
        .int()
        .describe('Begins of calls that wait for their turn or for the objects of their customers'),
      oldestMs: z.number().nullable().describe('Milliseconds for which the oldest has waited; null if none waits'),
      refusedAt: instant
        .nullable()
        .describe('When a begin was refused last, because too many waited; null if none was'),
    })
    .describe('The queue of the isolate that answers this request; a deployment has many isolates'),
  backlog: z.object({
    customers: z.number().int().describe('Customers whose changes could not be sent to D1'),
    changes: z.number().int().describe('Their changes that projectors hold'),
    oldestAt: instant.nullable().describe('When the oldest one began to wait'),
  }),
  setAside: z
    .object({
      rows: z.number().int().describe('Changes that D1 refused, of all customers'),
      oldestAt: instant.nullable().describe('When the oldest one was set aside'),
    })
    .describe('Changes that D1 refused; `operator -- outbox list` shows them'),
  archive: z
    .object({
      days: z.number().int().describe('Closed days that the archive does not have, or not as they are'),
      oldestDay: z.string().nullable().describe('The oldest of them, for example `2026-11-23`'),
      erasures: z.number().int().describe('Erased customers of whom it may still have rows'),
      isLate: z.boolean().describe('The oldest of the days closed more than two days ago'),
    })
    .nullable()
    .describe('How far the archive is behind; null without an archive, or if D1 cannot be read'),
  d1: z
    .object({
      bytes: z.number().int().describe('Size of all databases'),
      databases: z.array(z.object(DATABASE)).describe('Each database'),
      organizations: z
        .array(
          z.object({
            organizationId: branded<OrganizationId>(z.string()).describe('Organization id'),
            name: z.string().describe('Display name'),
            customers: z.number().int().describe('Customers'),
            callsLastWeek: z.number().int().describe('Calls that ended today, UTC, or in the six days before'),
            samples: z.number().int().describe('Stored samples'),
            sampleBytes: z.number().int().describe('Their bytes'),
            sampleBytesMax: z.number().int().describe('Most bytes that the samples may take'),
          }),
        )
        .describe('The ten largest organizations, by their largest share of all customers, calls or sample bytes'),
    })
    .nullable()
    .describe('What D1 holds; null if it cannot be read'),
  versions: z.object({
    service: z.string().describe('Version of Callmeter'),
    contract: z.string().describe('Version of the contract'),
    schema: z.string().nullable().describe('Newest migration applied to D1'),
  }),
});

export type Health = z.infer<typeof Health>;
