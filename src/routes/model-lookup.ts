/**
 * The public model lookup over HTTP: discovery and resolution, for anyone, from anywhere, without a credential.
 *
 * Answers are constant within a UTC day and a catalog version, so each isolate keeps the serialized ones that it made.
 * The key is read from the raw path, because it may contain `/`, percent-encoded or not.
 */
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { type Provenance, presentDiscovery, presentFull, presentLight } from '../catalog/answers.ts';
import { parseRequestedKey } from '../catalog/requested-key.ts';
import { resolveKey } from '../catalog/resolution.ts';
import { LOOKUP_PATH, LookupQuery } from '../contract/model-lookup.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { Env } from '../env.ts';
import { type AppContext, type AppEnv, deferrer } from '../middleware/context.ts';
import { describeIssues } from '../middleware/input.ts';
import { sha256Hex } from '../platform/hash.ts';
import { type CatalogInUse, catalogInMemory, currentCatalog } from '../storage/catalog.ts';

const ALLOW = 'GET, HEAD, OPTIONS';
const MAX_AGE_SECONDS = 300;
const STALE_SECONDS = 3_600;
/** Answers that one isolate keeps of a catalog, about 30 KB each. */
const ANSWERS_MAX = 500;
const PREFLIGHT_SECONDS = 86_400;
const DAY_MS = 24 * 3_600_000;

interface KeptAnswer {
  etag: string;
  body: Uint8Array;
  /** As sent while the day has more than the longest life of an answer left. Made once: that is what they cost. */
  headers: Headers;
}

interface KeptAnswers {
  day: number;
  /** By what was asked, as it came. */
  answers: Map<string, KeptAnswer>;
}

/** Answers of a day, gone with their catalog. */
const kept = new WeakMap<CatalogInUse, KeptAnswers>();

/**
 * The answer that this isolate has already made, or `null`. It is asked before the router: an answer from memory is
 * what this interface promises to be fast at, and a router and its middleware would cost more than the answer.
 */
export function keptLookup(request: Request, env: Env): Response | null {
  const from = request.url.indexOf(LOOKUP_PATH);
  if (from < 0 || request.method !== 'GET') return null;
  const nowMs = Date.now();
  const inUse = catalogInMemory(env, nowMs);
  const answer = inUse && answersOf(inUse, nowMs).get(request.url.slice(from + LOOKUP_PATH.length));
  return answer ? send(request, answer, nowMs) : null;
}

export function modelLookup(): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.use(cors({ origin: '*', allowMethods: ['GET', 'HEAD', 'OPTIONS'], exposeHeaders: ['ETag'], maxAge: PREFLIGHT_SECONDS }));
  app.get('*', async (c) => {
    const nowMs = Date.now();
    const inUse = await currentCatalog(c.env, deferrer(c));
    const provenance = { ...inUse, day: new Date(nowMs).toISOString().slice(0, 'yyyy-mm-dd'.length) };
    const asked = c.req.raw.url.slice(c.req.raw.url.indexOf(LOOKUP_PATH) + LOOKUP_PATH.length);
    const answers = answersOf(inUse, nowMs);
    const answer = answers.get(asked) ?? (await makeAnswer(c, asked, provenance));
    if (answer instanceof Response) return answer;
    answers.set(asked, answer);
    if (answers.size > ANSWERS_MAX) answers.delete(answers.keys().next().value as string);
    return send(c.req.raw, answer, nowMs);
  });
  app.all('*', (c) => {
    c.header('Allow', ALLOW);
    return failure(c, 405, 'METHOD_NOT_ALLOWED', `this route answers ${ALLOW}`);
  });
  app.onError((error, c) => {
    console.error(JSON.stringify({ event: 'lookup_failed', error: `${error.name}: ${error.message}` }));
    return failure(c, 500, 'INTERNAL_ERROR', 'something went wrong on our side; the request may be sent again');
  });
  return app;
}

/** The answer to what was asked, or the refusal. */
async function makeAnswer(c: AppContext, asked: string, provenance: Provenance): Promise<KeptAnswer | Response> {
  const rawPath = asked.split(/[?#]/)[0] ?? '';
  if (rawPath === '') return keep(presentDiscovery(provenance), { discovery: true }, provenance);
  const parsed = parseRequestedKey(rawPath.slice(1));
  if (!parsed.ok) return failure(c, 400, 'INVALID_MODEL_KEY', parsed.rule);
  const query = LookupQuery.safeParse(c.req.query());
  if (!query.success) {
    const message = describeIssues(query.error)
      .map(({ path, message: rule }) => `${path}: ${rule}`)
      .join('; ');
    return failure(c, 400, 'INVALID_MODEL_REQUEST', message);
  }
  const { response, ...policy } = query.data;
  const resolution = await resolveKey(provenance.catalog, parsed.key, policy, provenance.day);
  const body = response === 'light' ? presentLight(resolution, policy, provenance) : presentFull(resolution, policy, provenance);
  return keep(body, { key: parsed.key, query: query.data }, provenance);
}

/** The validator covers the catalog, the day and the question in its normalized form. */
async function keep(body: object, question: object, { catalog, day, problem }: Provenance): Promise<KeptAnswer> {
  const hash = await sha256Hex(canonicalJson({ version: catalog.version, publishedAtMs: catalog.publishedAtMs, day, problem, question }));
  const etag = `"${hash.slice(0, 32)}"`;
  const headers = new Headers({
    'Content-Type': 'application/json',
    'Cache-Control': cacheControl(MAX_AGE_SECONDS + STALE_SECONDS),
    ETag: etag,
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': 'ETag',
  });
  return { etag, body: new TextEncoder().encode(JSON.stringify(body)), headers };
}

function answersOf(inUse: CatalogInUse, nowMs: number): Map<string, KeptAnswer> {
  const day = Math.floor(nowMs / DAY_MS);
  const known = kept.get(inUse);
  if (known?.day === day) return known.answers;
  const answers = new Map<string, KeptAnswer>();
  kept.set(inUse, { day, answers });
  return answers;
}

function send(request: Request, { etag, body, headers }: KeptAnswer, nowMs: number): Response {
  const leftSeconds = Math.floor((DAY_MS - (nowMs % DAY_MS)) / 1000);
  const ending = leftSeconds < MAX_AGE_SECONDS + STALE_SECONDS;
  const sent = ending ? new Headers(headers) : headers;
  if (ending) sent.set('Cache-Control', cacheControl(leftSeconds));
  if (isMatching(request.headers.get('If-None-Match'), etag)) return new Response(null, { status: 304, headers: sent });
  return new Response(body, { headers: sent });
}

/** Never past the end of the day, where the answer ends too. */
function cacheControl(leftSeconds: number): string {
  const maxAge = Math.min(MAX_AGE_SECONDS, leftSeconds);
  return `public, max-age=${maxAge}, stale-while-revalidate=${Math.min(STALE_SECONDS, leftSeconds - maxAge)}`;
}

function isMatching(header: string | null, etag: string): boolean {
  if (header === null) return false;
  return header.split(',').some((entry) => entry.trim() === '*' || entry.trim().replace(/^W\//, '') === etag);
}

function failure(c: AppContext, status: 400 | 405 | 500, error: string, message: string): Response {
  c.header('Cache-Control', 'no-store');
  return c.json({ error, message }, status);
}
