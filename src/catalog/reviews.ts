/**
 * The replacements that operators reviewed, for the lookup. A review does not outlive its replacement: after that is
 * retired or has left the catalog, the review has no effect.
 */

import { utcDay } from '../platform/time.ts';
import { statusOn } from './lifecycle.ts';
import { type Catalog, type CatalogModel, modelKeyOf } from './model.ts';

export interface Review {
  modelKey: string;
  replacementModelKey: string;
  reason: string;
  reviewedAtMs: number;
}

/** By the key of the model to replace. */
export type Reviews = ReadonlyMap<string, Review>;

export const NO_REVIEWS: Reviews = new Map();

/** A review with the model that it names; `null` if that cannot be used on the day. */
export interface ReviewedReplacement {
  review: Review;
  model: CatalogModel | null;
}

export function findReviewedReplacement(
  catalog: Catalog,
  reviews: Reviews,
  source: CatalogModel,
  day: string,
): ReviewedReplacement | null {
  const review = reviews.get(modelKeyOf(source));
  if (!review) return null;
  const model = catalog.models.find((candidate) => modelKeyOf(candidate) === review.replacementModelKey);
  return { review, model: model && statusOn(model, day) !== 'RETIRED' ? model : null };
}

/** The citation of the review in an answer. */
export function formatCitation({ reviewedAtMs, reason }: Review): string {
  return `reviewed by an operator on ${utcDay(reviewedAtMs)}: ${reason}`;
}
