/**
 * A batch at the vendor, asked for once. The request's name travels in the batch's metadata, so that a batch whose
 * answer was lost on the way is found again by it.
 *
 * What is certain is told apart from what is not: only a batch, or an error in the vendor's own words, is an answer.
 */

import { refuse } from '../../contract/errors.ts';
import type { BatchAnswer, BatchCommand } from '../../objects/batch-commands.ts';
import { readFailure } from '../../vendors/usage.ts';
import { failureAnswer, type GatewayAnswer, refusalAnswer } from '../answer.ts';
import { passBack, VENDOR_ID, type VendorAccess } from '../pass-through.ts';

/** A batch that the vendor has. */
export interface BatchAtVendor {
  id: string;
  status: string | undefined;
  /** The request that it was asked for with; `null` where that was not one of ours. */
  requestName: string | null;
}

export type AskedBatch =
  | { kind: 'created'; batchId: string; answer: BatchAnswer }
  | { kind: 'refused'; answer: BatchAnswer }
  /** The vendor may have begun, or may yet: the answer says what is known. */
  | { kind: 'in_doubt'; answer: BatchAnswer };

/**
 * Characters of what the vendor is asked, and of an answer that is kept: both are stored as one value, beside whose
 * batch it is.
 */
export const BATCH_TEXT_LENGTH_MAX = 100_000;
/** In a batch's metadata at the vendor. */
const REQUEST_TAG = 'service_request_id';
/** What OpenAI takes. */
const METADATA_MAX = 16;
/** A batch that was just created is among the newest. */
const PAGES_MAX = 3;
const PAGE_LENGTH = 100;
/** For one page. */
const LIST_MS_MAX = 10_000;

/** The body with the request's name; `null` where its metadata has no room for that. */
export function taggedBody(body: Record<string, unknown>, requestName: string): Record<string, unknown> | null {
  const { metadata } = body;
  // What is no metadata is for the vendor to refuse.
  if (metadata != null && (typeof metadata !== 'object' || Array.isArray(metadata))) return body;
  const tagged = { ...metadata, [REQUEST_TAG]: requestName };
  return Object.keys(tagged).length > METADATA_MAX ? null : { ...body, metadata: tagged };
}

export function metadataFull(): GatewayAnswer {
  const message = `metadata may have ${METADATA_MAX - 1} entries: one more is the service's own`;
  return failureAnswer({ status: 400, code: 'BAD_REQUEST', message, param: 'metadata' });
}

export function batchTooLarge(): GatewayAnswer {
  const message = `the request for a batch must have at most ${BATCH_TEXT_LENGTH_MAX} characters`;
  return refusalAnswer(refuse('PAYLOAD_TOO_LARGE', message).refusal);
}

export async function askForBatch(vendor: VendorAccess, { body, requestId }: BatchCommand): Promise<AskedBatch> {
  const result = await vendor.request(
    { method: 'POST', path: 'batches', contentType: 'application/json', body },
    'text',
  );
  const answer = kept(passBack(result, vendor.key, requestId));
  if (result.kind !== 'answer') return { kind: 'in_doubt', answer };
  const said = parsed(result.body);
  const batch = result.ok ? batchOf(said) : null;
  if (batch) return { kind: 'created', batchId: batch.id, answer };
  // A page of some proxy says nothing of what the vendor did behind it.
  return { kind: !result.ok && readFailure(said) !== null ? 'refused' : 'in_doubt', answer };
}

/**
 * The batch that was asked for under this name, as an answer; `absent` where the vendor shows its batches and this is
 * none of them, `unknown` where it does not show them.
 */
export async function findBatch(
  vendor: VendorAccess,
  { requestName, requestId }: Pick<BatchCommand, 'requestName' | 'requestId'>,
): Promise<{ batchId: string; answer: BatchAnswer } | 'absent' | 'unknown'> {
  let after = '';
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const path = `batches?limit=${PAGE_LENGTH}${after}`;
    const result = await vendor.request({ method: 'GET', path, timeoutMsMax: LIST_MS_MAX }, 'text');
    const list = result.kind === 'answer' && result.ok ? (parsed(result.body) as BatchList | undefined) : undefined;
    if (result.kind !== 'answer' || !Array.isArray(list?.data)) return 'unknown';
    for (const shown of list.data) {
      const batch = batchOf(shown);
      if (batch?.requestName !== requestName) continue;
      return {
        batchId: batch.id,
        answer: kept(passBack({ ...result, body: JSON.stringify(shown) }, vendor.key, requestId)),
      };
    }
    const last = batchOf(list.data.at(-1));
    if (list.has_more !== true || !last) break;
    after = `&after=${last.id}`;
  }
  return 'absent';
}

/** The batch in a vendor's answer; `null` where there is none. */
export function batchIn({ body }: GatewayAnswer): BatchAtVendor | null {
  return batchOf(parsed(body));
}

/** An answer of one piece. */
export function kept({ status, headers, body }: GatewayAnswer): BatchAnswer {
  if (typeof body !== 'string') throw new Error('an answer of a batch is no stream');
  return { status, headers, body };
}

interface BatchList {
  data?: unknown[];
  has_more?: unknown;
}

function batchOf(value: unknown): BatchAtVendor | null {
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

function parsed(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}
