/**
 * Begins a batch at the vendor, once. The batch carries the name of its request in its metadata, so a batch whose
 * answer was lost can be found again.
 *
 * Only a batch, or an error in the vendor's own words, proves what the vendor did. After anything else the batch is in
 * doubt.
 */

import type { BatchAnswer, BatchCommand } from '../../objects/batch-commands.ts';
import { parseAnswer } from '../../platform/json.ts';
import { readFailure } from '../../vendors/usage.ts';
import type { WholeAnswer } from '../answer.ts';
import { refusalAnswer, refuseCall } from '../error-envelope.ts';
import { passBack, VENDOR_ID, type VendorAccess } from '../pass-through.ts';

export interface BatchAtVendor {
  id: string;
  status: string | undefined;
  /** The name of the request that began it; `null` if Callmeter did not send that request. */
  requestName: string | null;
}

export type AskedBatch =
  | { kind: 'created'; batchId: string; answer: BatchAnswer }
  | { kind: 'refused'; answer: BatchAnswer }
  /** The vendor may have begun the batch, or may still begin it. */
  | { kind: 'in_doubt'; answer: BatchAnswer };

/**
 * The longest request for a batch, and the longest stored answer: both are stored in one value, with the customer's
 * data.
 */
export const BATCH_TEXT_LENGTH_MAX = 100_000;
/** The entry of a batch's metadata that has the name of the request. */
const REQUEST_TAG = 'service_request_id';
/** The most entries of metadata that OpenAI accepts. */
const METADATA_MAX = 16;
/** A batch that was just created is on one of the first pages. */
const PAGES_MAX = 3;
const PAGE_LENGTH = 100;
/** The time that one page may take. */
const LIST_MS_MAX = 10_000;

/** The body with the name of the request; `null` if its metadata has no room for it. */
export function taggedBody(body: Record<string, unknown>, requestName: string): Record<string, unknown> | null {
  const { metadata } = body;
  // The vendor refuses metadata of another form.
  if (metadata != null && (typeof metadata !== 'object' || Array.isArray(metadata))) return body;
  const tagged = { ...metadata, [REQUEST_TAG]: requestName };
  return Object.keys(tagged).length > METADATA_MAX ? null : { ...body, metadata: tagged };
}

export function metadataFull(): WholeAnswer {
  const message = `metadata may have ${METADATA_MAX - 1} entries: one more is the service's own`;
  return refusalAnswer(refuseCall('BAD_REQUEST', message, { param: 'metadata' }).refusal);
}

export function batchTooLarge(): WholeAnswer {
  const message = `the request for a batch must have at most ${BATCH_TEXT_LENGTH_MAX} characters`;
  return refusalAnswer(refuseCall('PAYLOAD_TOO_LARGE', message).refusal);
}

export async function askForBatch(vendor: VendorAccess, { body, requestId }: BatchCommand): Promise<AskedBatch> {
  const result = await vendor.ask({ method: 'POST', path: 'batches', contentType: 'application/json', body });
  const answer = passBack(result, vendor.key, requestId);
  if (result.kind !== 'answer') return { kind: 'in_doubt', answer };
  const document = parseAnswer(String(result.body));
  const batch = result.ok ? parseVendorBatch(document) : null;
  if (batch) return { kind: 'created', batchId: batch.id, answer };
  // The error page of a proxy does not show whether the vendor behind it began the batch.
  return { kind: !result.ok && readFailure(document) !== null ? 'refused' : 'in_doubt', answer };
}

/**
 * Looks for the batch that the request with this name began: `absent` if the vendor lists its batches without it,
 * `unknown` if the vendor does not list them.
 */
export async function findBatch(
  vendor: VendorAccess,
  { requestName, requestId }: Pick<BatchCommand, 'requestName' | 'requestId'>,
): Promise<{ batchId: string; answer: BatchAnswer } | 'absent' | 'unknown'> {
  let after = '';
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const path = `batches?limit=${PAGE_LENGTH}${after}`;
    const result = await vendor.ask({ method: 'GET', path, timeoutMsMax: LIST_MS_MAX });
    const list =
      result.kind === 'answer' && result.ok ? (parseAnswer(String(result.body)) as BatchList | null) : undefined;
    if (result.kind !== 'answer' || !Array.isArray(list?.data)) return 'unknown';
    for (const shown of list.data) {
      const batch = parseVendorBatch(shown);
      if (batch?.requestName !== requestName) continue;
      return {
        batchId: batch.id,
        answer: passBack({ ...result, body: JSON.stringify(shown) }, vendor.key, requestId),
      };
    }
    const last = parseVendorBatch(list.data.at(-1));
    if (list.has_more !== true || !last) break;
    after = `&after=${last.id}`;
  }
  return 'absent';
}

/** The batch in a vendor's answer; `null` if it has none. */
export function batchIn(body: string): BatchAtVendor | null {
  return parseVendorBatch(parseAnswer(body));
}

interface BatchList {
  data?: unknown[];
  has_more?: unknown;
}

function parseVendorBatch(value: unknown): BatchAtVendor | null {
  const { id, status, metadata } = (value ?? {}) as {
    id?: unknown;
    status?: unknown;
    metadata?: Record<string, unknown> | null;
  };
  if (typeof id !== 'string' || !VENDOR_ID.test(id)) return null;
  const name = metadata?.[REQUEST_TAG];
  return {
    id,
    status: typeof status === 'string' ? status : undefined,
    requestName: typeof name === 'string' ? name : null,
  };
}
