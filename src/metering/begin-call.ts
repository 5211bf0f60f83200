/**
 * Use case: may this call be made? Resolves the key, claims the call id, and lets the customer's object decide.
 */
import type { CallKey, TierHints } from '../../durable-objects/customer/protocol.ts';
import { matchModel } from '../catalog/matching.ts';
import type { Catalog } from '../catalog/model.ts';
import { type BeginCallData, type BeginCallRequest, DERIVED_PREFIX } from '../contract/calls.ts';
import { type Answer, refuse } from '../contract/errors.ts';
import type { PricingMode } from '../domain/pricing.ts';
import { currentCatalog } from '../storage/catalog.ts';
import { ask, claimKey, customerByName, releaseKey, rememberOwner } from '../storage/objects.ts';
import type { Caller } from './caller.ts';
import { derivedKeyHash, explicitKey, fingerprintOf, isReservedKey } from './idempotency.ts';

/** Recorded with the call, and part of a derived key. */
const CALL_TYPE = 'standard';

export async function beginCall(caller: Caller, request: BeginCallRequest, headerKey: string | null): Promise<Answer<BeginCallData>> {
  const { env, organization, defer } = caller;
  const { catalog } = await currentCatalog(env, defer);
  const { organizationId, defaultPlan, models } = organization;
  const { customerId, feature, requested = {} } = request;
  const pricingMode = pricingModeOf(request) ?? 'standard';
  const { batch: _batch, customerName, ...described } = request;
  const friendlyName = request.customerFriendlyName ?? customerName;
  const fingerprint = await fingerprintOf({ ...described, customerFriendlyName: friendlyName, pricingMode });

  const address = customerByName(env, organizationId, customerId);
  const begin = (key: CallKey) =>
    ask(address, (customer) =>
      customer.begin({
        organizationId,
        customerId,
        defaultPlan,
        contact: { friendlyName, email: request.customerEmail, stripeCustomerId: request.stripeCustomerId },
        key,
        fingerprint,
        request: {
          customerUserId: request.customerUserId,
          customerUserName: request.customerUserName,
          customerUserEmail: request.customerUserEmail,
          feature,
          tags: request.tags,
          requested,
          holdUsd: request.holdUsd,
          pricingMode,
        },
        ...(models && { models }),
        tierHints: tierHintsOf(catalog, models),
      }),
    );

  const callId = explicitKey(headerKey, request);
  if (callId === null) {
    const hash = await derivedKeyHash({ organizationId, customerId, feature, requested, callType: CALL_TYPE, pricingMode });
    return begin({ source: 'derived', hash });
  }
  if (isReservedKey(callId)) return reservedKey();
  const claim = await claimKey(env, organizationId, callId, customerId);
  if (claim.customerId !== customerId) return keyOfAnother();
  const answer = await begin({ source: 'explicit', callId, claimedAtMs: claim.claimedAtMs });
  if (!answer.ok) {
    // Nothing was recorded, so the key stays free; unless the claim is older than this request, and then maybe not ours.
    if (claim.fresh) await releaseKey(env, organizationId, callId, customerId);
    return answer;
  }
  if (!claim.fresh && !answer.replayed) {
    // Whoever made the claim may have given it back while this begin ran: only a claim that still stands counts.
    const standing = await claimKey(env, organizationId, callId, customerId);
    if (standing.customerId !== customerId) {
      await ask(address, (customer) => customer.void(organizationId, callId));
      return keyOfAnother();
    }
  }
  rememberOwner(organizationId, callId, customerId);
  return answer;
}

const keyOfAnother = () => refuse('IDEMPOTENCY_KEY_CONFLICT', 'the idempotency key was used before with another payload');

function reservedKey() {
  const message = `must not begin with ${DERIVED_PREFIX}, which is kept for derived keys`;
  return refuse('BAD_REQUEST', `Idempotency-Key: ${message}`, { members: { details: [{ path: 'Idempotency-Key', message }] } });
}

/** `pricingMode` is authoritative over `batch`; `undefined` where neither is there. */
export function pricingModeOf(request: { pricingMode?: PricingMode | undefined; batch?: boolean | undefined }): PricingMode | undefined {
  if (request.pricingMode !== undefined) return request.pricingMode;
  return request.batch === undefined ? undefined : request.batch ? 'batch' : 'standard';
}

function tierHintsOf(catalog: Catalog, models: Caller['organization']['models']): { standard?: TierHints; premium?: TierHints } {
  const hintsOf = (preferredModel: string | undefined): TierHints | undefined => {
    if (preferredModel === undefined) return undefined;
    const model = matchModel(catalog, preferredModel)?.model;
    return {
      preferredModel,
      ...(model?.contextTokens !== undefined && { maxInputTokens: model.contextTokens }),
      ...(model?.maxOutputTokens !== undefined && { maxResponseTokens: model.maxOutputTokens }),
    };
  };
  const standard = hintsOf(models?.standard[0]);
  const premium = hintsOf(models?.premium[0]);
  return { ...(standard && { standard }), ...(premium && { premium }) };
}
