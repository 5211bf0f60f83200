/**
 * An organization's own price of a model: a negotiated rate, or the price of a model that is not in the catalog.
 */
import { z } from 'zod';
import { text, USD_PER_MILLION_MAX } from './fields.ts';

const rate = z
  .number()
  .min(0)
  .max(USD_PER_MILLION_MAX)
  .refine((value) => Number(value.toFixed(9)) === value, 'must have at most nine decimals');

export const SetPriceRequest = z.strictObject({
  inputUsdPerMillion: rate.describe('USD per million input tokens'),
  outputUsdPerMillion: rate.describe('USD per million output tokens'),
  cachedInputUsdPerMillion: rate
    .optional()
    .describe('USD per million input tokens read from the prompt cache; absent: the input rate'),
  cacheWriteUsdPerMillion: rate
    .optional()
    .describe('USD per million input tokens written to the prompt cache; absent: the input rate'),
});

export type SetPriceRequest = z.infer<typeof SetPriceRequest>;

export const pricedModelKey = text(330).describe(
  'Model as calls report it: `provider/model`, a bare name, or a fine-tuned `ft:` id',
);

export const OrganizationPrice = SetPriceRequest.extend({
  modelKey: z.string().describe('The model'),
  snapshotId: z.string().describe('The recorded price'),
});
