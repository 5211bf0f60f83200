/**
 * Replacements that operators review: read, set and remove.
 */
import { statusOn } from '../catalog/lifecycle.ts';
import { matchModel } from '../catalog/matching.ts';
import { type Catalog, type CatalogModel, modelKeyOf } from '../catalog/model.ts';
import type { Review } from '../catalog/reviews.ts';
import { currentCatalog } from '../config/catalog.ts';
import {
  countReviews,
  findReview,
  REVIEWS_MAX,
  removeReview,
  saveReview,
  listReviews as storedReviews,
} from '../config/reviews.ts';
import { badRequest, refuse } from '../contract/errors.ts';
import { operations } from '../contract/operations.ts';
import type { CatalogReview } from '../contract/reviews.ts';
import { makePage } from '../platform/page.ts';
import { utcDay } from '../platform/time.ts';
import { change, list, read } from './operation.ts';

const noReview = () => refuse('NOT_FOUND', 'no such review');

export const listReviews = list(operations.listReviews, async ({ env, page: { after, limit } }) => {
  const page = makePage(await storedReviews(env, after, limit), limit, ({ modelKey }) => modelKey);
  return { ...page, items: page.items.map(present) };
});

export const readReview = read(operations.readReview, async ({ env, params, defer }) => {
  const { catalog } = await currentCatalog(env, defer);
  const review = await findReview(env, storedKey(catalog, params.modelKey, Date.now()));
  return review ? present(review) : noReview();
});

export const putReview = change(operations.putReview, {
  action: 'review.put',
  subject: (_, { modelKey }) => modelKey,
  decide: async ({ env, params: { modelKey: requested }, body: { replacementModelKey, reason }, defer, nowMs }) => {
    const { catalog } = await currentCatalog(env, defer);
    const model = matchModel(catalog, requested, nowMs)?.model;
    if (!model) return refuse('NOT_FOUND', `modelKey: ${requested} is not in the catalog`);
    const replacement = matchModel(catalog, replacementModelKey, nowMs)?.model;
    const problem = obstacleTo(model, replacement, nowMs);
    if (problem !== null || !replacement)
      return badRequest({ path: 'replacementModelKey', message: problem ?? 'is not in the catalog' });
    const modelKey = modelKeyOf(model);
    const before = await findReview(env, modelKey);
    if (!before && (await countReviews(env)) >= REVIEWS_MAX)
      return refuse('CONFLICT', `there are at most ${REVIEWS_MAX} reviews`);
    const review = { modelKey, replacementModelKey: modelKeyOf(replacement), reason, reviewedAtMs: nowMs };
    return {
      before: before && present(before),
      after: present(review),
      statements: [saveReview(env, review)],
      // Also true for a new one: isolates have cached answers without it.
      replaces: true,
      data: present(review),
    };
  },
});

export const deleteReview = change(operations.deleteReview, {
  action: 'review.delete',
  subject: (_, { modelKey }) => modelKey,
  decide: async ({ env, params, defer, nowMs }) => {
    const modelKey = storedKey((await currentCatalog(env, defer)).catalog, params.modelKey, nowMs);
    const before = await findReview(env, modelKey);
    if (!before) return noReview();
    return {
      before: present(before),
      after: null,
      statements: [removeReview(env, modelKey)],
      replaces: true,
      data: { modelKey },
    };
  },
});

/** Why the other model cannot replace the model; `null` if it can. */
function obstacleTo(model: CatalogModel, replacement: CatalogModel | undefined, nowMs: number): string | null {
  if (!replacement) return 'is not in the catalog';
  if (replacement === model) return 'must not be the model itself';
  const retired = statusOn(replacement, utcDay(nowMs)) === 'RETIRED';
  return retired ? `must not be retired; ${modelKeyOf(replacement)} is` : null;
}

/** The key of a review: the catalog's own, or the requested one if the catalog no longer has the model. */
function storedKey(catalog: Catalog, requested: string, nowMs: number): string {
  const match = matchModel(catalog, requested, nowMs);
  return match ? modelKeyOf(match.model) : requested;
}

function present({ reviewedAtMs, modelKey, replacementModelKey, reason }: Review): CatalogReview {
  return { modelKey, replacementModelKey, reason, reviewedAt: new Date(reviewedAtMs).toISOString() };
}
