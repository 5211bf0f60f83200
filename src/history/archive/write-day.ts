/**
 * Writes a day to the archive, from D1's rows and the archive's earlier ones. First the object is written, then the
 * manifest; then objects that the manifest no longer names are deleted. Whenever this stops, readers find the old or
 * the new day.
 */
import type { Env } from '../../env.ts';
import { dayRows } from './day-rows.ts';
import { DayWriter } from './day-writer.ts';
import { beginDay, finishDay, type HistoryDay, isUnchanged } from './days.ts';
import { abortUploads, archiveBucket, dayFolder, deleteOthers, MANIFEST_NAME, writeManifest } from './manifest.ts';

/**
 * Writes the day; with `writing`, continues an earlier run. Returns whether that is done. It is not done if `isTimeUp`
 * stops it, which stores the work so far, or if the day has changed meanwhile.
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
  else await archiveBucket(env).delete(dayFolder(day) + MANIFEST_NAME);
  await deleteOthers(env, day, manifest?.object ?? null);
  await finishDay(env, day, manifest?.rows ?? 0, nowMs);
  return true;
}
