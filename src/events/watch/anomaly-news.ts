/**
 * New episodes of unusual usage. The detectors look at the same days again and again, and an episode may grow at its
 * ends: an episode that touches a reported one with the same kind, customer and newcomer counts as the same.
 */
import type { Anomaly } from '../../contract/readings.ts';
import type { Reader } from '../../metering/caller.ts';
import { DAY_MS } from '../../platform/time.ts';
import { readAnomalies } from '../../readings/anomalies/read-anomalies.ts';
import { type Found, type Look, type Memory, memoryKey, type News, NO_NEWS, type Remembered } from './look.ts';

/** The number of days from which the detectors learn. */
const DAYS = 60;
/** The latest episodes that one look reads. */
const EPISODES_MAX = 100;
/** An episode that ended longer ago is not news: so the first look reports no old ones. */
export const NEWS_MS = 2 * DAY_MS;

export async function anomalyNews({ env, nowMs, memory }: Look, organization: Reader['organization']): Promise<News> {
  const query = { days: DAYS, limit: EPISODES_MAX };
  const answer = await readAnomalies({ env, organization }, query, { ...query, after: null }, nowMs);
  return answer.ok ? newEpisodes(answer.data.items, memory, nowMs) : NO_NEWS;
}

export function newEpisodes(items: readonly Anomaly[], memory: Memory, nowMs: number): News {
  const events: Found[] = [];
  const remembered = new Map<string, Remembered>();
  for (const data of items.toSorted((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt))) {
    const { id, customerId, kind } = data;
    const [startMs, endMs] = [Date.parse(data.startedAt), Date.parse(data.endedAt)];
    if (endMs < nowMs - NEWS_MS) continue;
    const key = memoryKey('anomaly', customerId, kind, newcomerName(id));
    const toldToMs = Number(remembered.get(key)?.value ?? memory.get(key) ?? Number.NEGATIVE_INFINITY);
    if (startMs > toldToMs) events.push({ type: 'anomaly.detected', atMs: nowMs, data });
    if (endMs > toldToMs)
      remembered.set(key, { key, value: String(endMs), untilMs: endMs + DAYS * DAY_MS, customerId });
  }
  return { events, remember: [...remembered.values()] };
}

/** The new model or feature of an episode, which is the last part of its identity; empty if it has none. */
function newcomerName(id: string): string {
  return id.slice(id.lastIndexOf(':') + 1);
}
