/**
 * Use case: look a model key up. An answer is constant within a UTC day, a catalog, the operators' reviews and what lists
 * report, so each isolate caches answers in serialized form, per catalog, reviews and day. The entity tag covers the
 * catalog, the day, the review of the model, the ends that are reported of it and the normalized question.
 */

import { matchModel } from '../catalog/matching.ts';
import { modelKeyOf } from '../catalog/model.ts';
import { resolveKey } from '../catalog/resolution.ts';
import type { Reviews } from '../catalog/reviews.ts';
import { badRequest, brokenRules, type Refusal, type Result } from '../contract/errors.ts';
import { type LookupErrorCode, LookupQuery } from '../contract/model-lookup.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { Env } from '../env.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import { sha256Hex } from '../platform/hash.ts';
import { DAY_MS } from '../platform/time.ts';
import { type CatalogInUse, catalogInMemory, currentCatalog } from '../storage/catalog.ts';
import { currentReviews, type ReviewsInUse, reviewsInMemory } from '../storage/reviews.ts';
import { type Provenance, presentDiscovery, presentFull, presentLight } from './answers.ts';
import { parseRequestedKey } from './requested-key.ts';

/** Answers that one isolate caches for a catalog, about 30 KB each. */
const ANSWERS_MAX = 500;

export interface LookupAnswer {
  etag: string;
  body: Uint8Array;
  /** The response headers, made with the first response. */
  headers?: Headers;
}

export type LookupResult = Result<{ answer: LookupAnswer }, Refusal<LookupErrorCode>>;

interface CachedAnswers {
  day: number;
  reviews: ReviewsInUse;
  /** By raw path and query. */
  answers: Map<string, LookupAnswer>;
}

const answersByCatalog = new WeakMap<CatalogInUse, CachedAnswers>();

/** The cached answer to `asked`, the raw path and query. */
export function cachedAnswer(env: Env, asked: string, nowMs: number): LookupAnswer | null {
  const inUse = catalogInMemory(env, nowMs);
  const reviews = reviewsInMemory(nowMs);
  return (inUse && reviews && answersOf(inUse, reviews, nowMs).get(asked)) ?? null;
}

/** The answer to `asked`, the raw path and query. `query` has the decoded parameters. */
export async function lookUp(
  env: Env,
  asked: string,
  query: Record<string, string>,
  nowMs: number,
  defer: (work: Promise<unknown>) => void,
): Promise<LookupResult> {
  const [inUse, reviews] = await Promise.all([currentCatalog(env, defer), currentReviews(env, defer)]);
  const answers = answersOf(inUse, reviews, nowMs);
  const known = answers.get(asked);
  if (known) return { ok: true, answer: known };
  const day = new Date(nowMs).toISOString().slice(0, 'yyyy-mm-dd'.length);
  const provenance = { catalog: inUse.catalog, problem: inUse.problem ?? reviews.problem, day };
  const made = await makeAnswer(asked.split(/[?#]/)[0] ?? '', query, provenance, reviews.reviews);
  if (made.ok) answers.set(asked, made.answer);
  return made;
}

/** Milliseconds until the answers of the day expire. */
export function remainingDayMs(nowMs: number): number {
  return DAY_MS - (nowMs % DAY_MS);
}

async function makeAnswer(
  rawPath: string,
  parameters: Record<string, string>,
  provenance: Provenance,
  reviews: Reviews,
): Promise<LookupResult> {
  if (rawPath === '')
    return { ok: true, answer: await serialize(presentDiscovery(provenance), { discovery: true }, provenance) };
  const parsed = parseRequestedKey(rawPath.slice(1), (name) => keyOf(provenance, name));
  if (!parsed.ok) return parsed;
  const query = LookupQuery.safeParse(parameters);
  if (!query.success) {
    const { message } = badRequest(...brokenRules(query.error)).refusal;
    return { ok: false, refusal: { code: 'INVALID_MODEL_REQUEST', message } };
  }
  const { response, ...policy } = query.data;
  const resolution = await resolveKey(provenance.catalog, parsed.key, policy, provenance.day, reviews);
  const { review, reportedEnds } = resolution;
  const body =
    response === 'light' ? presentLight(resolution, policy, provenance) : presentFull(resolution, policy, provenance);
  return {
    ok: true,
    answer: await serialize(body, { key: parsed.key, query: query.data, review, reportedEnds }, provenance),
  };
}

async function serialize(body: object, question: object, { catalog, day, problem }: Provenance): Promise<LookupAnswer> {
  const hash = await sha256Hex(
    canonicalJson({ version: catalog.version, publishedAtMs: catalog.publishedAtMs, day, problem, question }),
  );
  return { etag: `"${hash.slice(0, 32)}"`, body: new TextEncoder().encode(JSON.stringify(body)) };
}

function answersOf(inUse: CatalogInUse, reviews: ReviewsInUse, nowMs: number): Map<string, LookupAnswer> {
  const day = Math.floor(nowMs / DAY_MS);
  const known = answersByCatalog.get(inUse);
  if (known?.day === day && known.reviews === reviews) return known.answers;
  const answers = new BoundedMap<string, LookupAnswer>(ANSWERS_MAX);
  answersByCatalog.set(inUse, { day, reviews, answers });
  return answers;
}

/** The key that a name without a provider certainly means, in the spelling that was asked for if the catalog has it. */
function keyOf({ catalog, day }: Provenance, name: string): string | null {
  const match = matchModel(catalog, name, Date.parse(day));
  if (!match) return null;
  return match.strategy === 'normalized' ? modelKeyOf(match.model) : `${match.model.provider}/${name}`;
}
