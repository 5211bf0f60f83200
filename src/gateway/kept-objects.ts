/**
 * Ownership of the objects that the vendor `openai` keeps: files, uploads, batches and responses.
 *
 * The vendor keeps them for its key, and several organizations may have the same key. So each organization's objects
 * are recorded. If another organization has the key too, an organization reaches only its recorded objects; any other
 * is answered like a missing one. If nobody else has the key, all objects of the vendor are the organization's, also
 * those from before the record.
 */

import { ConfigCache } from '../config/config-cache.ts';
import { isKeyShared } from '../config/vendor-keys.ts';
import { findVendorObjects, forgetVendorObject, recordVendorObjects } from '../config/vendor-objects.ts';
import { RETENTION_DAYS_MAX } from '../contract/operator.ts';
import type { Caller } from '../metering/caller.ts';
import { remember } from '../platform/isolate-memory.ts';
import { parseAnswer } from '../platform/json.ts';
import { log } from '../platform/log.ts';
import { DAY_MS } from '../platform/time.ts';
import { unreadable } from '../platform/unavailable.ts';
import { type Fields, fieldsOrEmpty, isFields } from '../vendors/usage/figures.ts';
import type { GatewayAnswer, WholeAnswer } from './answer.ts';
import { type Refused, refusalAnswer, refuseCall } from './error-envelope.ts';
import { accessVendor, BATCH_VENDOR, noVendor, type PassedRequest, passOn, VENDOR_ID } from './pass-through.ts';
import { findVendorKey } from './vendor-key.ts';

/** How long the record of a file, an upload or a batch is kept. */
const KEPT_MS = RETENTION_DAYS_MAX * DAY_MS;
/** OpenAI keeps a response for 30 days. */
const RESPONSE_KEPT_MS = 31 * DAY_MS;
/** The most keys for which an isolate remembers whether other organizations have them. */
const KEYS_MAX = 1_000;
/** The most pages of the vendor that are read for one page of the organization's own objects. */
const PAGES_MAX = 50;
/** Fields of requests that name an object of the vendor, at any depth. */
const REFERENCES = new Set(['file_id', 'file_ids', 'input_file_id', 'previous_response_id']);
/** The caller's own words, which no vendor reads. */
const OWN_WORDS = 'metadata';

const shared = remember(() => new ConfigCache<{ isShared: boolean }>(KEYS_MAX));

/** A request about an object of the vendor; without `objectId`, about none yet. */
export interface KeptRequest extends PassedRequest {
  objectId?: string | undefined;
}

/** Passes a request to read, cancel or delete. */
export async function passKept(
  caller: Caller,
  { objectId, ...passed }: KeptRequest,
  requestId: string,
): Promise<GatewayAnswer> {
  if (objectId !== undefined && !(await isOwn(caller, objectId))) return noObject();
  const vendor = await accessVendor(caller);
  if (!vendor) return noVendor();
  const answer = passOn(await vendor.stream(passed), vendor.key, requestId);
  if (passed.method === 'DELETE' && objectId !== undefined && isSuccess(answer))
    caller.defer(forgetVendorObject(caller.env, caller.organization.organizationId, objectId).catch(notRecorded));
  return answer;
}

/** Passes a request that creates an object. */
export async function makeKept(
  caller: Caller,
  { objectId, ...passed }: KeptRequest,
  requestId: string,
): Promise<GatewayAnswer> {
  if (objectId !== undefined && !(await isOwn(caller, objectId))) return noObject();
  const vendor = await accessVendor(caller);
  if (!vendor) return noVendor();
  return recordMade(caller, passOn(await vendor.ask(passed), vendor.key, requestId));
}

/** Passes a request for a list. If others have the key too, the page shows only the organization's own objects. */
export async function listKept(caller: Caller, passed: PassedRequest, requestId: string): Promise<GatewayAnswer> {
  const vendor = await accessVendor(caller);
  if (!vendor) return noVendor();
  if (!(await isShared(caller))) return passOn(await vendor.stream(passed), vendor.key, requestId);
  const [path, search] = passed.path.split('?');
  const query = new URLSearchParams(search);
  for (let pages = 1; ; pages += 1) {
    const result = await vendor.ask({ ...passed, path: `${path}?${query}` });
    const answer = passOn(result, vendor.key, requestId);
    const list = isSuccess(answer) ? fieldsOrEmpty(parseAnswer(String(answer.body))) : {};
    if (!Array.isArray(list.data)) return answer;
    const own = await filterOwn(caller, list.data);
    const last = madeId(list.data.at(-1));
    const isFollowed = list.has_more === true && last !== undefined;
    if (own.length === 0 && isFollowed && pages < PAGES_MAX) {
      query.set('after', last);
      continue;
    }
    const ends = { first_id: madeId(own[0]) ?? null, last_id: madeId(own.at(-1)) ?? null };
    const body = { ...list, data: own, ...ends, has_more: own.length > 0 && isFollowed };
    return { ...answer, body: JSON.stringify(body) };
  }
}

