/**
 * Use case: count the tokens of a request without running a model. The vendor does it for free, so it is no call: nothing
 * is begun and nothing is metered.
 */

import { currentCatalog } from '../config/catalog.ts';
import { GATEWAY_HEADERS } from '../contract/gateway/labels.ts';
import type { Caller } from '../metering/caller.ts';
import { requestVendor } from '../vendors/request.ts';
import type { ModelCall } from './admitted-call.ts';
import type { GatewayAnswer } from './answer.ts';
import type { Counting } from './dialects/counting.ts';
import type { ModelRequest } from './dialects/dialect.ts';
import { refusalAnswer, refuseCall } from './error-envelope.ts';
import { withoutOwnFields } from './identify.ts';
import { foreignReference } from './kept-objects.ts';
import { modelHeader, resolveAttempts } from './models.ts';
import { requestHeaders } from './passed-headers.ts';
import { findVendorKey } from './vendor-key.ts';
import { findRequestId, readResult } from './vendor-result.ts';

/** A count is made without a model, so that it does not take long. */
const TIMEOUT_MS_MAX = 30_000;

export async function countTokens(
  caller: Caller,
  counting: Counting,
  request: ModelRequest,
  { toVendor, requestId }: Pick<ModelCall, 'toVendor' | 'requestId'>,
): Promise<GatewayAnswer> {
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const resolved = await resolveAttempts(caller, catalog, counting, [request.model], Date.now());
  if (!resolved.ok) return refusalAnswer(resolved.refusal, counting.errorBody);
  const [attempt] = resolved.attempts;
  // A count would tell how long what another organization keeps is.
  const foreign = attempt && (await foreignReference(caller, [attempt.provider], request));
  if (foreign) return refusalAnswer(foreign.refusal, counting.errorBody);
  const vendorKey = attempt ? await findVendorKey(caller, attempt.provider) : null;
  if (!attempt || vendorKey === null) {
    const message = `the vendor key of ${attempt?.provider} cannot be decrypted; set it again`;
    return refusalAnswer(refuseCall('VENDOR_KEY_UNREADABLE', message).refusal, counting.errorBody);
  }
  const result = await requestVendor({
    url: counting.vendorUrl(attempt),
    method: 'POST',
    headers: requestHeaders(
      counting.vendorHeaders(vendorKey),
      toVendor,
      caller.organization.vendors.get(attempt.provider),
    ),
    body: counting.vendorBody(withoutOwnFields(request), attempt.model),
    timeoutMs: Math.min(Number(caller.env.GATEWAY_TIMEOUT_MS), TIMEOUT_MS_MAX),
    responseType: 'text',
  });
  const { answer } = readResult(result, vendorKey, counting.errorBody);
  const id = result.kind === 'answer' ? findRequestId(result.headers) : undefined;
  const headers = { ...answer.headers, [GATEWAY_HEADERS.requestId]: id ?? requestId };
  return { ...answer, headers: { ...headers, ...modelHeader(attempt) } };
}
