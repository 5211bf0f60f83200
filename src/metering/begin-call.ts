/**
 * Use case: may this call be made? Resolves the key, claims the call id, and lets the customer's object decide. Calls
 * that the service makes itself begin in `gateway/service-calls/begin.ts`, under keys of the same kinds.
 */

import { inBeginQueue } from '../admission/begin-queue.ts';
import { findModelLimits } from '../catalog/limits.ts';
import { matchModel } from '../catalog/matching.ts';
import type { Catalog } from '../catalog/model.ts';
import { resolvePrice } from '../catalog/prices.ts';
import { currentCatalog } from '../config/catalog.ts';
import type { BeginCallRequest } from '../contract/calls.ts';
import { DERIVED_PREFIX } from '../contract/calls.ts';
import { type Refused, refuse, type SerializedAnswer } from '../contract/errors.ts';
import { closedFeature } from '../contract/key-limits.ts';
import type { AnswerTo } from '../contract/operations.ts';
import { type CallBound, costBound, type Demand } from '../domain/bound.ts';
import type { Nothing } from '../domain/call-report.ts';
import { asCallId } from '../domain/ids.ts';
import { takeLabels } from '../domain/labels.ts';
import type { PricingMode } from '../domain/pricing.ts';
import { TIERS } from '../domain/tiers.ts';
import { ask, type CustomerStub, customerByName, rememberOwner } from '../objects/addresses.ts';
import { underClaim } from '../objects/claims.ts';
import { sendCommand } from '../objects/command-text.ts';
import type { BeginCommand, CallKey, TierHints } from '../objects/customer-commands.ts';
import type { Caller } from './caller.ts';
import { derivedKeyHash, explicitKey, hashPayload, isReservedKey } from './idempotency.ts';
import { closedName, openMappings } from './key-limits.ts';
import { withClaimedStripe } from './stripe-customers.ts';

type CallType = BeginCommand['callType'];

export async function beginCall(
  caller: Caller,
  request: BeginCallRequest,
  headerKey: string | null,
): Promise<SerializedAnswer<AnswerTo<'beginCall'>>> {
  const closed = closedFeature(caller.limits, request.feature) ?? (await closedEstimate(caller, request));
  if (closed) return closed;
  const { batch: _batch, customerName, ...described } = request;
  const pricingMode = choosePricingMode(request) ?? 'standard';
  const friendlyName = request.customerFriendlyName ?? customerName;
  const fingerprint = await hashPayload({ ...described, customerFriendlyName: friendlyName, pricingMode });
  const begin = await beginCommand(caller, request, fingerprint, 'standard');
  const command = { ...begin, ...(request.estimate && (await expected(caller, request.estimate, pricingMode))) };
  return underKey(caller, request, headerKey, 'standard', (customer, key) =>
    withClaimedStripe(caller, { ...command, key }, (sent) => customer.begin(sendCommand<BeginCommand>(sent))),
  );
}

/** The refusal of a begin that names the model to run if the API key does not open that model. */
async function closedEstimate(
  caller: Caller,
  { estimate }: BeginCallRequest,
): Promise<Refused<'MODEL_NOT_ALLOWED'> | null> {
  if (!estimate || !caller.limits?.models) return null;
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  return closedName(caller, catalog, [estimate.model], 'estimate.model');
}

/** The demand if only the tokens are known. */
const ANY_TOKENS: Omit<Demand, 'inputTokens'> = {
  input: ['cachedInput', 'cacheWrite', 'imageInput', 'audioInput', 'cacheWrite1h', 'cacheWrite12h'],
  output: ['imageOutput', 'audioOutput'],
  outputBeside: 0,
  uses: {},
  serviceTiers: ['standard'],
  speeds: ['standard'],
  anyRegion: true,
  rates: [],
  open: [],
};

/**
 * The most that a call may cost if it runs as estimated; and that credit does not pay for it if its model has no price.
 */
async function expected(
  { env, organization, defer }: Caller,
  { model, inputTokens, maxOutputTokens }: NonNullable<BeginCallRequest['estimate']>,
  mode: PricingMode,
): Promise<Pick<BeginCommand, 'bounds'>> {
  const { catalog } = await currentCatalog(env, defer);
  const nowMs = Date.now();
  const price = await resolvePrice(catalog, organization.prices, { modelUsed: model }, nowMs);
  const { maxOutputTokens: most } = findModelLimits(catalog, model, nowMs);
  const outputTokens = [maxOutputTokens, most].filter((bound) => bound !== undefined);
  const bound: CallBound = {
    model,
    tier: null,
    outputTokens: outputTokens.length === 0 ? null : Math.min(...outputTokens),
    answers: 1,
    inSteps: false,
    cost: price.available ? costBound(price.card, { ...ANY_TOKENS, inputTokens }, mode) : null,
    ...(!price.available &&
      !organization.allowUnpricedModels && { gap: { code: 'MODEL_NOT_PRICED', model, component: 'model' } }),
  };
  return { bounds: [bound] };
}

