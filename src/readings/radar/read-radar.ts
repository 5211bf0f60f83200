/**
 * Use case: the models of an organization that end, have a successor or have no price, with their users and the cost of
 * the same calls on the replacement.
 *
 * The models and the sums of their usage come from the roll-ups; their users and the cost on the replacement come from
 * the calls themselves (`history/model-traffic.ts`).
 */

import { type CatalogModel, modelKeyOf } from '../../catalog/model.ts';
import { resolvePrice } from '../../catalog/prices.ts';
import { currentCatalog } from '../../config/catalog.ts';
import { keptPart } from '../../config/kept-part.ts';
import { currentReviews } from '../../config/reviews.ts';
import { accept } from '../../contract/errors.ts';
import { type ModelRadarData, type ModelRadarQuery, RADAR_DAYS } from '../../contract/model-radar.ts';
import type { AnswerTo } from '../../contract/operations.ts';
import type { RateCard } from '../../domain/price.ts';
import { promptThresholds, type Traffic } from '../../domain/traffic-cost.ts';
import type { Env } from '../../env.ts';
import { readModelTraffic } from '../../history/model-traffic.ts';
import { sumUsage } from '../../history/usage.ts';
import type { Caller } from '../../metering/caller.ts';
import { makePage, type Page, type PageRequest } from '../../platform/page.ts';
import { DAY_MS } from '../../platform/time.ts';
import { itemKey, modelsOnRadar, type NamedUse, type RadarModel, type RadarView } from './models.ts';
import { findMappings, mergedTraffic, presentItem, type Replaced } from './present.ts';
import { type RadarReplacement, replacementFor } from './replacement.ts';

/** The most names of models that the radar looks at: those with the highest cost. */
const RADAR_NAMES_MAX = 1_000;

/** The organization whose usage is read, and how long it is kept. */
type Kept = Pick<Caller['organization'], 'organizationId' | 'retention'>;

/** A page of the radar, with costs only for that page; every item if `page` is `null`. */
export async function readModelRadar(
  { env, organization, defer }: Caller,
  { horizonDays, ending }: Pick<ModelRadarQuery, 'horizonDays' | 'ending'>,
  page: PageRequest | null,
): Promise<AnswerTo<'readModelRadar'>> {
  const nowMs = Date.now();
  const period = trafficPeriod(organization.retention, nowMs);
  const { view, problem } = await radarView(env, defer, horizonDays, nowMs);
  const models = await (ending ? readEndingModels : readModelsOnRadar)(env, organization, view);
  const { items: shown, nextCursor } = pageAfter(models, page ?? { limit: models.length, after: null });
  const replaced: Replaced[] = [];
  for (const model of shown) {
    const replacement = await replacementFor(view, model);
    replaced.push({ model, replacement, card: await cardFor(view, organization, replacement) });
  }
  const traffic = await readModelTraffic(env, {
    ...{ organizationId: organization.organizationId, ...period },
    names: shown.flatMap(({ names }) => names),
    thresholds: [...new Set(replaced.flatMap(({ card }) => (card ? promptThresholds(card) : [])))],
  });
  const data: ModelRadarData = {
    period: { startedAt: iso(period.fromMs), endedAt: iso(period.toMs) },
    asOf: iso(nowMs),
    catalogVersion: view.catalog.version,
    degraded: problem !== null,
    items: replaced.map((one) =>
      presentItem(one, mergedTraffic(one.model.names, traffic), findMappings(view, organization, one.model)),
    ),
    nextCursor,
  };
  return accept('MODEL_RADAR_READ', data, nowMs);
}

/** The calls of a model under all its names, if enough is known to price them. */
export async function readTrafficOfModel(
  env: Env,
  { organizationId, retention }: Kept,
  view: Pick<RadarView, 'catalog' | 'nowMs'>,
  model: CatalogModel,
  thresholds: readonly number[],
): Promise<Traffic[]> {
  const period = trafficPeriod(retention, view.nowMs);
  const { model: used } = await sumUsage(env, organizationId, period, ['model'], RADAR_NAMES_MAX);
  const names = used.map(({ key }) => key).filter((key) => key !== '' && itemKey(view, key) === modelKeyOf(model));
  return mergedTraffic(names, await readModelTraffic(env, { organizationId, ...period, names, thresholds })).traffic;
}

/** The models on the radar without their customers and costs, which reads no calls. */
export async function readModelsOnRadar(
  env: Env,
  { organizationId, retention }: Kept,
  view: RadarView,
): Promise<RadarModel[]> {
  return modelsOnRadar(view, await readModelUses(env, { organizationId, retention }, view.nowMs));
}

/** The models in use that end, or have ended; the first to end is first. */
export async function readEndingModels(env: Env, organization: Kept, view: RadarView): Promise<RadarModel[]> {
  return (await readModelsOnRadar(env, organization, view)).filter(({ reasons }) =>
    reasons.some((reason) => reason === 'ENDING' || reason === 'RETIRED'),
  );
}

/** The usage of the last 30 days by the name of the model; calls that ended without one have an empty name. */
export async function readModelUses(env: Env, { organizationId, retention }: Kept, nowMs: number): Promise<NamedUse[]> {
  const period = trafficPeriod(retention, nowMs);
  return (await sumUsage(env, organizationId, period, ['model'], RADAR_NAMES_MAX)).model;
}

export async function radarView(
  env: Env,
  defer: Caller['defer'],
  horizonDays: number,
  nowMs: number,
): Promise<{ view: RadarView; problem: string | null }> {
  const [inUse, reviews] = await Promise.all([currentCatalog(env, defer), currentReviews(env, defer)]);
  return {
    view: { catalog: inUse.catalog, reviews: reviews.reviews, nowMs, horizonDays },
    problem: inUse.problem ?? reviews.problem,
  };
}

/** Whole UTC days, so that the sums of days and hours cover the same calls as the sums of calls. */
function trafficPeriod(
  retention: Caller['organization']['retention'],
  nowMs: number,
): { fromMs: number; toMs: number } {
  const toMs = nowMs - (nowMs % DAY_MS) + DAY_MS;
  return keptPart({ fromMs: toMs - RADAR_DAYS * DAY_MS, toMs }, retention, nowMs);
}

function pageAfter(models: RadarModel[], { limit, after }: PageRequest): Page<RadarModel> {
  const radarId = ({ modelKey }: RadarModel) => modelKey;
  const from = after === null ? 0 : models.findIndex((model) => radarId(model) === after) + 1;
  return makePage(models.slice(from), limit, radarId);
}

/** Today's price of the replacement, as the organization pays it; `null` if it has none. */
async function cardFor(
  { catalog, nowMs }: RadarView,
  { prices }: Caller['organization'],
  { modelKey }: RadarReplacement,
): Promise<RateCard | null> {
  if (modelKey === null) return null;
  const price = await resolvePrice(catalog, prices, { modelUsed: modelKey }, nowMs);
  return price.available ? price.card : null;
}

const iso = (atMs: number) => new Date(atMs).toISOString();
