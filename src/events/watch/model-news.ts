/**
 * Models in use that are deprecated, and those that end within one of several numbers of days (steps). Each step of a
 * model and date is reported once; a first look within several steps reports the nearest, and the wider ones count as
 * reported.
 */
import { ENDING_STEPS_DAYS } from '../../contract/event-data.ts';
import { aliasModels, type ModelMappings, tierModels } from '../../domain/model-mappings.ts';
import { formatUsd } from '../../domain/money.ts';
import { DAY_MS } from '../../platform/time.ts';
import { modelsOnRadar, type NamedUse, type RadarModel, type RadarView } from '../../readings/radar/models.ts';
import { findMappings } from '../../readings/radar/present.ts';
import { replacementFor } from '../../readings/radar/replacement.ts';
import { type Found, type Look, memoryKey, type News, type Remembered } from './look.ts';

export type EndingStep = (typeof ENDING_STEPS_DAYS)[number];

/** A deprecation is remembered longer than a model stays in use after it. */
const DEPRECATED_MS = 400 * DAY_MS;

export async function modelNews(
  { nowMs, memory }: Look,
  view: RadarView,
  uses: readonly NamedUse[],
  mappings: ModelMappings | null,
): Promise<News> {
  const events: Found[] = [];
  const remember: Remembered[] = [];
  for (const model of modelsOnRadar(view, uses)) {
    const { modelKey, status, shutdownAt, daysLeft } = model;
    const deprecated = memoryKey('deprecated', modelKey);
    const ending = memoryKey('ending', modelKey, shutdownAt);
    const isNew = (status === 'DEPRECATED' || status === 'RETIRED') && memory.get(deprecated) === null;
    const told = memory.get(ending);
    const step = daysLeft === null ? null : stepToTell(daysLeft, told === null ? null : Number(told));
    if (!isNew && step === null) continue;
    const data = await modelFacts(view, model, mappings);
    if (isNew) {
      events.push({ type: 'model.deprecated', atMs: nowMs, data: { ...data, shutdownAt, daysLeft } });
      remember.push({ key: deprecated, value: status, untilMs: nowMs + DEPRECATED_MS });
    }
    if (step !== null && shutdownAt !== null && daysLeft !== null) {
      events.push({ type: 'model.ending', atMs: nowMs, data: { ...data, shutdownAt, daysLeft, step } });
      remember.push({ key: ending, value: String(step), untilMs: Date.parse(shutdownAt) + DAY_MS });
    }
  }
  return { events, remember };
}

/** The nearest step that the model is within, if it is nearer than the reported one; otherwise `null`. */
export function stepToTell(daysLeft: number, told: number | null): EndingStep | null {
  if (daysLeft <= 0) return null;
  const nearest = ENDING_STEPS_DAYS.filter((days) => daysLeft <= days).at(-1);
  return nearest === undefined || (told !== null && told <= nearest) ? null : nearest;
}

async function modelFacts(view: RadarView, model: RadarModel, mappings: ModelMappings | null) {
  const { modelKey, source } = await replacementFor(view, model);
  return {
    modelKey: model.modelKey,
    status: model.status,
    replacement: { modelKey, source },
    calls: model.calls,
    costUsd: formatUsd(model.costNanoUsd),
    mappings: mappings
      ? findMappings(view, { models: tierModels(mappings), aliases: aliasModels(mappings) }, model)
      : [],
  };
}
