/**
 * The public model pages over HTTP: a list, a search, a page for each model. Like the lookup's answers, they can be
 * cached until the end of the UTC day, and an isolate keeps them as long as those.
 */
import type { Hono } from 'hono';
import { type AppContext, type AppEnv, deferrer } from '../../http/middleware/context.ts';
import { describeModel, isModelKey, readablePath } from '../../lookup/describe-model.ts';
import { findModels, listCatalog } from '../../lookup/find-models.ts';
import { type AnswersOfDay, answersOfDay, remainingDayMs } from '../../lookup/look-up-model.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { catalogPage, MODELS_PATH, modelNotFoundPage, searchPage } from '../models/list-pages.tsx';
import { modelPage } from '../models/model-page.tsx';
import { type KeptPages, publicRoutes, requestOrigin, searchedText, sendKeptPage } from './public-page.ts';

/** The most models of each list on the first page. */
const LISTED_MAX = 15;
/** The most pages that one isolate keeps: for a model about 11 KB, for a search up to 300 KB. */
const MODELS_KEPT_MAX = 500;
const OTHERS_KEPT_MAX = 40;
const MAX_AGE_SECONDS = 300;
const STALE_SECONDS = 3_600;

/** Today's pages. */
const keptPages = new WeakMap<AnswersOfDay, { models: KeptPages; others: KeptPages }>();

export function mountModels(app: Hono<AppEnv>): void {
  app.route(
    MODELS_PATH,
    publicRoutes('models', (models) => {
      models.get('/', sendList);
      models.get('/*', sendModel);
    }),
  );
}

async function sendList(c: AppContext): Promise<Response> {
  const nowMs = Date.now();
  const query = searchedText(c);
  return sendKept(c, query, query === '' ? 'models' : 'others', nowMs, async () => ({
    html:
      query === ''
        ? await catalogPage(await listCatalog(c.env, nowMs, deferrer(c), LISTED_MAX), requestOrigin(c))
        : await searchPage(await findModels(c.env, query, nowMs, deferrer(c)), query),
  }));
}

async function sendModel(c: AppContext): Promise<Response> {
  const nowMs = Date.now();
  // The raw path: a model may have slashes in its name, percent-encoded or not.
  const rawPath = new URL(c.req.raw.url).pathname.slice(MODELS_PATH.length);
  const isListed = await isModelKey(c.env, readablePath(rawPath).slice(1), deferrer(c));
  return sendKept(c, readablePath(rawPath), isListed ? 'models' : 'others', nowMs, async () => {
    const described = await describeModel(c.env, rawPath, nowMs, deferrer(c));
    if (described.known) return { html: await modelPage(described, requestOrigin(c)) };
    return { html: await modelNotFoundPage(described.asked, described.near), status: 404 };
  });
}

async function sendKept(
  c: AppContext,
  meaning: string,
  /** The number of models is limited. */
  kind: 'models' | 'others',
  nowMs: number,
  make: Parameters<typeof sendKeptPage>[2],
): Promise<Response> {
  const ofDay = await answersOfDay(c.env, nowMs, deferrer(c));
  const pages = keptPages.get(ofDay) ?? {
    models: new BoundedMap(MODELS_KEPT_MAX),
    others: new BoundedMap(OTHERS_KEPT_MAX),
  };
  keptPages.set(ofDay, pages);
  const kept = { kept: pages[kind], meaning, isCounted: kind === 'others' };
  return sendKeptPage(c, { ...kept, cacheControl: cacheControl(nowMs) }, make);
}

function cacheControl(nowMs: number): string {
  const leftSeconds = Math.floor(remainingDayMs(nowMs) / 1000);
  const maxAge = Math.min(MAX_AGE_SECONDS, leftSeconds);
  return `public, max-age=${maxAge}, stale-while-revalidate=${Math.min(STALE_SECONDS, leftSeconds - maxAge)}`;
}
