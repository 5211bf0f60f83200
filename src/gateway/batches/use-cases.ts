/**
 * Use cases: begin a batch at the vendor, and read one. Each request for a batch has an object of its own
 * (`durable-objects/gateway-batch.ts`), which begins it once, remembers whom it is metered for, and meters its lines.
 */

import type { z } from 'zod';
import type { BatchRequest } from '../../contract/gateway.ts';
import type { Caller } from '../../metering/caller.ts';
import { fingerprintOf } from '../../metering/idempotency.ts';
import { ask, batchByRequest } from '../../objects/addresses.ts';
import type { BatchCommand } from '../../objects/batch-commands.ts';
import { sha256Hex } from '../../platform/hash.ts';
import { failureAnswer, type GatewayAnswer } from '../answer.ts';
import { identify, withoutOwnFields } from '../input.ts';
import { accessVendor, BATCH_VENDOR, noVendor, passBack } from '../pass-through.ts';
import { BATCH_TEXT_LENGTH_MAX, batchIn, batchTooLarge, metadataFull, taggedBody } from './creation.ts';
import { isTerminal } from './metering.ts';

export interface BatchCall {
  request: z.infer<typeof BatchRequest>;
  customerHeader: string | null;
  headerKey: string | null;
  requestId: string;
}

export async function createBatch(
  caller: Caller,
  { request, customerHeader, headerKey, requestId }: BatchCall,
): Promise<GatewayAnswer> {
  const begin = identify(request, customerHeader, undefined);
  if ('status' in begin) return failureAnswer(begin);
  const { env, organization } = caller;
  if (!organization.vendors.has(BATCH_VENDOR)) return noVendor();
  // A key is one request, however often it is sent; without one, each is a request of its own.
  const keyed = headerKey !== null;
  const requestName = keyed ? `key-${await sha256Hex(headerKey)}` : `once-${crypto.randomUUID()}`;
  const body = taggedBody(withoutOwnFields(request), requestName);
  if (!body) return metadataFull();
  const text = JSON.stringify(body);
  if (text.length > BATCH_TEXT_LENGTH_MAX) return batchTooLarge();
  const { organizationId } = organization;
  const { customer: _named, ...asked } = request;
  const command: BatchCommand = {
    organizationId,
    requestName,
    keyed,
    fingerprint: await fingerprintOf({ operation: 'createBatch', begin, asked }),
    begin: { ...begin, pricingMode: 'batch' },
    inputFileId: request.input_file_id,
    body: text,
    requestId,
  };
  const work = ask(batchByRequest(env, organizationId, requestName), (batch) => batch.create(command));
  // Goes on though the caller may leave.
  caller.defer(work.catch(() => undefined));
  return work;
}

/** A batch as the vendor has it; one that is finished is metered now. */
export async function readBatch(caller: Caller, batchId: string, requestId: string): Promise<GatewayAnswer> {
  const vendor = await accessVendor(caller);
  if (!vendor) return noVendor();
  const answer = passBack(
    await vendor.request({ method: 'GET', path: `batches/${batchId}` }, 'text'),
    vendor.key,
    requestId,
  );
  const batch = answer.status === 200 ? batchIn(answer) : null;
  if (batch?.requestName != null && isTerminal(batch.status)) {
    const { organizationId } = caller.organization;
    caller.defer(
      ask(batchByRequest(caller.env, organizationId, batch.requestName), (object) => object.hurry()).catch(
        () => undefined,
      ),
    );
  }
  return answer;
}
