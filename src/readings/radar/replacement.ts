/**
 * The replacement of a model on the radar, with its warnings: the recommendation of the public model lookup, asked with
 * its defaults. The lookup recommends nothing for a model that is in use; the radar shows its successor all the same.
 */
import { findReplacement } from '../../catalog/lifecycle.ts';
import { lookUpModel } from '../../catalog/matching.ts';
import { type CatalogModel, modelKeyOf } from '../../catalog/model.ts';
import { notInCatalog, resolveKey } from '../../catalog/resolution.ts';
import { findReviewedReplacement, formatCitation } from '../../catalog/reviews.ts';
import { swapWarnings } from '../../catalog/swap-warnings.ts';
import { LookupQuery } from '../../contract/model-lookup.ts';
import type { RadarItem } from '../../contract/model-radar.ts';
import { utcDay } from '../../platform/time.ts';
import type { RadarModel, RadarView } from './models.ts';

export type RadarReplacement = RadarItem['replacement'];

type View = Omit<RadarView, 'horizonDays'>;

const { response: _response, ...POLICY } = LookupQuery.parse({});

export async function replacementFor(view: View, { modelKey, model }: RadarModel): Promise<RadarReplacement> {
  const { catalog, reviews, nowMs } = view;
  if (!model) return { ...NONE, warnings: [notInCatalog(modelKey, lookUpModel(catalog, modelKey, nowMs))] };
  const requested = { modelKey, provider: model.provider, model: model.model, decorated: false };
  const resolution = await resolveKey(catalog, requested, POLICY, utcDay(nowMs), reviews);
  if (resolution.status === 'ACTIVE') return proposeSuccessor(view, model, resolution.warnings);
  return {
    modelKey: resolution.recommendedModelKey,
    source: resolution.recommendationSource,
    warnings: resolution.warnings,
  };
}

const NONE = { modelKey: null, source: 'none' } as const;

/** The vendor's live successor of a model that is in use, otherwise the reviewed one. */
function proposeSuccessor(
  { catalog, reviews, nowMs }: View,
  model: CatalogModel,
  warnings: string[],
): RadarReplacement {
  const day = utcDay(nowMs);
  const official = findReplacement(catalog, model, day);
  if (official?.live)
    return {
      modelKey: official.live.modelKey,
      source: 'provider',
      warnings: [...new Set([...warnings, ...swapWarnings(model, official, official.live.model)])],
    };
  const reviewed = findReviewedReplacement(catalog, reviews, model, day);
  if (!reviewed?.model) return { ...NONE, warnings };
  const modelKey = modelKeyOf(reviewed.model);
  const more = [`${modelKey}: ${formatCitation(reviewed.review)}`, ...swapWarnings(model, null, reviewed.model)];
  return { modelKey, source: 'admin_review', warnings: [...new Set([...warnings, ...more])] };
}
