/**
 * Replacements that operators review: the public lookup recommends them if the provider names nothing.
 */
import { z } from 'zod';
import { instant, text } from './fields.ts';

/** The longest model key, with its provider. */
const MODEL_KEY_LENGTH_MAX = 330;
const REASON_LENGTH_MAX = 500;

export const reviewedModelKey = text(MODEL_KEY_LENGTH_MAX).describe(
  'The model to replace, in any spelling that the catalog is certain of',
);

export const SetReviewRequest = z.strictObject({
  replacementModelKey: text(MODEL_KEY_LENGTH_MAX).describe(
    'The model to use instead: one of the catalog that is not retired',
  ),
  reason: text(REASON_LENGTH_MAX).describe('Why; the public lookup shows it'),
});

export type SetReviewRequest = z.infer<typeof SetReviewRequest>;

export const CatalogReview = z.object({
  modelKey: z.string().describe('The model to replace, as the catalog names it'),
  replacementModelKey: z.string().describe('The model to use instead, as the catalog names it'),
  reason: z.string().describe('Why'),
  reviewedAt: instant.describe('When it was reviewed'),
});

export type CatalogReview = z.infer<typeof CatalogReview>;

export const DeletedReview = z.object({ modelKey: z.string().describe('The model that has no review any more') });
