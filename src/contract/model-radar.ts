/**
 * The model radar on the wire: models in use that end, have a successor or have no price.
 */

import { z } from 'zod';
import type { CustomerId } from '../domain/ids.ts';
import { branded, flag, instant, ListQuery, nextCursor } from './fields.ts';
import { LIFECYCLE_STATUSES } from './model-lookup.ts';
import { Period } from './usage-summary.ts';

/** The days of usage that the radar looks at. */
export const RADAR_DAYS = 30;
/** The most customers that an item names. */
export const RADAR_CUSTOMERS_MAX = 10;
/** The number of days within which the end of a model is reported. */
export const RADAR_HORIZON_DAYS = 180;
const HORIZON_DAYS_MAX = 3_650;

export const RADAR_REASONS = [
  'RETIRED',
  'DEPRECATED',
  'ENDING',
  'OFFICIAL_SUCCESSOR',
  'REVIEWED_SUCCESSOR',
  'UNPRICED',
] as const;

export const ModelRadarQuery = ListQuery.extend({
  horizonDays: z.coerce
    .number()
    .int()
    .min(0)
    .max(HORIZON_DAYS_MAX)
    .default(RADAR_HORIZON_DAYS)
    .describe(`Leaves out models that end later than in this many days, 0 to ${HORIZON_DAYS_MAX}`),
  ending: flag.optional().describe('`true`: only models with a shutdown to come, and retired ones'),
});

export type ModelRadarQuery = z.infer<typeof ModelRadarQuery>;

/** A sum that may exceed 2^53; JSON readers then get the nearest double. */
const sum = z.number().nonnegative();

const RadarItem = z.object({
  modelKey: z.string().describe('`provider/model`; if the catalog does not have it, the name that calls reported'),
  status: z.enum(LIFECYCLE_STATUSES).describe('Computed from the dates, for today in UTC'),
  shutdownAt: z.string().nullable().describe('Day of the shutdown in UTC; null if none is announced'),
  daysLeft: z.number().int().nullable().describe('Days until the shutdown; 0 on its day, below 0 after it'),
  reasons: z
    .array(z.enum(RADAR_REASONS))
    .describe(
      'Why the model is listed: it is retired, deprecated, has a date to come (`ENDING`), has a successor named by its provider or by a review, or calls of the period have no known cost (`UNPRICED`)',
    ),
  replacement: z
    .object({
      modelKey: z.string().nullable().describe('What the model lookup recommends instead; null for nothing'),
      source: z.enum(['provider', 'admin_review', 'computed', 'none']).describe('Source of the recommendation'),
      warnings: z.array(z.string()).describe('What to know before the swap'),
    })
    .describe('The recommended replacement'),
  usage: z
    .object({
      calls: z.number().int().describe('Calls'),
      inputTokens: sum.describe('Prompt tokens, cache reads and writes included'),
      outputTokens: sum.describe('Completion tokens, reasoning included'),
      costUSD: z.number().nullable().describe('Recorded cost at vendors; null if no call has a known one'),
      costUsdNano: z.string().nullable().describe('The same cost, exact, in nano-USD'),
    })
    .describe('In the period'),
  replacementCostUSD: z
    .number()
    .nullable()
    .describe(
      "What the same calls would have cost on the replacement at today's price, without `notPriced`; null without a replacement, or if it has no price",
    ),
  replacementCostUsdNano: z.string().nullable().describe('The same cost, exact, in nano-USD'),
  replacementDifferenceUsdNano: z
    .string()
    .nullable()
    .describe(
      'How much more the replacement would have cost, below zero how much less, exact, in nano-USD; null if the two costs are not of the same usage: one is not known, `notPriced` names something, or a call has no recorded cost',
    ),
  replacementDifferencePercent: z
    .number()
    .nullable()
    .describe('The same difference in percent of the recorded cost; null also if that is 0'),
  notPriced: z
    .array(z.string())
    .describe('What `replacementCostUSD` does not include: components without a rate, and calls that cannot be priced'),
  customerCount: z.number().int().describe('Customers whose calls used it'),
  customers: z
    .array(
      z.object({
        customerId: branded<CustomerId>(z.string()).describe('The customer'),
        calls: z.number().int().describe('Calls'),
        costUSD: z.number().nullable().describe('Recorded cost at vendors; null if no call has a known one'),
      }),
    )
    .describe(`The ${RADAR_CUSTOMERS_MAX} customers with the highest cost`),
  features: z.array(z.string()).describe('Features whose calls used it, by cost'),
  mappings: z.array(z.string()).describe('Model mappings that name it, for example `service/standard`'),
  plans: z.array(z.string()).describe('Plans under which it was called; a plan itself names no model'),
});

export type RadarItem = z.infer<typeof RadarItem>;

export const ModelRadarData = z.object({
  period: Period.describe(`The last ${RADAR_DAYS} days in UTC, today included`),
  asOf: instant.describe('When it was computed'),
  catalogVersion: z.string().describe('Catalog release'),
  degraded: z.boolean().describe('The service could not use its current catalog, or could not read the reviews'),
  items: z.array(RadarItem).describe('The model that ends first comes first; then by cost, the highest first'),
  nextCursor,
});

export type ModelRadarData = z.infer<typeof ModelRadarData>;
