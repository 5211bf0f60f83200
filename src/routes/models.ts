/**
 * The public model pages over HTTP: a list, a search, a page for each model. Like the lookup's answers, they can be
 * cached until the end of the UTC day.
 */
import type { Hono } from 'hono';
import { describeModel } from '../lookup/describe-model.ts';
import { findModels, listCatalog } from '../lookup/find-models.ts';
import { remainingDayMs } from '../lookup/look-up-model.ts';
import { type AppContext, type AppEnv, deferrer } from '../middleware/context.ts';
import { catalogPage, MODELS_PATH, modelNotFoundPage, searchPage } from '../pages/models/list-pages.tsx';
import { modelPage } from '../pages/models/model-page.tsx';
import { publicRoutes, sendPage } from './public-page.ts';

const QUERY_LENGTH_MAX = 300;
/** Models of each list on the first page. */
const LISTED_MAX = 15;
const MAX_AGE_SECONDS = 300;
const STALE_SECONDS = 3_600;

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
  const query = (c.req.query('q') ?? '').trim().slice(0, QUERY_LENGTH_MAX);
  const html =
    query === ''
      ? await catalogPage(await listCatalog(c.env, nowMs, deferrer(c), LISTED_MAX), originOf(c))
      : await searchPage(await findModels(c.env, query, nowMs, deferrer(c)), query);
  return sendPage(c, { html, cacheControl: cacheControl(nowMs) });
}

async function sendModel(c: AppContext): Promise<Response> {
  const nowMs = Date.now();
  // The raw path: a model may have slashes in its name, percent-encoded or not.
  const { pathname } = new URL(c.req.raw.url);
  const described = await describeModel(c.env, pathname.slice(MODELS_PATH.length), nowMs, deferrer(c));
  const cached = { cacheControl: cacheControl(nowMs) };
  if (described.known) return sendPage(c, { html: await modelPage(described, originOf(c)), ...cached });
  return sendPage(c, { html: await modelNotFoundPage(described.asked, described.near), status: 404, ...cached });
}

function originOf(c: AppContext): string {
  return new URL(c.req.url).origin;
}

function cacheControl(nowMs: number): string {
  const leftSeconds = Math.floor(remainingDayMs(nowMs) / 1000);
  const maxAge = Math.min(MAX_AGE_SECONDS, leftSeconds);
  return `public, max-age=${maxAge}, stale-while-revalidate=${Math.min(STALE_SECONDS, leftSeconds - maxAge)}`;
}
