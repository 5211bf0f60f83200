/**
 * Use case: everything that a page shows about one model. The decision is the lookup's own answer; the catalog adds
 * facts that the lookup leaves out.
 */
import { modelOfKey } from '../catalog/matching.ts';
import { type CatalogModel, modelKeyOf, type ReportedEnd } from '../catalog/model.ts';
import { buildRates, pricingAt } from '../catalog/prices.ts';
import { listReportedEnds } from '../catalog/reported-ends.ts';
import { currentCatalog } from '../config/catalog.ts';
import type { FullResolution } from '../contract/model-lookup.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { Component } from '../domain/price.ts';
import type { Env } from '../env.ts';
import { utcDay } from '../platform/time.ts';
import { type ListedModel, listed, listView, nearestModels } from './find-models.ts';
import { lookUp } from './look-up-model.ts';

export type DescribedModel =
  /** `model` has the rates in force at the time. */
  | {
      known: true;
      model: CatalogModel;
      daysLeft: number | null;
      /** Shutdown dates that lists report and nobody has confirmed. */
      reportedEnds: readonly ReportedEnd[];
      resolution: FullResolution;
    }
  | { known: false; asked: string; near: ListedModel[] };

/** `rawPath` is `/provider/model`, still encoded. A model that was matched only by similarity is not known. */
export async function describeModel(
  env: Env,
  rawPath: string,
  nowMs: number,
  defer: (work: Promise<unknown>) => void,
): Promise<DescribedModel> {
  const found = await lookUp(env, rawPath, {}, nowMs, defer);
  const view = await listView(env, nowMs, defer);
  const { catalog } = view;
  const resolution = found.ok ? (JSON.parse(new TextDecoder().decode(found.answer.body)) as FullResolution) : null;
  const matched = resolution?.match?.strategy === 'fuzzy' ? undefined : resolution?.match?.matchedModelKey;
  const model =
    matched === undefined ? undefined : catalog.models.find((candidate) => modelKeyOf(candidate) === matched);
  if (resolution && model) {
    const priced = model.pricing ? { ...model, pricing: pricingAt(model.pricing, nowMs) } : model;
    const reportedEnds = listReportedEnds(catalog, model, utcDay(nowMs));
    return { known: true, model: priced, daysLeft: listed(view, model).daysLeft, reportedEnds, resolution };
  }
  const asked = resolution?.requested.modelKey ?? readablePath(rawPath).slice(1);
  return { known: false, asked, near: nearestModels(catalog, asked).map((candidate) => listed(view, candidate)) };
}

/** The cost of each component under standard conditions, in nano-USD per million units. */
export function standardRates(pricing: NonNullable<CatalogModel['pricing']>): ReadonlyMap<Component, NanoUsd> {
  const standard = buildRates(pricing).filter(({ when }) => when === undefined);
  return new Map(standard.map(({ component, nanoUsdPerMillion }) => [component, BigInt(nanoUsdPerMillion)]));
}

/** Whether this is a name of a model that the catalog lists. */
export async function isModelKey(
  env: Env,
  modelKey: string,
  defer: (work: Promise<unknown>) => void,
): Promise<boolean> {
  const { catalog } = await currentCatalog(env, defer);
  return modelOfKey(catalog, modelKey) !== null;
}

/** The path of a model in readable form; unchanged if it cannot be decoded. */
export function readablePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
