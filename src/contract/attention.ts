/**
 * The items that need a person's attention: one for each kind and organization, with a count and the operation that
 * lists the counted objects.
 */

import { z } from 'zod';
import type { OrganizationId } from '../domain/ids.ts';
import { branded, instant } from './fields.ts';

/** First the kinds of an organization, then those of the service as a whole; they are shown in this order. */
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

/** The most organizations that are looked at. */
export const ATTENTION_ORGANIZATIONS_MAX = 20;
/** A customer that has used this share of a limit is near it. */
export const NEAR_LIMIT_SHARE = 0.8;
/** How far back each kind is counted. */
export const UNPRICED_DAYS = 30;
export const DENIED_HOURS = 24;
export const FAILED_CHARGES_DAYS = 7;
export const ANOMALIES_DAYS = 2;
export const CATALOG_NEWS_DAYS = 7;

/** The counted objects of each kind, and why they matter. */
export const ATTENTION_MEANINGS: Record<AttentionKind, string> = {
  UNPRICED_CALLS: `Calls of the last ${UNPRICED_DAYS} days without a price: their cost is in no sum`,
  ENDING_MODELS: 'Models in use that have a shutdown date or are retired: their calls will fail',
  CUSTOMERS_NEAR_LIMIT: `Customers that have used ${NEAR_LIMIT_SHARE * 100} % or more of a limit`,
  DENIED_CALLS: `Calls that were denied in the last ${DENIED_HOURS} hours`,
  FAILED_CHARGES: `Charges that the billing provider refused for good in the last ${FAILED_CHARGES_DAYS} days`,
  ANOMALIES: `Episodes of unusual usage that were found in the last ${ANOMALIES_DAYS} days`,
  FAILING_WEBHOOKS: 'Webhooks whose last request failed, so that events wait, or that Callmeter disabled',
  LATE_REPORTS: 'Customers whose changes have not reached D1 yet; metering goes on',
  REFUSED_CHANGES: 'Changes that D1 refused: lists and readings lack them',
  LATE_ARCHIVE: 'Closed days that the archive lacks, the oldest for more than two days: D1 keeps them meanwhile',
  FULL_DATABASES: 'Databases that are nearly full: new organizations need another one',
  CATALOG: 'The model catalog is old or cannot be used: prices and dates may be wrong',
  CATALOG_NEWS: `News of the last ${CATALOG_NEWS_DAYS} days: models, ends or prices that lists have and the catalog lacks`,
  BINDINGS: 'Parts of the service that do not answer',
};

export const AttentionQuery = z.object({
  organizationId: branded<OrganizationId>(z.uuid('must be a UUID').toLowerCase())
    .optional()
    .describe('Only this organization and the service as a whole'),
});

const kind = z.enum(ATTENTION_KINDS);
const organizationId = branded<OrganizationId>(z.string())
  .nullable()
  .describe('The organization; null for the service as a whole');

export const AttentionItem = z.object({
  kind: kind.describe('What is counted'),
  organizationId,
  organizationName: z.string().nullable().describe('Its display name'),
  count: z.number().int().positive().describe('Count'),
  isMore: z.boolean().describe('There are more than `count`'),
  meaning: z.string().describe('What is counted, and why it matters'),
  list: z.string().describe('Path of this API, with its query, that lists them'),
});

export type AttentionItem = z.infer<typeof AttentionItem>;

export const Attention = z.object({
  asOf: instant.describe('When it was read'),
  items: z.array(AttentionItem).describe('What needs attention, by kind and then by organization; empty for nothing'),
  notRead: z
    .array(z.object({ kind: kind.describe('The kind'), organizationId }))
    .describe('Parts that could not be read now and may need attention too'),
  lookedAt: z
    .object({
      organizations: z.number().int().describe('Organizations that were read'),
      isMore: z
        .boolean()
        .describe(`There are more organizations: only the first ${ATTENTION_ORGANIZATIONS_MAX} were read`),
      kinds: z.array(kind).describe('Kinds that were looked for'),
    })
    .describe('What the list covers'),
});

export type Attention = z.infer<typeof Attention>;
