/**
 * Writes a day to the archive, from what D1 has and what the archive had. The object first, then the manifest, then
 * what the manifest no longer names is deleted: whenever this breaks off, the day is as it was or as it is.
 */
import type { Env } from '../../env.ts';
import { dayRows } from './day-rows.ts';
import { DayWriter } from './day-writer.ts';
import { beginDay, finishDay, type HistoryDay, isUnchanged } from './days.ts';
import { abortUploads, bucketOf, deleteOthers, folderOf, MANIFEST_NAME, writeManifest } from './manifest.ts';

/**
 * Writes the day; with `writing`, where a run before has begun. Returns whether that is done: not where `isTimeUp` says
 * so before, and what was written is then stored; and not where the day has changed meanwhile.
 */
export async function writeDay(
  env: Env,
  day: HistoryDay,
  writing: string | null,
  nowMs: number,
  isTimeUp: () => boolean,
): Promise<boolean> {
  const resumed = writing === null ? null : await DayWriter.resume(env, day, writing);
  // A run that was stopped in the middle has stored nothing: the day begins again, under another name.
  const generation = resumed && writing !== null ? writing : crypto.randomUUID();
  if (!resumed) {
    await abortUploads(env, day);
    await beginDay(env, day, generation);
  }
  const writer = resumed ?? new DayWriter(env, day, generation);
  for await (const rows of dayRows(env, day, writer.last)) {
    for (const row of rows) await writer.add(row);
    if (!isTimeUp()) continue;
    await writer.store();
    return false;
  }
  const manifest = await writer.finish(nowMs);
  if (!(await isUnchanged(env, day))) return false;
  if (manifest) await writeManifest(env, day, manifest);
  else await bucketOf(env).delete(folderOf(day) + MANIFEST_NAME);
  await deleteOthers(env, day, manifest?.object ?? null);
  await finishDay(env, day, manifest?.rows ?? 0, nowMs);
  return true;
}
