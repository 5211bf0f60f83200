/**
 * The autopilot of an organization's model mappings: makes the due switches, and reports those and the refused ones,
 * each once by its key.
 */
import { entriesByMapping, type ModelMappings } from '../../domain/model-mappings.ts';
import { DAY_MS } from '../../platform/time.ts';
import { type Look, memoryKey, type News } from './look.ts';

/**
 * A refusal is remembered longer than a model can be refused before its end, and a switch longer than it is reported.
 */
const REMEMBERED_MS = 400 * DAY_MS;

export async function autopilotNews({ runAutopilot, nowMs, memory }: Look): Promise<News> {
  const found = await runAutopilot();
  const untold = found.filter(({ key }) => memory.get(rememberedAs(key)) === null);
  return {
    events: untold,
    remember: untold.map(({ key, eventId }) => ({
      key: rememberedAs(key),
      value: eventId,
      untilMs: nowMs + REMEMBERED_MS,
    })),
  };
}

/** Whether an entry of a mapping has an autopilot. */
export function hasAutopilot(mappings: ModelMappings | null): boolean {
  return mappings !== null && entriesByMapping(mappings).some(([, entries]) => entries.some(isEntryWithAutopilot));
}

const isEntryWithAutopilot = (entry: unknown) => typeof entry !== 'string';

const rememberedAs = (key: string) => memoryKey('autopilot', key);
