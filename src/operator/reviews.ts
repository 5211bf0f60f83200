/**
 * Replacements that operators review: read, set and taken back.
 */
import { statusOn } from '../catalog/lifecycle.ts';
import { matchModel } from '../catalog/matching.ts';
import { type Catalog, type CatalogModel, modelKeyOf } from '../catalog/model.ts';
import type { Review } from '../catalog/reviews.ts';
import { type Answer, accept, badRequest, refuse } from '../contract/errors.ts';
import type { CatalogReview, SetReviewRequest } from '../contract/reviews.ts';
import type { Env } from '../env.ts';
import { type Page, type PageRequest, pageOf } from '../platform/page.ts';
import { currentCatalog } from '../storage/catalog.ts';
import {
  countReviews,
  findReview,
  REVIEWS_MAX,
  removeReview,
  saveReview,
  listReviews as storedReviews,
} from '../storage/reviews.ts';
import { commitChange, type OperatorRequest } from './change.ts';

type Defer = (work: Promise<unknown>) => void;

const noReview = () => refuse('NOT_FOUND', 'no such review');

export async function listReviews(env: Env, { after, limit }: PageRequest): Promise<Answer<Page<CatalogReview>>> {
  const page = pageOf(await storedReviews(env, after, limit), limit, ({ modelKey }) => modelKey);
  return accept('REVIEWS_LISTED', { ...page, items: page.items.map(present) }, Date.now());
}

export async function readReview(env: Env, requested: string, defer: Defer): Promise<Answer<CatalogReview>> {
  const review = await findReview(env, storedKey((await currentCatalog(env, defer)).catalog, requested, Date.now()));
  return review ? accept('REVIEW_READ', present(review), Date.now()) : noReview();
}

export function putReview(
  request: OperatorRequest,
  requested: string,
  { replacementModelKey, reason }: SetReviewRequest,
  defer: Defer,
): Promise<Answer<CatalogReview>> {
  return commitChange<CatalogReview>(request, async (nowMs) => {
    const { env } = request;
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
      action: 'review.put',
      organizationId: null,
      subject: modelKey,
      before: before && present(before),
      after: present(review),
      statements: [saveReview(env, review)],
      // Also a new one: isolates have answers without it.
      replaces: true,
      code: 'REVIEW_SAVED',
      data: present(review),
    };
  });
}

export function deleteReview(
  request: OperatorRequest,
  requested: string,
  defer: Defer,
): Promise<Answer<{ modelKey: string }>> {
  return commitChange<{ modelKey: string }>(request, async (nowMs) => {
    const { env } = request;
    const modelKey = storedKey((await currentCatalog(env, defer)).catalog, requested, nowMs);
    const before = await findReview(env, modelKey);
    if (!before) return noReview();
    return {
      action: 'review.delete',
      organizationId: null,
      subject: modelKey,
      before: present(before),
      after: null,
      statements: [removeReview(env, modelKey)],
      replaces: true,
      code: 'REVIEW_DELETED',
      data: { modelKey },
    };
  });
}

/** Why the model cannot be replaced by the other one; `null` where it can. */
function obstacleTo(model: CatalogModel, replacement: CatalogModel | undefined, nowMs: number): string | null {
  if (!replacement) return 'is not in the catalog';
  if (replacement === model) return 'must not be the model itself';
  const retired = statusOn(replacement, new Date(nowMs).toISOString().slice(0, 'yyyy-mm-dd'.length)) === 'RETIRED';
  return retired ? `must not be retired; ${modelKeyOf(replacement)} is` : null;
}

/** The key of a review: the catalog's own, or as it was asked for where the catalog does not have the model any more. */
function storedKey(catalog: Catalog, requested: string, nowMs: number): string {
  const match = matchModel(catalog, requested, nowMs);
  return match ? modelKeyOf(match.model) : requested;
}

function present({ reviewedAtMs, modelKey, replacementModelKey, reason }: Review): CatalogReview {
  return { modelKey, replacementModelKey, reason, reviewedAt: new Date(reviewedAtMs).toISOString() };
}
