/**
 * Use case: what did this call cost, and what is left? Resolves the price and lets the customer's object record the
 * end.
 */

import { resolvePrice } from '../catalog/prices.ts';
import type { EndCallRequest } from '../contract/calls.ts';
import { refuse, type SerializedAnswer } from '../contract/errors.ts';
import { ask, customerByCall, forgetOwner } from '../objects/addresses.ts';
import { sendCommand } from '../objects/command-text.ts';
import type { EndCommand } from '../objects/customer-commands.ts';
import type { CustomerRpc } from '../objects/rpc.ts';
import { currentCatalog } from '../storage/catalog.ts';
import { pricingModeOf } from './begin-call.ts';
import type { Caller } from './caller.ts';
import { explicitKey, fingerprintOf } from './idempotency.ts';

export async function endCall(
  { env, organization, defer }: Caller,
  request: EndCallRequest,
  headerKey: string | null,
): Promise<SerializedAnswer> {
  const { callId } = request;
  const address = await customerByCall(env, organization.organizationId, callId);
  if (!address) return refuse('CALL_NOT_FOUND', 'no such call');
  const { catalog } = await currentCatalog(env, defer);
  const pricingMode = pricingModeOf(request);
  // Only the object knows the mode that applies, and adds it to the fingerprint.
  const { batch: _batch, pricingMode: _mode, ...described } = request;
  const [fingerprint, price] = await Promise.all([
    fingerprintOf(described),
    resolvePrice(catalog, organization.prices, request, Date.now()),
  ]);
  const answer = await ask<DurableObjectStub<CustomerRpc>, SerializedAnswer>(address, (customer) =>
    customer.end(
      sendCommand<EndCommand>({
        organizationId: organization.organizationId,
        callId,
        idempotencyKey: explicitKey(headerKey, request),
        fingerprint,
        price,
        request: {
          providerUsed: request.providerUsed,
          modelUsed: request.modelUsed,
          reasoningEffort: request.reasoningEffort,
          reasoningEffortSource: request.reasoningEffortSource,
          reasoningMode: request.reasoningMode,
          reasoningBudgetTokens: request.reasoningBudgetTokens,
          usage: {
            inputTokens: request.inputTokens ?? 0,
            cachedInputTokens: request.cachedInputTokens ?? 0,
            cacheWriteInputTokens: request.cacheWriteInputTokens ?? 0,
            responseTokens: request.responseTokens ?? 0,
            reasoningTokens: request.reasoningTokens ?? 0,
            searches: request.searches ?? 0,
            audio: request.audio ?? 0,
            audioSeconds: request.audioSeconds ?? 0,
          },
          isPremium: request.isPremium,
          error: request.error,
          stripeCustomerId: request.stripeCustomerId,
          promptCompression: request.promptCompression && {
            provider: request.promptCompression.provider,
            originalTokens: request.promptCompression.originalTokens,
            compressedTokens: request.promptCompression.compressedTokens,
            techniques: request.promptCompression.techniques ?? [],
          },
          pricingMode,
        },
      }),
    ),
  );
  // The cached owner may be outdated: try once more with the directory's.
  const notFound = !answer.ok && answer.refusal.code === 'CALL_NOT_FOUND';
  return notFound && forgetOwner(organization.organizationId, callId)
    ? endCall({ env, organization, defer }, request, headerKey)
    : answer;
}
