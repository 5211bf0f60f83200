/**
 * The names of the archive's objects, and the manifest of a day, which names its object.
 *
 * Each time a day is written, its object has a new name; the manifest is written last and names it. So readers find the
 * old or the new day, never a part. Objects that the manifest does not name are left over from an interrupted run, and
 * are deleted when the day is written next.
 */

import { z } from 'zod';
import { asOrganizationId } from '../../domain/ids.ts';
import type { Env } from '../../env.ts';
import { parseJson } from '../../platform/json.ts';
import { DAY_MS, utcDay } from '../../platform/time.ts';
import { HISTORY_KINDS, type HistoryDay } from './days.ts';

/** Changes with the form of the objects. */
export const FORMAT = 1;

/** The most objects of one day: of one generation, and remains of interrupted runs. */
const DAY_OBJECTS_MAX = 1_000;

const count = z.number().int().nonnegative();

const Member = z.object({
  kind: z.enum(HISTORY_KINDS),
  /** Its start in the object, in bytes; it ends at the start of the next one. */
  offset: count,
  rows: count,
  /** The time of its first row. */
  fromMs: count,
});

const Manifest = z.object({
  format: z.literal(FORMAT),
  organizationId: z.string(),
  /** The UTC day, `2026-11-23`. */
  day: z.string(),
  /** The name of the object, beside the manifest. */
  object: z.string(),
  rows: count,
  bytes: count,
  /** The hash of the object, in hexadecimal. */
  sha256: z.string(),
  writtenAt: z.string(),
  members: z.array(Member),
  /** Whether the list of customers is complete. */
  listsCustomers: z.boolean(),
});

export type Manifest = z.infer<typeof Manifest>;
export type Member = z.infer<typeof Member>;

/** The bucket. Call this only if one is bound. */
export function archiveBucket({ ARCHIVE }: Env): R2Bucket {
  if (!ARCHIVE) throw new Error('no ARCHIVE is bound');
  return ARCHIVE;
}

export const dayFolder = ({ organizationId, dayMs }: HistoryDay) => `${organizationId}/${utcDay(dayMs)}/`;

export const MANIFEST_NAME = 'manifest.json';
export const objectName = (generation: string) => `${generation}.ndjson.gz`;
/** Hashes of the customers who have rows in the object. */
export const customersName = (object: string) => object.replace(/\.ndjson\.gz$/, '.customers');
/** An unfinished writing. */
export const progressName = (generation: string) => `${generation}.progress`;
/** The id of an upload in parts. */
export const uploadName = (generation: string) => `${generation}.upload`;

/** The day of a folder; `null` if the name is not a folder's. */
export function dayOfKey(key: string): HistoryDay | null {
  const [, organizationId = '', day = ''] = /^([^/]+)\/(\d{4}-\d{2}-\d{2})\//.exec(key) ?? [];
  const dayMs = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(dayMs) || dayMs % DAY_MS !== 0
    ? null
    : { organizationId: asOrganizationId(organizationId), dayMs };
}

/** `null` if there is none. Throws if it cannot be read. */
export async function readManifest(env: Env, day: HistoryDay): Promise<Manifest | null> {
  const object = await archiveBucket(env).get(dayFolder(day) + MANIFEST_NAME);
  if (!object) return null;
  const manifest = parseManifest(await object.text(), day);
  if (!manifest) throw new Error(`the manifest of ${dayFolder(day)} cannot be read`);
  return manifest;
}

/** `null` if the text is not a manifest of that day. */
export function parseManifest(text: string, { organizationId, dayMs }: HistoryDay): Manifest | null {
  const json = parseJson(text);
  const parsed = Manifest.safeParse(json.ok ? json.value : null);
  if (!parsed.success) return null;
  return parsed.data.organizationId === organizationId && parsed.data.day === utcDay(dayMs) ? parsed.data : null;
}

export async function writeManifest(env: Env, day: HistoryDay, manifest: Manifest): Promise<void> {
  await archiveBucket(env).put(dayFolder(day) + MANIFEST_NAME, JSON.stringify(manifest), {
    httpMetadata: { contentType: 'application/json' },
  });
}

/** Removes the parts of uploads that will not be finished. */
export async function abortUploads(env: Env, day: HistoryDay): Promise<void> {
  const bucket = archiveBucket(env);
  for (const key of await listDay(env, day)) {
    const uploadId = key.endsWith('.upload') ? await (await bucket.get(key))?.text() : undefined;
    if (uploadId === undefined) continue;
    const upload = bucket.resumeMultipartUpload(key.replace(/\.upload$/, '.ndjson.gz'), uploadId);
    // It may be gone: R2 gives up an upload after a week.
    await upload.abort().catch(() => undefined);
  }
}

/** Deletes the day's objects except the manifest and the objects that it names. */
export async function deleteOthers(env: Env, day: HistoryDay, object: string | null): Promise<void> {
  const folder = dayFolder(day);
  const kept = object === null ? [] : [MANIFEST_NAME, object, customersName(object)].map((name) => folder + name);
  const keys = (await listDay(env, day)).filter((key) => !kept.includes(key));
  if (keys.length > 0) await archiveBucket(env).delete(keys);
}

/** The keys of the day's objects. */
export async function listDay(env: Env, day: HistoryDay): Promise<string[]> {
  const { objects } = await archiveBucket(env).list({ prefix: dayFolder(day), limit: DAY_OBJECTS_MAX });
  return objects.map(({ key }) => key);
}

/** The range of a member's bytes in the object. */
function memberRange({ members, bytes }: Manifest, index: number): { offset: number; length: number } {
  const offset = members[index]?.offset ?? 0;
  return { offset, length: (members[index + 1]?.offset ?? bytes) - offset };
}

/** The bytes of a member. Throws if the object is gone or too short. */
export async function readMember(
  env: Env,
  day: HistoryDay,
  manifest: Manifest,
  index: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const range = memberRange(manifest, index);
  const object = await archiveBucket(env).get(dayFolder(day) + manifest.object, { range });
  if (!object) throw new Error(`${dayFolder(day)}${manifest.object} is missing`);
  const bytes = new Uint8Array(await object.arrayBuffer());
  if (bytes.length !== range.length) throw new Error(`${dayFolder(day)}${manifest.object} is too short`);
  return bytes;
}
