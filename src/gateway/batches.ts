/**
 * Use cases: begin a batch at the vendor, and read one. Whom a batch is metered for is remembered by an object of its own
 * (`durable-objects/gateway-batch.ts`), which meters the lines when they are answered.
 */
import type { z } from 'zod';
import type { GatewayBatch } from '../../durable-objects/gateway-batch.ts';
import type { BatchRequest } from '../contract/gateway.ts';
import type { Env } from '../env.ts';
import type { Caller } from '../metering/caller.ts';
import { currentCatalog } from '../storage/catalog.ts';
import { ask } from '../storage/objects.ts';
import { failureAnswer, type GatewayAnswer } from './answer.ts';
import { readInputFile, refuseBatch } from './batch-admission.ts';
import { isTerminal, type WatchedBatch } from './batch-metering.ts';
import { identify, withoutOwnFields } from './input.ts';
import { accessVendor, noVendor, passBack, VENDOR_ID, type VendorAccess } from './pass-through.ts';

export interface BatchCall {
  request: z.infer<typeof BatchRequest>;
  customerHeader: string | null;
  requestId: string;
}

export async function createBatch(caller: Caller, { request, customerHeader, requestId }: BatchCall): Promise<GatewayAnswer> {
  const begin = identify(request, customerHeader, undefined);
  if ('status' in begin) return failureAnswer(begin);
  const vendor = await accessVendor(caller);
  if (!vendor) return noVendor();
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const file = await vendor.request({ method: 'GET', path: `files/${request.input_file_id}/content` }, 'stream');
  if (file.kind !== 'stream') return unreadable(passBack(file, vendor.key, requestId));
  const input = await readInputFile(caller, catalog, file.body, Date.now());
  if ('status' in input) return input;
  const refusal = await refuseBatch(caller, begin, input);
  if (refusal) return refusal;
  const body = JSON.stringify(withoutOwnFields(request));
  const result = await vendor.request({ method: 'POST', path: 'batches', contentType: 'application/json', body }, 'text');
  const answer = passBack(result, vendor.key, requestId);
  const batchId = result.kind === 'answer' && result.ok ? batchOf(answer)?.id : undefined;
  if (batchId === undefined) return answer;
  const { organizationId } = caller.organization;
  const work = watch(caller, vendor, { organizationId, batchId, begin: { ...begin, pricingMode: 'batch' }, model: input.model });
  // Goes on though the caller may leave: the vendor has begun.
  caller.defer(work.catch(() => undefined));
  return (await work) ? answer : notWatched();
}

/** A batch as the vendor has it; one that is finished is metered now. */
export async function readBatch(caller: Caller, batchId: string, requestId: string): Promise<GatewayAnswer> {
  const vendor = await accessVendor(caller);
  if (!vendor) return noVendor();
  const answer = passBack(await vendor.request({ method: 'GET', path: `batches/${batchId}` }, 'text'), vendor.key, requestId);
  if (answer.status === 200 && isTerminal(batchOf(answer)?.status)) {
    const { organizationId } = caller.organization;
    caller.defer(ask(addressOf(caller.env, organizationId, batchId), (batch) => batch.hurry()).catch(() => undefined));
  }
  return answer;
}

/** Has the batch watched. One that cannot be is canceled: nobody would meter it. */
async function watch(caller: Caller, vendor: VendorAccess, batch: WatchedBatch): Promise<boolean> {
  try {
    await ask(addressOf(caller.env, batch.organizationId, batch.batchId), (object) => object.watch(batch));
    return true;
  } catch (error) {
    console.error(JSON.stringify({ event: 'batch_not_watched', batchId: batch.batchId, error: String(error) }));
    await vendor.request({ method: 'POST', path: `batches/${batch.batchId}/cancel` }, 'text');
    return false;
  }
}

function addressOf(env: Env, organizationId: string, batchId: string): () => DurableObjectStub<GatewayBatch> {
  return () => env.GATEWAY_BATCHES.getByName(`${organizationId}:${batchId}`);
}

function batchOf({ body }: GatewayAnswer): { id?: string; status?: string } | null {
  if (typeof body !== 'string') return null;
  const { id, status } = JSON.parse(body) as { id?: unknown; status?: unknown };
  if (typeof id !== 'string' || !VENDOR_ID.test(id)) return null;
  return { id, ...(typeof status === 'string' && { status }) };
}

/** The input file is the request's own mistake where the vendor does not have it. */
function unreadable(answer: GatewayAnswer): GatewayAnswer {
  if (answer.status !== 404) return answer;
  return failureAnswer({ status: 400, code: 'BAD_REQUEST', message: 'there is no such input file', param: 'input_file_id' });
}

function notWatched(): GatewayAnswer {
  return failureAnswer({ status: 503, code: 'SERVICE_UNAVAILABLE', message: 'the batch could not be metered, and was canceled' });
}
