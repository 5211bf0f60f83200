/**
 * Use cases: begin a batch at the vendor, and read one. Every request for a batch has an object of its own
 * (`durable-objects/gateway-batch.ts`). The object begins the batch once, remembers its customer, and meters its lines.
 */

import type { z } from 'zod';
import { currentCatalog } from '../../config/catalog.ts';
import type { BatchRequest } from '../../contract/gateway/requests.ts';
import type { Caller } from '../../metering/caller.ts';
import { hashPayload } from '../../metering/idempotency.ts';
import { OpenModels } from '../../metering/model-names.ts';
import { ask, batchByRequest } from '../../objects/addresses.ts';
import type { BatchCommand } from '../../objects/batch-commands.ts';
import { sha256Hex } from '../../platform/hash.ts';
import type { GatewayAnswer } from '../answer.ts';
import { refusalAnswer } from '../error-envelope.ts';
import { type HeaderLabels, identify, withoutOwnFields } from '../identify.ts';
import { isOwn, noObject, recordMade } from '../kept-objects.ts';
import { accessVendor, BATCH_VENDOR, noVendor, passBack } from '../pass-through.ts';
import { BATCH_TEXT_LENGTH_MAX, batchIn, batchTooLarge, metadataFull, taggedBody } from './creation.ts';
import { isTerminal } from './metering.ts';

export interface BatchCall {
  request: z.infer<typeof BatchRequest>;
  labels: HeaderLabels;
  headerKey: string | null;
  requestId: string;
}

export async function createBatch(
  caller: Caller,
  { request, labels, headerKey, requestId }: BatchCall,
): Promise<GatewayAnswer> {
  const identified = identify(request, labels, undefined, caller.limits);
  if (!identified.ok) return refusalAnswer(identified.refusal);
  const { begin } = identified;
  const { env, organization, limits } = caller;
  if (!organization.vendors.has(BATCH_VENDOR)) return noVendor();
  // Requests with the same key are one request. Without a key, every request is one of its own.
  const keyed = headerKey !== null;
  const requestName = keyed ? `key-${await sha256Hex(headerKey)}` : `once-${crypto.randomUUID()}`;
  const body = taggedBody(withoutOwnFields(request), requestName);
  if (!body) return metadataFull();
  const text = JSON.stringify(body);
  if (text.length > BATCH_TEXT_LENGTH_MAX) return batchTooLarge();
  const { organizationId } = organization;
  const { customer: _named, ...fields } = request;
  const command: BatchCommand = {
    organizationId,
    requestName,
    keyed,
    fingerprint: await hashPayload({ operation: 'createBatch', begin, fields }),
    begin: { ...begin, pricingMode: 'batch' },
    inputFileId: request.input_file_id,
    ...(limits?.models && { limit: { limits, models: await meantBy(caller, limits.models) } }),
    body: text,
    requestId,
  };
  const work = ask(batchByRequest(env, organizationId, requestName), (batch) => batch.create(command)).then((answer) =>
    recordMade(caller, answer),
  );
  // Continues after the caller has left.
  caller.defer(work.catch(() => undefined));
  return work;
}

/**
 * The names with everything that they stand for. The object needs them because it does not have the organization's
 * mappings.
 */
async function meantBy({ env, organization, defer }: Caller, names: readonly string[]): Promise<readonly string[]> {
  const { catalog } = await currentCatalog(env, defer);
  return new OpenModels(organization, catalog, names, Date.now()).meant;
}

/** The batch as the vendor has it. A finished batch is metered at once. */
export async function readBatch(caller: Caller, batchId: string, requestId: string): Promise<GatewayAnswer> {
  if (!(await isOwn(caller, batchId))) return noObject();
  const vendor = await accessVendor(caller);
  if (!vendor) return noVendor();
  const result = await vendor.ask({ method: 'GET', path: `batches/${batchId}` });
  const answer = await recordMade(caller, passBack(result, vendor.key, requestId));
  const batch = answer.status === 200 ? batchIn(answer.body) : null;
  if (batch?.requestName != null && isTerminal(batch.status)) {
    const { organizationId } = caller.organization;
    caller.defer(
      ask(batchByRequest(caller.env, organizationId, batch.requestName), (object) => object.pollNow()).catch(
        () => undefined,
      ),
    );
  }
  return answer;
}