/** Whether the organization may reach the vendor's object with this id. */
export async function isOwn(caller: Caller, objectId: string): Promise<boolean> {
  return !(await isShared(caller)) || (await recorded(caller, [objectId])).has(objectId);
}

/** The answer for an object that is missing or another organization's. */
export function noObject(): WholeAnswer {
  return refusalAnswer(refuseCall('NOT_FOUND', 'no object of this organization has this id').refusal);
}

/** Records the object that an answer reports. The answer passes unchanged: the object exists in any case. */
export async function recordMade<Answer extends GatewayAnswer>(caller: Caller, answer: Answer): Promise<Answer> {
  if (isSuccess(answer) && typeof answer.body === 'string') await record(caller, madeIn(parseAnswer(answer.body)));
  return answer;
}

/** Records the object that a vendor's document reports, and the files that it produced. */
export async function recordDocument(caller: Caller, document: unknown): Promise<void> {
  await record(caller, madeIn(document));
}

/** Records a response. If nobody else has the key, no record is needed. */
export async function recordResponse(caller: Caller, provider: string, responseId: string): Promise<void> {
  if (!VENDOR_ID.test(responseId)) return;
  try {
    if (await isShared(caller, provider)) await record(caller, [responseId], RESPONSE_KEPT_MS);
  } catch (error) {
    notRecorded(error);
  }
}

/** The refusal of a request to a model that names another organization's object; `null` if it names none. */
export async function foreignReference(
  caller: Caller,
  providers: readonly string[],
  request: unknown,
): Promise<Refused | null> {
  const references = [...referencesIn(request)];
  if (references.length === 0) return null;
  const ofShared = await Promise.all([...new Set(providers)].map((provider) => isShared(caller, provider)));
  if (!ofShared.includes(true)) return null;
  const foreignId = await findForeign(
    caller,
    references.map(({ id }) => id),
  );
  const foreign = references.find(({ id }) => id === foreignId);
  if (!foreign) return null;
  return refuseCall('NOT_FOUND', `${foreign.name}: no object of this organization has this id`, {
    param: foreign.name,
  });
}

/** The first id that is not recorded for the organization. */
export async function findForeign(caller: Caller, ids: readonly string[]): Promise<string | undefined> {
  const own = await recorded(caller, ids);
  return ids.find((id) => !own.has(id));
}

/** The vendor's objects that a request names. */
export function* referencesIn(value: unknown, name = ''): Generator<{ name: string; id: string }> {
  if (typeof value === 'string') {
    if (REFERENCES.has(name) && value !== '') yield { name, id: value };
  } else if (Array.isArray(value)) for (const item of value) yield* referencesIn(item, name);
  else if (isFields(value))
    for (const [member, item] of Object.entries(value)) if (member !== OWN_WORDS) yield* referencesIn(item, member);
}

/** Whether another organization has the key too. A change of keys waits until no isolate remembers the old state. */
export async function isShared(caller: Caller, provider = BATCH_VENDOR): Promise<boolean> {
  const { env, organization, defer } = caller;
  const { organizationId, vendors } = organization;
  const key = await findVendorKey(caller, provider);
  if (key === null) return false;
  const load = async () => ({ isShared: await isKeyShared(env, organizationId, key) });
  const name = `${organizationId} ${vendors.get(provider)?.sealedKey}`;
  try {
    return (await shared.value.get(name, env.CONFIG_TTL_MS, load, defer))?.isShared ?? true;
  } catch (error) {
    throw unreadable(error);
  }
}

async function filterOwn(caller: Caller, items: readonly unknown[]): Promise<unknown[]> {
  const own = await recorded(
    caller,
    items.flatMap((item) => madeId(item) ?? []),
  );
  const found = items.filter((item) => own.has(madeId(item) ?? ''));
  await record(caller, found.flatMap(madeIn));
  return found;
}

async function recorded({ env, organization }: Caller, ids: readonly string[]): Promise<ReadonlySet<string>> {
  try {
    return await findVendorObjects(env, organization.organizationId, ids);
  } catch (error) {
    throw unreadable(error);
  }
}

/** Continues after the caller has left. */
async function record({ env, organization, defer }: Caller, ids: readonly string[], keptMs = KEPT_MS): Promise<void> {
  const work = recordVendorObjects(env, organization.organizationId, ids, Date.now() + keptMs).catch(notRecorded);
  defer(work);
  await work;
}

function notRecorded(error: unknown): void {
  log('warn', 'vendor_object_not_recorded', {}, error);
}

/** A complete upload has its file; a finished batch has the files with its lines. */
function madeIn(document: unknown): string[] {
  const made: Fields = fieldsOrEmpty(document);
  const ids = [made.id, fieldsOrEmpty(made.file).id, made.output_file_id, made.error_file_id];
  return ids.filter((id): id is string => typeof id === 'string' && VENDOR_ID.test(id));
}

const madeId = (item: unknown) => madeIn({ id: fieldsOrEmpty(item).id })[0];

const isSuccess = ({ status }: GatewayAnswer) => status >= 200 && status < 300;
