/**
 * Use case: the cost of a call, and the remaining allowance. Resolves the price and lets the customer's object record
 * the end.
 */

import { pricedParts, resolvePriceFor } from '../catalog/prices.ts';
import { currentCatalog } from '../config/catalog.ts';
import type { OrganizationConfig } from '../config/credentials.ts';
import type { EndCallRequest } from '../contract/calls.ts';
import { refuse, type SerializedAnswer } from '../contract/errors.ts';
import { closedFeature } from '../contract/key-limits.ts';
import type { AnswerTo } from '../contract/operations.ts';
import { takeFacts } from '../domain/call-facts.ts';
import type { CallReport, Nothing } from '../domain/call-report.ts';
import type { CompressionCounts } from '../domain/compression.ts';
import { isCorrectable } from '../domain/correct-call.ts';
import type { CallId } from '../domain/ids.ts';
import { takeUsage } from '../domain/usage.ts';
import { findArchivedCall } from '../history/archive/read-call.ts';
import { findOldCall } from '../history/calls.ts';
import { ask, customerByCall, forgetOwner } from '../objects/addresses.ts';
import { sendCommand } from '../objects/command-text.ts';
import type { EndCommand } from '../objects/customer-commands.ts';
import { choosePricingMode } from './begin-call.ts';
import { buildPart } from './call-parts.ts';
import type { Caller } from './caller.ts';
import { explicitKey, hashPayload } from './idempotency.ts';
import { refuseForeignStripe } from './stripe-customers.ts';
import { vendorReportedCost } from './vendor-reported.ts';

type Answered = SerializedAnswer<AnswerTo<'endCall'>>;

export async function endCall(caller: Caller, request: EndCallRequest, headerKey: string | null): Promise<Answered> {
  const { env, organization, defer, limits } = caller;
  const { callId } = request;
  const address = await customerByCall(env, organization.organizationId, callId);
  if (!address) return refuse('CALL_NOT_FOUND', 'no such call');
  const foreign = await refuseForeignStripe(caller, request.stripeCustomerId);
  if (foreign) return foreign;
  const { catalog } = await currentCatalog(env, defer);
  // Only the object knows the mode that applies, and adds it to the fingerprint.
  const { batch: _batch, pricingMode: _mode, ...described } = request;
  const nowMs = Date.now();
  const report = buildReport(request, organization);
  const [fingerprint, price, parts] = await Promise.all([
    hashPayload(described),
    resolvePriceFor(catalog, organization.prices, request, report.usage, nowMs),
    pricedParts(catalog, organization.prices, request.parts?.map(buildPart) ?? [], nowMs),
  ]);
  const answer = await ask(address, (customer) =>
    customer.end(
      sendCommand<EndCommand>({
        organizationId: organization.organizationId,
        callId,
        idempotencyKey: explicitKey(headerKey, request),
        fingerprint,
        price,
        report: { ...report, parts },
        limits,
      }),
    ),
  );
  if (!isNotFound(answer)) return answer;
  // The cached owner may be outdated: try once more with the directory's.
  if (forgetOwner(organization.organizationId, callId)) {
    const again = await endCall(caller, request, headerKey);
    // Only the object knows why it does not have the call.
    return isNotFound(again) ? answer : again;
  }
  return (await refuseLateEnd(caller, callId)) ?? answer;
}

const isNotFound = (answer: Answered) => !answer.ok && answer.refusal.code === 'CALL_NOT_FOUND';

/**
 * The refusal of the end of a call that its customer's object no longer keeps; `null` if the history does not have it
 * either.
 */
async function refuseLateEnd({ env, organization, limits }: Caller, callId: CallId) {
  const { organizationId } = organization;
  const old = await findOldCall(env, organizationId, callId);
  const call = old ?? (await findArchivedCall(env, organizationId, callId));
  if (!call || call.status === 'IN_PROGRESS') return null;
  const closed = closedFeature(limits, call.feature);
  if (closed) return closed;
  const { status, reversedAtMs } = call;
  const isAmendable = old !== null && reversedAtMs === undefined && isCorrectable(call);
  const advice = isAmendable ? '; amend it with POST /calls/{callId}/amend' : '';
  const message = `the call is ${status} and can no longer be ended${advice}`;
  return refuse('CALL_ALREADY_FINALIZED', message, { members: { status } });
}

/**
 * The report of a request without its parts, whose prices are looked up later. A field that is not read from the
 * request, or not put into the report, does not compile.
 */
export function buildReport(request: EndCallRequest, organization: OrganizationConfig): CallReport {
  const {
    callId: _callId,
    idempotencyKey: _key,
    idempotency: _oldKey,
    batch: _batch,
    pricingMode: _mode,
    ...reported
  } = request;
  const { usage, rest: described } = takeUsage(reported);
  const { facts, rest: more } = takeFacts(described);
  const { parts: _parts, isPremium, error, stripeCustomerId, promptCompression, vendorReportedCostUSD, ...rest } = more;
  rest satisfies Nothing;
  return {
    ...facts,
    isPremium,
    error,
    stripeCustomerId,
    usage,
    parts: undefined,
    // An application reports its own figures, which do not show a vendor's speed.
    usageSource: undefined,
    unclear: undefined,
    outputBasis: undefined,
    outputRate: undefined,
    // The application asks its vendor itself.
    changed: undefined,
    vendorReported: vendorReportedCost(organization, facts.providerUsed, vendorReportedCostUSD),
    promptCompression: promptCompression && tokenCounts(promptCompression),
    pricingMode: choosePricingMode(request),
  } satisfies Record<keyof CallReport, unknown>;
}

/** The caller's own figure of savings is ignored: savings follow from the counts. */
function tokenCounts({
  provider,
  originalTokens,
  compressedTokens,
  techniques = [],
}: NonNullable<EndCallRequest['promptCompression']>): CompressionCounts {
  return { provider, originalTokens, compressedTokens, techniques };
}
