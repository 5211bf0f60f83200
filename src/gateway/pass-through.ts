/**
 * The objects that an organization's vendor keeps, mainly the vendor `openai`: files, uploads, batches and responses.
 * Requests pass to the vendor with its key, and answers pass back; `kept-objects.ts` knows which objects are the
 * organization's own.
 *
 * The vendor's headers that describe the body pass, and the headers that every answer passes (`passed-headers.ts`). The
 * content of a file is streamed, so its size does not matter. A form passes during its upload (`form-upload.ts`).
 */

import type { OrganizationConfig } from '../config/credentials.ts';
import { GATEWAY_HEADERS } from '../contract/gateway/labels.ts';
import { kindNamed, type VendorKind } from '../domain/vendor-kind.ts';
import type { Caller } from '../metering/caller.ts';
import { requestVendor, type StreamResult, type VendorRequest, type WholeResult } from '../vendors/request.ts';
import type { GatewayAnswer, WholeAnswer } from './answer.ts';
import { refusalAnswer, refuseCall } from './error-envelope.ts';
import { withVendorHeaders } from './passed-headers.ts';
import { findVendorKey } from './vendor-key.ts';
import { BODY_HEADERS, findRequestId, picked, readResult } from './vendor-result.ts';

/** The vendor that keeps files and responses, and runs batches. */
export const BATCH_VENDOR = 'openai';

/** The kind of that vendor. */
export function batchKind({ vendors }: OrganizationConfig): VendorKind {
  return vendors.get(BATCH_VENDOR)?.kind ?? kindNamed(BATCH_VENDOR);
}

/** Ids of the vendor's objects; nothing else may become part of a path. */
export const VENDOR_ID = /^[\w-][\w.-]{0,149}$/;

export interface PassedRequest {
  method: VendorRequest['method'];
  /** The path below the vendor's base address, with the query. */
  path: string;
  contentType?: string | undefined;
  /** The caller's headers that pass. */
  headers?: Readonly<Record<string, string>>;
  body?: ReadableStream<Uint8Array> | Uint8Array | string | undefined;
  /** A shorter time limit than a model's. */
  timeoutMsMax?: number;
  /** Aborts the request. */
  signal?: AbortSignal;
}

/** The vendor with the organization's key. */
export interface VendorAccess {
  key: string;
  ask(passed: PassedRequest): Promise<WholeResult>;
  /** Like `ask`, but a successful answer with a body is a stream. */
  stream(passed: PassedRequest): Promise<WholeResult | StreamResult>;
}

/** `null` if the organization has no usable key. */
export async function accessVendor(caller: Caller, provider = BATCH_VENDOR): Promise<VendorAccess | null> {
  const vendor = caller.organization.vendors.get(provider);
  const key = vendor ? await findVendorKey(caller, provider) : null;
  if (!vendor || key === null) return null;
  const buildRequest = (passed: PassedRequest) => {
    const { method, path, contentType, body, timeoutMsMax = Number.POSITIVE_INFINITY, signal } = passed;
    return {
      url: `${vendor.baseUrl}/${path}`,
      method,
      headers: {
        ...passed.headers,
        ...vendor.headers,
        authorization: `Bearer ${key}`,
        ...(contentType !== undefined && { 'content-type': contentType }),
      },
      body,
      timeoutMs: Math.min(Number(caller.env.GATEWAY_TIMEOUT_MS), timeoutMsMax),
      signal,
    };
  };
  return {
    key,
    ask: (passed) => requestVendor({ ...buildRequest(passed), responseType: 'text' }),
    stream: (passed) => requestVendor({ ...buildRequest(passed), responseType: 'stream' }),
  };
}

export function noVendor(): WholeAnswer {
  const message = `the organization has no credentials for the vendor "${BATCH_VENDOR}", which keeps files, batches and responses`;
  return refusalAnswer(refuseCall('VENDOR_NOT_CONFIGURED', message).refusal);
}

/** The vendor's answer as Callmeter's, with its body as a stream. */
export function passOn(result: WholeResult | StreamResult, vendorKey: string, requestId: string): GatewayAnswer {
  if (result.kind !== 'stream') {
    const answer = passBack(result, vendorKey, requestId);
    if (result.kind !== 'answer') return answer;
    return { ...answer, headers: withVendorHeaders(answer.headers, result.headers, false) };
  }
  const { status, headers, body } = result;
  const id = findRequestId(headers) ?? requestId;
  const own = { ...picked(headers, BODY_HEADERS), [GATEWAY_HEADERS.requestId]: id };
  return { status, headers: withVendorHeaders(own, headers, false), body };
}

/** The vendor's answer as Callmeter's. */
export function passBack(result: WholeResult, vendorKey: string, requestId: string): WholeAnswer {
  const { answer } = readResult(result, vendorKey);
  const id = result.kind === 'answer' ? findRequestId(result.headers) : undefined;
  return { ...answer, headers: { ...answer.headers, [GATEWAY_HEADERS.requestId]: id ?? requestId } };
}
