/**
 * Use case: look a model key up. An answer is constant within a UTC day, a catalog, the operators' reviews and the
 * lists' reports, so each isolate caches answers in serialized form, per catalog, reviews and day: one for each
 * question in any spelling. The entity tag covers the catalog, the day, the review of the model, its reported shutdown
 * dates and the normalized question.
 */

import { matchModel } from '../catalog/matching.ts';
import { modelKeyOf } from '../catalog/model.ts';
import { type RequestedKey, resolveKey } from '../catalog/resolution.ts';
import type { Reviews } from '../catalog/reviews.ts';
import { type CatalogInUse, catalogInMemory, currentCatalog } from '../config/catalog.ts';
import { currentReviews, type ReviewsInUse, reviewsInMemory } from '../config/reviews.ts';
import { badRequest, brokenRules, type Refusal, type Result } from '../contract/errors.ts';
import { type LookupErrorCode, LookupQuery } from '../contract/model-lookup.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { Env } from '../env.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import { sha256Hex } from '../platform/hash.ts';
import { DAY_MS, utcDay } from '../platform/time.ts';
import { type Provenance, presentDiscovery, presentFull, presentLight } from './answers.ts';
import { parseRequestedKey } from './requested-key.ts';

/** The most answers that one isolate caches for a catalog, about 30 KB each. */
const ANSWERS_MAX = 500;
/** The most spellings of questions that one isolate remembers, and the length of one. */
const SPELLINGS_MAX = 2_000;
const SPELLING_LENGTH_MAX = 400;

export interface LookupAnswer {
  etag: string;
  body: Uint8Array;
  /** The response headers, made with the first response. */
  headers?: Headers;
}

export type LookupResult = Result<{ answer: LookupAnswer }, Refusal<LookupErrorCode>>;

/** The answers from the same catalog and reviews on the same day. */
export interface AnswersOfDay {
  day: number;
  reviews: ReviewsInUse;
  /** By question, as JSON. */
  answers: Map<string, LookupAnswer>;
  /** Questions by their raw path and query. */
  questions: Map<string, string>;
}

const answersByCatalog = new WeakMap<CatalogInUse, AnswersOfDay>();

/** The cached answer to `asked`, the raw path and query. */
export function cachedAnswer(env: Env, asked: string, nowMs: number): LookupAnswer | null {
  const inUse = catalogInMemory(env, nowMs);
  const reviews = reviewsInMemory(nowMs);
  return (inUse && reviews && answerTo(asked, answersForDay(inUse, reviews, nowMs))) ?? null;
}

function answerTo(asked: string, { answers, questions }: AnswersOfDay): LookupAnswer | undefined {
  const question = questions.get(asked);
  return question === undefined ? undefined : answers.get(question);
}

/** The answers of today. They become another object if the catalog, the reviews or the day changes. */
export async function answersOfDay(
  env: Env,
  nowMs: number,
  defer: (work: Promise<unknown>) => void,
): Promise<AnswersOfDay> {
  const [inUse, reviews] = await Promise.all([currentCatalog(env, defer), currentReviews(env, defer)]);
  return answersForDay(inUse, reviews, nowMs);
}

/**
 * The answer to `asked`, the raw path and query. `query` has the decoded parameters. An answer that has to be made
 * first is refused if `limit` refuses.
 */
export async function lookUp(
  env: Env,
  asked: string,
  query: Record<string, string>,
  nowMs: number,
  defer: (work: Promise<unknown>) => void,
  limit: () => Promise<Refusal<'RATE_LIMITED'> | null> = async () => null,
): Promise<LookupResult> {
  const [inUse, reviews] = await Promise.all([currentCatalog(env, defer), currentReviews(env, defer)]);
  const ofDay = answersForDay(inUse, reviews, nowMs);
  const known = answerTo(asked, ofDay);
  if (known) return { ok: true, answer: known };
  const day = utcDay(nowMs);
  const provenance = { catalog: inUse.catalog, problem: inUse.problem ?? reviews.problem, day };
  const read = readQuestion(asked.split(/[?#]/)[0] ?? '', query, provenance);
  if (!read.ok) return read;
  const text = canonicalJson(read.question);
  const made = ofDay.answers.get(text);
  const refusal = made ? null : await limit();
  if (refusal) return { ok: false, refusal };
  const answer = made ?? (await makeAnswer(read.question, provenance, reviews.reviews));
  if (!made) ofDay.answers.set(text, answer);
  if (asked.length <= SPELLING_LENGTH_MAX) ofDay.questions.set(asked, text);
  return { ok: true, answer };
}

/** Milliseconds until the answers of the day expire. */
export function remainingDayMs(nowMs: number): number {
  return DAY_MS - (nowMs % DAY_MS);
}

/** The question; `null` is the discovery. */
type Question = { key: RequestedKey; query: LookupQuery } | null;

function readQuestion(
  rawPath: string,
  parameters: Record<string, string>,
  provenance: Provenance,
): Result<{ question: Question }, Refusal<LookupErrorCode>> {
  if (rawPath === '') return { ok: true, question: null };
  const parsed = parseRequestedKey(rawPath.slice(1), (name) => certainKey(provenance, name));
  if (!parsed.ok) return parsed;
  const query = LookupQuery.safeParse(parameters);
  if (query.success) return { ok: true, question: { key: parsed.key, query: query.data } };
  const { message } = badRequest(...brokenRules(query.error)).refusal;
  return { ok: false, refusal: { code: 'INVALID_MODEL_REQUEST', message } };
}

async function makeAnswer(question: Question, provenance: Provenance, reviews: Reviews): Promise<LookupAnswer> {
  if (!question) return serialize(presentDiscovery(provenance), { discovery: true }, provenance);
  const { key, query } = question;
  const { response, ...policy } = query;
  const resolution = await resolveKey(provenance.catalog, key, policy, provenance.day, reviews);
  const body =
    response === 'light' ? presentLight(resolution, policy, provenance) : presentFull(resolution, policy, provenance);
  const { review, reportedEnds } = resolution;
  return serialize(body, { key, query, review, reportedEnds }, provenance);
}

async function serialize(body: object, question: object, { catalog, day, problem }: Provenance): Promise<LookupAnswer> {
  const hash = await sha256Hex(
    canonicalJson({ version: catalog.version, publishedAtMs: catalog.publishedAtMs, day, problem, question }),
  );
  return { etag: `"${hash.slice(0, 32)}"`, body: new TextEncoder().encode(JSON.stringify(body)) };
}

function answersForDay(inUse: CatalogInUse, reviews: ReviewsInUse, nowMs: number): AnswersOfDay {
  const day = Math.floor(nowMs / DAY_MS);
  const known = answersByCatalog.get(inUse);
  if (known?.day === day && known.reviews === reviews) return known;
  const made: AnswersOfDay = {
    day,
    reviews,
    answers: new BoundedMap(ANSWERS_MAX),
    questions: new BoundedMap(SPELLINGS_MAX),
  };
  answersByCatalog.set(inUse, made);
  return made;
}

/** The key that a name without a provider certainly means, in the requested spelling if the catalog has it. */
function certainKey({ catalog, day }: Provenance, name: string): string | null {
  const match = matchModel(catalog, name, Date.parse(day));
  if (!match) return null;
  return match.strategy === 'normalized' ? modelKeyOf(match.model) : `${match.model.provider}/${name}`;
}
