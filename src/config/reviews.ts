/**
 * Reviewed replacements in D1, and in the memory of each isolate: a change is in force when it is acknowledged, as for
 * other configuration. If D1 is unavailable, the public lookup continues without the reviews and degraded.
 */
import { asc, eq, gt } from 'drizzle-orm';
import { NO_REVIEWS, type Review, type Reviews } from '../catalog/reviews.ts';
import type { Env } from '../env.ts';
import { remember } from '../platform/isolate-memory.ts';
import { log } from '../platform/log.ts';
import { ConfigCache } from './config-cache.ts';
import { configDatabase, type Statement } from './database.ts';
import { catalogReviews } from './schema/index.ts';

/** The most reviews; each isolate reads all of them at a time. */
export const REVIEWS_MAX = 200;
/** After a failure D1 is not asked again for this long, so that the lookup does not wait for it. */
const RETRY_MS = 10_000;

export interface ReviewsInUse {
  reviews: Reviews;
  /** Why they could not be read; `null` if they were. */
  problem: string | null;
}

const UNREAD: ReviewsInUse = { reviews: NO_REVIEWS, problem: "the operators' reviews could not be read" };
const KEY = 'reviews';

const cache = remember(() => new ConfigCache<ReviewsInUse>(1));
/** The same reviews stay the same object, so values derived from them can be cached with them. */
const lastRead = remember<{ text: string; inUse: ReviewsInUse } | undefined>(() => undefined);
const failedAtMs = remember(() => Number.NEGATIVE_INFINITY);

/** The reviews in use. `defer` keeps a background read alive beyond the request. */
export async function currentReviews(env: Env, defer: (work: Promise<unknown>) => void): Promise<ReviewsInUse> {
  if (Date.now() - failedAtMs.value < RETRY_MS) return UNREAD;
  try {
    return (await cache.value.get(KEY, env.CONFIG_TTL_MS, () => readAll(env), defer)) ?? UNREAD;
  } catch (error) {
    failedAtMs.value = Date.now();
    log('warn', 'reviews_not_read', {}, error);
    return UNREAD;
  }
}

/** The reviews in use if this isolate has read them just now; `null` otherwise. */
export function reviewsInMemory(nowMs: number): ReviewsInUse | null {
  return cache.value.fresh(KEY, nowMs);
}

/** In the order of their models. */
export function listReviews(env: Env, after: string | null, limit: number): Promise<Review[]> {
  return configDatabase(env)
    .select()
    .from(catalogReviews)
    .where(after === null ? undefined : gt(catalogReviews.modelKey, after))
    .orderBy(asc(catalogReviews.modelKey))
    .limit(limit + 1);
}

export async function findReview(env: Env, modelKey: string): Promise<Review | null> {
  const [row] = await configDatabase(env).select().from(catalogReviews).where(eq(catalogReviews.modelKey, modelKey));
  return row ?? null;
}

export function countReviews(env: Env): Promise<number> {
  return configDatabase(env).$count(catalogReviews);
}

export function saveReview(env: Env, review: Review): Statement {
  return configDatabase(env)
    .insert(catalogReviews)
    .values(review)
    .onConflictDoUpdate({ target: catalogReviews.modelKey, set: review });
}

export function removeReview(env: Env, modelKey: string): Statement {
  return configDatabase(env).delete(catalogReviews).where(eq(catalogReviews.modelKey, modelKey));
}

async function readAll(env: Env): Promise<ReviewsInUse> {
  const rows = await listReviews(env, null, REVIEWS_MAX);
  const text = JSON.stringify(rows);
  if (lastRead.value?.text !== text) {
    const reviews = new Map(rows.map((row) => [row.modelKey, row]));
    lastRead.value = { text, inUse: { reviews, problem: null } };
  }
  return lastRead.value.inUse;
}
