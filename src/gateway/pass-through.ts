/**
 * Files and batches: requests that pass to the organization's vendor `openai` with its key, and whose answers pass
 * back.
 *
 * Of the vendor's headers only what belongs to the body comes along. A content is streamed, so its size is of no
 * concern.
 */
import { GATEWAY_HEADERS } from '../contract/gateway.ts';
import type { Caller } from '../metering/caller.ts';
import { requestVendor, type VendorResult } from '../vendors/request.ts';
import { failureAnswer, type GatewayAnswer } from './answer.ts';
import { vendorKeyOf } from './vendor-key.ts';
import { readResult, requestIdOf } from './vendor-result.ts';

/** The vendor that files and batches are at. */
export const BATCH_VENDOR = 'openai';

/** Ids of files and batches; nothing else may stand in a path. */
export const VENDOR_ID = /^[\w-][\w.-]{0,149}$/;

export interface PassedRequest {
  method: 'GET' | 'POST' | 'DELETE';
  /** Below the vendor's base address, with the query. */
  path: string;
  contentType?: string | undefined;
  body?: Uint8Array | string | undefined;
  /** Where it may take less than a model may. */
  timeoutMsMax?: number;
}

/** The vendor, with its key; or why it cannot be asked. */
export interface VendorAccess {
  key: string;
  request(passed: PassedRequest, responseType: 'text' | 'stream'): Promise<VendorResult>;
}

const PASSED_HEADERS = ['content-type', 'content-disposition'];

export async function accessVendor(caller: Caller): Promise<VendorAccess | null> {
  const vendor = caller.organization.vendors.get(BATCH_VENDOR);
  const key = vendor ? await vendorKeyOf(caller, BATCH_VENDOR) : null;
  if (!vendor || key === null) return null;
  return {
    key,
    request: ({ method, path, contentType, body, timeoutMsMax = Number.POSITIVE_INFINITY }, responseType) =>
      requestVendor({
        url: `${vendor.baseUrl}/${path}`,
        method,
        headers: { Authorization: `Bearer ${key}`, ...(contentType !== undefined && { 'Content-Type': contentType }) },
        body,
        timeoutMs: Math.min(Number(caller.env.GATEWAY_TIMEOUT_MS), timeoutMsMax),
        responseType,
        // Batches ask by way of this too.
        inObject: true,
      }),
  };
}

export function noVendor(): GatewayAnswer {
  const message = `the organization has no credentials for the vendor "${BATCH_VENDOR}", which files and batches are at`;
  return failureAnswer({ status: 400, code: 'VENDOR_NOT_CONFIGURED', message });
}

export async function passThrough(caller: Caller, passed: PassedRequest, requestId: string): Promise<GatewayAnswer> {
  const vendor = await accessVendor(caller);
  if (!vendor) return noVendor();
  return passBack(await vendor.request(passed, 'stream'), vendor.key, requestId);
}

/** The vendor's answer as ours. */
export function passBack(result: VendorResult, vendorKey: string, requestId: string): GatewayAnswer {
  if (result.kind === 'stream') {
    const passed = PASSED_HEADERS.flatMap((name) =>
      result.headers.get(name) === null ? [] : [[name, result.headers.get(name) as string]],
    );
    const headers = {
      ...Object.fromEntries(passed),
      [GATEWAY_HEADERS.requestId]: requestIdOf(result.headers) ?? requestId,
    };
    return { status: result.status, headers, body: result.body };
  }
  const { answer } = readResult(result, vendorKey);
  const id = result.kind === 'answer' ? requestIdOf(result.headers) : undefined;
  return { ...answer, headers: { ...answer.headers, [GATEWAY_HEADERS.requestId]: id ?? requestId } };
}
