/**
 * Compares the archive with its manifests: the bytes of every object by their hash, its rows by their number. Days are
 * in the order of organization and time; a large object may take several steps, and the cursor carries its hash from
 * one to the next.
 */
import { type ARCHIVE_PROBLEMS, VERIFIED_DAYS_MAX, type VerifiedArchive } from '../../contract/archive.ts';
import type { Env } from '../../env.ts';
import { errorText } from '../../platform/log.ts';
import { Sha256 } from '../../platform/sha256.ts';
import { utcDay } from '../../platform/time.ts';
import { findArchivedDays, type HistoryDay } from './days.ts';
import {
  archiveBucket,
  customersName,
  dayFolder,
  dayOfKey,
  listDay,
  MANIFEST_NAME,
  type Manifest,
  parseManifest,
  readMember,
} from './manifest.ts';
import { unpackLines } from './members.ts';

/** Bytes that one step reads, unless one member has more. */
const READ_BYTES_MAX = 32 * 1024 * 1024;

/** The position at which a step continues: after a day, or within the next one, after some members of its object. */
export interface VerifyPlace {
  after: HistoryDay | null;
  within: { day: HistoryDay; object: string; member: number; rows: number; sha256: string } | null;
}

export type VerifiedStep = Omit<VerifiedArchive, 'nextCursor'> & { next: VerifyPlace | null };

/** Verifies some days, or a part of a large one. */
export async function verifyArchive(env: Env, { after, within }: VerifyPlace): Promise<VerifiedStep> {
  const step: VerifiedStep = { days: 0, rows: 0, bytes: 0, problems: [], at: null, next: null };
  let [last, begun] = [after, within];
  while (step.days < VERIFIED_DAYS_MAX && step.bytes < READ_BYTES_MAX) {
    const day = begun?.day ?? (await nextDay(env, last));
    if (!day) return step;
    step.at = utcDay(day.dayMs);
    const goesOn = await verifyDay(env, day, begun, step);
    if (goesOn) return { ...step, next: { after: last, within: goesOn } };
    step.days += 1;
    [last, begun] = [day, null];
  }
  return { ...step, next: { after: last, within: null } };
}

/** The next day that is archived according to D1, or that has an object in the bucket, whichever comes first. */
async function nextDay(env: Env, after: HistoryDay | null): Promise<HistoryDay | null> {
  // After all objects of the day: `/` and digits come before `~`.
  const startAfter = after ? `${dayFolder(after)}~` : undefined;
  const [[archived], listed] = await Promise.all([
    findArchivedDays(env, after, 1),
    archiveBucket(env).list({ limit: 1, ...(startAfter !== undefined && { startAfter }) }),
  ]);
  const stored = listed.objects[0] ? dayOfKey(listed.objects[0].key) : null;
  if (!archived || !stored) return archived ?? stored;
  return dayFolder(archived) < dayFolder(stored) ? archived : stored;
}

/** Returns the position within the day at which the next step continues; `null` if the day is done. */
async function verifyDay(
  env: Env,
  day: HistoryDay,
  begun: VerifyPlace['within'],
  step: VerifiedStep,
): Promise<VerifyPlace['within']> {
  const folder = dayFolder(day);
  const report = (name: string, problem: (typeof ARCHIVE_PROBLEMS)[number], detail: string) =>
    step.problems.push({ object: folder + name, problem, detail });
  const keys = await listDay(env, day);
  const text = await (await archiveBucket(env).get(folder + MANIFEST_NAME))?.text();
  const manifest = text === undefined ? null : parseManifest(text, day);
  if (!manifest) {
    if (text !== undefined) report(MANIFEST_NAME, 'DAMAGED', 'it cannot be read');
    else if (await isInD1(env, day)) report(MANIFEST_NAME, 'MISSING', 'the day was archived');
  }
  // The day may have been written anew between two steps.
  const from = begun && begun.object === manifest?.object ? begun : null;
  if (!from) {
    const named = manifest ? [MANIFEST_NAME, manifest.object, customersName(manifest.object)] : [MANIFEST_NAME];
    for (const key of keys) {
      const name = key.slice(folder.length);
      if (!named.includes(name) && !/\.(progress|upload)$/.test(name))
        report(name, 'NO_MANIFEST', 'no manifest names it');
    }
  }
  if (!manifest) return null;
  if (!keys.includes(folder + manifest.object)) {
    report(manifest.object, 'MISSING', 'the manifest names it');
    return null;
  }
  try {
    return await verifyObject(env, day, manifest, from, step, (detail) => report(manifest.object, 'DAMAGED', detail));
  } catch (error) {
    report(manifest.object, 'DAMAGED', errorText(error));
    return null;
  }
}

async function verifyObject(
  env: Env,
  day: HistoryDay,
  manifest: Manifest,
  from: VerifyPlace['within'],
  step: VerifiedStep,
  report: (detail: string) => void,
): Promise<VerifyPlace['within']> {
  const sha256 = (from && Sha256.from(from.sha256)) ?? new Sha256();
  let rows = from?.rows ?? 0;
  for (let member = from?.member ?? 0; member < manifest.members.length; member += 1) {
    if (step.bytes >= READ_BYTES_MAX) return { day, object: manifest.object, member, rows, sha256: sha256.state() };
    const bytes = await readMember(env, day, manifest, member);
    step.bytes += bytes.length;
    sha256.update(bytes);
    const found = (await unpackLines(bytes)).length;
    rows += found;
    step.rows += found;
    if (found !== manifest.members[member]?.rows) {
      report(`member ${member} has ${found} rows, not ${manifest.members[member]?.rows}`);
      return null;
    }
  }
  const head = await archiveBucket(env).head(dayFolder(day) + manifest.object);
  if (head?.size !== manifest.bytes) report(`it has ${head?.size} bytes, not ${manifest.bytes}`);
  else if (sha256.digest() !== manifest.sha256) report('its SHA-256 is not that of the manifest');
  else if (rows !== manifest.rows) report(`it has ${rows} rows, not ${manifest.rows}`);
  return null;
}

async function isInD1(env: Env, { organizationId, dayMs }: HistoryDay): Promise<boolean> {
  const [found] = await findArchivedDays(env, { organizationId, dayMs: dayMs - 1 }, 1);
  return found?.organizationId === organizationId && found.dayMs === dayMs && found.archivedRows > 0;
}