/** The command of a begin, without its key. */
export async function beginCommand(
  caller: Caller,
  request: BeginCallRequest,
  fingerprint: string,
  callType: CallType,
): Promise<Omit<BeginCommand, 'key'>> {
  const { catalog } = await currentCatalog(caller.env, caller.defer);
  const { organizationId, defaultPlan, alerts } = caller.organization;
  const models = openMappings(caller, catalog, Date.now());
  const { labels, rest: described } = takeLabels(request);
  const { idempotencyKey: _key, idempotency: _oldKey, batch: _batch, pricingMode: _mode, ...facts } = described;
  const {
    customerId,
    customerName,
    customerFriendlyName = customerName,
    customerEmail,
    stripeCustomerId,
    ...asked
  } = facts;
  const { requested = {}, holdUsd, estimate: _estimate, ...rest } = asked;
  rest satisfies Nothing;
  return {
    organizationId,
    customerId,
    // Sent with every begin, at a cost of about 10 microseconds: only the object knows whether the customer is new.
    defaultPlan: defaultPlan && JSON.stringify(defaultPlan),
    alerts,
    contact: { friendlyName: customerFriendlyName, email: customerEmail },
    namedStripeCustomerId: stripeCustomerId,
    fingerprint,
    request: { ...labels, requested, holdUsd, pricingMode: choosePricingMode(request) ?? 'standard' },
    ...(models && { models }),
    tierHints: buildTierHints(catalog, models, Date.now()),
    callType,
  };
}

/**
 * Runs a begin under the request's key: the caller's own, claimed for the customer, or a derived one. Returns a refusal
 * if the key itself cannot be used, or if too many begins wait.
 */
export async function underKey<Result extends { ok: true } | Refused>(
  { env, organization }: Caller,
  request: BeginCallRequest,
  headerKey: string | null,
  callType: CallType,
  begin: (customer: CustomerStub, key: CallKey) => PromiseLike<Result>,
): Promise<Result | Refused<'BAD_REQUEST' | 'IDEMPOTENCY_KEY_CONFLICT' | 'SERVICE_UNAVAILABLE'>> {
  const { organizationId } = organization;
  const { customerId, feature, requested = {} } = request;
  const address = customerByName(env, { organizationId, customerId });
  const key = explicitKey(headerKey, request);
  if (key === null) {
    const pricingMode = choosePricingMode(request) ?? 'standard';
    const hash = await derivedKeyHash({ organizationId, customerId, feature, requested, callType, pricingMode });
    return inBeginQueue({ organizationId, customerId }, (timed) =>
      timed(() => ask(address, (customer) => begin(customer, { source: 'derived', hash }))),
    );
  }
  if (isReservedKey(key)) return reservedKey();
  const callId = asCallId(key);
  const result = await inBeginQueue({ organizationId, customerId }, (timed) =>
    underClaim(
      env,
      { organizationId, key: callId, customerId },
      {
        command: (claimedAtMs) =>
          timed(() => ask(address, (customer) => begin(customer, { source: 'explicit', callId, claimedAtMs }))),
        toOutcome: (outcome) => outcome,
        undo: () => ask(address, (customer) => customer.void(organizationId, callId)),
      },
    ),
  );
  if (!result) return keyOfAnother();
  if (result.ok) rememberOwner({ organizationId, customerId }, callId);
  return result;
}

const keyOfAnother = () =>
  refuse('IDEMPOTENCY_KEY_CONFLICT', 'the idempotency key was used before with another payload');

function reservedKey() {
  const message = `must not begin with ${DERIVED_PREFIX}, which is kept for derived keys`;
  return refuse('BAD_REQUEST', `Idempotency-Key: ${message}`, {
    members: { details: [{ path: 'Idempotency-Key', message }] },
  });
}

/** `pricingMode` is authoritative over `batch`; `undefined` if both are absent. */
export function choosePricingMode(request: {
  pricingMode?: PricingMode | undefined;
  batch?: boolean | undefined;
}): PricingMode | undefined {
  if (request.pricingMode !== undefined) return request.pricingMode;
  return request.batch === undefined ? undefined : request.batch ? 'batch' : 'standard';
}

function buildTierHints(
  catalog: Catalog,
  models: Caller['organization']['models'],
  nowMs: number,
): BeginCommand['tierHints'] {
  const hintsForModel = (preferredModel: string | undefined): TierHints | undefined => {
    if (preferredModel === undefined) return undefined;
    const model = matchModel(catalog, preferredModel, nowMs)?.model;
    return {
      preferredModel,
      ...(model?.contextTokens !== undefined && { maxInputTokens: model.contextTokens }),
      ...(model?.maxOutputTokens !== undefined && { maxResponseTokens: model.maxOutputTokens }),
    };
  };
  return Object.fromEntries(
    TIERS.flatMap((tier) => {
      const hints = hintsForModel(models?.[tier][0]);
      return hints ? [[tier, hints]] : [];
    }),
  );
}
