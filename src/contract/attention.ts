/**
 * What needs a person: one item for each kind and organization, with a count and the operation that lists what is counted.
 */

import { z } from 'zod';
import type { OrganizationId } from '../domain/ids.ts';
import { branded, instant } from './fields.ts';

/** Of an organization, and then of the service as a whole; the order in which they are shown. */
export const ATTENTION_KINDS = [
  'UNPRICED_CALLS',
  'ENDING_MODELS',
  'CUSTOMERS_NEAR_LIMIT',
  'DENIED_CALLS',
  'FAILED_CHARGES',
  'ANOMALIES',
  'FAILING_WEBHOOKS',
  'LATE_REPORTS',
  'REFUSED_CHANGES',
  'LATE_ARCHIVE',
  'FULL_DATABASES',
  'CATALOG',
  'CATALOG_NEWS',
  'BINDINGS',
] as const;

export type AttentionKind = (typeof ATTENTION_KINDS)[number];

/** Organizations that are looked at. */
export const ATTENTION_ORGANIZATIONS_MAX = 20;
/** A customer that has used this share of a limit is near it. */
export const NEAR_LIMIT_SHARE = 0.8;
/** For how long each kind is looked back. */
export const UNPRICED_DAYS = 30;
export const DENIED_HOURS = 24;
export const FAILED_CHARGES_DAYS = 7;
export const ANOMALIES_DAYS = 2;
export const CATALOG_NEWS_DAYS = 7;

/** What an item of each kind counts, and why it matters. */
export const ATTENTION_MEANINGS: Record<AttentionKind, string> = {
  UNPRICED_CALLS: `Calls of the last ${UNPRICED_DAYS} days without a price: their cost is in no sum`,
  ENDING_MODELS: 'Models in use that have a shutdown date or are retired: their calls will fail',
  CUSTOMERS_NEAR_LIMIT: `Customers that have used ${NEAR_LIMIT_SHARE * 100} % or more of a limit`,
  DENIED_CALLS: `Calls that were denied in the last ${DENIED_HOURS} hours`,
  FAILED_CHARGES: `Charges that the billing provider refused for good in the last ${FAILED_CHARGES_DAYS} days`,
  ANOMALIES: `Episodes of unusual usage that were found in the last ${ANOMALIES_DAYS} days`,
  FAILING_WEBHOOKS: 'Webhooks whose last request failed, so that events wait, or that were switched off for it',
  LATE_REPORTS: 'Customers whose changes have not reached the reports yet; metering goes on',
  REFUSED_CHANGES: 'Changes that the database of the reports refused: figures lack them',
  LATE_ARCHIVE:
    'Closed days that the archive lacks, the oldest for more than two days: the database keeps them meanwhile',
  FULL_DATABASES: 'Databases that are nearly full: new organizations need another one',
  CATALOG: 'The model catalog is old or cannot be used: prices and dates may be wrong',
  CATALOG_NEWS: `Reports of the last ${CATALOG_NEWS_DAYS} days that lists know models, ends or prices that the catalog does not`,
  BINDINGS: 'Parts of the service that do not answer',
};

export const AttentionQuery = z.object({
  organizationId: branded<OrganizationId>(z.uuid('must be a UUID').toLowerCase())
    .optional()
    .describe('Only of this organization, and of the service as a whole'),
});

const kind = z.enum(ATTENTION_KINDS);
const organizationId = branded<OrganizationId>(z.string())
  .nullable()
  .describe('The organization; null for the service as a whole');

export const AttentionItem = z.object({
  kind: kind.describe('What is counted'),
  organizationId,
  organizationName: z.string().nullable().describe('Its display name'),
  count: z.number().int().positive().describe('How many there are'),
  isMore: z.boolean().describe('There are more than `count`, which were not counted'),
  meaning: z.string().describe('What is counted, and why it matters'),
  list: z.string().describe('Path of this API, with its query, that lists them'),
});

export type AttentionItem = z.infer<typeof AttentionItem>;

export const Attention = z.object({
  asOf: instant.describe('When it was read'),
  items: z.array(AttentionItem).describe('What needs attention, by kind and then by organization; empty for nothing'),
  notRead: z
    .array(z.object({ kind: kind.describe('The kind'), organizationId }))
    .describe('What could not be read now: it may need attention too'),
  lookedAt: z
    .object({
      organizations: z.number().int().describe('Organizations that were looked at'),
      isMore: z.boolean().describe(`There are more of them: only the first ${ATTENTION_ORGANIZATIONS_MAX} were`),
      kinds: z.array(kind).describe('Kinds that were looked for'),
    })
    .describe('What the list covers'),
});

export type Attention = z.infer<typeof Attention>;
